"""What the tests of ``tt.profile`` share: what they count, and that nothing stays behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tinytensor as tt
from tinytensor.define.op import Op
from tinytensor.graph import backward
from tinytensor.profiling import Profile

CALL, PULL_BACK = Op.__call__, backward.pull_back


@pytest.fixture
def nothing_stays_behind() -> Iterator[None]:
    """Every test here leaves the engine as it was: not a wrapper, the functions themselves."""
    yield
    assert Op.__call__ is CALL
    assert backward.pull_back is PULL_BACK
    loss = tt.exp(tt.tensor([1.0], requires_grad=True)).sum()
    with tt.profile() as p:
        pass
    loss.backward()
    assert not p.entries and 0 <= p.elsewhere_ns <= p.wall_ns


def calls(p: Profile) -> dict[str, tuple[int, int]]:
    """How many applications, and steps back, of each op."""
    return {name: (e.forward.calls, e.backward.calls) for name, e in p.by_op.items()}


def weights(*shape: int) -> tt.Tensor:
    """A leaf that wants a gradient."""
    return tt.randn(*shape, requires_grad=True)


def check_sums(p: Profile) -> None:
    """Ops, the measuring and the rest are the wall time; each grouping has all of the ops."""
    total = p.total.total
    assert total.ns > 0 and p.own_ns > 0 and p.elsewhere_ns >= 0
    assert total.ns + p.own_ns + p.elsewhere_ns == p.wall_ns
    for groups in (p.by_op, p.by_module, p.by_phase, p.modules(1), p.modules(merge=True)):
        for name in ("calls", "ns", "bytes", "flops"):
            assert sum(getattr(e.total, name) for e in groups.values()) == getattr(total, name)
        ns = [e.total.ns for e in groups.values()]
        assert ns == sorted(ns, reverse=True)
