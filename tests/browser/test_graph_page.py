"""The graph page plays forward and backward: every number on it is the engine's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinytensor.pages.page import page as page_of

from .graph_pages import (
    boxes,
    close,
    id_of,
    masked_attention,
    numbers_in,
    products,
    progress,
    read,
    softmax,
    thrice,
    two_neurons,
    walk,
)

GRAPHS = {"two neurons": two_neurons, "softmax": softmax, "masked attention": masked_attention}
STILL = {"reduced_motion": "reduce"}


def check_boxes(page: Any, data: dict[str, Any], view: int, done: bool) -> int:
    """Numbers that the boxes show are the data's; at the end all are shown. How many there were."""
    count, shown = 0, boxes(page)
    for value in data["views"][view]["values"]:
        told = data["values"][value]
        for of in ("data", "grad"):
            wanted, texts = told[of], shown[f"v{value}"][of]
            if wanted is None or not texts or len(wanted) > 16:
                continue
            if set(texts) == {"\N{MIDDLE DOT}"}:
                assert not done, f"{told['name']} {of} is missing at the end"
                continue
            if of == "grad" and not done:
                continue  # perhaps a sum that is not complete; tested by itself below
            assert len(texts) == len(wanted)
            for text, number in zip(texts, wanted):
                assert close(text, float(number)), (told["name"], of, text, number)
                count += 1
    return count


@pytest.mark.parametrize("name", GRAPHS)
def test_every_number_of_every_step_is_the_engines(
    name: str, open_page: Callable[..., Any]
) -> None:
    steps = GRAPHS[name]()
    data = steps.data()
    page = open_page(steps.html(), **STILL)
    backward = []
    for moment in walk(page):
        last = progress(page)[1]
        shown = check_boxes(page, data, 0, done=moment == last)
        assert shown or moment == 0
        assert page.locator(".sentence").inner_text()
        if page.locator(".kicker b").inner_text() == "Backward":
            backward.append(page.locator("[data-node^=s].lit-backward").all())
    assert (
        len(backward)
        >= 1
        + 3 * len(data["backward"])
        - sum(data["steps"][step]["view"] != 0 for step in data["backward"]) * 3
    )
    assert shown >= sum(len(v["data"]) for v in data["values"] if v["data"] and v["grad"]) * 0.5


@pytest.mark.parametrize("make", [two_neurons, thrice])
def test_the_terms_of_a_shared_value_come_in_one_by_one(
    make: Callable[[], Any], open_page: Callable[..., Any]
) -> None:
    steps = make()
    data = steps.data()
    page = open_page(steps.html(), **STILL)
    x = id_of(data, "x")
    sums: list[str] = []
    lines = []
    for _ in walk(page):
        found = numbers_in(page, x, "grad")
        if found != ["\N{MIDDLE DOT}"] and (not sums or found[0] != sums[-1]):
            sums.append(found[0])
            lines.append(page.locator(".sum .equation").inner_text().split(" = "))
    terms = [
        data["steps"][step]["terms"][i][0]
        for step in data["backward"]
        for i, value in enumerate(data["steps"][step]["inputs"])
        if value == x and data["steps"][step]["view"] == 0
    ]
    assert len(sums) == len(terms) >= 2
    for n, (shown, line) in enumerate(zip(sums, lines), 1):
        assert close(shown, sum(terms[:n]), 3)
        parts = line[0].removesuffix(" + …").split(" + ")
        assert len(parts) == n
        assert all(close(part.strip("()"), term, 3) for part, term in zip(parts, terms))
        if n > 1:
            assert close(line[1].removesuffix(" + …"), sum(terms[:n]), 3)


def test_the_product_is_gradient_times_local_derivative(open_page: Callable[..., Any]) -> None:
    steps = two_neurons()
    page = open_page(steps.html(), **STILL)
    checked = 0
    for _ in walk(page):
        equations = page.locator(".now > div > .equation").all_inner_texts()
        if (
            len(equations) == 1
            and " × " in equations[0]
            and "Backward" in page.inner_text(".kicker")
        ):
            left, right = equations[0].split(" = ")
            g, local = left.split(" × ")
            assert read(g) * read(local.strip("()")) == pytest.approx(read(right), rel=2e-3)
            checked += 1
    assert checked == 8  # of each of five ops, and both operands of the three products


def test_an_op_opens_in_place_and_the_play_outside_stays(open_page: Callable[..., Any]) -> None:
    steps = softmax()
    data = steps.data()
    inner = next(i for i, view in enumerate(data["views"]) if view["kind"] == "reference")
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("ArrowRight")  # softmax is the first
    page.keyboard.press("o")
    assert page.locator("nav [aria-current]").inner_text() == "softmax"
    for moment in walk(page):
        done = moment == progress(page)[1]
        check_inner(page, data, inner, done)
    page.keyboard.press("Escape")
    assert page.locator("nav").count() == 0
    assert progress(page)[0] == 1


def check_inner(page: Any, data: dict[str, Any], view: int, done: bool) -> None:
    shown = data["views"][view]
    if not done:
        return
    outer = shown["step"]
    for value in shown["values"]:
        told = data["values"][value]
        assert all(map(close, numbers_in(page, value, "data"), map(float, told["data"])))
        # what comes from outside gets here what the op gives it, not what others give it besides
        wanted = told["grad"]
        if value in data["steps"][outer]["inputs"]:
            wanted = data["steps"][outer]["terms"][data["steps"][outer]["inputs"].index(value)]
        if wanted is None:
            continue
        for text, number in zip(numbers_in(page, value, "grad"), wanted):
            assert close(text, number) or abs(read(text) - number) < 1e-6


def test_what_if(open_page: Callable[..., Any]) -> None:
    steps = two_neurons()
    data = steps.data()
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("End")
    x, loss = id_of(data, "x"), id_of(data, "loss")
    page.locator(f'[data-node="v{x}"] text.number.data').click()
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    w, v, new = -1.5, 2.0, 0.25
    n, m = math.tanh(w * new), math.tanh(v * new)
    slope = (1 - n * n) * w * m + n * (1 - m * m) * v
    assert close(numbers_in(page, loss, "data")[0], n * m, 3)
    assert close(numbers_in(page, x, "grad")[0], slope, 3)
    assert "changed" in page.locator(f'[data-node="v{loss}"] text.number.data').get_attribute(
        "class"
    )
    page.get_by_role("button", name="Compare with finite differences").click()
    rows = page.locator(".compare tbody tr")
    found = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows.all()
    }
    assert set(found) == {"x", "w", "v"}
    assert close(found["x"][0], slope, 5) and close(found["x"][1], slope, 5)
    page.get_by_role("button", name="Reset the numbers").click()
    assert close(numbers_in(page, loss, "data")[0], data["values"][loss]["data"][0], 3)
    assert page.locator(".changed").count() == 0


def test_what_can_not_be_computed_again_is_said(open_page: Callable[..., Any]) -> None:
    data = two_neurons().data()
    step = next(step for step in data["steps"] if step["op"] == "tanh")
    step["params"] = None
    page = open_page(page_of("graph", "t", data), **STILL)
    assert page.locator(".trouble").inner_text().endswith("it has no rule for tanh.")
    assert page.locator(".editable").count() == 0
    data = two_neurons().data()
    data["values"][id_of(data, "w")]["data"] = None
    page = open_page(page_of("graph", "t", data), **STILL)
    told = page.locator(".trouble").inner_text()
    assert "does not hold the numbers of w. Too many numbers" in told
    page.keyboard.press("End")
    assert progress(page)[0] == progress(page)[1]


def test_a_number_that_is_none_is_not_taken(open_page: Callable[..., Any]) -> None:
    steps = two_neurons()
    page = open_page(steps.html(), **STILL)
    cell = page.locator(".whatif td").first
    before = cell.inner_text()
    cell.click()
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    assert cell.locator("input").get_attribute("aria-invalid") == "true"
    page.keyboard.press("Escape")
    assert cell.inner_text() == before and page.locator(".changed").count() == 0


def test_an_element_tells_what_made_it(open_page: Callable[..., Any]) -> None:
    steps = products()
    data = steps.data()
    page = open_page(steps.html(), **STILL)
    y = id_of(data, "y")
    page.keyboard.press("ArrowRight")
    page.locator(f'[data-node="v{y}"] text.number.data', has_text="12").hover()
    told = page.locator(".madeof .with").inner_text()
    assert told.startswith("y[0,1] = ") and told.endswith("= 12")  # 1 (-1) + 2 · 2 + 3 · 3
    lit = page.locator("[data-node] text.number.cell").all_text_contents()
    assert sorted(map(read, lit)) == sorted([1, 2, 3, -1, 2, 3])


def test_an_element_of_a_gradient_tells_what_made_it(open_page: Callable[..., Any]) -> None:
    steps = products()
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("End")  # w, the second operand, is the last to get its gradient
    page.locator(".numbers.made td").first.focus()
    assert page.locator(".madeof .formula").inner_text() == "dw[k,j] = Σᵢ x[i,k] · g[i,j]"
    assert page.locator(".madeof .with").inner_text() == "dw[0,0] = 1 · 4 + 4 · 13 = 56"
    page.keyboard.press("ArrowRight")
    assert page.locator(".madeof .with").inner_text() == "dw[0,1] = 1 · 24 + 4 · 48 = 216"
    lit = page.locator("td.cell").all_inner_texts()
    assert {24, 48} <= set(map(read, lit)) <= {24, 48, 1, 4}, "g's column; x's where it is shown"


def test_large_and_strange_numbers(open_page: Callable[..., Any]) -> None:
    import tinytensor as tt

    x = tt.tensor([math.inf, -math.inf, math.nan, 1e30, -1e-12, 0.0], requires_grad=True, name="x")
    y = x * 1.0
    y.name = "y"
    with np.errstate(invalid="ignore"):
        steps = tt.step_through(y.sum())
        steps.data()
    page = open_page(steps.html(), **STILL)
    page.keyboard.press("End")
    shown = list(map(read, numbers_in(page, id_of(steps.data(), "y"), "data")))
    np.testing.assert_allclose(shown, [math.inf, -math.inf, math.nan, 1e30, -1e-12, 0], rtol=1e-3)
