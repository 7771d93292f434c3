"""Several processes compute what one does: gradients, losses, updates, and what comes between."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import SGD, Adam, AdamW, DataParallel, clip_grad_norm
from tinytensor.train.parallel.data_parallel import why_not

from ..sharing import (
    VOCABULARY,
    Toy,
    adamw,
    alone,
    batch,
    grads,
    make,
    no_process_stays,
    same,
    same_state,
    shared_step,
    step,
    weights,
)

pytestmark = pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")
__all__ = ["no_process_stays"]  # a fixture that each test here uses


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "sizes", "ignored"),
    [("gpt", [6], False), ("gpt", [5, 4], True), ("gpt", [2, 1], False), ("lstm", [3], True)],
)
def test_gradients_are_those_of_one_process(
    workers: int, name: str, sizes: list[int], ignored: bool, rng: np.random.Generator
) -> None:
    """Also accumulated, with targets that do not count, and with fewer texts than processes."""
    batches = [batch(rng, size, ignored) for size in sizes]
    reference, model = make(name), make(name)
    expected = alone(reference, batches)
    with DataParallel(model, AdamW(model.parameters()), workers) as parallel:
        losses = [parallel.backward(x, y, scale=1 / len(batches)) for x, y in batches]
        norm = parallel.reduce()
        same(losses, expected)
        same(grads(model), grads(reference))
        assert norm == pytest.approx(clip_grad_norm(reference.parameters(), math.inf), rel=1e-12)
        assert parallel.reduce() == pytest.approx(norm, rel=1e-12), "nothing is counted twice"
    same(grads(model), grads(reference))


def test_where_no_target_counts_the_loss_is_nan_and_the_gradient_zero(
    rng: np.random.Generator,
) -> None:
    x, y = batch(rng)
    model = make()
    with DataParallel(model, AdamW(model.parameters()), 2) as parallel:
        assert math.isnan(parallel.backward(x, np.full_like(y, -100)))
        assert parallel.reduce() == 0.0


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "adamw": adamw,
    "adam": lambda model: Adam(model.parameters(), 1e-2, weight_decay=0.1),
    "sgd": lambda model: SGD(model.parameters(), 0.1),
    "momentum": lambda model: SGD(model.parameters(), 0.1, 0.9, weight_decay=0.1, nesterov=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("workers", [2, 3])
def test_steps_are_those_of_one_process(name: str, workers: int, rng: np.random.Generator) -> None:
    """Weights and state, with a norm that is clipped and a learning rate that changes; ordinary
    steps go before, and on after."""
    reference, model = make(), make()
    one, many = OPTIMIZERS[name](reference), OPTIMIZERS[name](model)
    for _ in range(2):
        x, y = batch(rng)
        assert step(reference, one, x, y) == step(model, many, x, y)
    with DataParallel(model, many, workers) as parallel:
        for i in range(5):
            one.lr = many.lr = 0.01 * (i + 1)
            x, y = batch(rng)
            same(shared_step(parallel, x, y), step(reference, one, x, y))
        same(weights(model), weights(reference), 1e-10)
        same_state(many.state_dict(), one.state_dict())
    for _ in range(2):
        x, y = batch(rng)
        same(step(model, many, x, y), step(reference, one, x, y), 1e-10)
    same(weights(model), weights(reference), 1e-10)
    same_state(many.state_dict(), one.state_dict())


@pytest.mark.parametrize("workers", [2, 3])
def test_ties_dtypes_and_parameters_without_gradient(
    workers: int, rng: np.random.Generator
) -> None:
    reference, model = Toy(), Toy()
    one, many = (AdamW([p for p in m.parameters() if p.requires_grad]) for m in (reference, model))
    with DataParallel(model, many, workers) as parallel:  # type: ignore[arg-type]
        for last in (0, 0, VOCABULARY - 1, VOCABULARY - 1, 0):
            x, y = batch(rng)
            if last:
                x[:-1] %= VOCABULARY - 1  # then only the last process uses ``rare``
            x[-1, 0] = last
            same(shared_step(parallel, x, y, 1e-3), step(reference, one, x, y, 1e-3), 1e-6)
    assert [p.dtype for p in model.parameters()] == [p.dtype for p in reference.parameters()]
    assert model.head.weight is model.table
    np.testing.assert_array_equal(model.unused.detach().numpy(), np.ones(100))
    same(weights(model), weights(reference), 1e-6)
    same_state(many.state_dict(), one.state_dict(), 1e-6)


def test_what_is_loaded_between_steps_counts_everywhere(rng: np.random.Generator) -> None:
    """Weights (frozen ones too) and the optimiser's state and settings."""
    pairs = [(model, AdamW([model.table, model.gain])) for model in (Toy(), Toy())]
    (reference, one), (model, many) = pairs
    x, y = batch(rng)
    early = [(m.state_dict(), o.state_dict()) for m, o in pairs]
    new = {"frozen": rng.normal(size=6), "table": rng.normal(size=(VOCABULARY, 6))}
    with DataParallel(model, many, 3) as parallel:  # type: ignore[arg-type]
        for turn in range(3):
            for _ in range(2):
                same(shared_step(parallel, x, y), step(reference, one, x, y), 1e-6)
            for (m, o), (model_state, optimizer_state) in zip(pairs, early):
                m.load_state_dict({**model_state, **new})
                if turn == 1:
                    o.load_state_dict(optimizer_state)
                o.param_groups[0]["weight_decay"] = 0.5
        m.table.data = m.table.data * 2.0  # an array of its own, on the shared one's place
        reference.table.data = m.table.data.copy()
        same(shared_step(parallel, x, y), step(reference, one, x, y), 1e-6)
    same(weights(model), weights(reference), 1e-6)
    same_state(many.state_dict(), one.state_dict(), 1e-6)


def test_gradients_of_the_first_process_are_used_as_ever(rng: np.random.Generator) -> None:
    """Forgotten, added to and replaced, as in one process."""
    (a, b), reference, model = [batch(rng), batch(rng)], make(), make()
    one, many = adamw(reference), adamw(model)
    with DataParallel(model, many, 3) as parallel:
        parallel.backward(*a)
        many.zero_grad()  # for all processes
        parallel.backward(*b)
        parallel.reduce()
        parallel.backward(*a)
        model(*b)[1].backward()
        for p in model.parameters():
            p.grad = p.grad * 3.0
        parallel.reduce()
        alone(reference, [b])
        alone(reference, [a])
        alone(reference, [b])
        for p in reference.parameters():
            p.grad.data *= 3.0
        p, q = (next(m.parameters()) for m in (model, reference))
        assert not np.allclose(p.grad.numpy(), q.grad.numpy()), "the others' share is not tripled"
        parallel.backward(*a)
        many.zero_grad()
        one.zero_grad()
        parallel.reduce()
        assert all(g is None for g in grads(model))
        same(shared_step(parallel, *a), step(reference, one, *a))
    same(weights(model), weights(reference), 1e-10)
    same_state(many.state_dict(), one.state_dict())


def test_an_update_wants_gradients_that_are_added_up(rng: np.random.Generator) -> None:
    model = make()
    before = weights(model)
    with DataParallel(model, adamw(model), 2) as parallel:
        parallel.backward(*batch(rng))
        with pytest.raises(RuntimeError, match=r"update: call reduce\(\) first"):
            parallel.update()
        parallel.reduce()
        with pytest.raises(ValueError, match="max_norm: expected a number > 0, got 0"):
            parallel.update(0)
    same(weights(model), before, 0.0)


def test_dropout_draws_from_streams_of_its_own_and_eval_stops_it(
    rng: np.random.Generator,
) -> None:
    model, reference = make(dropout=0.5), make(dropout=0.5)
    (x, y), generator = batch(rng, 4, ignored=False), tt.random.generator("dropout")
    with DataParallel(model, adamw(model), 2) as parallel:
        start = generator.state()
        loss = parallel.backward(x, y)
        parallel.reduce()
        after = generator.state()
        generator.set_state(start)
        seed = int(generator.integers(0, 2**62, 1)[0])
        (first,) = alone(reference, [(x[:2], y[:2])])
        assert generator.state() == after, "the first process goes on with its stream"
        generator.manual_seed(seed)
        (second,) = alone(reference, [(x[2:], y[2:])])
        assert first != second and loss == pytest.approx((first + second) / 2, rel=1e-12)
        same(grads(model), [g / 2 for g in grads(reference)])
        losses = []
        for m in (model, reference):
            m.zero_grad()
            m.eval()
        same([parallel.backward(x, y)], alone(reference, [(x, y)]))
        model.train()
        losses = {parallel.backward(x, y) for _ in range(3)}
        assert len(losses) == 3
