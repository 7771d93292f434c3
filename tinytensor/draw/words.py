"""What is written on an op: its settings in short, and what it does."""

from __future__ import annotations

from typing import Any


def settings(params: dict[str, Any], defaults: dict[str, Any]) -> str:
    """An op's parameters in short: those that are not as always, and can be read at a glance."""
    parts = []
    for key, value in params.items():
        if value is None or hasattr(value, "shape"):
            continue
        if key in defaults and value == defaults[key]:
            continue
        text = short(value)
        parts.append(f"{key}={text if len(text) <= 24 else text[:23] + '…'}")
    return ", ".join(parts)


def short(value: Any) -> str:
    """A setting as one would write it: 0.1, (2, 3), [1:, :4] for an index."""
    if isinstance(value, slice):
        parts = [value.start, value.stop, *([] if value.step is None else [value.step])]
        return ":".join("" if part is None else str(part) for part in parts)
    if isinstance(value, (tuple, list)):
        inner = ", ".join(short(part) for part in value)
        if any(isinstance(part, slice) or part is ... for part in value):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if hasattr(value, "shape"):
        return f"array{tuple(value.shape)}"
    if value is ...:
        return "..."
    return f"{value:g}" if isinstance(value, float) else str(value)


def tip(op: Any) -> str:
    """What an op does, in its own words: formula and gradient, or its documentation."""
    text = getattr(op, "formula", "") or (getattr(op, "doc", "") or "").strip().split("\n")[0]
    gradient = getattr(op, "gradient", "")
    return "\n".join([f"{op.name}: {text}" if text else op.name, *([gradient] if gradient else [])])
