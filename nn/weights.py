"""Weights in files, in the safetensors format, which other programs read and write too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .module import Module
from .state import check_state, host_array

#: the safetensors format's dtypes that NumPy has, little-endian as in the file
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip


def save_weights(model: Module | Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a module's state dict to a safetensors file; :func:`load_weights` reads it.

    Args:
        model: a module, or a state dict: name -> array or tensor.
        path: of the file, which is replaced if there is one.

    Raises:
        OSError: the file cannot be written.
        TypeError: not a module or state dict, or an entry is no array of real numbers.
    """
    from safetensors.numpy import save

    state = model.state_dict() if isinstance(model, Module) else model
    check_state(state)
    _check_path(path)
    arrays = {}
    for name, value in state.items():
        try:
            arrays[name] = np.array(host_array(value), order="C")
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"model: {name}: expected an array, got {type(value).__name__} ({error})"
            ) from None
    Path(path).write_bytes(save(arrays))


def _check_path(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected the name of a file, got {type(path).__name__}")


def load_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file by name, as ``load_state_dict`` takes them.

    Same as ``safetensors.numpy.load_file``, and takes bfloat16 too, which comes as float32: the
    same numbers, as float32 has all that bfloat16 has.

    Raises:
        OSError: the file cannot be read.
        TypeError: ``path`` is none.
        ValueError: it is no safetensors file, or has a dtype that is neither NumPy's nor bfloat16.
    """
    from safetensors import SafetensorError, deserialize

    _check_path(path)
    try:
        entries = deserialize(Path(path).read_bytes())
    except SafetensorError as error:
        raise ValueError(f"path: {path} is no safetensors file, or damaged ({error})") from None
    arrays = {}
    for name, entry in entries:
        kind, shape, data = entry["dtype"], entry["shape"], entry["data"]
        if kind == "BF16":  # the first half of a float32
            bits = np.frombuffer(data, "<u2").astype("<u4") << 16
            arrays[name] = bits.view("<f4").reshape(shape)
        elif kind in _DTYPES:
            arrays[name] = np.frombuffer(data, _DTYPES[kind]).reshape(shape)
        elif kind.startswith("C"):
            raise ValueError(f"path: {name} in {path} is {kind}, complex, which no module takes")
        else:
            raise ValueError(
                f"path: {name} in {path} is {kind}, which NumPy does not have; with PyTorch, write "
                "{k: v.float() for k, v in safetensors.torch.load_file(path).items()}, and apply "
                "the scales that such files may hold beside"
            )
    return arrays
