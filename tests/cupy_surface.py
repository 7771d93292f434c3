"""The names and signatures of CuPy, read from `cupy_surface.json`."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

SURFACE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "cupy_surface.json").read_text(encoding="utf-8")
)


def signature(words: str) -> inspect.Signature:
    """Turn "a axis= !dtype=" (see the surface file) into a Signature."""
    p = inspect.Parameter
    kinds = {
        "**": p.VAR_KEYWORD,
        "*": p.VAR_POSITIONAL,
        "/": p.POSITIONAL_ONLY,
        "!": p.KEYWORD_ONLY,
    }
    parameters = []
    for word in words.split():
        mark = next((m for m in kinds if word.startswith(m)), "")
        name = word[len(mark) :]
        default = None if name.endswith("=") else p.empty
        parameters.append(
            p(name.rstrip("="), kinds.get(mark, p.POSITIONAL_OR_KEYWORD), default=default)
        )
    return inspect.Signature(parameters)
