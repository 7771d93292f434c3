"""Every op in a line: ``tt.ops()`` lists them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import operations
from ..define.custom import CUSTOM
from ..define.op import OPS, Op
from ..shown import html
from ..shown.mathml import mathml


@dataclass(frozen=True)
class Entry:
    """One line of the list of ops.

    Attributes:
        name: as in ``tt.<name>``, or that of an op which only others use. signature: arguments.
        kind: "primitive" (one gradient rule for arrays and Tensors), "fused" (hand-written, equal
            to a reference made of primitives), "composed" (a function that calls other ops),
            or "no gradient".
        formula, gradient: what it computes and how the gradient ``g`` of its output goes back.
        summary: the first sentence of its docstring. family: the folder it is defined in.
    """

    name: str
    signature: str
    kind: str
    formula: str
    gradient: str
    summary: str
    family: str


class Catalogue(list[Entry]):
    """A list of :class:`Entry` that prints as a table."""

    def __str__(self) -> str:
        """Family by family: name, kind, what it computes, and its gradient."""
        lines: list[str] = []
        for family in dict.fromkeys(e.family for e in self):
            rows = [
                (e.name, e.kind, e.formula or e.summary, "" if e.kind == "composed" else e.gradient)
                for e in self
                if e.family == family
            ]
            widths = [max(len(row[i]) for row in rows) for i in range(2)]
            lines.append(f"-- {family} {'-' * (76 - len(family))}")
            for name, kind, formula, gradient in rows:
                head = f"{name.ljust(widths[0])}  {kind.ljust(widths[1])}  {formula}"
                lines.append(f"{head};  {gradient}" if gradient else head)
        return "\n".join(lines)

    def __getitem__(self, which: Any) -> Any:
        """An entry by its name, or by its place as in any list."""
        if not isinstance(which, str):
            return super().__getitem__(which)
        for entry in self:
            if entry.name == which:
                return entry
        raise KeyError(which)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: a family opens by a click."""
        parts = []
        for family in dict.fromkeys(e.family for e in self):
            entries = [e for e in self if e.family == family]
            rows = "".join(_row_of(e) for e in entries)
            head = f"{html.text(family)} {html.faint(str(len(entries)))}"
            table = f'<table style="border-collapse:collapse;border:0">{rows}</table>'
            parts.append(html.folded(head, table, is_open=len(self) <= 20))
        return html.framed("ops", f"{len(self)}", *parts)


def ops(containing: str = "") -> Catalogue:
    """Every op, by family and name: formula, gradient, and whether it is primitive or fused.

    Args:
        containing: keep those with this text in their name, formula or first sentence.

    Returns:
        A list of entries that prints as a table.
    """
    names: dict[str, Any] = {**OPS, **CUSTOM}
    for name in vars(operations)["__all__"]:
        public = getattr(operations, name)
        if public.__name__ == name:  # the others are second names, such as arcsin
            names.setdefault(name, public)
    entries = [entry_of(name, what) for name, what in names.items()]
    found = [
        e for e in entries if containing.lower() in f"{e.name} {e.formula} {e.summary}".lower()
    ]
    return Catalogue(sorted(found, key=lambda e: (e.family, e.name)))


def entry_of(name: str, what: Any) -> Entry:
    """The line of one op or function."""
    op = what if isinstance(what, Op) else OPS.get(name)
    public = getattr(operations, name, None) or what
    doc = inspect.getdoc(public) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    if op is None:
        kind, formula, gradient = "composed", "", "by the ops it calls"
    else:
        kind = _kind(op)
        formula, gradient = op.formula, op.gradient
        first = first or op.doc
    shown = public if not isinstance(public, Op) else public.__signature__
    signature = str(shown if isinstance(public, Op) else _names_only(public))
    home = getattr(op.forward if op is not None else public, "__module__", "") or ""
    family = home.removeprefix("tinytensor.operations.").split(".")[0]  # or the user's own module
    return Entry(name, signature, kind, formula, gradient, first, family)


def _kind(op: Op) -> str:
    if not op.differentiable:
        return "no gradient"
    return "fused" if op.fused else "primitive"


def _names_only(fn: Callable[..., Any]) -> inspect.Signature:
    """A function's signature without its annotations."""
    signature = inspect.signature(fn)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return inspect.Signature(plain)


def formula(entry: Entry, which: str) -> str:
    """Its formula or gradient as markup."""
    op = OPS.get(entry.name) or CUSTOM.get(entry.name)
    names = {*op.inputs, *op.setting_names} if op is not None else set()
    return mathml(getattr(entry, which), names)


def _row_of(entry: Entry) -> str:
    what = formula(entry, "formula") if entry.formula else html.text(entry.summary)
    gradient = "" if entry.kind == "composed" else formula(entry, "gradient")
    cell = '<td style="text-align:left;padding:2px 14px 2px 0;border:0;vertical-align:top">'
    cells = [html.code(entry.name), html.faint(html.text(entry.kind)), what, gradient]
    made = "".join(f"{cell}{c}</td>" for c in cells)
    return f'<tr style="background:none">{made}</tr>'
