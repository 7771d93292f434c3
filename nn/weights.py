"""Weights in files, in the safetensors format, which other programs read and write too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .module import Module
from .state import check_state, host_array
from .tensor_file import DTYPES, FormatError, open_file, read_arrays, read_header


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
    same numbers, as float32 has all that bfloat16 has. Nothing in a file can run code, and no file
    makes this take more memory than the file itself has bytes (bfloat16: twice as much).

    Raises:
        OSError: the file cannot be read.
        TypeError: ``path`` is none.
        ValueError: it is no safetensors file, or has a dtype that is neither NumPy's nor bfloat16.
    """
    _check_path(path)
    try:
        with open_file(path) as file:
            header = read_header(file)
            for name, entry in header.entries.items():
                _check_dtype(path, name, entry.dtype)
            return read_arrays(file, header)
    except FormatError as error:
        raise ValueError(f"path: {path} is no safetensors file, or damaged ({error})") from None


def _check_dtype(path: str | os.PathLike[str], name: str, kind: str) -> None:
    if kind.startswith("C"):
        raise ValueError(f"path: {name} in {path} is {kind}, complex, which no module takes")
    if kind not in DTYPES and kind != "BF16":
        raise ValueError(
            f"path: {name} in {path} is {kind}, which NumPy does not have; with PyTorch, write "
            "{k: v.float() for k, v in safetensors.torch.load_file(path).items()}, and apply "
            "the scales that such files may hold beside"
        )
