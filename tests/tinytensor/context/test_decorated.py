"""Modes as decorators: of functions, methods, generators, coroutines, asynchronous generators."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.context.thread_state import local
from tinytensor.graph.anomaly import is_watching

from ..helpers import leaf

X = leaf([1.0])


def records() -> bool:
    return (X * 2.0).requires_grad


#: a decorator, and what tells that the code runs inside
MODES: dict[str, Any] = {
    "no_grad": (tt.no_grad, lambda: not records()),
    "no_grad()": (tt.no_grad(), lambda: not records()),
    "inference_mode": (tt.inference_mode, lambda: not records()),
    "set_grad_enabled": (lambda f: tt.set_grad_enabled(False)(f), lambda: not records()),
    "detect_anomaly": (tt.detect_anomaly, lambda: is_watching(local.state)),
    "enable_grad in no_grad": (lambda f: tt.no_grad(tt.enable_grad(f)), records),
}


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Any:
    yield MODES[request.param]
    assert records() and not is_watching(local.state)


def outside() -> bool:
    return records() and not is_watching(local.state)


def test_a_generator_runs_inside_to_its_last_line(mode: Any) -> None:
    decorate, inside = mode
    seen = []

    @decorate
    def steps() -> Iterator[Any]:
        try:
            got = yield inside()
            try:
                yield got, inside()
            except KeyError:
                yield "caught", inside()
            yield 0
        finally:
            seen.append(inside())

    for end in ("close", "throw", "exhaust"):
        generator: Any = steps()
        assert next(generator) is True and outside()
        assert generator.send("sent") == ("sent", True) and outside()
        assert generator.throw(KeyError()) == ("caught", True) and outside()
        if end == "close":
            generator.close()
        elif end == "throw":
            with pytest.raises(ValueError):
                generator.throw(ValueError())
        else:
            assert list(generator) == [0]
    assert seen == [True, True, True]


def test_a_coroutine_runs_inside_and_others_do_not(mode: Any) -> None:
    decorate, inside = mode
    seen: list[Any] = []

    @decorate
    async def work(name: str) -> str:
        try:
            for _ in range(3):
                seen.append((name, inside()))
                await asyncio.sleep(0)
            return name
        finally:
            seen.append(inside())

    async def other() -> None:
        for _ in range(3):
            seen.append(("other", outside()))
            await asyncio.sleep(0)

    async def cancelled() -> None:
        task = asyncio.ensure_future(work("late"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def main() -> Any:
        found = await asyncio.gather(work("a"), other(), work("b"))
        await cancelled()
        return found

    assert asyncio.run(main()) == ["a", None, "b"]
    assert len(seen) == 13 and all(s is True or s[1] is True for s in seen)


def test_an_asynchronous_generator_runs_inside(mode: Any) -> None:
    decorate, inside = mode
    seen: list[bool] = []

    @decorate
    async def steps() -> AsyncIterator[Any]:
        try:
            await asyncio.sleep(0)
            got = yield inside()
            await asyncio.sleep(0)
            try:
                yield got, inside()
            except KeyError:
                yield "caught", inside()
            yield 0
        finally:
            await asyncio.sleep(0)
            seen.append(inside())

    async def main() -> None:
        for end in ("aclose", "athrow", "exhaust"):
            it: Any = steps()
            assert await it.__anext__() is True and outside()
            assert await it.asend("sent") == ("sent", True) and outside()
            assert await it.athrow(KeyError()) == ("caught", True) and outside()
            if end == "aclose":
                await it.aclose()
            elif end == "athrow":
                with pytest.raises(ValueError):
                    await it.athrow(ValueError())
            else:
                assert [value async for value in it] == [0]

    asyncio.run(main())
    assert seen == [True, True, True]


def test_what_wraps_a_generator_is_one_too() -> None:
    def steps(n: int, start: int = 0) -> Iterator[bool]:
        for _ in range(n + start):
            yield records()

    class Steps:
        def __call__(self) -> Iterator[bool]:
            yield records()

    class Model:
        @tt.no_grad
        @staticmethod
        def plain() -> bool:
            return records()

        @tt.no_grad
        @classmethod
        def made(cls) -> tuple[type, bool]:
            return cls, records()

        @tt.no_grad
        def method(self) -> Iterator[bool]:
            yield records()

    assert list(tt.no_grad(functools.partial(steps, 1, start=1))()) == [False, False]
    assert list(tt.no_grad(Steps())()) == [False]
    assert list(tt.enable_grad(tt.no_grad(steps))(1)) == [False]
    assert list(Model().method()) == [False]
    assert Model().plain() is False and Model.plain() is False
    assert Model.made() == (Model, False)
    assert tt.no_grad(steps).__name__ == "steps"


def test_a_block_in_a_coroutine_is_the_threads() -> None:
    """As documented: a ``with`` that waits holds for what runs meanwhile; none is ever lost."""
    seen = []

    async def quiet() -> None:
        with tt.no_grad():
            await asyncio.sleep(0)
            seen.append(records())

    async def other() -> None:
        seen.append(records())
        with tt.enable_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append(records())  # quiet was left meanwhile

    async def main() -> None:
        await asyncio.gather(quiet(), other())

    asyncio.run(main())
    assert seen == [False, True, True] and records()


def test_what_cannot_be_decorated_is_refused() -> None:
    with pytest.raises(TypeError, match="no_grad: .*got the class Net; decorate .*forward"):

        @tt.no_grad()
        class Net:
            pass

    with pytest.raises(TypeError, match="enable_grad: expected a function to decorate, got True"):
        tt.enable_grad(True)
    with pytest.raises(TypeError, match="detect_anomaly: expected a function"):
        tt.detect_anomaly()(1)
