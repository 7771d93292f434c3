"""How many processor cores this process may use: affinity and the quotas of containers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: where Linux shows control groups, and the groups of this process
_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


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
    for folder in _folders():
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


def _folders() -> Iterator[Path]:
    """Where limits may be: the group of this process and those around it, for both versions.

    In a container the path may be that of the machine outside; then only the root is there.
    """
    try:
        lines = _OWN.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        group = PurePosixPath(path.lstrip("/"))
        for root in [_GROUPS / controllers, _GROUPS / "cpu"] if controllers else [_GROUPS]:
            for part in (group, *group.parents):
                yield root / part
