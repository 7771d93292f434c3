"""One step of the walk back: from the gradient of a node's output to those of its operands.

Here is what no op's rule repeats: skipping operands that need no gradient, summing over broadcast
axes, the operand's dtype, running a rule on Tensors (``create_graph=True``), and the refusal of
saved arrays that were changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.device import device_of
from ..arrays.dtypes import F16, F32
from ..context.source_line import place
from ..hints.finding import kind_of
from .grad_mode import enable_grad
from .kept import described
from .node import Dropped, Node

if TYPE_CHECKING:
    import tinytensor

    from ..define.op import Op
    from ..operations.elementwise.conversion import alias
    from ..tensor.tensor import Tensor, make
    from .backward import backward
else:
    late.needs(
        __name__,
        tinytensor="",
        alias="operations.elementwise.conversion.alias",
        backward="graph.backward.backward",
        Tensor="tensor.tensor.Tensor",
        make="tensor.tensor.make",
    )


def pull_back(node: Node, g: Any, graph: bool) -> list[tuple[Any, Any, bool]]:
    """Gradients of a node's operands: (parent, gradient, whether its array is nobody else's)."""
    op = node.op
    saved: Any = node.saved
    if type(saved) is not tuple:
        saved = _recomputed(node)
    for version in node.versions:
        if version is not None and version[0].count != version[1]:
            raise RuntimeError(_changed(node))
    if type(g) is list:
        g = _fill(node, g, graph)
    several = type(g) is tuple
    if not graph:
        xp = device_of(next(part for part in g if part is not None) if several else g).xp
        if op.wide:
            g = tuple(_no_half(p) for p in g) if several else _no_half(g)
    elif op.reference is not None and not op.selective and set(op.inputs) <= set(op.keys):
        return _reference_vjp(node, g)
    else:
        xp = tinytensor  # the same names as NumPy's, on Tensors
        saved = _as_tensors(node, saved)
    k = op.kept(node, node.needs, graph, *saved, **node.params)
    joint = op.joint is not None
    if joint:
        results = op.joint(xp, g, k)
        if type(results) not in (tuple, list):
            raise TypeError(
                f"backward through {op.name!r}: its rule returned {kind_of(results)}; "
                "expected a tuple with a gradient, or None, for each operand"
            )
    out = []
    for i, need in enumerate(node.needs):
        if not need:
            continue
        r = results[i] if joint else op.vjps[i](xp, g, k)
        if r is None:
            continue
        shape, dtype = node.in_meta[i]
        if isinstance(r, np.generic):  # NumPy makes scalars of 0-d arrays
            r = np.asarray(r)
        own = not graph and (all(r is not part for part in g) if several else r is not g)
        if r.shape != shape:
            r = _fit(op, i, xp, r, shape)
        if r.dtype is not dtype and r.dtype != dtype:
            r = r.astype(dtype)
        out.append((node.parents[i], r, own and r.base is None))
    return out


def _recomputed(node: Node) -> tuple[Any, ...]:
    """What a node keeps, where it has to be computed again; an error where it is gone."""
    if isinstance(node.saved, Dropped):
        node.saved = node.saved.recompute(node)
        return node.saved
    raise RuntimeError(
        f"backward through {node.op.name!r} a second time, but its saved arrays were freed by the "
        "first; call backward(retain_graph=True) the first time, or compute the loss again"
    )


def _no_half(g: Any) -> Any:
    """A float16 gradient as float32, to compute in; anything else as it is."""
    return g if g is None or g.dtype != F16 else g.astype(F32)


def _fit(op: Op, operand: int, xp: Any, r: Any, shape: tuple[int, ...]) -> Any:
    """A result summed over broadcast axes; an error names the rule that gave another shape."""
    try:
        fitted = unbroadcast(xp, r, shape)
        if fitted.shape == shape:
            return fitted
    except ValueError:
        pass
    name = op.inputs[0 if op.variadic else operand]
    raise ValueError(
        f"backward through {op.name!r}: its rule gave a gradient of shape {r.shape} for operand "
        f"{name!r} of shape {shape}; expected that shape, or one that it broadcasts to"
    )


def _changed(node: Node) -> str:
    """What to say when a saved array was written to before backward read it."""
    name, version, count = next(
        (key, *version)
        for key, version in zip(node.op.keys, node.versions, strict=True)
        if version is not None and version[0].count != version[1]
    )
    if version.left:
        return (
            f"backward through {node.op.name!r}: {described(node, name)} was saved for the "
            "gradient, and between forward and backward the data of that tensor was replaced"
            f"{place(version.where)}; call backward first, then x.data = array"
        )
    times = version.count - count
    return (
        f"backward through {node.op.name!r}: {described(node, name)} was saved for the gradient "
        f"and then changed in place {'once' if times == 1 else f'{times} times'}, last"
        f"{place(version.where)}; compute on a copy (x = x + 1 instead of x += 1), or change it "
        "after backward"
    )


def unbroadcast(xp: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """Sum ``g`` over the axes along which an operand of ``shape`` was broadcast."""
    extra = g.ndim - len(shape)
    if extra < 0:
        return xp.reshape(g, shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1
    )
    if axes:
        if g.dtype == F16:
            g = g.astype(F32)  # a float16 sum of ones stops at 2048
        g = xp.sum(g, axis=axes, keepdims=True)
    return xp.reshape(g, shape) if g.shape != shape else g


def _fill(node: Node, slots: list[Any], graph: bool) -> tuple[Any, ...]:
    """Zeros for the outputs of a multi-output op into which no gradient came.

    An output of integers, such as the positions of a sort, gets None.
    """
    some = next(s for s in slots if s is not None)
    xp = device_of(some._data if graph else some).xp
    out = []
    for slot, shape, dtype in zip(slots, node.shape, node.dtype, strict=True):
        if slot is None and dtype.kind == "f":
            slot = xp.zeros(shape, dtype=dtype)
            if graph:
                slot = make(slot)
        out.append(slot)
    return tuple(out)


def _as_tensors(node: Node, saved: Sequence[Any]) -> list[Any]:
    """Kept arrays as Tensors with their place in the graph, for a VJP that is recorded itself."""
    values: list[Any] = []
    for name, array, version in zip(node.op.keys, saved, node.versions, strict=True):
        if array is None or isinstance(array, (int, float, bool)):
            values.append(array)
            continue
        parent: Any = None
        if name == "out":
            parent = node
        elif name in node.op.inputs:
            parent = node.parents[node.op.inputs.index(name)]
        if isinstance(parent, Tensor):
            values.append(parent)
            continue
        value = make(array, parent)
        # the same counter, so that a graph of the gradients notices a write to the array too
        value.version = version[0] if version else value.version
        values.append(value)
    return values


def _reference_vjp(node: Node, g: Any) -> list[tuple[Any, Any, bool]]:
    """A fused op's differentiable gradient: by way of the primitives that it equals.

    Each operand enters through an alias, so that one operand which was computed from another
    still counts as a variable of its own.
    """
    assert isinstance(node.saved, tuple)
    values = dict(zip(node.op.keys, _as_tensors(node, node.saved), strict=True))
    operands = [values[name] for name in node.op.inputs]
    cotangents = g if isinstance(g, tuple) else (g,)
    with enable_grad():
        for i, need in enumerate(node.needs):
            if need:
                operands[i] = alias(operands[i])
        wanted = [operands[i] for i, need in enumerate(node.needs) if need]
        if node.op.wide:
            operands = [_widened(x) for x in operands]
            cotangents = tuple(_widened(c) for c in cotangents)
        out = node.op.reference(*operands, **node.params)
        outs = out if isinstance(out, tuple) else (out,)
        pairs = [
            (o, c)
            for o, c in zip(outs, cotangents, strict=True)
            if o.requires_grad and c is not None
        ]
        grads = backward(
            [o for o, _ in pairs],
            [c for _, c in pairs],
            wanted,
            retain_graph=True,
            create_graph=True,
        )
    parents = [p for p, need in zip(node.parents, node.needs, strict=True) if need]
    return [(p, r, False) for p, r in zip(parents, grads, strict=True) if r is not None]


def _widened(x: Any) -> Any:
    """A float16 tensor as float32, to compute in; anything else as it is."""
    return x.astype("float32") if isinstance(x, Tensor) and x.dtype == np.float16 else x
