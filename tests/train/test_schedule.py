"""The learning-rate schedule at its corners."""

from __future__ import annotations

import pytest

from tinytensor.train import CosineWarmup


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
