"""What the tests of the graph page share: graphs to step through, and reading the page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import tinytensor as tt


def two_neurons() -> Any:
    """w and v are read once, x twice: its gradient is a sum of two terms."""
    x = tt.tensor(0.5, requires_grad=True, name="x")
    w = tt.tensor(-1.5, requires_grad=True, name="w")
    v = tt.tensor(2.0, requires_grad=True, name="v")
    n = tt.tanh(w * x)
    n.name = "n"
    m = tt.tanh(v * x)
    m.name = "m"
    out = n * m
    out.name = "loss"
    return tt.step_through(out)


def thrice() -> Any:
    """x is read by three steps, once by each of two and twice by the third."""
    x = tt.tensor(0.7, requires_grad=True, name="x")
    loss = (x * x + tt.sin(x)) * x
    loss.name = "loss"
    return tt.step_through(loss)


def softmax() -> Any:
    scores = tt.tensor([0.0, 1.0, 3.0], requires_grad=True, name="scores")
    p = tt.softmax(scores)
    p.name = "p"
    picked = (p * tt.tensor([1.0, 0.0, 0.0], name="pick")).sum()
    picked.name = "picked"
    return tt.step_through(picked)


def masked_attention() -> Any:
    q, k, v = (tt.randn(3, 2, requires_grad=True, name=name) for name in "qkv")
    mask = tt.tensor([[True, False, False], [True, True, False], [True, True, True]], name="mask")
    out = tt.scaled_dot_product_attention(q, k, v, mask)
    out.name = "mixed"
    loss = (out * out).sum()
    loss.name = "loss"
    return tt.step_through(loss)


def products() -> Any:
    x = tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name="x")
    w = tt.tensor([[1.0, -1.0], [0.5, 2.0], [0.0, 3.0]], requires_grad=True, name="w")
    y = x @ w
    y.name = "y"
    loss = (y * y).sum()
    loss.name = "loss"
    return tt.step_through(loss)


def read(text: str) -> float:
    """A number as the page writes it."""
    return float(
        text.strip().replace("\N{MINUS SIGN}", "-").replace("True", "1").replace("False", "0")
    )


def close(text: str, expected: object, digits: int = 2) -> bool:
    """Is a number of the page this one, in the digits that it has room for?"""
    wanted = float(expected) if not isinstance(expected, bool) else float(int(expected))
    found = read(text)
    if math.isnan(wanted) or math.isinf(wanted):
        return str(found) == str(wanted)
    return abs(found - wanted) <= 0.51 * 10 ** (1 - digits) * abs(wanted) + 1e-12


def progress(page: Any) -> tuple[int, int]:
    at, most = re.findall(r"\d+", page.locator(".kicker").inner_text())
    return int(at), int(most)


def walk(page: Any) -> Iterator[int]:
    """Through all moments of the view by the key; their numbers."""
    page.keyboard.press("Home")
    at, most = progress(page)
    assert at == 0
    yield 0
    for moment in range(1, most + 1):
        page.keyboard.press("ArrowRight")
        assert progress(page) == (moment, most)
        yield moment


def numbers_in(page: Any, value: int, of: str) -> list[str]:
    """The numbers of a box in the graph; "data" or "grad"."""
    texts = page.locator(f'[data-node="v{value}"] text.number.{of}')
    return [text for text in texts.all_text_contents() if text]


def boxes(page: Any) -> dict[str, dict[str, list[str]]]:
    """The numbers of all boxes: by "v3", then by "data" and "grad"."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-node^=v]")].map(node =>
            [node.dataset.node, Object.fromEntries(["data", "grad"].map(of =>
                [of, [...node.querySelectorAll(`text.number.${of}`)].map(e => e.textContent)]
            ))]))"""
    )


def id_of(data: dict[str, Any], name: str) -> int:
    return next(i for i, value in enumerate(data["values"]) if value["name"] == name)
