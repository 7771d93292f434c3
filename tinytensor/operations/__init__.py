"""Every op, one small definition each; see :mod:`tinytensor.registry` for how one is written.

A new op goes into the file of its family and into that file's ``__all__``; from there it is
``tt.<name>``. A new family is one more name in each of the three lists below.
"""

# ruff: noqa: F403, I001  (in reading order: from the simplest to the most fused)
# fmt: off
from . import (
    arithmetic, rounding, exponential, special, trigonometric, comparison, select, copying, reduce,
    statistics, shape, diagonals, scan, order, activation, piecewise, index, rearrange, pieces,
    windows, embed, scatters, positions, products, einsums, linalg, determinants, decompositions,
    matrix_norms, probability, normalize, channels, loss, regression, divergence, similarity,
    likelihood, ctc, convolution, pooling, adaptive, interpolation, attention, recurrent,
)
from .arithmetic import *
from .rounding import *
from .exponential import *
from .special import *
from .trigonometric import *
from .comparison import *
from .select import *
from .copying import *
from .reduce import *
from .statistics import *
from .shape import *
from .diagonals import *
from .scan import *
from .order import *
from .activation import *
from .piecewise import *
from .index import *
from .rearrange import *
from .pieces import *
from .windows import *
from .embed import *
from .scatters import *
from .positions import *
from .products import *
from .einsums import *
from .linalg import *
from .determinants import *
from .decompositions import *
from .matrix_norms import *
from .probability import *
from .normalize import *
from .channels import *
from .loss import *
from .regression import *
from .divergence import *
from .similarity import *
from .likelihood import *
from .ctc import *
from .convolution import *
from .pooling import *
from .adaptive import *
from .interpolation import *
from .attention import *
from .recurrent import *

__all__: list[str] = []
__all__ += arithmetic.__all__
__all__ += rounding.__all__
__all__ += exponential.__all__
__all__ += special.__all__
__all__ += trigonometric.__all__
__all__ += comparison.__all__
__all__ += select.__all__
__all__ += copying.__all__
__all__ += reduce.__all__
__all__ += statistics.__all__
__all__ += shape.__all__
__all__ += diagonals.__all__
__all__ += scan.__all__
__all__ += order.__all__
__all__ += activation.__all__
__all__ += piecewise.__all__
__all__ += index.__all__
__all__ += rearrange.__all__
__all__ += pieces.__all__
__all__ += windows.__all__
__all__ += embed.__all__
__all__ += scatters.__all__
__all__ += positions.__all__
__all__ += products.__all__
__all__ += einsums.__all__
__all__ += linalg.__all__
__all__ += determinants.__all__
__all__ += decompositions.__all__
__all__ += matrix_norms.__all__
__all__ += probability.__all__
__all__ += normalize.__all__
__all__ += channels.__all__
__all__ += loss.__all__
__all__ += regression.__all__
__all__ += divergence.__all__
__all__ += similarity.__all__
__all__ += likelihood.__all__
__all__ += ctc.__all__
__all__ += convolution.__all__
__all__ += pooling.__all__
__all__ += adaptive.__all__
__all__ += interpolation.__all__
__all__ += attention.__all__
__all__ += recurrent.__all__
