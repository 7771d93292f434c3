"""Sums, extremes, statistics, running sums and order along axes."""

from ...define.listing import publish
from .sum_mean_max import (
    sum,
    mean,
    prod,
    max,
    amax,
    min,
    amin,
    argmax,
    argmin,
    any,
    all,
    count_nonzero,
    nansum,
    nanmean,
)
from .statistics import (
    var,
    std,
    logsumexp,
    norm,
)
from .cumulative import (
    linear_recurrence,
    cumsum,
    cumprod,
    logcumsumexp,
    diff,
)
from .sorting import (
    cummax,
    cummin,
    sort,
    argsort,
    topk,
    quantile,
    median,
)

publish(globals())
