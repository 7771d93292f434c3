"""Every op's first and second derivatives, over shapes and strides that Hypothesis draws.

An op's samples name their axis lengths by numbers, `r(3, 4) @ r(4, 2)`.  Here each number stands
for a length that is drawn, 0 and 1 among them, so that one sample becomes a family of shapes; and
each operand gets a memory layout that is drawn.  Where the op refuses the lengths (they no longer
fit a setting), or gives NaN (the mean of nothing), others are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.define.samples import Draw

from ..helpers import host
from ..ops_under_test import STEPS, Case, all_ops, is_float

OPS = [op for op in all_ops() if op.differentiable and op.name != "to_device"]
LENGTHS = st.fixed_dictionaries({n: st.integers(0, 4) for n in range(2, 9)})
#: settings that are lengths of the operands themselves: only the layouts of such ops are drawn
LENGTH_SETTINGS = {"shape", "size", "length", "rows", "pad_width", "own", "index"}
#: each keeps the values and changes where they lie in memory
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C order": lambda a: a,
    "Fortran order": lambda a: a.T.copy().T,
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1] if a.ndim else a,
    "every second": lambda a: a.repeat(2, axis=-1)[..., ::2] if a.ndim else a,
    "first axis backwards": lambda a: a[::-1].copy()[::-1] if a.ndim else a,
    "inside a larger array": lambda a: a.repeat(3, axis=0)[1::3] if a.ndim else a,
}


class Stretched(Draw):
    """Draws operands of other lengths than were asked for: each length has a stand-in."""

    def __init__(self, seed: int, lengths: dict[int, int]):
        super().__init__(seed)
        self.lengths = lengths

    def _of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.lengths.get(n, n) for n in shape)

    def __call__(self, *shape: int) -> np.ndarray:
        return super().__call__(*self._of(shape))

    def positive(self, *shape: int) -> np.ndarray:
        return super().positive(*self._of(shape))

    def apart(self, *shape: int) -> np.ndarray:
        return super().apart(*self._of(shape))

    def ints(self, high: int, *shape: int) -> np.ndarray:
        return super().ints(max(1, *self._of((high,))), *self._of(shape))

    def bools(self, *shape: int) -> np.ndarray:
        return super().bools(*self._of(shape))


def pads(case: Case) -> bool:
    """An embedding with a padding row stops that row's gradient on purpose."""
    sample = case.sample
    return case.op.name == "embedding" and (
        len(sample.args) > 2 or sample.kwargs.get("padding_idx") is not None
    )


def drawn(op: Any, data: Any) -> tuple[Case, Callable[[np.ndarray], np.ndarray]] | None:
    """A case whose call succeeds, and a layout for its operands."""
    lengths = {} if LENGTH_SETTINGS & set(op.setting_names) else data.draw(LENGTHS, label="lengths")
    try:
        family = op._samples(Stretched(data.draw(st.integers(0, 99), label="seed"), lengths))
    except (ValueError, IndexError, ZeroDivisionError):
        return None  # the samples themselves need their lengths
    case = Case(op, family[data.draw(st.integers(0, len(family) - 1), label="sample")])
    names = st.lists(st.sampled_from(sorted(LAYOUTS)), min_size=3, max_size=3)
    layouts = iter(data.draw(names, label="layouts") * 9)

    def layout(array: Any) -> Any:
        return LAYOUTS[next(layouts)](array)

    if pads(case) or not all(np.isfinite(a).all() for a in case.arrays):
        return None
    args, kwargs, floats = case.build()
    try:
        outputs = case.call(args, kwargs)
    except (ValueError, IndexError, TypeError):
        return None
    if not floats or not any(y.requires_grad and y.size for y in outputs):
        return None
    if not all(np.isfinite(host(y)).all() for y in outputs):
        return None  # the mean of nothing
    return case, layout


def function(case: Case) -> Callable[..., Any]:
    """The case as a function of its float operands."""

    def fn(*xs: tt.Tensor) -> Any:
        args, kwargs, _ = case.build(tensors=list(xs))
        return tuple(y for y in case.call(args, kwargs) if y.requires_grad)

    return fn


def check(checker: Callable[..., Any], case: Case, layout: Any, **tolerances: float) -> bool:
    """Run a gradient checker; False where all gradients are zero, and agree with differences."""
    _, _, floats = case.build(layout=layout)
    try:
        assert checker(function(case), floats, **tolerances)
    except ValueError as error:  # a constant, such as the softmax of one number
        if "all gradients are zero" in str(error) or "no output depends" in str(error):
            return False
        raise
    return True


many = settings(
    max_examples=8, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_first_and_second_derivatives(op: Any) -> None:
    moving = still = 0

    @many
    @given(st.data())
    def run(data: Any) -> None:
        nonlocal moving, still
        found = drawn(op, data)
        assume(found)
        assert found is not None
        case, layout = found
        if check(tt.gradcheck, case, layout):
            moving += 1
        else:
            still += 1
        if sum(a.size for a in case.arrays) <= 30:
            check(tt.gradgradcheck, case, layout, rtol=1e-4, atol=2e-6)

    run()
    assert (still if op.name in STEPS else moving) >= 2, f"{moving} examples moved, {still} did not"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float32_within_its_tolerance(op: Any, device: Device) -> None:
    """Values and gradients in float32, in any layout, against float64 in C order."""
    compared = 0

    @many
    @given(st.data())
    def run(data: Any) -> None:
        nonlocal compared
        found = drawn(op, data)
        assume(found)
        assert found is not None
        case, layout = found
        wide, wide_gradients = case.run(np.float64)
        narrow, narrow_gradients = case.run(np.float32, layout)
        for a, b in zip([*narrow, *narrow_gradients], [*wide, *wide_gradients], strict=True):
            if a is None or b is None:
                assert a is b is None
                continue
            assert a.shape == b.shape
            scale = max(1.0, float(np.abs(b).max(initial=0))) if is_float(b) else 1.0
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=3e-4 * scale)
            compared += 1

    run()
    assert compared
