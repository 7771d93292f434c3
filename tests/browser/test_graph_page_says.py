"""What the graph page says, and where: rounding, a product, what is missing, a small screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.pages.page import page as page_of

from .graph_pages import id_of, numbers_in, products, progress, read, softmax, two_neurons

STILL = {"reduced_motion": "reduce"}
PHONE = {"width": 390, "height": 780}


def change(page: Any, at: int, text: str) -> None:
    page.locator(".whatif td").nth(at).click()
    page.locator(".whatif input.edit").fill(text)
    page.keyboard.press("Enter")


def test_numbers_of_a_box_add_up(open_page: Callable[..., Any]) -> None:
    """Rounded one by one, 0.19 - 0.18 - 0.0091 was no zero."""
    steps = softmax()
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("End")
    for at, text in enumerate(("5", "6", "3")):
        change(page, at, text)
    shown = numbers_in(page, id_of(steps.data(), "scores"), "grad")
    assert sum(map(read, shown)) == pytest.approx(0, abs=1.01e-4)
    assert {len(text.split(".")[1]) for text in shown} == {4}


def test_a_term_shows_the_gradient_the_local_derivative_and_the_product(
    open_page: Callable[..., Any],
) -> None:
    page = open_page(softmax().html(), **STILL)
    page.keyboard.press("End")
    g, local, term = (
        [float(td.get_attribute("title")) for td in figure.locator("td").all()]
        for figure in page.locator(".flowing .numbers").all()
    )
    assert (len(g), len(local)) == (3, 9)
    made = [sum(g[i] * local[3 * i + j] for i in range(3)) for j in range(3)]
    assert term == pytest.approx(made, abs=1e-7)
    assert page.locator(".flowing .sign").all_inner_texts() == ["×", "="]


def test_the_legend_names_the_letters_of_the_rule(open_page: Callable[..., Any]) -> None:
    page = open_page(softmax().html(), **STILL)
    page.keyboard.press("End")
    assert page.get_by_text("g: the gradient of the result, out: the result").count() == 1
    page = open_page(products().html(), **STILL)
    page.keyboard.press("End")
    assert page.get_by_text("g: the gradient of the result").count() == 1
    assert page.get_by_text("out: the result").count() == 0


def test_why_numbers_are_missing(open_page: Callable[..., Any]) -> None:
    for reason, text in (
        ("changed", "step through before the update"),
        ("freed", "retain_graph=True"),
        ("gone", "keep it in a variable"),
        (None, "Too many numbers"),
        ("<b>x</b>", "Too many numbers"),
    ):
        data = two_neurons().data()
        value = data["values"][id_of(data, "n")]
        value["data"], value["grad"] = None, None
        if reason:
            value["unknown"] = reason
        page = open_page(page_of("graph", "t", data), **STILL)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert text in page.locator(".now").inner_text()
        page.close()


def test_to_backward_and_opening_on_a_phone(open_page: Callable[..., Any]) -> None:
    page = open_page(softmax().html(), viewport=PHONE, **STILL)
    page.get_by_role("button", name="To backward").click()
    assert "Backward" in page.locator(".kicker").inner_text()
    page.keyboard.press("End")
    page.locator(".about .open").scroll_into_view_if_needed()
    top = "document.querySelector('.stage').getBoundingClientRect().top"
    assert page.evaluate(top) == 0, "the graph stays in sight"
    page.locator(".about .open").click()
    assert 0 <= page.evaluate(top) < 200 and page.evaluate("scrollY") == 0
    covered = """() => {
      const [a, b] = [".stage > svg", ".zoom"].map(one => document.querySelector(one));
      return b.getBoundingClientRect().top < a.getBoundingClientRect().bottom;
    }"""
    assert page.evaluate(covered) is False


@pytest.mark.parametrize("width", [1280, 390])
def test_a_graph_that_can_be_read_as_a_whole_is_shown_as_a_whole(
    width: int, open_page: Callable[..., Any]
) -> None:
    x = tt.tensor(0.5, requires_grad=True, name="x")
    steps = {1280: two_neurons, 390: lambda: tt.step_through(x * 2)}[width]()
    page = open_page(steps.html(), viewport={"width": width, "height": 780}, **STILL)
    frame = page.locator(".stage > svg").bounding_box()
    for node in page.locator("[data-node]").all():
        box = node.bounding_box()
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_o_where_nothing_opens_says_so(open_page: Callable[..., Any]) -> None:
    page = open_page(two_neurons().html(), **STILL)
    colours = page.locator(".colours span").all_inner_texts()
    assert colours == ["value", "gradient", "local derivative"]
    page.keyboard.press("o")
    said = "There is nothing to open at this moment."
    assert page.locator(".notice").inner_text() == said
    assert page.locator(".unseen[aria-live=polite]").inner_text() == said
    page.keyboard.press("ArrowRight")
    assert page.locator(".notice").count() == 0 and progress(page)[0] == 1


@pytest.mark.parametrize("where", [".whatif td", "[data-node] text.editable"])
def test_what_is_expected_of_a_number(where: str, open_page: Callable[..., Any]) -> None:
    page = open_page(two_neurons().html(), **STILL)
    page.locator(where).first.click()
    entry = page.locator("input.edit")
    entry.fill("abc")
    page.keyboard.press("Enter")
    told = page.locator(f"[id='{entry.get_attribute('aria-describedby')}']")
    assert told.is_visible() and told.inner_text().startswith("Expected: a number, such as 0.5")
    entry.fill("2")
    assert page.locator(".wrong").count() == 0


def test_chinese_has_no_spaces_between_its_characters(open_page: Callable[..., Any]) -> None:
    page = open_page(two_neurons().html(), locale="zh-CN", **STILL)
    spaced = 0
    for _ in range(progress(page)[1]):
        page.keyboard.press("ArrowRight")
        told = page.locator(".sentence").inner_text()
        pairs = [told[i - 1] + told[i + 1] for i in range(1, len(told) - 1) if told[i] == " "]
        assert not [pair for pair in pairs if min(pair) >= "\u4e00"], told
        spaced += any(max(pair) >= "\u4e00" for pair in pairs)
    assert spaced, "there are some beside Latin letters"
