"""Every op in words: ``tt.ops()`` lists them, ``tt.explain(name)`` shows one with its source.

``make docs`` writes :func:`page` to docs/ops.md.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..hints.finding import alike
from ..tensor.tensor import Tensor, tensor
from .custom import CUSTOM
from .op import OPS, Op
from .samples import Sample

if TYPE_CHECKING:
    from .. import operations
    from ..derivatives.grad import grad
else:
    late.needs(__name__, operations="operations", grad="derivatives.grad.grad")


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
    entries = [_entry(name, what) for name, what in names.items()]
    found = [
        e for e in entries if containing.lower() in f"{e.name} {e.formula} {e.summary}".lower()
    ]
    return Catalogue(sorted(found, key=lambda e: (e.family, e.name)))


def _entry(name: str, what: Any) -> Entry:
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


def explain(op: str | Callable[..., Any]) -> None:
    """Print how an op works: what it computes, the source of its forward and gradient rules, what
    it is composed of (for a fused op), and a small example with numbers, checked.

    Args:
        op: a name such as ``"softmax"``, or the function itself (``tt.softmax``).

    Raises:
        ValueError: there is no such op; the message lists similar names.
    """
    print(explanation(op))


def explanation(op: str | Callable[..., Any]) -> str:
    """The text that :func:`explain` prints."""
    name = op if isinstance(op, str) else getattr(op, "__name__", str(op))
    public = getattr(operations, name, None) if name in vars(operations)["__all__"] else None
    found = CUSTOM.get(name) or OPS.get(name) or (public if isinstance(public, Op) else None)
    if found is None and public is None:
        known = sorted({*OPS, *CUSTOM, *vars(operations)["__all__"]})
        similar = alike(name, known, 3, 0.5)
        hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
        raise ValueError(f"explain: op: there is no op called {name!r}{hint} (tt.ops() lists all)")
    entry = _entry(name, found or public)
    public = public or found
    assert public is not None
    parts = [f"{name}{entry.signature}    [{entry.kind}]"]
    if entry.formula:
        parts.append(f"out = {entry.formula}")
    if entry.gradient:
        parts.append(entry.gradient)
    parts = ["\n".join(parts), inspect.getdoc(public) or ""]
    if found is None:
        return "\n\n".join([*parts, _titled("Source", [_body_source(public)])])
    parts.append(_titled("Forward", [_body_source(found.forward)]))
    rules = [found.joint] if found.joint is not None else found.vjps
    sources = list(dict.fromkeys(_source(rule) for rule in rules if rule is not None))
    if sources:
        parts.append(_titled("Gradient (g is that of the output, k what was kept)", sources))
    if found.reference is not None:
        parts.append(_titled("The same, composed", [_source(found.reference)]))
    example = _example(found)
    if example:
        parts.append(example)
    return "\n\n".join(parts)


def _source(fn: Callable[..., Any]) -> str:
    """A function's source, where there is a file to read it from."""
    try:
        return inspect.getsource(fn)
    except OSError:
        return "(the source cannot be read: it was typed in)"


def _body_source(fn: Callable[..., Any]) -> str:
    """A function's source without decorators and docstring, which are shown elsewhere."""
    source = textwrap.dedent(_source(fn))
    if not source.startswith(("@", "def ")):
        return source
    (parsed,) = ast.parse(source).body
    lines = source.splitlines()
    if not isinstance(parsed, ast.FunctionDef):
        return source
    start, body = parsed.lineno - 1, parsed.body
    if ast.get_docstring(parsed) is None or len(body) == 1:
        return "\n".join(lines[start:])
    first = body[0].lineno - 1
    return "\n".join(lines[start:first] + lines[body[0].end_lineno :])


def _titled(title: str, sources: list[str]) -> str:
    body = "\n".join(textwrap.dedent(source).rstrip() for source in sources)
    return f"-- {title} {'-' * (76 - len(title))}\n{body}"


def _operands(sample: Sample) -> Iterator[np.ndarray]:
    for arg in sample.args:
        for array in arg if isinstance(arg, (list, tuple)) else [arg]:
            if isinstance(array, np.ndarray):
                yield array


def _example(op: Op) -> str:
    """A small sample with numbers: operands, result, a gradient sent back, and what came of it."""
    samples = [s for s in op.samples() if all(a.size for a in _operands(s))]
    if not samples:
        return ""

    def awkward(sample: Sample) -> tuple[bool, bool, bool, int]:
        sizes = [a.size for a in _operands(sample)]
        flat = not any(a.ndim > 1 for a in _operands(sample))
        nothing_done = any(type(a) is tuple and not a for a in sample.args)  # a sum over no axes
        missing = len(sizes) < op.arity or max(sizes, default=0) < 3
        return nothing_done, missing, flat, int(np.sum(sizes))

    sample = min(samples, key=awkward)
    lines: list[str] = []
    floats: dict[str, Tensor] = {}

    def operand(label: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and any(isinstance(v, np.ndarray) for v in value):
            return [operand(f"{label}[{i}]", v) for i, v in enumerate(value)]
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.kind == "f":
            value = np.round(value, 2)
        x = tensor(value, requires_grad=value.dtype.kind == "f" and op.differentiable)
        if x.requires_grad:
            floats[label] = x
        lines.append(_shown(label, x))
        return x

    names = [*op.inputs, *op.setting_names]
    n = op.arity
    args = [
        operand(names[i] if i < len(names) else f"argument {i}", a) if i < n else a
        for i, a in enumerate(sample.args)
    ]
    call = [
        f"{names[i]}={a!r}" if i >= n else names[i] if isinstance(a, np.ndarray | list) else repr(a)
        for i, a in enumerate(sample.args)
    ]
    call += [f"{key}={value!r}" for key, value in sample.kwargs.items()]
    result = op(*args, **sample.kwargs)
    outs = list(result) if isinstance(result, tuple) else [result]
    for i, out in enumerate(outs):
        lines.append(_shown("out" if len(outs) == 1 else f"out[{i}]", out))
    live = [out for out in outs if out.requires_grad]
    if live and floats:
        rng = np.random.default_rng(3)
        seeds = [tensor(np.round(rng.normal(size=out.shape), 1)) for out in live]
        lines += [_shown("g" if len(live) == 1 else f"g[{i}]", s) for i, s in enumerate(seeds)]
        found = grad(live, list(floats.values()), seeds, allow_unused=True)
        for label, g in zip(floats, found, strict=True):
            if g is not None:
                lines.append(_shown(f"d{label}", g))
    title = f"Example: {op.name}({', '.join(call)})"
    return _titled(title, ["\n".join(lines)])


def _shown(label: str, x: Tensor) -> str:
    text = np.array2string(
        x.device.to_host(x.data), precision=4, suppress_small=True, separator=", ",
        prefix=f"{label} = ",
    )  # fmt: skip
    return f"{label} = {text}"


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
