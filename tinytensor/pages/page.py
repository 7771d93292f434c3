"""A page as one file: a template of built/ with data in it, which asks no server for anything."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path

_BUILT = Path(__file__).with_name("built")
#: where a template wants what
_TITLE, _DATA = "@@TITLE@@", "@@DATA@@"


def page(name: str, title: str, data: object) -> str:
    """The text of a page, pure ASCII.

    Args:
        name: of the template, a file in built/ without its ``.html``.
        title: what a browser writes on its tab.
        data: what ``json.dumps`` takes. Floats that JSON has no word for become the strings "nan",
            "inf" and "-inf". Texts may hold anything: nothing in them can end the script that
            they stand in, and the page shows them as text.

    Raises:
        ValueError: there is no such template.
    """
    before, rest = _template(name).split(_TITLE)
    between, after = rest.split(_DATA)
    heading = escape(title).encode("ascii", "xmlcharrefreplace").decode()
    return f"{before}{heading}{between}{as_json(data)}{after}"


def as_json(data: object) -> str:
    """JSON in ASCII that may stand inside of a script element."""
    try:
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_spelt(data), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _template(name: str) -> str:
    known = sorted(file.stem for file in _BUILT.glob("*.html"))
    if name not in known:
        raise ValueError(f"name: expected one of {', '.join(known)}, got {name!r}")
    return (_BUILT / f"{name}.html").read_text(encoding="ascii")


def _spelt(data: object) -> object:
    """The same with NaN and infinities as strings."""
    if isinstance(data, float) and not math.isfinite(data):
        return "nan" if math.isnan(data) else "inf" if data > 0 else "-inf"
    if isinstance(data, dict):
        return {key: _spelt(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_spelt(value) for value in data]
    return data
