"""Normalisations: values by hand, constant and far-off rows, running statistics, refusals."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf

pytestmark = pytest.mark.usefixtures("device")


def norms(eps: float = 1e-5) -> dict[str, Any]:
    """Each normalisation of one row of numbers, as a function of a (4,) tensor."""
    return {
        "layer_norm": lambda x: tt.layer_norm(x, eps=eps),
        "group_norm": lambda x: tt.group_norm(x.reshape(1, 2, 2), 1, eps=eps).reshape(4),
        "instance_norm": lambda x: tt.instance_norm(x.reshape(1, 1, 4), eps=eps).reshape(4),
        "batch_norm": lambda x: tt.batch_norm(x.reshape(4, 1), training=True, eps=eps).reshape(4),
        "batch_norm 2d": lambda x: tt.batch_norm(
            x.reshape(2, 1, 1, 2), training=True, eps=eps
        ).reshape(4),
    }


every_norm = pytest.mark.parametrize("name", list(norms()))


@every_norm
def test_far_from_zero(name: str) -> None:
    # report C37: the mean goes first, so float32 does not cancel
    for offset in (0, 1e4, -1e5):
        x = tt.tensor(np.arange(4, dtype=np.float32) + np.float32(offset))
        out = norms()[name](x)
        assert out.dtype == np.float32
        want = [-1.341635, -0.447212, 0.447212, 1.341635]
        np.testing.assert_allclose(host(out), want, atol=2e-5)


@every_norm
def test_constant_rows(name: str) -> None:
    # report C37: finite, with the gradient (g - mean g) / √eps
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf([7.0, 7, 7, 7])
        out = norms()[name](x)
        out.backward(const([1.0, 2, 4, 1]))
    np.testing.assert_array_equal(host(out), np.zeros(4))
    np.testing.assert_allclose(grad_of(x), np.array([-1, 0, 2, -1]) / math.sqrt(1e-5), rtol=1e-9)


@every_norm
def test_the_variance_divides_by_n_inside_the_root(name: str) -> None:
    # report C37
    out = norms(eps=0.75)[name](const([0.0, 0, 2, 2]))
    close(out, np.array([-1, -1, 1, 1]) / math.sqrt(1.75), 1e-12)


@every_norm
def test_float16_overflows_nowhere(name: str) -> None:
    values = np.array([-30000, 60000, 100, 0], dtype=np.float16)
    x = tt.tensor(values, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = norms()[name](x)
        out.backward(tt.tensor(np.array([1, 2, 3, 4], dtype=np.float16)))
    wide = values.astype(np.float64)
    assert out.dtype == np.float16 and x.grad is not None and x.grad.dtype == np.float16
    np.testing.assert_allclose(host(out), (wide - wide.mean()) / wide.std(), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("fn", [tt.layer_norm, tt.rms_norm], ids=lambda f: f.__name__)
def test_recorded_float16_gradients_are_computed_in_float32(
    fn: Any, rng: np.random.Generator
) -> None:
    values = (300 * rng.standard_normal((3, 64))).astype(np.float16)
    weights = rng.standard_normal((3, 64)).astype(np.float16)
    for graph in (False, True):
        x = tt.tensor(values, requires_grad=True)
        (got,) = tt.grad(fn(x), x, tt.tensor(weights), create_graph=graph)
        y = leaf(values)
        (want,) = tt.grad(fn(y), y, const(weights))
        np.testing.assert_allclose(host(got), host(want), rtol=3e-3, atol=2e-6)


def test_rms_norm_by_hand() -> None:
    x = leaf([3.0, 4.0])
    out = tt.rms_norm(x, const([1.0, 2.0]), eps=0.0)
    out.backward(const([1.0, 0.0]))
    rms = math.sqrt(12.5)
    close(out, np.array([3, 8]) / rms, 1e-12)
    close(grad_of(x), np.array([1 - 9 / 25, -12 / 25]) / rms, 1e-12)
    zero = leaf([0.0, 0.0])
    out = tt.rms_norm(zero, eps=0.25)
    out.backward(const([1.0, 3.0]))
    np.testing.assert_array_equal(host(out), [0, 0])
    np.testing.assert_array_equal(grad_of(zero), [2, 6])


def test_the_default_eps_of_rms_norm_is_the_dtypes() -> None:
    for dtype, eps in ((np.float64, 2.0**-52), (np.float32, 2.0**-23), (np.float16, 2.0**-23)):
        x = tt.tensor(np.full(4, 2.0**-12, dtype=dtype))
        want = 2.0**-12 / math.sqrt(2.0**-24 + eps)
        np.testing.assert_allclose(host(tt.rms_norm(x)), want, rtol=1e-3)


@pytest.mark.parametrize("fn", [tt.layer_norm, tt.rms_norm], ids=lambda f: f.__name__)
def test_rows_of_any_length(fn: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shape in ((0, 3), (2, 0), (0, 0), (2, 0, 3), (1,), (2, 1)):
            x = leaf(np.ones(shape))
            w = leaf(np.ones(shape[-1]))
            out = fn(x, w)
            assert out.shape == shape
            out.sum().backward()
            assert grad_of(x).shape == shape and grad_of(w).shape == shape[-1:]
    with pytest.raises(ValueError, match="x: expected at least one axis"):
        fn(leaf(1.0))
    with pytest.raises(ValueError, match=r"weight: expected shape \(3,\) .*\(2, 3\), got \(2,\)"):
        fn(leaf(np.ones((2, 3))), leaf([1.0, 1.0]))


def test_long_rows_in_float32(rng: np.random.Generator) -> None:
    """Sums over rows are products with ones; long rows must not lose digits by that."""
    x = (rng.standard_normal((2, 100_000)) + 3).astype(np.float32)
    wide = x.astype(np.float64)
    want = by_numpy(wide, (1,))
    np.testing.assert_allclose(host(tt.layer_norm(tt.tensor(x))), want, atol=2e-6)
    columns = host(tt.batch_norm(tt.tensor(x.T.copy()), training=True)).T
    np.testing.assert_allclose(columns, want, atol=5e-5)
    grouped = host(tt.group_norm(tt.tensor(x.reshape(2, 2, -1)), 1)).reshape(2, -1)
    np.testing.assert_allclose(grouped, want, atol=2e-6)
    want = wide / np.sqrt((wide**2).mean(-1, keepdims=True))
    np.testing.assert_allclose(host(tt.rms_norm(tt.tensor(x))), want, rtol=2e-6)


# -- which numbers share their statistics -------------------------------------------------
def by_numpy(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    centred = x - x.mean(axes, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5))


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 5), (2, 4, 3, 2), (2, 4, 1)])
def test_what_is_normalised_together(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = rng.standard_normal(shape) + np.arange(4.0).reshape(1, 4, *[1] * (len(shape) - 2))
    rest = tuple(range(2, len(shape)))
    close(tt.batch_norm(const(x), training=True), by_numpy(x, (0, *rest)), 1e-9)
    grouped = x.reshape(shape[0], 2, -1)
    close(tt.group_norm(const(x), 2), by_numpy(grouped, (2,)).reshape(shape), 1e-9)
    if math.prod(shape[2:]) > 1:
        close(tt.instance_norm(const(x)), by_numpy(x, rest), 1e-9)
    weight, bias = rng.standard_normal((2, 4))
    per = (1, 4, *[1] * len(rest))
    close(
        tt.batch_norm(const(x), None, None, const(weight), const(bias), training=True),
        by_numpy(x, (0, *rest)) * weight.reshape(per) + bias.reshape(per),
        1e-9,
    )


@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 3)])
@pytest.mark.parametrize("running", [False, True])
def test_gradients_with_running_statistics(
    shape: tuple[int, ...], running: bool, rng: np.random.Generator
) -> None:
    """Statistics computed beforehand, for the running ones, change no gradient, of any order."""
    x, w, b = leaf(rng.standard_normal(shape)), leaf([1.5, -0.5]), leaf([0.5, 2.0])

    def fn(x: tt.Tensor, w: tt.Tensor, b: tt.Tensor) -> tt.Tensor:
        stats = (const(np.zeros(2)), const(np.ones(2))) if running else (None, None)
        return tt.batch_norm(x, *stats, w, b, training=True)

    assert tt.gradcheck(fn, [x, w, b])
    upstream = const(rng.standard_normal(shape))
    recorded = tt.grad(fn(x, w, b), [x, w, b], upstream, create_graph=True)
    for a, c in zip(recorded, tt.grad(fn(x, w, b), [x, w, b], upstream), strict=True):
        assert a is not None and c is not None
        close(a, c, 1e-9)
    if len(shape) == 3:
        assert tt.gradcheck(lambda x, w, b: tt.instance_norm(x, None, None, w, b), [x, w, b])


def test_running_statistics_move_in_place() -> None:
    x = np.array([[1.0, 10.0], [3.0, 10.0], [5.0, 40.0]])
    for kind in ("tensor", "array"):
        mean: Any = tt.zeros((2,))
        var: Any = tt.ones((2,))
        if kind == "array":
            mean, var = mean.data, var.data
        tt.batch_norm(const(x), mean, var, training=True, momentum=0.5)
        np.testing.assert_allclose(host(mean), [1.5, 10])
        np.testing.assert_allclose(host(var), [0.5 + 2, 0.5 + 150])  # divided by n - 1
        assert host(mean).dtype == np.float32
        before = host(mean).copy()
        out = tt.batch_norm(const(x), mean, var, momentum=0.5, eps=0.0)
        np.testing.assert_allclose(host(out), (x - [1.5, 10]) / np.sqrt([2.5, 150.5]), rtol=1e-6)
        np.testing.assert_array_equal(host(mean), before)


def test_running_statistics_of_instances() -> None:
    x = np.array([[[1.0, 3.0]], [[5.0, 9.0]]])
    mean, var = tt.zeros((1,)), tt.ones((1,))
    tt.instance_norm(const(x), mean, var, momentum=0.5)
    np.testing.assert_allclose(host(mean), [0.5 * (2 + 7) / 2])
    np.testing.assert_allclose(host(var), [0.5 + 0.5 * (2 + 8) / 2])
    out = tt.instance_norm(const(x), mean, var, use_input_stats=False, eps=0.0)
    np.testing.assert_allclose(host(out), (x - 2.25) / math.sqrt(3), rtol=1e-6)


def test_backward_notices_running_statistics_that_moved_on() -> None:
    """In evaluation they are read by backward: a training step in between must not slip through."""
    mean, var = tt.zeros((2,)), tt.ones((2,))
    x = tt.tensor(np.arange(6, dtype=np.float32).reshape(3, 2), requires_grad=True)
    out = tt.batch_norm(x, mean, var)
    tt.batch_norm(x.detach(), mean, var, training=True)
    with pytest.raises(RuntimeError, match="batch_norm"):
        out.sum().backward()
    trained = tt.batch_norm(x, mean, var, training=True)
    tt.batch_norm(x.detach(), mean, var, training=True)
    trained.sum().backward()  # the batch's own statistics did not move


def test_empty_batches() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mean, var = tt.zeros((3,)), tt.ones((3,))
        for shape in ((0, 3), (0, 3, 2), (2, 3, 0)):
            x = leaf(np.zeros(shape))
            for out in (
                tt.batch_norm(x, mean, var, training=True),
                tt.batch_norm(x, mean, var),
                tt.group_norm(x, 3),
            ):
                assert out.shape == shape
                out.sum().backward()
                assert grad_of(x).shape == shape
        np.testing.assert_array_equal(host(mean), np.zeros(3))
        np.testing.assert_array_equal(host(var), np.ones(3))


def test_refusals() -> None:
    x = leaf(np.ones((2, 3, 4)))
    three, two = const(np.ones(3)), const(np.ones(2))
    for words, call in (
        (r"batch_norm: x: expected shape \(batch, channels, \.\.\.\), got \(3,\)",
         lambda: tt.batch_norm(leaf([1.0, 2, 3]), training=True)),
        (r"weight: expected shape \(3,\).*got \(2,\)",
         lambda: tt.batch_norm(x, three, three, two)),
        (r"running_var: expected shape \(3,\).*got \(2,\)", lambda: tt.batch_norm(x, three, two)),
        ("expected both or neither", lambda: tt.batch_norm(x, three)),
        ("running_mean: expected statistics, since training is False", lambda: tt.batch_norm(x)),
        (r"more than one value per channel in training, got shape \(1, 3\)",
         lambda: tt.batch_norm(leaf([[1.0, 2, 3]]), training=True)),
        (r"num_groups: expected a divisor of the 3 channels .*got 2", lambda: tt.group_norm(x, 2)),
        ("num_groups: .*got 0", lambda: tt.group_norm(x, 0)),
        (r"bias: expected shape \(3,\).*got \(2,\)", lambda: tt.group_norm(x, 1, three, two)),
        (r"instance_norm: x: .*positions.*got \(2, 3\)",
         lambda: tt.instance_norm(leaf(np.ones((2, 3))))),
        (r"more than one position per channel, got shape \(2, 3, 1\)",
         lambda: tt.instance_norm(leaf(np.ones((2, 3, 1))))),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            call()
