"""What is written on an op: its settings in short, and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .picture import COMPUTED, CONSTANT, Value

if TYPE_CHECKING:
    from .zooms.statistics import Looked

# what is written in place of an op's name
SYMBOLS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "matmul": "@"}

# ops of several operands whose order does not matter
ANY_ORDER = {"add", "mul", "maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp", "isclose"}
ANY_ORDER |= {"equal", "not_equal", "logical_and", "logical_or", "logical_xor"}
ANY_ORDER |= {"bitwise_and", "bitwise_or", "bitwise_xor"}


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


def called(node: Any, i: int, shortest: int = 2) -> str:
    """What a node's op calls an operand: "ids" and "weight" tell something, "x" does not."""
    names = () if getattr(node.op, "variadic", False) else tuple(node.op.inputs)
    return names[i] if i < len(names) and len(names[i]) >= shortest else ""


def words_for(node: Any, read: list[Value | None], fused: bool) -> list[str]:
    """A word for the arrow of each operand, where it is not plain which is which: its name, or
    its place among those that are named x and y alone."""
    if node.op.name in ANY_ORDER:
        return [""] * len(read)
    if fused:
        made = [value is not None and value.role == COMPUTED for value in read]
        return [called(node, i, 1) if m and sum(made) > 1 else "" for i, m in enumerate(made)]
    alike = [value is not None and not called(node, i) for i, value in enumerate(read)]
    return [place(i) if a and sum(alike) > 1 else "" for i, a in enumerate(alike)]


#: kind of a flag -> what is said of a folded module of whose tensors some have it
FLAG_WORDS = {
    "dead": "dead units",
    "vanishing": "vanishing gradient",
    "exploding": "exploding gradient",
    "not finite": "not finite",
}


def flag_words(flags: dict[str, int]) -> list[str]:
    """ "2 tensors: vanishing gradient", a line for each kind."""
    return [
        f"{n} tensor{'s' if n != 1 else ''}: {FLAG_WORDS[kind]}" for kind, n in flags.items() if n
    ]


UNKNOWN = "not known"


def stat_rows(value: Value) -> list[tuple[str, str]]:
    """(data or grad, mean ± standard deviation and range) of a tensor too large for its numbers;
    only where statistics are asked for, and there also that they are not known."""
    if not value.boxed or value.role == CONSTANT:
        return []
    rows = []
    if value.data is None:
        rows.append(("data", UNKNOWN if value.looked is None else spread(value.looked)))
    if value.grad is None and value.needs_grad and value.graded:
        rows.append(("grad", UNKNOWN if value.grad_looked is None else spread(value.grad_looked)))
    return rows


def spread(looked: Looked) -> str:
    """ "0.12 ± 1.3, −3 … 2.5"."""
    stats = looked.stats
    if stats is None:
        return "no numbers"
    if stats.bad == stats.size:
        return "no finite number"
    alike = "all finite ones " if stats.bad else "all "
    if stats.low == stats.high:
        return f"{alike}{stats.low:.3g}"
    mean, std, low, high = (f"{x:.3g}" for x in (stats.settled, stats.std, stats.low, stats.high))
    return f"{mean} ± {std}, {low} … {high}"


def place(i: int) -> str:
    """ "1st", "2nd", "3rd", "4th"."""
    n = i + 1
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if n % 100 in (11, 12, 13) else endings.get(n % 10, 'th')}"
