"""The CNN of texts and the CNN of images: values by hand, and that padding leaves no trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import models

from ..nn.helpers import randomize, values_of

SETTINGS: dict[str, Any] = {
    "vocab_size": 6, "n_classes": 3, "n_embd": 4, "windows": (2, 4), "n_filters": 5, "dropout": 0.0,
}  # fmt: skip


def write(param: tt.Tensor, values: Any) -> None:
    with tt.no_grad():
        param.copy_(np.array(values, dtype=param.dtype))


def detector() -> Any:
    """One detector of two symbols that answers with [first is 1] + 2 [second is 2] - 0.5, and a
    head that passes its answer on."""
    model = models.build(
        "cnn", vocab_size=3, n_classes=2, n_embd=2, windows=[2], n_filters=1, dropout=0.0
    )
    write(model.wte.weight, [[0, 0], [1, 0], [0, 1]])
    write(model.convs[0].weight, [[[1, 0], [0, 2]]])  # (filter, embedding, tap)
    write(model.convs[0].bias, [-0.5])
    write(model.head.weight, [[1], [-1]])
    write(model.head.bias, [0, 0.25])
    return model


def test_a_detector_by_hand() -> None:
    model = detector()
    texts = [[2, 2, 1, 2], [2, 1, 1, 1], [1, 1, 2, 0], [2, 1, 0, 0]]
    # the best windows: "1 2", "1 1", "1 2", and the only one "2 1", which answers with less than 0
    want = [2.5, 0.5, 2.5, 0.0]
    np.testing.assert_array_equal(values_of(model(texts)), [[v, 0.25 - v] for v in want])
    evidence = model.evidence(texts)
    np.testing.assert_array_equal(evidence.found[:, 0], want)
    np.testing.assert_array_equal(evidence.starts[:, 0], [2, 1, 1, 0])
    np.testing.assert_array_equal(evidence.widths, [2])


def test_gradients_go_to_the_window_that_answered_most() -> None:
    model = detector()
    model([[2, 1, 2, 0]])[0, 0].backward()
    # symbols 1 and 2 at places 1 and 2 are what the answer 1 + 2 - 0.5 was made of
    np.testing.assert_array_equal(values_of(model.convs[0].weight.grad), [[[1, 0], [0, 1]]])
    np.testing.assert_array_equal(values_of(model.wte.weight.grad), [[0, 0], [1, 0], [0, 2]])


def test_a_window_that_reaches_into_the_padding_does_not_count() -> None:
    model = detector()
    write(model.convs[0].weight, [[[-1, -1], [-1, -1]]])  # answers most where there is nothing
    write(model.convs[0].bias, [3])
    np.testing.assert_array_equal(values_of(model([[1, 2, 0, 0], [1, 0, 0, 0]]))[:, 0], [1, 2])


def test_a_text_shorter_than_all_windows_is_read_from_its_start() -> None:
    model = detector()
    np.testing.assert_array_equal(values_of(model([[1]]))[:, 0], [0.5])
    np.testing.assert_array_equal(values_of(model([[1, 0, 0]]))[:, 0], [0.5])
    np.testing.assert_array_equal(values_of(model([[0], [2]]))[:, 0], [0, 0])


def with_gradients(model: Any, ids: np.ndarray) -> list[np.ndarray]:
    """The logits of texts, the loss, and the gradient of every parameter."""
    model.zero_grad()
    logits, loss = model(ids, np.arange(len(ids)) % 3)
    loss.backward()
    return [values_of(logits), values_of(loss), *(values_of(p.grad) for p in model.parameters())]


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    more=st.integers(0, 5),
    seed=st.integers(0, 99),
)
def test_padding_leaves_no_trace(lengths: list[int], more: int, seed: int) -> None:
    """Bit for bit: however much of it there is, and whatever its embedding were."""
    rng = np.random.default_rng(seed)
    model = models.build("cnn", **SETTINGS)
    randomize(model, rng)
    write(model.wte.weight, np.where(np.arange(6)[:, None] == 0, 0, values_of(model.wte.weight)))
    ids = np.zeros((len(lengths), max(lengths)), dtype=np.int64)
    for row, length in zip(ids, lengths):
        row[:length] = rng.integers(1, 6, length)
    want = with_gradients(model, ids)
    assert not want[2][0].any(), "the padding's embedding got a gradient"
    for got, expected in zip(
        with_gradients(model, np.pad(ids, ((0, 0), (0, more)))), want, strict=True
    ):
        np.testing.assert_array_equal(got, expected)
    alone = np.concatenate([values_of(model(row[None, :n])) for row, n in zip(ids, lengths)])
    np.testing.assert_allclose(want[0], alone, rtol=1e-12, atol=1e-14)
    if min(lengths) >= 4:  # no text is shorter than a window
        changed = values_of(model.wte.weight)
        changed[0] = 1e6 * rng.standard_normal(4)
        write(model.wte.weight, changed)
        for got, expected in zip(with_gradients(model, ids), want, strict=True):
            np.testing.assert_array_equal(got, expected)


@given(st.integers(1, 12), st.integers(0, 99))
def test_evidence_is_an_exact_account_of_the_logits(time: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = models.build("cnn", **SETTINGS)
    randomize(model, rng)
    ids = rng.integers(1, 6, (3, time))
    found, starts, widths = model.evidence(ids)
    weight, bias = values_of(model.head.weight), values_of(model.head.bias)
    np.testing.assert_allclose(found @ weight.T + bias, values_of(model(ids)), rtol=1e-10)
    assert found.shape == starts.shape == (3, 10)
    np.testing.assert_array_equal(widths, [2] * 5 + [4] * 5)
    for row in range(3):
        for detector in np.flatnonzero(found[row] > 0):
            start, width = starts[row, detector], widths[detector]
            window = ids[row, start : start + width]
            assert len(window) == min(width, time)
            alone = model.evidence(window[None]).found[0, detector]
            assert alone == pytest.approx(found[row, detector], rel=1e-10)


def test_wrong_ids_are_named() -> None:
    model = models.build("cnn", **SETTINGS)
    with pytest.raises(IndexError, match=r"ids: 6 at \(0, 2\) is outside the vocabulary of 6"):
        model([[0, 1, 6]])
    with pytest.raises(ValueError, match=r"ids: expected shape \(batch, time\).*got \(3,\)"):
        model([0, 1, 2])
    with pytest.raises(TypeError, match="ids: expected integers, got dtype float"):
        model([[0.0, 1.0]])


# ---- images ------------------------------------------------------------------------------------


def test_an_image_by_hand() -> None:
    model = models.build(
        "image_cnn", n_classes=2, height=2, width=4, channels=[1], n_hidden=2, dropout=0.0
    )
    write(model.convs[0].weight, [[[[0, 0, 0], [-1, 1, 0], [0, 0, 0]]]])  # brighter than the left
    write(model.convs[0].bias, [-1])
    write(model.hidden.weight, [[1, 0], [0, 1]])  # one for each square
    write(model.hidden.bias, [0, 0.5])
    write(model.head.weight, [[1, 10], [0, -1]])
    write(model.head.bias, [0, 0])
    image = np.array([[0, 5, 5, 1], [0, 0, 0, 1]], dtype=np.uint8)
    # differences: 0 5 0 -4 and 0 0 0 1; less one, the largest of both squares are 4 and 0
    np.testing.assert_array_equal(values_of(model(image[None])), [[4 + 5, -0.5]])
    np.testing.assert_array_equal(values_of(model(image[None, None])), [[9, -0.5]])


def test_images_of_odd_sides_lose_the_last_pixel_of_each_layer() -> None:
    model = models.build("image_cnn", height=7, width=5, channels=[2, 3], n_hidden=4)
    assert model.config.pixels_left == 1
    assert model(np.ones((2, 7, 5))).shape == (2, 10)


def test_wrong_images_are_named() -> None:
    model = models.build("image_cnn", height=4, width=6)
    for shape in ((2, 6, 4), (4, 6), (2, 2, 4, 6), (2, 3, 4, 6)):
        with pytest.raises(ValueError, match=r"x: expected .* shape \(batch, 1, 4, 6\), got"):
            model(np.zeros(shape))
    colours = models.build("image_cnn", height=4, width=6, in_channels=3)
    assert colours(np.zeros((2, 3, 4, 6))).shape == (2, 10)
    with pytest.raises(ValueError, match=r"\(batch, 3, 4, 6\), got \(3, 4, 6\)"):
        colours(np.zeros((3, 4, 6)))
    with pytest.raises(ValueError, match="channels: 2 layers halve an image 2 times, and 3 x 8"):
        models.build("image_cnn", height=3, width=8)
    with pytest.raises(ValueError, match="kernel_size: expected an odd number, got 2"):
        models.build("image_cnn", kernel_size=2)
