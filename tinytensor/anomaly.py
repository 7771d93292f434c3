"""Finding the op whose gradient first became NaN or infinite, and the line of code that used it."""

from __future__ import annotations

from typing import Any

from .device import device_of
from .grad_mode import Mode
from .thread_state import local
from .version import place, user_line


class detect_anomaly(Mode):
    """Context manager and decorator: backward raises where a gradient becomes NaN or infinite.

    The forward pass has to run inside too, for the message to name the line of your code that
    applied the op. Every gradient is looked at, which costs about one more pass over each::

        with tt.detect_anomaly():
            loss = model(x)
            loss.backward()

    Raises:
        RuntimeError: (in ``backward``) names the op, its line, and which operand's gradient it was.
    """

    def __init__(self) -> None:
        self._outer: list[tuple[bool, Any]] = []

    def __enter__(self) -> None:
        state = local.state
        self._outer.append((state.anomaly, state.observers))
        state.anomaly = True
        if _remember_line not in state.observers:
            state.observers = (*state.observers, _remember_line)

    def __exit__(self, *exc: object) -> None:
        state = local.state
        state.anomaly, state.observers = self._outer.pop()


def _remember_line(node: Any) -> None:
    node.where = user_line()


def check_finite(node: Any, g: Any, results: list[tuple[Any, Any, bool]]) -> None:
    """Raise if the op turned a gradient ``g`` into one that is not finite.

    Args:
        node: the application that was walked through.
        g: its output's gradient. results: (parent, gradient of that operand, _) as computed.
    """
    for parent, r, _ in results:
        bad = _count_bad(r)
        if not bad:
            continue
        names = [
            node.op.inputs[0] + f"[{i}]" if node.op.variadic else node.op.inputs[i]
            for i, p in enumerate(node.parents)
            if p is parent
        ]
        incoming = sum(_count_bad(part) for part in (g if type(g) in (list, tuple) else [g]))
        came = "was finite" if not incoming else f"was not finite in {incoming} elements already"
        where = getattr(node, "where", None)
        line = place(where) or " (its line is known if the forward pass runs in detect_anomaly too)"
        raise RuntimeError(
            f"detect_anomaly: backward through {node.op.name!r}, applied{line}: the gradient of "
            f"its operand {names[0]!r} is NaN or infinite in {bad} of {r.size} elements; the "
            f"gradient that came in from above {came}"
        )


def _count_bad(g: Any) -> int:
    """How many elements are NaN or infinite."""
    if g is None:
        return 0
    array = getattr(g, "data", g) if hasattr(g, "requires_grad") else g
    xp = device_of(array).xp
    return int(array.size - xp.count_nonzero(xp.isfinite(array)))
