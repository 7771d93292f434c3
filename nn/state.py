"""Putting a state dict into a module: names, shapes and ties are all checked before any write."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import no_grad
from ..arrays import convert
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


class LoadResult(NamedTuple):
    """What ``load_state_dict(strict=False)`` left out.

    Attributes:
        missing_keys: parameters and buffers that the state does not have.
        unexpected_keys: names in the state that the module does not have.
    """

    missing_keys: list[str]
    unexpected_keys: list[str]


def load(module: Module, state: Mapping[str, Any], strict: bool) -> LoadResult:
    """See :meth:`Module.load_state_dict`."""
    check_state(state)
    named = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(persistent_only=True, remove_duplicate=False),
    ]
    targets = dict(named)
    names_of: dict[int, list[str]] = {}  # a tied tensor has several names
    for name, tensor in named:
        names_of.setdefault(id(tensor), []).append(name)

    given: dict[str, tuple[str, Any]] = {}
    unexpected: list[str] = []
    missing: list[str] = []
    misfits: list[str] = []
    for key, value in state.items():
        name = _own_name(module, key, targets)
        if name not in targets:
            unexpected.append(key)
        elif name in given:
            misfits.append(f"{given[name][0]} and {key}: both are {name} here")
        else:
            given[name] = (key, value)
    writes: list[tuple[Tensor, np.ndarray]] = []
    for names in names_of.values():
        present = [name for name in names if name in given]
        if not present:
            missing.append(names[0])
            continue
        tensor = targets[names[0]]
        arrays = []
        for name in present:
            key, value = given[name]
            try:
                array = host_array(value)
            except (TypeError, ValueError, RuntimeError) as error:
                misfits.append(f"{key}: expected an array, got {type(value).__name__} ({error})")
                continue
            if array.shape != tensor.shape:
                misfits.append(f"{key}: shape {array.shape} in the state, {tensor.shape} here")
                continue
            arrays.append(array)
        if len(arrays) == len(present):
            if any(not _equal(arrays[0], other) for other in arrays[1:]):
                misfits.append(f"{' and '.join(present)}: one tied tensor here, different values")
            writes.append((tensor, arrays[0]))

    problems = []
    if missing and strict:
        problems.append("missing from the state: " + ", ".join(missing))
    if unexpected and strict:
        problems.append("unexpected in the state: " + ", ".join(unexpected))
    problems += misfits
    if problems:
        raise ValueError(
            f"state: does not fit this {type(module).__name__}:\n  " + "\n  ".join(problems)
        )
    with no_grad():
        for tensor, array in writes:
            tensor.copy_(array.astype(tensor.dtype))
    return LoadResult(missing, unexpected)


def _equal(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def check_state(state: Any) -> None:
    """Raise TypeError where ``state`` is no dict."""
    if not isinstance(state, Mapping):
        file = "; nn.load_weights(path) reads a file" if isinstance(state, (str, PathLike)) else ""
        raise TypeError(
            f"state: expected a dict of names to arrays, got {type(state).__name__}{file}"
        )


def host_array(value: Any) -> np.ndarray:
    """A numeric NumPy array from an array, a Tensor, or a PyTorch tensor on any device.

    Floats that NumPy lacks (bfloat16, float8) come as float32, which has all their numbers.
    """
    if isinstance(value, Tensor):
        value = value.detach().numpy()
    else:
        for step in ("detach", "cpu"):  # a PyTorch tensor or Parameter
            if hasattr(value, step):
                value = getattr(value, step)()
    array = convert.host_array(value)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"dtype {array.dtype}")
    return array


def _own_name(module: Module, key: str, targets: Mapping[str, Tensor]) -> str:
    """``key`` in this module's names: as it is if known, else with the aliases on its path applied.

    Each module on the way may rename what comes below it, so the walk goes from the top down.
    """
    if key in targets:
        return key
    rest, path, here = key, "", module
    while True:
        for old, new in here.aliases.items():
            if rest.startswith(old):
                rest = new + rest[len(old) :]
        for name, child in here.named_children():
            if rest.startswith(name + "."):
                path, rest, here = f"{path}{name}.", rest[len(name) + 1 :], child
                break
        else:
            return path + rest
