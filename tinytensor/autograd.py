"""Reverse-mode differentiation: the walk back through the graph.

Nodes are taken in decreasing order of creation, which is a topological order: no recursion, and
each node is visited once, after all gradients into it have been added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .anomaly import check_finite
from .device import device_of
from .grad_mode import enable_grad, grad_mode, set_grad_enabled
from .graph import Dropped, Kept, Node
from .hooks import run_hooks
from .version import Version, place

if TYPE_CHECKING:
    from .registry import Op
    from .tensor import Tensor


def backward(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    targets: Sequence[Tensor] | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[Any]:
    """Walk the graph back from ``outputs``.

    Args:
        outputs: tensors inside a graph.
        cotangents: a gradient per output: raw arrays, or Tensors where ``create_graph``.
        targets: None accumulates into the ``.grad`` of all leaves. Otherwise only paths to these
            tensors are walked, and their gradients are returned (None where none flowed).
        retain_graph: keep the saved arrays, so that the graph can be walked again.
        create_graph: run on Tensors, so that the gradients have a graph of their own.
    """
    grads: dict[Any, Any] = {}  # node or leaf tensor -> gradient so far
    owned: set[int] = set()  # ids of those whose array nobody else can hold

    def add(key: Any, g: Any, fresh: bool) -> None:
        before = grads.get(key)
        if before is None:
            grads[key] = g
            if fresh:
                owned.add(id(key))
        elif create_graph or id(key) not in owned or not before.ndim:
            total = before + g
            grads[key] = np.asarray(total) if isinstance(total, np.generic) else total
            owned.add(id(key))
        else:
            before += g

    roots: list[Node] = []
    for output, g in zip(outputs, cotangents, strict=True):
        add(output if output.node is None else output.node, g, fresh=False)
        if output.node is not None:
            roots.append(output.node)
    order, leaves = collect(roots)
    for output in outputs:
        if output.node is None:
            leaves[id(output)] = output
    wanted: set[Any] = set()
    on_path: set[Any] | None = None  # what leads to a target; None: everything does
    if targets is not None:
        wanted = {t if t.node is None else t.node for t in targets}
        on_path = _paths_to(order, wanted)
    found: dict[Any, Any] = {}
    watched = grad_mode.anomaly

    while order:
        node = order.pop()
        g = grads.pop(node, None)
        owned.discard(id(node))
        if g is None:
            continue
        if node.hooks is not None:
            g = run_hooks(node.hooks, g, create_graph)
        if node in wanted:
            found[node] = g
        if on_path is not None and not any(p in on_path for p in node.parents if p is not None):
            continue
        if node.value is not None:
            node.grad = g.data if create_graph else g
        parents = node.parents
        if node.op.name == "output":
            slots = grads.setdefault(parents[0], [None] * len(parents[0].shape))
            slots[node.params["index"]] = g
            continue
        results = _vjp(node, g, create_graph)
        if watched:
            check_finite(node, g, results)
        for parent, r, fresh in results:
            if on_path is None or parent in on_path:
                add(parent, r, fresh)
        saved = node.saved
        if not retain_graph and type(saved) is tuple:
            for array in saved:
                if hasattr(array, "dtype"):  # a graph that keeps only numbers can be walked again
                    node.saved = None
                    break

    if targets is not None:
        keys = [t if t.node is None else t.node for t in targets]
        for key in {k for k in keys if k not in found and k in grads}:
            found[key] = run_hooks(key.hooks, grads[key], create_graph)
        return [found.get(k) for k in keys]
    for leaf in leaves.values():
        g = grads.get(leaf)
        if g is not None:
            fresh = id(leaf) in owned
            if leaf.hooks:
                g, fresh = run_hooks(leaf.hooks, g, create_graph), False
            _accumulate(leaf, g, fresh, create_graph)
    return []


def collect(roots: Sequence[Node]) -> tuple[list[Node], dict[int, Tensor]]:
    """All nodes above the roots in increasing order of creation, and the leaf tensors."""
    seen: set[Node] = set(roots)
    stack = list(seen)
    leaves: dict[int, Tensor] = {}
    while stack:
        for parent in stack.pop().parents:
            if parent is None:
                continue
            if type(parent) is not Node:
                leaves[id(parent)] = parent
            elif parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda node: node.seq), leaves


def _paths_to(order: list[Node], wanted: set[Any]) -> set[Any]:
    """What is wanted, and the nodes of ``order`` (increasing) that were computed from it."""
    on_path = set(wanted)
    for node in order:
        if any(p in on_path for p in node.parents if p is not None):
            on_path.add(node)
    return on_path


def _accumulate(leaf: Tensor, g: Any, owned: bool, graph: bool) -> None:
    """Add a gradient to ``leaf.grad``; the array stored is one that nobody else holds."""
    from .tensor import make

    before = leaf._grad
    if graph:
        leaf._grad = g.copy() if before is None else before + g
    elif before is None:
        leaf._grad = make(g if owned else g.copy())
    elif before.node is not None:
        leaf._grad = make(before.data + g)
    else:
        before.data += g
        before.version.bump()


def _vjp(node: Node, g: Any, graph: bool) -> list[tuple[Any, Any, bool]]:
    """Gradients of a node's operands: (parent, gradient, whether its array is nobody else's)."""
    op = node.op
    saved = node.saved
    if type(saved) is not tuple and isinstance(saved, Dropped):
        saved = node.saved = saved.recompute(node)
    if saved is None:
        raise RuntimeError(
            f"backward through {op.name!r} a second time, but its saved arrays were freed by the "
            "first; call backward(retain_graph=True) the first time, or compute the loss again"
        )
    for key, version, count in zip(op.keys, node.versions, node.counts, strict=True):
        if version is not None and version.count != count:
            raise RuntimeError(_changed(node, key, version, count))
    if type(g) is list:
        g = _fill(node, g, graph)
    if not graph:
        if type(g) is tuple:
            xp = device_of(next(part for part in g if part is not None)).xp
            if op.wide:
                g = tuple(p if p is None or p.dtype != np.float16 else p.astype("f4") for p in g)
        else:
            xp = device_of(g).xp
            if op.wide and g.dtype == np.float16:
                g = g.astype(np.float32)
        values: Sequence[Any] = saved
    elif op.reference is not None and not op.selective and set(op.inputs) <= set(op.keys):
        return _reference_vjp(node, g)
    else:
        import tinytensor as xp  # the same names as NumPy's, on Tensors

        values = _as_tensors(node, saved)
    k = Kept(node, values, graph)
    if op.joint is not None:
        results = op.joint(xp, g, k)
    else:
        results = [
            rule(xp, g, k) if need else None for rule, need in zip(op.vjps, node.needs, strict=True)
        ]
    out = []
    for i, need in enumerate(node.needs):
        r = results[i]
        if need and r is not None:
            shape, dtype = node.in_meta[i]
            if isinstance(r, np.generic):  # NumPy makes scalars of 0-d arrays
                r = np.asarray(r)
            fresh = not graph and (
                r is not g if type(g) is not tuple else all(r is not part for part in g)
            )
            if r.shape != shape:
                r = _fit(op, i, xp, r, shape)
            if r.dtype != dtype:
                r = r.astype(dtype)
            out.append((node.parents[i], r, fresh and r.base is None))
    return out


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


def _changed(node: Node, name: str, version: Version, count: int) -> str:
    """What to say when a saved array was written to before backward read it."""
    inputs = node.op.inputs
    if name in inputs:
        what, shape = f"its operand {name!r}", node.in_meta[inputs.index(name)][0]
    else:
        what, shape = "its output", node.shape
    times = version.count - count
    return (
        f"backward through {node.op.name!r}: {what}, shape {shape}, was saved for the gradient and "
        f"then changed in place {'once' if times == 1 else f'{times} times'}, last"
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
        if g.dtype == np.float16:
            g = g.astype("float32")  # a float16 sum of ones stops at 2048
        g = xp.sum(g, axis=axes, keepdims=True)
    return xp.reshape(g, shape) if g.shape != shape else g


def _fill(node: Node, slots: list[Any], graph: bool) -> tuple[Any, ...]:
    """Zeros for the outputs of a multi-output op into which no gradient came.

    An output of integers, such as the positions of a sort, gets None.
    """
    from .tensor import make

    some = next(s for s in slots if s is not None)
    xp = device_of(some.data if graph else some).xp
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
    from .tensor import Tensor, make

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
        value.version = version or value.version
        values.append(value)
    return values


def _reference_vjp(node: Node, g: Any) -> list[tuple[Any, Any, bool]]:
    """A fused op's differentiable gradient: by way of the primitives that it equals.

    Each operand enters through an alias, so that one operand which was computed from another
    still counts as a variable of its own.
    """
    from . import operations as ops

    assert isinstance(node.saved, tuple)
    values = dict(zip(node.op.keys, _as_tensors(node, node.saved), strict=True))
    operands = [values[name] for name in node.op.inputs]
    cotangents = g if isinstance(g, tuple) else (g,)
    with enable_grad():
        for i, need in enumerate(node.needs):
            if need:
                operands[i] = ops.alias(operands[i])
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
    from .tensor import Tensor

    return x.astype("float32") if isinstance(x, Tensor) and x.dtype == np.float16 else x


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Args:
        outputs: a tensor or several, inside a graph.
        inputs: a tensor or several (leaves or not) that require gradients.
        grad_outputs: a cotangent of the same shape per output; may be left out for scalars.
        retain_graph: keep saved arrays for another walk; defaults to ``create_graph``.
        create_graph: make the gradients differentiable themselves.
        allow_unused: return None for an input the outputs do not depend on, instead of raising.

    Returns:
        A tuple with one Tensor per input, of its shape and dtype.
    """
    from .tensor import Tensor, make

    outs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    ins = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if grad_outputs is None or isinstance(grad_outputs, (Tensor, np.ndarray, int, float)):
        seeds: list[Any] = [grad_outputs] * len(outs) if grad_outputs is None else [grad_outputs]
    else:
        seeds = list(grad_outputs)
    if len(seeds) != len(outs):
        raise ValueError(f"grad_outputs: expected {len(outs)}, one per output, got {len(seeds)}")
    for i, x in enumerate(ins):
        if not x.requires_grad:
            raise ValueError(
                f"inputs[{i}] (shape {x.shape}): expected a tensor with requires_grad=True"
            )
    cotangents = [
        cotangent(o, s, "grad_outputs", create_graph) for o, s in zip(outs, seeds, strict=True)
    ]
    with set_grad_enabled(create_graph):
        results = backward(
            outs,
            cotangents,
            ins,
            create_graph if retain_graph is None else retain_graph,
            create_graph,
        )
        # copies: a sum hands the same array to both operands, and that of grad_outputs at that
        final = [
            None if r is None else r.copy() if create_graph else make(r.copy()) for r in results
        ]
    for i, r in enumerate(final):
        if r is None and not allow_unused:
            raise ValueError(
                f"inputs[{i}] (shape {ins[i].shape}) was not used to compute the outputs; "
                "pass allow_unused=True to get None for it"
            )
    return tuple(final)


def cotangent(output: Tensor, given: Any, argument: str, graph: bool) -> Any:
    """A checked gradient for ``output``: a raw array, or a Tensor where ``graph``."""
    from .tensor import Tensor, make, tensor

    if not output.requires_grad:
        what = f"backward: this tensor (shape {output.shape}, {output.dtype})"
        if output.dtype.kind != "f":
            raise RuntimeError(
                f"{what} holds no floating-point numbers, and integers have no gradients; call it "
                "on what was computed before argmax, a comparison or .astype made integers of it"
            )
        raise RuntimeError(
            f"{what} has no graph: nothing it was computed from has requires_grad=True, or it was "
            "computed under no_grad() or detached; call .requires_grad_() on the inputs first"
        )
    xp = output.device.xp
    if given is None:
        if output.size != 1:
            raise RuntimeError(
                f"backward: expected a scalar output, got shape {output.shape}; reduce it first, "
                "for example "
                f"with .sum() or .mean(), or pass {argument} of that shape"
            )
        return make(xp.ones_like(output.data)) if graph else xp.ones_like(output.data)
    t = given if isinstance(given, Tensor) else tensor(given, device=output.device)
    if t.device is not output.device:
        raise TypeError(
            f"{argument}: on {t.device.name!r}, but the output is on {output.device.name!r}"
        )
    if t.shape != output.shape:
        raise ValueError(
            f"{argument}: expected shape {output.shape}, that of the output, got {t.shape}"
        )
    if t.dtype != output.dtype:
        t = t.astype(output.dtype)
    return t if graph else t.data
