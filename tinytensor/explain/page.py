"""The page of all ops, which ``make docs`` writes to docs/ops.md."""

from __future__ import annotations

import inspect
import re

from .. import operations
from ..define.custom import CUSTOM
from .catalogue import ops


def _markdown(text: str) -> str:
    """A docstring's names, such as :func:`.softmax` and ``x``, as Markdown has them."""
    return re.sub(r":\w+:`[~.]?([^`]*)`|``([^`]*)``", r"`\1\2`", " ".join(text.split()))


def page() -> str:
    """The page of all ops, as Markdown."""
    lines = [
        "# Ops",
        "",
        "Made from the registry by `make docs`. In gradients, "
        '`g` is the gradient of the output and `out` the output. `tt.explain("softmax")` shows '
        "the source of an op and an example with numbers.",
        "",
        "*Primitive*: one gradient rule, which runs on arrays or on Tensors. *Fused*: forward and "
        "gradient written by hand, equal to a composition of primitives. *Composed*: a function "
        "that calls other ops.",
    ]
    family = None
    for e in ops():
        if e.name in CUSTOM:
            continue
        if e.family != family:
            family = e.family
            title = (inspect.getdoc(getattr(operations, family)) or family).split("\n\n")[0]
            lines += ["", f"## {family}", "", _markdown(title), ""]
            lines += ["| op | kind | computes | gradient | |", "|---|---|---|---|---|"]
        cells = [f"`{e.name}{e.signature}`", e.kind, e.formula, e.gradient, _markdown(e.summary)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
