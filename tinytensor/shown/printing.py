"""How numbers are printed: ``tt.set_printoptions``, as NumPy and PyTorch have it.

What is not set here is as NumPy's own ``np.set_printoptions`` says, which this never touches.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..context.blocks import Block, Manager
from ..context.thread_state import local
from ..hints.finding import kind_of

#: PyTorch's profiles
PROFILES: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"threshold": sys.maxsize},
}


@dataclass(frozen=True)
class Options:
    """What is set; None for what NumPy's options say. See :func:`set_printoptions`."""

    precision: int | None = None
    threshold: int | None = None
    edgeitems: int | None = None
    linewidth: int | None = None
    sci_mode: bool | None = None


#: what holds outside of blocks, in every thread
_everywhere = Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    sci_mode: bool | None = None,
    suppress: bool | None = None,
    profile: str | None = None,
) -> None:
    """Say how tensors are printed from now on, in every thread; NumPy's options stay as they are.

    Args:
        precision: digits behind the point, at most. threshold: elements from which the middle of a
            tensor is left out; ``tt.inf`` for never. edgeitems: elements shown at each end of an
            axis then. linewidth: characters of a line.
        sci_mode: True prints 1.5e+00 always, False never; None where numbers differ too much.
        suppress: NumPy's word: ``suppress=True`` is ``sci_mode=False``.
        profile: PyTorch's "default", which forgets what was set, "short" or "full"; the other
            arguments come on top of it.

    What is None stays as it was. To begin with all is as NumPy's options say.

    Raises:
        ValueError: a number is out of range, or the profile is none of these.
        TypeError: not a number, or not True, False or None.
    """
    global _everywhere
    given = _checked("set_printoptions", {
        "precision": precision, "threshold": threshold, "edgeitems": edgeitems,
        "linewidth": linewidth, "sci_mode": sci_mode, "suppress": suppress, "profile": profile,
    })  # fmt: skip
    _everywhere = replace(_everywhere, **given)


def get_printoptions() -> dict[str, Any]:
    """How tensors are printed here and now: precision, threshold, edgeitems, linewidth, sci_mode.

    ``tt.set_printoptions(**options)`` sets them again.
    """
    set_here, of_numpy = options(), np.get_printoptions()
    found = {
        name: of_numpy[name] if getattr(set_here, name) is None else getattr(set_here, name)
        for name in ("precision", "threshold", "edgeitems", "linewidth")
    }
    mode = set_here.sci_mode
    return {**found, "sci_mode": False if mode is None and of_numpy["suppress"] else mode}


class printoptions(Manager):
    """``with tt.printoptions(precision=2): ...`` prints so inside of the block, in this thread.

    Takes what :func:`set_printoptions` takes; what is not given stays as it is around the block.
    ``as`` gives the options that hold in it.
    """

    def __init__(
        self,
        precision: int | None = None,
        threshold: float | None = None,
        edgeitems: int | None = None,
        linewidth: int | None = None,
        sci_mode: bool | None = None,
        suppress: bool | None = None,
        profile: str | None = None,
    ):
        self.given = _checked("printoptions", {
            "precision": precision, "threshold": threshold, "edgeitems": edgeitems,
            "linewidth": linewidth, "sci_mode": sci_mode, "suppress": suppress, "profile": profile,
        })  # fmt: skip

    def _enter(self, block: Block) -> dict[str, Any]:
        return get_printoptions()


def options() -> Options:
    """Those that hold in this thread: what the blocks around it say, from the outermost inwards."""
    found = _everywhere
    for block in local.state.others:
        if isinstance(block.manager, printoptions) and block.running:
            found = replace(found, **block.manager.given)
    return found


def text_of(array: np.ndarray, prefix: str = "", one_line: bool = False) -> str:
    """An array's numbers as text, by the options; ``prefix`` is what stands before it on its line.

    Args:
        array: on the host. one_line: for a row of numbers that is not to be broken.
    """
    set_here = options()
    settings: dict[str, Any] = {
        "precision": set_here.precision,
        "threshold": set_here.threshold,
        "edgeitems": set_here.edgeitems,
        "max_line_width": sys.maxsize if one_line else set_here.linewidth,
        "suppress_small": None if set_here.sci_mode is None else not set_here.sci_mode,
    }
    if set_here.sci_mode is False and array.dtype.kind == "f":
        settings["formatter"] = _plain(array, set_here.precision)
    if set_here.sci_mode and array.dtype.kind == "f":
        settings["formatter"] = _scientific(array, set_here.precision)
    return np.array2string(array, separator=", ", prefix=prefix, **settings)


def number_text(value: Any) -> str:
    """One number of a table, by the options."""
    return text_of(np.asarray(value))


def bytes_of(size: int) -> str:
    """``12.3 MB``"""
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


def _digits(precision: int | None) -> int:
    return int(np.get_printoptions()["precision"]) if precision is None else precision


def _scientific(array: np.ndarray, precision: int | None) -> dict[str, Any]:
    """NumPy has no way to ask for powers of ten always."""
    digits = _digits(precision)
    sign = " " if bool((array < 0).any()) else ""
    return {"float_kind": lambda x: format(x, f"{sign}.{digits}e")}


def _plain(array: np.ndarray, precision: int | None) -> dict[str, Any]:
    """Nor for never: from 1e16 on it writes them even where small ones are suppressed."""
    digits = _digits(precision)
    finite = array[np.isfinite(array)]
    if not finite.size or float(np.abs(finite).max()) < 1e16:
        return {}
    return {"float_kind": lambda x: np.format_float_positional(x, digits, trim=".")}


def _checked(who: str, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, as fields of :class:`Options`."""
    profile, suppress = given.pop("profile"), given.pop("suppress")
    found: dict[str, Any] = {}
    if profile is not None:
        if not isinstance(profile, str) or profile not in PROFILES:
            names = ", ".join(map(repr, PROFILES))
            raise ValueError(f"{who}: profile: expected one of {names}, got {profile!r}")
        found = {**dict.fromkeys(Options.__dataclass_fields__), **PROFILES[profile]}
    for name, least in (("precision", 0), ("threshold", 0), ("edgeitems", 0), ("linewidth", 1)):
        if (value := given.pop(name)) is not None:
            found[name] = _count(who, name, value, least)
    mode = given.pop("sci_mode")
    for name, value in (("sci_mode", mode), ("suppress", suppress)):
        if value is not None and not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{who}: {name}: expected True, False or None, got {kind_of(value)}")
    if mode is not None and suppress is not None:
        raise ValueError(f"{who}: sci_mode and suppress say the same in two ways; give one of them")
    if mode is not None:
        found["sci_mode"] = bool(mode)
    elif suppress is not None:
        found["sci_mode"] = False if suppress else None
    return found


def _count(who: str, name: str, value: Any, least: int) -> int:
    """A whole number, of any kind that is one."""
    endless = name == "threshold" and isinstance(value, (float, np.floating)) and value == np.inf
    if endless:
        return sys.maxsize
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        extra = " or tt.inf" if name == "threshold" else ""
        raise TypeError(f"{who}: {name}: expected an integer{extra}, got {kind_of(value)}")
    most = 100 if name == "precision" else sys.maxsize
    if not least <= value <= most:
        between = f"from {least} to {most}" if name == "precision" else f">= {least}"
        raise ValueError(f"{who}: {name}: expected an integer {between}, got {value}")
    return int(value)
