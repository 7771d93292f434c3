# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.
"""Every op, one small definition each, in families; ``define/op.py`` says how one is written."""

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
