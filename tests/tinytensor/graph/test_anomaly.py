"""detect_anomaly names the op, the operand and the line whose gradient went wrong."""

from __future__ import annotations

import inspect
import threading

import pytest

import tinytensor as tt

from ..helpers import close, const, leaf

pytestmark = [
    pytest.mark.usefixtures("device"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def here() -> int:
    """Line number of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_the_op_and_its_line_are_named() -> None:
    x = leaf([0.0, 4.0])
    with tt.detect_anomaly():
        y = x * 2.0
        z, line = tt.sqrt(y), here()
        loss = (z * const([0.0, 1.0])).sum()
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
    message = str(caught.value)
    assert "'sqrt'" in message and f"test_anomaly.py:{line}" in message
    assert "'x' is NaN or infinite in 1 of 2 elements" in message and "was finite" in message


def test_the_second_operand_is_named() -> None:
    x, y = leaf([1.0]), leaf([0.0])
    with tt.detect_anomaly(), pytest.raises(RuntimeError, match="'div'.*operand 'y'"):
        (x.detach() / y).sum().backward()


def test_a_bad_gradient_from_above_is_told() -> None:
    x = leaf([1.0, 2.0])
    with tt.detect_anomaly(), pytest.raises(RuntimeError, match="not finite in 1 elements already"):
        (x * 2.0).backward([float("nan"), 1.0])


def test_the_line_is_known_without_the_forward_pass_inside_too() -> None:
    x = leaf([0.0])
    y, line = tt.sqrt(x).sum(), here()
    message = f"'sqrt', applied at .*test_anomaly.py:{line}:"
    with tt.detect_anomaly(), pytest.raises(RuntimeError, match=message):
        y.backward()


def test_good_gradients_pass_and_the_mode_ends() -> None:
    x = leaf([1.0])

    @tt.detect_anomaly()
    def step() -> None:
        tt.sqrt(x).sum().backward()

    step()
    close(x.grad, [0.5])
    tt.sqrt(leaf([0.0])).sum().backward()  # no check outside


def test_it_is_per_thread() -> None:
    failed: list[BaseException] = []

    def other() -> None:
        try:
            tt.sqrt(leaf([0.0])).sum().backward()
        except RuntimeError as error:
            failed.append(error)

    with tt.detect_anomaly():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not failed
