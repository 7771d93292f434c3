"""What a notebook shows: well-formed, of harmless parts, the right numbers, whatever the names."""

from __future__ import annotations

import base64
import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn, train
from tinytensor.shown import arrays, html
from tinytensor.train.results.history import History

BAD = "<script>alert(1)</script>\"'&\x00\u202e\ud800\n</details>"
TAGS = set(
    "div span b details summary table thead tbody tr th td pre svg title polyline img br".split()
)


def check(markup: str) -> str:
    """Well-formed and of harmless parts, nothing fetched; returns its text."""
    tree = ET.fromstring(markup)
    for e in tree.iter():
        tag = e.tag.rpartition("}")[2]
        assert tag in TAGS, tag
        for name, value in e.attrib.items():
            assert not name.startswith("on") and name != "href"
            assert "url(" not in value and "http" not in value
            if name == "src":
                assert value.startswith("data:image/png;base64,")
    assert not re.search("[\x00\u202e\ud800]", markup)
    return " ".join("\n".join(tree.itertext()).split())


NAMES = (
    "bad module", "bool", "cube", "decay", "empty", "grad", "gradcheck", "history", "ids",
    "in graph", "large", "memory", "module", "nan", "no history", "no profile", "optimizer",
    "profile", "scalar", "schedule", "tensor",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def nothing_stays() -> Iterator[None]:
    """What was shown goes: tests of memory count what is alive."""
    yield
    things.cache_clear()


def test_every_thing_is_looked_at() -> None:
    assert sorted(things()) == sorted(NAMES)


@cache
def things() -> dict[str, Any]:
    tt.manual_seed(0)
    x = tt.randn(2, 3, requires_grad=True)
    (x * x).sum().backward()
    w = tt.randn(300, 200)
    bad = nn.Sequential(nn.Linear(2, 2))
    setattr(bad, BAD, nn.Linear(2, 3))
    x.name = BAD
    model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.LSTM(3, 2))
    optimizer = train.AdamW(model.parameters(), lr=0.25)
    history = History()
    history.train, history.val = [3.0, 2.0, math.nan, 1.0], [(2, 2.5), (4, 1.5)]
    with tt.profile() as profile:
        loss = model[0](tt.randn(4, 2)).tanh().sum()
    return {
        "tensor": x, "large": w, "nan": tt.full((50, 50), math.nan), "empty": tt.zeros(0, 2),
        "scalar": tt.tensor(2.5), "bool": x > 0, "ids": tt.arange(500), "cube": tt.randn(2, 2, 2),
        "in graph": x * 2, "module": model, "bad module": bad, "optimizer": optimizer,
        "schedule": train.CosineWarmup(0.001, 0.0, 10, 100), "decay": train.StepDecay(0.1, 5),
        "history": history, "no history": History(), "profile": profile,
        "no profile": tt.profile(), "memory": tt.memory_report(loss),
        "gradcheck": tt.gradcheck(lambda a: a * a, [np.array([1.0, 2.0])]),
        "grad": x.grad,
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_well_formed_and_harmless(name: str) -> None:
    thing = things()[name]
    markup = thing._repr_html_()
    text = check(markup)
    assert text and len(markup) < 60_000
    assert "object at" not in repr(thing)


def test_a_small_tensor_is_a_table() -> None:
    x = tt.tensor([[1.5, -2.0], [0.25, 4.0]], requires_grad=True)
    (x * 3).sum().backward()
    tree = ET.fromstring(x._repr_html_())
    first, second = tree.iter("table")
    assert [[float(td.text or "") for td in tr] for tr in first.iter("tr")] == [
        [1.5, -2.0],
        [0.25, 4.0],
    ]
    assert {float(td.text or "") for td in second.iter("td")} == {3.0}
    text = check(x._repr_html_())
    assert "shape (2, 2), float32, cpu, requires grad" in text and "grad mean 3" in text
    assert "made by mul" in check((x * 2)._repr_html_())


def test_options_hold_in_tables() -> None:
    x = tt.tensor([1.23456, 1234.5])
    with tt.printoptions(precision=1):
        assert "1.2 1234.5" in check(x._repr_html_()).replace("\xa0", " ").replace("  ", " ")
    with tt.printoptions(sci_mode=True, precision=2):
        assert "1.23e+00 1.23e+03" in check(x._repr_html_())
    with tt.printoptions(threshold=1):
        assert "mean 617.9" in check(x._repr_html_())


def test_statistics_leave_out_what_is_no_number() -> None:
    line = arrays.statistics(np.array([1.0, 3.0, np.nan, np.inf, 0.0, 0.0]))
    assert line == "mean 1  std 1.225  min 0  max 3  zero 33.3%  not finite 2"
    assert arrays.statistics(np.array([True, False, True])) == "True 2 of 3"
    assert arrays.statistics(np.full(2, np.nan)) == "not finite 2"
    big = np.full(1000, 6e4, dtype=np.float16)
    assert "mean 6e+04" in arrays.statistics(big)
    with np.errstate(all="raise"):
        largest = arrays.statistics(np.array([1e308, -1e308, 1e308, 1e308]))
    assert largest == "mean 5e+307  std 8.66e+307  min -1e+308  max 1e+308"


def pixels(markup: str) -> np.ndarray:
    """The picture in the markup, decoded by hand."""
    data = base64.b64decode(markup.partition("base64,")[2].partition('"')[0])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(
            kind + content
        )
        if kind == b"IHDR":
            columns, rows = struct.unpack(">II", content[:8])
        body += content if kind == b"IDAT" else b""
        at += 12 + length
    flat = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(rows, 1 + 4 * columns)
    return flat[:, 1:].reshape(rows, columns, 4)


def test_a_picture_has_signs_and_strengths() -> None:
    values = np.zeros((3, 4))
    values[0, 0], values[1, 1], values[2, 3], values[0, 3] = 2.0, -2.0, 1.0, np.nan
    shown = pixels(arrays.picture(values))
    assert shown.shape == (3, 4, 4)
    assert shown[0, 0, 3] == 255 and shown[2, 3, 3] == 128 and shown[2, 0, 3] == 0
    assert shown[0, 0, 0] > shown[0, 0, 2] and shown[1, 1, 2] > shown[1, 1, 0]
    assert tuple(shown[0, 3]) == (160, 32, 160, 255)


def test_a_large_picture_is_of_means() -> None:
    values = np.zeros((480, 96))
    values[:10, :2] = 4.0
    values[10:20, 0:2] = [4.0, 0.0]
    shown = pixels(arrays.picture(values))
    assert shown.shape == (48, 48, 4)
    assert shown[0, 0, 3] == 255 and shown[1, 0, 3] == 128 and shown[2:, :, 3].max() == 0


def test_a_module_is_a_tree_with_counts() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, 3))
    model[0].weight.requires_grad_(False)
    text = check(model._repr_html_())
    assert "33 parameters, 6 of them frozen" in text
    assert "(1-2) 2 × Linear(3, 3) 12 each" in text
    assert "weight (3, 2) float32 6 frozen" in text


def test_a_tied_weight_is_counted_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

    text = check(Tied()._repr_html_())
    assert "4 parameters" in text and "= a.weight" in text
    assert "(b) Linear(2, 2, bias=False) weight" in text  # no count of its own


def test_an_optimiser_shows_its_groups_and_state() -> None:
    a, b = nn.Parameter([1.0, 2.0]), nn.Parameter([3.0])
    optimizer = train.Adam([{"params": [a], "lr": 0.5}, {"params": [b]}], lr=0.25)
    assert "no state yet" in check(optimizer._repr_html_())
    (a.sum() + b.sum()).backward()
    optimizer.step()
    text = check(optimizer._repr_html_())
    assert "lr 0.5 0.25" in text and "numbers 2 1" in text and "steps done 1 1" in text
    assert "24 B of state" in text


def test_a_history_in_words() -> None:
    history = History()
    history.train, history.val = [3.0, 2.0, 2.0, 1.0], [(2, 2.5), (4, 1.5)]
    assert repr(history) == (
        "History(4 steps, loss 2.0000, at first 3.0000, validation 1.5000 at step 4)"
    )
    assert repr(History()) == "History(no steps yet)"


def test_reports_print_at_a_prompt_as_they_do_by_print() -> None:
    for name in ("memory", "gradcheck", "profile"):
        thing = things()[name]
        assert repr(thing).splitlines()[0] == str(thing).splitlines()[0]
        assert "Report(" not in repr(thing)


def test_a_curve_has_gaps_and_its_ends() -> None:
    made = html.curve([0.0, 1.0, math.nan, 0.5], "loss", width=100, height=24)
    first, second = re.findall('points="([^"]*)"', made)
    assert first == "2.0,22.0 34.0,2.0" and second == "98.0,12.0 98.0,12.0"
    assert html.curve([math.nan], "loss") == "" and html.curve([], "loss") == ""
    flat = html.curve([1.0] * 1000, "loss", width=100)
    assert flat.count(",") == 100


def test_a_trainer_says_how_far_it_is() -> None:
    config = train.TrainConfig(steps=2, n_layer=1, workers=1, batch_size=2)
    trainer = train.Trainer(config, text="abcd " * 400)
    assert repr(trainer) == "Trainer(gpt on text, step 0 of 2)"
    trainer.run()
    text = check(trainer._repr_html_())
    assert "step 2 of 2" in text and "2 steps, loss" in text and "n_layer 1" in text
