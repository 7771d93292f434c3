"""Handwritten digits: their parts, their shifts, answers and the picture."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import models
from tinytensor.train import DataError
from tinytensor.train.tasks.classes import digits
from tinytensor.train.tasks.classes.confusion import confusion
from tinytensor.train.tasks.classes.digits import DigitsTask, read_image, shifted

SETTINGS: Any = SimpleNamespace(data=None, encoding="utf-8", block_size=None, seed=1)


@pytest.fixture(scope="module")
def task() -> DigitsTask:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: there are no digits")
    return DigitsTask(SETTINGS)


@pytest.fixture(scope="module")
def model() -> Any:
    tt.random.manual_seed(5)
    return models.build("image_cnn", channels=[2, 2], n_hidden=4)


def test_parts_are_a_fifth_a_tenth_and_the_rest(task: DigitsTask) -> None:
    parts = (task.train, task.val, task.test)
    assert [len(targets) for _, targets in parts] == [1258, 180, 359]
    marks = [{image.tobytes() for image in images} for images, _ in parts]
    assert not marks[0] & marks[2] and not marks[1] & marks[2] and not marks[0] & marks[1]
    for images, targets in parts:
        assert images.dtype == np.float32 and images.shape[1:] == (8, 8)
        assert images.min() == 0 and images.max() == 1
        assert targets.dtype == np.int64 and set(targets) == set(range(10))
    assert "1,258 for training, 180 for validation and 359 for testing" in task.describe()


def test_equal_images_lie_in_one_part(monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    different = rng.integers(0, 17, (30, 8, 8)).astype(np.uint8)
    index = np.r_[np.arange(30), np.arange(30), np.arange(10)]
    monkeypatch.setattr(digits, "load", lambda: (different[index], index % 10))
    task = DigitsTask(SETTINGS)
    marks = [{x.tobytes() for x in part[0]} for part in (task.train, task.val, task.test)]
    assert [len(found) > 0 for found in marks] == [True] * 3
    assert sum(map(len, marks)) == 30
    assert sum(len(part[1]) for part in (task.train, task.val, task.test)) == 70


def test_batches_are_shifted_images_of_the_training_part(task: DigitsTask) -> None:
    tt.random.manual_seed(3)
    images, targets = task.batch(50)
    assert images.shape == (50, 8, 8) and images.dtype == np.float32
    for image, target in zip(images, targets):
        near = np.abs(task.train[0] - image).sum(axis=(1, 2))
        assert target in task.train[1][np.argsort(near)[:5]]
    tt.random.manual_seed(3)
    again = DigitsTask(SETTINGS).batch(50)
    np.testing.assert_array_equal(again[0], images)
    state = tt.random.state()
    np.testing.assert_array_equal(np.concatenate([x for x, _ in task.blocks(7)]), task.val[0])
    assert tt.random.state() == state, "validation draws nothing"


def test_shifts_by_hand() -> None:
    image = np.array([[[0, 0, 0], [0, 8, 0], [0, 4, 0]]], dtype=np.float32)
    by = {
        (0, 0): image[0],
        (0.25, 0): [[0, 0, 0], [0, 6, 0], [0, 5, 0]],
        (-0.25, 0): [[0, 2, 0], [0, 7, 0], [0, 3, 0]],
        (0, 0.5): [[0, 0, 0], [0, 4, 4], [0, 2, 2]],
        (0.5, -0.5): [[0, 0, 0], [2, 2, 0], [3, 3, 0]],
    }
    for shift, want in by.items():
        got = shifted(image, np.array(shift, dtype=np.float32)[:, None])
        np.testing.assert_array_equal(got, [want], err_msg=str(shift))


@given(st.floats(-0.99, 0.99), st.floats(-0.99, 0.99), st.integers(0, 9))
def test_shifts_keep_what_stays_inside(down: float, right: float, seed: int) -> None:
    images = np.zeros((2, 6, 7))
    images[:, 1:-1, 1:-1] = np.random.default_rng(seed).random((2, 4, 5))
    moved = shifted(images, np.full((2, 2), [[down], [right]]))
    np.testing.assert_allclose(moved.sum(axis=(1, 2)), images.sum(axis=(1, 2)))
    rows, columns = np.mgrid[:6, :7]
    for axis, by in ((rows, down), (columns, right)):  # the centre of gravity goes with it
        before, after = ((x * axis).sum(axis=(1, 2)) / x.sum(axis=(1, 2)) for x in (images, moved))
        np.testing.assert_allclose(after - before, by, atol=1e-9)


def test_answers(task: DigitsTask, model: Any, tmp_path: Path) -> None:
    images, targets = task.test
    answer = task.answer(model, " 17 ")
    lines = answer.splitlines()
    assert len(lines) == 8 + 3 + 1 and lines[-1] == f"it is {targets[17]}"
    assert lines[8][0] == str(model.predict(images[17:18])[0]) and lines[8].endswith("%")
    file = tmp_path / "image.txt"
    file.write_text("\n".join(" ".join(f"{16 * v:g}" for v in row) for row in images[17]))
    assert task.answer(model, str(file)) == "\n".join(lines[:-1])
    with pytest.raises(DataError, match="input: the test part has images 0 to 358, got 359"):
        task.answer(model, "359")
    with pytest.raises(DataError, match="input: expected the number of an image .*; nowhere: No"):
        task.answer(model, "nowhere")
    with pytest.raises(DataError, match="text: task digits has images of its own"):
        DigitsTask(SETTINGS, text="1")
    with pytest.raises(ValueError, match="vocabulary: expected"):
        DigitsTask(SETTINGS, vocabulary="0123456789")
    assert DigitsTask(SETTINGS, vocabulary=task.vocabulary).sizes() == task.sizes()


def test_image_files(tmp_path: Path) -> None:
    file = tmp_path / "image"
    file.write_text(", ".join(["16"] + ["0"] * 62 + ["4.0"]))
    image = read_image(str(file))
    assert image.shape == (8, 8) and (image[0, 0], image[0, 1], image[-1, -1]) == (1, 0, 0.25)
    for bad in ("", "1 2 3", "0 " * 65, "x" + " 0" * 63, "17" + " 0" * 63, "-1" + " 0" * 63,
                "nan" + " 0" * 63):  # fmt: skip
        file.write_text(bad)
        with pytest.raises(DataError, match="expected 8 lines of 8 numbers from 0 to 16"):
            read_image(str(file))
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="input: expected"):
        read_image(str(file))


def test_figure_and_picture(task: DigitsTask, model: Any, tmp_path: Path) -> None:
    score = task.score(model)
    assert score is not None and score.count == 359 and score.what == "digits never seen"
    assert score.value == (model.predict(task.test[0]) == task.test[1]).mean()
    path = task.draw(model, tmp_path / "digits.png")
    assert path is not None and path.read_bytes().startswith(b"\x89PNG")
    assert task.show(model, seed=1) == task.show(model, seed=1)
    counts = confusion(np.array([1, 1, 0]), np.array([1, 0, 0]), 3)
    np.testing.assert_array_equal(counts, [[1, 1, 0], [0, 1, 0], [0, 0, 0]])


def test_without_scikit_learn_the_error_says_what_to_do(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match=r"scikit-learn, .* pip install 'tinytensor\[digits\]'"):
        DigitsTask(SETTINGS).describe()


def test_an_input_of_nothing() -> None:
    with pytest.raises(DataError, match="from 0 to 16; got nothing"):
        read_image("")
