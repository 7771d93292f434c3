"""``x.data``: what may be assigned to it, what it counts as, and writes past the engine."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device

from ..helpers import close, const, leaf

pytestmark = pytest.mark.usefixtures("device")


def updates(w: tt.Tensor) -> dict[str, Callable[[], None]]:
    """Ways in which tutorials write w - 0.1 w.grad."""
    g: Any = w.grad

    def plus() -> None:
        w.data += -0.1 * g

    def minus() -> None:
        w.data -= 0.1 * g

    def array() -> None:
        w.data -= 0.1 * g.data

    def again() -> None:
        w.data = w.data - 0.1 * g

    def tensor() -> None:
        w.data = w.detach() - 0.1 * g

    def quiet() -> None:
        with tt.no_grad():
            w.data = w - 0.1 * g

    return {f.__name__: f for f in (plus, minus, array, again, tensor, quiet)}


@pytest.mark.parametrize("form", ["plus", "minus", "array", "again", "tensor", "quiet"])
@pytest.mark.parametrize("off", [False, True])
@pytest.mark.parametrize("kind", ["leaf", "parameter", "0-d"])
def test_the_updates_of_tutorials(form: str, off: bool, kind: str, device: Device) -> None:
    start = 2.0 if kind == "0-d" else [2.0, 3.0]
    w = nn.Parameter(const(start)) if kind == "parameter" else leaf(start)
    if device.xp is not np and form in ("plus", "minus", "again"):
        pytest.skip("an array of this device does not take a tensor as operand")
    for step in range(2):
        (w * w).sum().backward()
        with tt.set_grad_enabled(not off):
            updates(w)[form]()
        close(w, np.multiply(start, 0.8 ** (step + 1)))
        assert w.is_leaf and w.requires_grad and type(w.data) is device.array_type
        w.grad = None
    close(w @ w if w.ndim else w * w, np.sum(np.multiply(start, 0.64) ** 2))
    close(copy.deepcopy(w), np.multiply(start, 0.64))
    assert repr(w).startswith("Parameter(" if kind == "parameter" else "tensor(")


def test_in_place_arithmetic_with_tensors(device: Device) -> None:
    w = const([1.0, 2.0])
    if device.xp is not np:
        return
    w.data *= const([3.0, 4.0])
    w.data /= const(2.0)
    close(w, [1.5, 4.0])
    with pytest.raises(TypeError, match="cannot take the graph.*a = a \\+ t"):
        w.data += leaf([1.0, 1.0])
    with tt.no_grad():
        w.data += leaf([1.0, 1.0])
    close(w, [2.5, 5.0])
    with pytest.raises(TypeError, match="out=: expected an array to write to, got a tensor"):
        np.add(w.data, w.data, out=w)  # type: ignore[call-overload]


def test_it_counts_as_a_write(device: Device) -> None:
    for write in ("=", "+="):
        w = leaf([1.0, 2.0])
        loss = (w * w).sum()
        if write == "=":
            w.data = const([5.0, 5.0])
        else:
            w.data += const([5.0, 5.0]).data
        said = "data of that tensor was replaced" if write == "=" else "changed in place once, last"
        with pytest.raises(RuntimeError, match=rf"{said} at .*test_data\.py"):
            loss.backward()
    b = const([1.0, 1.0])
    w.data = b
    loss = (w * w).sum()
    b += 1.0  # the same memory
    close(w, [2.0, 2.0])
    with pytest.raises(RuntimeError, match="changed in place once"):
        loss.backward()
    w.data = const([1.0, 2.0]).data
    loss = (w * w).sum()
    b += 1.0  # no longer
    loss.backward()
    close(w.grad, [2.0, 4.0])


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "list": ([1.0, 2.0], TypeError, r"data: expected an array of shape \(2,\).*got list.*copy_"),
    "number": (3.0, TypeError, "data: .*got float"),
    "None": (None, TypeError, "data: .*got NoneType"),
    "dtype": (np.ones(2, np.float32), TypeError, "dtype float64, got float32; .*astype"),
    "integers": (np.ones(2, np.int64), TypeError, "dtype float64, got int64"),
    "complex": (np.ones(2, complex), TypeError, "dtype float64, got complex128"),
    "object": (np.array([1, None]), TypeError, "dtype float64, got object"),
    "shape": (np.ones((2, 2)), ValueError, r"shape \(2,\), got \(2, 2\)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_where_it_is_set(what: str, device: Device) -> None:
    value, error, message = REFUSED[what]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fi":
        value = device.from_host(value)
    elif isinstance(value, np.ndarray) and device.xp is not np:
        return
    w = leaf([1.0, 2.0])
    with pytest.raises(error, match=message):
        w.data = value
    (w * w).sum().backward()  # not changed, and not counted
    close(w.grad, [2.0, 4.0])


def test_a_tensor_inside_a_graph_is_refused() -> None:
    w = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"data: .*result of 'mul'.*use \.detach\(\)"):
        w.data = w * 2.0
    close(w, [1.0, 2.0])


def test_an_array_of_another_device_is_refused(other_device: Device) -> None:
    if tt.zeros(1).device is other_device:
        return
    w = leaf([1.0])
    with pytest.raises(TypeError, match="data: expected an array on .*got one on"):
        w.data = other_device.from_host(np.ones(1))


# ---- writes past the engine, which detect_anomaly sees -----------------------------------------


def test_a_write_to_the_array_is_seen() -> None:
    w = leaf([1.0, 2.0])
    with tt.detect_anomaly():
        y = w * 3.0
        loss = (tt.exp(w) * y).sum()
        w.data[...] = 5.0
        loss.backward()  # mul by a number keeps nothing, exp its output
        loss = (w * w).sum()
        w.data[1] = 7.0
        with pytest.raises(
            RuntimeError,
            match=r"'mul', applied at .*test_data\.py:\d+: its operand '[xy]', shape \(2,\), was "
            r"kept .*written to since, past the engine",
        ):
            loss.backward()


WRITES: dict[str, Callable[[Any], None]] = {
    "one": lambda a: a.__setitem__(0, 2.5),
    "sign of zero": lambda a: a.__setitem__(3, -0.0),
    "exchanged": lambda a: a.__setitem__(slice(0, 2), a[1::-1].copy()),
    "opposite signs exchanged": lambda a: a.__setitem__(slice(1, 3), a[2:0:-1].copy()),
    "all": lambda a: a.__setitem__(Ellipsis, a * 2.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_kind_of_change_is_seen(write: str, dtype: str) -> None:
    w = leaf([1.0, -2.0, 2.0, 0.0]).detach().astype(dtype).requires_grad_()
    with tt.detect_anomaly():
        loss = (w * w).sum()
        WRITES[write](w.data)
        with pytest.raises(RuntimeError, match="past the engine"):
            loss.backward()
        loss = (w * w).sum()
        w.data[...] = w.data.copy()  # the same bits
        loss.backward()


def test_outputs_and_several_outputs_are_looked_at() -> None:
    x = leaf([3.0, 1.0, 2.0])
    with tt.detect_anomaly():
        y = tt.exp(x)
        y.data[0] = 1.0
        with pytest.raises(RuntimeError, match="'exp'.*its output, shape"):
            y.sum().backward()
        values, places = tt.sort(x)
        places.data[0] = 0
        with pytest.raises(RuntimeError, match="'sort'"):
            values.sum().backward()


def test_a_counted_write_is_told_by_its_line() -> None:
    w = leaf([1.0, 2.0])
    with tt.detect_anomaly():
        loss = (w * w).sum()
        with tt.no_grad():
            w += 1.0
        with pytest.raises(RuntimeError, match="changed in place once, last at"):
            loss.backward()


def test_leaves_of_a_checkpoint_are_looked_at() -> None:
    w, x = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    with tt.detect_anomaly():
        loss = tt.checkpoint(lambda x: tt.exp(x * w), x).sum()
        loss.backward()
        close(w.grad, np.exp([3.0, 8.0]) * [3.0, 4.0])
        loss = tt.checkpoint(lambda x: x * w, x).sum()
        w.data[0] = 9.0
        with pytest.raises(RuntimeError, match="'mul'.*operand 'y'.*past the engine"):
            loss.backward()


def test_nothing_is_looked_at_outside() -> None:
    w = leaf([1.0, 2.0])
    loss = (w * w).sum()
    w.data[...] = 5.0
    with tt.detect_anomaly():
        loss.backward()
    close(w.grad, [10.0, 10.0])  # as documented: without a word


def test_arrays_of_numpys_other_classes() -> None:
    """A matrix multiplies otherwise, and a masked array's mask would be lost."""
    with tt.device("cpu"):
        x = leaf(np.ones((2, 2)))
        x.data = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
        assert type(x.data) is np.ndarray
        close(x * x, [[1, 4], [9, 16]])
        masked = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
        with pytest.raises(TypeError, match=r"data: expected an array without a mask, .*\.filled"):
            x.data = masked
        with pytest.raises(TypeError, match=r"data: expected an array without a mask, .*\.filled"):
            tt.tensor(masked)
