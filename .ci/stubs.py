"""Write the .pyi files, which tell editors and type checkers the signature of every op.

An op is an object made from its forward rule, which no type checker sees through; so what its
call takes and returns is written down here, from the registry: ``make stubs`` after an op was
added or changed. tests/test_types.py says where that was forgotten.

The type of a parameter is, in this order: what TYPES says of it, what its annotation says, for an
operand that it is one, and for a setting the type of its default.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import tinytensor as tt  # noqa: E402
from tinytensor.define.op import Op  # noqa: E402

ENGINE = ROOT / "tinytensor"
HEAD = "# Written by .ci/stubs.py from the registry of ops: run `make stubs`, don't edit.\n"
WIDTH = 100

#: what no default and no annotation says, by the parameter's name or by "op.parameter"
TYPES = {
    "axis": "Axis",
    "argmax.axis": "int | None",
    "argmin.axis": "int | None",
    "expand_dims.axis": "Sizes",
    "unfold.axis": "int",
    "overlap_add.axis": "int",
    "axes": "int | Sequence[Any]",
    "rot90.axes": "tuple[int, int]",
    "axis1": "int",
    "axis2": "int",
    "source": "Sizes",
    "destination": "Sizes",
    "index_add.source": "Operand",
    "masked_scatter.source": "Operand",
    "shape": "Sizes",
    "sizes": "Sizes",
    "shift": "Sizes",
    "reps": "Sizes",
    "repeats": "Operand",
    "indices_or_sections": "Sizes",
    "window_shape": "Sizes",
    "pad_width": "int | Sequence[Any] | dict[int, Any]",
    "kernel_size": "Sizes",
    "stride": "Sizes",
    "padding": "Sizes",
    "conv1d.padding": "Sizes | str",
    "conv2d.padding": "Sizes | str",
    "conv3d.padding": "Sizes | str",
    "output_padding": "Sizes",
    "dilation": "Sizes",
    "output_size": "int | Sequence[int | None] | None",
    "scale_factor": "float | Sequence[float] | None",
    "size": "Sizes | None",
    "unfold.size": "int",
    "length": "int",
    "divisor_override": "int | None",
    "dtype": "DType",
    "ord": "float | str | None",
    "norm.p": "float",
    "quantile.q": "float | Sequence[float]",
    "low": "float | None",
    "high": "float | None",
    "posinf": "float | None",
    "neginf": "float | None",
    "eps": "float | None",
    "rtol": "float | None",
    "padding_idx": "int | None",
    "UPLO": "str | None",
    "value": "float",
}
#: what is returned where the number of tensors hangs on the arguments: (parameters, result)
OVERLOADS = {
    name: [("x: Operand, /", "Tensor"), ("*xs: Operand", "tuple[Tensor, ...]")]
    for name in ("atleast_1d", "atleast_2d", "atleast_3d")
}
NAMES = {"Axis", "DType", "Operand", "Sizes"}  # of define/operand.py


def files() -> dict[Path, str]:
    """Every stub: its path, and what is to be in it."""
    written = {}
    families = [name for name in _imported(ENGINE / "operations" / "__init__.py") if name]
    for family in families:
        module = sys.modules[f"tinytensor.operations.{family}"]  # tt.operations.linear is an op
        written[ENGINE / "operations" / family / "__init__.pyi"] = _family(module)
    doc = _first_line(tt.operations)
    stars = "".join(f"from .{family} import *\n" for family in families)
    written[ENGINE / "operations" / "__init__.pyi"] = f'{HEAD}"""{doc}"""\n\n{stars}'
    written[ENGINE / "__init__.pyi"] = _package()
    return written


def _imported(path: Path) -> list[str]:
    """The modules that a file imports everything from."""
    return [
        found.module or ""
        for found in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(found, ast.ImportFrom) and found.names[0].name == "*"
    ]


# -- a family of ops -------------------------------------------------------------------------------


def _family(module: ModuleType) -> str:
    """The stub of one family: its ops as functions, in reading order."""
    public = {name: getattr(module, name) for name in module.__all__}
    body = [_stub(name, what) for name, what in public.items() if not inspect.isclass(what)]
    text = "\n\n".join(body)
    used = [name for name in sorted(NAMES) if re.search(rf"\b{name}\b", text)]
    imports = ""
    for source, names in {
        "collections.abc": ["Sequence"],
        "typing": ["Any", "Literal", "overload"],
    }.items():
        if found := [name for name in names if re.search(rf"\b{name}\b", text)]:
            imports += f"from {source} import {', '.join(found)}\n"
    imports += "\n" if imports else ""
    if "Generator" in text:
        imports += "from ...arrays.random import Generator\n"
    if used:
        imports += f"from ...define.operand import {', '.join(used)}\n"
    imports += "from ...tensor.tensor import Tensor\n"
    for name, what in public.items():
        if inspect.isclass(what):
            imports += f"from .{what.__module__.rpartition('.')[2]} import {name} as {name}\n"
    return f'{HEAD}"""{_first_line(module)}"""\n\n{imports}\n{text}\n'


def _stub(name: str, what: Any) -> str:
    """One op, or one function that calls ops."""
    doc = _doc(what)
    if name in OVERLOADS:
        return "\n\n".join(
            f"@overload\n{_def(name, parameters.split(', '), result, doc)}"
            for parameters, result in OVERLOADS[name]
        )
    parameters, result = _of_op(name, what) if isinstance(what, Op) else _of_function(name, what)
    if not any(p.startswith("return_indices:") for p in parameters):
        return _def(name, parameters, result, doc)
    *before, _ = parameters
    pair = [*before, "*", "return_indices: Literal[True]"]
    alone = [*before, "return_indices: Literal[False] = False"]
    return (
        f"@overload\n{_def(name, alone, 'Tensor', doc)}\n\n"
        f"@overload\n{_def(name, pair, 'tuple[Tensor, Tensor]', doc)}"
    )


def _of_op(name: str, op: Op) -> tuple[list[str], str]:
    """The parameters of an op, and what it returns."""
    parameters = []
    for parameter in op.__signature__.parameters.values():
        if parameter.kind is Parameter.VAR_POSITIONAL:  # all operands, in a list
            parameters += [f"{parameter.name}: Sequence[Operand]", "/"]
        elif parameter.name in op.inputs:
            parameters.append(_operand(parameter))
        else:
            given = TYPES.get(f"{name}.{parameter.name}") or _of_default(op, parameter)
            parameters.append(_parameter(parameter, given))
    if op.outputs == 1:
        return parameters, "Tensor"
    several = "Tensor, ..." if op.outputs is None else ", ".join(["Tensor"] * op.outputs)
    return parameters, f"tuple[{several}]"


def _of_default(op: Op, setting: Parameter) -> str:
    """The type of a setting: that of its default, or what its name says."""
    if setting.default in (None, Parameter.empty):
        if setting.name not in TYPES:
            raise SystemExit(
                f"op {op.name}: the type of its setting {setting.name!r} is nowhere to be seen: "
                "give the setting a default, or a line in TYPES of .ci/stubs.py"
            )
        return TYPES[setting.name]
    return type(setting.default).__name__


def _of_function(name: str, function: Callable[..., Any]) -> tuple[list[str], str]:
    """The parameters of a function that calls ops, and what it returns."""
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        given = TYPES.get(f"{name}.{parameter.name}")
        annotation = str(parameter.annotation).removeprefix("random.")
        if given is None and annotation == "Any":
            given = TYPES.get(parameter.name)
        if given is None and "Any" not in annotation:
            given = annotation
        if given is not None:
            parameters.append(_parameter(parameter, given))
        elif annotation == "Sequence[Any]":
            parameters.append(_parameter(parameter, "Sequence[Operand]"))
        else:
            parameters.append(_operand(parameter))
    return parameters, re.sub(r"\bAny\b", "Tensor", str(signature.return_annotation))


def _operand(parameter: Parameter) -> str:
    return _parameter(parameter, "Operand | None" if parameter.default is None else "Operand")


def _parameter(parameter: Parameter, given: str) -> str:
    """``name: type = default``."""
    if parameter.default is None and "None" not in given and given not in ("Axis", "DType"):
        given += " | None"
    stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    value = parameter.default
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    default = "" if value is Parameter.empty else f" = {shown}"
    return f"{stars}{parameter.name}: {given}{default}"


def _def(name: str, parameters: list[str], result: str, doc: str) -> str:
    """A function of a stub, in as many lines as it takes."""
    line = f"def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) > WIDTH:
        inner = "".join(f"    {parameter},\n" for parameter in parameters)
        line = f"def {name}(\n{inner}) -> {result}:"
    return f"{line}\n{doc}"


def _doc(what: Any) -> str:
    """The first sentences of a docstring, as a docstring."""
    first = " ".join((inspect.getdoc(what) or "").split("\n\n")[0].split()).replace("\\", "\\\\")
    return textwrap.fill(f'"""{first}"""', WIDTH, initial_indent="    ", subsequent_indent="    ")


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


# -- the package -----------------------------------------------------------------------------------


def _package() -> str:
    """The stub of ``tinytensor``: what a user may call, from where __init__.py has it."""
    public = set(dir(tt))
    lines = [f'{HEAD}"""{_first_line(tt)}"""\n', "import builtins as _builtins\n"]
    aliases = []
    for module, name, alias in _from(ENGINE / "__init__.py"):
        if name == "*":
            lines.append(f"from .{module} import *")
        elif alias == name and name in public:
            file = f"{module}.{name}"  # which may be called as what it holds: .grad has grad
            same = f"tinytensor.{file}" in sys.modules and not inspect.ismodule(getattr(tt, name))
            home = file if same else module
            lines.append(f"from .{home} import {name} as {name}")
        elif alias in public:
            lines.append(f"from .{module} import {name} as _{name}")
            aliases.append(f"{alias} = _{name}")
    lines += [f"from . import {name} as {name}" for name in ("models", "nn", "train")]
    lines.append("")
    known = {line.split()[-1] for line in lines if line} | {line.split()[0] for line in aliases}
    known |= {*tt.operations.__all__, "models", "nn", "train"}
    rest = []
    for name in sorted(public - known - {"__doc__"}):
        value = getattr(tt, name)
        if callable(value):  # a second name of an op
            aliases.append(f"{name} = {value.__name__}")
        else:
            kind = "None" if value is None else f"_builtins.{type(value).__name__}"
            rest.append(f"{name}: {kind}")
    return "\n".join([*lines, *aliases, "", *rest, ""])


def _from(path: Path) -> Iterator[tuple[str, str, str]]:
    """(module, name, name here) of everything that a file imports from others of its package."""
    for found in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(found, ast.ImportFrom) and found.level == 1:
            for alias in found.names:
                yield found.module or "", alias.name, alias.asname or alias.name


def main() -> None:
    """Write them all."""
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
