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

from tinytensor.define.op import OPS

from .random_graphs import random_graph
from .recorded import Graph

SOURCES = Path(__file__).resolve().parents[2] / "tinytensor" / "pages" / "src"

PAGE = """<!doctype html><html lang="en"><title>engine</title><link rel="icon" href="data:,">
<script type="module">
import * as engine from "./engine/engine.js";
import { explainElement } from "./engine/provenance.js";
import { RULES } from "./engine/rules.js";
window.engine = {
  ...engine,
  explainElement,
  names: () => Object.keys(RULES),
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


def close(got: Any, want: Any, where: str, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """A flat list of the page against an array."""
    numbers = [
        {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[x] if isinstance(x, str) else x
        for x in got
    ]
    want = np.asarray(want, float).reshape(-1)
    np.testing.assert_allclose(np.array(numbers, float), want, rtol, atol, err_msg=where)


def compare(graph: Graph, leaves: list[Any], got: Any) -> int:
    """Every value, gradient and term of a graph; how many lists were compared."""
    assert "values" in got, f"{[s.op for s in graph.steps]}: {got}"
    want = graph.evaluated(leaves)
    story = " ".join(f"{s.outputs}={s.op}{s.inputs}{s.params or ''}" for s in graph.steps)
    count = 0
    for i, (value, mine) in enumerate(zip(want.values, got["values"], strict=True)):
        shape = getattr(value, "shape", ())
        scale = 1.0
        close(mine["data"], getattr(value, "data", value), f"value {i} {shape} in {story}")
        count += 1
        if getattr(value, "tracked", False):
            grad = value.grad
            assert (mine["grad"] is None) == (grad is None), f"gradient of {i} in {story}"
            if grad is not None:
                scale = max(1.0, float(np.nanmax(np.abs(grad.data), initial=0)))
                scale = scale if scale < math.inf else 1.0
                close(mine["grad"], grad.data, f"gradient of {i} in {story}", atol=1e-11 * scale)
                count += 1
    for n, (terms, mine) in enumerate(zip(want.terms, got["steps"], strict=True)):
        for k, (term, other) in enumerate(zip(terms, mine["terms"], strict=True)):
            where = f"term {k} of step {n} ({graph.steps[n].op}) in {story}"
            assert (term is None) == (other is None), where
            if term is not None:
                scale = max(1.0, float(np.nanmax(np.abs(term.data), initial=0)))
                scale = scale if scale < math.inf else 1.0
                close(other, term.data, where, atol=1e-11 * scale)
                count += 1
    return count


def all_of(graphs: list[Graph], found: list[Any]) -> list[int]:
    """:func:`compare` for each; all that differ are told at once."""
    counts, wrong = [], []
    for graph, got in zip(graphs, found, strict=True):
        try:
            counts.append(compare(graph, graph.leaves, got))
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
    return counts


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
        numbers = iter(range(len(leaves)))
        inputs = [None if x is None else next(numbers) for x in operands]
        trial = Graph(list(leaves))
        shapes = [
            value.shape
            for value in (trial.tensors()[i] for i in trial.add(name, inputs, **params))
            if value.tracked
        ]
        weights = [np.asarray(rng.standard_normal(shape)) for shape in shapes]
        if len(weights) < 2:
            graph = Graph(list(leaves), seed=weights[0] if weights else None)
            graph.add(name, inputs, **params)
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
    graphs = [graph for name in sorted(known & set(OPS)) for graph in sample_graphs(name)]
    with np.errstate(all="ignore"):
        found = call("recomputeAll", [(graph.data(), []) for graph in graphs])
        counts = all_of(graphs, found)
    assert len(graphs) > 600 and sum(counts) > 4000, (len(graphs), sum(counts))


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, -3.0, 6.0, 20.0, -20.0, 700.0, -800.0, 1e-9,
         math.inf, -math.inf, math.nan]  # fmt: skip


@pytest.mark.parametrize("seed", [1.0, 0.0])
def test_elementwise_ops_at_their_edges(call: Callable[..., Any], seed: float) -> None:
    """Kinks, ties, infinities and NaN of one operand, and of all pairs of two."""
    x = np.array(EDGES)
    pairs = [np.repeat(x, len(x)), np.tile(x, len(x))]
    graphs = []
    for name in sorted(set(call("names")) & set(OPS)):
        op = OPS[name]
        if op.variadic or name in ("matmul", "prelu", "atan2", "to_device", "astype", "one_hot"):
            continue
        operands = {1: [x], 2: pairs}.get(op.arity)
        settings = {"clip": {"low": -1.0, "high": 3.0}}.get(name, dict(op.defaults))
        if operands is None or op.required or {"axis", "reduction"} & set(settings):
            continue
        if name == "binary_cross_entropy":
            continue
        try:
            graph = Graph(
                operands, seed=np.full(x.shape if op.arity == 1 else pairs[0].shape, seed)
            )
            (out,) = graph.add(name, range(op.arity), **settings)
        except (ValueError, TypeError):
            continue
        if graph.tensors()[out].shape == operands[0].shape:
            graphs.append(graph)
    with np.errstate(all="ignore"):
        found = call("recomputeAll", [(graph.data(), []) for graph in graphs])
        all_of(graphs, found)
    assert len(graphs) > 60, [g.steps[0].op for g in graphs]


def test_random_graphs(call: Callable[..., Any]) -> None:
    """Values, gradients and terms of 320 graphs, as they are and after edits; and differences."""
    rng = np.random.default_rng(20)
    cases = []
    for n in range(320):
        graph, smooth = random_graph(np.random.default_rng(n))
        edited = [x.copy() if isinstance(x, np.ndarray) else x for x in graph.leaves]
        edits = []
        for i, x in enumerate(edited):
            if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size and rng.random() < 0.7:
                index = int(rng.integers(x.size))
                number = float(x.flat[index] + rng.uniform(-0.02, 0.02))
                x.flat[index] = number
                edits.append({"value": i, "index": index, "number": number})
        cases.append((graph, graph.data(), edits, edited, smooth))
    plain = call("recomputeAll", [(data, []) for _, data, *_ in cases])
    after = call("recomputeAll", [(data, edits) for _, data, edits, *_ in cases])
    count = 0
    for (graph, _, _, edited, _), got, later in zip(cases, plain, after, strict=True):
        count += compare(graph, graph.leaves, got) + compare(graph, edited, later)
    smooth = [case for case in cases if case[-1]]
    wanted = [
        [i for i, x in enumerate(g.leaves) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
        for g, *_ in smooth
    ]
    asked = [(c[1], c[2], ids) for c, ids in zip(smooth, wanted, strict=True)]
    differences = call("differencesOfAll", asked)
    for (graph, _, _, edited, _), ids, lists in zip(smooth, wanted, differences, strict=True):
        grads = graph.evaluated(edited).values
        for i, got in zip(ids, lists, strict=True):
            if (grad := grads[i].grad) is None:
                close(got, np.zeros(grads[i].shape), f"difference of {i}", atol=1e-9)
                continue
            scale = max(1.0, float(np.abs(grad.data).max(initial=0)))
            story = " ".join(f"{s.op}{s.inputs}{s.params}" for s in graph.steps)
            close(got, grad.data, f"difference of {i} in {story}", 1e-5, 1e-5 * scale)
    sizes = [len(g.steps) for g, *_ in cases]
    assert min(sizes) >= 3 and max(sizes) >= 20 and len(smooth) > 150 and count > 10_000
    assert len({step.op for g, *_ in cases for step in g.steps}) > 60
