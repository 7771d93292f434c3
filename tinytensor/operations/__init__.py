"""Every op, one small definition each, in families; ``define/op.py`` says how one is written.

A new op goes into the file of its family and into that file's ``__all__``; from there it is
``tt.<name>``.
"""

# ruff: noqa: F403, I001  (in reading order: from the simplest to the most fused)
import sys as _sys

from .elementwise import *
from .reductions import *
from .shapes import *
from .indexing import *
from .linear import *
from .activations import *
from .randomness import *
from .normalization import *
from .losses import *
from .windows import *
from .sequences import *

__all__ = [
    name
    for family in list(_sys.modules)
    if family.count(".") == 3 and family.startswith(__name__ + ".")
    for name in getattr(_sys.modules[family], "__all__", ())
]
