"""Every op, one small definition each; see :mod:`tinytensor.registry` for how one is written.

A new op goes into the file of its family and into that file's ``__all__``; from there it is
``tt.<name>``. A new family is one more name in each of the three lists below.
"""

# ruff: noqa: F403, I001  (in reading order: from the simplest to the most fused)
# fmt: off
from . import (
    arithmetic, exponential, trigonometric, comparison, select, copying, reduce, shape, diagonals,
    activation, index, embed, products, probability, normalize, loss, attention, recurrent,
)
from .arithmetic import *
from .exponential import *
from .trigonometric import *
from .comparison import *
from .select import *
from .copying import *
from .reduce import *
from .shape import *
from .diagonals import *
from .activation import *
from .index import *
from .embed import *
from .products import *
from .probability import *
from .normalize import *
from .loss import *
from .attention import *
from .recurrent import *

__all__: list[str] = []
__all__ += arithmetic.__all__
__all__ += exponential.__all__
__all__ += trigonometric.__all__
__all__ += comparison.__all__
__all__ += select.__all__
__all__ += copying.__all__
__all__ += reduce.__all__
__all__ += shape.__all__
__all__ += diagonals.__all__
__all__ += activation.__all__
__all__ += index.__all__
__all__ += embed.__all__
__all__ += products.__all__
__all__ += probability.__all__
__all__ += normalize.__all__
__all__ += loss.__all__
__all__ += attention.__all__
__all__ += recurrent.__all__
