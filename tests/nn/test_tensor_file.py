"""The safetensors format: the same as the library's, and nothing is believed that cannot be."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from tinytensor import nn
from tinytensor.nn.tensor_file import (
    FormatError,
    encode,
    open_file,
    parse_json,
    read_arrays,
    read_header,
)


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    kinds = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
    found = {kind: (rng.normal(size=(3, 5)) * 50).astype(kind) for kind in kinds}
    more = {"turned": found["f4"].T, "steps": np.arange(10)[::3], "none": np.zeros((0, 3), "f2")}
    return {
        **found,
        **more,
        "one": np.array(2.5),
        "é \U0001f600": np.ones(1),
        "big": np.ones(3, ">f4"),
    }


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with open_file(path) as file:
        header = read_header(file)
        return read_arrays(file, header), header.metadata


def same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].flags.writeable and found[name].flags.c_contiguous


def test_the_library_reads_what_we_write_and_we_what_it_writes(tmp_path: Path) -> None:
    path, metadata = tmp_path / "ours", {"a": 'b"\\\n', "é": ""}
    path.write_bytes(encode(arrays(), metadata))
    same(read(path)[0], arrays())
    theirs = load_file(path)
    for name, array in arrays().items():
        np.testing.assert_array_equal(theirs[name], array)
    with safe_open(path, framework="np") as file:
        assert file.metadata() == read(path)[1] == metadata
    native = {k: np.array(a.astype(a.dtype.newbyteorder("="))) for k, a in arrays().items()}
    save_file({k: np.ascontiguousarray(a) if a.ndim else a for k, a in native.items()}, path)
    same(read(path)[0], native)


def test_numbers_stand_at_multiples_of_their_size(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(encode(arrays(), {}))
    with open_file(tmp_path / "x") as file:
        header = read_header(file)
    assert len(header.raw) % 8 == 0
    for name, entry in header.entries.items():
        assert entry.start % arrays()[name].dtype.itemsize == 0


@pytest.mark.parametrize("dtype", ["c8", "O", "U3", "M8[s]"])
def test_a_dtype_that_the_format_lacks_is_named(dtype: str) -> None:
    with pytest.raises(TypeError, match="x: expected real numbers, got dtype"):
        encode({"x": np.zeros(2, dtype)}, {})


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


HEADERS: dict[str, tuple[Any, str]] = {
    "fits": ({"a": entry()}, ""),
    "list": ([1], "no JSON object"),
    "no entry": ({"a": 1}, "'a' has not just dtype"),
    "more": ({"a": entry(x=1)}, "'a' has not just dtype"),
    "dtype": ({"a": entry(dtype="F33")}, "'a' has a dtype that the format does not have"),
    "no dtype": ({"a": entry(dtype=["F32"])}, "'a' has a dtype that the format does not have"),
    "negative": ({"a": entry(shape=[-2])}, "shape or offsets that are no counts"),
    "float": ({"a": entry(shape=[2.0])}, "shape or offsets that are no counts"),
    "bool": ({"a": entry(shape=[True, 2])}, "shape or offsets that are no counts"),
    "shape": ({"a": entry(shape="2")}, "shape or offsets that are no counts"),
    "three": ({"a": entry(data_offsets=[0, 8, 8])}, "does not fit its data"),
    "back": ({"a": entry(data_offsets=[8, 0])}, "does not fit its data"),
    "other size": ({"a": entry(shape=[3])}, "does not fit its data"),
    "beyond": ({"a": entry(shape=[0, 2**62, 2**62], data_offsets=[0, 0])}, "beyond any memory"),
    "many axes": ({"a": entry(shape=[1] * 70 + [2])}, "beyond any memory"),
    "huge": ({"a": entry(shape=[2**62], data_offsets=[0, 2**64])}, "beyond any memory"),
    "claims more": ({"a": entry(shape=[4], data_offsets=[0, 16])}, "data of 8 bytes, expected 16"),
    "gap": ({"a": entry(shape=[1], data_offsets=[4, 8])}, "'a' starts at byte 4, expected 0"),
    "overlap": (
        {"a": entry(), "b": entry(shape=[1], data_offsets=[4, 8])}, "'b' starts at byte 4, exp"
    ),
    "twice": ({"a": entry(), "b": entry()}, "'b' starts at byte 0, expected 8"),
    "too little": ({"a": entry(shape=[1], data_offsets=[0, 4])}, "data of 8 bytes, expected 4"),
    "metadata": ({"a": entry(), "__metadata__": {"x": 1}}, "metadata are not texts"),
    "metadata list": ({"a": entry(), "__metadata__": []}, "metadata are not texts"),
    "half": ({"\ud800": entry()}, "it has half a character"),
    "long name": ({"x" * 9999: entry(dtype="?")}, r"'x+\.\.\.' has a dtype"),
    "packed": ({"a": entry(dtype="F4", shape=[16])}, ""),
}  # fmt: skip


@pytest.mark.parametrize("what", HEADERS)
def test_what_a_header_claims_is_compared_with_the_file(tmp_path: Path, what: str) -> None:
    header, match = HEADERS[what]
    text = json.dumps(header).encode()
    (tmp_path / "x").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with open_file(tmp_path / "x") as file:
        if not match:
            assert read_header(file).size == 8
            return
        with pytest.raises(FormatError, match=match) as caught:
            read_header(file)
    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match="path: .*x is no safetensors file, or damaged"):
        nn.load_weights(tmp_path / "x")


@pytest.mark.parametrize("content", [
    b"", b"\0" * 7, b"\0" * 100, b"\xff" * 100, (2**40).to_bytes(8, "little") + b"{}",
    b"\2\0\0\0\0\0\0\0\xff\xff", b"\2\0\0\0\0\0\0\0[]", b"\3\0\0\0\0\0\0\0NaN",
])  # fmt: skip
def test_other_files_are_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError, match="path: .*x is no safetensors file, or damaged"):
        nn.load_weights(tmp_path / "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="it is no regular file"):
            nn.load_weights(path)
    with pytest.raises(ValueError, match="path: .* is no safetensors file"):
        nn.load_weights("a\0b")


def test_a_file_that_ends_while_it_is_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(encode({"a": np.ones(4)}, {}))
    with open_file(tmp_path / "x") as file:
        header = read_header(file)
    with pytest.raises(FormatError, match="the file ended within 'a'"):
        read_arrays(io.BytesIO(bytes(31)), header)


def test_json_is_read_strictly() -> None:
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert parse_json("[Infinity]", constants=True) == [float("inf")]
    for text in ("NaN", "[-Infinity]", '{"a": 1, "a": 2}', "[" * 65 + "]" * 65, "[" * 9999, "1 2"):
        with pytest.raises(FormatError):
            parse_json(text)
    assert parse_json("[" * 63 + "]" * 63)
