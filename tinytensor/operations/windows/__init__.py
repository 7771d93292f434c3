"""What slides over signals and images: padding, convolution, pooling, resizing."""

# ruff: noqa: F403, I001  (in reading order)
from .padding import *
from .convolution import *
from .pooling import *
from .adaptive_pooling import *
from .interpolation import *
