"""Passages and the texts they come from: parts that never overlap, answers, the picture."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from benchmarks.naive_bayes import NaiveBayes, fours, words
from tinytensor import models
from tinytensor.train import DataError
from tinytensor.train.data.difference import origin_difference
from tinytensor.train.tasks.classes import passages
from tinytensor.train.tasks.classes.evidence import by_character, by_window, draw_evidence
from tinytensor.train.tasks.classes.topics import TopicsTask


def settings(**given: Any) -> Any:
    return SimpleNamespace(**({"data": None, "encoding": "utf-8", "block_size": 200} | given))


@pytest.fixture(scope="module")
def task() -> TopicsTask:
    pytest.importorskip("pydoc_data.topics", reason="this Python was stripped of its help topics")
    return TopicsTask(settings())


# ---- cutting texts into parts ------------------------------------------------------------------

some_text = st.text("ab .\n", min_size=0, max_size=400)


@given(st.dictionaries(st.sampled_from("xyz"), some_text, min_size=1), st.integers(1, 30))
def test_every_paragraph_is_in_one_stretch_of_one_text(texts: dict[str, str], least: int) -> None:
    seen: set[str] = set()
    found = [s for text in texts.values() for s in passages.stretches(text, seen, least)]
    paragraphs = {p for text in texts.values() for p in passages.paragraphs(text)}
    assert seen == paragraphs
    assert sum(map(len, found)) + len(found) == sum(map(len, paragraphs)) + len(paragraphs)
    for text in texts.values():
        row = passages.stretches(text, set(), least)
        assert all(len(stretch) >= least for stretch in row) or len(row) == 1
        assert " ".join(row) == " ".join(dict.fromkeys(passages.paragraphs(text)))


@given(some_text, st.integers(1, 40))
def test_passages_begin_at_words_and_do_not_overlap(text: str, length: int) -> None:
    text = passages.plain(text)
    found = passages.passages(text, length)
    begins, taken = passages.starts(text, length), []
    assert all(start == 0 or text[start - 1] == " " for start in begins)
    for start in begins:
        if not taken or start >= taken[-1] + length:
            taken.append(start)
    assert found == [text[start : start + length] for start in taken]
    assert all(len(passage) == length for passage in found)
    assert bool(found) == (len(text) >= length)


def test_texts_are_made_plain() -> None:
    text = " A  table:\n====== ++--++\n-------\n\n\n x \t**** \n\n"
    assert passages.paragraphs(text) == ["A table: === ++--++ ---", "x ***"]
    assert passages.plain("aaaaaa 11111 ...") == "aaaaaa 11111 ..."


def test_no_test_passage_has_a_character_of_what_is_learnt_from(task: TopicsTask) -> None:
    assert len(task.classes) == 12
    training = [stretch for part in task.parts.values() for stretch in part.train]
    for name, part in task.parts.items():
        stretches = [*part.train, *part.val, *part.test]
        assert len(set(stretches)) == len(stretches), "a stretch is in one part only"
        whole = sum(map(len, stretches))
        assert 0.1 < sum(map(len, part.test)) / whole < 0.35, name
        assert 0.0 < sum(map(len, part.val)) / whole < 0.25, name
    learnt = {text[i : i + 60] for text in training for i in range(len(text) - 59)}
    for x, targets in (task.val, task.test):
        assert len(x) == len(targets) and set(targets) == set(range(12))
        for ids in x:
            passage = task.decode(ids)
            assert learnt.isdisjoint(passage[i : i + 60] for i in range(len(passage) - 59))
    # what a batch holds is in the training part, and of the right topic
    tt.random.manual_seed(1)
    x, targets = task.batch(30)
    assert x.shape == (30, 200) and x.dtype == np.int64 and (x > 0).all()
    for ids, target in zip(x, targets):
        stretches = task.parts[task.classes[target]].train
        assert any(task.decode(ids) in stretch for stretch in stretches)


def test_passages_that_have_much_in_common_are_told() -> None:
    row = "".join(map(str, range(100)))
    learnt = ["?" + row[20:90] + "!", row[:50]]
    found = [row[:80], row[:81], row[:79], row[80:], row[29:92], row[31:91] * 2]
    assert passages.copied(found, learnt) == {row[:80], row[:81], row[29:92]}
    assert passages.copied([], learnt) == passages.copied(found, []) == set()


# ---- the task ----------------------------------------------------------------------------------


def test_batches_depend_on_the_generator_alone(task: TopicsTask) -> None:
    tt.random.manual_seed(3)
    first = [task.batch(4) for _ in range(3)]
    state = tt.random.state()
    again = TopicsTask(settings())
    tt.random.manual_seed(3)
    for batch in first:
        for want, got in zip(batch, again.batch(4), strict=True):
            np.testing.assert_array_equal(got, want)
    assert tt.random.state() == state
    assert again.fingerprint == task.fingerprint and again.vocabulary == task.vocabulary
    assert list(task.blocks(10)) and len(task.test)
    assert tt.random.state() == state, "validation draws nothing"


def test_validation_goes_through_its_part(task: TopicsTask) -> None:
    blocks = list(task.blocks(10))
    assert len(blocks) == task.batches(10)
    for whole, parts in zip(task.val, zip(*blocks, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    few = list(task.blocks(10, limit=3))
    middle = blocks[len(blocks) // 2]
    assert len(few) == 3
    np.testing.assert_array_equal(few[1][0], middle[0])
    assert task.shares.sum() == pytest.approx(1)
    assert 1 < task.baseline < np.log(12), "the entropy of the topics' shares"


def small(task: TopicsTask) -> Any:
    return models.build("cnn", **task.sizes(), n_embd=8, n_filters=8)


def test_answers_and_figures(task: TopicsTask, tmp_path: Path) -> None:
    model = small(task)
    state = tt.random.state()
    score = task.score(model)
    assert score is not None and score.count == len(task.test[1])
    assert score.value == (model.predict(task.test[0]) == task.test[1]).mean()
    assert task.score(model, stop=[1]) is None
    answer = task.answer(model, "set a breakpoint ☃")
    assert "%" in answer.splitlines()[0] and answer.splitlines()[-1].startswith("by '")
    assert task.answer(model, "x")
    shown = task.show(model, seed=1)
    assert shown == task.show(model, seed=1) != task.show(model, seed=2)
    path = task.draw(model, tmp_path / "topics.png")
    assert path is not None and path.read_bytes().startswith(b"\x89PNG")
    assert tt.random.state() == state and model.training
    for nothing in ("", "  \n", "☃"):
        with pytest.raises(DataError, match="input: expected a text with characters that the"):
            task.answer(model, nothing)


def test_a_vocabulary_is_enough_to_answer(task: TopicsTask, monkeypatch: Any) -> None:
    model = small(task)
    want = task.answer(model, "the value of an expression")
    monkeypatch.setattr("tinytensor.train.tasks.classes.topics.help_texts", lambda: 1 / 0)
    other = TopicsTask(settings(), vocabulary=task.vocabulary)
    assert other.answer(model, "the value of an expression") == want
    assert other.sizes() == task.sizes() and other.vocabulary == task.vocabulary
    for wrong in (3, {}, {"classes": ["a"]}, {"classes": "ab", "symbols": "ab"},
                  {"classes": ["a"], "symbols": "ba"}, {"classes": ["a"], "symbols": ""},
                  {"classes": ["a", "a"], "symbols": "ab"}):  # fmt: skip
        with pytest.raises(ValueError, match="vocabulary: expected"):
            TopicsTask(settings(), vocabulary=wrong)


def test_a_checkpoint_knows_of_which_python_its_topics_are(task: TopicsTask) -> None:
    note = origin_difference("python 3.9.1", task.origin, same_names=True)
    assert note.startswith("the checkpoint was trained on the help topics of Python 3.9.1, which")


def test_files_to_tell_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, letters in (("a.txt", "abc"), ("b.txt", "abd")):
        text = "\n\n".join(
            " ".join("".join(rng.choice(list(letters), 5)) for _ in range(50)) for _ in range(40)
        )
        (tmp_path / name).write_text(text, encoding="utf-8")
    task = TopicsTask(settings(data=(str(tmp_path),), block_size=20))
    assert task.classes == ("a.txt", "b.txt") and task.origin == "files"
    assert task.describe().startswith("2 texts, ")
    tt.random.manual_seed(2)
    model: Any = models.build("cnn", **task.sizes(), n_embd=4, n_filters=4, dropout=0.0)
    for _ in range(60):
        model.zero_grad()
        model.loss(*task.batch(8)).backward()
        with tt.no_grad():
            for p in model.parameters():
                p.copy_(p.detach().numpy() - 0.3 * p.grad.numpy())
    score = task.score(model)
    assert score is not None and score.value > 0.95
    best = next(iter(by_window(model, task, task.test[0][:20], int(task.test[1][0]))))
    assert "c" in best, "what a.txt has and b.txt lacks"
    draw_evidence(model, task, tmp_path / "evidence.svg")
    (tmp_path / "c.txt").write_text("short", encoding="utf-8")
    with pytest.raises(DataError, match="data: c.txt is too short, or all in the other files"):
        TopicsTask(settings(data=(str(tmp_path),), block_size=20)).describe()
    with pytest.raises(DataError, match="data: expected two files or more to tell apart, got 1"):
        TopicsTask(settings(data=(str(tmp_path / "a.txt"),))).describe()
    with pytest.raises(DataError, match="text: task topics tells several texts apart"):
        TopicsTask(settings(), text="one")


def test_naive_bayes_by_hand() -> None:
    """What the figure is held against: benchmarks/naive_bayes.py."""
    bayes = NaiveBayes([["a a b"], ["b c", "c c"]], words)
    # of "a": 2 + 1 of 3 + 3 and 0 + 1 of 4 + 3; of "b": 2 of 6 and 2 of 7; the classes 3 : 4
    assert [bayes.predict(text, 1.0) for text in ("a", "b b b", "b", "c", "", "x")] == [
        0, 0, 1, 1, 1, 1,
    ]  # fmt: skip
    assert fours("abcde") == ["abcd", "bcde"] and words("Don't x_1") == ["don", "'", "t", "x_1"]


def test_shades_are_the_evidence_of_a_class(task: TopicsTask) -> None:
    model = small(task)
    ids = task.test[0][0]
    logits = model.head(model.features(ids[None])).detach().numpy()[0]
    bias = model.head.bias.detach().numpy()
    for target in (0, 5):
        shades = by_character(model, ids, target)
        want = (logits - bias)[target] - (logits - bias).mean()
        assert shades.shape == (200,) and shades.sum() == pytest.approx(want, abs=1e-4)


def test_windows_that_are_much_alike_are_named_once(task: TopicsTask) -> None:
    model = small(task)
    found = list(by_window(model, task, task.test[0][:3], 1))
    for i, window in enumerate(found):
        for other in found[:i]:
            assert window not in other and other not in window
            assert not {window[j : j + 3] for j in range(len(window) - 2)} & {
                other[j : j + 3] for j in range(len(other) - 2)
            }
