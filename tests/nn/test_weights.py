"""Weights from elsewhere: files, and state dicts with dtypes that NumPy does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from .helpers import values_of


def write(path: Path, entries: dict[str, tuple[str, list[int], bytes]]) -> Path:
    """A safetensors file, by the format's description: length, JSON header, data."""
    header, data = {}, b""
    for name, (dtype, shape, raw) in entries.items():
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += raw
    text = json.dumps({**header, "__metadata__": {"from": "elsewhere"}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def bfloat16(*values: float) -> bytes:
    """The first two bytes of each float32."""
    return (np.array(values, "<f4").view("<u4") >> 16).astype("<u2").tobytes()


BFLOATS = [1.0, -2.5, 0.0, 3.0e38, 1e-40, float("inf"), 0.33203125]


def test_files_are_read_with_every_dtype(tmp_path: Path) -> None:
    dtypes = {
        "F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
        "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
    }  # fmt: skip
    wanted = {name: np.array([[0, 1], [1, 5]]).astype(d) for name, d in dtypes.items()}
    entries = {k: (k, [2, 2], v.tobytes()) for k, v in wanted.items()}
    entries["b"] = ("BF16", [7], bfloat16(*BFLOATS))
    entries["scalar"] = ("BF16", [], bfloat16(1.5))
    entries["empty"] = ("BF16", [0, 3], b"")
    state = nn.load_weights(write(tmp_path / "all.safetensors", entries))
    assert set(state) == set(entries)
    for name, value in wanted.items():
        assert state[name].dtype == value.dtype
        np.testing.assert_array_equal(state[name], value)
    assert state["b"].dtype == state["scalar"].dtype == state["empty"].dtype == np.float32
    want = (np.array(BFLOATS, np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    np.testing.assert_array_equal(state["b"], want)
    assert state["scalar"].shape == () and state["scalar"] == 1.5 and state["empty"].shape == (0, 3)


def test_a_file_of_bfloat16_goes_into_a_module(tmp_path: Path) -> None:
    layer = nn.Linear(2, 1)
    entries = {"weight": ("BF16", [1, 2], bfloat16(0.5, -3.0)), "bias": ("F16", [1], b"\x00\x3c")}
    layer.load_state_dict(nn.load_weights(str(write(tmp_path / "w", entries))))
    assert layer.weight.tolist() == [[0.5, -3.0]] and layer.bias.tolist() == [1.0]
    assert layer.weight.dtype == layer.bias.dtype == np.float32


def test_what_we_write_we_read(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    layer = nn.Linear(3, 2)
    save_file(layer.state_dict(), tmp_path / "own.safetensors")
    other = nn.Linear(3, 2)
    other.load_state_dict(nn.load_weights(tmp_path / "own.safetensors"))
    np.testing.assert_array_equal(values_of(other.weight), values_of(layer.weight))


def test_files_that_are_not_taken_say_why(tmp_path: Path) -> None:
    path = write(tmp_path / "f8.safetensors", {"w": ("F8_E4M3", [2], b"\x00\x38")})
    with pytest.raises(ValueError, match=r"w in .*f8\.safetensors is F8_E4M3.*v\.float\(\)"):
        nn.load_weights(path)
    (tmp_path / "torn").write_bytes(path.read_bytes()[:-1])
    (tmp_path / "text").write_text("no weights at all")
    for name in ("torn", "text"):
        with pytest.raises(ValueError, match=f"path: .*{name} is no safetensors file, or damaged"):
            nn.load_weights(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        nn.load_weights(tmp_path / "nothing")
    with pytest.raises(TypeError, match=r"got str; nn\.load_weights\(path\) reads a file"):
        nn.Linear(1, 1).load_state_dict("net.safetensors")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_arrays_of_ml_dtypes_load(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    layer = nn.Linear(2, 1)
    weight = np.array([[1.5, -3.0]]).astype(getattr(ml_dtypes, name))
    layer.load_state_dict({"weight": weight, "bias": weight[0, :1]})
    assert layer.weight.tolist() == weight.tolist() and layer.weight.dtype == np.float32


@pytest.mark.parametrize("array", [np.zeros((1, 2), "V2"), np.zeros((1, 2), complex)])
def test_arrays_that_are_no_real_numbers_are_named(array: Any) -> None:
    with pytest.raises(ValueError, match="weight: expected an array, got ndarray"):
        nn.Linear(2, 1, bias=False).load_state_dict({"weight": array})


def test_weights_are_written_and_read_again(tmp_path: Path) -> None:
    """A module's or a dict's; in any layout, and without axes."""
    path = tmp_path / "net.safetensors"
    layer = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    layer[0].weight._data = np.asfortranarray(layer[0].weight.data)
    nn.save_weights(layer, path)
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    other.load_state_dict(nn.load_weights(path))
    for name, array in layer.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], array)
        assert array.flags.c_contiguous
    nn.save_weights({"a": tt.tensor(2.5), "b": np.arange(6).reshape(2, 3).T}, str(path))
    found = nn.load_weights(path)
    assert found["a"].shape == () and found["a"] == 2.5 and found["b"].tolist()[2] == [2, 5]


def test_what_is_no_file_or_no_weights_is_named(tmp_path: Path) -> None:
    layer, path = nn.Linear(1, 1), tmp_path / "x"
    with pytest.raises(TypeError, match="path: expected the name of a file, got Linear"):
        nn.load_weights(layer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path: expected the name of a file, got Linear"):
        nn.save_weights(layer.state_dict(), layer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="state: expected a dict of names to arrays, got str"):
        nn.save_weights(str(path), path)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="model: numbers: expected an array, got dict"):
        nn.save_weights({"numbers": {"lr": 1}}, path)
    assert not path.exists()
    write(path, {"w": ("C64", [1], bytes(8))})
    with pytest.raises(ValueError, match="w in .* is C64, complex, which no module takes"):
        nn.load_weights(path)
