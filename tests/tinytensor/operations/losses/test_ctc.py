"""CTC: against a sum over every alignment, special lengths, both ways to give targets, refusals."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients

pytestmark = pytest.mark.usefixtures("device")


def log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_enumeration(logp: np.ndarray, target: list[int], blank: int = 0) -> float:
    """-ln of the probability of all paths that read as the target, one by one."""
    probability = 0.0
    for path in itertools.product(range(logp.shape[1]), repeat=len(logp)):
        merged = [label for label, _ in itertools.groupby(path)]
        if [label for label in merged if label != blank] == target:
            probability += math.exp(sum(logp[t, label] for t, label in enumerate(path)))
    return -math.log(probability) if probability else math.inf


TEXTS: list[list[list[int]]] = [
    [[1, 2], [2, 1], [1]],
    [[1, 1], [2, 2], [1, 2]],  # repeated: a blank must come between
    [[], [1], [2]],
    [[2, 1, 2], [1], [1, 2, 1]],
]


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("texts", TEXTS, ids=str)
def test_all_alignments(texts: list[list[int]], blank: int, rng: np.random.Generator) -> None:
    if blank:  # the same texts with other numbers
        texts = [[label - 1 for label in text] for text in texts]
    logp = log_softmax(rng.standard_normal((5, 3, 3)))
    frames = [5, 4, 3]
    longest = max(map(len, texts))
    padded = np.array([text + [99] * (longest - len(text)) for text in texts]).reshape(3, longest)
    lengths = [len(text) for text in texts]
    want = [
        by_enumeration(logp[:f, i], text, blank)
        for i, (f, text) in enumerate(zip(frames, texts, strict=True))
    ]
    for targets in (padded, np.array([label for text in texts for label in text], np.int64)):
        loss = tt.ctc_loss(
            leaf(logp), const(targets, np.int64), frames, lengths, blank, reduction="none"
        )
        close(loss, want, 1e-9)
    args = (const(padded, np.int64), frames, lengths, blank)
    close(tt.ctc_loss(leaf(logp), *args, reduction="sum"), sum(want), 1e-9)
    close(
        tt.ctc_loss(leaf(logp), *args),
        np.mean([w / max(1, n) for w, n in zip(want, lengths, strict=True)]),
        1e-9,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_gradient_is_that_of_the_value(reduction: str, rng: np.random.Generator) -> None:
    """Also for numbers that no log_softmax made, where PyTorch returns something else."""
    logp = rng.standard_normal((5, 2, 4))
    weights = rng.standard_normal(2) if reduction == "none" else np.array(1.0)
    args = (const([[1, 3, 3], [2, 1, 0]], np.int64), (5, 4), (3, 2), 0, reduction)

    def value(x: np.ndarray) -> Any:
        return host(tt.ctc_loss(const(x), *args))

    x = leaf(logp)
    tt.ctc_loss(x, *args).backward(const(weights))
    (want,) = numeric_gradients(value, [logp], weights)
    np.testing.assert_allclose(grad_of(x), want, rtol=1e-6, atol=1e-8)
    assert not grad_of(x)[4, 1].any(), "a frame after the end got a gradient"
    if reduction == "sum":  # minus the probability of a label at a frame: they add up to 1
        np.testing.assert_allclose(grad_of(x).sum(-1), [[-1, -1]] * 4 + [[-1, 0]], rtol=1e-9)


def test_through_log_softmax_the_gradient_of_the_logits_sums_to_zero() -> None:
    x = leaf(np.arange(24.0).reshape(4, 2, 3) % 5)
    tt.ctc_loss(tt.log_softmax(x), const([[1, 2], [2, 1]], np.int64), (4, 4), (2, 2)).backward()
    assert np.abs(grad_of(x)).max() > 0.01
    np.testing.assert_allclose(grad_of(x).sum(-1), np.zeros((4, 2)), atol=1e-12)


def test_a_text_too_long_for_its_frames() -> None:
    targets = const([[1, 1, 1], [2, 0, 0]], np.int64)
    logp = np.log(np.full((3, 2, 3), 1 / 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf(logp)
        loss = tt.ctc_loss(x, targets, (3, 3), (3, 1), reduction="none")
        loss.sum().backward()
        assert host(loss)[0] == math.inf and np.isfinite(host(loss)[1])
        assert np.isnan(grad_of(x)[:, 0]).all() and np.isfinite(grad_of(x)[:, 1]).all()
        y = leaf(logp)
        zero = tt.ctc_loss(y, targets, (3, 3), (3, 1), reduction="none", zero_infinity=True)
        zero.sum().backward()
    np.testing.assert_array_equal(host(zero), [0, host(loss)[1]])
    np.testing.assert_array_equal(grad_of(y)[:, 0], np.zeros((3, 3)))
    np.testing.assert_array_equal(grad_of(y)[:, 1], grad_of(x)[:, 1])


def test_no_frames_and_no_labels() -> None:
    x = leaf(np.log(np.full((2, 3, 2), 0.5)))
    loss = tt.ctc_loss(x, const([[1], [1], [1]], np.int64), (0, 0, 2), (0, 1, 0), reduction="none")
    np.testing.assert_allclose(host(loss), [0, math.inf, 2 * math.log(2)])
    loss[0::2].sum().backward()
    np.testing.assert_array_equal(grad_of(x)[:, 0], np.zeros((2, 2)))
    np.testing.assert_allclose(grad_of(x)[:, 2], [[-1, 0], [-1, 0]])
    empty = leaf(np.zeros((0, 1, 2)))
    out = tt.ctc_loss(empty, const(np.zeros((1, 0)), np.int64), [0], [0])
    out.backward()
    assert out.item() == 0 and grad_of(empty).shape == (0, 1, 2)
    nobody = leaf(np.zeros((2, 0, 3)))
    mean = tt.ctc_loss(nobody, const(np.zeros((0, 1)), np.int64), [], [])
    mean.backward()
    assert math.isnan(mean.item()) and grad_of(nobody).shape == (2, 0, 3)


def test_impossible_labels_and_nan() -> None:
    """Log-probabilities of -inf, many of them: no NaN, no overflow."""
    logp = np.full((6, 1, 3), -math.inf)
    logp[:, 0, 0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (np.float32, np.float64):
            x = tt.tensor(logp.astype(dtype), requires_grad=True)
            loss = tt.ctc_loss(x, const([[1]], np.int64), [6], [1], zero_infinity=True)
            loss.backward()
            assert loss.item() == 0 and not grad_of(x).any()
            assert tt.ctc_loss(x, const([[1]], np.int64), [6], [1]).item() == math.inf
            logp[2, 0, 1] = 0.0
            y = tt.tensor(logp.astype(dtype), requires_grad=True)
            loss = tt.ctc_loss(y, const([[1]], np.int64), [6], [1])
            loss.backward()
            assert loss.item() == 0
            np.testing.assert_array_equal(grad_of(y)[2, 0], [0, -1, 0])
            logp[2, 0, 1] = -math.inf
    bad = leaf(np.where(np.isinf(logp), math.nan, logp))
    out = tt.ctc_loss(bad, const([[1]], np.int64), [6], [1])
    out.backward()
    assert math.isnan(out.item()) and np.isnan(grad_of(bad)).any()


def test_a_single_sequence_and_kinds_of_lengths(rng: np.random.Generator) -> None:
    logp = log_softmax(rng.standard_normal((4, 1, 3)))
    want = tt.ctc_loss(const(logp), const([[1, 2]], np.int64), (4,), (2,))
    for frames, lengths in ((4, 2), ([4], [2]), (const([4], np.int32), np.array([2]))):
        x = leaf(logp[:, 0])
        loss = tt.ctc_loss(x, const([1, 2], np.int64), frames, lengths)
        close(loss, want, 1e-12)
        loss.backward()
        assert grad_of(x).shape == (4, 3)
    alone = tt.ctc_loss(const(logp[:, 0]), [1, 2], 4, 2, reduction="none")
    assert alone.shape == ()


def test_long_sequences_in_float32(rng: np.random.Generator) -> None:
    """1000 frames: probabilities far below what any float can hold, in the log domain."""
    steps, n, classes, labels = 1000, 2, 20, 60
    logits = rng.standard_normal((steps, n, classes)) * 3
    targets = const(rng.integers(1, classes, (n, labels)), np.int64)
    got = []
    for dtype in (np.float32, np.float64):
        x = tt.tensor(logits.astype(dtype), requires_grad=True)
        loss = tt.ctc_loss(tt.log_softmax(x), targets, [steps] * n, [labels] * n)
        loss.backward()
        assert loss.dtype == dtype
        got.append((loss.item(), grad_of(x)))
    assert got[1][0] > 20
    assert got[0][0] == pytest.approx(got[1][0], rel=1e-5)
    np.testing.assert_allclose(got[0][1], got[1][1], atol=2e-6)


def test_float16_is_computed_in_float32(rng: np.random.Generator) -> None:
    logp = log_softmax(rng.standard_normal((30, 1, 5)))
    half = tt.tensor(logp.astype(np.float16), requires_grad=True)
    loss = tt.ctc_loss(half, const([[1, 2, 3]], np.int64), [30], [3])
    loss.backward()
    assert loss.dtype == np.float16 and half.grad is not None and half.grad.dtype == np.float16
    close(loss, host(tt.ctc_loss(const(logp), const([[1, 2, 3]], np.int64), [30], [3])), 2e-3)


def test_refusals() -> None:
    x, targets = leaf(np.zeros((4, 2, 3))), const([[1, 2], [2, 1]], np.int64)
    lengths = ((4, 4), (2, 2))
    for error, words, args in (
        (ValueError, r"log_probs: expected shape .*\(3,\)", (leaf([0, 0, 0]), targets, *lengths)),
        (TypeError, "targets: expected integers .*float64", (x, const([[1.0], [2.0]]), *lengths)),
        (ValueError, r"targets: .*got \(1, 2\)", (x, targets[:1], *lengths)),
        (ValueError, "targets: expected 3 labels.*got 4", (x, targets.reshape(4), (4, 4), [1, 2])),
        (ValueError, "input_lengths: expected 2 integers .*5", (x, targets, (5, 4), (2, 2))),
        (ValueError, "target_lengths: .*of 0 to 2, got .*3", (x, targets, (4, 4), (3, 2))),
        (ValueError, "target_lengths: .*-1", (x, targets, (4, 4), (-1, 2))),
        (ValueError, "input_lengths: expected 2 integers", (x, targets, (4,), (2, 2))),
        (TypeError, "input_lengths: expected integers", (x, targets, (4.0, 4.0), (2, 2))),
        (IndexError, "targets: 7 is out of range", (x, targets + const([0, 5], int), *lengths)),
        (ValueError, "targets: expected labels other than the blank, 2", (x, targets, *lengths, 2)),
        (ValueError, "blank: expected a class of 0 to 2, got 3", (x, targets, *lengths, 3)),
        (ValueError, "reduction: expected one of", (x, targets, *lengths, 0, "avg")),
    ):  # fmt: skip
        with pytest.raises(error, match=f"ctc_loss.*{words}"):
            tt.ctc_loss(*args)
