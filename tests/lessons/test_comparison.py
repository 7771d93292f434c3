"""The comparison: a hurried run of it, its sentences and its page. No time is asserted."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tinytensor as tt
from lessons import comparison
from lessons.compared import copying, measure
from lessons.compared.bodies import KERNEL, KINDS, WINDOW, spread
from lessons.compared.page import page
from lessons.compared.plots import draw
from lessons.compared.sentences import Measured, sentences

ROOT = Path(__file__).resolve().parent.parent.parent
BY_KEY = {kind.key: kind for kind in KINDS}


@pytest.fixture(scope="module")
def quick() -> Measured:
    with threadpool_limits(1):
        return comparison.compare(quick=True, workers=1, tell=lambda text: None)


def test_a_hurried_run_bears_out_what_does_not_rest_on_time(quick: Measured) -> None:
    said = sentences(quick)
    assert [sentence.about for sentence in said] == ["steps", "paths", "time", "memory", "copying"]
    assert [sentence.about for sentence in said if sentence.timed] == ["time"]
    for sentence in said:
        assert sentence.holds or sentence.timed, sentence.text


def test_the_page_and_its_plots(quick: Measured, tmp_path: Path) -> None:
    said = sentences(quick)
    text = page(quick, said, quick=True)
    for plot in draw(quick, tmp_path):
        assert f"]({plot.name})" in text
        assert plot.read_text(encoding="utf-8").startswith("<?xml")
    assert [line for line in text.splitlines() if re.match(r"\d\. ", line)][0].startswith("1. Rec")
    for kind in KINDS:
        assert len(re.findall(rf"^\| {kind.name} \|", text, re.M)) == 2  # a row in each table
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables[:8]}) == 1
    assert all(len(line) <= 100 for line in text.splitlines() if not line.startswith(("|", "!")))
    assert "{" not in text


def test_a_sentence_that_does_not_hold_says_so(quick: Measured) -> None:
    chains = {**quick.chains, "cnn": [8, 16]}
    hops = {**quick.hops, "attention": 2}
    results = [replace(result, accuracy=0.5) for result in quick.copies["attention"]]
    copies = {**quick.copies, "attention": results}
    lost = sentences(replace(quick, chains=chains, hops=hops, copies=copies))
    assert [s.about for s in lost if not s.holds and not s.timed] == ["steps", "paths", "copying"]
    assert str(lost[0]).startswith("**Not confirmed this time:** Recurrent layers")


@pytest.mark.parametrize("scale", [1, 2, 4, 8])
def test_all_have_equally_many_parameters(scale: int) -> None:
    assert spread(scale) < comparison.ALIKE


def test_a_chain_counts_what_is_inside_of_fused_ops() -> None:
    x = tt.ones((3,), requires_grad=True)
    assert measure.longest_chain([tt.exp(tt.exp(x)) + x]) == 3
    inside = measure.longest_chain([tt.softmax(x)])
    assert inside > 1
    assert measure.longest_chain([tt.exp(tt.softmax(x))]) == inside + 1


def test_paths_are_counted_by_gradients() -> None:
    """At the last distance that one layer reaches, and one further."""
    for key, reach in (("cnn", KERNEL - 1), ("windowed", WINDOW - 1)):
        assert measure.hops(BY_KEY[key], reach) == 1
        assert measure.hops(BY_KEY[key], reach + 1) == 2
        assert BY_KEY[key].hops(reach) == 1 and BY_KEY[key].hops(reach + 1) == 2


def test_exponents_are_those_of_powers() -> None:
    sizes = [2, 4, 8, 16]
    costs = [5.0, 3.0 * 4**2, 3.0 * 8**2, 3.0 * 16**2]
    growth = measure.Growth(sizes, costs, [float(n) for n in sizes])
    assert growth.exponent == pytest.approx(2)
    assert growth.counted == pytest.approx(1)


def test_the_copy_task_asks_for_what_stands_at_the_beginning() -> None:
    ids, symbols = copying.examples(np.random.default_rng(0), 400, 8)
    assert ids.shape == (400, 9) and (ids[:, 0] == symbols).all()
    assert set(np.unique(symbols)) == set(range(copying.SYMBOLS))
    assert (ids[:, -1] == copying.QUESTION).all()
    assert ids[:, 1:-1].min() >= copying.SYMBOLS and ids[:, 1:-1].max() < copying.QUESTION


def test_the_command_names_what_it_does_not_take() -> None:
    done = subprocess.run(
        [sys.executable, "lessons/comparison.py", "--workers", "0"],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and "--workers: expected at least 1, got 0" in done.stderr
