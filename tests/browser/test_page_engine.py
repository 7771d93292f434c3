"""The engine in the page against ours: every op on its samples and at its edges, random graphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.op import OPS

from .random_graphs import random_graph
from .recorded import Graph, numbers, page_data, sample_graphs

# -- comparing --------------------------------------------------------------------------------


def close(got: Any, want: Any, where: str, rtol: float = 1e-9) -> int:
    """A flat list of the page against ours, either may be None; 1 where there are numbers."""
    assert (got is None) == (want is None), f"{where}: {got} where {want} was expected"
    if want is None:
        return 0
    expected = numbers(want)
    finite = np.abs(expected[np.isfinite(expected)])
    atol = rtol * 1e-2 * max(1.0, float(finite.max(initial=0)))
    np.testing.assert_allclose(numbers(got), expected, rtol, atol, err_msg=where)
    return 1


def compare(want: dict[str, Any], got: dict[str, Any], story: str, edited: bool = False) -> int:
    """Every value, gradient, local derivative and term; how many lists were compared."""
    assert "values" in got, f"{story}: {got}"
    stale = [want["views"][view] for view in got["stale"]]
    inside = {
        i for view in stale for i in {*view["values"]} - {*view["entering"]} - {*view["leaving"]}
    }
    count = 0
    for i, (value, mine) in enumerate(zip(want["values"], got["values"], strict=True)):
        if i in inside:
            assert mine["data"] is mine["grad"] is None
            continue
        where = f"of value {i} {value['name']} {value['shape']} in {story}"
        if value["data"] is not None:  # the page knows a large constant of a reference, we do not
            count += close(mine["data"], value["data"], f"data {where}")
        if value["needs_grad"]:
            count += close(mine["grad"], value["grad"], f"gradient {where}")
    for n, (step, mine) in enumerate(zip(want["steps"], got["steps"], strict=True)):
        if step["view"] in got["stale"]:
            continue
        for k in range(len(step["inputs"])):
            where = f"{k} of step {n} ({step['op']}) in {story}"
            count += close(mine["terms"][k], step["terms"][k], f"term {where}")
            local = step["local"][k]
            if local is not None and ruled(step):
                if mine["local"][k]["kind"] != local["kind"]:
                    assert edited, where  # 1 / 1 x is diagonal, and not where x has become 0
                    continue
                count += close(mine["local"][k]["data"], local["data"], f"local {where}")
    return count


def ruled(step: dict[str, Any]) -> bool:
    """Whether the page has a rule of its own for the op; others are computed by what is inside."""
    return step["op"] not in LEFT_OUT


def all_of(cases: list[tuple[dict[str, Any], str]], found: list[Any], edited: bool = False) -> int:
    """:func:`compare` for each, the numbers added up; all that differ are told at once."""
    count, wrong = 0, []
    for (want, story), got in zip(cases, found, strict=True):
        try:
            count += compare(want, got, story, edited)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, f"{len(wrong)} of {len(cases)}: " + "\n".join(wrong[:20])
    return count


def edits_between(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """The elements of the graph's own leaves that differ."""
    assert [v["shape"] for v in before["values"]] == [v["shape"] for v in after["values"]]
    found = []
    for i in before["views"][0]["values"]:
        old, new = before["values"][i], after["values"][i]
        if old["role"] == "computed":
            continue
        for n, (x, y) in enumerate(zip(old["data"], new["data"], strict=True)):
            if x != y:
                found.append({"value": i, "index": n, "number": y})
    return found


# -- each op by itself ------------------------------------------------------------------------

#: what the page leaves to the steps inside of an op, or cannot do at all
LEFT_OUT = {
    "det", "ctc_loss", "gru", "rnn", "lstm", "solve", "triangular_solve", "inv", "cholesky",
    "slogdet", "svd", "svdvals", "eigh", "eigvalsh", "qr", "pinv", "conv", "conv_transpose",
    "conv_weight_grad", "max_pool", "avg_pool", "avg_pool_grad", "pool_put", "pool_pick",
    "adaptive_max_pool", "adaptive_avg_pool", "adaptive_avg_pool_grad", "interpolate",
    "interpolate_grad", "pad", "pad_grad", "unfold", "overlap_add", "polygamma", "digamma",
    "lgamma", "erfinv", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "nonzero",
    "linear_recurrence", "logcumsumexp", "diff", "quantile", "getitem_grad", "embedding_grad",
    "index_set", "index_add_at", "scatter_add",
}  # fmt: skip


def test_each_op_on_its_samples(call: Callable[..., Any]) -> None:
    known = set(call("names"))
    assert known | LEFT_OUT >= set(OPS), f"neither here nor left out: {set(OPS) - known - LEFT_OUT}"
    assert not known & LEFT_OUT
    names = [name for name in sorted(known) if OPS[name].differentiable]
    with np.errstate(all="ignore"):
        graphs = [graph for name in names for graph in sample_graphs(name)]
        cases = [(graph.data(graph.leaves), str(graph)) for graph in graphs]
    assert {step["op"] for data, _ in cases for step in data["steps"]} >= set(names)
    count = all_of(cases, call("recomputeAll", [(data, []) for data, _ in cases]))
    assert len(cases) > 600 and count > 3000, (len(cases), count)


def test_comparisons_and_positions(call: Callable[..., Any]) -> None:
    """Ops without a gradient stand in no graph; their rules are asked by themselves."""
    cases, want = [], []
    for name in sorted(set(call("names"))):
        if OPS[name].differentiable:
            continue
        for sample in OPS[name].samples():
            op, given = OPS[name], list(sample.args)
            params = op.defaults | dict(zip(op.setting_names, given[op.arity :], strict=False))
            params |= sample.kwargs
            arrays = [np.asarray(x) for x in given[: op.arity]]
            cases.append([name, [(list(a.shape), a.reshape(-1).tolist()) for a in arrays], params])
            want.append(op(*map(tt.tensor, arrays), **params).data)
    for case, array, (shape, items) in zip(cases, want, call("applyAll", cases), strict=True):
        assert shape == list(array.shape), case
        assert items == array.astype(float).reshape(-1).tolist(), case
    assert len(cases) > 100


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, -3.0, 6.0, 20.0, -20.0, 700.0, -800.0, 1e-9,
         math.inf, -math.inf, math.nan]  # fmt: skip


@pytest.mark.parametrize("seed", [1.0, 0.0])
def test_elementwise_ops_at_their_edges(call: Callable[..., Any], seed: float) -> None:
    """Kinks, ties, infinities and NaN of one operand, and of all pairs of two."""
    x = np.array(EDGES)
    pairs = [np.repeat(x, len(x)), np.tile(x, len(x))]
    cases = []
    for name in sorted(call("names")):
        op = OPS[name]
        if op.variadic or name in ("matmul", "prelu", "atan2", "to_device", "astype", "one_hot"):
            continue
        operands = {1: [x], 2: pairs}.get(op.arity)
        settings: dict[str, Any] = {"clip": {"low": -1.0, "high": 3.0}}.get(name, dict(op.defaults))
        if operands is None or op.required or {"axis", "reduction"} & set(settings):
            continue
        if name == "binary_cross_entropy":
            continue
        shape = operands[0].shape
        graph = Graph(operands, seed=np.full(shape, seed))
        with np.errstate(all="ignore"):
            try:
                (out,) = graph.try_out(name, range(op.arity), **settings)
            except (ValueError, TypeError):
                continue
            if out.shape == shape and out.tracked:
                graph.add(name, range(op.arity), **settings)
                cases.append((graph.data(graph.leaves), str(graph)))
    all_of(cases, call("recomputeAll", [(data, []) for data, _ in cases]))
    assert len(cases) > 60, [story for _, story in cases]


def test_random_graphs(call: Callable[..., Any]) -> None:
    """Values, gradients, local derivatives and terms of 320 graphs, as they are and after edits;
    and central differences."""
    rng = np.random.default_rng(20)
    plain, edited, asked, smooth_grads, sizes, ops = [], [], [], [], [], set()
    for n in range(320):
        graph, smooth = random_graph(np.random.default_rng(n))
        data, story = graph.data(graph.leaves), f"graph {n}: {graph}"
        leaves = [x.copy() if isinstance(x, np.ndarray) else x for x in graph.leaves]
        for x in leaves:
            if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size:
                x.flat[rng.integers(x.size)] += rng.uniform(-0.02, 0.02)
        after = graph.data(leaves)
        plain.append((data, story))
        edited.append((after, story))
        edits = edits_between(data, after)
        ids = [i for i, v in enumerate(after["values"]) if v["role"] == "input" and v["needs_grad"]]
        asked.append((data, edits, ids if smooth else []))
        smooth_grads.append([after["values"][i]["grad"] for i in ids] if smooth else [])
        sizes.append(len(graph.steps))
        ops |= {step["op"] for step in data["steps"]}
    count = all_of(plain, call("recomputeAll", [(data, []) for data, _ in plain]))
    found = call("recomputeAll", [(data, edits) for data, edits, _ in asked])
    count += all_of(edited, found, edited=True)
    assert sum(len(got["stale"]) for got in found) == 0
    differences = 0
    for lists, grads, (_, story) in zip(
        call("differencesOfAll", asked), smooth_grads, edited, strict=True
    ):
        for got, grad in zip(lists, grads, strict=True):
            differences += close(got, grad, f"differences in {story}", 1e-5)
    assert min(sizes) >= 3 and max(sizes) >= 20 and count > 20_000 and differences > 200, (
        f"{len(sizes)} graphs of {min(sizes)} to {max(sizes)} steps, {count} lists, {differences}"
    )
    assert len(ops) > 80, sorted(ops)


def test_what_is_not_known_is_said(call: Callable[..., Any]) -> None:
    """Ops without a rule, settings and values that the page does not have, and edits of none."""
    x = tt.tensor(np.array([[2.0, 1.0], [0.5, 3.0]]), requires_grad=True, name="x")
    data = page_data(tt.inv(x).sum())
    assert call("recompute", data, []) == {"unsupported": ["inv"]}
    assert call("finiteDifferences", data, [], 0) == {"unsupported": ["inv"]}
    data = page_data((x * x).sum())
    data["steps"][0]["params"] = None
    assert call("recompute", data, []) == {"unsupported": ["mul"]}
    data = page_data((x * x).sum())
    (i,) = (i for i, v in enumerate(data["values"]) if v["name"] == "x")
    edit = {"value": i, "index": 4, "number": 1.0}
    with pytest.raises(Exception, match="expected an element of an input, got value .*, index 4"):
        call("recompute", data, [edit])
    data["values"][i]["data"] = None
    assert call("recompute", data, []) == {"missing": [i]}


def far_away(graph: Graph, changed: list[Any]) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The data before and after, and the edits between."""
    before, after = graph.data(graph.leaves), graph.data(changed)
    return before, after, edits_between(before, after)


def test_what_a_reference_keeps_constant_follows_edits(call: Callable[..., Any]) -> None:
    """Masks and maxima inside of fused ops are no steps of the graph: they are made anew."""
    x, y = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]), np.zeros((2, 3))
    turned = np.array([[-1.0, 5.0, 0.25], [3.0, -0.5, 2.0]])
    ids, other = np.array([2, 0]), np.array([1, 2])
    cases = []
    for op, leaves, changed, params in [
        ("relu", [x], [turned], {}),
        ("softmax", [x], [turned], {"axis": -1}),
        ("log_softmax", [x], [turned], {"axis": 0}),
        ("var", [np.ones((2, 3)), y], [2 * np.ones((2, 3)), y], {"axis": 1}),
        ("huber_loss", [x, y], [turned, y], {"delta": 1.5, "reduction": "sum"}),
        ("smooth_l1_loss", [x, y], [turned, y], {"beta": 1.5, "reduction": "none"}),
        ("cross_entropy", [x, ids], [turned, other], {"ignore_index": 7}),
        ("nll_loss", [x, ids], [turned, other], {"ignore_index": 7}),
    ]:
        graph = Graph(leaves)
        inputs = list(range(OPS[op].arity))
        inputs = [0] if op == "var" else [i if i < len(leaves) else None for i in inputs]
        graph.add(op, inputs, **(OPS[op].defaults | params))
        cases.append((*far_away(graph, changed), op))
    found = call("recomputeAll", [(before, edits) for before, _, edits, _ in cases])
    assert [got["stale"] for got in found] == [[]] * len(cases)
    assert all(len(before["views"]) > 1 for before, *_ in cases)
    all_of([(after, op) for _, after, _, op in cases], found, edited=True)


def test_inside_that_does_not_follow_is_stale(call: Callable[..., Any]) -> None:
    """silu of -∞ is 0; its reference makes -∞ · 0 there, which is none of the op's numbers."""
    graph = Graph([np.array([1.0, 2.0])])
    graph.add("silu", [0])
    data = graph.data(graph.leaves)
    got = call("recompute", data, [{"value": 0, "index": 0, "number": "-inf"}])
    inner = data["steps"][data["views"][0]["steps"][0]]["opens"]
    assert inner in got["stale"]
    assert got["values"][data["steps"][0]["outputs"][0]]["data"][0] == 0
    assert got["values"][0]["grad"][0] == 0
    inside = {*data["views"][inner]["values"]} - {0, *data["steps"][0]["outputs"]}
    assert inside and all(got["values"][i]["data"] is None for i in inside)
    steps = data["views"][inner]["steps"]
    assert all(got["steps"][i]["terms"] == [None] * len(data["steps"][i]["terms"]) for i in steps)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn"])
def test_ops_without_a_rule_are_computed_by_what_is_inside(
    call: Callable[..., Any], name: str
) -> None:
    rng = np.random.default_rng(3)
    cases = []
    for graph in sample_graphs(name):
        changed = [
            x + 0.3 * rng.standard_normal(x.shape) if isinstance(x, np.ndarray) else x
            for x in graph.leaves
        ]
        cases.append((*far_away(graph, changed), str(graph)))
    plain = [(before, []) for before, *_ in cases]
    after = [(before, edits) for before, _, edits, _ in cases]
    count = all_of([(before, story) for before, *_, story in cases], call("recomputeAll", plain))
    assert count > 100
    all_of([(a, story) for _, a, _, story in cases], call("recomputeAll", after), edited=True)
