"""Faults that users of other frameworks reported, each as a small program with its right values.

The values were derived by hand; the comment at each test names the kind of fault.
"""

from __future__ import annotations

import gc
import inspect
import math
import sys
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device

from ..helpers import close, const, grad_of, host, leaf, share_memory

pytestmark = pytest.mark.usefixtures("device")


def test_maximum_with_ties_gives_gradient_one_in_total() -> None:
    # ties: raising all tied entries by h raises the maximum by h
    x = leaf([5, 1, 5])
    x.max().backward()
    close(x.grad, [0.5, 0, 0.5])
    m = leaf(np.full((3, 2), 7.0))
    tt.max(m, axis=0).sum().backward()
    close(m.grad, np.full((3, 2), 1 / 3))


def test_minimum_with_ties_gives_gradient_one_in_total() -> None:
    x = leaf([1, 1, 5, 1])
    x.min().backward()
    close(x.grad, [1 / 3, 1 / 3, 0, 1 / 3])


def test_elementwise_maximum_with_ties_splits() -> None:
    # ties: a and b together must get the whole gradient
    a, b = leaf([2.0, 3.0]), leaf([2.0, 1.0])
    tt.maximum(a, b).sum().backward()
    close(grad_of(a) + grad_of(b), [1, 1])
    close(a.grad, [0.5, 1])


def test_where_guarded_inside_stays_finite() -> None:
    # singular point: the branch that was not taken must not poison the gradient
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf([-2, -9])
        safe = tt.where(x > 0, x, 1.0)
        out = tt.where(x > 0, tt.sqrt(safe), 3 * x).sum()
        out.backward()
    close(out, -33.0)
    close(x.grad, [3, 3])


def test_where_lets_the_other_side_make_nan_of_a_zero_gradient() -> None:
    # singular point: a choice, as PyTorch does, and `where` says how to guard against it
    with np.errstate(all="ignore"):
        x = leaf([-2, -9])
        out = tt.where(x > 0, tt.sqrt(x), 3 * x).sum()
        out.backward()
        z = leaf([0, 0.5, 4])
        tt.where(z > 1, tt.log(z), 5 * z).sum().backward()
    close(out, -33.0)
    close(x.grad, [np.nan, np.nan])
    close(z.grad, [np.nan, 5, 0.25])
    assert "Guard the" in (inspect.getdoc(tt.where) or "")


def test_product_with_zeros_among_the_factors() -> None:
    # singular point: a backward that divides the output by the input gives NaN here
    for prod in (tt.prod, lambda x: x[0] * x[1] * x[2]):
        for values, expected in (([0, 3, 4], [12, 0, 0]), ([0, 0, 5], [0, 0, 0])):
            x = leaf(values)
            prod(x).backward()
            close(x.grad, expected)
    for prod in (lambda m: tt.prod(m, axis=1), lambda m: m[:, 0] * m[:, 1] * m[:, 2]):
        m = leaf([[6, 0, -3], [2, 1, 4]])
        (prod(m) * const([1, 10])).sum().backward()
        close(m.grad, [[0, -18, 0], [40, 80, 20]])


def test_fully_masked_row_leaves_the_shared_weight_alone() -> None:
    # -inf: one padded row must not turn the gradient of a shared weight into NaN
    w = leaf([[1, 2]])
    mask = const([[0, 0], [-np.inf, -np.inf]])
    p = tt.softmax(const([[1], [1]]) @ w + mask, axis=-1)
    p[0, 0].backward()
    close(p[0], [0.268941, 0.731059])
    close(p[1], [0, 0])
    close(w.grad, [[0.196612, -0.196612]])


def test_cross_entropy_divides_by_the_targets_that_count() -> None:
    # loss: ignored rows count neither in the sum nor in the mean
    z = leaf([[2, 0], [0, 2], [5, -5]])
    loss = tt.cross_entropy(z, const([0, 0, -100], np.int64))
    loss.backward()
    close(loss, 1.126928)
    close(z.grad, [[-0.059601, 0.059601], [-0.440399, 0.440399], [0, 0]])


def test_cross_entropy_with_everything_ignored_has_zero_gradient() -> None:
    z = leaf([[2, 0], [0, 2], [5, -5]])
    loss = tt.cross_entropy(z, const([-100, -100, -100], np.int64))
    loss.backward()
    close(loss, np.nan)  # a choice, PyTorch's: the mean of nothing
    close(z.grad, np.zeros((3, 2)))


def test_a_column_of_predictions_and_a_row_of_targets_are_refused() -> None:
    # loss: silently 5.0, the mean over a 2 x 2 table
    pred, y = leaf([[2], [4]]), const([1, 5])
    for loss in (tt.mse_loss, tt.l1_loss, tt.binary_cross_entropy_with_logits):
        with pytest.raises(ValueError) as error:
            loss(pred, y)
        assert "(2, 1)" in str(error.value) and "(2,)" in str(error.value)
    with pytest.raises(ValueError, match=r"\(2, 1\).*\(2,\)"):
        tt.binary_cross_entropy(pred / 10, y / 10)
    close(tt.mse_loss(pred, y.reshape(2, 1)), 1.0)
    close(tt.l1_loss(pred, y.reshape(2, 1)), 1.0)


def test_integer_index_with_repeats_adds_up() -> None:
    # indexing: `g[idx] += up` keeps only the last write
    x = leaf([10, 20, 30])
    (x[const([0, 0, 2], np.int64)] * const([1, 2, 4])).sum().backward()
    close(x.grad, [3, 0, 4])
    x = leaf(np.zeros((2, 2)))
    x[[0, 0, 1], [1, 1, 0]].sum().backward()
    close(x.grad, [[0, 2], [1, 0]])
    y = leaf(np.zeros((2, 3)))
    y[:, [2, 2]].sum().backward()
    close(y.grad, [[0, 0, 2], [0, 0, 2]])


def test_permute_and_concat_with_negative_axes() -> None:
    # layout: the gradient needs the inverse permutation, and normalised axes
    x = leaf(np.zeros((2, 2, 2)))
    (x.permute(2, 0, -2) * const(np.arange(8).reshape(2, 2, 2))).sum().backward()
    close(x.grad, [[[0, 4], [1, 5]], [[2, 6], [3, 7]]])
    a, b = leaf(np.zeros((2, 1))), leaf(np.zeros((2, 2)))
    (tt.concat([a, b], axis=-1) * const([[1, 2, 3], [4, 5, 6]])).sum().backward()
    close(a.grad, [[1], [4]])
    close(b.grad, [[2, 3], [5, 6]])


def test_gradient_has_the_shape_of_its_tensor() -> None:
    # broadcasting: a bias must not grow a dimension, (1,) must not become ()
    a, b = leaf(np.ones((3, 1))), leaf([[1, 2, 3, 4]])
    (a * b).sum().backward()
    close(a.grad, np.full((3, 1), 10.0))
    close(b.grad, [[3, 3, 3, 3]])
    s = leaf(2.0)
    (s * const([3, 4, 5])).sum().backward()
    close(s.grad, 12.0)
    w = leaf([0.0])
    (w + const(np.zeros((2, 6)))).sum().backward()
    close(w.grad, [12.0])
    x = leaf([1, 2, 3, 4])
    m = (x**2).mean(0)
    m.backward()
    close(m, 7.5)
    close(x.grad, [0.5, 1, 1.5, 2])
    t = leaf(np.zeros((2, 3, 4)))
    (t.sum(axis=(0, -1)) * const([1, 2, 3])).sum().backward()
    close(t.grad, np.broadcast_to(np.array([1.0, 2, 3])[None, :, None], (2, 3, 4)))


def test_float64_does_not_creep_into_float32() -> None:
    # dtype: NumPy scalars count as plain numbers
    x = leaf([1, 2, 3], np.float32)
    results = [
        x * 2.0,
        x * np.float64(0.1),
        np.float64(0.1) * x,
        x / np.sqrt(64),
        np.float64(1) / x,
        x - np.int64(1),
        x ** np.float64(2),
        np.float64(2) ** x,
        x.sum() / 10,
        x.mean() * np.float64(0.1),
        x.sum() / np.int64(3),
        tt.maximum(x, np.float64(0.5)),
        tt.where(x > 1, x, np.float64(0.5)),
        tt.clip(x, np.float64(0), np.float64(2)),
    ]
    assert [r.dtype for r in results] == [np.float32] * len(results)
    for r in results:
        r.sum().backward()
    assert x.grad is not None and x.grad.dtype == np.float32


def test_ten_thousand_additions_and_products() -> None:
    # deep graph: no recursion in backward, none when the graph is freed
    assert sys.getrecursionlimit() <= 1000
    x = leaf(0.0)
    y = x
    for _ in range(10_000):
        y = y + 1
    y.backward()
    close(x.grad, 1.0)
    w, h = leaf(0.5), const(0.0)
    for _ in range(10_000):
        h = w * h + 1
    h.backward()
    close(h, 2.0)
    close(w.grad, 4.0)
    del h, y


def test_second_backward_and_backward_of_non_scalars() -> None:
    # life cycle: leaves accumulate, intermediate gradients do not
    x = leaf(2.0)
    y = x * x * x * x
    y.backward(retain_graph=True)
    close(x.grad, 32.0)
    y.backward()
    close(x.grad, 64.0)
    with pytest.raises(RuntimeError):
        y.backward()
    x = leaf(2.0)
    y = x * x * x * x
    y.backward(retain_graph=True)
    x.grad = None
    y.backward()
    close(x.grad, 32.0)
    v = leaf([1, 2])
    with pytest.raises(RuntimeError):
        (v * v).backward()
    (v * v).backward(const([1, 10]))
    close(v.grad, [2, 40])
    with pytest.raises(RuntimeError):
        const([1.0]).backward()


def test_two_leaves_never_share_a_gradient_buffer() -> None:
    # aliasing: add hands one array to both of its operands
    a, b = leaf([1, 1]), leaf([1, 1])
    c = a + b
    (c + a).sum().backward()
    close(a.grad, [2, 2])
    close(b.grad, [1, 1])
    assert not share_memory(a.grad, b.grad)
    a.grad *= 0
    close(b.grad, [1, 1])


def test_the_callers_upstream_gradient_is_not_changed() -> None:
    upstream = const([1, 10])
    a, b = leaf([1, 1]), leaf([1, 1])
    ((a + b) + a).backward(upstream)
    close(upstream, [1, 10])
    assert not share_memory(a.grad, upstream) and not share_memory(b.grad, upstream)
    alone = leaf([1, 1])
    alone.backward(upstream)
    assert not share_memory(alone.grad, upstream)


def test_a_dropped_graph_is_freed_without_the_collector(device: Device) -> None:
    # memory: closures that hold their own output live until the collector runs
    gc.collect()
    gc.disable()
    try:
        x = leaf(np.ones(1000))
        y = tt.tanh(x)
        array = weakref.ref(y.data)
        tensor = weakref.ref(y)
        z = y.sum()
        z.backward()
        del y, z
        assert tensor() is None and array() is None
    finally:
        gc.enable()


def test_a_loop_holds_the_memory_of_one_iteration() -> None:
    # memory: without the collector, 200 iterations at 0.8 MB an array
    x = tt.tensor(np.ones(100_000), requires_grad=True, device="cpu")
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(200):
            tt.tanh(x).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert peak < 6 * 800_000


def test_layer_norm_of_offset_and_constant_rows() -> None:
    # statistics: divide by n, eps inside the root, no cancellation, no NaN
    close(tt.layer_norm(const([0, 2, 4])), [-1.224743, 0, 1.224743])
    offset = tt.layer_norm(const([10000, 10001, 10002, 10003], np.float32))
    close(offset, [-1.341635, -0.447212, 0.447212, 1.341635], 1e-4)
    x = leaf([7, 7, 7])
    out = tt.layer_norm(x)
    out.backward(const([1, 2, 4]))
    close(out, [0, 0, 0])
    close(x.grad, [-421.637, -105.409, 527.046], 1e-5)
    close(x.grad, (np.array([1, 2, 4]) - 7 / 3) / math.sqrt(1e-5))


def test_causal_mask_lets_a_cached_query_see_every_key() -> None:
    # masking: aligned bottom-right, so that decoding with a cache equals the full pass
    keys, values = const([[0.0], [1.0], [2.0]]), const([[10.0], [20.0], [30.0]])
    last = tt.scaled_dot_product_attention(const([[1.0]]), keys, values, is_causal=True, scale=1.0)
    close(last, [[25.752104]])
    full = tt.scaled_dot_product_attention(
        const(np.ones((3, 1))), keys, values, is_causal=True, scale=1.0
    )
    close(full, [[10.0], [17.310586], [25.752104]])


def test_boolean_masks_keep_true_and_an_open_mask_is_no_mask() -> None:
    # masking: the polarity is documented, a mask that blocks nothing changes nothing
    q, k, v = (const(np.linspace(-1, 1, 12).reshape(3, 4) * s) for s in (1.0, 2.0, 3.0))
    plain = tt.scaled_dot_product_attention(q, k, v)
    close(tt.scaled_dot_product_attention(q, k, v, mask=const(np.ones((3, 3)), bool)), plain)
    close(tt.scaled_dot_product_attention(q, k, v, mask=const(np.zeros((3, 3)))), plain)
    one = tt.scaled_dot_product_attention(q, k, v, mask=const(np.eye(3), bool))
    close(one, v)
    # a floating triangle of ones and zeros is added: it blocks nothing
    ones = tt.scaled_dot_product_attention(q, k, v, mask=const(np.tri(3)))
    scores = host(q) @ host(k).T / 2 + np.tri(3)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    close(ones, weights @ host(v))
    assert (weights > 0.005).all()
    document = inspect.getdoc(tt.scaled_dot_product_attention) or ""
    assert "True where a query may attend" in document


class TestNumpyOnTheLeft:
    """Interop: `array op tensor` must be a Tensor with its graph, never an object array."""

    def test_all_operators(self) -> None:
        with tt.device("cpu"):
            t = leaf([3, 4])
            results = [
                (np.array([1.0, 2.0]) * t, [3, 8]),
                (np.float64(2) * t, [6, 8]),
                (np.eye(2) @ t, [3, 4]),
                (np.array([1.0, 2.0]) - t, [-2, -2]),
                (np.array([6.0, 8.0]) / t, [2, 2]),
                (np.array([1.0, 2.0]) + t, [4, 6]),
                (np.array([2.0, 1.0]) ** t, [8, 1]),
            ]
            for result, expected in results:
                assert isinstance(result, tt.Tensor)
                close(result, expected)
            results[0][0].sum().backward()
            close(t.grad, [1, 2])


class TestMixingDevices:
    """Backends: one rule everywhere, a TypeError that names both devices."""

    def test_host_array_and_device_tensor(self, other_device: Device) -> None:
        x = tt.tensor([1.0, 2.0], device=other_device, requires_grad=True)
        for statement in (lambda: x + np.array([1.0, 2.0]), lambda: np.array([1.0, 2.0]) + x):
            with pytest.raises(TypeError) as error:
                statement()
            assert "cpu" in str(error.value) and other_device.name in str(error.value)

    def test_host_tensor_and_device_tensor(self, other_device: Device) -> None:
        x = tt.tensor([1.0, 2.0], device=other_device)
        y = tt.tensor([1.0, 2.0], device="cpu")
        with pytest.raises(TypeError) as error:
            x * y
        assert "cpu" in str(error.value) and other_device.name in str(error.value)

    def test_a_host_array_as_the_target_of_a_loss(self, other_device: Device) -> None:
        logits = tt.tensor(np.ones((2, 3)), device=other_device, requires_grad=True)
        with pytest.raises(TypeError) as error:
            tt.cross_entropy(logits, np.array([0, 1]))
        assert "cpu" in str(error.value) and other_device.name in str(error.value)
        tt.cross_entropy(logits, tt.tensor([0, 1], device=other_device)).backward()
        assert logits.grad is not None and logits.grad.device is other_device

    def test_explicit_transfers(self, other_device: Device) -> None:
        x = tt.tensor([1.0, 2.0], device=other_device)
        assert type(x.numpy()) is np.ndarray
        assert "1" in repr(x) and "2" in repr(x)
        with pytest.raises(TypeError):
            np.asarray(x)

    def test_float32_is_kept_by_transfers(self, other_device: Device) -> None:
        x = leaf([1.0, 2.0], np.float32).to(other_device)
        assert x.dtype == np.float32 and x.device is other_device
        assert host(x.to("cpu")).tolist() == [1.0, 2.0]
