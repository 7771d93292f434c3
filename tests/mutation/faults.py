"""The faults that can be planted in an op's rules."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from tinytensor.define.op import OPS, Op
from tinytensor.graph import backward, step
from tinytensor.tensor.tensor import Tensor

from . import rewrite

KINDS = ("sign", "factor", "un-broadcast", "transposed", "accumulation", "operands", "axis")
Change = Callable[[Any], ast.AST]


@dataclass
class Fault:
    """One mistake: ``plant()`` puts it into the engine and returns what takes it out again."""

    op: str
    kind: str
    where: str
    was: str
    now: str
    plant: Callable[[], Callable[[], None]]
    #: whether the fault was ever met; those that nothing can meet are not counted
    met: Callable[[], bool] = lambda: True

    def __str__(self) -> str:
        return f"{self.op} ({self.where}): {self.was}  ->  {self.now}"


def faults(op: Op) -> list[Fault]:
    """Every fault that can be planted in the rules of ``op``."""
    return [*_in_results(op), *_in_source(op), *_in_unbroadcast(op)]


def rules(op: Op) -> list[Any]:
    """The op's rules: the joint one, or those there are of one per operand."""
    return [op.joint] if op.joint is not None else [r for r in op.vjps if r is not None]


def _install(op: Op, changed: dict[Any, Any]) -> Callable[[], None]:
    """Give the op other rules; the function that is returned puts the old ones back."""
    joint, vjps = op.joint, op.vjps

    def undo() -> None:
        op.joint, op.vjps = joint, vjps

    op.joint = changed.get(joint, joint)
    op.vjps = tuple(changed.get(rule, rule) for rule in vjps)
    return undo


def differ(a: Any, b: Any) -> bool:
    """Whether two gradients differ by more than rounding, that of float32 included."""
    a, b = (getattr(x, "data", x) for x in (a, b))
    return a.shape != b.shape or not np.allclose(a, b, 1e-3, 1e-4, equal_nan=True)


# -- faults in what a rule returns --------------------------------------------------------
def _mirrored(r: Any) -> Any:
    return r.swapaxes(-1, -2).reshape(r.shape) if r.ndim > 1 else r


RESULTS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("sign", "-({})", lambda r: -r),
    ("factor", "2 * ({})", lambda r: 2 * r),
    ("transposed", "({}) with its last axes exchanged", _mirrored),
]


def _in_results(op: Op) -> Iterator[Fault]:
    for rule in rules(op):
        several = op.joint is not None and not op.variadic
        for i in range(op.arity) if several else [op.vjps.index(rule) if rule in op.vjps else None]:
            for kind, now, change in RESULTS:
                of = "all operands" if i is None else op.inputs[i]
                yield _result_fault(op, rule, i if several else None, f"d{of}", kind, now, change)


def _result_fault(
    op: Op, rule: Any, place: int | None, name: str, kind: str, now: str, change: Any
) -> Fault:
    seen: list[bool] = []

    def changed(xp: Any, g: Any, k: Any) -> Any:
        result = rule(xp, g, k)
        if not isinstance(result, tuple):
            return turned(result)
        return tuple(turned(r) if place in (None, i) else r for i, r in enumerate(result))

    def turned(r: Any) -> Any:
        if r is None:
            return None
        other = change(r)
        if differ(r, other):
            seen.append(True)
        return other

    return Fault(
        op.name, kind, _place(rule), name, now.format(name),
        lambda: _install(op, {rule: changed}), lambda: bool(seen),
    )  # fmt: skip


# -- faults in the engine's un-broadcasting -----------------------------------------------
def _first(xp: Any, g: Any, shape: tuple[int, ...], summed: Callable[[int], bool]) -> Any:
    """Un-broadcast that takes the first element of the axes that are not ``summed``."""
    extra = g.ndim - len(shape)
    for axis in range(g.ndim):
        if axis < extra or (shape[axis - extra] == 1 and g.shape[axis] != 1):
            part = xp.sum(g, axis=axis, keepdims=True) if summed(axis - extra) else None
            index = (slice(None),) * axis + (slice(0, 1),)
            g = g[index] if part is None else part
    return xp.reshape(g, shape)


UNBROADCASTS: list[tuple[str, Callable[..., Any]]] = [
    ("left out", lambda xp, g, shape: g),
    ("the first slice instead of the sum", lambda xp, g, s: _first(xp, g, s, lambda axis: False)),
    ("new axes only", lambda xp, g, s: _first(xp, g, s, lambda axis: axis < 0)),
    ("axes of length 1 only", lambda xp, g, s: _first(xp, g, s, lambda axis: axis >= 0)),
]


def _in_unbroadcast(op: Op) -> Iterator[Fault]:
    right = step.unbroadcast
    for what, wrong in UNBROADCASTS:
        seen: list[bool] = []

        def changed(xp: Any, g: Any, shape: Any, wrong: Any = wrong, seen: Any = seen) -> Any:
            if g.ndim < len(shape):
                return right(xp, g, shape)
            result = wrong(xp, g, shape)
            true = right(xp, g, shape)
            if differ(result, true):
                seen.append(True)
            return result

        def plant(changed: Any = changed) -> Callable[[], None]:
            step.unbroadcast = changed
            return lambda: setattr(step, "unbroadcast", right)

        yield Fault(
            op.name, "un-broadcast", "step.py", "unbroadcast", what, plant,
            lambda seen=seen: bool(seen),
        )  # fmt: skip


# -- faults in the engine's accumulation --------------------------------------------------
ENGINE = "engine"


def in_engine() -> Iterator[Fault]:
    """What several uses of one tensor send back is not added up, or not with the right sign."""
    for function in (backward.backward, Tensor.accumulate_grad):
        own = function.__code__
        source = rewrite.source_of(own)
        for index, node in enumerate(rewrite.nodes(source)):
            for kind, change in changes(node, OPS["add"]):
                if kind not in ("accumulation", "sign"):
                    continue
                code = rewrite.compiled(function, rewrite.replaced(source, index, change))

                def plant(function: Any = function, own: Any = own, code: Any = code) -> Any:
                    function.__code__ = code  # wherever the function was imported to
                    return lambda: setattr(function, "__code__", own)

                was, now = _shown(node), _shown(change(copy.deepcopy(node)))
                yield Fault(ENGINE, kind, _place(function, node), was, now, plant)


# -- faults in a rule's source ------------------------------------------------------------
def _in_source(op: Op) -> Iterator[Fault]:
    roots = [r for r in rules(op) if isinstance(r, FunctionType)]
    known: set[str] = set()
    for function, through in _functions(roots):
        source = rewrite.source_of(function.__code__)
        same = rewrite.compiled(function, source)
        as_it_is = (same.co_code, same.co_consts, same.co_names)
        for index, node in enumerate(rewrite.nodes(source)):
            for kind, change in changes(node, op):
                if through is not None and kind != "accumulation":
                    continue
                tree = rewrite.replaced(source, index, change)
                if ast.dump(tree) in known:
                    continue
                known.add(ast.dump(tree))
                code = rewrite.compiled(function, tree)
                if (code.co_code, code.co_consts, code.co_names) == as_it_is:
                    continue

                def plant(
                    function: Any = function, code: Any = code, through: Any = through
                ) -> Any:
                    new = rewrite.rebuilt(roots, function, code, through)
                    return _install(op, dict(zip(roots, new)))

                was, now = _shown(node), _shown(change(copy.deepcopy(node)))
                yield Fault(op.name, kind, _place(function, node), was, now, plant)


def _functions(roots: list[FunctionType]) -> Iterator[tuple[FunctionType, Op | None]]:
    """The rules, the helpers that handle a gradient, and the forwards of ops that a rule runs."""
    found = rewrite.reached(roots)
    for function in found:
        if function in roots or {"g", "k"} & set(function.__code__.co_varnames[:4]):
            yield function, None
    for function in found:
        for value in rewrite.named(function).values():
            if isinstance(value, Op):
                yield value.forward, value


def changes(node: ast.AST, op: Op) -> Iterator[tuple[str, Change]]:
    """The faults that can be made at one place in the source."""
    match node:
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "sign", lambda n: n.operand
        case ast.BinOp(left, operator, right):
            yield from _of_operator(operator, left, right)
        case ast.AugAssign(_, ast.Add(), _):
            yield "sign", lambda n: ast.AugAssign(n.target, ast.Sub(), n.value)
            yield "accumulation", lambda n: ast.Assign([n.target], n.value)
        case ast.AugAssign(_, ast.Sub(), _):
            yield "sign", lambda n: ast.AugAssign(n.target, ast.Add(), n.value)
            yield "accumulation", lambda n: ast.Pass()
        case ast.AugAssign(_, ast.Mult() | ast.Div(), _):
            yield "factor", lambda n: ast.Pass()
        case ast.Compare(_, [operator], _) if type(operator) in TURNED:
            yield (
                "operands",
                lambda n: ast.Compare(n.left, [TURNED[type(n.ops[0])]()], n.comparators),
            )
        case ast.Expr(ast.Call(ast.Attribute(ast.Attribute(_, "add"), "at"), [_, _, _])):
            yield "accumulation", _overwriting
        case ast.Call(ast.Attribute(_, name), arguments):
            yield from _of_call(name, arguments)
        case ast.Attribute(_, "T" | "mT"):
            yield "transposed", lambda n: n.value
        case ast.Attribute(ast.Name("k"), name) if name in op.inputs:
            kept = [n for n in op.inputs if n in op.keys]
            other = kept[(kept.index(name) + 1) % len(kept)] if name in kept else name
            if other != name:
                yield "operands", lambda n: ast.Attribute(n.value, other, n.ctx)
        case ast.Attribute(ast.Name("k"), "axis" | "axes" | "axis1" | "axis2"):
            yield "axis", lambda n: ast.Constant(0)
            yield "axis", lambda n: _constant(-1)
        case ast.keyword("axis", ast.Constant(int()) | ast.UnaryOp(ast.USub(), ast.Constant())):
            here = ast.literal_eval(node.value)
            yield "axis", lambda n: ast.keyword(n.arg, _constant(-1 if here == 0 else 0))


TURNED = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


def _of_operator(operator: ast.operator, left: Any, right: Any) -> Iterator[tuple[str, Change]]:
    match operator:
        case ast.Add():
            yield "sign", lambda n: ast.BinOp(n.left, ast.Sub(), n.right)
            yield "accumulation", lambda n: n.left
            yield "accumulation", lambda n: n.right
        case ast.Sub():
            yield "sign", lambda n: ast.BinOp(n.left, ast.Add(), n.right)
            yield "operands", lambda n: ast.BinOp(n.right, ast.Sub(), n.left)
        case ast.Mult():
            yield "factor", lambda n: n.left
            yield "factor", lambda n: n.right
        case ast.Div():
            yield "factor", lambda n: n.left
            yield "operands", lambda n: ast.BinOp(n.right, ast.Div(), n.left)
        case ast.Pow():
            yield "factor", lambda n: n.left
        case ast.MatMult():
            yield "transposed", lambda n: ast.BinOp(n.right, ast.MatMult(), n.left)


def _of_call(name: str, arguments: list[ast.expr]) -> Iterator[tuple[str, Change]]:
    if name in ("swapaxes", "transpose", "moveaxis"):
        # xp.swapaxes(a, ...) or a.swapaxes(...)
        yield "transposed", lambda n: n.args[0] if _is_xp(n.func.value) else n.func.value
    elif name == "matmul":
        yield "transposed", lambda n: ast.Call(n.func, [*n.args[1::-1], *n.args[2:]], n.keywords)
    elif name == "where" and len(arguments) == 3:
        yield (
            "operands",
            lambda n: ast.Call(n.func, [n.args[0], n.args[2], n.args[1]], n.keywords),
        )
    elif name in ("sum", "mean"):
        other = "mean" if name == "sum" else "sum"
        yield "factor", lambda n: _renamed(n, other)
        yield "un-broadcast", lambda n: _renamed(n, "max")


def _is_xp(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "xp"


def _renamed(call: ast.Call, name: str) -> ast.Call:
    assert isinstance(call.func, ast.Attribute)
    return ast.Call(ast.Attribute(call.func.value, name, ast.Load()), call.args, call.keywords)


def _overwriting(n: ast.Expr) -> ast.AST:
    """``xp.add.at(a, i, g)`` as ``a[i] = g``."""
    assert isinstance(n.value, ast.Call)
    array, index, value = n.value.args
    return ast.Assign([ast.Subscript(array, index, ast.Store())], value)


def _constant(value: int) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _shown(node: ast.AST) -> str:
    text = f"{node.arg}={ast.unparse(node.value)}" if isinstance(node, ast.keyword) else None
    text = text or ast.unparse(ast.fix_missing_locations(node))
    return text if len(text) <= 70 else text[:67] + "..."


def _place(function: Any, node: ast.AST | None = None) -> str:
    code = function.__code__
    return f"{Path(code.co_filename).name}:{getattr(node, 'lineno', code.co_firstlineno)}"
