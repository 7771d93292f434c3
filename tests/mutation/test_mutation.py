"""The tool that plants faults: that it changes what it says, and puts everything back."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define import op as registry
from tinytensor.graph import step

from . import checks, rewrite
from .equivalent import EQUIVALENT
from .faults import KINDS, faults, rules


def _state(op: Any) -> tuple[Any, ...]:
    return op.joint, op.vjps, step.unbroadcast


@pytest.mark.parametrize("name", ["mul", "sum", "softmax", "matmul", "concat"])
def test_each_fault_of_these_is_caught(name: str) -> None:
    op = registry.OPS[name]
    before = _state(op)
    planted = 0
    for fault in faults(op):
        undo = fault.plant()
        try:
            by = checks.caught_by(checks.own(op))
        finally:
            undo()
        assert _state(op) == before
        if (fault.op, fault.was, fault.now) not in EQUIVALENT:
            assert by is not None or not fault.met(), str(fault)
        planted += fault.met()
    assert planted >= 5
    assert checks.caught_by(checks.own(op)) is None


def test_each_kind_can_be_planted() -> None:
    names = ["mul", "div", "matmul", "layer_norm", "softmax", "rnn", "maximum"]
    found = {fault.kind for name in names for fault in faults(registry.OPS[name])}
    assert found == set(KINDS)


def test_the_source_of_each_rule_is_found() -> None:
    """Two lambdas of one line too: what is compiled from the source is the rule itself."""
    for op in registry.OPS.values():
        for rule in rules(op):
            if not isinstance(rule, type(_state)):
                continue
            source = rewrite.source_of(rule.__code__)
            code = rewrite.compiled(rule, source)
            for part in ("co_names", "co_varnames", "co_freevars", "co_argcount"):
                assert getattr(code, part) == getattr(rule.__code__, part)
            same, rules_own = (
                [c for c in of.co_consts if not hasattr(c, "co_code")]
                for of in (code, rule.__code__)
            )
            assert same == rules_own


def test_a_helper_is_changed_for_one_rule_only() -> None:
    shared = next(f for f in faults(registry.OPS["max"]) if "ties" in f.was and f.kind == "factor")
    undo = shared.plant()
    try:
        x = tt.tensor(np.array([2.0, 2.0]), requires_grad=True)
        assert tt.grad(tt.max(x), x)[0].data.tolist() != [0.5, 0.5]
        assert tt.grad(tt.min(x), x)[0].data.tolist() == [0.5, 0.5]
    finally:
        undo()
    assert tt.grad(tt.max(x), x)[0].data.tolist() == [0.5, 0.5]


def test_one_node_is_changed() -> None:
    source = ast.parse("lambda a, b: a + b * a").body[0].value
    index = [ast.unparse(n) for n in rewrite.nodes(source)].index("b * a")
    assert ast.unparse(rewrite.replaced(source, index, lambda n: n.left)) == "lambda a, b: a + b"
    assert ast.unparse(source) == "lambda a, b: a + b * a"


def test_what_is_right_is_not_caught_and_what_is_slow_is() -> None:
    def forever() -> None:
        while True:
            pass

    assert checks.caught_by([("right", lambda: None)]) is None
    checks.SECONDS, seconds = 1, checks.SECONDS
    try:
        assert checks.caught_by([("slow", forever)]) == "slow (error)"
    finally:
        checks.SECONDS = seconds


def test_the_tests_that_speak_of_an_op_are_found() -> None:
    text = """
NAMES = ["exp", "add"]
def helper(x):
    return x.log()
def test_one():
    tt.exp(x)
@pytest.mark.parametrize("name", NAMES)
def test_two(name):
    pass
def test_three():
    helper(explog)
"""
    assert checks.speaking_of("exp", text) == ["test_one", "test_two"]
    assert checks.speaking_of("log", text) == ["test_three"]
    assert checks.speaking_of("sum", text) == []
