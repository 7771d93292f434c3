"""The maps of attention as a page that needs nothing but itself."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...pages.page import page as page_of
from ..system.files import write_bytes
from .attention import Map


def write_page(path: str | Path, found: Sequence[Map], title: str, about: str) -> Path:
    """Write the page: one HTML file, pure ASCII, that asks no server for anything.

    Args:
        path: the file.
        found: the maps.
        title, about: lines above them.

    Returns:
        The path.

    Raises:
        OSError: it could not be written; what was there is untouched.
    """
    return write_bytes(path, page(found, title, about).encode("ascii"))


def page(found: Sequence[Map], title: str, about: str) -> str:
    """The text of the page."""
    maps = [_plain(one) for one in found]
    return page_of("attention", title, {"title": title, "about": about, "maps": maps})


def _plain(one: Map) -> dict[str, Any]:
    """A map for JSON: weights as bytes, of which 255 is the largest of the head."""
    largest = one.weights.max(axis=(1, 2), initial=0)
    scale = np.where(largest > 0, largest, 1)[:, None, None]
    shares = np.rint(one.weights / scale * 255).astype(np.uint8)
    return {
        "kind": one.kind,
        "layer": one.layer,
        "queries": one.queries,
        "keys": one.keys,
        "largest": [round(float(value), 6) for value in largest],
        "weights": base64.b64encode(shares.tobytes()).decode("ascii"),
    }
