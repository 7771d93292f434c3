"""docs/limits.md: every number in its tables, and that no elementwise op is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define import op as registry

from ..helpers import host

pytestmark = pytest.mark.usefixtures("device")

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "limits.md").read_text(encoding="utf-8")
SIGNS = {"∞": "inf", "π": "pi", "√½": "0.5 ** 0.5", "½": "0.5", "NaN": "nan", "⁻¹": ""}


@pytest.fixture(autouse=True)
def _edges_are_meant() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def tables() -> dict[str, list[list[str]]]:
    """The rows of each table, by the heading above it."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| `"):
            found.setdefault(heading, []).append([c.strip() for c in line.strip("|").split("|")])
    return found


TABLES = tables()
INFINITE, SEVERAL, KINKS, UNCHOSEN = TABLES.values()


def numbers(cell: str) -> list[float]:
    """ "-∞, ½" as numbers."""
    for sign, text in SIGNS.items():
        cell = cell.replace(sign, text)
    names = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
    return [float(eval(part, {}, names)) for part in cell.split(",")]


def leaf(cell: str) -> tt.Tensor:
    return tt.tensor(np.array(numbers(cell)), requires_grad=True)


def run(call: str, **variables: tt.Tensor) -> tt.Tensor:
    """The call of a row; lists in it are float64 tensors, or ids where they hold integers."""
    source = call.strip("`")
    source = re.sub(r"(\[+[-\d.inf, \[\]]*\.\d[-\d.inf, \[\]]*\]+)(?!\()", r"wide(\1)", source)
    source = source.replace("embedding([0, 1]", "embedding(tensor([0, 1])")
    source = re.sub(r"cross_entropy\(x, (\d)\)", r"cross_entropy(x, tensor(\1))", source)
    names = {name: getattr(tt, name) for name in dir(tt)}
    names |= {"inf": math.inf, "wide": lambda v: tt.tensor(v, dtype="float64"), "where": tt.where}
    return eval(source, {"__builtins__": {}}, names | variables)


def gradients(y: tt.Tensor, *leaves: tt.Tensor, graph: bool = False) -> list[Any]:
    found = tt.grad(y.sum(), leaves, None, True, graph, allow_unused=True)
    return [tt.zeros_like(x) if g is None else g for g, x in zip(found, leaves, strict=True)]


def same(got: Any, cell: str) -> None:
    np.testing.assert_allclose(host(got).reshape(-1), numbers(cell), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("row", INFINITE, ids=lambda row: row[0].strip("`"))
def test_at_infinity_and_nan(row: list[str]) -> None:
    for at, value, slope in zip(("-∞", "∞", "NaN"), row[1::2], row[2::2], strict=True):
        x = leaf(at)
        y = run(row[0], x=x)
        same(y, value)
        same(gradients(y, x)[0], slope)
        same(gradients(y, x, graph=True)[0], slope)


#: (call, where) of each slope that has a limit: what approaches a line has no curvature
STRAIGHT = [
    (row[0], at)
    for row in INFINITE
    for at, value, slope in (("-∞", *row[1:3]), ("∞", *row[3:5]))
    if "NaN" not in (value, slope) and "∞" not in slope
]


@pytest.mark.parametrize(("call", "at"), STRAIGHT)
def test_where_the_slope_has_a_limit_higher_derivatives_vanish(call: str, at: str) -> None:
    x = leaf(at)
    (g,) = gradients(run(call, x=x), x, graph=True)
    for _ in range(3):
        if not g.requires_grad:
            break
        (g,) = gradients(g, x, graph=True)
        same(g, "0")


@pytest.mark.parametrize("row", SEVERAL, ids=lambda row: f"{row[0]} at {row[1]}; {row[2]}")
def test_several_operands(row: list[str]) -> None:
    call, *operands = row[:3]
    leaves = {name: leaf(cell) for name, cell in zip("xy", operands, strict=True) if cell}
    y = run(call, **leaves)
    same(y, row[3])
    for graph in (False, True):
        for g, cell in zip(gradients(y, *leaves.values(), graph=graph), row[4:6], strict=False):
            same(g, cell)


@pytest.mark.parametrize("row", KINKS, ids=lambda row: row[0].strip("`"))
def test_kinks(row: list[str]) -> None:
    call, at, value, slope, curvature = row
    x = leaf(at)
    y = run(call, x=x)
    same(y, value)
    same(gradients(y, x)[0], slope)
    (g,) = gradients(y, x, graph=True)
    same(g, slope)
    same(gradients(g, x)[0] if g.requires_grad else tt.zeros(1), curvature)


@pytest.mark.parametrize("row", UNCHOSEN, ids=lambda row: row[0].strip("`"))
def test_what_was_not_chosen(row: list[str]) -> None:
    call, at, value, gradient = row
    x = leaf(at)
    y = run(call, x=x)
    same(y, value)
    same(gradients(y, x)[0], gradient)


#: the rows of each table, and the test of one of them
ROWS = [
    (INFINITE, test_at_infinity_and_nan),
    (SEVERAL, test_several_operands),
    (KINKS, test_kinks),
    (UNCHOSEN, test_what_was_not_chosen),
]


def test_no_elementwise_op_is_missing() -> None:
    named = set(re.findall(r"\w+(?=\()", " ".join(row[0] for row in INFINITE)))
    # what moves elements, or looks at several of them
    others = {"alias", "copy", "flip", "squeeze", "tril", "triu", "softmax", "log_softmax"}
    missing = []
    for name, op in registry.OPS.items():
        usual = op.differentiable and len(op.inputs) == 1 and not op.required and not op.variadic
        if not usual or name in named | others or name not in tt.__all__:
            continue
        x = tt.tensor([[0.5, 0.7, 0.6], [0.4, 0.3, 0.2]])
        try:
            y = op(x)
        except (ValueError, TypeError, IndexError):
            continue  # of matrices, or along an axis
        if isinstance(y, tt.Tensor) and y.shape == x.shape:
            missing.append(name)
    assert not missing
