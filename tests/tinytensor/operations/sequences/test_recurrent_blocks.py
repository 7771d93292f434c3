"""Recurrent layers go by blocks of features, where the number of features allows; it never shows.

Hidden sizes: 1 and 7 are one narrow block, 64 one full block, 96 and 130 several blocks of 48 and
of 26, 67 (a prime) and whatever a large batch makes too slow for small products one wide block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.operations.sequences import recurrent_blocks
from tinytensor.tensor.tensor import make

from ...helpers import close, host, leaf

SIZES = [1, 7, 64, 67, 96, 130]
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
OPS = [tt.rnn, tt.gru, tt.lstm]


def widths(batch: int) -> list[int]:
    return [recurrent_blocks.width_of(batch, n) for n in SIZES]


def test_every_way_to_cut_is_among_them() -> None:
    assert widths(3) == [1, 7, 64, 67, 48, 26]
    assert widths(10**6) == SIZES
    assert recurrent_blocks.width_of(2, 0) == 0


def operands(name: str, n: int, dtype: Any = np.float64, batch: int = 3) -> list[np.ndarray]:
    """x, first states, w_ih, w_hh and bias (GRU: two), for four steps of inputs of length 5."""
    rng = np.random.default_rng(n)
    gates, states, biases = GATES[name], 2 if name == "lstm" else 1, 2 if name == "gru" else 1
    shapes = [(4, batch, 5), *[(batch, n)] * states]
    shapes += [(gates * n, 5), (gates * n, n), *[(gates * n,)] * biases]
    scales = [1.0] * (1 + states) + [0.4, n**-0.5] + [0.5] * biases
    return [(rng.normal(size=s) * c).astype(dtype) for s, c in zip(shapes, scales, strict=True)]


def outputs(fn: Callable[..., Any], xs: list[tt.Tensor], **settings: Any) -> list[tt.Tensor]:
    y = fn(*xs, **settings)
    return list(y) if isinstance(y, tuple) else [y]


def cotangents(ys: list[tt.Tensor]) -> list[tt.Tensor]:
    rng = np.random.default_rng(1)
    return [tt.tensor(rng.normal(size=y.shape).astype(y.dtype)) for y in ys]


def run(fn: Callable[..., Any], xs: list[tt.Tensor], **settings: Any) -> list[Any]:
    """Outputs, and gradients of all operands."""
    ys = outputs(fn, xs, **settings)
    gs = tt.grad(ys, xs, cotangents(ys))
    return [*(host(y.detach()) for y in ys), *(host(g) for g in gs if g is not None)]


@pytest.mark.parametrize("small", [True, False], ids=["blocks", "whole"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["rnn", "relu", "gru", "lstm"])
def test_values_and_gradients_are_those_of_the_reference(
    name: str, n: int, dtype: Any, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"nonlinearity": "relu"} if name == "relu" else {}
    op = getattr(tt, name.replace("relu", "rnn"))
    arrays = operands(op.name, n, dtype)
    if not small:
        monkeypatch.setattr(recurrent_blocks, "_SMALL_PRODUCT", 0)
    found = run(op, [leaf(a, dtype) for a in arrays], **settings)
    assert op.reference is not None
    expected = run(op.reference, [leaf(a) for a in arrays], **settings)
    assert len(found) == len(expected) == len(arrays) + op.outputs
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == dtype
        close(a, b, 1e-11 if dtype == np.float64 else 3e-5)


def turned_around(a: np.ndarray) -> np.ndarray:
    """The same numbers in Fortran's order."""
    return np.asfortranarray(a)


def every_other(a: np.ndarray) -> np.ndarray:
    wide = np.full((*a.shape[:-1], 2 * a.shape[-1]), np.nan)
    wide[..., ::2] = a
    return wide[..., ::2]


def backwards(a: np.ndarray) -> np.ndarray:
    return a[::-1].copy()[::-1]


@pytest.mark.parametrize("lay", [turned_around, every_other, backwards])
@pytest.mark.parametrize("n", [7, 96])
@pytest.mark.parametrize("op", OPS)
def test_operands_of_any_layout(op: Any, n: int, lay: Callable[[Any], Any]) -> None:
    arrays = operands(op.name, n)
    xs = [make(lay(a)) for a in arrays]
    for x in xs:
        x.requires_grad = True
    for a, b in zip(run(op, xs), run(op, [leaf(a) for a in arrays]), strict=True):
        close(a, b, 1e-12)


@pytest.mark.parametrize("n", [7, 96])
@pytest.mark.parametrize("op", OPS)
def test_a_second_backward_and_single_operands(op: Any, n: int) -> None:
    """Nothing that is kept is written to, and what is wanted changes no gradient."""
    arrays = operands(op.name, n)
    xs = [leaf(a) for a in arrays]
    ys = outputs(op, xs)
    gs = cotangents(ys)
    first = tt.grad(ys, xs, gs, retain_graph=True)
    for a, b in zip(first, tt.grad(ys, xs, gs), strict=True):
        np.testing.assert_array_equal(host(a), host(b))
    for i in range(len(arrays)):
        single = [leaf(a) if i == j else tt.tensor(a) for j, a in enumerate(arrays)]
        ys = outputs(op, single)
        (g,) = tt.grad(ys, [single[i]], cotangents(ys))
        close(g, host(first[i]), 1e-12)


@pytest.mark.parametrize("n", [7, 96])
@pytest.mark.parametrize("which", [0, 1])
def test_one_output_of_an_lstm(which: int, n: int) -> None:
    arrays = operands("lstm", n)
    ways: tuple[Any, ...] = tt.lstm, tt.lstm.reference
    results = []
    for fn in ways:
        xs = [leaf(a) for a in arrays]
        y = outputs(fn, xs)[which]
        results.append(tt.grad(y, xs, cotangents([y])[0]))
    for a, b in zip(*results, strict=True):
        close(a, host(b), 1e-11)


@pytest.mark.parametrize("n", [7, 96])
@pytest.mark.parametrize("op", OPS)
def test_a_write_in_between_is_noticed(op: Any, n: int) -> None:
    arrays = operands(op.name, n)
    for i in range(len(arrays)):  # no gradient reads a bias, but it is kept for the reference
        xs = [leaf(a) for a in arrays]
        y = outputs(op, xs)[0]
        with tt.no_grad():
            xs[i][...] = 0.0
        with pytest.raises(RuntimeError, match="changed|written|in place"):
            y.sum().backward()


@pytest.mark.parametrize("n", [7, 96])
@pytest.mark.parametrize("op", OPS)
def test_float16_is_computed_in_float32(op: Any, n: int) -> None:
    arrays = operands(op.name, n, np.float16)
    found: list[Any] = []
    expected: list[Any] = []
    for dtype, into in ((np.float16, found), (np.float64, expected)):
        xs = [leaf(a, dtype) for a in arrays]
        y = outputs(op, xs)[0]
        into += tt.grad(y, xs, tt.tensor(np.full(y.shape, 64, dtype)))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == np.float16
        np.testing.assert_allclose(host(a), host(b), rtol=4e-3, atol=4e-3 * abs(host(b)).max())


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_gradients_on_the_way_back_may_be_too_large_for_float16(nonlinearity: str) -> None:
    """40,000 (1 + 1/2 + 1/4 + 1/8) is; a tenth of it, which is what x gets, is not."""
    x, w_ih = leaf(np.full((4, 1, 1), 0.001), np.float16), leaf([[0.1], [0.1]], np.float16)
    h0, w_hh = leaf(np.zeros((1, 2)), np.float16), leaf(np.eye(2) / 2, np.float16)
    y = tt.rnn(x, h0, w_ih, w_hh, nonlinearity=nonlinearity)
    dx, dh0 = tt.grad(y, [x, h0], tt.tensor(np.full(y.shape, 40000, np.float16)))
    np.testing.assert_allclose(host(dx).ravel(), [15000, 14000, 12000, 8000], rtol=2e-3)
    np.testing.assert_allclose(host(dh0), [[37500, 37500]], rtol=2e-3)


@pytest.mark.parametrize("op", OPS)
def test_recomputed_by_checkpoint_and_in_threads(op: Any) -> None:
    arrays = operands(op.name, 96)
    want = run(op, [leaf(a) for a in arrays])
    found = [run(lambda *xs: tt.checkpoint(op, *xs), [leaf(a) for a in arrays])]
    threads = [
        threading.Thread(target=lambda: found.append(run(op, [leaf(a) for a in arrays])))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    for results in found:
        for a, b in zip(results, want, strict=True):
            close(a, b, 1e-12)


@pytest.mark.parametrize("op", OPS)
def test_no_steps_leave_the_first_state_without_gradient(op: Any) -> None:
    arrays = operands(op.name, 7)
    xs = [leaf(a) for a in (arrays[0][:0], *arrays[1:])]
    y = outputs(op, xs)[0]
    assert y.shape == (0, 3, 7)
    for g in tt.grad(y.sum(), xs):
        assert not host(g).any()


def refusal(op: Any, says: tuple[str, ...], *shapes: tuple[int, ...], **settings: Any) -> Any:
    return pytest.param(op, shapes, settings, says, id=f"{op.name} {says[0]}")


@pytest.mark.parametrize(
    ("op", "shapes", "settings", "says"),
    [
        refusal(tt.rnn, ("w_hh", "(3, 4)"), (4, 2, 5), (2, 3), (3, 5), (3, 4)),
        refusal(tt.rnn, ("w_ih", "(3, 5)", "(3, 4)"), (4, 2, 5), (2, 3), (3, 4), (3, 3)),
        refusal(tt.rnn, ("x: expected shape (time", "(4, 5)"), (4, 5), (2, 3), (3, 5), (3, 3)),
        refusal(
            tt.rnn,
            ("nonlinearity", "sine", "tanh"),
            *((4, 2, 5), (2, 3), (3, 5), (3, 3)),
            nonlinearity="sine",
        ),
        refusal(tt.gru, ("w_hh", "(9, 3)", "(12, 3)"), (4, 2, 5), (2, 3), (9, 5), (12, 3)),
        refusal(
            tt.gru,
            ("b_hh", "(9,)", "(3,)"),
            *((4, 2, 5), (2, 3), (9, 5), (9, 3), (9,), (3,)),
        ),
        refusal(tt.lstm, ("w_hh", "(12, 4)"), (4, 2, 5), (2, 3), (2, 3), (12, 5), (12, 4)),
        refusal(tt.lstm, ("c0", "(2, 3)", "(2, 4)"), (4, 2, 5), (2, 3), (2, 4), (12, 5), (12, 3)),
        refusal(
            tt.lstm,
            ("bias", "(12,)", "(3,)"),
            *((4, 2, 5), (2, 3), (2, 3), (12, 5), (12, 3), (3,)),
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    op: Any, shapes: Any, settings: Any, says: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError) as caught:
        op(*(tt.zeros(*shape) for shape in shapes), **settings)
    for text in (op.name, *says):
        assert text in str(caught.value)
