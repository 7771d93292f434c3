"""The engine in the page against ours: every op, random graphs, and what an element is made of."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.op import OPS

from .random_graphs import random_graph
from .recorded import Graph

SOURCES = Path(__file__).resolve().parents[2] / "tinytensor" / "pages" / "src"

PAGE = """<!doctype html><html lang="en"><title>engine</title><link rel="icon" href="data:,">
<script type="module">
import * as engine from "./engine/engine.js";
import { explainElement } from "./engine/provenance.js";
import { RULES } from "./engine/rules.js";
import { array } from "./engine/arrays.js";
window.engine = {
  ...engine,
  explainElement,
  names: () => Object.keys(RULES),
  applyAll: cases => cases.map(([op, given, params]) => {
    const inputs = given.map(([shape, items]) => array(shape, Float64Array.from(items)));
    const out = RULES[op].forward(inputs, params);
    return [out.shape, Array.from(out.data)];
  }),
  recomputeAll: cases => cases.map(([data, edits]) => engine.recompute(data, edits)),
  differencesOfAll: cases => cases.map(
    ([data, edits, ids]) => ids.map(id => engine.finiteDifferences(data, edits, id))),
};
</script>"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves the sources and one page that loads them; browsers load no modules from files."""

    def do_GET(self) -> None:
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def call(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """``call(name, *arguments)`` calls a function of the engine in a browser."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SOURCES))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    page = open_page(address, allow=address)
    page.wait_for_function("window.engine")

    def call(name: str, *arguments: Any) -> Any:
        return page.evaluate("([name, given]) => window.engine[name](...given)", [name, arguments])

    yield call
    server.shutdown()
    server.server_close()


# -- comparing --------------------------------------------------------------------------------

WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def numbers(items: Any) -> np.ndarray:
    return np.array([WORDS[x] if isinstance(x, str) else x for x in items], float)


def close(got: Any, want: Any, where: str, rtol: float = 1e-9) -> int:
    """A flat list of the page against one of ours, either may be None; 1 where there are numbers."""
    assert (got is None) == (want is None), f"{where}: {got} where {want} was expected"
    if want is None:
        return 0
    expected = numbers(want)
    finite = np.abs(expected[np.isfinite(expected)])
    atol = rtol * 1e-2 * max(1.0, float(finite.max(initial=0)))
    np.testing.assert_allclose(numbers(got), expected, rtol, atol, err_msg=where)
    return 1


def compare(want: dict[str, Any], got: dict[str, Any], story: str, rtol: float = 1e-9) -> int:
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
        count += close(mine["data"], value["data"], f"data {where}", rtol)
        if value["needs_grad"]:
            count += close(mine["grad"], value["grad"], f"gradient {where}", rtol)
    for n, (step, mine) in enumerate(zip(want["steps"], got["steps"], strict=True)):
        if step["view"] in got["stale"]:
            continue
        for k in range(len(step["inputs"])):
            where = f"{k} of step {n} ({step['op']}) in {story}"
            count += close(mine["terms"][k], step["terms"][k], f"term {where}", rtol)
            local = step["local"][k]
            if local is not None and ruled(step):
                assert mine["local"][k]["kind"] == local["kind"]
                count += close(mine["local"][k]["data"], local["data"], f"local {where}", rtol)
    return count


def ruled(step: dict[str, Any]) -> bool:
    """Whether the page has a rule of its own for the op; others are computed by what is inside."""
    return step["op"] not in LEFT_OUT


def all_of(cases: list[tuple[dict[str, Any], str]], found: list[Any]) -> int:
    """:func:`compare` for each, the numbers added up; all that differ are told at once."""
    count, wrong = 0, []
    for (want, story), got in zip(cases, found, strict=True):
        try:
            count += compare(want, got, story)
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
    "interpolate_grad", "pad", "pad_grad", "unfold", "overlap_add", "polygamma", "digamma", "lgamma",
    "erfinv", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "nonzero",
    "linear_recurrence", "logcumsumexp", "diff", "quantile", "getitem_grad", "embedding_grad",
    "index_set", "index_add_at", "scatter_add",
}  # fmt: skip


def sample_graphs(name: str) -> Iterator[Graph]:
    """The op's samples; the gradients that arrive are random."""
    op, rng = OPS[name], np.random.default_rng(0)
    for sample in op.samples():
        given = list(sample.args)
        if op.variadic:
            operands, rest = list(given[0]), given[1:]
        else:
            operands, rest = given[: op.arity], given[op.arity :]
            operands += [sample.kwargs.get(n) for n in op.inputs[len(operands) :]]
        params = op.defaults | dict(zip(op.setting_names, rest, strict=False))
        params |= {k: v for k, v in sample.kwargs.items() if k in op.setting_names}
        leaves = [x for x in operands if x is not None]
        places = iter(range(len(leaves)))
        inputs = [None if x is None else next(places) for x in operands]
        made = [x for x in Graph(leaves).try_out(name, inputs, **params) if x.tracked]
        weights = [np.asarray(rng.standard_normal(x.shape)) for x in made]
        if not made:
            continue
        if len(made) == 1:
            graph = Graph(leaves, seed=weights[0])
            outs = graph.add(name, inputs, **params)
            if len(outs) > 1:  # the positions of a sort, say
                graph.seed = None
                graph.add("mul", [outs[0], outs[0]])
        else:
            graph = Graph([*leaves, *weights])
            outs = graph.add(name, inputs, **params)
            totals = []
            for n, i in zip(range(len(weights)), outs, strict=False):
                (scaled,) = graph.add("mul", [i, len(leaves) + n])
                totals += graph.add("sum", [scaled], axis=None, keepdims=False)
            while len(totals) > 1:
                totals = [*graph.add("add", totals[:2]), *totals[2:]]
        yield graph


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
            cases.append(
                [name, [(list(a.shape), a.reshape(-1).tolist()) for a in arrays], params]
            )
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
    count += all_of(edited, found)
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
