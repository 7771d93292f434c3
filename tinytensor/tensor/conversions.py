"""From a tensor to Python, to another device or dtype, to a copy, and to text."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.convert import DEFAULT_DTYPE, as_array, names_device
from ..arrays.device import Device, device
from ..arrays.dtypes import as_dtype
from ..hints.finding import of_setting
from ..hints.habits import check_unpacking
from ..shown import arrays, html, printing
from .fields import Fields

if TYPE_CHECKING:
    from ..operations.elementwise.conversion import to_device
    from .tensor import Tensor, make
else:
    late.needs(
        __name__,
        to_device="operations.elementwise.conversion.to_device",
        Tensor="tensor.tensor.Tensor",
        make="tensor.tensor.make",
    )


class Conversions(Fields):
    """Mixin of :class:`~tinytensor.Tensor`: what becomes of it elsewhere."""

    __slots__ = ()

    _printed_as = "tensor"
    _grad: Any
    _name: str | None

    def item(self) -> Any:
        """The only element as a Python number. Raises ValueError for any other size."""
        if self.size != 1:
            raise ValueError(
                f"item: expected one element, got shape {self.shape}; .tolist() or .numpy() gives "
                "all of them"
            )
        return self.data.item()

    def tolist(self) -> Any:
        """Elements as (nested) Python lists, or a number for a 0-d tensor."""
        return self.device.to_host(self.data).tolist()

    def __bool__(self) -> bool:
        return bool(self._single("bool"))

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"index: expected an integer tensor, got {self.dtype}")
        return int(self._single("index"))

    def _single(self, what: str) -> Any:
        if self.size != 1:
            raise ValueError(
                f"{what}: expected a tensor with one element, got shape {self.shape}; "
                "reduce it first, for example with .any(), .all() or .sum()"
            )
        return self.data.item()

    # -- placement and dtype ------------------------------------------------------------------

    def to(self: Any, *targets: Any, **named: Any) -> Tensor:
        """The tensor on another device and in another dtype; itself where nothing changes.

        Args:
            targets: a device or its name, a dtype or its name, or both.
            named: the same as ``device=`` and ``dtype=``.
        """
        if unknown := named.keys() - {"device", "dtype"}:
            advice = of_setting(min(unknown), ())
            raise TypeError(
                f"to: unknown argument {min(unknown)!r}; expected device= and dtype={advice}"
            )
        out = self
        for target in (*targets, *named.values()):
            if isinstance(target, Device) or (isinstance(target, str) and names_device(target)):
                dev = device(target)
                out = out if dev is out.device else to_device(out, dev.name)
            elif target is not None and as_dtype(target) != out.dtype:
                out = out.astype(target)
        return out

    def cpu(self) -> Tensor:
        """The tensor on the CPU."""
        return self.to("cpu")

    def cuda(self) -> Tensor:
        """The tensor on the GPU."""
        return self.to("cuda")

    # -- containers ---------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError(
                "len: a 0-d tensor has no length; .item() is its number (and another library "
                "takes a list of tensors as tt.stack(xs).numpy())"
            )
        return self.shape[0]

    def __iter__(self: Any) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        check_unpacking(self.shape, sys._getframe(1))
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool((self.data == (value.data if isinstance(value, Tensor) else value)).any())

    def __copy__(self: Any) -> Tensor:
        """A leaf of its own, as ``deepcopy`` makes it; inside a graph ``x.copy()``."""
        return self.copy() if self.node is not None else self.__deepcopy__({})

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Tensor:
        if self.node is not None:
            raise RuntimeError("deepcopy: only leaf tensors can be copied; use .detach() first")
        out = make(self._data.copy(), kind=type(self))
        memo[id(self)] = out
        out.hooks = deepcopy(self.hooks, memo)
        out.tracked = self.tracked
        out._name = self._name
        out._grad = deepcopy(self._grad, memo)
        for key, value in getattr(self, "__dict__", {}).items():
            setattr(out, key, deepcopy(value, memo))
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        if self.node is not None:
            raise RuntimeError("pickle: only leaf tensors can be pickled; use .detach() first")
        if self.hooks:
            warnings.warn("pickle: the hooks of a tensor are left out", stacklevel=2)
        host = self.device.to_host(self.data)
        made_from = (type(self), host, self.requires_grad, self.device.name, self._name)
        return _unpickle, made_from, getattr(self, "__dict__", None)

    def __format__(self, spec: str) -> str:
        if spec and self.size == 1:
            return format(self.item(), spec)
        try:
            return format(repr(self), spec)
        except ValueError:
            raise ValueError(
                f"format: {spec!r} is for one number, got shape {self.shape}; format x.item() of "
                "its elements, or set tt.set_printoptions(precision=...)"
            ) from None

    def __repr__(self) -> str:
        host = self.device.to_host(self.data)
        parts = [printing.text_of(host, prefix=f"{self._printed_as}(")]
        if self.dtype not in (DEFAULT_DTYPE, np.bool_) or not self.size:
            parts.append(f"dtype={self.dtype}")
        if self.device.xp is not np:
            parts.append(f"device={self.device.name!r}")
        if self.node is not None:
            parts.append(f"op={self.node.made_by}")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        return f"{self._printed_as}({', '.join(parts)})"

    def _printed_numbers(self) -> np.ndarray:
        """The numbers to show, on the host."""
        return self.device.to_host(self.data)

    def _repr_html_(self) -> str:
        """What a notebook shows: numbers, or of many their statistics and a picture."""
        parts = [f"shape {self.shape}", str(self.dtype), self.device.name]
        if self.node is not None:
            parts.append(f"made by {self.node.made_by}")
        elif self.requires_grad:
            parts.append("requires grad")
        body = [arrays.array(self._printed_numbers())]
        if (grad := self._grad) is not None:
            numbers = grad._printed_numbers()
            word = "grad" if grad._printed_as == "tensor" else grad._printed_as
            head = f"{word} {html.faint(html.code(arrays.statistics(numbers)))}"
            body.append(html.folded(head, arrays.array(numbers)))
        name = f" {self._name}" if self._name else ""
        return html.framed(f"{self._printed_as}{name}", ", ".join(parts), *body)


def _unpickle(
    kind: type, host: np.ndarray, requires_grad: bool, device_name: str, name: str | None
) -> Tensor:
    out = make(as_array(host, None, device_name), kind=kind)
    out.tracked = requires_grad
    out._name = name
    return out
