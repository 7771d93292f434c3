"""What an op was called with: binding, conversion, and errors that say what was given."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.device import BY_TYPE, Device, default_device, device_of
from ..hints.finding import kind_of, of_setting
from ..hints.other_settings import OF_MISSING
from ..tensor.tensor import Tensor, tensor
from .advice import reason

if TYPE_CHECKING:
    from .application import Application

NUMBERS = {int, float, bool}
#: types of settings that are taken as they are
PLAIN = frozenset((int, float, bool, str, tuple, type(None)))


def bind(
    op: Application, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict]:
    """Split call arguments into operands and settings."""
    if not (kwargs or op.variadic) and len(args) > op.arity:  # the usual call, in short
        rest = args[op.arity :]
        if len(op.required) <= len(rest) <= len(op.setting_names) and PLAIN.issuperset(
            map(type, rest)
        ):
            return args[: op.arity], {**op.defaults, **dict(zip(op.setting_names, rest))}
    settings = dict(op.defaults)
    if op.variadic:
        if (
            not args
            or isinstance(args[0], (Tensor, np.ndarray))
            or not isinstance(args[0], Sequence)
        ):
            got = kind_of(args[0]) if args else "nothing"
            raise TypeError(
                f"{op.name}: {op.inputs[0]}: expected a list or tuple of tensors, got {got}"
            )
        if not args[0]:
            raise ValueError(f"{op.name}: {op.inputs[0]}: expected at least one tensor, got none")
        operands, rest = tuple(args[0]), args[1:]
        if any(type(x) in NUMBERS for x in operands):
            home = next((x.device for x in operands if isinstance(x, Tensor)), None)
            operands = tuple(tensor(x, device=home) if type(x) in NUMBERS else x for x in operands)
    else:
        operands, rest = args[: op.arity], args[op.arity :]
        for name in op.inputs[len(operands) :]:
            if name in kwargs:
                kwargs = dict(kwargs)
                operands += (kwargs.pop(name),)
            elif name in op.input_defaults:
                operands += (op.input_defaults[name],)
            else:
                raise TypeError(
                    f"{op.name}: missing argument {name!r}; expected {op.__signature__}"
                    f"{OF_MISSING.get((op.name, name), '')}"
                )
    if len(rest) > len(op.setting_names):
        raise TypeError(f"{op.name}: too many arguments; expected {op.__signature__}")
    for name in op.setting_names[: len(rest)]:
        if name in kwargs:
            raise TypeError(f"{op.name}: argument {name!r} was given twice")
    for name, value in (*zip(op.setting_names, rest, strict=False), *kwargs.items()):
        if name not in op.setting_names:
            raise TypeError(
                f"{op.name}: unknown argument {name!r}; expected {op.__signature__}"
                f"{of_setting(name, (*op.inputs, *op.setting_names))}"
            )
        if isinstance(value, Tensor):
            value = _number(op, name, value)
        if isinstance(value, np.generic):
            value = value.item()  # np.float64 would widen what it meets
        settings[name] = tuple(value) if isinstance(value, list) else value
    for name in op.required:
        if name not in settings:
            raise TypeError(f"{op.name}: missing argument {name!r}; expected {op.__signature__}")
    return operands, settings


def _number(op: Application, name: str, value: Tensor) -> Any:
    """A setting that was given as a tensor: its number, where it is one and nothing gets lost."""
    if value.requires_grad or value.size != 1:
        what = "one that requires gradients" if value.requires_grad else f"shape {value.shape}"
        raise TypeError(
            f"{op.name}: {name}: expected a number, since it is a setting and gets no gradient; "
            f"got a tensor: {what}. tt.where, tt.maximum and tt.minimum take tensors there"
        )
    return value.item()


def convert(op: Application, args: Sequence[Any]) -> list[Any]:
    """Operands that are neither tensors nor Python numbers, made into either."""
    device = next((a.device for a in args if isinstance(a, Tensor)), None)
    out: list[Any] = []
    wide = any(getattr(a, "dtype", None) == np.float64 for a in args if hasattr(a, "shape"))
    for i, (name, arg) in enumerate(zip(operand_names(op, len(args)), args, strict=True)):
        if isinstance(arg, np.generic):
            arg = arg.item()
        elif type(arg) in BY_TYPE or isinstance(arg, np.ndarray):
            home = device_of(arg)
            if device is not None and home is not device:
                raise TypeError(
                    f"{op.name}: {name} is an array on {home.name!r} but the other operands "
                    "are on "
                    f"{device.name!r}; move it with tt.tensor({name}, device={device.name!r})"
                )
            arg = _made(op, name, arg, home)
        elif isinstance(arg, (list, tuple)):
            arg = _made(op, name, arg, device or default_device())
            if wide and arg.dtype == np.float32:  # 0.1 is not a float32 beside float64
                arg = tensor(args[i], dtype=np.float64, device=arg.device)
        elif isinstance(arg, (int, float)) and type(arg) not in NUMBERS:  # of a class of its own
            arg = int(arg) if isinstance(arg, int) else float(arg)
        elif not (arg is None or isinstance(arg, Tensor) or type(arg) in NUMBERS):
            how = f"; use tt.tensor({name}), or tt.from_dlpack({name}) to share its memory"
            raise TypeError(
                f"{op.name}: {name}: expected a Tensor, an array or a number, got {kind_of(arg)}"
                f"{how if hasattr(arg, '__dlpack__') else ''}"
            )
        out.append(arg)
    return out


def _made(op: Application, name: str, arg: Any, home: Device) -> Tensor:
    """A tensor of the operand ``name``, which an error names."""
    try:
        return tensor(arg, device=home)
    except TypeError as error:
        raise TypeError(f"{op.name}: {name}: {str(error).removeprefix('data: ')}") from None


def numbers_as_tensors(op: Application, args: Sequence[Any]) -> tuple[Any, ...]:
    """The operands, with a number in the place of one that must be an array made a 0-d tensor."""
    out = list(args)
    home = next((a.device for a in args if isinstance(a, Tensor)), None)
    for i in op.arrays:
        if type(out[i]) in NUMBERS:
            out[i] = tensor(out[i], device=home)
    return tuple(out)


def operand_names(op: Application, n: int) -> tuple[str, ...]:
    return tuple(f"{op.inputs[0]}[{i}]" for i in range(n)) if op.variadic else op.inputs[:n]


def mixed_devices(op: Application, args: Sequence[Any]) -> TypeError:
    homes = [
        f"{name} on {arg.device.name!r}"
        for name, arg in zip(operand_names(op, len(args)), args, strict=True)
        if isinstance(arg, Tensor)
    ]
    return TypeError(
        f"{op.name}: operands are on different devices: {', '.join(homes)}; "
        "move them to one with .to(device)"
    )


def explain(
    op: Application, error: Exception, args: Sequence[Any], settings: dict[str, Any]
) -> Exception:
    """The same error, saying which op it was and what it was given."""
    given = []
    for name, arg in zip(operand_names(op, len(args)), args, strict=True):
        if isinstance(arg, Tensor):
            given.append(f"{name}: {arg.shape} {arg.dtype}")
        elif arg is not None or "NoneType" in str(error):
            given.append(f"{name}: {arg!r}")
    for name, value in settings.items():
        if op.defaults.get(name, inspect.Parameter.empty) is not value:
            given.append(f"{name}={value!r}")
    call = f"{op.name}({', '.join(given)})"
    if isinstance(error, AttributeError):
        if error.obj is None or type(error.obj) in NUMBERS:
            return TypeError(f"{call}: expected a tensor in the place of {error.obj!r}")
        return AttributeError(f"{call}: {error}")
    if isinstance(error, TypeError) and "'NoneType'" in str(error):  # Python's own words
        for name, arg in zip(operand_names(op, len(args)), args, strict=True):
            if arg is None and name not in op.input_defaults:
                return TypeError(
                    f"{op.name}: {name}: expected a Tensor, an array or a number, got None"
                )
    message = f"{call}: {reason(error, args, settings, op.defaults)}"
    if isinstance(error, IndexError) and not isinstance(error, ValueError):
        return IndexError(message)
    if isinstance(error, np.exceptions.AxisError):
        return np.exceptions.AxisError(message)
    for kind in (TypeError, OverflowError):
        if isinstance(error, kind):
            return kind(message)
    return ValueError(message)
