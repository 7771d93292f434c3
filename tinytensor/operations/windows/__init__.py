"""What slides over signals and images: padding, convolution, pooling, resizing."""

from ...define.listing import publish
from .padding import (
    pad,
    unfold,
    overlap_add,
    sliding_window_view,
)
from .convolution import (
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    conv3d,
    conv_transpose3d,
)
from .max_pooling import (
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from .average_pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
)
from .adaptive_pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from .interpolation import (
    interpolate,
)

publish(globals())
