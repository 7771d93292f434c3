"""``tinytensor attention``: the maps, the picture and the page."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.models import GPT, build
from tinytensor.nn.attention import recording
from tinytensor.train import DataError, Trainer
from tinytensor.train.cli.app import run
from tinytensor.train.config import ConfigError
from tinytensor.train.results import attention as attention_module
from tinytensor.train.results.attention import (
    CROSS,
    DECODER,
    ENCODER,
    TEXT,
    Map,
    maps,
    picture,
    shown,
)
from tinytensor.train.results.attention_page import page, write_page
from tinytensor.train.tasks import DatesTask, TextTask

from ..helpers import TEXT as CORPUS
from ..helpers import config

SMALL = {
    "transformer": {"n_layer": 2, "n_head": 2, "n_embd": 8},
    "bahdanau": {"n_embd": 6, "n_hidden": 5},
}


def translator(name: str) -> tuple[Any, DatesTask]:
    task = DatesTask(SimpleNamespace(data=None, encoding="utf-8", block_size=None, seed=0))
    tt.manual_seed(0)
    return build(name, **task.sizes(), **SMALL[name]), task


def text_model(block_size: int = 16) -> tuple[GPT, TextTask]:
    given = SimpleNamespace(data=None, encoding="utf-8", block_size=block_size, seed=0)
    task = TextTask(given, text=CORPUS)
    tt.manual_seed(0)
    model = build("gpt", **task.sizes(), block_size=block_size, n_layer=2, n_head=2, n_embd=8)
    return model, task


def some_maps(queries: list[str], keys: list[str], heads: int = 2) -> list[Map]:
    rng = np.random.default_rng(0)
    weights = rng.random((heads, len(queries), len(keys)), dtype=np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    return [Map(CROSS, 1, [*map(shown, queries)], [*map(shown, keys)], weights)]


# ---- maps ----------------------------------------------------------------------------------------


def test_the_maps_of_a_text_are_what_the_layers_attend_to() -> None:
    model, task = text_model()
    before = tt.random.state()
    found = maps(model, task, "the fox")
    assert tt.random.state() == before and model.training
    assert [(one.kind, one.layer, one.weights.shape) for one in found] == [
        (TEXT, layer, (2, 7, 7)) for layer in (1, 2)
    ]
    assert found[0].queries == found[0].keys == list("the␣fox")
    model.eval()
    with tt.no_grad(), recording() as calls:
        model(task.tokenizer.encode("the fox")[None])
    for one, (_, weights) in zip(found, calls, strict=True):
        np.testing.assert_array_equal(one.weights, weights[0])
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)
        assert (one.weights[:, ~np.tri(7, dtype=bool)] == 0).all()


def test_the_maps_of_a_transformer_and_of_its_answer() -> None:
    model, task = translator("transformer")
    found = maps(model, task, "3 May 1998")
    assert [(one.kind, one.layer) for one in found] == [
        (kind, layer) for kind in (ENCODER, DECODER, CROSS) for layer in (1, 2)
    ]
    answer = [*map(shown, task.answer(model, "3 May 1998"))]
    assert len(answer) >= 1 and found[-1].answer == "".join(answer)
    by_kind = {one.kind: one for one in found}
    assert by_kind[ENCODER].keys == by_kind[CROSS].keys == list("3␣May␣1998")
    assert by_kind[DECODER].queries == ["begin", *answer]
    assert by_kind[CROSS].queries == [*answer, "end"]
    for one in found:
        assert one.weights.shape == (2, len(one.queries), len(one.keys))
        np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)
    future = ~np.tri(len(answer) + 1, dtype=bool)
    assert (by_kind[DECODER].weights[:, future] == 0).all()


def test_the_map_of_an_alignment_has_a_row_for_each_step() -> None:
    model, task = translator("bahdanau")
    (one,) = maps(model, task, "3 May 1998")
    assert one.kind == CROSS and one.weights.shape == (1, len(one.queries), 10)
    np.testing.assert_allclose(one.weights.sum(-1), 1, atol=1e-5)


def test_what_has_no_attention_and_what_no_model_reads() -> None:
    _, task = text_model()
    rnn = build("rnn", **task.sizes(), n_layer=1, n_embd=4, n_hidden=4)
    with pytest.raises(ConfigError, match="model: rnn has no attention; gpt, .* have"):
        maps(rnn, task, "the fox")
    model, task = text_model(block_size=4)
    for text in ("", "the fox"):
        with pytest.raises(DataError, match=f"text: expected 1 to 4 characters.*got {len(text)}"):
            maps(model, task, text)
    with pytest.raises(DataError, match="'§'"):
        maps(model, task, "§")


def test_weights_that_are_not_finite_are_refused() -> None:
    model, task = text_model()
    with tt.no_grad():
        model.wte.weight.copy_(np.full(model.wte.weight.shape, np.nan, np.float32))
    with pytest.raises(Exception, match="not finite"):
        maps(model, task, "the fox")


def test_maps_too_large_for_a_page_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_module, "MOST", 2 * 2 * 4 * 4)
    model, task = text_model()
    assert maps(model, task, "the ")
    with pytest.raises(DataError, match="100 weights, more than 64"):
        maps(model, task, "the q")


@pytest.mark.parametrize(
    ("symbol", "label"),
    [("a", "a"), (" ", "␣"), ("\n", "↵"), ("\t", "\\t"), ("\x1b", "\\x1b"), ("\u202e", "\\u202e"),
     ("\u200b", "\\u200b"), ("\ud800", "\\ud800"), ("\u0301", "◌\u0301"), ("א", "א"), ("<", "<")],
)  # fmt: skip
def test_a_symbol_is_shown_as_something_that_can_be_seen(symbol: str, label: str) -> None:
    assert shown(symbol) == label


# ---- the picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 12, 300, 2500])
def test_pictures_of_few_symbols_and_of_thousands(count: int, tmp_path: Path) -> None:
    found = some_maps(["$x$\x1b"[i % 4] for i in range(count)], ["א"] * (count // 2 + 1))
    path = picture(tmp_path / "a.png", found, "$\\frac{ " + "long " * 100)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_many_heads_and_layers_stay_below_the_most_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_module, "PIXELS", 100_000)
    path = picture(tmp_path / "a.png", some_maps(["a"] * 9, ["b"] * 9, heads=5) * 3, "many")
    width, height = (int.from_bytes(path.read_bytes()[i : i + 4], "big") for i in (16, 20))
    assert 50_000 < width * height < 120_000


# ---- the page ------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """The tags of a page, and what stands in the script with its data."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.data = self.title = ""
        self._into = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._into = "data" if ("id", "data") in attrs else "title" if tag == "title" else ""

    def handle_endtag(self, tag: str) -> None:
        self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into:
            setattr(self, self._into, getattr(self, self._into) + data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


PLAIN = read(page(some_maps(["a"], ["b"]), "t", "a"))
HOSTILE = [
    "</script>", "</script ", "</SCRIPT/x", "<script>alert(1)</script>", "<!--", "-->", "]]>",
    "&quot;", '"', "'", "\\",
    "\\u003c", "\0", "\x1b[2J", "\u2028", "\u202e", "\ud800", "א", "@@DATA@@", "@@TITLE@@",
    "<img src=x onerror=1>", "{", "`", "${1}", "</title>",
]  # fmt: skip
anything = st.text(st.characters(exclude_categories=()), max_size=3)
symbols = st.lists(st.sampled_from(HOSTILE) | anything, min_size=1, max_size=8)
texts = symbols.map("".join)


@settings(deadline=None, max_examples=150)
@given(queries=symbols, keys=symbols, title=texts, about=texts)
def test_nothing_that_is_written_becomes_a_part_of_the_page(
    queries: list[str], keys: list[str], title: str, about: str
) -> None:
    """The tags are those of a harmless page, and the JSON gives back what was written."""
    found = some_maps(queries, keys)
    text = page(found, title, about)
    assert text.isascii()
    reader = read(text)
    assert reader.tags == PLAIN.tags
    assert not set("<>&") & set(reader.data)
    data = json.loads(reader.data)
    assert (data["title"], data["about"]) == (title, about)
    assert data["maps"][0]["queries"] == found[0].queries
    assert data["maps"][0]["keys"] == found[0].keys


def test_the_weights_of_the_page_are_those_of_the_maps() -> None:
    found = some_maps(list("abcd"), list("efg"))
    (plain,) = json.loads(read(page(found, "t", "a")).data)["maps"]
    shares = np.frombuffer(base64.b64decode(plain["weights"]), np.uint8).reshape(2, 4, 3) / 255
    largest = np.array(plain["largest"])[:, None, None]
    np.testing.assert_allclose(shares * largest, found[0].weights, atol=0.003)


def test_weights_of_zero_make_a_page() -> None:
    nothing = Map(TEXT, 1, ["a"], ["a"], np.zeros((1, 1, 1), np.float32))
    (plain,) = json.loads(read(page([nothing], "t", "a")).data)["maps"]
    assert plain["largest"] == [0] and base64.b64decode(plain["weights"]) == b"\0"


def test_the_page_asks_for_nothing_from_outside(tmp_path: Path) -> None:
    text = write_page(tmp_path / "a.html", some_maps(["a"], ["b"]), "t", "a").read_text("ascii")
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bfetch\(|XMLHttp|innerHTML|eval\(", text)


# ---- the command ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for model in ("gpt", "rnn"):
        Trainer(config(model, steps=1, workers=1), CORPUS, folder / model).run()
    return folder


def test_the_command_writes_a_page_and_a_picture(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["attention", str(runs / "gpt"), "the fox"]) == 0
    html, image = (runs / "gpt" / f"attention.{kind}" for kind in ("html", "png"))
    assert capsys.readouterr().out.split() == ["page", str(html), "picture", str(image)]
    assert "Where GPT looks: the fox" in read(html.read_text("ascii")).title
    assert image.read_bytes().startswith(b"\x89PNG")
    assert run(["attention", str(runs / "gpt"), "a", "--out", str(tmp_path / "new" / "one")]) == 0
    assert sorted(file.name for file in (tmp_path / "new" / "one").iterdir()) == [
        "attention.html", "attention.png",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["rnn", "the fox"], "model: rnn has no attention; gpt, "),
        (["gpt"], "text: expected one, which the model is to read"),
        (["gpt", "the quick brown fox"], "text: expected 1 to 8 characters"),
        (["none", "the fox"], "checkpoint: "),
        (["gpt", "the fox", "--out", "rnn/checkpoint.safetensors/x"], "out: cannot write into"),
    ],
)
def test_what_the_command_refuses(
    runs: Path,
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs)
    assert run(["attention", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"tinytensor: {reason}")
