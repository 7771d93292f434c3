"""Learning-rate schedules: their corners and their values."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import (
    SGD,
    CosineWarmup,
    ExponentialDecay,
    InverseSqrt,
    LinearWarmup,
    Schedule,
    StepDecay,
)


def test_the_corners() -> None:
    lr = CosineWarmup(1.0, 0.1, warmup=4, total=14)
    assert [lr(step) for step in range(5)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert lr(9) == pytest.approx(0.55), "half-way down"
    assert lr(14) == pytest.approx(0.1)
    assert lr(1000) == 0.1
    assert all(lr(step) > lr(step + 1) for step in range(4, 14))


def test_without_warmup_and_with_nothing_but_warmup() -> None:
    assert CosineWarmup(1.0, 0.0, 0, 10)(0) == 1.0
    assert CosineWarmup(1.0, 0.0, 100, 10)(9) == pytest.approx(10 / 101)
    assert CosineWarmup(1.0, 0.0, 0, 0)(0) == 0.0


@pytest.mark.parametrize(("args", "name"), [
    ((-1.0, 0.0, 1, 2), "max_lr"), ((1.0, 2.0, 1, 2), "min_lr"),
    ((1.0, 0.0, -1, 2), "warmup"), ((1.0, 0.0, 1, -2), "total"),
])  # fmt: skip
def test_bad_numbers_are_named(args: tuple[float, float, int, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        CosineWarmup(*args)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (LinearWarmup(1.0), [1.0] * 6),
        (LinearWarmup(1.0, warmup=3), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]),
        (StepDecay(1.0, 2, 0.5), [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]),
        (StepDecay(1.0, 2), [1.0, 1.0, 0.1, 0.1, 0.01, 0.01]),
        (StepDecay(1.0, 1, 0.5, min_lr=0.2, warmup=1), [0.5, 1.0, 0.5, 0.25, 0.2, 0.2]),
        (ExponentialDecay(1.0, 0.5), [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
        (ExponentialDecay(1.0, 0.5, 0.2, warmup=1), [0.5, 1.0, 0.5, 0.25, 0.2, 0.2]),
        (ExponentialDecay(2.0, 0.25 ** (1 / 5)), [2 * 0.25 ** (k / 5) for k in range(6)]),
        (ExponentialDecay(0.0, 1.0), [0.0] * 6),
        (InverseSqrt(2.0), [2.0, 2.0**0.5, 2 / 3**0.5, 1.0, 2 / 5**0.5, 2 / 6**0.5]),
        (InverseSqrt(1.0, 1), [0.5, 1.0, (2 / 3) ** 0.5, 0.5**0.5, 0.4**0.5, (1 / 3) ** 0.5]),
        (InverseSqrt(1.0, 1, 0.7), [0.5, 1.0, (2 / 3) ** 0.5, 0.5**0.5, 0.7, 0.7]),
    ],
    ids=repr,
)
def test_values_by_hand(schedule: Schedule, expected: list[float]) -> None:
    assert [schedule(step) for step in range(6)] == pytest.approx(expected, rel=1e-12)
    assert schedule(10**6) == pytest.approx(schedule(10**6 + 1)), "and it ends somewhere"


@pytest.mark.parametrize(("width", "warmup"), [(512, 4000), (64, 1)])
def test_inverse_sqrt_is_the_rate_of_the_paper(width: int, warmup: int) -> None:
    """Vaswani et al., 2017, equation 3, whose steps count from 1."""
    schedule = InverseSqrt((width * warmup) ** -0.5, warmup - 1)
    for step in (1, 2, warmup - 1, warmup, warmup + 1, 100_000):
        if step:
            paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
            assert schedule(step - 1) == pytest.approx(paper, rel=1e-12)


def test_numbers_may_be_numpys_and_rates_are_floats() -> None:
    one, half = np.float32(1), tt.tensor(0.5)
    two = np.int64(2)
    for schedule, plain in (
        (CosineWarmup(one, half, two, np.array(9)), CosineWarmup(1.0, 0.5, 2, 9)),
        (StepDecay(one, two, half, np.float16(0.25), two), StepDecay(1.0, 2, 0.5, 0.25, 2)),
        (ExponentialDecay(one, half, half, two), ExponentialDecay(1.0, 0.5, 0.5, 2)),
        (LinearWarmup(one, two), LinearWarmup(1.0, 2)),
        (InverseSqrt(one, two, half), InverseSqrt(1.0, 2, 0.5)),
    ):
        assert schedule == plain and repr(schedule) == repr(plain)
        for step in (np.int64(0), np.int32(1), np.int64(5), 100):
            assert type(schedule(step)) is float and schedule(step) == plain(int(step))


def test_one_drives_an_optimiser_and_one_of_ones_own_is_short() -> None:
    @dataclass(frozen=True)
    class InverseRoot(Schedule):
        warmup: int = 0

        def after(self, step: int) -> float:
            return self.max_lr / (step + 1) ** 0.5

    p = tt.zeros(1, requires_grad=True)
    optimizer, schedule = SGD([p]), InverseRoot(1.0, warmup=1)
    for step in range(5):
        optimizer.lr = schedule(step)
        p.grad = tt.ones(1)
        optimizer.step()
    assert p.item() == pytest.approx(-(0.5 + 1 + 2**-0.5 + 3**-0.5 + 0.5))
    with pytest.raises(ValueError, match="warmup: expected"):
        InverseRoot(1.0, warmup=-1)


@pytest.mark.parametrize(("make", "match"), [
    (lambda: StepDecay(1.0, 0), "step_size: expected an integer >= 1, got 0"),
    (lambda: StepDecay(1.0, 1.5), "step_size: expected an integer >= 1, got 1.5"),
    (lambda: StepDecay(1.0, True), "step_size: expected an integer >= 1, got True"),
    (lambda: StepDecay(1.0, 1, 0.0), r"gamma: expected a number in \(0, 1\], got 0.0"),
    (lambda: StepDecay(1.0, 1, 1.5), "gamma"), (lambda: ExponentialDecay(1.0, math.nan), "gamma"),
    (lambda: ExponentialDecay(1.0, True), "gamma"),
    (lambda: ExponentialDecay(1.0, 0.5, 2.0), "min_lr: expected a number from 0 to max_lr = 1.0"),
    (lambda: ExponentialDecay(math.inf, 0.5), "max_lr: expected a finite number >= 0, got inf"),
    (lambda: LinearWarmup(True), "max_lr: expected a finite number >= 0, got True"),
    (lambda: LinearWarmup(1.0, "3"), "warmup: expected an integer >= 0, got '3'"),
    (lambda: LinearWarmup(1.0, math.nan), "warmup"), (lambda: LinearWarmup(np.ones(1)), "max_lr"),
])  # fmt: skip
def test_each_names_its_bad_number(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()


def test_what_is_no_step_is_refused() -> None:
    for schedule in (LinearWarmup(0.1), ExponentialDecay(0.1, 0.9), CosineWarmup(1.0, 0.0, 2, 9)):
        for step in (-5, "a", None, math.nan):
            with pytest.raises(ValueError, match="step: expected a finite number >= 0, got"):
                schedule(step)
    for make in (lambda: LinearWarmup(0.1, 2.5), lambda: CosineWarmup(1.0, 0.0, 2, True)):
        with pytest.raises(ValueError, match="(warmup|total): expected an integer >= 0, got"):
            make()


def test_it_is_called_and_not_tied_to_an_optimiser() -> None:
    optimizer = SGD([tt.zeros(1, requires_grad=True)])
    schedule = StepDecay(0.1, 10)
    for make in (lambda: CosineWarmup(optimizer, 10), lambda: LinearWarmup(max_lr=optimizer)):
        with pytest.raises(TypeError, match=r"takes max_lr, a number, not an optimizer; .*\.lr ="):
            make()
    with pytest.raises(AttributeError, match=r"'step'; use optimizer\.lr = schedule\(step\)"):
        schedule.step()
    for give in (lambda: setattr(optimizer, "lr", schedule), lambda: SGD([tt.ones(1)], schedule)):
        with pytest.raises((ValueError, TypeError), match=r"lr.*; call it, as in|require grad"):
            give()
    assert optimizer.lr == 1e-3
    again = pickle.loads(pickle.dumps(copy.deepcopy(schedule)))
    assert again == schedule and again(10) == pytest.approx(0.01)
