"""Losses: values by hand, special points, empty batches, float16, integers, and refusals."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")

INF = math.inf


def value_and_gradients(fn: Callable[..., Any], *values: Any) -> tuple[np.ndarray, ...]:
    """The value of fn(*leaves), without reduction, and the gradients of its sum."""
    leaves = [leaf(v) for v in values]
    out = fn(*leaves)
    out.sum().backward()
    return (host(out), *(grad_of(x) for x in leaves))


# -- regression ---------------------------------------------------------------------------
PAIRS = {
    "mse_loss": tt.mse_loss,
    "l1_loss": tt.l1_loss,
    "smooth_l1_loss": tt.smooth_l1_loss,
    "huber_loss": tt.huber_loss,
    "binary_cross_entropy": tt.binary_cross_entropy,
    "binary_cross_entropy_with_logits": tt.binary_cross_entropy_with_logits,
    "kl_div": tt.kl_div,
}
every_pair = pytest.mark.parametrize("loss", PAIRS.values(), ids=PAIRS)


@every_pair
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_shapes_are_never_broadcast(loss: Any, reduction: str) -> None:
    # report C13: (2, 1) against (2,) would average a 2 x 2 table
    for shape in ((2,), (1, 2), (1, 1), ()):
        with pytest.raises(ValueError, match=r"target: .*\(2, 1\).*" + str(list(shape))[1:-1]):
            loss(leaf([[0.2], [0.4]]), const(np.full(shape, 0.5)), reduction=reduction)
    with pytest.raises(ValueError, match=r"shape \(2, 1\), got \(\)"):
        loss(leaf([[0.2], [0.4]]), 0.5)


def test_the_reported_pair_of_shapes() -> None:
    # report C13
    prediction, target = leaf([[2], [4]]), const([1, 5])
    with pytest.raises(ValueError, match=r"mse_loss.*\(2, 1\).*\(2,\)"):
        tt.mse_loss(prediction, target)
    assert tt.mse_loss(prediction, target.reshape(2, 1)).item() == 1.0


@every_pair
def test_reductions_agree(loss: Any, rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.1, 0.9, (2, 3, 4)), rng.uniform(0.1, 0.9, (2, 3, 4))
    each = host(loss(const(x), const(y), reduction="none"))
    assert each.shape == x.shape
    close(loss(const(x), const(y), reduction="sum"), each.sum(), 1e-12)
    close(loss(const(x), const(y)), each.mean(), 1e-12)
    for wrong in ("avg", None, "Mean"):
        with pytest.raises(ValueError, match=rf"reduction: expected one of .*, got {wrong!r}"):
            loss(const(x), const(y), reduction=wrong)


@every_pair
def test_of_nothing(loss: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, y = leaf(np.zeros((0, 3))), const(np.zeros((0, 3)))
        assert loss(x, y, reduction="none").shape == (0, 3)
        assert loss(x, y, reduction="sum").item() == 0
        mean = loss(x, y)
        assert math.isnan(mean.item()), "the mean of nothing"
        mean.backward()
    assert grad_of(x).shape == (0, 3)


@every_pair
def test_dtypes(loss: Any) -> None:
    """Integers count as numbers of the other's dtype; float16 is computed in float32."""
    for kinds, expected in (
        (("float32", "int64"), "float32"),
        (("float32", "bool"), "float32"),
        (("float32", "uint8"), "float32"),
        (("float64", "int32"), "float64"),
        (("float16", "float16"), "float16"),
        (("float16", "int64"), "float16"),
        (("float32", "float64"), "float64"),
    ):
        x = tt.tensor(np.array([0.25, 0.5, 0.75], dtype=kinds[0]), requires_grad=True)
        y = tt.tensor(np.array([0, 1, 1], dtype=kinds[1]))
        want = host(loss(const(host(x)), const(host(y))))
        out = loss(x, y)
        assert out.dtype == expected, kinds
        np.testing.assert_allclose(host(out), want, rtol=2e-3 if "16" in kinds[0] else 1e-5)
        out.backward()
        assert x.grad is not None and x.grad.dtype == x.dtype, kinds
    assert tt.l1_loss(const([1, 5], np.uint8), const([3, 4], np.uint8)).item() == 1.5
    assert tt.mse_loss(const([1, 5], np.int64), const([3, 4], np.int64)).dtype == np.float32


def test_a_mean_over_many_float16_numbers() -> None:
    x = tt.ones((100_000,), dtype="float16", requires_grad=True)
    loss = tt.mse_loss(x, tt.zeros((100_000,), dtype="float16"))
    assert loss.item() == 1.0  # a float16 sum would stop at 2048
    far = tt.mse_loss(x * 200, tt.zeros((100_000,), dtype="float16"))
    assert far.item() == 40_000  # the sum, 4e9, is out of float16's range; the mean is not


def test_regression_by_hand() -> None:
    d = [0.0, 0.5, -0.5, 1.0, -3.0, INF]
    for loss, value, slope in (
        (tt.mse_loss, [0, 0.25, 0.25, 1, 9, INF], [0, 1, -1, 2, -6, INF]),
        (tt.l1_loss, [0, 0.5, 0.5, 1, 3, INF], [0, 1, -1, 1, -1, 1]),
        (tt.smooth_l1_loss, [0, 0.125, 0.125, 0.5, 2.5, INF], [0, 0.5, -0.5, 1, -1, 1]),
        (tt.huber_loss, [0, 0.125, 0.125, 0.5, 2.5, INF], [0, 0.5, -0.5, 1, -1, 1]),
    ):
        got = value_and_gradients(lambda x, y, f=loss: f(x, y, reduction="none"), d, [0.0] * 6)
        np.testing.assert_allclose(got[0], value)
        np.testing.assert_allclose(got[1], slope)
        np.testing.assert_allclose(got[2], np.negative(slope))


def test_where_the_square_turns_into_a_line() -> None:
    d, zero = [0.4, -0.4, 0.5, -2.0, 0.0], [0.0] * 5
    got = value_and_gradients(lambda x, y: tt.smooth_l1_loss(x, y, 0.5, "none"), d, zero)
    np.testing.assert_allclose(got[0], [0.16, 0.16, 0.25, 1.75, 0])
    np.testing.assert_allclose(got[1], [0.8, -0.8, 1, -1, 0])
    got = value_and_gradients(lambda x, y: tt.smooth_l1_loss(x, y, 0.0, "none"), d, zero)
    np.testing.assert_allclose(got[0], np.abs(d))
    np.testing.assert_allclose(got[1], [1, -1, 1, -1, 0])
    got = value_and_gradients(lambda x, y: tt.huber_loss(x, y, 0.5, "none"), d, zero)
    np.testing.assert_allclose(got[0], [0.08, 0.08, 0.125, 0.875, 0])
    np.testing.assert_allclose(got[1], [0.4, -0.4, 0.5, -0.5, 0])
    for bad in (0.0, -1.0, INF, math.nan):
        with pytest.raises(ValueError, match="delta: expected a number > 0"):
            tt.huber_loss(leaf(d), const(zero), delta=bad)
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="beta: expected a number >= 0"):
            tt.smooth_l1_loss(leaf(d), const(zero), beta=bad)


@pytest.mark.parametrize(
    "loss", [tt.mse_loss, tt.l1_loss, tt.smooth_l1_loss, tt.huber_loss], ids=lambda f: f.__name__
)
def test_nan_is_passed_on(loss: Any) -> None:
    x = leaf([math.nan, 1.0])
    out = loss(x, const([0.0, 0.0]))
    out.backward()
    assert math.isnan(out.item())
    assert np.isnan(grad_of(x)).tolist() == [True, False]


def test_one_tensor_as_both() -> None:
    x = leaf([1.0, 2.0])
    tt.mse_loss(x, x).backward()
    np.testing.assert_array_equal(grad_of(x), [0, 0])
    y = leaf([1.0, 2.0])
    tt.mse_loss(y, y.detach() + 1).backward()
    np.testing.assert_array_equal(grad_of(y), [-1, -1])


# -- probabilities ------------------------------------------------------------------------
def test_binary_cross_entropy_at_the_ends() -> None:
    p, y = [0.0, 1.0, 0.0, 1.0, 0.5], [1.0, 0.0, 0.0, 1.0, 0.25]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, dp, dy = value_and_gradients(
            lambda a, b: tt.binary_cross_entropy(a, b, reduction="none"), p, y
        )
    np.testing.assert_allclose(value, [100, 100, 0, 0, math.log(2)], atol=1e-15)
    np.testing.assert_allclose(dp, [-1e12, 1e12, 0, 0, 1])
    np.testing.assert_allclose(dy, [100, -100, 100, -100, 0])


def test_binary_cross_entropy_keeps_small_probabilities() -> None:
    for dtype in (np.float32, np.float64):
        p = tt.tensor(np.array([1e-9], dtype=dtype))
        got = tt.binary_cross_entropy(p, tt.zeros((1,), dtype=dtype)).item()
        assert got == pytest.approx(1e-9, rel=1e-6)  # ln(1 - p) by way of 1 - p would be 0


def test_binary_cross_entropy_wants_probabilities() -> None:
    for bad in (-0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match=rf"prediction: .*\[0, 1\], got {bad:g}"):
            tt.binary_cross_entropy(leaf([0.5, bad]), const([0, 1]))


def test_weights_of_binary_losses() -> None:
    p, y = np.array([[0.2, 0.7], [0.9, 0.4]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    weight, pos = np.array([1.0, 3.0]), np.array([[2.0], [0.5]])
    each = -y * np.log(p) - (1 - y) * np.log(1 - p)
    out = tt.binary_cross_entropy(leaf(p), const(y), const(weight))
    close(out, (each * weight).sum() / 4)
    x = np.log(p / (1 - p))
    each = -y * pos * np.log(p) - (1 - y) * np.log(1 - p)
    out = tt.binary_cross_entropy_with_logits(leaf(x), const(y), const(weight), const(pos), "sum")
    close(out, (each * weight).sum())
    close(
        tt.binary_cross_entropy_with_logits(leaf(x), const(y), 2.0),
        2 * np.mean(-y * np.log(p) - (1 - y) * np.log(1 - p)),
    )
    for name in ("weight", "pos_weight"):
        for shape in ((3,), (2, 2, 2), (4, 1)):
            with pytest.raises(ValueError, match=rf"{name}: .*broadcasts to \(2, 2\), got"):
                tt.binary_cross_entropy_with_logits(
                    leaf(x), const(y), **{name: const(np.ones(shape))}
                )


def test_logits_far_out() -> None:
    x, y = [0.0, 300.0, -300.0, 1e4, -1e4], [1.0, 0.0, 1.0, 1.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, dx, dy = value_and_gradients(
            lambda a, b: tt.binary_cross_entropy_with_logits(a, b, reduction="none"), x, y
        )
        np.testing.assert_allclose(value, [math.log(2), 300, 300, 0, 0], atol=1e-100)
        np.testing.assert_allclose(dx, [-0.5, 1, -1, 0, 0], atol=1e-100)
        np.testing.assert_allclose(dy, [0, -300, 300, -1e4, 1e4])
        z = tt.tensor(np.array([300, -300], dtype=np.float16), requires_grad=True)
        loss = tt.binary_cross_entropy_with_logits(z, tt.tensor(np.array([0, 1], np.float16)))
        loss.backward()
    assert loss.item() == 300
    np.testing.assert_array_equal(grad_of(z), [0.5, -0.5])


def test_kl_div_by_hand_and_at_zero() -> None:
    logp, t = np.log([[0.5, 0.5], [0.25, 0.75]]), [[0.25, 0.75], [1.0, 0.0]]
    first = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, dx, dt = value_and_gradients(lambda a, b: tt.kl_div(a, b, reduction="none"), logp, t)
    np.testing.assert_allclose(value.sum(1), [first, math.log(4)])
    np.testing.assert_allclose(dx, np.negative(t))
    assert dt[1, 1] == -INF
    close(dt[0], [math.log(0.5) + 1, math.log(1.5) + 1])
    for reduction, n in (("sum", 1), ("batchmean", 2), ("mean", 4)):
        x = leaf(logp)
        out = tt.kl_div(x, const(t), reduction=reduction)
        out.backward()
        close(out, (first + math.log(4)) / n)
        close(grad_of(x), np.negative(t) / n)
    assert math.isnan(tt.kl_div(leaf(np.zeros((0, 2))), const(np.zeros((0, 2)))).item())
    assert tt.kl_div(leaf(-1.0), const(0.5), reduction="batchmean").shape == ()


def test_kl_div_where_neither_has_any_probability() -> None:
    for t, log_target in (([0.0, 1.0], False), ([-INF, 0.0], True)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x, target = leaf([-INF, -0.5]), leaf(t)
            out = tt.kl_div(x, target, log_target=log_target, reduction="sum")
            out.backward()
        assert out.item() == 0.5  # PyTorch: NaN
        np.testing.assert_array_equal(grad_of(x), [0, -1])
        np.testing.assert_array_equal(grad_of(target), [0 if log_target else -INF, 1.5])


# -- class indices ------------------------------------------------------------------------
def test_nll_ignores_and_weighs() -> None:
    # report C11, for the loss that cross-entropy is made of
    logp = np.log([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    target, weight = const([0, 2, -100], np.int64), [2.0, 5.0, 1.0]
    x = leaf(logp)
    out = tt.nll_loss(x, target)
    out.backward()
    close(out, -(math.log(0.5) + math.log(0.7)) / 2)
    np.testing.assert_array_equal(grad_of(x), [[-0.5, 0, 0], [0, 0, -0.5], [0, 0, 0]])
    x = leaf(logp)
    out = tt.nll_loss(x, target, const(weight))
    out.backward()
    close(out, -(2 * math.log(0.5) + math.log(0.7)) / 3)
    close(grad_of(x), [[-2 / 3, 0, 0], [0, 0, -1 / 3], [0, 0, 0]])
    each = tt.nll_loss(x, target, const(weight), reduction="none")
    close(each, [-2 * math.log(0.5), -math.log(0.7), 0])


@pytest.mark.parametrize("weight", [None, [1.0, 2.0]])
def test_class_losses_of_nothing_that_counts(weight: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in (tt.nll_loss, tt.cross_entropy):
            w = None if weight is None else const(weight)
            x = leaf([[-1.0, -2.0], [-3.0, -0.5]])
            out = loss(x, const([-100, -100], np.int64), w)
            assert math.isnan(out.item())
            out.backward()
            np.testing.assert_array_equal(grad_of(x), np.zeros((2, 2)))
            empty = loss(leaf(np.zeros((0, 2))), const(np.zeros(0), np.int64), w, reduction="sum")
            assert empty.item() == 0
            none = loss(leaf(np.zeros((0, 3, 2))), const(np.zeros((0, 3)), np.int64), w)
            assert math.isnan(none.item())


def test_an_impossible_ignored_row_costs_nothing() -> None:
    x = leaf([[0.0, -INF], [-1.0, -2.0]])
    out = tt.nll_loss(x, const([-100, 1], np.int64))
    out.backward()
    assert out.item() == 2
    np.testing.assert_array_equal(grad_of(x), [[0, 0], [0, -1]])


def test_class_losses_refuse() -> None:
    x, ids = leaf(np.zeros((2, 3))), const([0, 2], np.int64)
    for loss in (tt.nll_loss, tt.cross_entropy):
        for bad in (3, -1):
            with pytest.raises(IndexError, match=rf"target: {bad} is out of range for 3 classes"):
                loss(x, const([0, bad], np.int64))
        with pytest.raises(ValueError, match=r"target: expected integers of shape \(2,\).*\(3,\)"):
            loss(x, const([0, 1, 2], np.int64))
        with pytest.raises(TypeError, match="target: expected integers .*float64"):
            loss(x, const([0.0, 1.0]))
        with pytest.raises(ValueError, match="at least one class"):
            loss(leaf(np.zeros((2, 0))), ids)
        with pytest.raises(ValueError, match=r"weight: expected shape \(3,\).*got \(2,\)"):
            loss(x, ids, const([1.0, 2.0]))
        with pytest.raises(ValueError, match="reduction: expected one of"):
            loss(x, ids, reduction="avg")


SETTINGS = list(itertools.product(["mean", "sum", "none"], [0.0, 0.2], [True, False]))


@pytest.mark.parametrize(("reduction", "smoothing", "soft"), SETTINGS)
def test_cross_entropy_with_class_weights_and_probabilities(
    reduction: str, smoothing: float, soft: bool, rng: np.random.Generator
) -> None:
    logits, weight = rng.standard_normal((2, 3, 4)), rng.uniform(0.5, 2, 4)
    ids = np.array([[0, 3, -100], [1, 1, 2]])
    q = rng.dirichlet(np.ones(4), (2, 3)) if soft else np.eye(4)[np.where(ids < 0, 0, ids)]
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    each = -(((1 - smoothing) * q + smoothing / 4) * logp * weight).sum(-1)
    rows = np.ones((2, 3)) if soft else np.where(ids < 0, 0, weight[ids % 4])
    each = each if soft else np.where(ids < 0, 0, each)
    want = {"none": each, "sum": each.sum(), "mean": each.sum() / rows.sum()}[reduction]
    target = const(q) if soft else const(ids, np.int64)

    def loss(x: tt.Tensor, w: tt.Tensor) -> tt.Tensor:
        return tt.cross_entropy(x, target, w, label_smoothing=smoothing, reduction=reduction)

    close(loss(leaf(logits), const(weight)), want, 1e-12)
    assert tt.gradcheck(loss, [leaf(logits), leaf(weight)])
    if soft:
        plain = tt.cross_entropy(leaf(logits), target, reduction="none", label_smoothing=smoothing)
        close(plain, -(((1 - smoothing) * q + smoothing / 4) * logp).sum(-1), 1e-12)


def test_weights_and_probabilities_as_lists() -> None:
    x = leaf([[2.0, 0.0], [0.0, 2.0]])
    same = tt.cross_entropy(x, const([0, 1], np.int64), [1.0, 3.0])
    close(same, math.log(1 + math.exp(-2)))
