"""How often a run is looked at."""

from __future__ import annotations

import pytest

from tinytensor.train.watch.budget import FEWEST, LOOKS, PARTS, SHARE, Budget


def looks(
    budget: Budget, cost: float, each: float, kinds: tuple[str, ...] = ("sample",)
) -> list[int]:
    """The steps of a run that are looked at, where a look and a step take so many seconds."""
    seconds, found = 0.0, []
    for step in range(budget.first, budget.last + 1):
        for kind in kinds:
            if budget.due(kind, step, seconds):
                found.append(step)
                budget.looked(kind, step, cost)
                seconds += cost
        seconds += each
    return found


def test_a_cheap_look_is_taken_often_but_not_at_every_step() -> None:
    found = looks(Budget(0, 12_000), 1e-6, 0.1)
    assert found == list(range(0, 12_001, 12_000 // LOOKS))


def test_a_costly_look_is_taken_at_each_tenth_of_the_way() -> None:
    assert looks(Budget(0, 300), 5.0, 0.05) == list(range(0, 301, 300 // FEWEST))
    assert looks(Budget(100, 105), 5.0, 0.05) == [100, 101, 102, 103, 104, 105]


@pytest.mark.parametrize(("cost", "each"), [(0.2, 0.06), (0.01, 0.06), (0.5, 0.5)])
def test_a_long_run_spends_about_two_hundredths_on_it(cost: float, each: float) -> None:
    budget = Budget(0, 10_000)
    looks(budget, cost, each, tuple(PARTS))
    around = 3 * len(PARTS) * cost  # the first looks, the last ones, and each tenth
    assert 0 < budget.spent < SHARE * 10_000 * each * 1.01 + around
    assert sum(PARTS.values()) == pytest.approx(1.0)


def test_every_is_followed_whatever_it_costs() -> None:
    assert looks(Budget(3, 20, every=7), 100.0, 0.01) == [3, 7, 14, 20]
