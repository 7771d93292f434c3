"""The graph page in Firefox: from a file, through all steps, with every number as in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .firefox import Firefox
from .graph_pages import close, masked_attention, softmax, two_neurons

NUMBERS = """[...document.querySelectorAll("[data-node^=v]")].map(node => [
    Number(node.dataset.node.slice(1)), ["data", "grad"].map(of =>
        [...node.querySelectorAll(`text.number.${of}`)].map(e => e.textContent))])"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    browser = Firefox(tmp_path_factory.mktemp("firefox"))
    yield browser
    browser.close()


@pytest.mark.parametrize("make", [two_neurons, softmax, masked_attention])
def test_all_steps_in_firefox(make: object, firefox: Firefox, tmp_path: Path) -> None:
    firefox.wrong.clear()
    steps = make()  # type: ignore[operator]
    data = steps.data()
    path = tmp_path / "step.html"
    steps.save(path)
    firefox.open(path)
    last = int(firefox.evaluate("document.querySelector('input[type=range]').max"))
    sentences = set()
    for at in range(1, last + 1):
        firefox.press("ArrowRight")
        assert int(firefox.evaluate("document.querySelector('input[type=range]').value")) == at
        sentences.add(firefox.evaluate("document.querySelector('.unseen').textContent"))
    assert len(sentences) == last
    checked = 0
    for value, (numbers, grads) in firefox.evaluate(NUMBERS):
        told = data["values"][value]
        for texts, wanted in ((numbers, told["data"]), (grads, told["grad"])):
            if texts and wanted:
                assert all(map(close, texts, map(float, wanted))), (told["name"], texts, wanted)
                checked += len(texts)
    assert checked >= 10
    assert firefox.wrong == []


def test_what_if_and_maths_in_firefox(firefox: Firefox, tmp_path: Path) -> None:
    path = tmp_path / "step.html"
    softmax().save(path)
    firefox.open(path)
    firefox.press("ArrowRight")
    fraction = "document.querySelector('.about mfrac').getBoundingClientRect().height"
    letter = "document.querySelector('.about mfrac mi').getBoundingClientRect().height"
    assert firefox.evaluate(fraction) > 1.5 * firefox.evaluate(letter), "the formula is laid out"
    firefox.evaluate("document.querySelector('.whatif td').click()")
    firefox.wait_for("document.activeElement.className === 'edit'")
    firefox.press("5", "Enter")
    firefox.wait_for("document.querySelectorAll('.changed').length > 3")
    assert firefox.wrong == []
