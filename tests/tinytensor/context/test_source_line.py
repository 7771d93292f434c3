"""Every node knows which piece of the user's code made it."""

from __future__ import annotations

import _thread
import sys
import time
import weakref

import pytest

import tinytensor as tt
from tinytensor.context.source_line import located, place


def text_of(point: object) -> str:
    """The piece of this file that a point stands for."""
    found = located(point)  # type: ignore[arg-type]
    assert found is not None and found.file == __file__ and found.line == found.end_line
    line = open(__file__, encoding="utf-8").read().splitlines()[found.line - 1]
    return line[found.column : found.end_column]


def test_each_op_of_an_expression_knows_its_own_part() -> None:
    x, w, b = (tt.tensor(v, requires_grad=True) for v in (2.0, -3.0, 1.0))
    out = tt.tanh(x * w + b)
    add = out.node.parents[0]
    mul = add.parents[0]
    assert text_of(out.node.where) == "tt.tanh(x * w + b)"
    assert text_of(add.where) == "x * w + b"
    assert text_of(mul.where) == "x * w"


def test_layers_and_functions_of_the_package_are_passed_over() -> None:
    layer = tt.nn.Linear(2, 2)
    out = layer(tt.ones(1, 2))
    assert text_of(out.node.where) == "layer(tt.ones(1, 2))"
    a, b = tt.split(tt.ones(4, requires_grad=True), 2)
    assert text_of(a.node.where) == "tt.split(tt.ones(4, requires_grad=True), 2)"
    assert text_of(b.node.where) == "tt.split(tt.ones(4, requires_grad=True), 2)"


def test_code_without_a_file_has_a_line_and_a_word_for_messages() -> None:
    scope = {"tt": tt, "__name__": "somewhere"}
    exec(compile("y = tt.ones(2, requires_grad=True)\ny = y * 2", "<cell 3>", "exec"), scope)
    where = scope["y"].node.where  # type: ignore[attr-defined]
    assert located(where) is not None and place(where) == " at <cell 3>:2"
    assert place(None) == ""


def test_the_line_of_a_user_whose_module_is_called_alike() -> None:
    scope = {"tt": tt, "__name__": "tinytensor_lessons"}
    exec(compile("y = tt.ones(2, requires_grad=True) * 2", "lesson.py", "exec"), scope)
    assert place(scope["y"].node.where) == " at lesson.py:1"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [None, 5, b"tinytensor", ("tinytensor",)])
def test_code_whose_module_has_no_text_for_a_name(name: object) -> None:
    scope = {"tt": tt, "__name__": name}
    code = "y = tt.ones(2, requires_grad=True) * 2\nz = tt.ones(2)\nz += 1"
    exec(compile(code, "lesson.py", "exec"), scope)
    assert place(scope["y"].node.where) == " at lesson.py:1"  # type: ignore[attr-defined]
    assert scope["z"].version.where == ("lesson.py", 3)  # type: ignore[attr-defined]


def test_a_thread_may_begin_with_an_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no code of the user's is being executed."""
    failed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", failed.append)
    x = tt.ones(2, requires_grad=True)
    running = weakref.ref(x)
    _thread.start_new_thread(tt.exp, (x,))
    del x
    until = time.monotonic() + 10
    while running() is not None and time.monotonic() < until:
        time.sleep(0.01)
    assert running() is None and not failed
