"""Sums, extremes, statistics, running sums and order along axes."""

# ruff: noqa: F403, I001  (in reading order)
from .sum_mean_max import *
from .statistics import *
from .cumulative import *
from .sorting import *
