"""Habits from PyTorch that would go wrong here without a word: ``x.size()``, and
``values, indices = x.max(axis)``, since ``max`` gives the values alone, and ``x.repeat(2, 1)``,
which repeats elements along axis 1, both as NumPy's do."""

from __future__ import annotations

import dis
import sys
import warnings
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..context.source_line import user_line

_BIT_TELLS = sys.version_info >= (3, 12)
#: methods that give values alone, and where the indices are
_ALONE = {
    "max": "; use x.argmax(axis) for the indices",
    "min": "; use x.argmin(axis) for the indices",
    "median": "",
}


#: what was warned of, for Python to tell each line once
_warned: dict[Any, Any] = {}


def warn(message: str) -> None:
    """A UserWarning at the line of the user's code."""
    where = user_line()
    if where is not None:
        warnings.warn_explicit(message, UserWarning, *where, registry=_warned)


def axis_to_repeat(x: Any, repeats: Any, more: tuple[Any, ...], axis: int | None) -> int | None:
    """The axis of ``x.repeat(repeats, *more, axis=axis)``, which is NumPy's; in PyTorch the numbers
    are how often ``x`` stands beside itself along each axis."""
    if not more:
        return axis
    tiled = f"for PyTorch's repeat write x.tile({(repeats, *more)})"
    if len(more) > 1 or axis is not None:
        raise TypeError(
            f"repeat: expected (repeats, axis), got {(repeats, *more)}"
            f"{'' if axis is None else f' and axis={axis}'}; {tiled}"
        )
    if type(repeats) is int and more[0] == 1 and x.ndim <= 2:
        if x.ndim < 2:
            raise np.exceptions.AxisError(
                f"repeat: axis: there is no axis 1 in shape {x.shape}; {tiled}"
            )
        warn(
            f"repeat({repeats}, 1) repeats elements along axis 1, as NumPy's; {tiled}; write "
            "axis=1 to keep it"
        )
    where: int | None = more[0]
    return where


def is_called(frame: FrameType) -> bool:
    """Whether the code of ``frame`` is at an attribute that it calls right away: ``x.size()``."""
    code, at = frame.f_code.co_code, frame.f_lasti
    name = dis.opname[code[at]] if at >= 0 else ""
    # since Python 3.12 one instruction loads both; its last bit tells
    return name == "LOAD_METHOD" or (name == "LOAD_ATTR" and _BIT_TELLS and bool(code[at + 1] & 1))


def check_unpacking(shape: tuple[int, ...], frame: FrameType) -> None:
    """Where the code of ``frame`` is at ``a, b = x`` with an x of ``shape``: does it fit?

    Raises:
        ValueError: there are more or fewer names than elements on the first axis.
    """
    code, at = frame.f_code, frame.f_lasti
    bytecode = code.co_code
    if at < 0 or dis.opname[bytecode[at]] != "UNPACK_SEQUENCE":
        return
    names = bytecode[at + 1]
    if names == 2:
        method = _called(code, at)
        alone = f"{method} gives the values alone{_ALONE[method]}" if method in _ALONE else ""
        if shape[0] == 2 and alone:
            warn(f"these are two values, not values and indices: {alone}")
        elif shape[0] != 2:
            raise ValueError(_misfit(shape, names) + (f"; {alone}" if alone else ""))
    elif names != shape[0]:
        raise ValueError(_misfit(shape, names))


def _misfit(shape: tuple[int, ...], names: int) -> str:
    return f"cannot unpack a tensor of shape {shape} into {names}: its first axis has {shape[0]}"


#: (identity of the code, place) -> the code, and what is called there
_seen: dict[tuple[int, int], tuple[CodeType, str]] = {}


def _called(code: CodeType, at: int) -> str:
    """The name of the method whose result is unpacked at the place ``at`` of the code, or ""."""
    key = id(code), at
    found = _seen.get(key)
    if found is None or found[0] is not code:
        if len(_seen) > 1000:
            _seen.clear()
        found = _seen[key] = code, _find_called(code, at)
    return found[1]


def _find_called(code: CodeType, at: int) -> str:
    before = [i for i in dis.get_instructions(code) if i.offset < at]
    call = before[-1]
    if not call.opname.startswith("CALL"):
        return ""

    def place(i: Any) -> tuple[Any, Any]:
        """Where the text of an instruction begins and ends."""
        p = i.positions
        return (p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)

    start, end = place(call)
    if None in start + end:  # Python keeps no positions under -X no_debug_ranges
        return ""
    # of x[0].max(1) the text before "(1)": it begins where the call does, and none is longer
    methods = [
        i
        for i in before
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD") and place(i)[0] == start and place(i)[1] < end
    ]
    return str(max(methods, key=lambda i: place(i)[1]).argval) if methods else ""
