"""The machine a measurement was made on, its BLAS, and the memory of a process."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

#: variables that make NumPy's OpenBLAS take an older, slower kernel than the processor's own
SLOW_BLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def clean_environment(threads: int | None = None) -> dict[str, str]:
    """This process's environment for a child that measures.

    Args:
        threads: how many each BLAS and OpenMP may use; None leaves it as it is.
    """
    env = {k: v for k, v in os.environ.items() if k not in SLOW_BLAS}
    if threads is not None:
        env |= {name: str(threads) for name in THREADS}
    return env


def start_clean() -> None:
    """Start this script again if its environment makes NumPy slow."""
    if any(name in os.environ for name in SLOW_BLAS):
        os.execve(sys.executable, [sys.executable, *sys.argv], clean_environment())


def cpu() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        facts: dict[str, str] = {}
        for line in info.read_text().splitlines():
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
        if "model name" in facts:
            numbers = f"family {facts.get('cpu family', '?')}, model {facts.get('model', '?')}"
            return f"{facts['model name']} ({numbers})"
    return platform.processor() or platform.machine()


def memory() -> str:
    """How much main memory there is."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"


def describe() -> dict[str, str]:
    """What a reader needs to judge the figures: processor, cores, memory, system, versions."""
    import numpy as np

    facts = {
        "cpu": cpu(),
        "cores": str(os.cpu_count()),
        "memory": memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    if hasattr(os, "getloadavg"):
        facts["load before"] = f"{os.getloadavg()[0]:.2f}"
    return facts


def peak_memory() -> int:
    """The most memory this process has held so far, in bytes; 0 where the system can't tell.

    With the peaks of its living children; what they share with it counts once in each.
    """
    if Path("/proc/self/status").is_file():
        children = [c for task in Path("/proc/self/task").glob("*/children")
                    for c in task.read_text().split()]  # fmt: skip
        return sum(_high_water(process) for process in ("self", *children))
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _high_water(process: str) -> int:
    """The most memory that a Linux process has held, in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def blas() -> str:
    """Library, kernel and threads of NumPy's matrix products, where threadpoolctl can tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown (pip install threadpoolctl)"
    found: list[str] = []
    for info in threadpool_info():
        if info["user_api"] == "blas" and "numpy" in info["filepath"] or not found:
            kernel = f"{info['internal_api']} {info.get('architecture') or ''}".strip()
            found.append(f"{kernel}, {info['num_threads']} threads")
    return found[-1] if found else "none"
