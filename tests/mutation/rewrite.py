"""Functions of the engine once more, with some of their source changed."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

from tinytensor import operations
from tinytensor.define.op import Op
from tinytensor.graph import backward, step
from tinytensor.tensor.tensor import Tensor

Source = ast.FunctionDef | ast.Lambda


#: read at once, so that editing a file while the faults are planted does no harm
SOURCES = {
    str(path): ast.parse(path.read_text(encoding="utf-8"))
    for path in [
        *Path(operations.__file__).parent.rglob("*.py"),
        Path(backward.__file__),
        Path(step.__file__),
        Path(inspect.getfile(Tensor)),
    ]
}


@cache
def source_of(code: CodeType) -> Source:
    """The piece of source from which ``code`` was compiled."""
    tree = SOURCES[code.co_filename]
    if code.co_name != "<lambda>":
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if first == code.co_firstlineno:
                    return node
    places = {(p[0], p[2]) for p in code.co_positions() if p[0] and p[2]}
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and all(_holds(node.body, *place) for place in places)
    ]
    if not around:
        raise LookupError(f"no source for {code.co_qualname} of {code.co_filename}")
    return min(around, key=lambda node: len(ast.unparse(node)))


def _holds(node: ast.expr, line: int | None, column: int | None) -> bool:
    start = (node.lineno, node.col_offset)
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    return line is not None and column is not None and start <= (line, column) <= end


def compiled(function: FunctionType, source: Source) -> CodeType:
    """The code of ``source`` in the place of ``function``, with its free variables."""
    body: ast.stmt
    if isinstance(source, ast.Lambda):
        body = ast.Return(source)
    else:
        source = copy.copy(source)
        source.decorator_list = []
        body = source
    names = [ast.arg(name) for name in function.__code__.co_freevars]
    arguments = ast.arguments([], names, None, [], [], None, [])
    maker = ast.FunctionDef("maker", arguments, [body], [])
    tree = ast.fix_missing_locations(ast.Module([maker], []))
    # dont_inherit: this file's own __future__ is not that of the function
    flags = __future__.annotations.compiler_flag
    outer = compile(tree, function.__code__.co_filename, "exec", flags, True)
    wanted = function.__code__.co_name
    return next(c for c in _codes(next(_codes(outer))) if c.co_name == wanted)


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (c for c in code.co_consts if isinstance(c, CodeType))


def reached(roots: Iterable[FunctionType]) -> list[FunctionType]:
    """The functions of the engine that these call, themselves first."""
    found: list[FunctionType] = []
    todo = list(roots)
    while todo:
        function = todo.pop(0)
        if function in found or not function.__module__.startswith("tinytensor.operations"):
            continue
        found.append(function)
        todo += [v for v in named(function).values() if isinstance(v, FunctionType)]
    return found


def named(function: FunctionType) -> dict[str, Any]:
    """What the global names and free variables of a function stand for."""
    names: list[str] = []
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names += code.co_names
        codes += _codes(code)
    found = {n: function.__globals__[n] for n in names if n in function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    return found | {name: cell.cell_contents for name, cell in cells}


def rebuilt(
    roots: list[FunctionType], changed: FunctionType, code: CodeType, through: Op | None = None
) -> list[FunctionType]:
    """Copies of ``roots`` in which ``changed``, wherever they reach it, runs ``code``.

    ``through``: the op whose forward is ``changed``; the copies then use a copy of that op too.
    The originals, and all others who call the same functions, stay as they are.
    """
    functions = reached(roots)
    if changed not in functions:
        functions.append(changed)
    worlds = {id(f.__globals__): dict(f.__globals__) for f in functions}
    cells: dict[int, CellType] = {}
    copies: dict[Any, Any] = {}
    for f in functions:
        new = code if f is changed else f.__code__
        by_name = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        closure = tuple(
            cells.setdefault(id(by_name[n]), CellType(by_name[n].cell_contents))
            for n in new.co_freevars
        )
        made = FunctionType(new, worlds[id(f.__globals__)], f.__name__, f.__defaults__, closure)
        made.__kwdefaults__ = f.__kwdefaults__
        copies[f] = made
    if through is not None:
        other = object.__new__(type(through))  # copy.copy gives a registered op itself
        other.__dict__ |= through.__dict__
        other.forward = copies[changed]
        copies[through] = other
    for world in worlds.values():
        for name, value in world.items():
            if isinstance(value, (FunctionType, Op)) and value in copies:
                world[name] = copies[value]
    for cell in cells.values():
        if isinstance(cell.cell_contents, (FunctionType, Op)) and cell.cell_contents in copies:
            cell.cell_contents = copies[cell.cell_contents]
    return [copies[root] for root in roots]


def replaced(source: Source, index: int, change: Callable[[Any], ast.AST]) -> Source:
    """A copy of ``source`` whose node number ``index`` (as `nodes` counts) is changed."""
    tree = copy.deepcopy(source)
    target = list(nodes(tree))[index]
    new = change(target)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(v is target for v in value):
                setattr(parent, field, [new if v is target else v for v in value])
    return tree


def nodes(source: Source) -> Iterator[ast.AST]:
    """The nodes of a function's body, in a fixed order."""
    for part in source.body if isinstance(source.body, list) else [source.body]:
        yield from ast.walk(part)
