"""Smooth functions of several numbers in mpmath's arithmetic; see special_points.py."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

import tinytensor as tt
from tinytensor.define import op as registry

from .exact_vectors import (
    attention,
    bce,
    cholesky,
    cross,
    ctc,
    eigenvalues,
    exponential,
    gram,
    gru_states,
    huber,
    inverse,
    logsumexp,
    lstm_states,
    mean,
    normalised,
    p_norm,
    pseudo_inverse,
    rnn_states,
    rotation,
    running,
    softmax,
    solved,
    var,
)
from .special_points import Point, Smooth, sigmoid


def of_many(ours: Any, exact: Any, *points: Point) -> Smooth:
    """A function of a vector."""
    return Smooth(ours, exact, points)


#: equal, all 0, one 0, mixed
THREE = ((0.0, 0.0, 0.0), (0.4, 0.4, 0.4), (1.0, 0.0, -1.0), (1.0, 1.0, 0.0))
APART = ((1.0, 0.0, -1.0), (1.0, 1.0, 0.0), (0.4, -0.4, 0.4))
SHARES = ((0.5, 0.25, 0.25), (0.1, 0.1, 0.8))


def square(x: tt.Tensor) -> tt.Tensor:
    """Four numbers as a matrix."""
    return x.reshape(2, 2)


def tall(x: tt.Tensor) -> tt.Tensor:
    """Four numbers as a matrix of three rows, the last of them fixed."""
    return tt.concat([x.reshape(2, 2), targets(0, 1).reshape(1, 2)])


def ours_exponential(x: tt.Tensor) -> tt.Tensor:
    w, v = tt.eigh(square(x))
    return (v * tt.exp(w)) @ v.T


def ours_svd(x: tt.Tensor) -> tt.Tensor:
    """The orthogonal part of the polar decomposition, which no choice of signs changes."""
    u, _, vh = tt.svd(square(x))
    return u @ vh


def ours_lstm(x: tt.Tensor) -> tt.Tensor:
    ones = tt.ones(4, 1, dtype="float64")
    states = tt.lstm(
        x[:2].reshape(2, 1, 1), x[2].reshape(1, 1), x[3].reshape(1, 1), ones, ones, None
    )
    return states[0]


def ours_gru(x: tt.Tensor) -> tt.Tensor:
    ones = tt.ones(3, 1, dtype="float64")
    return tt.gru(x[:2].reshape(2, 1, 1), x[2].reshape(1, 1), ones, ones)


def ours_rnn(x: tt.Tensor) -> tt.Tensor:
    one = tt.ones(1, 1, dtype="float64")
    states = tt.rnn(x[:2].reshape(2, 1, 1), x[2].reshape(1, 1), one, one, None)
    return states[0] if isinstance(states, tuple) else states


def ours_ctc(x: tt.Tensor) -> tt.Tensor:
    return tt.ctc_loss(x.reshape(2, 1, 2), tt.tensor([[1]]), [2], [1], reduction="sum")


def targets(*values: float) -> tt.Tensor:
    return tt.tensor(values, dtype="float64")


MANY: dict[str, Smooth] = {
    "softmax": of_many(tt.softmax, softmax, *THREE),
    "log_softmax": of_many(tt.log_softmax, lambda x: [a - logsumexp(x) for a in x], *THREE),
    "logsumexp": of_many(tt.logsumexp, logsumexp, *THREE),
    "logcumsumexp": of_many(
        tt.logcumsumexp, running(lambda a, b: mp.log(mp.exp(a) + mp.exp(b))), *THREE
    ),
    "prod": of_many(tt.prod, mp.fprod, *THREE),
    "cumprod": of_many(tt.cumprod, running(lambda a, b: a * b), *THREE),
    "cumsum": of_many(tt.cumsum, running(lambda a, b: a + b), *THREE),
    "linear_recurrence": of_many(
        lambda x: registry.OPS["linear_recurrence"](x[:3], x[3:], axis=0),
        lambda x: [x[3], x[1] * x[3] + x[4], x[2] * (x[1] * x[3] + x[4]) + x[5]],
        (0.0,) * 6,
        (1.0, 0.0, 1.0, 1.0, 1.0, 0.0),
    ),
    "sum": of_many(tt.sum, mp.fsum, *THREE),
    "nansum": of_many(tt.nansum, mp.fsum, *THREE),
    "mean": of_many(tt.mean, mean, *THREE),
    "var": of_many(tt.var, var, *THREE),
    "std": of_many(tt.std, lambda x: mp.sqrt(var(x)), *APART),
    "std squared": of_many(lambda x: tt.std(x) ** 2, var, *APART),
    "norm": of_many(tt.norm, p_norm(2), *APART),
    "norm squared": of_many(lambda x: tt.norm(x) ** 2, lambda x: mp.fsum(a * a for a in x), *APART),
    "norm 4": of_many(lambda x: tt.norm(x, 4), p_norm(4), (0.4, -1.0, 1.0), (1.0, 1.0, 1.0)),
    "norm 4, an element 0": of_many(lambda x: tt.norm(x, 4), p_norm(4), (1.0, 0.0, -1.0)),
    "norm 3": of_many(lambda x: tt.norm(x, 3), p_norm(3), (0.4, -1.0, 1.0), (1.0, 1.0, 1.0)),
    "norm 1": of_many(lambda x: tt.norm(x, 1), p_norm(1), (0.4, -1.0, 1.0)),
    "layer_norm": of_many(
        lambda x: tt.layer_norm(x), normalised, (1.0, 0.0, -1.0), (0.4, 0.4, 1.0)
    ),
    "layer_norm of equals": of_many(
        lambda x: tt.layer_norm(x, eps=1.0), lambda x: normalised(x, 1.0), *THREE
    ),
    "rms_norm": of_many(
        lambda x: tt.rms_norm(x, eps=1.0),
        lambda x: [a / mp.sqrt(mean([b * b for b in x]) + 1) for a in x],
        *THREE,
    ),
    "group_norm": of_many(
        lambda x: tt.group_norm(x.reshape(1, 1, 3), 1, eps=1.0),
        lambda x: normalised(x, 1.0),
        *THREE,
    ),
    "batch_norm": of_many(
        lambda x: tt.batch_norm(x.reshape(3, 1), eps=1.0, training=True),
        lambda x: normalised(x, 1.0),
        *THREE,
    ),
    "cross_entropy": of_many(
        lambda x: tt.cross_entropy(x, tt.tensor(1)), lambda x: logsumexp(x) - x[1], *THREE
    ),
    "cross_entropy, smoothed": of_many(
        lambda x: tt.cross_entropy(x, tt.tensor(0), label_smoothing=0.3),
        lambda x: cross(x, (0.8, 0.1, 0.1)),
        *THREE,
    ),
    "cross_entropy with probabilities": of_many(
        lambda x: tt.cross_entropy(x, targets(0.5, 0.0, 0.5)),
        lambda x: cross(x, (0.5, 0.0, 0.5)),
        *THREE,
    ),
    "nll_loss": of_many(
        lambda x: tt.nll_loss(tt.log_softmax(x), tt.tensor(2)),
        lambda x: logsumexp(x) - x[2],
        *THREE,
    ),
    "mse_loss": of_many(
        lambda x: tt.mse_loss(x, targets(0.0, 1.0, 0.4)),
        lambda x: mean([x[0] ** 2, (x[1] - 1) ** 2, (x[2] - mpf(0.4)) ** 2]),
        *THREE,
    ),
    "l1_loss": of_many(
        lambda x: tt.l1_loss(x, targets(5, 5, 5)), lambda x: mean([5 - a for a in x]), *THREE
    ),
    "huber_loss": of_many(
        lambda x: tt.huber_loss(x, targets(0.0, 3.0, -3.0)),
        lambda x: mean([huber(x[0]), huber(x[1] - 3), huber(x[2] + 3)]),
        (0.0, 0.0, 0.0),
        (0.4, 3.0, -3.0),
    ),
    "smooth_l1_loss": of_many(
        lambda x: tt.smooth_l1_loss(x, targets(0.0, 3.0, -3.0)),
        lambda x: mean([huber(x[0]), huber(x[1] - 3), huber(x[2] + 3)]),
        (0.0, 0.0, 0.0),
        (0.4, 3.0, -3.0),
    ),
    "binary_cross_entropy": of_many(
        lambda x: tt.binary_cross_entropy(x, targets(0.0, 1.0, 0.5)),
        lambda x: mean([bce(p, mpf(y)) for p, y in zip(x, (0, 1, 0.5), strict=True)]),
        *SHARES,
    ),
    "binary_cross_entropy_with_logits": of_many(
        lambda x: tt.binary_cross_entropy_with_logits(x, targets(0.0, 1.0, 0.5)),
        lambda x: mean([bce(sigmoid(p), mpf(y)) for p, y in zip(x, (0, 1, 0.5), strict=True)]),
        *THREE,
    ),
    "bce with logits, all moving": of_many(
        lambda x: tt.binary_cross_entropy_with_logits(x[0], x[1], x[2], x[2], reduction="sum"),
        lambda x: (
            -x[2] * (x[2] * x[1] * mp.log(sigmoid(x[0])) + (1 - x[1]) * mp.log(1 - sigmoid(x[0])))
        ),
        (0.0, 0.0, 1.0),
        (0.0, 1.0, 1.0),
        (1.0, 0.5, 0.0),
    ),
    "kl_div": of_many(
        lambda x: tt.kl_div(x, targets(0.5, 0.0, 0.5), reduction="sum"),
        lambda x: mp.log(mpf(0.5)) - (x[0] + x[2]) / 2,
        *THREE,
    ),
    "kl_div by target": of_many(
        lambda x: tt.kl_div(targets(-1.0, 0.0, -2.0), x, reduction="sum"),
        lambda x: mp.fsum(p * (mp.log(p) - q) for p, q in zip(x, (-1, 0, -2), strict=True)),
        *SHARES,
    ),
    "kl_div of logarithms": of_many(
        lambda x: tt.kl_div(targets(-1.0, 0.0, -2.0), x, log_target=True, reduction="sum"),
        lambda x: mp.fsum(mp.exp(p) * (p - q) for p, q in zip(x, (-1, 0, -2), strict=True)),
        *THREE,
    ),
    "cosine_similarity": of_many(
        lambda x: tt.cosine_similarity(x[:2], x[2:], axis=0),
        lambda x: (x[0] * x[2] + x[1] * x[3]) / mp.hypot(x[0], x[1]) / mp.hypot(x[2], x[3]),
        (1.0, 0.0, 0.0, 1.0),
        (0.4, 0.4, 0.4, 0.4),
        (1.0, -1.0, -1.0, 1.0),
    ),
    "cosine_similarity, short": of_many(
        lambda x: tt.cosine_similarity(x[:2], x[2:], axis=0, eps=10.0),
        lambda x: (x[0] * x[2] + x[1] * x[3]) / 100,
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 1.0),
    ),
    "matmul": of_many(
        lambda x: x[:2] @ x[2:], lambda x: x[0] * x[2] + x[1] * x[3], (0, 0, 0, 0), (1, 1, 1, 1)
    ),
    "einsum": of_many(
        lambda x: tt.einsum("i,j->ij", x[:2], x[2:]),
        lambda x: [a * b for a in x[:2] for b in x[2:]],
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 1.0, 0.0),
    ),
    "linear": of_many(
        lambda x: tt.linear(x[:2], x[2:4].reshape(1, 2), x[4:]),
        lambda x: x[0] * x[2] + x[1] * x[3] + x[4],
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    "cross": of_many(
        lambda x: tt.cross(x[:3], x[3:]),
        lambda x: [x[1] * x[5] - x[2] * x[4], x[2] * x[3] - x[0] * x[5], x[0] * x[4] - x[1] * x[3]],
        (0.0,) * 6,
        (1.0,) * 6,
    ),
    "det": of_many(
        lambda x: tt.det(square(x)),
        lambda x: x[0] * x[3] - x[1] * x[2],
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0, 1.0),
        (1.0, 0.0, 0.0, 1.0),
    ),
    "slogdet": of_many(
        lambda x: tt.slogdet(square(x))[1],
        lambda x: mp.log(abs(x[0] * x[3] - x[1] * x[2])),
        (1.0, 0.0, 0.0, 1.0),
        (0.0, 1.0, 1.0, 0.0),
    ),
    "inv": of_many(lambda x: tt.inv(square(x)), inverse, (1, 0, 0, 1), (0.0, 1.0, 1.0, 0.0)),
    "solve": of_many(
        lambda x: tt.solve(square(x), targets(1, 2)), solved, (1, 0, 0, 1), (0.0, 1.0, 1.0, 0.0)
    ),
    "triangular_solve": of_many(
        lambda x: tt.solve_triangular(square(x[:4]), x[4:].reshape(2, 1)),
        lambda x: [x[4] / x[0], (x[5] - x[2] * x[4] / x[0]) / x[3]],
        (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        (1.0, 0.0, 1.0, -1.0, 1.0, 1.0),
    ),
    "cholesky": of_many(
        lambda x: tt.cholesky(square(x)), cholesky, (1.0, 0.0, 0.0, 1.0), (1.0, 0.5, 0.5, 1.0)
    ),
    "eigvalsh": of_many(
        lambda x: tt.eigvalsh(square(x)),
        lambda x: eigenvalues(x[0], (x[1] + x[2]) / 2, x[3]),
        (1.0, 0.0, 0.0, -1.0),
        (0.0, 1.0, 1.0, 0.0),
    ),
    "eigh": of_many(ours_exponential, exponential, (1.0, 0.0, 0.0, -1.0), (0.0, 1.0, 1.0, 0.0)),
    "svdvals": of_many(
        lambda x: tt.svdvals(tall(x)),
        lambda x: [mp.sqrt(a) for a in eigenvalues(*gram(x))[::-1]],
        (1.0, 0.0, 0.0, 1.0),
        (0.5, 0.5, 1.0, 0.0),
    ),
    "svd": of_many(ours_svd, rotation, (2.0, 0.0, 0.0, 1.0), (1.0, 1.0, 0.0, 1.0)),
    "qr": of_many(
        lambda x: (lambda r: r.T @ r)(tt.qr(tall(x))[1]),
        lambda x: [gram(x)[i] for i in (0, 1, 1, 2)],
        (1.0, 0.0, 0.0, 1.0),
        (1.0, 1.0, 0.0, 1.0),
    ),
    "pinv": of_many(
        lambda x: tt.pinv(tall(x)), pseudo_inverse, (1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 1.0)
    ),
    "attention": of_many(
        lambda x: tt.scaled_dot_product_attention(
            x[:2].reshape(2, 1), x[2:4].reshape(2, 1), x[4:].reshape(2, 1)
        ),
        attention,
        (0.0,) * 6,
        (1.0,) * 6,
        (1.0, 0.0, -1.0, 1.0, 0.0, 2.0),
    ),
    "self_attention": of_many(
        lambda x: tt.self_attention(x.reshape(3, 2).T.reshape(1, 2, 3), 1),
        attention,
        (0.0,) * 6,
        (1.0, 0.0, -1.0, 1.0, 0.0, 2.0),
    ),
    "gru": of_many(ours_gru, gru_states, (0.0,) * 3, (1.0, -1.0, 0.0), (1.0,) * 3),
    "lstm": of_many(ours_lstm, lstm_states, (0.0,) * 4, (1.0, -1.0, 0.0, 0.0), (1.0,) * 4),
    "rnn": of_many(ours_rnn, rnn_states, (0.0,) * 3, (1.0, -1.0, 0.0)),
    "ctc_loss": of_many(ours_ctc, ctc, (0.0,) * 4, (-0.5,) * 4, (-1.0, -0.5, -0.5, -1.0)),
    "conv": of_many(
        lambda x: tt.conv1d(x[:3].reshape(1, 1, 3), x[3:].reshape(1, 1, 2)),
        lambda x: [x[0] * x[3] + x[1] * x[4], x[1] * x[3] + x[2] * x[4]],
        (0.0,) * 5,
        (1.0,) * 5,
    ),
    "conv_transpose": of_many(
        lambda x: tt.conv_transpose1d(x[:2].reshape(1, 1, 2), x[2:].reshape(1, 1, 2)),
        lambda x: [x[0] * x[2], x[0] * x[3] + x[1] * x[2], x[1] * x[3]],
        (0.0,) * 4,
        (1.0,) * 4,
    ),
    "dropout": of_many(
        lambda x: tt.dropout(x * x, 0.5, generator=tt.random.Generator(0)) * 0 + x, list, *THREE
    ),
}
