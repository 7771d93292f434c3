"""Products of matrices, and linear algebra."""

# ruff: noqa: F403, I001  (in reading order)
from .products import *
from .einsum import *
from .solving import *
from .determinants import *
from .decompositions import *
from .matrix_norms import *
