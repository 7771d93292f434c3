"""Reading the weights of other programs from a file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

#: the safetensors format's dtypes that NumPy has, little-endian as in the file
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip


def load_weights(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file by name, as ``load_state_dict`` takes them.

    Same as ``safetensors.numpy.load_file``, and takes bfloat16 too, which comes as float32: the
    same numbers, as float32 has all that bfloat16 has.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no safetensors file, or has a dtype that is neither NumPy's nor bfloat16.
    """
    from safetensors import SafetensorError, deserialize

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
        else:
            raise ValueError(
                f"path: {name} in {path} is {kind}, which NumPy does not have; with PyTorch, write "
                "{k: v.float() for k, v in safetensors.torch.load_file(path).items()}, and apply "
                "the scales that such files may hold beside"
            )
    return arrays
