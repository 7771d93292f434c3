"""The same elements in another shape or order; joining and splitting."""

from ...define.listing import publish
from .reshaping import (
    reshape,
    transpose,
    permute,
    swapaxes,
    squeeze,
    expand_dims,
    broadcast_to,
    concat,
    stack,
    split,
)
from .diagonals import (
    tril,
    triu,
    diagonal,
    diag_embed,
    diag,
    trace,
)
from .rearranging import (
    moveaxis,
    flatten,
    ravel,
    unflatten,
    expand,
    broadcast_arrays,
    broadcast_tensors,
    meshgrid,
    flip,
    rot90,
    roll,
    repeat,
    repeat_interleave,
    tile,
)
from .joining_and_splitting import (
    chunk,
    array_split,
    tensor_split,
    unbind,
    hsplit,
    vsplit,
    dsplit,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    hstack,
    vstack,
    dstack,
    column_stack,
)

publish(globals())
