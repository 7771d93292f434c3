"""DLPack both ways, and other libraries' tensors and dtypes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from ..helpers import close, const, leaf, share_memory

ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 arrays need it")


class Exporter:
    """Some library's tensor, whose memory is a NumPy array's and may be called a GPU's."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.array.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


# -- handed over --------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
def test_numpy_takes_the_memory(dtype: str) -> None:
    t = tt.tensor(np.arange(6).reshape(2, 3).astype(dtype))
    for x in (t, t.T, t[:, ::2], t[0], t[:0], t.sum() > 0):
        taken = np.from_dlpack(x)
        np.testing.assert_array_equal(taken, x.numpy())
        assert taken.dtype == x.dtype and (not x.size or share_memory(taken, x.data))


def test_both_sides_see_what_either_writes() -> None:
    t = const([1.0, 2.0])
    taken = np.from_dlpack(t)
    t[0] = 5.0
    taken[1] = 7.0
    close(t, [5, 7])
    np.testing.assert_array_equal(taken, [5, 7])


def test_a_recorded_write_leaves_the_other_side_alone() -> None:
    t = const([1.0, 2.0])
    taken = np.from_dlpack(t)
    t[0] = leaf(5.0)
    close(t, [5, 2])
    np.testing.assert_array_equal(taken, [1, 2])


def test_arguments_of_the_protocol() -> None:
    t = const([1.0, 2.0])
    assert t.__dlpack_device__() == (1, 0)
    assert not share_memory(np.from_dlpack(t, copy=True), t.data)
    assert share_memory(np.from_dlpack(t, copy=False, device="cpu"), t.data)
    for wanted in ({}, {"max_version": (1, 1)}, {"dl_device": (1, 0), "copy": None}):
        assert "dltensor" in repr(t.__dlpack__(stream=None, **wanted))
    with pytest.raises(TypeError):
        t.__dlpack__(wrong=1)


def test_what_runs_backwards_is_handed_over_as_a_copy() -> None:
    """PyTorch ends the program where it meets such strides."""
    t = const([1.0, 2.0, 3.0])[::-1]
    taken = np.from_dlpack(t)
    np.testing.assert_array_equal(taken, [3, 2, 1])
    assert taken.strides == (8,) and not share_memory(taken, t.data)
    with pytest.raises(BufferError, match=r"runs backwards.*hand over t\.copy\(\)"):
        np.from_dlpack(t, copy=False)


def test_a_gradient_is_not_lost_silently() -> None:
    for t in (leaf([1.0]), leaf([1.0]) * 2):
        with pytest.raises(BufferError, match=r"requires gradients.*hand over t\.detach\(\)"):
            np.from_dlpack(t)
        np.testing.assert_array_equal(np.from_dlpack(t.detach()), t.detach().numpy())


def test_memory_of_a_gpu_is_called_so(other_device: Device) -> None:
    with other_device:
        t = const([1.0, 2.0])
    assert t.__dlpack_device__()[0] == 2
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        np.from_dlpack(t)
    np.testing.assert_array_equal(np.from_dlpack(t, device="cpu"), [1, 2])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool"])
def test_pytorch_takes_the_memory(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    t = tt.tensor(np.arange(6).reshape(2, 3).astype(dtype))
    for x in (t, t.T, t[:, ::2], t[::-1], t[0, 0], t[:0], t[0].broadcast_to(4, 3)):
        for take in (torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack):
            taken = take(x)
            assert str(taken.dtype) == f"torch.{dtype}" and tuple(taken.shape) == x.shape
            np.testing.assert_array_equal(taken.numpy(), x.numpy())
    torch.from_dlpack(t).zero_()
    assert not t.numpy().any()
    torch.tensor(t).fill_(1)
    assert not t.numpy().any()
    with pytest.raises(BufferError, match="detach"):
        torch.tensor(leaf([1.0]))


# -- taken over ---------------------------------------------------------------------------
def test_the_memory_of_an_array() -> None:
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    for source in (a, a.T, a[:, 1], Exporter(a)):
        t = tt.from_dlpack(source, name="w")
        assert t.is_leaf and not t.requires_grad and t.name == "w" and t.dtype == np.float64
        assert share_memory(t.data, a)
    t[0, 0] = 7.0
    assert a[0, 0] == 7


def test_a_write_counts_and_a_recorded_one_copies() -> None:
    a = np.array([1.0, 2.0])
    t = tt.from_dlpack(a)
    y = (leaf([1.0, 1.0]) * t).sum()
    t[0] = 3.0
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()
    t[1] = leaf(9.0)
    close(t, [3, 9])
    np.testing.assert_array_equal(a, [3, 2])


def test_of_a_tensor_it_is_an_alias() -> None:
    x = const([1.0, 2.0])
    t = tt.from_dlpack(x)
    assert share_memory(t, x) and t.version is x.version
    with pytest.raises(BufferError, match="detach"):
        tt.from_dlpack(leaf([1.0]))


def test_memory_that_must_not_be_written_to() -> None:
    fixed = np.array([1.0, 2.0])
    fixed.flags.writeable = False
    repeated = np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))
    for source in (fixed, np.broadcast_to(1.0, 3), repeated):
        t = tt.from_dlpack(source)
        with pytest.raises(ValueError, match=r"memory of this tensor is read-only.*x\.copy\(\)"):
            t[0] = 5.0
        with pytest.raises(ValueError, match="read-only"):
            t += 5.0
        u = t.copy()
        u[0] = 5.0
        close((t * 2)[0], np.array(source[0] * 2))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([1, 2], r"expected an object with __dlpack__, got list"),
        (np.ones(2, complex), r"real numbers or booleans of a dtype that NumPy has, got complex"),
        (Exporter(np.ones(2, complex)), r"expected real numbers or booleans, got dtype complex128"),
        (np.ones(2, ml_dtypes.bfloat16), r"got bfloat16; tt\.tensor\(x\) copies it to float32"),
        (Exporter(np.ones(2), (8, 0)), r"DLPack's device type 8"),
    ],
)
def test_what_cannot_be_taken(source: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"from_dlpack: x: .*{message}"):
        tt.from_dlpack(source)


def test_memory_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.arange(6.0).reshape(2, 3)
    t = tt.from_dlpack(x.T)
    t[0, 1] = 9.0
    assert x[1, 0] == 9
    repeated = tt.from_dlpack(torch.ones(1).expand(3))
    with pytest.raises(ValueError, match="read-only"):
        repeated[0] = 2.0
    with pytest.raises(BufferError, match="detach"):
        tt.from_dlpack(torch.ones(1, requires_grad=True))
    with pytest.raises(TypeError, match=r"got bfloat16; tt\.tensor\(x\) copies it"):
        tt.from_dlpack(torch.ones(1, dtype=torch.bfloat16))


# -- copied -------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn"])
def test_fractions_that_numpy_does_not_have(kind: str, device: Device) -> None:
    with device:
        t = tt.tensor(np.array([1.5, -2.0], getattr(ml_dtypes, kind)))
    assert t.dtype == np.float32 and t.device is device
    close(t, np.array([1.5, -2.0], np.float32))


def test_a_state_dict_in_bfloat16() -> None:
    weight = np.array([[1.5, -2.0]], ml_dtypes.bfloat16)
    layer = nn.Linear(2, 1, bias=False)
    layer.load_state_dict({"weight": weight})
    close(layer.weight, np.array([[1.5, -2.0]], np.float32))
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.nn.Linear(2, 1, bias=False).bfloat16()
    layer.load_state_dict(theirs.state_dict())
    close(layer.weight, theirs.weight.detach().float().numpy())
    assert tt.tensor(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32


def test_other_libraries_arrays_keep_their_dtype() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert tt.tensor(third).dtype == np.float64 and tt.tensor(third).item() == 1 / 3
    assert tt.tensor(third.half()).dtype == np.float16
    assert tt.tensor(third, dtype="float32").dtype == np.float32


# -- matplotlib ---------------------------------------------------------------------------
def test_plots_of_tensors() -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    t = const([1.0, 3.0, 2.0])
    (line,) = axes.plot(t)
    np.testing.assert_array_equal(line.get_ydata(), [1, 3, 2])
    assert axes.hist(t)[0].sum() == 3
    image = axes.imshow(tt.stack([t, t]))
    np.testing.assert_array_equal(image.get_array(), [[1, 3, 2]] * 2)
    axes.scatter(t, t * 2)
    for lost in (leaf([1.0, 3.0]), leaf([1.0, 3.0]) * 2):
        for draw in (axes.plot, axes.hist, lambda y: axes.scatter(y, y)):
            with pytest.raises(RuntimeError, match=r"use t\.detach\(\)\.numpy\(\)"):
                draw(lost)
    plt.close(figure)


def test_copies_by_the_copy_module() -> None:
    x = leaf([1.0, 2.0])
    other = copy.copy(x)
    assert other.requires_grad and other.is_leaf and not share_memory(other, x)
    inside = copy.copy(x * 3)
    inside.sum().backward()
    close(x.grad, [3, 3])
