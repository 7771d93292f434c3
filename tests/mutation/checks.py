"""The checks that a planted fault has to get past, the cheapest first."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tests.tinytensor.across import test_limits, test_special_points
from tests.tinytensor.define import test_registry
from tinytensor.define.op import OPS, Op

TESTS = Path(__file__).parent.parent
SECONDS = 60  #: a fault that makes a check run for longer is caught


ENGINE_TESTS = (
    "graph/test_autograd.py",
    "derivatives/test_higher_order.py",
    "across/test_missed_faults.py",
)

#: a check's name, and a function that raises where it fails
Check = tuple[str, Callable[[], Any]]


class Slow(Exception):
    """A check did not come to its end."""


class Numeric:
    """Finite differences of the forward computation, worked out once for all faults of an op.

    A fault in a VJP leaves them as they are, so that the test which compares with them is fast.
    """

    def __init__(self) -> None:
        self._right = test_registry.numeric_gradients
        self._known: dict[str, list[Any]] = {}

    def test(self, op: Op) -> None:
        """`test_gradients_equal_finite_differences`, with the differences of the first time."""
        known = self._known.get(op.name)
        found: list[Any] = []
        given = iter(known or ())

        def numeric(*args: Any) -> Any:
            if known is not None:
                return next(given)
            found.append(self._right(*args))
            return found[-1]

        test_registry.numeric_gradients = numeric
        try:
            test_registry.test_gradients_equal_finite_differences(op)
        finally:
            test_registry.numeric_gradients = self._right
        if known is None:
            self._known[op.name] = found


NUMERIC = Numeric()


def own(op: Op) -> Iterator[Check]:
    """What every op gets by being registered."""
    cpu, t = tt.device("cpu"), test_registry
    yield "finite differences", lambda: NUMERIC.test(op)
    yield "gradcheck", lambda: t.test_gradients_pass_gradcheck(op, cpu)
    if op.fused:
        for dtype in (np.float64, np.float32):
            yield "reference", lambda d=dtype: t.test_fused_op_equals_its_reference(op, d, cpu)
    yield "shapes", lambda: t.test_gradients_have_the_shape_and_dtype_of_their_operand(op, cpu)
    yield "float32", lambda: t.test_float32_gradients_equal_float64_ones(op)
    yield "second order", lambda: t.test_second_order(op)


def by_torch(op: Op) -> Iterator[Check]:
    """PyTorch's gradients over our samples and over its own, where it is installed."""
    try:
        from tests.parity import opinfo, test_ops_parity
        from tests.parity.opinfo._check import dtypes
    except (ImportError, pytest.skip.Exception):
        return
    if op.name in test_ops_parity.TORCH:
        yield "parity", lambda: test_ops_parity.test_op_equals_torch(op.name, np.float64)

    def samples(entry: Any) -> None:
        for info in opinfo.infos(entry):
            result = opinfo.check(entry, info, dtypes(info)[0], opinfo.CHOICES)
            assert not result.failures, result.failures[0]

    for entry in opinfo.ENTRIES:
        if entry.ours.rpartition(".")[2] == op.name:
            yield "PyTorch's samples", lambda entry=entry: samples(entry)


def by_hand(op: Op) -> list[Check]:
    """The tests written by hand that speak of the op; files where one fails anyway are left out."""
    files: list[list[str]] = []
    for path in sorted((TESTS / "tinytensor").rglob("test_*.py")):
        if path.name not in ("test_registry.py", "test_strict.py", "test_memory.py"):
            names = speaking_of(op.name, path.read_text(encoding="utf-8"))
            files += [[f"{path}::{name}" for name in names]] if names else []
    together = [_hand([test for tests in files for test in tests])]  # starting pytest is slow
    return together if sound(together) else sound(_hand(tests) for tests in files)


def _hand(tests: list[str]) -> Check:
    return "tests by hand", lambda: _pytest(tests)


def speaking_of(name: str, text: str) -> list[str]:
    """The tests in a file's ``text`` in which an op is called or named.

    Also those which read a table or call a helper of the same file that does.
    """
    said = re.compile(rf"(\b(tt|ops)\.|[\w)\]]\.|[\"']){name}(\dd)?\b")  # conv is conv2d too
    parts: dict[str, str] = {}
    for node in ast.parse(text).body:
        lines = text.splitlines()[_first_line(node) - 1 : node.end_lineno]
        for defined in _defined(node):
            parts[defined] = "\n".join(lines)
    helpers = [n for n, part in parts.items() if not n.startswith("test_") and said.search(part)]
    uses = re.compile("|".join([said.pattern, *(rf"\b{h}\b" for h in helpers)]))
    return [n for n, part in parts.items() if n.startswith("test_") and uses.search(part)]


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [t.id for t in targets if isinstance(t, ast.Name)]


def _pytest(tests: list[str]) -> None:
    if not tests:
        return
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-k", "not strict", *tests])
    # no tests are left where all of them are about other devices
    assert status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), quiet.getvalue()


def of_engine() -> list[Check]:
    """What notices a fault in the engine: ops in which gradients meet, and the engine's tests."""
    ops = (OPS[name] for name in ("mul", "softmax", "layer_norm"))
    files = [str(TESTS / "tinytensor" / name) for name in ENGINE_TESTS]
    return [*chain.from_iterable(map(own, ops)), _hand(files)]


def further(op: Op) -> list[Check]:
    """What a fault has to get past that the op's own checks do not catch."""
    return [*sound(at_edges(op)), *sound(by_torch(op)), *by_hand(op)]


def at_edges(op: Op) -> Iterator[Check]:
    """Derivatives to fourth order at special points, and the tables of docs/limits.md."""
    for name, case in test_special_points.CASES.items():
        if op.name in test_special_points.ops_of(case):
            yield (
                "special points",
                lambda n=name: test_special_points.test_derivatives_at_special_points(n),
            )
    named = re.compile(rf"\b{op.name}\b")
    for rows, test in test_limits.ROWS:
        for row in rows:
            if named.search(row[0]):
                yield "limits", lambda test=test, row=row: test(row)


def sound(checks: Iterable[Check]) -> list[Check]:
    """Those checks that pass while there is no fault: only they can tell anything."""
    return [check for check in checks if caught_by([check]) is None]


def caught_by(checks: Iterable[Check]) -> str | None:
    """The name of the first check that fails, None where all pass."""

    def stop(*_: Any) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for name, run in checks:
            signal.alarm(SECONDS)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    run()
            except (AssertionError, ValueError) as error:
                # what fails inside backward comes from the engine, what is compared from a test
                return name if isinstance(error, AssertionError) else f"{name} (error)"
            except Exception:
                return f"{name} (error)"
            finally:
                signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    return None
