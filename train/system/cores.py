"""How many processor cores this process may use: affinity and the quotas of containers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from .groups import folders


def cores() -> int:
    """How many processor cores this process may keep busy, at least 1.

    Those it may run on, and no more than the CPU time that its container has (``docker run
    --cpus 1.5``: 2).
    """
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    else:
        found = os.cpu_count() or 1
    return max(1, min([found, *map(math.ceil, quotas())]))


def quotas() -> Iterator[float]:
    """The limits, in cores, of the control groups that this process is in; none off Linux.

    Version 2 writes "150000 100000" (or "max 100000") to ``cpu.max``, microseconds of CPU time in
    a period of so many; version 1 has two files, and -1 for no limit.
    """
    for folder in folders("cpu"):
        try:
            if (folder / "cpu.max").is_file():
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota = (folder / "cpu.cfs_quota_us").read_text()
                period = (folder / "cpu.cfs_period_us").read_text()
            if quota != "max" and int(quota) > 0 and int(period) > 0:
                yield int(quota) / int(period)
        except (OSError, ValueError):
            continue
