"""The page of a run, as a browser shows it: every number read against what was kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train.results.log_file import LOG
from tinytensor.train.results.watch_file import NAME, Seen
from tinytensor.train.watch.follow import Followed
from tinytensor.train.watch.page import live, replay
from tinytensor.train.watch.server import Server

HOSTILE = '</script><img src=x onerror="document.title=1">\u202e\0"\n&amp;'
WEIGHTS = bytes([255, 0, 51, 204, 0, 255, 128, 127])


def observations(step: int) -> list[Seen]:
    """What is kept of a step, numbers that tell which step they are of."""
    layers = ["wte", "h.0.attn", "h.0.mlp", "h.1.attn", "lm_head", HOSTILE]
    return [
        Seen("gradients", step, [[name, 3.0 * (i + 1) + step] for i, name in enumerate(layers)]),
        Seen("activations", step, [
            [name, "Linear", step + i, 0.5, -2.0 - i, -1.0, -0.5, 0.25, 0.5, 1.0, 2.0, 0.25, i % 2]
            for i, name in enumerate(layers)
        ]),
        Seen("attention", step, [{
            "kind": "text to itself", "layer": 1, "heads": 2, "queries": ["a", "<b>"],
            "keys": ["a", "<b>"], "weights": base64.b64encode(WEIGHTS).decode(),
        }]),
        Seen("sample", step, f"text {step} {HOSTILE}"),
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of 20 steps, looked at each ten."""
    place = tmp_path / "run"
    place.mkdir()
    with open(place / LOG, "w") as file:
        for step in range(1, 21):
            entry = {"step": step, "loss": 4 - step / 10, "lr": 0.01, "grad_norm": step / 2}
            file.write(json.dumps(entry) + "\n")
            if step % 10 == 0:
                file.write(json.dumps({"step": step, "val_loss": 3 - step / 20}) + "\n")
    run = {"name": HOSTILE, "model": "gpt", "task": "text", "parameters": 1234, "data": HOSTILE,
           "steps": 20, "batch": "3 blocks", "baseline": 4.5, "sentence": "a<b>",
           "thinned": 0}  # fmt: skip
    lines = [one.line() for step in (0, 10, 20) for one in observations(step)]
    (place / NAME).write_bytes(json.dumps({"run": run}).encode() + b"\n" + b"".join(lines))
    return place


def until(page: Any, place: str, text: str) -> None:
    """Wait until an element says this."""
    from playwright.sync_api import expect

    expect(page.locator(place)).to_contain_text(text, timeout=20_000)


def rows(page: Any, section: str, table: int) -> list[list[str]]:
    """The texts of a table's cells, as a screen reader has them."""
    found: list[list[str]] = page.evaluate(
        """([id, n]) => {
            const tables = document.querySelectorAll(`section[aria-labelledby=${id}] table`);
            const shown = cell => !cell.ariaHidden && !cell.querySelector("svg");
            const texts = row => [...row.cells].filter(shown).map(cell => cell.textContent);
            return [...tables[n].rows].map(texts);
        }""",
        [section, table],
    )
    return found


def test_every_number_is_that_of_the_step(open_page: Callable[..., Any], folder: Path) -> None:
    page = open_page(replay(Followed(folder)))
    assert page.locator("#shown").inner_text() == "step 20 of 20"
    said = page.locator("#losses-now").inner_text()
    assert said == (
        "Step 20: training loss 2; validation loss 2 (step 20); learning rate 0.01; "
        "norm of the gradient 10."
    )
    losses = rows(page, "loss", 0)
    assert losses[0] == ["Step", "training", "validation", "guessing at random"]
    assert losses[1] == ["1", "3.9", "", "4.5"] and losses[10] == ["10", "3", "2.5", "4.5"]
    assert len(losses) == 21
    page.locator("#back").click()
    assert page.locator("#shown").inner_text() == "step 10 of 20"
    assert (
        page.locator("#losses-now").inner_text().startswith("Step 10: training loss 3; validation")
    )
    assert page.locator("#written").inner_text().startswith("text 10 </script><img src=x")
    assert rows(page, "gradients", 1)[:3] == [
        ["layer", "norm of the gradient", ""], ["wte", "13"], ["h.0.attn", "16"],
    ]  # fmt: skip
    parts = rows(page, "gradients", 0)  # h.0.attn and h.0.mlp are two lines: there is room
    assert parts[0][:4] == ["Step", "wte", "h.0.attn", "h.0.mlp"]
    assert [row[1] for row in parts[1:]] == ["3", "13", "23"]
    spread = rows(page, "activations", 1)
    assert spread[0][:1] + spread[0][2:] == [
        "layer", "mean", "std", "least", "largest", "exactly 0", "not finite", "kind"
    ]  # fmt: skip
    assert spread[2] == ["h.0.attn", "11", "0.5", "−3", "2", "25%", "1", "Linear"]
    page.locator("#layer").select_option("wte")
    assert rows(page, "activations", 0)[2] == ["10", "1", "0.5", "0.25", "−0.5", "−1"]
    page.locator("section[aria-labelledby=attention] details summary").click()
    assert rows(page, "attention", 0)[1:] == [["a", "100%", ""], ["<b>", "20%", "80%"]]
    page.locator("#step").fill("7")
    assert page.locator("#written").inner_text().startswith("text 0 ")
    assert "training loss 3.3" in page.locator("#losses-now").inner_text()


def test_the_attention_under_the_pointer_is_told(
    open_page: Callable[..., Any], folder: Path
) -> None:
    page = open_page(replay(Followed(folder)))
    drawing = page.locator(".map").first
    box = drawing.bounding_box()
    wide, high = 40 + 2 * 13, 34 + 2 * 13  # of the drawing, in its own measure
    x, y = box["width"] * (40 + 6) / wide, box["height"] * (34 + 19) / high
    drawing.hover(position={"x": x, "y": y})
    assert page.locator(".detail").inner_text() == "head 1: <b> looks at a: 20%"


def test_hostile_names_are_texts(open_page: Callable[..., Any], folder: Path) -> None:
    page = open_page(replay(Followed(folder)))
    assert page.locator("img").count() == 0
    assert "<img src=x onerror=" in page.locator("h1").inner_text()
    assert "onerror" in page.locator("header p").first.inner_text()
    assert page.title() != "1"


def test_the_keyboard_alone_goes_through_the_steps(
    open_page: Callable[..., Any], folder: Path
) -> None:
    page = open_page(replay(Followed(folder)))
    page.locator("#step").focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#shown").inner_text() == "step 19 of 20"
    page.keyboard.press("Home")
    assert page.locator("#shown").inner_text() == "step 0 of 20"
    page.locator("#play").focus()
    page.keyboard.press("Enter")
    until(page, "#shown", "step 20 of 20")
    until(page, "#play", "Play")
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"language", "theme", "play", "back", "step", "SUMMARY", "layer", "map"} <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_sticks_out(
    open_page: Callable[..., Any], axe: Callable[..., Any], folder: Path, width: int, scheme: str
) -> None:
    page = open_page(
        replay(Followed(folder)), viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    for summary in page.locator("summary").all():
        summary.click()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_it_speaks_chinese(
    open_page: Callable[..., Any], axe: Callable[..., Any], folder: Path
) -> None:
    page = open_page(replay(Followed(folder)), locale="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    assert page.locator("#shown").inner_text() == "第 20 步，共 20 步"
    assert [h.inner_text() for h in page.locator("h2").all()] == [
        "损失", "模型写出的文字", "注意力", "各层的梯度", "各层的激活值"
    ]  # fmt: skip
    assert axe(page) == []
    page.locator("#language").select_option("en")
    assert page.locator("#shown").inner_text() == "step 20 of 20"


def test_what_a_model_lacks_is_said(open_page: Callable[..., Any], tmp_path: Path) -> None:
    run = {"name": "x", "model": "rnn", "task": "text", "parameters": 1, "data": "d", "steps": 5,
           "batch": "b", "baseline": None, "sentence": None, "thinned": 12}  # fmt: skip
    (tmp_path / NAME).write_text(json.dumps({"run": run}) + "\n")
    page = open_page(replay(Followed(tmp_path)))
    text = page.locator("main").inner_text()
    assert "This model has no attention: there are no maps to show." in text
    assert "No step is done yet." in text and text.count("There is none of this yet.") == 3
    assert "12 looks were thinned out" in page.locator("header").inner_text()


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    made = Server(Followed(folder), live)
    made.start()
    yield made
    made.close()


def test_a_page_follows_a_run(open_page: Callable[..., Any], folder: Path, server: Server) -> None:
    page = open_page(server.address, allow=server.address)
    assert page.locator("#state").inner_text() == "The run goes on; this page follows it."
    assert page.locator("#newest").is_checked()
    with open(folder / LOG, "a") as file:
        file.write('{"step": 21, "loss": 1.25, "lr": 0.01, "grad_norm": 1}\n')
    with open(folder / NAME, "ab") as file:
        file.write(Seen("sample", 21, "quite new").line())
    until(page, "#written", "quite new")
    assert page.locator("#losses-now").inner_text().startswith("Step 21: training loss 1.25; ")
    page.locator("#back").click()  # then it stays there
    with open(folder / NAME, "ab") as file:
        file.write(Seen("sample", 22, "newer").line())
    server.followed.ended = True
    until(page, "#state", "The run has ended.")
    assert page.locator("#written").inner_text().startswith("text 20 ")
    page.locator("#newest").check()
    assert page.locator("#written").inner_text() == "newer"


def test_a_page_whose_run_was_killed_says_so(
    open_page: Callable[..., Any], folder: Path, server: Server
) -> None:
    page = open_page(server.address, allow=server.address)
    server.shutdown()
    page.evaluate("() => { window.fetch = () => Promise.reject(new Error('gone')); }")
    until(page, "#state", "The run's server no longer answers")
    assert page.locator("#written").inner_text().startswith("text 20 ")
