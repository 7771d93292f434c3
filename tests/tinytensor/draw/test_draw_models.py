"""Pictures of models: frames, parameter paths, folding by depth, equal blocks merged."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn

from .dotgraph import drawn


@pytest.fixture(scope="module")
def gpt() -> tuple[models.GPT, tt.Tensor]:
    """A GPT of six layers and the loss of one batch."""
    model = models.build("gpt", vocab_size=65, block_size=16, n_layer=6, n_head=4, n_embd=32)
    ids = np.arange(32).reshape(2, 16)
    return model, model(ids, (ids + 1) % 65)[1]


class Net(nn.Module):
    """Two layers, with a sum between them that no child makes."""

    def __init__(self) -> None:
        self.first = nn.Linear(20, 20)
        self.second = nn.Linear(20, 3)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.second(self.first(x).tanh() + x)


def net() -> tuple[Net, tt.Tensor]:
    model = Net()
    return model, model(tt.tensor(np.ones((4, 20), np.float32), name="x"))


# ---- frames and names ----------------------------------------------------------------------------


def test_frames_are_the_module_calls() -> None:
    graph = drawn(net()[1])
    assert graph.titles() == ["Net", "first  Linear", "second  Linear"]
    outer = next(f.id for f in graph.frames.values() if f.text == "Net")
    assert [f.around for f in graph.frames.values()] == [None, outer, outer]
    assert graph.find("tanh").around == outer
    assert graph.frames[graph.find("first.weight").around or ""].text == "first  Linear"


def test_parameters_are_named_by_their_path() -> None:
    model, out = net()
    graph = drawn(out)
    for path, parameter in model.named_parameters():
        assert str(tuple(parameter.shape)) in graph.find(path).text


def test_parameters_have_a_colour_of_their_own() -> None:
    graph = drawn(net()[1])
    colour = graph.find("first.weight").attributes["fillcolor"]
    assert [
        n.text.split()[0] for n in graph.nodes.values() if n.attributes.get("fillcolor") == colour
    ] == ["first.weight", "first.bias", "second.weight", "second.bias"]


def test_every_parameter_of_a_gpt_is_there_once_when_all_is_open(
    gpt: tuple[models.GPT, tt.Tensor],
) -> None:
    model, loss = gpt
    graph = drawn(loss, depth=99, merge=False)
    names = [n.text.split()[0] for n in graph.nodes.values()]
    for path, _ in model.named_parameters():
        assert names.count(path) == 1, path
    assert "h.5.attn.c_attn.weight" in names


def test_two_models_in_one_picture_keep_their_parameters_apart() -> None:
    x = np.ones((4, 20), np.float32)
    one, two, three = Net(), Net(), nn.Linear(20, 3)
    graph = drawn(one(x) + two(x) + three(x), depth=99, merge=False)
    for path in ["Net.first.weight", "Net#2.first.weight", "Linear.weight"]:
        graph.find(path)


def test_a_parameter_the_user_named_has_both_names() -> None:
    model, _ = net()
    model.first.weight.name = "W"
    out = model(np.ones((4, 20), np.float32))
    assert drawn(out).find("first.weight").text.startswith("first.weight (W)")


# ---- folding -------------------------------------------------------------------------------------


def test_depth_0_draws_the_model_as_one_box(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    model, loss = gpt
    graph = drawn(loss, depth=0)
    assert not graph.frames
    assert sorted(text.split()[0] for text in graph.texts()) == ["()", "GPT", "ids", "target"]
    assert f"{model.num_parameters():,} parameters" in graph.find("GPT").text
    assert graph.links() == [("GPT", "()"), ("ids", "GPT"), ("target", "GPT")]


def test_a_gpt_of_six_layers_at_depth_1_fits_a_screen(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    model, loss = gpt
    graph = drawn(loss, depth=1)
    assert graph.titles() == ["GPT"]
    blocks = graph.find("h.0")
    assert "h.0 … h.5" in blocks.text
    assert "× 6" in blocks.text
    assert f"each {model.h[0].num_parameters():,} parameters" in blocks.text
    assert not any(f"h.{i}" in text for text in graph.texts() for i in range(1, 5))
    assert len(graph.nodes) <= 12
    order = ["wte", "wpe", "h.0", "ln_f", "lm_head", "cross_entropy", "()"]
    assert set(zip(order, order[1:], strict=False)) <= set(graph.links()) | {("wpe", "h.0")}
    chain = [link for link in graph.links() if "h.0" in link]
    assert len(chain) == 2, "one arrow in, one out"


def test_the_tied_weight_is_drawn_once_and_read_twice(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    assert {("wte.weight", "wte"), ("wte.weight", "lm_head")} <= set(drawn(gpt[1], depth=1).links())


def test_depth_2_opens_one_block_for_all_six(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    graph = drawn(gpt[1], depth=2)
    frame = next(f for f in graph.frames.values() if "h.0" in f.text)
    assert frame.text == "h.0 … h.5  TransformerBlock  × 6"
    inside = [n.text.split()[0] for n in graph.nodes.values() if n.around == frame.id]
    assert inside == ["ln_1", "attn", "+", "ln_2", "mlp", "+"]


def test_without_merging_each_block_has_its_box(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    graph = drawn(gpt[1], depth=1, merge=False)
    links = set(graph.links())
    assert {(f"h.{i}", f"h.{i + 1}") for i in range(5)} <= links
    assert not any("×" in text for text in graph.texts())


def test_without_a_depth_the_picture_stays_readable(gpt: tuple[models.GPT, tt.Tensor]) -> None:
    small, deep = drawn(gpt[1]), drawn(gpt[1], merge=False)
    assert 15 <= len(small.nodes) <= 25
    assert 15 <= len(deep.nodes) <= 25
    assert len(drawn(gpt[1], depth=99, merge=False).nodes) > 5 * 25


def test_counts_of_a_folded_model_include_what_was_merged(
    gpt: tuple[models.GPT, tt.Tensor],
) -> None:
    def ops(**how: object) -> str:
        found = re.search(r"(\d+) ops", drawn(gpt[1], depth=0, **how).find("GPT").text)
        assert found is not None
        return found[1]

    assert ops() == ops(merge=False)


class Stack(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        self.layers = nn.ModuleList(layers)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def boxes(model: nn.Module, width: int = 20, **how: object) -> list[str]:
    graph = drawn(model(tt.tensor(np.ones((4, width), np.float32))), depth=1, **how)
    return [n.text for n in graph.nodes.values() if "parameter" in n.text]


def test_only_neighbours_that_are_equal_are_merged() -> None:
    def linear(i: int, o: int, bias: bool = True) -> nn.Linear:
        return nn.Linear(i, o, bias=bias)

    assert len(boxes(Stack(*[linear(20, 20) for _ in range(5)]))) == 1
    assert "× 5" in boxes(Stack(*[linear(20, 20) for _ in range(5)]))[0]
    mixed = [linear(20, 20), linear(20, 20), linear(20, 30), linear(30, 20), linear(20, 20)]
    assert [("× 2" in text) for text in boxes(Stack(*mixed))] == [True, False, False, False]
    assert len(boxes(Stack(linear(20, 20), linear(20, 20, False), linear(20, 20)))) == 3


def test_a_block_whose_result_is_used_elsewhere_is_not_merged_away() -> None:
    class Skipping(Stack):
        def forward(self, x: tt.Tensor) -> tt.Tensor:
            seen = [x]
            for layer in self.layers:
                seen.append(layer(seen[-1]))
            return seen[-1] + seen[2]

    texts = boxes(Skipping(*[nn.Linear(20, 20) for _ in range(5)]))
    assert sorted("× 2" in t or "× 3" in t for t in texts) == [True, True]


def test_one_module_called_again_and_again_is_merged_too() -> None:
    class Again(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(20, 20)

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            for _ in range(4):
                x = self.layer(x)
            return x

    graph = drawn(Again()(np.ones((4, 20), np.float32)), depth=1)
    (box,) = [n for n in graph.nodes.values() if "op" in n.text]
    assert "× 4" in box.text
    assert "layer …" not in box.text


def test_equal_heads_side_by_side_are_one_box() -> None:
    class Heads(nn.Module):
        def __init__(self) -> None:
            self.heads = nn.ModuleList(nn.Linear(20, 5) for _ in range(4))

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return tt.concat([head(x) for head in self.heads], axis=-1)

    x = tt.tensor(np.ones((4, 20), np.float32), requires_grad=True, name="x")
    graph = drawn(Heads()(x), depth=1)
    assert "heads.0 … heads.3" in graph.find("heads.0").text
    assert "× 4" in graph.find("heads.0").text
    assert ("heads.0", "concat") in graph.links()


class Pair(nn.Module):
    """Reads two tensors, makes two."""

    def forward(self, a: tt.Tensor, b: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
        first, second = tt.split(tt.concat([a.tanh(), a * b]), len(a))
        return first, second


class Wired(nn.Module):
    """Three pairs, and how they are connected."""

    def __init__(self, wires: Callable[..., tt.Tensor]) -> None:
        self.pairs = nn.ModuleList(Pair() for _ in range(3))
        self.wires = wires

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.wires(x, *self.pairs)


@pytest.mark.parametrize(
    ("count", "wires"),
    [
        (1, lambda x, p, q, r: r(q(p(x.exp(), x)[0], x)[0], x)[0]),
        (3, lambda x, p, q, r: r(q(p(x, x.exp())[0], x.tanh())[0], x.relu())[0]),
        (2, lambda x, p, q, r: tt.stack(r(*q(*p(x.exp(), x))[::-1]))),
        (1, lambda x, p, q, r: tt.stack(r(*q(*p(x.exp(), x))))),
        (3, lambda x, p, q, r: r(q(p(x.exp(), x)[0], x)[1], x)[0]),
        (1, lambda x, p, q, r: tt.stack([p(x, x)[0], q(x, x)[0], r(x, x)[0]])),
        (3, lambda x, p, q, r: tt.stack([p(x.exp(), x)[0], q(x.tanh(), x)[0], r(x.relu(), x)[0]])),
        (3, lambda x, p, q, r: p(x, x)[0] + q(x, x)[1] * r(x, x)[0]),
    ],
    ids=[
        "chain",
        "other side inputs",
        "crossed wires",
        "two wires",
        "other wires",
        "side by side",
        "other inputs",
        "other use",
    ],
)
def test_equal_modules_are_merged_only_where_they_are_connected_alike(
    count: int, wires: Callable[..., tt.Tensor]
) -> None:
    x = tt.tensor(np.ones((4, 20), np.float32), requires_grad=True, name="x")
    graph = drawn(Wired(wires)(x), depth=1)
    assert sum("pairs." in text for text in graph.texts()) == count


def test_merged_results_show_no_numbers_but_the_last_ones_are_right() -> None:
    """The inner results differ from copy to copy; what leaves the last copy is the truth."""
    model = Stack(*[nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(3)])
    out = model(np.ones((1, 2), np.float32))
    out.name = "last"
    out.sum().backward()
    graph = drawn(out, depth=9, values=True)
    assert sum("× 3" in title for title in graph.titles()) == 1
    numbers = " ".join(f"{v:.4g}" for v in out.detach().numpy().ravel())
    assert graph.find("last").text == f"last (1, 2) float32 data {numbers} grad 1.0 1.0"
    boxes = [text for text in graph.texts() if "(1, 2) float32" in text]
    assert len(boxes) == 2, "the input and the result"


@pytest.mark.parametrize("name", ["gpt", "gru", "lstm", "rnn"])
def test_every_model_can_be_drawn_at_every_depth(name: str) -> None:
    model = models.build(name, vocab_size=11, block_size=8)
    ids = np.arange(8).reshape(2, 4)
    logits, loss = model(ids, ids)
    loss.backward()
    sizes = [len(drawn((logits, loss), depth=depth).nodes) for depth in (0, 1, 2, 9)]
    assert sizes == sorted(sizes)
