"""The maps of attention as a page that needs nothing but itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..system.files import write_bytes
from .attention import Map

_TEMPLATE = Path(__file__).with_name("attention_page.html")
#: where the template wants what
_TITLE, _DATA = "@@TITLE@@", "@@DATA@@"


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
    """The text of the page. What users write goes into it as JSON, in which nothing can end the
    script that it stands in, and from there as text only."""
    data = {"title": title, "about": about, "maps": [_plain(one) for one in found]}
    before, rest = _TEMPLATE.read_text(encoding="ascii").split(_TITLE)
    between, after = rest.split(_DATA)
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    heading = escape(title).encode("ascii", "xmlcharrefreplace").decode()
    return f"{before}{heading}{between}{text}{after}"


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
