"""That the benchmark of word vectors runs, and what it compares by. No time is asserted."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks import word2vec


def test_steps_by_the_size_of_the_vocabulary(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many rows for each size, where all words are of the same thousand; else more."""
    flags = "--vocabulary 1000 3000 --optimizer sgd --steps 2 --rounds 1 --epochs 0"
    monkeypatch.setattr(sys, "argv", ["word2vec", *flags.split()])
    word2vec.main()
    rows = [
        int(line.split()[1].replace(",", ""))
        for line in capsys.readouterr().out.splitlines()
        if line.lstrip()[:5] in ("1,000", "3,000")
    ]
    assert len(rows) == 4
    assert rows[0] == rows[1] == rows[2] < 1.5 * rows[2] < rows[3]


def test_beside_gensim(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed: pip install gensim")
    word2vec.beside_gensim(1, 1)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("tinytensor,", "gensim,")) for line in lines) == 4
    assert sum("are the same by gensim" in line for line in lines) == 4


def test_overlap_by_hand() -> None:
    one = np.eye(4) + 0.1 * np.eye(4)[[1, 0, 3, 2]]
    assert word2vec.overlap(one, one, [0, 1, 2, 3], 1) == 1.0
    other = np.eye(4) + 0.1 * np.eye(4)[[1, 0, 0, 0]]
    assert word2vec.overlap(one, other, [0, 1, 2, 3], 1) == 0.5
