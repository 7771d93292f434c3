"""Reverse-mode differentiation: the walk back through the graph.

Nodes are taken in decreasing order of creation, which is a topological order: no recursion, and
each node is visited once, after all gradients into it have been added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.rows import Rows, dense
from ..context.thread_state import local
from .anomaly import check_finite, check_unchanged, is_watching
from .grad_mode import OFF, recording_on
from .hooks import run_hooks
from .node import Node, next_walk
from .step import pull_back

if TYPE_CHECKING:
    from ..define.custom import CUSTOM
    from ..define.op import OPS
    from ..tensor.tensor import Tensor, tensor
else:
    late.needs(
        __name__,
        Tensor="tensor.tensor.Tensor",
        tensor="tensor.tensor.tensor",
        CUSTOM="define.custom.CUSTOM",
        OPS="define.op.OPS",
    )

_age = attrgetter("seq")

#: ``state.cut`` after a gradient that has no graph although one was asked for
CONSTANT = "the gradient that was computed last"


def run_backward(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    targets: Sequence[Tensor] | None,
    retain_graph: bool,
    create_graph: bool,
) -> list[Any]:
    """:func:`backward`, recording or not as ``create_graph`` says.

    No ``with``: nothing is called between the two settings and their ``try``, nor in ``finally``,
    so that Ctrl-C cannot come in between (see blocks.py), and it takes less time.
    """
    state = local.state
    outer = state.recording
    state.recording = recording_on(outer) if create_graph else (*outer, OFF)
    try:
        results = backward(outputs, cotangents, targets, retain_graph, create_graph)
        # copies: a sum hands the same array to both operands, and that of grad_outputs at that
        copies = []
        if targets is not None:
            copies = [None if r is None else dense(r.copy()) for r in results]
    finally:
        state.recording = outer
    constant = create_graph and any(r is not None and not r.tracked for r in results)
    state.cut = CONSTANT if constant else None
    return copies


def backward(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    targets: Sequence[Tensor] | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> list[Any]:
    """Walk the graph back from ``outputs``, in the recording mode of the caller.

    Args:
        outputs: tensors inside a graph.
        cotangents: a gradient per output: raw arrays, or Tensors where ``create_graph``.
        targets: None accumulates into the ``.grad`` of all leaves. Otherwise only paths to these
            tensors are walked, and their gradients are returned (None where none flowed).
        retain_graph: keep the saved arrays, so that the graph can be walked again.
        create_graph: run on Tensors, so that the gradients have a graph of their own.

    Returns:
        The gradients: those of the targets, or what was added to the leaves'.
    """
    grads: dict[Any, Any] = {}  # node or leaf tensor -> gradient so far
    owned: set[Any] = set()  # those whose array nobody else can hold

    def add(key: Any, g: Any) -> None:
        """One more gradient for what has one already."""
        before = grads[key]
        if type(g) is Rows:
            before, g = g, before
        if create_graph or type(before) is Rows or key not in owned or not before.ndim:
            total = before + g
            grads[key] = np.asarray(total) if isinstance(total, np.generic) else total
            owned.add(key)
        else:
            before += g

    roots: list[Node] = []
    leaves: dict[int, Tensor] = {}
    for output, g in zip(outputs, cotangents, strict=True):
        key: Any = output.node
        if key is None:
            key = leaves[id(output)] = output
        else:
            roots.append(key)
        if key in grads:
            add(key, g)
        else:
            grads[key] = g
    order = collect(roots, leaves)
    wanted: set[Any] = set()
    on_path: set[Any] | None = None  # what leads to a target; None: everything does
    if targets is not None:
        wanted = {t if t.node is None else t.node for t in targets}
        on_path = _paths_to(order, wanted)
    found: dict[Any, Any] = {}
    watched = is_watching(local.state)
    walk = next_walk()

    while order:
        node = order.pop()
        g = grads.pop(node, None)
        if g is None:
            continue
        owned.discard(node)
        if node.hooks is not None:
            g = run_hooks(node.hooks, g, create_graph)
        if on_path is not None:
            if node in wanted:
                found[node] = g
            if not any(p in on_path for p in node.parents if p is not None):
                continue
        node.walk = walk
        if node.value is not None:
            node.grad = g._data if create_graph else g
        if node.op.name == "output":
            above = node.parents[0]
            slots = grads.setdefault(above, [None] * len(above.shape))
            slots[node.params["index"]] = g
            continue
        if watched:
            check_unchanged(node)
        results = pull_back(node, g, create_graph)
        if watched:
            check_finite(node, g, results)
        for parent, r, fresh in results:
            if on_path is None or parent in on_path:
                if parent in grads:
                    add(parent, r)
                else:
                    grads[parent] = r
                    if fresh:
                        owned.add(parent)
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
    given = []
    for leaf in leaves.values():
        g = grads.get(leaf)
        if g is not None:
            fresh = leaf in owned
            if leaf.hooks:
                g, fresh = run_hooks(leaf.hooks, g, create_graph), False
            leaf.accumulate_grad(g, fresh, create_graph, walk)
            given.append(g)
    return given


def collect(roots: Sequence[Node], leaves: dict[int, Tensor]) -> list[Node]:
    """All nodes above the roots in increasing order of creation; leaf tensors go to ``leaves``."""
    seen: set[Node] = set(roots)
    stack = list(seen)
    while stack:
        for parent in stack.pop().parents:
            if parent is None:
                continue
            if type(parent) is not Node:
                leaves[id(parent)] = parent
            elif parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=_age)


def _paths_to(order: list[Node], wanted: set[Any]) -> set[Any]:
    """What is wanted, and the nodes of ``order`` (increasing) that were computed from it."""
    on_path = set(wanted)
    for node in order:
        if any(p in on_path for p in node.parents if p is not None):
            on_path.add(node)
    return on_path


def _why_no_graph() -> str:
    """The likely reason, for a message."""
    cut = local.state.cut
    if cut is CONSTANT:
        return (
            f"{cut} with create_graph=True is constant, for it is that of a linear function (or of "
            "one that is linear here), and what is computed from it alone has the gradient 0; pass "
            "allow_unused=True to get None for it"
        )
    reason = (
        "nothing it was computed from has requires_grad=True, or it was computed under no_grad() "
        "or detached"
    )
    if cut in CUSTOM and cut not in OPS:
        return f"op {cut!r} has no gradient rule; give it one by {cut}.vjp(...). Or {reason}"
    if cut is not None:
        reason += f", or it went through an op without a gradient, as {cut!r}, applied last, is"
    return (
        f"{reason}; call .requires_grad_() on the inputs first (for the gradient of a gradient: "
        "pass create_graph=True when computing the first; a first gradient that is constant, as "
        "that of 2 x is, has no graph even so)"
    )


def cotangent(output: Tensor, given: Any, argument: str, graph: bool) -> Any:
    """A checked gradient for ``output``: a raw array, or a Tensor where ``graph``."""
    if not output.tracked:
        what = f"backward: this tensor (shape {output.shape}, {output.dtype})"
        if output.dtype.kind != "f":
            raise RuntimeError(
                f"{what} holds no floating-point numbers, and integers have no gradients; call it "
                "on what was computed before argmax, a comparison or .astype made integers of it"
            )
        raise RuntimeError(f"{what} has no graph: {_why_no_graph()}")
    xp = output.device.xp
    if given is None:
        if output.size != 1:
            raise RuntimeError(
                f"backward: expected a scalar output, got shape {output.shape}; reduce it first, "
                "for example "
                f"with .sum() or .mean(), or pass {argument} of that shape"
            )
        one = xp.empty(output.shape, output.dtype)
        one.fill(1)
        if not graph:
            return one
        given = one
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
    return t if graph else t._data
