"""What the page says an element was made of, against our derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from .random_graphs import random_graph
from .recorded import numbers, page_data, sample_graphs


def jacobian(data: dict[str, Any], step: dict[str, Any], operand: int) -> np.ndarray | None:
    """d out / d operand as a matrix, by our engine."""
    local = step["local"][operand]
    if local is None:
        return None
    if local["kind"] == "matrix":
        return numbers(local["data"]).reshape(local["rows"], local["columns"])
    out, x = (data["values"][i]["shape"] for i in (step["outputs"][0], step["inputs"][operand]))
    read = np.broadcast_to(np.arange(math.prod(x)).reshape(x), out).reshape(-1)
    made = np.zeros((math.prod(out), math.prod(x)))
    made[np.arange(len(read)), read] = numbers(local["data"])
    return made


def last_number(text: str) -> float:
    return float(text.rsplit(" = ", 1)[1].replace("−", "-").replace("∞", "inf"))


def test_explanations_name_what_the_derivative_reads(call: Callable[..., Any]) -> None:
    """Forward, every element of an operand that the output depends on is among the cells, and no
    other where the derivative is nowhere 0 by chance; backward likewise for what arrives; and
    the number at the end is the element itself."""
    rng = np.random.default_rng(5)
    exact = {"getitem", "transpose", "reshape", "concat", "embedding",
             "sum", "mean", "flip", "roll", "tile", "repeat", "split", "broadcast_to", "add",
             "sub", "neg", "stack", "swapaxes", "squeeze", "expand_dims"}  # fmt: skip
    cases = []
    for n in range(120):
        graph, _ = random_graph(np.random.default_rng(1000 + n))
        cases.append([graph.data(graph.leaves), []])
    for name in ("matmul", "linear", "einsum", "embedding", "softmax", "layer_norm", "mse_loss",
                 "getitem", "concat", "cross_entropy", "log_softmax"):  # fmt: skip
        cases += [[graph.data(graph.leaves), []] for graph in sample_graphs(name)]
    for data, asked in cases:
        for n, step in enumerate(data["steps"]):
            size = math.prod(data["values"][step["outputs"][0]]["shape"])
            if not size:
                continue
            asked.append([n, "forward", 0, int(rng.integers(size))])
            for k, value in enumerate(step["inputs"]):
                if value is not None and step["terms"][k]:
                    index = int(rng.integers(len(step["terms"][k])))
                    asked.append([n, "backward", k, index])
    counts = dict.fromkeys(("told", "matched", "exact"), 0)
    ops = set()
    for (data, asked), told in zip(cases, call("explainAll", cases), strict=True):
        for (n, side, k, index), got in zip(asked, told, strict=True):
            if got is None:
                continue
            step = data["steps"][n]
            ops.add(step["op"])
            counts["told"] += 1
            out = step["outputs"][0]
            where = f"{step['op']} {side} {k} {index}: {got}"
            want = step["terms"][k] if side == "backward" else data["values"][out]["data"]
            value = float(numbers(want)[index])
            assert last_number(got["numbers"]) == pytest.approx(
                value, rel=1e-3, abs=1e-9, nan_ok=True
            ), where
            cells = {(c["value"], c["of"], c["index"]) for c in got["cells"]}
            for place in [k] if side == "backward" else range(len(step["inputs"])):
                matrix = jacobian(data, step, place)
                if matrix is None or not np.isfinite(matrix).all():
                    continue
                if side == "forward":
                    reads = {
                        (step["inputs"][place], "data", int(j))
                        for j in np.flatnonzero(matrix[index])
                    }
                    mine = {c for c in cells if c[:2] == (step["inputs"][place], "data")}
                else:
                    reads = {(out, "grad", int(i)) for i in np.flatnonzero(matrix[:, index])}
                    mine = {c for c in cells if c[:2] == (out, "grad")}
                assert reads <= mine, where
                counts["matched"] += 1
                if step["op"] in exact and step["inputs"].count(step["inputs"][place]) == 1:
                    assert mine == reads, where
                    counts["exact"] += 1
    assert counts["told"] > 1500 and counts["matched"] > 1200 and counts["exact"] > 300, counts
    assert len(ops) > 70, sorted(ops)


def test_a_product_is_told_as_a_row_times_a_column(call: Callable[..., Any]) -> None:
    x = tt.tensor(np.array([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True, name="x")
    w = tt.tensor(np.array([[0.5, -1.0], [2.0, 0.0], [1.0, 1.0]]), requires_grad=True, name="W")
    b = tt.tensor(np.array([10.0, 20.0, 30.0]), requires_grad=True, name="b")
    data = page_data(tt.linear(x, w, b), tt.tensor(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])))
    ids = {v["name"]: i for i, v in enumerate(data["values"])}
    asked = [
        [0, "forward", 0, 4],
        [0, "backward", 0, 3],
        [0, "backward", 1, 1],
        [0, "backward", 2, 2],
    ]
    forward, dx, dw, db = call("explainAll", [[data, asked]])[0]
    out = data["steps"][0]["outputs"][0]
    assert forward["formula"] == "out[i,j] = Σₖ x[i,k] · W[j,k] + b[j]"
    assert forward["numbers"] == "out[1,1] = 3 · 2 + 4 · 0 + 20 = 26"
    assert forward["cells"] == [
        {"value": ids["x"], "of": "data", "index": 2, "as": "row"},
        {"value": ids["x"], "of": "data", "index": 3, "as": "row"},
        {"value": ids["W"], "of": "data", "index": 2, "as": "row"},
        {"value": ids["W"], "of": "data", "index": 3, "as": "row"},
        {"value": ids["b"], "of": "data", "index": 1},
    ]
    assert dx["formula"] == "dx[i,k] = Σⱼ g[i,j] · W[j,k]"
    assert dx["numbers"] == "dx[1,1] = 4 · (−1) + 5 · 0 + 6 · 1 = 2"
    assert dw["formula"] == "dW[j,k] = Σᵢ g[i,j] · x[i,k]"
    assert dw["numbers"] == "dW[0,1] = 1 · 2 + 4 · 4 = 18"
    assert [(c["value"], c["of"], c["index"], c["as"]) for c in dw["cells"]] == [
        (out, "grad", 0, "column"), (out, "grad", 3, "column"),
        (ids["x"], "data", 1, "column"), (ids["x"], "data", 3, "column"),
    ]  # fmt: skip
    assert db["numbers"] == "db[2] = 3 + 6 = 9"


def test_pieces_know_where_they_came_from(call: Callable[..., Any]) -> None:
    """Of an op with several results, of which one is not read."""
    x = tt.tensor(np.arange(6.0), requires_grad=True, name="x")
    first, _, last = tt.split(x, 2)
    data = page_data((last * last).sum() + first.sum())
    (n,) = (i for i, step in enumerate(data["steps"]) if step["op"] == "split")
    one, two = data["steps"][n]["outputs"]
    asked = [[n, "forward", 0, 1, one], [n, "forward", 0, 1, two]]
    asked += [[n, "backward", 0, 0], [n, "backward", 0, 3], [n, "backward", 0, 5]]
    told = call("explainAll", [[data, asked]])[0]
    assert [got["formula"] for got in told] == [
        "out[1] = x[1]", "out[1] = x[5]", "dx[0] = g[0]", "dx[3] = 0", "dx[5] = g[1]",
    ]  # fmt: skip
    assert [got["numbers"] for got in told[1:]] == [
        "out[1] = 5", "dx[0] = 1", "dx[3] = 0", "dx[5] = 10",
    ]  # fmt: skip
    assert told[4]["cells"] == [{"value": two, "of": "grad", "index": 1}]
