"""Where arrays live: the NumPy/CuPy switch.

Everything above this module reaches arrays only through ``device.xp``, an array namespace with
NumPy's names (`numpy` on the CPU, `cupy` on a GPU). A tensor's device is known by the type of its
array, so nothing has to carry a device along, and arrays of two devices never mix silently.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ..context.blocks import Block, Manager, innermost
from ..context.thread_state import local
from ..hints.finding import kind_of


class Device(Manager):
    """One kind of memory together with the array namespace that computes in it.

    Args:
        name: what the user writes, for example ``"cpu"`` or ``"cuda"``.
        xp: array namespace with NumPy's names.
        array_type: the class of its arrays.
        from_host: makes an array of this device from a NumPy array (always a copy).
        to_host: makes a NumPy array from an array of this device.
        special: name of the module holding ``erf`` for these arrays, imported on first use, or
            the namespace itself.
        checks_bounds: whether an index out of range raises; where it does not (CuPy wraps it
            silently), tinytensor checks index arrays itself.

    A device is also a context manager that makes it the default for new tensors::

        with tt.device("cuda"):
            x = tt.zeros(2, 3)
    """

    lists = ("devices",)

    def __init__(
        self,
        name: str,
        xp: Any,
        array_type: type,
        from_host: Callable[[np.ndarray], Any],
        to_host: Callable[[Any], np.ndarray],
        special: Any = "scipy.special",
        checks_bounds: bool = True,
    ):
        self.name = name
        self.xp = xp
        self.array_type = array_type
        self.from_host = from_host
        self.to_host = to_host
        self.checks_bounds = checks_bounds
        self._special = special

    @property
    def special(self) -> Any:
        """Namespace with the special functions NumPy lacks (``erf``)."""
        if isinstance(self._special, str):
            try:
                self._special = importlib.import_module(self._special)
            except ImportError as error:
                raise ImportError(
                    f"erf on device {self.name!r} needs {self._special.split('.')[0]}, which could "
                    f"not be imported ({error}); install it, or use gelu(approximate='tanh')"
                ) from error
        return self._special

    def synchronize(self) -> None:
        """Wait until all queued work is done (a no-op on the CPU)."""
        cuda = getattr(self.xp, "cuda", None)
        if cuda is not None:
            cuda.get_current_stream().synchronize()

    def _enter(self, block: Block) -> Device:
        return self

    def __repr__(self) -> str:
        return f"device({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.name,)


_by_name: dict[str, Device] = {}
#: array class -> device; read on every op
BY_TYPE: dict[type, Device] = {}


def register(dev: Device) -> Device:
    """Add a device, so that ``tt.device(dev.name)`` and its array type are known."""
    _by_name[dev.name] = dev
    BY_TYPE[dev.array_type] = dev
    return dev


def device(name: str | Device) -> Device:
    """The device called ``name``: ``"cpu"``, or ``"cuda"`` (also ``"gpu"``, ``"cuda:0"``).

    Raises:
        ValueError: the name is not a known device.
        RuntimeError: CUDA was asked for and cannot be used; the message says why.
    """
    if isinstance(name, Device):
        return name
    if not isinstance(name, str):
        raise TypeError(f"device: expected a device or its name, such as 'cpu', got {name!r}")
    if name in _by_name:
        return _by_name[name]
    if name in ("cuda", "gpu", "cuda:0"):
        return _load_cuda()
    raise ValueError(
        f"device: unknown name {name!r}; expected one of {sorted({*_by_name, 'cuda'})} (a GPU is "
        "'cuda', and has to be one that CuPy knows)"
    )


def default_device() -> Device:
    """The device on which new tensors are made: the innermost ``with tt.device(...)``."""
    dev: Device | None = innermost(local.state.devices)
    return _default[0] if dev is None else dev


def set_default_device(name: str | Device) -> None:
    """Make ``name`` the default device of all threads outside any ``with tt.device(...)``; for a
    thread inside such a block it counts once that is left."""
    _default[0] = device(name)


def device_of(array: Any) -> Device:
    """The device of an array.

    Raises:
        TypeError: no device has arrays of this class.
    """
    try:
        return BY_TYPE[type(array)]
    except KeyError:
        for kind, dev in list(BY_TYPE.items()):  # a subclass, such as np.memmap
            if isinstance(array, kind):
                BY_TYPE[type(array)] = dev
                return dev
        if isinstance(array, np.generic):  # what NumPy makes of 0-d arrays inside a formula
            return CPU
        raise TypeError(f"expected an array of a known device, got {kind_of(array)}") from None


def import_cupy() -> ModuleType:
    """CuPy, checked to be usable. Raises RuntimeError with the reason where it is not."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise RuntimeError(
            f"device 'cuda' needs CuPy, which could not be imported ({error}). Install it with "
            "`pip install cupy-cuda13x` (CUDA 13) or `pip install cupy-cuda12x` (CUDA 12)"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise RuntimeError(
            f"device 'cuda': CuPy is installed but found no GPU ({error})"
        ) from error
    if count == 0:
        raise RuntimeError("device 'cuda': CuPy is installed but found no GPU (0 devices)")
    return cupy


def _load_cuda() -> Device:
    cupy: Any = import_cupy()
    dev = Device(
        "cuda",
        cupy,
        cupy.ndarray,
        from_host=cupy.asarray,
        to_host=cupy.asnumpy,
        special="cupyx.scipy.special",
        checks_bounds=False,
    )
    for alias in ("gpu", "cuda:0"):
        _by_name[alias] = dev
    return register(dev)


CPU = register(Device("cpu", np, np.ndarray, from_host=np.array, to_host=np.asarray))
_default = [CPU]
