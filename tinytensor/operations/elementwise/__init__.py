"""Arithmetic and functions of each element, with broadcasting."""

from ...define.listing import publish
from .arithmetic import (
    add,
    sub,
    mul,
    div,
    pow,
    neg,
    square,
    reciprocal,
    abs,
    sqrt,
    rsqrt,
    hypot,
    lerp,
)
from .rounding import (
    sign,
    floor,
    ceil,
    trunc,
    round,
    floor_divide,
    remainder,
    fmod,
)
from .exponential import (
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    logaddexp,
    xlogy,
    logit,
    erf,
    erfc,
)
from .special import (
    polygamma,
    digamma,
    lgamma,
    erfinv,
)
from .trigonometric import (
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    atan2,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    arccos,
    arcsin,
    arctan,
    arctan2,
    arccosh,
    arcsinh,
    arctanh,
)
from .comparison import (
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_and,
    logical_or,
    logical_xor,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    bitwise_not,
    logical_not,
    isfinite,
    isnan,
    isinf,
    isclose,
    allclose,
)
from .choosing import (
    where,
    masked_fill,
    maximum,
    minimum,
    fmax,
    fmin,
    clip,
    nan_to_num,
)
from .conversion import (
    copy,
    astype,
)

publish(globals())
