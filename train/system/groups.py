"""Where Linux keeps the limits of control groups, such as those of a container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: where the groups are, and which of them are those of this process
GROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def folders(controller: str) -> Iterator[Path]:
    """Where limits of a controller ("cpu", "memory") may be, for both versions of control groups:
    the groups of this process and those around them; none off Linux.

    In a container the path may be that of the machine outside; then only the root is there.
    """
    try:
        lines = OWN.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        group = PurePosixPath(path.lstrip("/"))
        names = dict.fromkeys((controllers, controller)) if controllers else ("",)
        for root in (GROUPS / name for name in names):
            for part in (group, *group.parents):
                yield root / part
