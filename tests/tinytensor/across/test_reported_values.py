"""Kinds of fault that were reported of one op: ties, singular points, masks, losses.

The reports themselves are in test_public_reports.py; here are the other ops that could have the
same fault, with values worked out by hand.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")
INF = math.inf
Fn = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def ids(*values: Any, dtype: Any = np.int64) -> tt.Tensor:
    return const(values, dtype)


# -- ties: raising all tied entries by h raises the result by h, so their gradients add up to 1 ---
OF_EQUALS: dict[str, Fn] = {
    "max": lambda x: tt.max(x, axis=-1),
    "max all": tt.max,
    "max axes": lambda x: tt.max(x, axis=(0, 2), keepdims=True),
    "min": lambda x: tt.min(x, axis=1),
    "amax": lambda x: tt.amax(x, axis=(0, -1)),
    "amin": tt.amin,
    "median": lambda x: tt.median(x, axis=-1),
    "median of an odd number": lambda x: tt.median(x[..., :3], axis=-1),
    "quantile": lambda x: tt.quantile(x, 0.3, axis=1),
    "norm inf": lambda x: tt.norm(x, INF, axis=-1),
    "norm -inf": lambda x: tt.norm(x, -INF),
    "logsumexp": lambda x: tt.logsumexp(x, axis=-1),
    "maximum": lambda x: tt.maximum(x, x),
    "minimum": lambda x: tt.minimum(x, x),
    "maximum of halves": lambda x: tt.maximum(x[0], x[1]),
    "minimum of halves": lambda x: tt.minimum(x[0], x[1]),
    "fmax": lambda x: tt.fmax(x[0], x[1]),
    "fmin": lambda x: tt.fmin(x[0], x[1]),
    "where": lambda x: tt.where(x[0] > x[1], x[0], x[1]),
    "cummax": lambda x: tt.cummax(x, -1)[0],
    "cummin": lambda x: tt.cummin(x, 1)[0],
    "sort": lambda x: tt.sort(x, axis=-1)[0],
    "sort stable descending": lambda x: tt.sort(x, axis=0, descending=True, stable=True)[0],
    "topk": lambda x: tt.topk(x, 2, axis=-1)[0],
    "topk smallest": lambda x: tt.topk(x, 1, axis=1, largest=False)[0],
    "max_pool1d": lambda x: tt.max_pool1d(x, 2),
    "max_pool1d overlapping": lambda x: tt.max_pool1d(x, 3, 1, 1),
    "max_pool2d": lambda x: tt.max_pool2d(x, 2, 1),
    "max_pool3d": lambda x: tt.max_pool3d(x.reshape(1, 2, 3, 4), (2, 1, 2)),
    "adaptive_max_pool1d": lambda x: tt.adaptive_max_pool1d(x, 3),
    "adaptive_max_pool2d": lambda x: tt.adaptive_max_pool2d(x, (2, 3)),
}


@pytest.mark.parametrize("name", OF_EQUALS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_of_tied_elements_add_up(name: str, dtype: type) -> None:
    x = leaf(np.full((2, 3, 4), 7.0), dtype)
    y = OF_EQUALS[name](x)
    y.sum().backward()
    assert grad_of(x).sum() == pytest.approx(y.size, rel=1e-6)
    assert (grad_of(x) >= 0).all()


TIES: dict[str, tuple[Fn, Any, Any]] = {
    # name: (function, x, gradient of the sum)
    "max": (lambda x: tt.max(x, axis=1), [[5.0, 5, 0], [1, 2, 2]], [[0.5, 0.5, 0], [0, 0.5, 0.5]]),
    "min": (lambda x: tt.min(x), [1.0, 1, 5, 1], [1 / 3, 1 / 3, 0, 1 / 3]),
    "norm inf": (lambda x: tt.norm(x, INF), [3.0, -3, 1], [0.5, -0.5, 0]),
    "norm -inf": (lambda x: tt.norm(x, -INF), [3.0, -1, 1], [0, -0.5, 0.5]),
    "maximum of a number": (lambda x: tt.maximum(x, 2.0), [1.0, 2, 3], [0, 0.5, 1]),
    "minimum of a number": (lambda x: tt.minimum(2.0, x), [1.0, 2, 3], [1, 0.5, 0]),
    "fmax": (lambda x: tt.fmax(x, 2.0), [1.0, 2, 3], [0, 1, 1]),
    "clip": (lambda x: tt.clip(x, 1.0, 2.0), [0.0, 1, 1.5, 2, 3], [0, 1, 1, 1, 0]),
    "relu": (tt.relu, [-1.0, 0, 1], [0, 0, 1]),
    "abs": (tt.abs, [-1.0, 0, 1], [-1, 0, 1]),
    "hardtanh": (tt.hardtanh, [-1.0, 0, 1], [0, 1, 0]),
    "median": (lambda x: tt.median(x), [2.0, 1, 1, 0], [0, 0.5, 0.5, 0]),
    "max_pool1d": (lambda x: tt.max_pool1d(x.reshape(1, 1, 4), 2), [3.0, 3, 1, 1], [1, 0, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", TIES)
def test_where_the_gradient_of_a_tie_goes(name: str) -> None:
    fn, values, expected = TIES[name]
    x = leaf(values)
    fn(x).sum().backward()
    close(x.grad, expected)


# -- singular points: no 0 / 0 and no 0 · inf where the derivative exists --------------------------
SQUARE_ROOT_EPS = math.sqrt(1e-5)
SINGULAR: dict[str, tuple[Fn, Any, Any, Any]] = {
    # name: (function, x, upstream gradient, gradient of x)
    "prod": (tt.prod, [0.0, 3, 4], 1, [12, 0, 0]),
    "prod of two zeros": (tt.prod, [0.0, 0, 5], 1, [0, 0, 0]),
    "prod over axes": (
        lambda x: tt.prod(x, axis=(0, 2)), [[[0.0, 2]], [[3, 5]]], [1.0], [[[30, 0]], [[0, 0]]],
    ),
    "cumprod": (lambda x: tt.cumprod(x, 0), [0.0, 3, 4], [1.0, 1, 1], [1 + 3 + 12, 0, 0]),
    "cumprod, the zero last": (lambda x: tt.cumprod(x, 0), [3.0, 4, 0], [1.0, 1, 1], [5, 3, 12]),
    "det of rank 1 less": (tt.det, [[1.0, 2], [2, 4]], 1, [[4, -2], [-2, 1]]),
    "det of 0": (tt.det, [[0.0, 0], [0, 0]], 1, [[0, 0], [0, 0]]),
    "mul chain": (lambda x: x[0] * x[1] * x[2], [0.0, 0, 5], 1, [0, 0, 0]),
    "square": (lambda x: x**2, [0.0, -3], [1.0, 1], [0, -6]),
    "pow 1": (lambda x: x**1, [0.0, -3], [1.0, 1], [1, 1]),
    "pow 0": (lambda x: x**0, [0.0, -3], [1.0, 1], [0, 0]),
    "pow of 0": (lambda x: 0.0**x, [2.0, 1], [1.0, 1], [0, 0]),
    "norm 2": (lambda x: tt.norm(x), [0.0, 0], 1, [0, 0]),
    "norm 1": (lambda x: tt.norm(x, 1), [0.0, 2], 1, [0, 1]),
    "norm 3": (lambda x: tt.norm(x, 3, axis=1), [[0.0, 0], [0, 2]], [1.0, 1], [[0, 0], [0, 1]]),
    "norm inf": (lambda x: tt.norm(x, INF), [0.0, 0], 1, [0, 0]),
    "matrix_norm": (tt.matrix_norm, [[0.0, 0], [0, 0]], 1, [[0, 0], [0, 0]]),
    "std": (tt.std, [7.0, 7, 7], 1, [0, 0, 0]),
    "var": (tt.var, [7.0, 7, 7], 1, [0, 0, 0]),
    "pairwise_distance": (lambda x: tt.pairwise_distance(x, x), [[1.0, 2]], [1.0], [[0, 0]]),
    "cosine_similarity": (
        lambda x: tt.cosine_similarity(x, const([[1.0, 2]])), [[0.0, 0]], [1.0],
        # x / max(|x|, eps) is x / eps near 0
        [[1e8 / math.sqrt(5), 2e8 / math.sqrt(5)]],
    ),
    "layer_norm": (
        tt.layer_norm, [7.0, 7, 7], [1.0, 2, 4], (np.array([1, 2, 4]) - 7 / 3) / SQUARE_ROOT_EPS,
    ),
    "rms_norm": (
        lambda x: tt.rms_norm(x, eps=1e-5), [0.0, 0, 0], [1.0, 2, 4],
        np.array([1, 2, 4]) / SQUARE_ROOT_EPS,
    ),
    "group_norm": (
        lambda x: tt.group_norm(x, num_groups=1), [[7.0, 7, 7]], [[1.0, 2, 4]],
        (np.array([[1, 2, 4]]) - 7 / 3) / SQUARE_ROOT_EPS,
    ),
    "instance_norm": (
        lambda x: tt.instance_norm(x), [[[7.0, 7, 7]]], [[[1.0, 2, 4]]],
        (np.array([[[1, 2, 4]]]) - 7 / 3) / SQUARE_ROOT_EPS,
    ),
    "batch_norm": (
        lambda x: tt.batch_norm(x, training=True), [[7.0], [7], [7]], [[1.0], [2], [4]],
        (np.array([[1], [2], [4]]) - 7 / 3) / SQUARE_ROOT_EPS,
    ),
    "l1_loss": (lambda x: tt.l1_loss(x, const([1.0, 2])), [1.0, 2], 1, [0, 0]),
    "huber_loss": (lambda x: tt.huber_loss(x, const([1.0, 2])), [1.0, 2], 1, [0, 0]),
    "bce": (
        lambda x: tt.binary_cross_entropy(x, const([0.0, 1]), reduction="sum"), [0.0, 1], 1, [0, 0],
    ),
    "bce with logits": (
        lambda x: tt.binary_cross_entropy_with_logits(x, const([1.0, 0]), reduction="sum"),
        [800.0, -800], 1, [0, 0],
    ),
    "kl_div": (
        lambda x: tt.kl_div(x, const([0.0, 1]), reduction="sum"), [-INF, 0.0], 1, [0, -1],
    ),
    "xlogy": (lambda x: tt.xlogy(x, const([0.0, 2])), [0.0, 0], [1.0, 1], [0, math.log(2)]),
    "logaddexp": (lambda x: tt.logaddexp(x, 0.0), [-INF, 800.0, -800], [1.0, 1, 1], [0, 1, 0]),
    "softplus": (tt.softplus, [800.0, -800], [1.0, 1], [1, 0]),
    "log_sigmoid": (tt.log_sigmoid, [800.0, -800], [1.0, 1], [0, 1]),
    "sigmoid": (tt.sigmoid, [800.0, -800], [1.0, 1], [0, 0]),
    "tanh": (tt.tanh, [800.0, -800], [1.0, 1], [0, 0]),
    "softmax": (tt.softmax, [800.0, -800], [1.0, 0], [0, 0]),
    "log_softmax": (tt.log_softmax, [800.0, -800], [0.0, 1], [-1, 1]),
    "logsumexp": (tt.logsumexp, [800.0, -800], 1, [1, 0]),
    "logcumsumexp": (lambda x: tt.logcumsumexp(x, 0), [-800.0, 800], [1.0, 1], [1, 1]),
    "gelu": (tt.gelu, [100.0, -100], [1.0, 1], [1, 0]),
    "silu": (tt.silu, [800.0, -800], [1.0, 1], [1, 0]),
    "mish": (tt.mish, [800.0, -800], [1.0, 1], [1, 0]),
    "elu": (tt.elu, [800.0, -800], [1.0, 1], [1, 0]),
    "selu": (tt.selu, [-800.0], [1.0], [0]),
    "where, guarded inside": (
        lambda x: tt.where(x > 0, tt.sqrt(tt.where(x > 0, x, 1.0)), 3 * x), [-2.0, 0], [1.0, 1],
        [3, 3],
    ),
    "where, guarded log": (
        lambda x: tt.where(x > 1, tt.log(tt.where(x > 1, x, 1.0)), 5 * x), [0.0, 0.5, 4],
        [1.0, 1, 1], [5, 5, 0.25],
    ),
    "where, guarded pow": (
        lambda x: tt.where(x > 0, tt.where(x > 0, x, 1.0) ** -0.5, x), [0.0, 4], [1.0, 1],
        [1, -1 / 16],
    ),
    "where, guarded div": (
        lambda x: tt.where(x > 0, 1 / tt.where(x > 0, x, 1.0), x), [0.0, 2], [1.0, 1], [1, -0.25],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SINGULAR)
def test_gradient_at_a_singular_point(name: str) -> None:
    fn, values, upstream, expected = SINGULAR[name]
    x = leaf(values)
    y = fn(x)
    assert not np.isnan(host(y)).any()
    y.backward(const(upstream))
    close(x.grad, np.array(expected, float))


@pytest.mark.parametrize("eps", [1e-5])
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "instance_norm", "batch_norm", "std"])
def test_statistics_of_a_large_offset_in_float32(name: str, eps: float) -> None:
    """E[x²] - E[x]² is 0 here in float32."""
    row = np.array([10000, 10001, 10002, 10003], np.float32)
    x = tt.tensor(row.reshape((4, 1) if name == "batch_norm" else (1, 1, 4)))
    if name == "std":
        close(tt.std(x), math.sqrt(1.25), 1e-6)
        close(tt.var(x, ddof=1), 5 / 3, 1e-6)
        return
    how = {"batch_norm": {"training": True}, "group_norm": {"num_groups": 1}}.get(name, {})
    out = getattr(tt, name)(x, eps=eps, **how)
    close(out.reshape(4), [-1.341635, -0.447212, 0.447212, 1.341635], 2e-5)


# -- masks: what is not in the loss must not reach a shared weight as NaN --------------------------
MASK = np.array([[0.0, 0.0], [-INF, -INF]])
ROWS: dict[str, Fn] = {
    "softmax": lambda z: tt.softmax(z, axis=-1)[0, 0],
    "softmax over axis 0": lambda z: tt.softmax(z.T, axis=0)[0, 0],
    "log_softmax": lambda z: tt.exp(tt.log_softmax(z, axis=-1)[0, 0]),
    "logsumexp": lambda z: tt.exp(z[0, 0] - tt.logsumexp(z, axis=-1)[0]),
    "logcumsumexp": lambda z: tt.exp(z[0, 0] - tt.logcumsumexp(z, 1)[0, 1]),
    "logaddexp": lambda z: tt.exp(z[0, 0] - tt.logaddexp(z[:, 0], z[:, 1])[0]),
    "cross_entropy": lambda z: tt.exp(
        -tt.cross_entropy(z, ids(0, -100), reduction="sum")
    ),
    "cross_entropy, not reduced": lambda z: tt.exp(
        -tt.cross_entropy(z, ids(0, 1), reduction="none")[0]
    ),
    "nll_loss": lambda z: tt.exp(
        -tt.nll_loss(tt.log_softmax(z), ids(0, -100), reduction="sum")
    ),
    "attention": lambda z: tt.scaled_dot_product_attention(
        const(np.ones((2, 1))), z[:1].T, const([[1.0], [0.0]]), mask=const(MASK), scale=1.0,
    )[0, 0],
    "attention, boolean": lambda z: tt.scaled_dot_product_attention(
        const(np.ones((2, 1))), z[:1].T, const([[1.0], [0.0]]), mask=const(MASK == 0, bool),
        scale=1.0,
    )[0, 0],
    "masked_fill": lambda z: tt.softmax(tt.masked_fill(z, const(MASK < 0, bool), -INF))[0, 0],
    "where": lambda z: tt.softmax(tt.where(const(MASK < 0, bool), -INF, z))[0, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_masked_row_leaves_the_shared_weight_alone(name: str) -> None:
    w = leaf([[1.0, 2.0]])
    p = ROWS[name](const([[1.0], [1.0]]) @ w + const(MASK))
    p.backward()
    close(p, 0.268941)
    close(w.grad, [[0.196612, -0.196612]])


def test_causal_queries_before_the_first_key_get_zeros() -> None:
    """Three queries and two keys, aligned at the end: the first query sees no key at all."""
    q, k, v = leaf(np.ones((3, 1))), leaf([[0.5], [1.0]]), leaf([[10.0], [20.0]])
    out = tt.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    close(out[:2], [[0.0], [10.0]])
    assert all(np.isfinite(grad_of(t)).all() for t in (q, k, v))
    close(q.grad[:2], [[0.0], [0.0]])


@pytest.mark.parametrize("filler", [-INF, math.nan, 300.0])
def test_frames_after_the_end_do_not_count_in_ctc(filler: float) -> None:
    logits = np.random.default_rng(1).normal(size=(4, 2, 3))
    x, short = leaf(logits), leaf(logits[:3, 1:])
    logs = tt.log_softmax(x, axis=-1)
    padding = np.zeros((4, 2, 1), bool)
    padding[3, 1] = True
    logs = tt.where(const(padding, bool), filler, logs)
    targets = const([[1, 2], [2, 1]], np.int64)
    losses = tt.ctc_loss(logs, targets, (4, 3), (2, 1), reduction="none")
    losses[1].backward()
    alone = tt.ctc_loss(
        tt.log_softmax(short, axis=-1), const([[2]], np.int64), (3,), (1,), reduction="sum"
    )
    alone.backward()
    close(losses[1], host(alone))
    close(x.grad[:3, 1:], grad_of(short))
    close(x.grad[:, 0], np.zeros((4, 3)))
    close(x.grad[3], np.zeros((2, 3)))


# -- losses: (N, 1) against (N,) would average an N x N table --------------------------------------
ELEMENTWISE: list[Fn] = [
    tt.mse_loss, tt.l1_loss, tt.smooth_l1_loss, tt.huber_loss, tt.kl_div,
    tt.binary_cross_entropy, tt.binary_cross_entropy_with_logits,
]  # fmt: skip


@pytest.mark.parametrize("loss", ELEMENTWISE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes", [((2, 1), (2,)), ((2,), (2, 1)), ((2, 1), (1, 2)), ((2,), ())])
def test_losses_do_not_broadcast(loss: Fn, shapes: Any) -> None:
    a, b = (const(np.full(s, 0.5)) for s in shapes)
    with pytest.raises(ValueError) as error:
        loss(a, b)
    assert str(shapes[0]) in str(error.value) and str(shapes[1]) in str(error.value)
    assert loss(a, b.reshape(a.shape) if a.size == b.size else tt.full(a.shape, 0.5)).shape == ()
