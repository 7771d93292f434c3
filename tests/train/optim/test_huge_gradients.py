"""Adam and AdamW with gradients whose squares overflow: their steps are those of float64."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import SGD, Adagrad, Adam, AdamW, DataParallel
from tinytensor.train.optim.pieces import PIECE
from tinytensor.train.parallel.data_parallel import why_not

KINDS: dict[str, Any] = {"adam": Adam, "adamw": AdamW, "adagrad": Adagrad}


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def gradients(shape: tuple[int, ...], steps: int = 12, seed: int = 0) -> list[np.ndarray]:
    """Some of size 1, then among them some of 1e20, 1e30 and 1e38, then of size 1 again."""
    rng = np.random.default_rng(seed)
    found = []
    for step in range(steps):
        grad = rng.normal(size=shape)
        if 3 <= step < 7:
            sizes = rng.choice([1e-30, 1.0, 1e10, 1e20, 1e30, 1e38], shape)
            grad = np.sign(grad) * sizes
        found.append(grad.astype(np.float32))
    return found


def run(optimizer: Any, p: Any, grads: list[np.ndarray]) -> np.ndarray:
    """The parameter after a step with each gradient."""
    for grad in grads:
        p.grad = tt.tensor(grad.astype(p.dtype))
        optimizer.step()
    return np.array(p.detach().numpy())


def exact(kind: str, start: np.ndarray, grads: list[np.ndarray], **settings: Any) -> np.ndarray:
    """The same by our optimiser in float64, where nothing of this overflows."""
    p = tt.tensor(start.astype(np.float64), requires_grad=True)
    return run(KINDS[kind]([p], **settings), p, grads)


@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("size", [1e20, 1e30, 3e38])
def test_a_step_is_as_long_as_for_any_other_size(kind: str, size: float) -> None:
    p = tt.tensor(np.zeros(3, np.float32), requires_grad=True)
    optimizer = KINDS[kind]([p], lr=0.1, weight_decay=0.0)
    grad = np.array([size, -size, 1.0], np.float32)
    np.testing.assert_allclose(run(optimizer, p, [grad]), [-0.1, 0.1, -0.1], rtol=1e-6)
    np.testing.assert_allclose(run(optimizer, p, [grad]), [-0.2, 0.2, -0.2], rtol=1e-6)


@pytest.mark.parametrize("size", [1.5e19, 1e30, 1e38])
def test_the_sum_of_adagrad_may_overflow_too(size: float) -> None:
    """Steps of lr, lr / sqrt(2), lr / sqrt(3), and so on where a square alone still fits."""
    p = tt.tensor(np.zeros(2, np.float32), requires_grad=True)
    optimizer = Adagrad([p], lr=0.1)
    grads = [np.array([size, 1.5e19], np.float32)] * 3
    first = -0.1 * (1 + 2**-0.5 + 3**-0.5)
    np.testing.assert_allclose(run(optimizer, p, grads), [first, first], rtol=1e-6)
    assert "sum_root" in optimizer.state[p]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(5,), (40, 10), (2 * PIECE + 77,)])
def test_values_are_those_of_float64(kind: str, shape: tuple[int, ...]) -> None:
    start = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    settings = {"lr": 0.01, "weight_decay": 0.1}
    grads = gradients(shape)
    p = tt.tensor(start.copy(), requires_grad=True)
    found = run(KINDS[kind]([p], **settings), p, grads)
    expected = exact(kind, start, grads, **settings)
    assert np.abs(expected - start).max() > 0.03
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


def test_only_the_last_piece_overflows() -> None:
    """The pieces before it have made their step, and make no other."""
    grads = [np.ones(3 * PIECE, np.float32) for _ in range(3)]
    grads[1][-1] = 1e25
    p = tt.tensor(np.zeros(3 * PIECE, np.float32), requires_grad=True)
    optimizer = AdamW([p], lr=0.1, weight_decay=0.0)
    found = run(optimizer, p, grads)
    np.testing.assert_allclose(found[:-1], -0.3, rtol=1e-5)
    assert optimizer.state[p]["step"] == 3 and "exp_avg_sq" not in optimizer.state[p]


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_dtypes(dtype: Any) -> None:
    p = tt.tensor(np.zeros(2, dtype), requires_grad=True)
    size = 1e300 if dtype is np.float64 else 6e4
    grads = [np.array([size, -1.0], np.float64)] * 3
    found = run(AdamW([p], lr=0.25, weight_decay=0.0), p, grads)
    np.testing.assert_allclose(found, [-0.75, 0.75], rtol=1e-3)


@pytest.mark.parametrize("how", ["state_dict", "deepcopy", "pickle"])
def test_a_copy_goes_on_with_the_same_numbers(how: str) -> None:
    start, grads = np.ones((3, 4), np.float32), gradients((3, 4))
    p = tt.tensor(start.copy(), requires_grad=True)
    optimizer = AdamW([p], lr=0.01)
    run(optimizer, p, grads[:6])
    if how == "state_dict":
        saved = optimizer.state_dict()
        assert sorted(saved["arrays"]) == ["0.exp_avg", "0.exp_avg_root"]
        other = tt.tensor(p.detach().numpy().copy(), requires_grad=True)
        fresh = AdamW([other], lr=0.5)
        fresh.load_state_dict(saved)
    elif how == "deepcopy":
        other, fresh = copy.deepcopy((p, optimizer))
    else:
        other, fresh = pickle.loads(pickle.dumps((p, optimizer)))
    np.testing.assert_array_equal(run(fresh, other, grads[6:]), run(optimizer, p, grads[6:]))


def test_a_state_without_the_root_is_refused() -> None:
    p = tt.tensor(np.ones(3, np.float32), requires_grad=True)
    optimizer = AdamW([p])
    run(optimizer, p, [np.full(3, 1e30, np.float32)])
    saved = optimizer.state_dict()
    del saved["arrays"]["0.exp_avg_root"]
    with pytest.raises(ValueError, match=r"0\.exp_avg_sq: expected shape \(3,\), got nothing"):
        optimizer.load_state_dict(saved)


def test_other_overflows_are_treated_as_the_user_has_chosen() -> None:
    def step() -> None:
        p = tt.tensor(np.full(2, 3e38, np.float32), requires_grad=True)
        run(AdamW([p], lr=1e6, weight_decay=1e6), p, [np.ones(2, np.float32)])

    with pytest.raises(RuntimeWarning, match="overflow"):
        step()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        step()
    with np.errstate(over="ignore"):
        step()
    assert np.geterr()["over"] == "warn"


def test_infinite_gradients_are_no_overflow() -> None:
    p = tt.tensor(np.zeros(2, np.float32), requires_grad=True)
    optimizer = AdamW([p])
    with np.errstate(invalid="ignore"):
        run(optimizer, p, [np.array([np.inf, 1.0], np.float32)])
    assert "exp_avg_sq" in optimizer.state[p]


@pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")
@pytest.mark.parametrize("at", [0, 2])
def test_several_processes(at: int) -> None:
    """From the first step on, or later; then the optimiser goes on by itself."""
    from tinytensor.models import build

    def made() -> tuple[Any, Any]:
        tt.random.manual_seed(3)
        model = build("rnn", vocab_size=5, n_layer=1, n_embd=4, n_hidden=6, block_size=4)
        return model, AdamW(model.parameters(), lr=0.01)

    rng = np.random.default_rng(5)
    batches = rng.integers(0, 5, (6, 2, 4, 4))
    (one, ours), (two, theirs) = made(), made()
    with DataParallel(two, theirs, workers=2) as parallel:
        for i, (x, y) in enumerate(batches):
            scale = 1e25 if i in (at, at + 1) else 1.0
            (one(x, y)[1] * scale).backward()
            ours.step()
            ours.zero_grad()
            if i < 5:
                parallel.backward(x, y, scale=scale)
                parallel.reduce()
                parallel.update()
                if i == 3:  # as a checkpoint does
                    theirs.load_state_dict(theirs.state_dict())
    (two(batches[5][0], batches[5][1])[1]).backward()
    theirs.step()
    kept = [sorted(theirs.state[p]) for p in two.parameters()]
    assert ["exp_avg", "exp_avg_root", "step"] in kept
    for (name, p), q in zip(one.named_parameters(), two.parameters()):
        found, expected = q.detach().numpy(), p.detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=name)


def test_sgd_has_no_squares() -> None:
    p = tt.tensor(np.zeros(2, np.float32), requires_grad=True)
    found = run(SGD([p], lr=1e-30, momentum=0.9), p, [np.full(2, 1e30, np.float32)] * 2)
    np.testing.assert_allclose(found, [-2.9, -2.9], rtol=1e-6)
