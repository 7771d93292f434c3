"""Softmax, attention and recurrent networks where there is nothing, or where dtypes differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_attention_without_keys_gives_zeros() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q, k, v = leaf(np.ones((2, 3, 4))), leaf(np.ones((2, 0, 4))), leaf(np.ones((2, 0, 5)))
        for options in ({}, {"is_causal": True}, {"mask": const(np.zeros((3, 0)), bool)}):
            out = tt.scaled_dot_product_attention(q, k, v, **options)  # type: ignore[arg-type]
            np.testing.assert_array_equal(host(out), np.zeros((2, 3, 5)))
            (dq, dk, dv) = tt.grad(out.sum(), [q, k, v], create_graph=True)
            assert dq is not None and not host(dq).any()
            assert dk is not None and dk.shape == k.shape and dv is not None


def test_attention_of_vectors_of_length_zero_is_the_mean() -> None:
    q, k = leaf(np.ones((2, 0))), leaf(np.ones((3, 0)))
    v = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    out = tt.scaled_dot_product_attention(q, k, v)
    close(out, [[3, 5], [3, 5]], 1e-12)
    out.sum().backward()
    close(grad_of(v), np.full((3, 2), 2 / 3), 1e-12)


def test_attention_without_queries_or_batch() -> None:
    for shape in ((2, 0, 4), (0, 3, 4)):
        q, k = leaf(np.ones(shape)), leaf(np.ones((shape[0], 3, 4)))
        out = tt.scaled_dot_product_attention(q, k, k)
        assert out.shape == shape
        out.sum().backward()
        np.testing.assert_array_equal(grad_of(k), np.zeros(k.shape))


@pytest.mark.parametrize("fn", [tt.softmax, tt.log_softmax], ids=lambda f: f.name)
def test_softmax_axes_and_integers(fn: Any) -> None:
    assert fn(leaf(np.ones((2, 0)))).shape == (2, 0)
    assert fn(leaf(np.ones((2, 0))), axis=0).shape == (2, 0)
    for axis in (2, -3):
        with pytest.raises(
            ValueError, match=rf"axis: expected .* 2 axes of x \(2, 3\), got {axis}"
        ):
            fn(leaf(np.ones((2, 3))), axis=axis)
    with pytest.raises(ValueError, match=r"axis: expected .* 0 axes of x \(\)"):
        fn(leaf(1.0), axis=1)
    x = leaf(3.0)  # as for sum and max, a number has an axis of length 1
    y = fn(x, axis=0)
    y.backward(const(2.0))
    close(y, 0.0 if fn is tt.log_softmax else 1.0)
    close(x.grad, 0.0)
    ids = fn(const([0, 0], np.int64))
    assert ids.dtype == np.float32
    close(ids, np.log([0.5, 0.5]) if fn is tt.log_softmax else [0.5, 0.5], 1e-6)


def test_recurrent_networks_take_the_widest_dtype() -> None:
    rng = np.random.default_rng(0)
    x, h, w, bias = (rng.standard_normal(s) for s in ((3, 2, 2), (2, 2), (8, 2), 8))
    arrays = (x, h, h, w, w, bias)
    wide = tt.lstm(*map(const, arrays))
    for narrow in range(6):
        dtypes = [np.float32 if i == narrow else np.float64 for i in range(6)]
        args = [
            tt.tensor(a.astype(d), requires_grad=True) for a, d in zip(arrays, dtypes, strict=True)
        ]
        out, c = tt.lstm(*args)
        assert out.dtype == c.dtype == np.float64
        close(out, host(wide[0]), 1e-6)
        (out.sum() + c.sum()).backward()
        for a in args:
            assert a.grad is not None and a.grad.dtype == a.dtype
        states = tt.rnn(args[0], args[1], args[3][:2], args[4][2:4], args[5][:2])
        assert states.dtype == np.float64
        states = tt.gru(args[0], args[1], args[3][:6], args[4][2:], args[5][:6], args[5][2:])
        assert states.dtype == np.float64
    assert tt.rnn(*(const(a, np.float32) for a in (x, h, w[:2], w[:2]))).dtype == np.float32


@pytest.mark.parametrize(("steps", "batch", "hidden"), [(0, 2, 3), (2, 0, 3), (2, 2, 0)])
def test_recurrent_networks_of_nothing(steps: int, batch: int, hidden: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h = leaf(np.ones((batch, hidden)))
        lstm: Any = lambda x, h, *ws: tt.lstm(x, h, h, *ws)[0]  # noqa: E731
        for gates, run in ((1, tt.rnn), (3, tt.gru), (4, lstm)):
            x = leaf(np.ones((steps, batch, 4)))
            w = leaf(np.ones((gates * hidden, hidden)))
            out = run(x, h, leaf(np.ones((gates * hidden, 4))), w, leaf(np.ones(gates * hidden)))
            assert out.shape == (steps, batch, hidden)
            out.sum().backward()
            assert grad_of(w).shape == w.shape and grad_of(x).shape == x.shape
