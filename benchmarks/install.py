"""Install the frameworks to compare with, one by one, so that one that can't be had stops no other.

    build/bench/venv/bin/python -m benchmarks.install

Their list is the extra "bench" of pyproject.toml. A framework without a build for this platform or
Python is named, with the last word of pip, and the benchmark does without it.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib

from .turns import ROOT


def requirements() -> list[str]:
    """The extra "bench"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted: list[str] = project["optional-dependencies"]["bench"]
    return wanted


def main() -> int:
    """Install each; returns how many could not be had."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    missing = 0
    for requirement in requirements():
        done = subprocess.run([*pip, requirement], capture_output=True, text=True)
        if done.returncode:
            missing += 1
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            print(f"not installed: {requirement} ({said[-1] if said else 'pip failed'})")
        else:
            print(f"installed: {requirement}", flush=True)
    return missing


if __name__ == "__main__":
    sys.exit(main())
