"""Copies of the checkout, wheels of it, and environments to install them into, without the network.

The build runs with the setuptools that is installed, and an environment that holds nothing else of
tinytensor borrows the libraries (NumPy and the rest) of the one that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["tinytensor", "nn", "models", "train"]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def run(*command: object, cwd: Path, expect: int = 0, **env: str) -> str:
    """Run a command without the tests' own PYTHONPATH; its output, or an assertion with both."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**clean, **env},
    )
    assert done.returncode == expect, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a "wheel" or "sdist" with the installed setuptools, as pip and build do."""
    into.mkdir(exist_ok=True)
    run(
        sys.executable,
        "-c",
        f"from setuptools import build_meta; build_meta.build_{kind}({str(into)!r})",
        cwd=source,
    )
    return next(into.iterdir())


def copy_of_checkout(into: Path) -> Path:
    """A copy of the checkout, because a build leaves folders behind that spoil the next one."""
    copy = into / "tinytensor"
    copy.mkdir()
    junk = shutil.ignore_patterns("__pycache__", "*.pyc", "node_modules")
    for folder in [*FOLDERS, "tests", ".ci"]:
        shutil.copytree(ROOT / folder, copy / folder, ignore=junk, symlinks=True)
    for name in ["pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "Makefile"]:
        shutil.copy(ROOT / name, copy / name)
    return copy


def environment(home: Path, *paths: Path) -> Path:
    """The interpreter of a fresh environment, which looks for modules in ``paths`` too."""
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    interpreter = home / SCRIPTS / Path(sys.executable).name
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(interpreter, "-c", code, cwd=home).strip())
    # As plain path lines the borrowed folders' own .pth files, and with them an editable
    # installation of the tests' environment, stay out of it.
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    lines = "\n".join([*borrowed, *map(str, paths)])
    (site / "borrowed.pth").write_text(f"{lines}\n", encoding="utf-8")
    return interpreter


def install(interpreter: Path, *what: object) -> None:
    """``pip install`` into an environment: ``install(python, "--editable", folder)``."""
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet"]
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "install", *options]
    run(*pip, *what, cwd=interpreter.parent)
