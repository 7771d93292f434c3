"""Floors on a busy machine: the shortest times count, and what makes no sense is called busy."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import tinytensor as tt
from tinytensor.profiling import Cost, Product, Profile
from tinytensor.profiling.report import BUSY_MEANS, meaning, speed

from ..profiles import nothing_stays_behind, weights

__all__ = ["nothing_stays_behind"]

PRODUCT = Product(1, 30, 20, 10, "float32", "cpu")


def measured(steps: int = 3) -> Profile:
    """A profile of a few linear layers."""
    x, w = tt.randn(30, 20), weights(10, 20)
    with tt.profile() as p:
        for _ in range(steps):
            tt.linear(x, w).sum().backward()
    return p


def quick(p: Profile) -> None:
    """As if each op had taken as long as the fastest of its kind."""
    for entry in p.entries.values():
        for cost in (entry.forward, entry.backward):
            cost.best_ns = cost.products_ns


def fake(monkeypatch: pytest.MonkeyPatch, alone: Callable[[int], float]) -> list[Product]:
    """Let a product take ``alone(how often one was measured before)`` seconds."""
    asked: list[Product] = []

    def seconds(product: Product, budget: float = 0.05) -> float:
        asked.append(product)
        return alone(asked.count(product) - 1)

    monkeypatch.setattr("tinytensor.profiling.costs.seconds_alone", seconds)
    return asked


def test_a_slow_floor_is_called_busy_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    p = measured()
    quick(p)
    asked = fake(monkeypatch, lambda before: 9.31)
    text = str(p)
    assert "931" not in text and "their floor cannot be told, the machine was busy" in text
    assert text.splitlines()[-2:] == BUSY_MEANS.splitlines()
    linear = next(line for line in text.splitlines() if line.startswith("linear"))
    assert linear.split()[-1] == "busy" and linear.split()[-2] != "busy"
    values = json.loads(json.dumps(p.to_dict()))
    for found in (values, values["ops"]["linear"]["forward"], values["modules"][""]["backward"]):
        assert found["floor_seconds"] is None and found["busy"] is True
    assert values["ops"]["sum"]["forward"]["busy"] is False
    assert values["ops"]["sum"]["forward"]["floor_seconds"] == 0.0
    assert {asked.count(product) for product in asked} == {4}, "and is not asked for ever"


def test_a_short_spell_does_not_spoil_a_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    p = measured()
    quick(p)
    asked = fake(monkeypatch, lambda before: 9.31 if before < 2 else 1e-9)
    assert p.alone(p.by_op["linear"].forward) == 9.31 * 3
    assert not p.busy(p.total.total)
    assert p.alone(p.by_op["linear"].forward) == pytest.approx(3e-9)
    assert {asked.count(product) for product in asked} == {3}
    assert "busy" not in str(p) and p.to_dict()["busy"] is False


def test_the_limit_is_a_little_above_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, lambda before: 1e-3)
    for ns, expected in ((10**6, "100.0%"), (960_000, "104.2%"), (940_000, "busy")):
        cost = Cost()
        cost.count(ns, 0, {PRODUCT: 1})
        assert speed(Profile(), cost, ns)[1] == expected
        assert speed(Profile(), cost, 2 * 10**6)[1] == "50.0%", "of a phase, say"


def test_measured_again_between_two_uses_the_shortest_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = measured()
    asked = fake(monkeypatch, lambda before: [3.0, 2.0, 5.0][before])
    for _ in range(3):
        p.measure_alone()
    assert len(asked) == 3 * len(p.total.total.products)
    assert {p.alone_each(product) for product in p.total.total.products} == {2.0}


def test_ops_that_were_held_up_are_called_busy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor of 2% would be as wrong as one of 931%. Calls of another kind may take longer."""
    fake(monkeypatch, lambda before: 1e-6)
    other = Product(1, 300, 200, 100, "float32", "cpu")
    cost = Cost()
    for ns in (1000, 1200, 1100):
        cost.count(ns, 0, {PRODUCT: 1})
        cost.count(50 * ns, 0, {other: 2})
        cost.count(10**9, 0, {})
    assert (cost.products_ns, cost.best_ns) == (51 * 3300, 51 * 3000)
    assert not Profile().busy(cost)
    assert (cost + cost).best_ns == 2 * cost.best_ns
    cost.count(4 * 51 * 3000, 0, {PRODUCT: 1})
    assert Profile().busy(cost) and Profile().busy(cost + Cost())


def test_causal_attention_may_do_with_half(monkeypatch: pytest.MonkeyPatch) -> None:
    q = tt.randn(1, 1, 8, 4)
    with tt.profile() as p:
        tt.scaled_dot_product_attention(q, q, q, is_causal=True)
    cost = p.by_op["scaled_dot_product_attention"].forward
    quick(p)
    for share, busy in ((1.5, False), (2.2, True)):
        q = share * cost.ns * 1e-9 / sum(cost.products.values())
        p._alone.clear()
        fake(monkeypatch, lambda before, q=q: q)  # type: ignore[misc]
        assert p.busy(cost) is busy
    p._alone.update(dict.fromkeys(cost.products, 1.5 * cost.ns * 1e-09 / 2))
    assert speed(p, cost, cost.ns)[1] == "150.0%"


def test_the_explanation_stands_only_where_it_is_needed() -> None:
    assert meaning([[("busy", "1", "50.0%")]]) == ""
    assert meaning([[("op", "1", "50.0%")], [("op", "1", "busy")]]) == BUSY_MEANS
