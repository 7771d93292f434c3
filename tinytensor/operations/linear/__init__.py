"""Products of matrices, and linear algebra."""

from ...define.listing import publish
from .products import (
    matmul,
    linear,
    mv,
    bmm,
    cross,
)
from .einsum import (
    einsum,
    tensordot,
    dot,
    inner,
    vdot,
    outer,
    kron,
)
from .solving import (
    solve,
    triangular_solve,
    solve_triangular,
    inv,
    cholesky,
    matrix_power,
)
from .determinants import (
    det,
    slogdet,
)
from .decompositions import (
    svd,
    svdvals,
    eigh,
    eigvalsh,
    qr,
    pinv,
)
from .matrix_norms import (
    matrix_norm,
)

publish(globals())
