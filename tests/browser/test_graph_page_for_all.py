"""The graph page for everybody: by keyboard alone, in words, in two languages, at every width, and
with texts that want to be more than text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.pages.page import page as page_of

from .graph_pages import boxes, id_of, masked_attention, progress, softmax, two_neurons

WORDS = Path(__file__).parents[2] / "tinytensor" / "pages" / "src" / "graph" / "words"
STILL = {"reduced_motion": "reduce"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    scheme: str, width: int, open_page: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    page = open_page(
        softmax().html(), color_scheme=scheme, viewport={"width": width, "height": 800}, **STILL
    )
    for keys in (["ArrowRight"], ["b", "ArrowRight", "ArrowRight"], ["End", "o", "End"], ["?"]):
        for key in keys:
            page.keyboard.press(key)
        assert axe(page) == [], keys


@pytest.mark.parametrize("width", [1280, 820, 390, 320])
def test_nothing_is_wider_than_the_screen(width: int, open_page: Callable[..., Any]) -> None:
    page = open_page(masked_attention().html(), viewport={"width": width, "height": 800}, **STILL)
    for key in ("Home", "ArrowRight", "b", "ArrowRight", "End"):
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_by_keyboard_alone(open_page: Callable[..., Any]) -> None:
    """Play, open an op, come back, choose a node, change a number, compare."""
    steps = softmax()
    data = steps.data()
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("b")
    turn = progress(page)[0]
    assert turn == 1 + len(data["views"][0]["steps"])
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("o")
    page.keyboard.press("Escape")
    assert progress(page)[0] == 1
    page.keyboard.press("End")
    focused = "document.activeElement.dataset.node || document.activeElement.ariaLabel || ''"
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(focused))
        if re.fullmatch(r"[sv]\d+", seen[-1]):
            break
    else:
        raise AssertionError(f"Tab leads to no node: {seen}")
    first = seen[-1]
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) != first
    node = page.evaluate(focused)
    page.keyboard.press("Enter")
    assert "selected" in page.locator(f'[data-node="{node}"]').get_attribute("class") or "lit" in (
        page.locator(f'[data-node="{node}"]').get_attribute("class")
    )
    for _ in range(60):
        page.keyboard.press("Tab")
        if "Enter changes it" in page.evaluate(focused):
            break
    else:
        raise AssertionError("Tab leads to no number of an input")
    before = boxes(page)
    page.keyboard.press("ArrowRight")
    assert progress(page)[0] >= turn, "the arrow moved within the table, not the play"
    page.keyboard.press("Enter")
    page.keyboard.type("2.5")
    page.keyboard.press("Enter")
    assert boxes(page) != before
    visible = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert visible != "none", "the focus is to be seen"


def test_the_words_of_a_screen_reader(open_page: Callable[..., Any]) -> None:
    page = open_page(two_neurons().html(), **STILL)
    said = []
    for key in ["Home"] + ["ArrowRight"] * progress(page)[1]:
        page.keyboard.press(key)
        said.append(page.locator(".unseen[aria-live=polite]").inner_text())
    assert said[1] == (
        "Step 1 of 30, forward: Multiplication computes its result = \N{MINUS SIGN}0.75."
    ) or said[1].startswith("Step 1 of ")
    assert any(
        re.search(r"backward: Backward starts here: the gradient of loss .* is 1\.$", s)
        for s in said
    )
    assert any("times the local derivative" in s and "for x. The sum so far: " in s for s in said)
    assert any("All its terms are there: " in s for s in said)
    assert len(set(said)) == len(said)


def words_of(name: str) -> dict[str, str]:
    text = (WORDS / f"{name}.js").read_text(encoding="utf-8")
    pairs = re.findall(r'^  "([^"]+)": ("(?:[^"\\]|\\.)*"),$', text, re.M)
    pairs += re.findall(r'^  (\w+): ("(?:[^"\\]|\\.)*"),$', text, re.M)
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    assert len(pairs) == len(lines), "a line of words that is none"
    return {key: json.loads(value) for key, value in pairs}


def test_both_languages_have_the_same_words_with_the_same_places() -> None:
    english, chinese = words_of("en"), words_of("zh")
    assert list(english) == list(chinese)
    for key in english:
        places = [sorted(set(re.findall(r"\{(\w+)\}", words[key]))) for words in (english, chinese)]
        assert places[0] == places[1], key
    same = [key for key in english if english[key] == chinese[key]]
    assert same == []


def test_every_word_that_the_page_asks_for_is_there() -> None:
    asked = set()
    for file in WORDS.parent.rglob("*.js*"):
        asked.update(re.findall(r'\bsay\("([^"]+)"', file.read_text(encoding="utf-8")))
    assert len(asked) > 50
    assert asked <= set(words_of("en"))


def test_chinese_by_the_browser_and_by_the_switch(open_page: Callable[..., Any]) -> None:
    chinese = words_of("zh")
    page = open_page(two_neurons().html(), locale="zh-CN", **STILL)
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.locator(".kicker b").inner_text() == chinese["phase start"]
    page.get_by_role("button", name="English").click()
    assert page.locator(".kicker b").inner_text() == "Start"
    assert page.evaluate("document.documentElement.lang") == "en"


def test_title_and_text_are_in_the_language_of_the_page(open_page: Callable[..., Any]) -> None:
    data = two_neurons().data()
    data["title"] = {"en": "A neuron", "zh": "一个神经元"}
    data["about"] = {"zh": "看 <b>梯度</b>。", "en": "See the <b>gradients</b>."}
    page = open_page(page_of("graph", "A neuron", data), **STILL)
    assert page.title() == page.locator("h1").inner_text() == "A neuron"
    assert page.locator(".lead").inner_text() == "See the <b>gradients</b>."
    page.get_by_role("button", name="中文").click()
    assert page.locator("h1").inner_text() == "一个神经元"
    assert page.locator(".lead").inner_text() == "看 <b>梯度</b>。"
    page.keyboard.press("ArrowRight")
    assert page.locator(".lead").count() == 0


def test_light_and_dark_by_the_system_and_by_the_switch(open_page: Callable[..., Any]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page = open_page(two_neurons().html(), color_scheme="dark", **STILL)
    assert page.evaluate(ground) == "rgb(20, 24, 29)"
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_it_plays_by_itself_and_stops_at_the_end(open_page: Callable[..., Any]) -> None:
    page = open_page(two_neurons().html())
    page.get_by_label("Speed").select_option("4")
    page.keyboard.press("End")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play", exact=True).wait_for(timeout=8000)
    at, last = progress(page)
    assert at == last


# ---- hostile texts -------------------------------------------------------------------------------

NASTY = [
    "</script><script>window.hurt = 1</script>",
    "<img src=x onerror=window.hurt=1>",
    '" onload="window.hurt=1',
    "'; window.hurt = 1; '",
    "<math><mtext><script>window.hurt=1</script></mtext></math>",
    "\u202egnp.exe\u2066 \u0000 \ud800 \r\n \u2028",
    "{{constructor.constructor('window.hurt=1')()}} ${window.hurt=1} {operand}",
    "__proto__",
    "a" * 500,
    "{name}",
]


def planted(data: dict[str, Any], text: str) -> dict[str, Any]:
    """The data with the text in all places that are the user's."""
    data = json.loads(json.dumps(data))
    data["title"] = text
    for value in data["values"]:
        value["name"] = value["called"] = value["dtype"] = text
    for step in data["steps"]:
        step["symbol"] = step["settings"] = step["note"] = text
        step["names"] = [text for _ in step["names"]]
    for source in data["sources"]:
        source["file"], source["lines"] = text, [text for _ in source["lines"]]
    for view in data["views"]:
        view["title"] = text
        for frame in view["layout"]["frames"]:
            frame["title"] = frame["kind"] = text
        for edge in view["layout"]["edges"]:
            edge["label"] = text
    return data


def check_hostile(page: Any, tags: set[str]) -> None:
    assert page.evaluate("window.hurt") is None
    now = page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName))]")
    assert set(now) <= tags
    attributes = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    assert [name for name in page.evaluate(attributes) if name.startswith("on")] == []


ALLOWED = set(
    "html head meta link title style body noscript div header h1 h2 bdi section svg g rect path "
    "text circle button input label span select option main aside p script nav ol li dl dt dd "
    "figure figcaption table tbody tr td th code pre details summary i b mark math mrow mi mn mo "
    "mfrac msup msub mspace mtext munder mover munderover".split()
)
INVISIBLE = r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_hostile_texts_are_text(text: str, open_page: Callable[..., Any]) -> None:
    data = planted(softmax().data(), text)
    page = open_page(page_of("graph", text, data), **STILL)
    for key in ("ArrowRight", "ArrowRight", "b", "ArrowRight", "ArrowRight", "End", "o", "End"):
        page.keyboard.press(key)
        check_hostile(page, ALLOWED)
    heading = page.locator("h1").inner_text()
    visible = re.sub(INVISIBLE, "\ufffd", text)
    assert re.sub(r"\s+", " ", heading).strip() == re.sub(r"\s+", " ", visible).strip()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_text_arrives_as_text(text: str, chromium: Any) -> None:
    html = page_of("graph", text, planted(softmax().data(), text))
    page = chromium.new_page(reduced_motion="reduce")
    try:
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.set_content(html)
        page.keyboard.press("End")
        check_hostile(page, ALLOWED)
        label = page.locator("h1 bdi").evaluate("e => e.textContent")
        for found, meant in zip(label, text.replace("\t", "    ")):
            assert found in (meant, "\ufffd")
        assert wrong == []
    finally:
        page.close()


def test_size_of_a_page_with_two_hundred_nodes(open_page: Callable[..., Any]) -> None:
    y = tt.tensor(0.5, requires_grad=True, name="x")
    for _ in range(66):
        y = (y * 0.9).tanh()
    steps = tt.step_through(y)
    data = steps.data()
    layout = data["views"][0]["layout"]
    assert len(layout["nodes"]) >= 200
    text = steps.html()
    assert len(text) < 500_000
    page = open_page(text, **STILL)
    page.keyboard.press("End")
    x_box = boxes(page)[f"v{id_of(data, 'x')}"]
    assert x_box["grad"] != ["\N{MIDDLE DOT}"]
