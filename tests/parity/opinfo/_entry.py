"""What stands in the tables: entries, choices, and the way from a sample to a call of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

import tinytensor as tt
from tinytensor.tensor.tensor import make

RENAMES = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}

#: keywords of PyTorch's that say where or how a result is stored, not what it is
LACKS = {
    "out": "writes into a given tensor (out=)",
    "inplace": "in-place (inplace=True)",
    "memory_format": "memory_format=",
    "layout": "layout=",
}


class NotApplicable(Exception):
    """Raised by an adapter: the sample uses something we do not have; the message says what."""


@dataclass
class Entry:
    """One function of ours and the OpInfo whose samples it is run over (see the package)."""

    ours: str
    theirs: str = ""
    variant: str | None = None
    call: Callable[[Tensors, Any], Any] | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    take: Callable[[Any], Any] = lambda out: out
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    family: str = ""

    def __post_init__(self) -> None:
        self.theirs = self.theirs or self.ours

    @property
    def function(self) -> Callable[..., Any]:
        """Our function, or the op of this name that only other ops call."""
        if self.ours in tt.registry.OPS and self.ours not in tt.__all__:
            return tt.registry.OPS[self.ours]
        found: Any = tt
        for part in self.ours.split("."):
            found = getattr(found, part)
        function: Callable[..., Any] = found
        return function

    def run(self, T: Tensors, sample: Any) -> Any:
        """Our result for a sample."""
        if self.call is not None:
            return self.call(T, sample)
        return through(self.function, T, sample, rename=self.rename, lacks=self.lacks)


@dataclass(frozen=True)
class Choice:
    """A difference from PyTorch that is meant."""

    ours: str
    when: Callable[[Any], bool]
    reason: str
    gradient_only: bool = False


class Tensors:
    """``T(value)``: the sample's torch tensors as ours, the same one each time it is asked for.

    On NumPy the memory is shared, so that strides are those of the sample.
    """

    def __init__(self) -> None:
        self._made: dict[int, tt.Tensor] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._made:
                self._made[id(value)] = self._make(value)
            return self._made[id(value)]
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self(v) for v in value)
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.").replace("bool", "bool_").rstrip("_")
        return value

    def _make(self, value: torch.Tensor) -> tt.Tensor:
        if value.is_complex():
            raise NotApplicable("complex numbers")
        if value.layout is not torch.strided:
            raise NotApplicable("sparse tensors")
        # as it lies in memory, which tt.tensor(...) would not keep
        made = make(tt.default_device().from_host(value.detach().resolve_neg().numpy()))
        return made.requires_grad_(value.requires_grad)


def through(
    fn: Callable[..., Any],
    T: Tensors,
    sample: Any,
    *,
    rename: Mapping[str, str] | None = None,
    lacks: Mapping[str, str] | None = None,
    **more: Any,
) -> Any:
    """``fn`` on the sample's input, args and kwargs, renamed; ``more`` is added to the keywords."""
    names = {**RENAMES, **(rename or {})}
    missing = {**LACKS, **(lacks or {})}
    first = T(sample.input)
    args = [_plain(T(a)) for a in sample.args]
    kwargs: dict[str, Any] = {}
    for name, value in sample.kwargs.items():
        if name in missing and name not in (rename or {}):
            if value is not None and value is not False:
                raise NotApplicable(missing[name])
        elif name == "dtype" and "dtype" not in names:
            first = first if value is None else first.astype(T(value))
        elif name == "unbiased":
            kwargs["ddof"] = int(value)
        elif name == "correction":
            kwargs["ddof"] = 1 if value is None else value
        else:
            kwargs[names.get(name, name)] = _plain(T(value))
    return fn(first, *args, **{**kwargs, **more})


def _plain(value: Any) -> Any:
    """A list of numbers, such as PyTorch's dim=[0, 1], as a tuple; a list of tensors stays one."""
    if isinstance(value, list) and not any(isinstance(v, tt.Tensor) for v in value):
        return tuple(value)
    return value
