"""Pictures at the level of ops: statistics, what is not known, flags, one module alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.draw.picture import Picture, Value
from tinytensor.draw.zooms.statistics import Looked, look, pooled
from tinytensor.shown.statistics import measured

from .dotgraph import Graph, leaf, parse

RED = '"#c5281c"'


def called(*given: Any, **how: Any) -> Graph:
    return parse(tt.draw(*given, **how).source)


def value(picture: Picture, name: str) -> Value:
    (found,) = [v for v in picture.values() if v.name == name]
    return found


# ---- statistics ----------------------------------------------------------------------------------


def test_statistics_are_numpys() -> None:
    x = np.random.default_rng(0).normal(3, 2, (5, 7)).astype(np.float32)
    stats = measured(x)
    assert stats is not None
    found = [stats.mean, stats.std, stats.low, stats.high, stats.rms]
    wide = x.astype(np.float64)
    expected = [wide.mean(), wide.std(), wide.min(), wide.max(), np.sqrt((wide**2).mean())]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (stats.zero, stats.bad, stats.size) == (0, 0, 35)


def test_statistics_leave_out_what_is_no_number_and_count_it() -> None:
    stats = measured(np.array([0.0, np.nan, 4.0, np.inf, -np.inf, 0.0, 2.0]))
    assert stats is not None
    assert (stats.mean, stats.low, stats.high) == (1.5, 0, 4)
    assert (stats.bad, stats.size, stats.zero) == (3, 7, 2 / 7)
    nothing = measured(np.array([np.nan]))
    assert nothing is not None
    assert np.isnan(nothing.mean)
    assert measured(np.empty((0, 3))) is None
    assert look(None) is None


def test_the_largest_numbers_do_not_overflow() -> None:
    stats = measured(np.array([1e308, -1e308, 1e308]))
    assert stats is not None
    assert stats.std == pytest.approx(np.std([1, -1, 1]) * 1e308)
    assert stats.rms == pytest.approx(1e308)
    both = pooled([Looked(stats, None), Looked(measured(np.array([-1e200])), None)])
    assert both is not None and both.stats is not None
    assert both.stats.std == pytest.approx(np.std([1, -1, 1, 0]) * 1e308)
    assert both.stats.rms == pytest.approx(np.sqrt(3 / 4) * 1e308)
    with np.errstate(all="raise"):
        small = measured(np.array([1e200, 1e-320, 0.0]))
    assert small is not None and small.low == 0.0


def test_statistics_of_several_are_those_of_all_numbers() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.normal(i, 1 + i, (4, 5)) for i in range(3)]
    parts[1][0, 0] = np.nan
    together = pooled([Looked(measured(part), None) for part in parts])
    whole = measured(np.concatenate(parts))
    assert together is not None
    assert together.stats is not None
    assert whole is not None
    for key in ("mean", "std", "low", "high", "rms", "zero", "bad", "size"):
        assert getattr(together.stats, key) == pytest.approx(getattr(whole, key)), key
    assert pooled([Looked(measured(parts[0]), None), None]) is None


def test_every_tensor_of_a_function_has_its_statistics() -> None:
    x = np.linspace(-1, 1, 20).astype(np.float32)
    graph = called(lambda x: (tt.exp(x) * 2.0).sum(), x, zoom="ops")
    e = np.exp(x)
    words = f"data {e.mean():.3g} ± {e.std():.3g}, {e.min():.3g} … {e.max():.3g} grad all 2"
    assert f"(20,) float32 {words}" in graph.texts()
    g = 2 * e
    assert graph.find("x").text.endswith(
        f"grad {g.mean():.3g} ± {g.std():.3g}, {g.min():.3g} … {g.max():.3g}"
    )
    assert not any("not known" in text for text in graph.texts())


def test_small_tensors_show_their_numbers_not_statistics() -> None:
    assert called(lambda x: (x * x).sum(), np.arange(3.0), zoom="ops").find("x").text == (
        "x (3,) float64 data 0.0 1.0 2.0 grad 0.0 2.0 4.0"
    )


# ---- what is not known ---------------------------------------------------------------------------


def test_what_the_graph_does_not_have_is_not_known_and_never_made_up() -> None:
    x = leaf(np.linspace(0, 1, 20), "x")
    y = x + 1.0
    y.name = "y"
    (y * y).sum().backward()
    drawing = tt.draw(y, zoom="ops")
    graph = parse(drawing.source)
    assert graph.find("y").text == "y (20,) float64 data not known grad not known"
    assert "0.5 ± 0.303" in graph.find("x").text
    assert "3 ± 0.607, 2 … 4" in graph.find("x").text, "the gradient of a leaf is there"
    assert "not known: the graph does not have these numbers (any more)" in drawing.source


def test_what_is_kept_for_backward_is_known_until_it_is_freed() -> None:
    x = leaf(np.linspace(0, 1, 20), "x")
    y = x + 1.0
    y.name = "y"
    out = (y * y).sum()
    assert "1.5 ± 0.303, 1 … 2" in called(out, zoom="ops").find("y").text
    out.backward()
    assert "data not known" in called(out, zoom="ops").find("y").text


def test_what_was_written_to_since_is_not_shown_as_what_was_read() -> None:
    w = leaf(np.ones(20), "w")
    out = (w * 2.0).sum()
    with tt.no_grad():
        w += 1.0
    text = called(out, zoom="ops").find("w").text
    assert "changed since" in text
    assert "data not known" in text
    assert "all 2" not in text


def test_gradients_of_another_backward_are_not_shown() -> None:
    w = leaf(np.ones(20), "w")
    (w * 3.0).sum().backward()
    drawing = tt.draw((w * 2.0).sum(), zoom="ops")
    assert "grad" not in parse(drawing.source).find("w").text
    assert "no gradients: draw after backward" in drawing.source


def test_before_backward_no_gradients_are_spoken_of() -> None:
    graph = called((leaf(np.ones(20), "w") * 2.0).sum(), zoom="ops")
    assert graph.find("w").text == "w (20,) float64 data all 1"


# ---- what is strange -----------------------------------------------------------------------------


class Deep(nn.Module):
    def __init__(self, act: Any, scale: float = 1.0, depth: int = 10) -> None:
        self.layers = nn.ModuleList([nn.Linear(20, 20) for _ in range(depth)])
        self.act = act
        with tt.no_grad():
            for layer in self.layers:
                layer.weight *= scale

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for layer in self.layers:
            x = self.act(layer(x))
        return (x**2).mean()


def rows(n: int = 32, width: int = 20) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, width)).astype(np.float32)


def test_dead_units_are_counted_over_many_rows() -> None:
    layer = nn.Linear(20, 8)
    with tt.no_grad():
        layer.bias[:3] = -1000.0

    def f(x: tt.Tensor) -> tt.Tensor:
        return tt.relu(layer(x)).sum()

    graph = called(f, rows(), zoom="ops")
    (box,) = [n for n in graph.nodes.values() if "units" in n.text]
    assert box.text.endswith("3 of 8 units 0 in all 32 rows")
    assert box.attributes["color"] == RED
    assert not any("units" in text for text in called(f, rows(8), zoom="ops").texts())


def test_zeros_that_no_rectifier_made_are_not_dead() -> None:
    def f(x: tt.Tensor) -> tt.Tensor:
        return (x * np.zeros(20, np.float32)).sum()

    assert not any("units" in text for text in called(f, rows(), zoom="ops").texts())


def test_vanishing_gradients_are_told_with_their_ratio() -> None:
    tt.manual_seed(0)
    model = Deep(tt.sigmoid)
    picture = tt.draw(model, rows(), zoom="ops").picture
    weights = [value(picture, f"layers.{i}.weight") for i in range(10)]
    assert "vanishing" in weights[0].flags
    assert not weights[9].flags
    results = [v for s in picture.steps for v in s.outputs if v.stats is not None]
    end = next(v for v in reversed(results) if v.stats.size > 1).grad_stats
    assert end is not None
    assert weights[0].grad_stats is not None
    ratio = weights[0].grad_stats.rms / end.rms
    assert ratio < 1e-4
    assert weights[0].flags == {"vanishing": f"gradient {ratio:.0e} of that at the end"}


def test_exploding_gradients_are_told() -> None:
    picture = tt.draw(Deep(lambda x: x * 1.0, 12.0), rows(), zoom="ops").picture
    flags = value(picture, "layers.0.weight").flags
    assert list(flags) == ["exploding"]
    assert "times that at the end" in flags["exploding"]


def test_a_sound_network_has_no_flags() -> None:
    tt.manual_seed(0)
    model = models.build("gpt", vocab_size=11, block_size=8, n_layer=3, n_head=2, n_embd=16)
    ids = np.arange(16).reshape(2, 8) % 11
    drawing = tt.draw(model.loss, ids, ids, zoom="ops")
    assert not [v.flags for v in drawing.picture.values() if v.flags]
    assert RED not in drawing.source


def test_numbers_that_are_not_finite_are_told() -> None:
    with np.errstate(all="ignore"):
        graph = called(lambda x: tt.sqrt(x).sum(), np.linspace(-1, 1, 20), zoom="ops")
    assert any("data: 10 of 20 not finite" in text for text in graph.texts())


def test_a_gradient_that_is_all_zero_is_told() -> None:
    graph = called(lambda x, y: (x * 0.0 + y).sum(), rows(4), rows(4), zoom="ops")
    assert graph.find("x").text.endswith("gradient all 0")
    assert "all 0" not in graph.find("y").text


def test_a_folded_module_says_what_is_strange_inside() -> None:
    tt.manual_seed(0)
    graph = called(Deep(tt.sigmoid), rows(), depth=0)
    box = graph.find("Deep")
    assert box.attributes["color"] == RED
    assert "vanishing gradient" in box.text


class Block(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(20, 20)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return tt.sigmoid(self.layer(x))


def test_equal_blocks_drawn_as_one_have_the_statistics_of_all() -> None:
    tt.manual_seed(0)
    blocks = nn.Sequential(*[Block() for _ in range(8)])

    def f(x: tt.Tensor) -> tt.Tensor:
        return (blocks(x) ** 2).mean()

    picture = tt.draw(f, rows(), zoom="ops", merge=True).picture
    (weight,) = [v for v in picture.values() if v.role == "parameter" and v.shape == (20, 20)]
    every = np.concatenate([b.layer.weight.data for b in blocks])
    assert weight.stats is not None
    assert weight.stats.mean == pytest.approx(every.mean(dtype=np.float64))
    assert (weight.stats.low, weight.stats.high) == (every.min(), every.max())
    each = [v for v in tt.draw(f, rows(), zoom="ops").picture.values() if v.role == "parameter"]
    faint = sum("vanishing" in v.flags for v in each if v.shape == (20, 20))
    assert 0 < faint < 8
    assert weight.flags["vanishing"].startswith(f"in {faint} of 8: gradient ")
    folded = parse(tt.draw(f, rows(), depth=1).source).find("0")
    assert "3 tensors: vanishing gradient" in folded.text, "weight, bias, what linear makes"


# ---- one module ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpt() -> Any:
    model = models.build("gpt", vocab_size=65, block_size=16, n_layer=3, n_head=4, n_embd=32)
    ids = np.arange(32).reshape(2, 16)
    return lambda: model.loss(ids, ids)


def test_one_module_is_drawn_with_what_comes_in_and_goes_out(gpt: Any) -> None:
    graph = called(gpt, module="h.1.attn")
    assert graph.titles() == ["h.1.attn  CausalSelfAttention", "c_attn  Linear", "c_proj  Linear"]
    came = graph.find("from h.1.ln_1")
    assert came.around is None
    assert "±" in came.text
    names = {text.split()[0] for text in graph.texts()}
    assert "h.1.attn.c_attn.weight" in names
    assert not any(name.startswith(("h.0", "h.2")) for name in names)
    (green,) = [n for n in graph.nodes.values() if n.attributes.get("fillcolor") == '"#e3f3e3"']
    assert green.text.startswith("(2, 16, 32) float32 data")


def test_a_module_can_be_folded_inside(gpt: Any) -> None:
    graph = called(gpt, module="h.1", zoom="modules", depth=1)
    assert graph.titles() == ["h.1  TransformerBlock"]
    assert {"ln_1", "attn", "ln_2", "mlp"} <= {text.split()[0] for text in graph.texts()}


def test_a_module_that_is_called_often_says_so() -> None:
    layer = nn.Linear(20, 20)

    class Again(nn.Module):
        def __init__(self) -> None:
            self.layer = layer

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.layer(tt.tanh(self.layer(x)))

    graph = called(Again(), rows(), module="layer")
    assert graph.titles() == ["layer  Linear  the first of 2 calls"]
    assert graph.find("x").around is None


def test_a_path_that_is_none_is_said_with_those_there_are(gpt: Any) -> None:
    with pytest.raises(ValueError, match=r"no call of 'h.1.atn' .*\(did you mean h.1.attn"):
        tt.draw(gpt, module="h.1.atn")


def test_modules_is_what_a_large_model_gets_by_itself(gpt: Any) -> None:
    assert tt.draw(gpt, zoom="modules").source == tt.draw(gpt).source
    assert len(called(gpt, zoom="ops").nodes) > 4 * len(called(gpt).nodes)
    assert not any(
        "data" in text for text in called(lambda x: x * 2.0, 1.0, zoom="modules").texts()
    )
