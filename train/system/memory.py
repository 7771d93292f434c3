"""How much memory this process may have."""

from __future__ import annotations

import os
import sys

from .groups import folders


def machine_memory() -> int:
    """Bytes of memory that this process may have at most: the machine's, or what its group of
    processes or its own limit leaves of it. Where nothing can be found out: 2^63."""
    return min([*_physical(), *_of_groups(), *_of_process()], default=1 << 63)


def _physical() -> list[int]:
    if sys.platform == "win32":
        return _physical_of_windows()
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return []
    return [size] if size > 0 else []


def _physical_of_windows() -> list[int]:
    import ctypes

    size = ctypes.c_ulonglong(0)
    try:
        found = ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(  # type: ignore[attr-defined]
            ctypes.byref(size)
        )
    except (AttributeError, OSError):
        return []
    return [size.value * 1024] if found else []


def _of_groups() -> list[int]:
    """The limits of this process's control groups and of those around them."""
    limits = []
    for folder in folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):  # version 2, version 1
            try:
                limits.append(int((folder / name).read_text()))
            except (OSError, ValueError):  # not there, or "max"
                pass
    return [limit for limit in limits if limit > 0]


def _of_process() -> list[int]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [soft] if soft not in (resource.RLIM_INFINITY, -1) and soft > 0 else []
