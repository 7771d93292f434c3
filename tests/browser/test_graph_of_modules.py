"""The page of a drawn graph: modules open, names are found, statistics and flags are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.models import GPT, GPTConfig

STILL = {"reduced_motion": "reduce"}


def gpt() -> Any:
    model = GPT(GPTConfig(vocab_size=11, block_size=8, n_layer=3, n_head=2, n_embd=8))
    ids = np.array([[1, 2, 3, 4, 5]])
    return tt.draw(model.loss(ids, ids))


def test_a_folded_module_opens_and_closes(open_page: Callable[..., Any]) -> None:
    page = open_page(gpt().html(), **STILL)
    assert page.locator(".player").count() == 0
    block = page.locator(".node.module", has_text="TransformerBlock")
    assert "× 3" in block.text_content()
    block.click()
    page.locator("button.open").click()
    assert page.locator("nav li").count() == 2
    page.locator(".node.module", has_text="attn").locator(".opener").click()
    page.keyboard.press("Escape")
    assert page.locator("nav li").count() == 2
    page.locator("nav button").first.click()
    assert page.locator("nav").count() == 0 and block.count() == 1


def test_a_name_is_found_where_it_is(open_page: Callable[..., Any]) -> None:
    page = open_page(gpt().html(), **STILL)
    page.get_by_label("Find a node").fill("c_proj.bias")
    page.keyboard.press("Enter")
    assert "c_proj.bias" in page.locator(".value h2").inner_text()
    assert page.locator(".node.selected").count() == 1
    page.get_by_label("Find a node").fill("no such thing")
    assert page.get_by_role("status").inner_text() == "Nothing of this name"


def dead_net() -> tuple[Any, Any]:
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    net[0].bias.data[:] = -50
    x = tt.randn(16, 8)
    return tt.draw(lambda x: (net(x) ** 2).mean(), x, zoom="ops"), net


def test_statistics_and_flags_are_there_in_words(open_page: Callable[..., Any]) -> None:
    drawn, net = dead_net()
    page = open_page(drawn.html(), **STILL)
    conspicuous = page.locator(".flagged button")
    assert conspicuous.count() >= 2
    dead = conspicuous.filter(has_text="dead").first
    dead.click()
    said = page.locator(".panel .value .flag").first.inner_text()
    assert "Some of its units are 0 in every row. (32 of 32 units" in said
    page.get_by_label("Find a node").fill("0.weight")
    page.keyboard.press("Enter")
    rows = page.locator(".stats tbody tr")
    told = {
        row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in rows.all()
    }
    weight = net[0].weight.numpy() if not net[0].weight.requires_grad else net[0].weight.data
    for word, wanted in (("mean", weight.mean()), ("min", weight.min()), ("max", weight.max())):
        found = float(told[word].replace("\N{MINUS SIGN}", "-"))
        assert found == pytest.approx(float(wanted), rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    width: int, open_page: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    page = open_page(dead_net()[0].html(), viewport={"width": width, "height": 800}, **STILL)
    assert axe(page) == []
    page.locator(".flagged button").first.click()
    assert axe(page) == []
    page.get_by_label("Find a node").fill("weight")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
