"""Every op, one small definition each, in families; ``define/op.py`` says how one is written.

A new op goes into a file of its family and into the list in the family's ``__init__``; from there
it is ``tt.<name>``, and ``make stubs`` tells editors its signature (the .pyi files here). What only
other ops call is in no list.
"""

# ruff: noqa: F403, I001  (in reading order: from the simplest to the most fused)
from ..define.listing import publish
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

publish(globals())
