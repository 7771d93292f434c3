"""The build backend: setuptools, with an editable installation that editors can follow.

``pip install -e .`` leaves a hook in the environment that tells Python where ``tinytensor`` is.
Type checkers and editors run nothing, hooks included; they follow folders that a .pth file names.
That can't be the checkout itself, for then its ``tests`` or ``models`` would be found as well, in
the place of a user's own. So it is build/editable, which holds one thing: a link to ``tinytensor``.

Where there can be no links (Windows without its developer mode), or where the folder was deleted,
Python goes by setuptools' hook as ever.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ROOT = Path(__file__).resolve().parent.parent


def build_editable(
    wheel_directory: str,
    config_settings: Any = None,
    metadata_directory: str | None = None,
) -> str:
    """Setuptools' wheel for an editable installation, and in it the path of build/editable."""
    name: str = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    if folder := link():
        add(Path(wheel_directory, name), "tinytensor_types.pth", f"{folder}\n")
    return name


def link() -> Path | None:
    """The folder with a link to the engine, which has links to nn, models and train in it."""
    folder = ROOT / "build" / "editable"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "tinytensor"
    try:
        made.unlink(missing_ok=True)
        made.symlink_to(Path("..", "..", "tinytensor"), target_is_directory=True)
    except OSError:
        return None
    return folder


def add(wheel: Path, name: str, text: str) -> None:
    """Put a file into a wheel, and into the list of its files."""
    data = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel) as archive:
        files = {file: archive.read(file) for file in archive.infolist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
        for file, content in files.items():
            if file.filename.endswith(".dist-info/RECORD"):
                content += f"{name},sha256={digest},{len(data)}\n".encode()
            archive.writestr(file, content)
