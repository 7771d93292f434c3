"""The page of attention's maps, as a browser shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytensor.train.results.attention import TEXT, Map
from tinytensor.train.results.attention_page import page


def test_the_page_shows_where_a_symbol_looks(open_page: Callable[..., Any]) -> None:
    weights = np.array([[[1, 0], [0.25, 0.75]]], np.float32)
    shown = open_page(page([Map(TEXT, 1, ["<b>", "b"], ["<b>", "b"], weights)], "<i>", "about"))
    assert shown.title() == "<i>"
    assert shown.locator("h1").inner_text() == "<i>"
    shown.locator("#queries button").nth(1).focus()
    assert shown.locator("#detail").inner_text() == "b (2 of 2) looks at b (2) 75%, <b> (1) 25%"
