"""``tt.explain(op)``: what an op computes, why its gradient is what it is, source, and numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import operations
from ..define.custom import CUSTOM
from ..define.op import OPS, Op
from ..hints.finding import alike
from ..shown import html
from .catalogue import Entry, entry_of, formula
from .derivations import Derivation, derivation
from .example import Example, of_inputs, of_sample
from .sources import body_source, helpers, rules_of, source, source_of_rules


@dataclass(repr=False)
class Explanation:
    """What :func:`explain` gives: print it, or let a notebook show it.

    Attributes:
        entry: the op's line in ``tt.ops()``. doc: its documentation.
        why: how its gradient is derived; None for an op without one.
        sources: titles and sources: of forward and gradient rules, of helpers of ours that they
            call, and of the composition that a fused op equals.
        example: numbers that went through it, and back; None where there are none.
        names: its operands and settings.
    """

    entry: Entry
    doc: str
    why: Derivation | None
    sources: list[tuple[str, str]]
    example: Example | None
    names: frozenset[str] = frozenset()

    def __str__(self) -> str:
        head = [f"{self.entry.name}{self.entry.signature}    [{self.entry.kind}]"]
        if self.entry.formula:
            head.append(f"out = {self.entry.formula}")
        if self.entry.gradient and self.entry.kind != "composed":
            head.append(self.entry.gradient)
        parts = ["\n".join(head), self.doc]
        if self.why is not None:
            parts.append(titled("Why", str(self.why)))
        parts += [titled(title, text) for title, text in self.sources]
        if self.example is not None:
            parts.append(titled(f"Example: {self.example.title}", str(self.example)))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: formulas as mathematics, numbers as tables."""
        entry = self.entry
        parts = []
        if entry.formula:
            name = '<span class="formula"><math><mi>out</mi><mo>=</mo></math></span> '
            named = "=" in entry.formula.split(",")[0].split(" where ")[0]
            parts.append(_mathematics(("" if named else name) + formula(entry, "formula")))
        if entry.gradient and entry.kind != "composed":
            parts.append(_mathematics(formula(entry, "gradient")))
        parts.append(html.folded(html.faint("documentation"), html.source(self.doc)))
        if self.why is not None:
            parts.append(
                html.folded("<b>Why</b>", _mathematics(self.why.markup(self.names)), is_open=True)
            )
        parts += [html.folded(html.text(title), html.source(text)) for title, text in self.sources]
        if self.example is not None:
            head = f"<b>Example</b> {html.code(self.example.title)}"
            parts.append(html.folded(head, self.example.markup(), is_open=True))
        return html.framed(f"{entry.name}{entry.signature}", entry.kind, *parts)


def explain(
    op: str | Callable[..., Any], /, *inputs: Any, g: Any = None, **settings: Any
) -> Explanation:
    """How an op works: what it computes, why its gradient is what it is, the source of its forward
    and gradient rules with the helpers they call, what it is composed of (for a fused op), and
    numbers that went through it and back, compared with finite differences.

    A prompt and a notebook show it; in a program ``print`` it. ::

        tt.explain("softmax")                                # with a small example of its own
        tt.explain(tt.softmax, my_tensor, axis=-1, g=[...])  # with your numbers

    Args:
        op: a name such as ``"softmax"``, or the function itself (``tt.softmax``).
        inputs, settings: arguments of the op, of which the tensors, arrays and lists are copied;
            the example is then with these.
        g: the gradient of the result that is sent back, in its shape (a list of them for several
            results); None draws one at random, always the same.

    Raises:
        ValueError: there is no such op (the message lists similar names), or ``g`` does not fit.
        TypeError: settings without inputs, or arguments that the op does not take.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", str(op))
    public = getattr(operations, name, None) if name in vars(operations)["__all__"] else None
    found = CUSTOM.get(name) or OPS.get(name) or (public if isinstance(public, Op) else None)
    if found is None and public is None:
        known = sorted({*OPS, *CUSTOM, *vars(operations)["__all__"]})
        similar = alike(name, known, 3, 0.5)
        hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
        raise ValueError(f"explain: op: there is no op called {name!r}{hint} (tt.ops() lists all)")
    if not inputs and (settings or g is not None):
        what = "g" if g is not None else next(iter(settings))
        raise TypeError(f"explain: {what}: give the op's inputs too, as explain({name!r}, x, ...)")
    public = public or found
    assert public is not None
    example = None
    if inputs:
        example = of_inputs(found, public, name, inputs, settings, g)
    elif found is not None:
        example = of_sample(found)
    return Explanation(
        entry_of(name, found or public),
        inspect.getdoc(public) or "",
        derivation(found) if found is not None else None,
        _sources(found, public),
        example,
        frozenset() if found is None else frozenset({*found.inputs, *found.setting_names}),
    )


def _sources(op: Op | None, public: Callable[..., Any]) -> list[tuple[str, str]]:
    if op is None:
        inner = helpers([public])
        parts = [("Source", body_source(public))]
    else:
        parts = [("Forward", body_source(op.forward))]
        if back := source_of_rules(op):
            title = "Gradient (g is that of the output, k what was kept)"
            parts.append((title, "\n".join(back)))
        inner = helpers([op.forward, *rules_of(op)])
        if op.reference is not None:
            parts.append(("The same, composed", source(op.reference)))
    if inner:
        parts.insert(-1 if op is not None and op.reference is not None else len(parts),
                     ("Helpers", "\n\n".join(inner)))  # fmt: skip
    return parts


def titled(title: str, body: str) -> str:
    """A part of the text, below a line."""
    return f"-- {title} {'-' * (76 - len(title))}\n{body}"


def _mathematics(inner: str) -> str:
    """Formulas in a font that has mathematics, where there is one."""
    font = "'Latin Modern Math','STIX Two Math','Cambria Math','DejaVu Math TeX Gyre',math"
    inner = inner.replace("<math", f'<math style="font-family:{font}"')
    return f'<div style="margin:4px 0;font-size:15px">{inner}</div>'
