"""The safetensors format: how a file of named arrays is laid out, read strictly, and written.

A file is eight bytes with the length of its header, the header (JSON: for each array its dtype,
shape and place, and texts under ``__metadata__``), and the numbers of all arrays without a gap:
https://github.com/huggingface/safetensors. A file from elsewhere may be damaged or made to do
harm, so all that a header claims is compared with the file's real size before memory is taken for
it, and what is no regular file (a pipe would be waited for) is not read.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

#: the format's dtypes that NumPy has, little-endian as in the file
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
#: bits of a number: those above and the ones that NumPy does not have
_BITS = {name: np.dtype(kind).itemsize * 8 for name, kind in DTYPES.items()} | {
    "BF16": 16, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E4M3": 8, "F8_E5M2": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
}  # fmt: skip
#: the longest header, as in the format's description
LONGEST_HEADER = 100_000_000
_METADATA = "__metadata__"
#: how deep lists and objects in a JSON text may be nested
_DEEPEST = 64


class FormatError(ValueError):
    """What was read is not in the format; the message is the reason alone, without the file."""


@dataclass(frozen=True)
class Entry:
    """One array of a file: its dtype in the format's words, and where it is in the data (bytes)."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """What stands at the start of a file.

    Attributes:
        raw: the bytes before the data, length included.
        entries: the arrays by name, in the order of their data.
        metadata: texts by name.
        size: bytes of the data.
    """

    raw: bytes
    entries: dict[str, Entry]
    metadata: dict[str, str]
    size: int


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; never waits for a pipe's writer.

    Raises:
        OSError: it cannot be opened. FormatError: it is a pipe, a device or the like.
    """
    waitless = getattr(os, "O_NONBLOCK", 0)
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | waitless))
    except ValueError as error:  # a NUL in the name
        raise FormatError(str(error)) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FormatError("it is no regular file")
    return file


def read_header(file: BinaryIO) -> Header:
    """The header of a file that was just opened, checked against the file's size.

    Raises:
        FormatError: it is none, or does not fit what follows.
    """
    length = os.fstat(file.fileno()).st_size
    first = file.read(8)
    claimed = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= claimed <= length - 8:
        raise FormatError(f"header of {claimed} bytes in a file of {length}")
    if claimed > LONGEST_HEADER:
        raise FormatError(f"header of {claimed} bytes, the longest has {LONGEST_HEADER}")
    raw = file.read(claimed)
    try:
        content = parse_json(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise FormatError("the header is not in UTF-8") from None
    if not isinstance(content, dict):
        raise FormatError("the header is no JSON object")
    metadata = content.pop(_METADATA, {})
    if not (isinstance(metadata, dict) and all(isinstance(v, str) for v in metadata.values())):
        raise FormatError("metadata are not texts by name")
    found = {name: _entry(name, value) for name, value in content.items()}
    entries = dict(sorted(found.items(), key=lambda item: (item[1].start, item[1].stop)))
    end = 0
    for name, entry in entries.items():
        if entry.start != end:
            raise FormatError(f"{_short(name)} starts at byte {entry.start}, expected {end}")
        end = entry.stop
    if end != length - 8 - claimed:
        raise FormatError(f"data of {length - 8 - claimed} bytes, expected {end}")
    return Header(first + raw, entries, metadata, end)


def read_arrays(
    file: BinaryIO, header: Header, update: Callable[[Any], object] = lambda data: None
) -> dict[str, np.ndarray]:
    """The arrays that follow a header, each in memory of its own.

    Args:
        file: just behind the header.
        header: as :func:`read_header` returned it; dtypes of :data:`DTYPES` and BF16, which
            becomes float32: the same numbers, as float32 has all that bfloat16 has.
        update: called with the bytes of each array, in their order, for a checksum.

    Raises:
        FormatError: the file ended, or a dtype is not one of those.
    """
    arrays = {}
    for name, entry in header.entries.items():
        kind = {"BF16": "<u2", "BOOL": "u1"}.get(entry.dtype) or DTYPES.get(entry.dtype)
        if kind is None:
            raise FormatError(f"{_short(name)} is {entry.dtype}, which NumPy does not have")
        try:
            array = np.empty(entry.shape, kind)
        except MemoryError:
            size = entry.stop - entry.start
            raise FormatError(f"{_short(name)} has {size} bytes, more than memory") from None
        data = array.reshape(-1).view(np.uint8)
        if data.size and file.readinto(data) != data.size:  # type: ignore[attr-defined]
            raise FormatError(f"the file ended within {_short(name)}")
        update(data)
        if entry.dtype == "BF16":  # the first half of a float32
            array = (array.astype("<u4") << 16).view("<f4").reshape(entry.shape)
        arrays[name] = array != 0 if entry.dtype == "BOOL" else array
    return arrays


def encode(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytearray:
    """A file's bytes; metadata come first in them.

    Raises:
        TypeError: a dtype that the format does not have.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    places = []
    end = 0
    # wide numbers first: all stand at multiples of their size, as the header's length is one of 8
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = arrays[name]
        kind = _NAMES.get(array.dtype.newbyteorder("<"))
        if kind is None:
            raise TypeError(f"{name}: expected real numbers, got dtype {array.dtype}")
        start, end = end, end + array.nbytes
        shape = list(array.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
        places.append((array, start))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    front = len(text) + 8
    content = bytearray(front + end)
    content[:front] = len(text).to_bytes(8, "little") + text
    for array, start in places:
        if array.size:
            target = np.frombuffer(
                content, array.dtype.newbyteorder("<"), array.size, front + start
            )
            target.reshape(array.shape)[...] = array
    return content


def parse_json(text: str, constants: bool = False) -> Any:
    """The value of a JSON text: no key twice, not nested deeper than anything needs.

    Args:
        text: JSON.
        constants: whether NaN and Infinity, which Python writes and JSON does not have, may be.

    Raises:
        FormatError: it is not JSON, or not such JSON.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            raise FormatError("the same name twice in a JSON object")
        return values

    def refuse(word: str) -> Any:
        raise FormatError(f"{word} in a JSON text")

    options: dict[str, Any] = {} if constants else {"parse_constant": refuse}
    try:
        value = json.loads(text, object_pairs_hook=unique, **options)
    except FormatError:
        raise
    except RecursionError:
        raise FormatError("JSON nested too deep") from None
    except ValueError as error:  # no JSON, or an integer of more digits than Python reads
        raise FormatError(f"no JSON: {error}") from None
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise FormatError("JSON nested too deep")
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [part for item in inner for part in _parts(item)]
    return value


def _parts(item: Any) -> Any:
    return item.values() if isinstance(item, dict) else item


def _entry(name: str, value: Any) -> Entry:
    """An array's entry in the header, checked by itself."""
    shown = _short(name)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise FormatError(f"{shown} is no name: it has half a character") from None
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise FormatError(f"{shown} has not just dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise FormatError(f"{shown} has a dtype that the format does not have")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise FormatError(f"{shown} has a shape or offsets that are no counts")
    widest = math.prod(max(n, 1) for n in shape) if len(shape) <= 32 else 1 << 64
    if widest * 16 >= 1 << 63:
        raise FormatError(f"{shown} has a shape beyond any memory")
    if len(offsets) != 2 or (offsets[1] - offsets[0]) * 8 != math.prod(shape) * _BITS[dtype]:
        raise FormatError(f"{shown} has a shape that does not fit its data")
    return Entry(dtype, tuple(shape), offsets[0], offsets[1])


def _short(name: str) -> str:
    """A name from a file as a message shows it."""
    return repr(name if len(name) <= 60 else name[:57] + "...")
