"""Normalising layers and loss modules against PyTorch's, state dicts and several steps included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from .test_nn_parity import compare, compare_gradients, pair, same_weights, torch

LAYERS = [
    ("BatchNorm1d", (3,), {}, (4, 3)),
    ("BatchNorm1d", (3,), {"momentum": 0.3, "eps": 1e-3}, (4, 3, 2)),
    ("BatchNorm1d", (3,), {"momentum": None}, (4, 3)),
    ("BatchNorm1d", (3,), {"affine": False}, (4, 3)),
    ("BatchNorm1d", (3,), {"track_running_stats": False}, (4, 3)),
    ("BatchNorm2d", (3,), {}, (2, 3, 2, 4)),
    ("GroupNorm", (2, 4), {}, (3, 4, 2, 2)),
    ("GroupNorm", (4, 4), {"eps": 1e-2}, (3, 4, 5)),
    ("GroupNorm", (1, 4), {"affine": False}, (3, 4)),
    ("InstanceNorm1d", (3,), {}, (2, 3, 4)),
    ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, (2, 3, 4)),
    ("InstanceNorm2d", (3,), {"affine": True}, (2, 3, 2, 2)),
    ("RMSNorm", (4,), {}, (2, 3, 4)),
    ("RMSNorm", (4,), {"eps": 1e-2}, (2, 4)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS)
def test_layers(
    name: str, args: Any, options: dict[str, Any], shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    ours, theirs = getattr(nn, name)(*args, **options), getattr(torch.nn, name)(*args, **options)
    same_weights(ours, theirs, rng)
    for _ in range(3):  # the running statistics move
        x = pair(rng, *shape)
        compare_gradients([(ours(x[0]), theirs(x[1]))], [x], rng, ours, theirs)
        ours.zero_grad()
        theirs.zero_grad()
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    for key, value in ours.state_dict().items():
        if name.startswith("Instance") and key == "num_batches_tracked":
            assert (value, state[key]) == (3, 0)  # PyTorch has the buffer and never counts
            continue
        np.testing.assert_allclose(value, state[key].numpy(), rtol=1e-9, err_msg=key)
    ours.eval()
    theirs.eval()
    x = pair(rng, *shape)
    compare_gradients([(ours(x[0]), theirs(x[1]))], [x], rng, ours, theirs)
    fresh = getattr(nn, name)(*args, **options).to("float64").eval()
    fresh.load_state_dict(state)
    compare(fresh(x[0]), theirs(x[1]))


WEIGHT = np.array([0.5, 2.0, 1.0])
REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss")
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses(reduction: str, rng: np.random.Generator) -> None:
    t = torch.from_numpy
    p, q = rng.uniform(0.1, 0.9, (2, 4, 3))
    y = np.array([1, -1, -1, 1])
    ids = np.array([0, 2, -100, 1])
    w = tt.tensor(WEIGHT)
    for ours, theirs, inputs, rest in (
        (
            nn.SmoothL1Loss(0.3, reduction),
            torch.nn.SmoothL1Loss(reduction=reduction, beta=0.3),
            [p],
            [q],
        ),
        (nn.BCELoss(reduction, w), torch.nn.BCELoss(t(WEIGHT), reduction=reduction), [p], [q]),
        (
            nn.BCEWithLogitsLoss(reduction, w, w),
            torch.nn.BCEWithLogitsLoss(t(WEIGHT), reduction=reduction, pos_weight=t(WEIGHT)),
            [3 * p - 1],
            [q],
        ),
        (
            nn.KLDivLoss(reduction, True),
            torch.nn.KLDivLoss(reduction=reduction, log_target=True),
            [np.log(p)],
            [np.log(q)],
        ),
        (
            nn.NLLLoss(reduction=reduction, weight=w),
            torch.nn.NLLLoss(t(WEIGHT), reduction=reduction),
            [np.log(p)],
            [ids],
        ),
        (
            nn.CrossEntropyLoss(reduction=reduction, weight=w, label_smoothing=0.1),
            torch.nn.CrossEntropyLoss(t(WEIGHT), reduction=reduction, label_smoothing=0.1),
            [p],
            [ids],
        ),
        (
            nn.CrossEntropyLoss(reduction=reduction, weight=w, label_smoothing=0.1),
            torch.nn.CrossEntropyLoss(t(WEIGHT), reduction=reduction, label_smoothing=0.1),
            [p],
            [q / q.sum(-1, keepdims=True)],
        ),
        (
            nn.TripletMarginLoss(2.0, 2, swap=True, reduction=reduction),
            torch.nn.TripletMarginLoss(2.0, 2, swap=True, reduction=reduction),
            [p, q, p[::-1].copy()],
            [],
        ),
        (
            nn.MarginRankingLoss(0.2, reduction),
            torch.nn.MarginRankingLoss(0.2, reduction=reduction),
            [p[:, 0].copy(), q[:, 0].copy()],
            [y],
        ),
        (
            nn.HingeEmbeddingLoss(0.5, reduction),
            torch.nn.HingeEmbeddingLoss(0.5, reduction=reduction),
            [p[:, 0].copy()],
            [y],
        ),
        (
            nn.CosineEmbeddingLoss(0.2, reduction),
            torch.nn.CosineEmbeddingLoss(0.2, reduction=reduction),
            [p, q],
            [y],
        ),
    ):
        leaves = [(tt.tensor(a, requires_grad=True), t(a).requires_grad_()) for a in inputs]
        a = ours(*(x for x, _ in leaves), *(tt.tensor(r) for r in rest))
        b = theirs(*(x for _, x in leaves), *(t(r) for r in rest))
        compare_gradients([(a, b)], leaves, rng)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc(reduction: str, zero_infinity: bool, rng: np.random.Generator) -> None:
    """Through log_softmax, as it is meant, the gradients of the logits are the same."""
    x = pair(rng, 12, 3, 5)
    targets = np.array([[1, 2, 2, 4], [3, 3, 3, 0], [4, 0, 0, 0]])
    frames, lengths = np.array([12, 9, 3]), np.array([4, 3, 1])
    ours = nn.CTCLoss(0, reduction, zero_infinity)(tt.log_softmax(x[0]), targets, frames, lengths)
    theirs = torch.nn.CTCLoss(0, reduction, zero_infinity)(
        x[1].log_softmax(-1), *(torch.from_numpy(a) for a in (targets, frames, lengths))
    )
    compare_gradients([(ours, theirs)], [x], rng)
