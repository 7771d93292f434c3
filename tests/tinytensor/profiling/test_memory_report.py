"""memory_report: what backward will need, by op and by module."""

from __future__ import annotations

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from ..helpers import const, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_bytes_by_op() -> None:
    x = leaf(np.ones((10, 10)))
    report = tt.memory_report(tt.exp(tt.sin(x)).sum())
    assert report.by_op["sin"].bytes == 800 and report.by_op["sin"].arrays == 1  # keeps x
    assert report.by_op["exp"].bytes == 800  # keeps its output
    assert "sum" not in report.by_op
    assert (report.total, report.leaves, report.nodes) == (1600, 800, 3)


def test_an_array_that_several_keep_is_counted_once() -> None:
    x = leaf(np.ones(100))
    y = x * 2.0
    report = tt.memory_report((y * y * y[:50].sum()).sum())
    assert report.by_op["mul"].bytes == 800 + 800 + 8  # y, y·y and the sum


def test_only_what_the_wanted_gradients_read_is_kept() -> None:
    x, c = leaf(np.ones(100)), const(np.ones(100))
    assert tt.memory_report((x * c).sum()).total == 800  # c, for the gradient of x
    assert tt.memory_report((x * 3.0).sum()).total == 0


def test_by_module() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    report = tt.memory_report(model(tt.ones((16, 4))).sum())
    assert set(report.by_module) == {"0", "1", "2"}
    assert report.by_module["0"].bytes == 16 * 4 * 4  # the input; weight: no gradient of x wanted
    assert report.by_module["1"].bytes == 16 * 8 * 4
    assert report.by_module["2"].bytes == 8 * 4  # the weight; its input is tanh's output
    text = str(report)
    assert "tanh" in text and "parameters" in text and "%" in text


def test_after_backward_nothing_is_left() -> None:
    loss = tt.exp(leaf(np.ones(10))).sum()
    loss.backward()
    assert tt.memory_report(loss).total == 0


def test_outside_a_graph() -> None:
    with pytest.raises(ValueError, match="outputs: expected tensors inside a graph"):
        tt.memory_report(leaf([1.0]))
