"""Recording on and off: nested, by decorator, per thread, and for good inside inference_mode."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tinytensor as tt

from ..helpers import leaf


def test_modes_nest_and_come_back_after_an_error() -> None:
    assert tt.is_grad_enabled()
    with tt.no_grad():
        assert not tt.is_grad_enabled()
        with tt.enable_grad():
            assert (leaf([1.0]) * 2.0).requires_grad
        assert not (leaf([1.0]) * 2.0).requires_grad
        with pytest.raises(ZeroDivisionError), tt.enable_grad():
            print(1 / 0)
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()


@pytest.mark.parametrize("mode", [tt.no_grad, tt.inference_mode])
def test_as_a_decorator_again_and_again(mode: type) -> None:
    @mode()
    def double(x: tt.Tensor, depth: int = 0) -> tt.Tensor:
        return double(x, depth - 1) if depth else x * 2.0

    for _ in range(2):
        assert not double(leaf([1.0]), 3).requires_grad
        assert tt.is_grad_enabled()


def test_set_grad_enabled_as_a_call_as_a_block_and_as_a_decorator() -> None:
    try:
        tt.set_grad_enabled(False)
        assert not tt.is_grad_enabled()
        with tt.set_grad_enabled(True):
            assert tt.is_grad_enabled()
        assert not tt.is_grad_enabled()
    finally:
        tt.set_grad_enabled(True)

    @tt.set_grad_enabled(False)
    def double(x: tt.Tensor) -> tt.Tensor:
        return x * 2.0

    assert tt.is_grad_enabled()
    assert not double(leaf([1.0])).requires_grad
    assert tt.is_grad_enabled()


def test_inference_mode_cannot_be_left_from_inside() -> None:
    x = leaf([1.0])
    with tt.inference_mode():
        assert not (x * 2.0).requires_grad
        with tt.no_grad(), tt.inference_mode():
            assert not tt.is_grad_enabled()
        with pytest.raises(RuntimeError, match="enable_grad.*inference_mode.*no_grad"):
            with tt.enable_grad():
                pass
        with pytest.raises(RuntimeError, match="inference_mode"):
            tt.gradcheck(lambda x: x * x, [x])
        assert not tt.is_grad_enabled()
    assert (x * 2.0).requires_grad
    with tt.enable_grad():
        pass


def test_each_thread_has_its_own() -> None:
    seen: list[bool] = []
    with tt.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((leaf([1.0]) * 2.0).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backward_in_several_threads_at_once() -> None:
    """Graphs of their own: no thread's recording or hooks disturb another's."""
    wrong: list[float] = []

    def work(k: float) -> None:
        for _ in range(50):
            x = leaf([k])
            with tt.no_grad():
                x * 3.0
            (tt.exp(x * 0.0) * x * x).sum().backward()
            assert x.grad is not None
            if abs(x.grad.item() - 2 * k) > 1e-9:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("mode", [tt.no_grad, tt.inference_mode])
def test_a_generator_function_runs_inside(mode: Any) -> None:
    x = leaf([1.0])

    @mode()
    def steps() -> Any:
        got = yield (x * 2.0).requires_grad
        try:
            yield got, (x * 2.0).requires_grad
        except KeyError:
            yield "caught", (x * 2.0).requires_grad
        return "end"

    generator = steps()
    assert next(generator) is False
    assert tt.is_grad_enabled()  # between its steps it is as outside
    assert generator.send("sent") == ("sent", False)
    assert generator.throw(KeyError()) == ("caught", False)
    with pytest.raises(StopIteration, match="end"):
        next(generator)
    assert tt.is_grad_enabled()


def test_a_decorated_function_in_two_threads() -> None:
    """The state to come back to is each call's own, not that of whoever entered last."""
    first, second = threading.Event(), threading.Event()
    seen: dict[str, bool] = {}

    @tt.inference_mode()
    def wait(name: str) -> None:
        (first if name == "a" else second).set()
        (second if name == "a" else seen_a).wait(5)

    seen_a = threading.Event()

    def in_no_grad() -> None:
        first.wait(5)
        with tt.no_grad():
            wait("b")
            seen["b"] = tt.is_grad_enabled()

    thread = threading.Thread(target=in_no_grad)
    thread.start()
    wait("a")
    seen["a"] = tt.is_grad_enabled()
    seen_a.set()
    thread.join()
    assert seen == {"a": True, "b": False}
