"""Derivatives of order 1 to 4 against mpmath, where rules go wrong: at 0, ±1, ties, and so on."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import tinytensor as tt
from tinytensor.define import op as registry

from .special_points import ONE, TWO, Smooth
from .special_vectors import MANY

pytestmark = pytest.mark.usefixtures("device")

ORDERS = 4


def along(case: Smooth, point: tuple[float, ...], direction: Any, cotangent: Any) -> list[float]:
    """Value and derivatives of ``<cotangent, f(point + t direction)>`` by t at 0: ours."""
    x = tt.tensor(np.array(point, dtype=float), requires_grad=True)
    y = case.ours(x).reshape(-1)
    s = (y * tt.tensor(cotangent[: y.size])).sum()
    found = [s.item()]
    for _ in range(ORDERS):
        if not s.requires_grad:
            found.append(0.0)
            continue
        (g,) = tt.grad(s, x, create_graph=True, allow_unused=True)
        if g is None:
            found.append(0.0)
            continue
        s = (g * tt.tensor(direction)).sum()
        found.append(s.item())
    return found


def exactly(case: Smooth, point: tuple[float, ...], direction: Any, cotangent: Any) -> list[float]:
    """The same by mpmath."""

    def moved(t: Any) -> Any:
        y = case.exact([mpf(a) + t * mpf(b) for a, b in zip(point, direction)])
        outs = y if isinstance(y, (list, tuple)) else [y]
        return mp.fsum(mpf(c) * o for c, o in zip(cotangent, outs))

    with mp.workdps(50):
        return [float(mp.diff(moved, 0, n)) for n in range(ORDERS + 1)]


CASES = {**ONE, **TWO, **MANY}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_at_special_points(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    bad = []
    for point in case.points:
        direction, cotangent = rng.uniform(0.5, 1.5, len(point)), rng.uniform(0.5, 1.5, 16)
        ours = along(case, point, direction, cotangent)
        exact = exactly(case, point, direction, cotangent)
        if not np.allclose(ours, exact, rtol=1e-8, atol=1e-9):
            bad.append(
                f"{point}: {np.round(ours, 6).tolist()}, expected {np.round(exact, 6).tolist()}"
            )
    assert not bad, "\n".join(bad)


#: ops with a gradient that are not compared here, and why not
MOVES = """
    alias astype broadcast_to concat copy diag_embed diagonal expand_dims flip gather getitem
    masked_fill pad pool_pick repeat reshape roll rot90 scatter_add split squeeze stack swapaxes
    take_along_axis tile to_device transpose tril triu unbind unfold where
"""  # linear: elements are moved, copied or left out, and orders above 1 are 0
SUMS = """
    adaptive_avg_pool adaptive_avg_pool_grad avg_pool avg_pool_grad diff embedding embedding_grad
    getitem_grad index_add_at index_set interpolate
    interpolate_grad overlap_add pad_grad pool_put tie trace
"""  # linear too: sums of elements
STEPS = "ceil floor floor_divide round sign trunc"  # constant between jumps
CHOOSES = """
    abs adaptive_max_pool clip cummax cummin fmax fmin hard_sigmoid hard_swish hardtanh leaky_relu
    max max_pool maximum min minimum nan_to_num prelu quantile relu sort topk
"""  # straight lines, or one of several elements: kinks are in docs/limits.md
IN_RULES = "conv_weight_grad"  # the gradient of an op that is compared


def ops_of(case: Smooth) -> set[str]:
    """The ops that a function is computed by."""
    x = tt.tensor(np.array(case.points[0], dtype=float), requires_grad=True)
    found, waiting = set(), [case.ours(x).node]
    while waiting:
        node = waiting.pop()
        if hasattr(node, "parents"):
            found.add(node.op.name)
            waiting += node.parents
    return found


def test_no_smooth_op_is_missing() -> None:
    compared = set()
    for case in CASES.values():
        compared |= ops_of(case)
    excused = set(" ".join([MOVES, SUMS, STEPS, CHOOSES, IN_RULES]).split())
    every = {name for name, op in registry.OPS.items() if op.differentiable}
    assert sorted(every - compared - excused) == []


def test_hessians_worked_out_by_hand() -> None:
    def hessian(fn: Any, *x: float) -> Any:
        return tt.hessian(fn, tt.tensor(np.array(x))).tolist()

    quarter = [[0.25, -0.25], [-0.25, 0.25]]
    assert hessian(lambda v: tt.logaddexp(v[0], v[1]), 0.4, 0.4) == quarter
    assert hessian(lambda v: tt.logsumexp(v), 0.4, 0.4) == quarter
    at_0 = hessian(lambda v: tt.pow(v[0], v[1]), 2.0, 0.0)
    np.testing.assert_allclose(at_0, [[0, 0.5], [0.5, np.log(2) ** 2]])
    assert hessian(lambda v: tt.prod(v), 0.0, 0.0) == [[0, 1], [1, 0]]
    x = tt.tensor(np.zeros(()))
    (product,) = tt.hvp(lambda x: tt.logaddexp(x, 0.0), (x,), (x + 1,))
    assert product.item() == 0.25


def test_high_derivatives_worked_out_by_hand() -> None:
    def derivative(fn: Any, at: float, order: int) -> float:
        y = fn(x := tt.tensor(np.array(at), requires_grad=True))
        for _ in range(order):
            (y,) = tt.grad(y, x, create_graph=True)
        return y.item()

    assert [derivative(tt.mish, 0.0, n) for n in (3, 4)] == pytest.approx([-0.096, -1.1008])
    assert derivative(lambda x: tt.pow(x, x), 1.0, 3) == pytest.approx(3)
    assert derivative(lambda x: tt.norm(x[None], 4) ** 4, 0.5, 4) == pytest.approx(24)


@pytest.mark.parametrize(
    "squared",
    [
        lambda a: tt.norm(a) ** 2,
        lambda a: (tt.abs(a) ** 2).sum(),
        lambda a: tt.hypot(a[0], a[1]) ** 2,
        lambda a: tt.std(a) ** 2,
        lambda a: tt.norm(a, 3) ** 2,
        lambda a: tt.norm(a, np.inf) ** 2,
        lambda a: tt.l1_loss(a, tt.zeros(2, dtype="float64"), reduction="sum") ** 2,
    ],
)
def test_the_square_of_a_length_has_no_silent_second_derivative_at_0(squared: Any) -> None:
    with np.errstate(invalid="ignore"):
        found = tt.hessian(squared, tt.tensor(np.zeros(2)))
    assert np.isnan(found.tolist()).any(axis=1).all()  # 2 · I would be right, 0 is not
