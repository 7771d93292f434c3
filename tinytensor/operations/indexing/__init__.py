"""Reading and writing at positions."""

# ruff: noqa: F403, I001  (in reading order)
from .reading import *
from .embedding import *
from .writing import *
from .at import *
