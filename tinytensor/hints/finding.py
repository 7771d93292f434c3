"""What an error says after "there is no such name": what it is called here.

The tables stand in ``other_names.py``, ``other_functions.py`` and ``other_settings.py``, here and
in ``nn`` and ``train``. Nothing of this file runs unless a name or an argument is not there.
"""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from .other_settings import OF_SETTINGS

if TYPE_CHECKING:
    from ..arrays.convert import as_array
    from ..arrays.dtypes import as_dtype
else:
    late.needs(__name__, as_array="arrays.convert.as_array", as_dtype="arrays.dtypes.as_dtype")

#: where a public name may stand, and how a user writes that place
PLACES = {
    "tinytensor": "tt",
    "tinytensor.nn": "tt.nn",
    "tinytensor.train": "tt.train",
    "tinytensor.models": "tt.models",
}
#: what NumPy calls an array that is the first argument
_ARRAYS = {"a", "x", "x1", "arr", "array", "ary", "m", "A", "ar", "ar1", "v", "y", "element"}
#: how much a name must resemble another one to be taken for a slip of the hand
_ALIKE = 0.8


def hint(
    name: str,
    table: Mapping[str, str],
    known: Iterable[str] = (),
    in_place: str = "x.{}(...)",
    numpy: bool = False,
) -> str:
    """What to say after "there is no such name": the word used here, or a similar one.

    Args:
        name: what was tried.
        table: name -> what to use instead; or "leave it out: ...", or "" where nothing is alike.
        known: the names that are there.
        in_place: how the one of them is called that does not write, for names such as ``add_``.
        numpy: whether NumPy's function of that name would do, which comes before similar names.
    """
    if name in table:
        advice = table[name]
        return f"; {'' if advice.startswith('leave') else 'use '}{advice}" if advice else ""
    if name.startswith("_"):
        return ""
    bare = name.rstrip("_")
    if bare != name and bare in known:
        return f"; use x = {in_place.format(bare)}, or x.copy_(...)"
    if numpy and (there := of_numpy(name)):
        return there
    similar = alike(name, known, 2, _ALIKE)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def alike(name: str, known: Iterable[str], count: int, least: float) -> list[str]:
    """The known names that resemble ``name`` most, and by ``least`` at least: ``count`` at most."""
    import difflib  # seldom wanted, and import tinytensor is to be fast

    return difflib.get_close_matches(name, list(known), count, least)


def kind_of(value: Any) -> str:
    """The name of a value's type for a message, with its module where that is neither ours nor
    Python's: ``torch.Tensor``, ``numpy.random.Generator``."""
    kind = type(value)
    parts = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    if not parts or parts[0] in ("builtins", "tinytensor"):
        return kind.__name__
    return f"{'.'.join(parts)}.{kind.__name__}"


def of_numpy(name: str) -> str:
    """A hint at NumPy's function of that name on an array, which knows nothing of gradients."""
    function = None if name.startswith("_") else getattr(np, name, None)
    if not callable(function) or isinstance(function, type):
        return ""
    try:
        first = next(iter(inspect.signature(function).parameters), "")
    except ValueError:
        return ""
    return f"; outside of a graph, np.{name}(x.numpy()) does it" if first in _ARRAYS else ""


def of_function(name: str) -> str:
    """A hint at the function of the package that does what a method of this name would."""
    bare = name.rstrip("_")
    package = sys.modules["tinytensor"]
    if name.startswith("_") or bare not in package.__all__:
        return ""
    function = getattr(package, bare)
    if isinstance(function, type) or not callable(function):
        return ""
    return f"; use {'x = ' if bare != name else ''}tt.{bare}(x, ...)"


def elsewhere(name: str, asked: str) -> str:
    """A hint at the public name that stands in another of the four places."""
    if name.startswith("_"):
        return ""
    for place, written in PLACES.items():
        # the engine loads none of them, but for a name that can only be a class of theirs
        above = asked in PLACES and asked != "tinytensor"
        if place in sys.modules or above or name[0].isupper():
            if place != asked and name in importlib.import_module(place).__all__:
                return f"; use {written}.{name}"
    return ""


def missing(
    module: str, table: Mapping[str, str], known: Iterable[str] | None = None
) -> Callable[[str], Any]:
    """A module's ``__getattr__``, which says what a name that is not there is called here.

    ``known`` are its public names; what is defined in it, if left out.
    """

    def defined() -> list[str]:
        here = vars(sys.modules[module]).items()
        return [n for n, v in here if n[0] != "_" and getattr(v, "__module__", "") == module]

    def __getattr__(name: str) -> Any:
        names = defined() if known is None else known
        advice = (name not in table and elsewhere(name, module)) or (
            hint(name, table, names, "tt.{}(x, ...)", numpy=module == "tinytensor")
        )
        asking = sys._getframe(1)
        if asking.f_code.co_name == "__getattr__":  # that of a module which knows more names
            asking = asking.f_back or asking
        if _is_imported(asking) and f"{module}.{name}" not in sys.modules:
            # Python's own error would hide the hint
            raise ImportError(f"cannot import name {name!r} from {module!r}{advice}", name=name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}{advice}")

    return __getattr__


def attribute_missing(owner: Any, name: str, table: Mapping[str, str]) -> Any:
    """What ``__getattr__`` of a module or an optimiser does with a name that is not there."""
    kind = type(owner)
    if hasattr(kind, name):  # a property, whose own error is the one to see
        return object.__getattribute__(owner, name)
    known = () if name.startswith("_") else {*dir(kind), *vars(owner)}
    advice = hint(name, table, sorted(n for n in known if not n.startswith("_")))
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{advice}")


def _is_imported(frame: Any) -> bool:
    """Whether the code of the frame is at ``from module import name``."""
    if frame.f_lasti < 0 or frame.f_code.co_filename.startswith("<frozen importlib"):
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


# -- arguments ------------------------------------------------------------------------------------


def hinting(function: Any, called: str = "") -> Any:
    """``function``, whose error for ``dim=`` says that this is ``axis=`` here."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            text = str(error)
            advice = of_settings(kwargs, inspect.signature(function).parameters)
            if isinstance(error, TypeError) and advice is not None:
                own = f"{function.__qualname__}()"
                raise TypeError(f"{text.replace(own, called or own)}{advice}") from None
            if type(error) is TypeError and text.startswith("data: "):
                _name_culprit(function, args, kwargs)
            if isinstance(error, TypeError) and kwargs.get("dtype") is not None:
                as_dtype(kwargs["dtype"])  # says what is wrong with it, if it is that
            if not called and type(error) in (TypeError, ValueError):
                _name_arguments(function, args, kwargs, error)
            raise

    return call


def _name_arguments(function: Any, args: Any, kwargs: Any, error: Exception) -> None:
    """Raise an error in the words of Python or NumPy again, with what the function was given.

    Not one that names something at its start, nor of a function that calls others: they may have
    failed.
    """
    text = str(error)
    if re.match(r"[\w.\[\]]+[:(]", text) or re.search("(positional|keyword) argument", text):
        return
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    if any(map(callable, given.values())):
        return
    shown = ", ".join(f"{name}={_brief(value)}" for name, value in given.items())
    raise type(error)(f"{function.__name__}({shown}): {text}") from error


def _brief(value: Any) -> str:
    """A value in short: shape and dtype of an array."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.shape} {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _name_culprit(function: Any, args: Any, kwargs: Any) -> None:
    """Raise the TypeError of the argument that no tensor can be made of, with its name."""
    for name, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
        kind = inspect.signature(function).parameters[name].kind
        for one in value if kind is inspect.Parameter.VAR_POSITIONAL else [value]:
            try:
                as_array(one)
            except TypeError as error:
                if name != "data":
                    text = str(error).removeprefix("data: ")
                    raise TypeError(f"{function.__name__}: {name}: {text}") from None


def of_settings(given: Mapping[str, Any], known: Mapping[str, inspect.Parameter]) -> str | None:
    """A hint for the first argument by name that ``known`` has not; None where all are known."""
    kinds = {p.kind for p in known.values()}
    unknown = next((name for name in given if name not in known), None)
    if unknown is None or inspect.Parameter.VAR_KEYWORD in kinds:
        return None
    names = {n for n, p in known.items() if p.kind is not inspect.Parameter.VAR_POSITIONAL}
    lengths = known.keys() - names
    if lengths & {unknown, *OF_SETTINGS.get(unknown, ())}:
        return f"; write it without a name, as {given[unknown]!r} alone"
    return of_setting(unknown, names)


def of_setting(name: str, known: Iterable[str]) -> str:
    """A hint for an argument that ``known`` has not."""
    here = [
        text
        for text in OF_SETTINGS.get(name, ())
        if text.startswith("leave") or re.split(r"\W", text)[0] in known
    ]
    return hint(name, {name: here[0]} if here else {}, known)


def explain_arguments(names: Iterable[str], where: MutableMapping[str, Any]) -> None:
    """Let the functions of these names hint at the arguments that they do not know."""
    made: dict[Any, Any] = {}  # second names stay the same function
    for name in names:
        function = where[name]
        if inspect.isfunction(function) and inspect.signature(function).parameters:
            if function not in made:
                made[function] = hinting(function)
                made[function].__module__ = where["__name__"]  # as which pickle finds it
            where[name] = made[function]


def explain_classes(names: Iterable[str], where: Mapping[str, Any], base: type) -> None:
    """Let the classes derived from ``base`` hint at the settings that they do not know."""
    for name in names:
        kind = where[name]
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base:
            if "__init__" in vars(kind):
                kind.__init__ = hinting(kind.__init__, f"{name}()")  # type: ignore[method-assign]
            elif kind.__init__ is object.__init__:
                kind.__init__ = hinting(_takes_nothing(name), f"{name}()")  # type: ignore[method-assign]


def _takes_nothing(name: str) -> Any:
    def __init__(self: Any) -> None:
        """No settings."""

    __init__.__qualname__ = f"{name}.__init__"
    return __init__
