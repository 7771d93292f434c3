"""The source of rules, and of the short helpers of ours that they call."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

from ..define.op import Op

#: a helper of more lines is a thing of its own
SHORT = 30


def source(fn: Callable[..., Any]) -> str:
    """A function's source, where there is a file to read it from."""
    try:
        return textwrap.dedent(inspect.getsource(fn)).rstrip()
    except (OSError, TypeError):
        return "(the source cannot be read: it was typed in)"


def body_source(fn: Callable[..., Any]) -> str:
    """A function's source without decorators and docstring, which are shown elsewhere."""
    text = source(fn)
    if not text.startswith(("@", "def ")):
        return text
    (parsed,) = ast.parse(text).body
    lines = text.splitlines()
    if not isinstance(parsed, ast.FunctionDef):
        return text
    start, body = parsed.lineno - 1, parsed.body
    if ast.get_docstring(parsed) is None or len(body) == 1:
        return "\n".join(lines[start:])
    first = body[0].lineno - 1
    return "\n".join(lines[start:first] + lines[body[0].end_lineno :])


def rules_of(op: Op) -> list[Callable[..., Any]]:
    """An op's gradient rules: one for each operand that has one, or one for all."""
    rules = [op.joint] if op.joint is not None else op.vjps
    return [rule for rule in rules if rule is not None]


def source_of_rules(op: Op) -> list[str]:
    """The sources of an op's gradient rules, each once."""
    return list(dict.fromkeys(map(source, rules_of(op))))


def helpers(rules: Iterable[Callable[..., Any]]) -> list[str]:
    """The sources of the short functions of ours that the rules call, and those that these call:
    each once, in the order in which a reader meets them."""
    rules = list(rules)
    seen, found, waiting = set(map(id, rules)), list[str](), rules
    while waiting:
        called = [f for rule in waiting for f in _called(rule) if id(f) not in seen]
        waiting = []
        for fn in called:
            if id(fn) in seen:
                continue
            seen.add(id(fn))
            text = source(fn)
            if len(text.splitlines()) <= SHORT:
                found.append(text)
                waiting.append(fn)
    return found


def _called(fn: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Functions of this package, which are no ops, that a function names."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    cells = [cell.cell_contents for cell in fn.__closure__ or () if _filled(cell)]
    named = [fn.__globals__[name] for name in _names(code) if name in fn.__globals__]
    for what in [*named, *cells]:
        if inspect.isfunction(what) and what.__module__.startswith("tinytensor.operations."):
            yield what


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
