"""Functions of several numbers by their textbook formulas, in mpmath's arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from mpmath import mp, mpf

from .special_points import Numbers, sigmoid


def softmax(x: Numbers) -> list[Any]:
    whole = mp.fsum(mp.exp(a) for a in x)
    return [mp.exp(a) / whole for a in x]


def logsumexp(x: Numbers) -> Any:
    return mp.log(mp.fsum(mp.exp(a) for a in x))


def mean(x: Numbers) -> Any:
    return mp.fsum(x) / len(x)


def var(x: Numbers) -> Any:
    return mean([(a - mean(x)) ** 2 for a in x])


def normalised(x: Numbers, eps: float = 1e-5) -> list[Any]:
    return [(a - mean(x)) / mp.sqrt(var(x) + mpf(eps)) for a in x]


def p_norm(p: float) -> Any:
    return lambda x: mp.fsum(abs(a) ** mpf(p) for a in x) ** (1 / mpf(p))


def running(step: Any) -> Any:
    """All results of a scan from the left."""
    return lambda x: list(itertools.accumulate(x, step))


def inverse(x: Numbers) -> list[Any]:
    a, b, c, d = x
    det = a * d - b * c
    return [d / det, -b / det, -c / det, a / det]


def solved(x: Numbers) -> list[Any]:
    a, b, c, d = inverse(x)
    return [a + 2 * b, c + 2 * d]


def cholesky(x: Numbers) -> list[Any]:
    a, b, c, d = x[0], (x[1] + x[2]) / 2, (x[1] + x[2]) / 2, x[3]
    first = mp.sqrt(a)
    return [first, mpf(0), b / first, mp.sqrt(d - b * c / a)]


def gram(x: Numbers) -> tuple[Any, Any, Any]:
    """aᵀ a of that matrix, without the second element of the diagonal's mirror."""
    a, b, c, d = x
    return a * a + c * c, a * b + c * d, b * b + d * d + 1


def eigenvalues(a: Any, b: Any, d: Any) -> list[Any]:
    """Those of the symmetric [[a, b], [b, d]], the smaller first."""
    middle, half = (a + d) / 2, mp.sqrt(((a - d) / 2) ** 2 + b * b)
    return [middle - half, middle + half]


def exponential(x: Numbers) -> list[Any]:
    """eᵃ of the symmetric part of a, by its eigenvalues (Sylvester's formula)."""
    a, b, d = x[0], (x[1] + x[2]) / 2, x[3]
    low, high = eigenvalues(a, b, d)
    slope = (mp.exp(high) - mp.exp(low)) / (high - low)
    base = mp.exp(low) - low * slope
    return [base + slope * a, slope * b, slope * b, base + slope * d]


def rotation(x: Numbers) -> list[Any]:
    """The same for a positive determinant: [[a + d, b - c], [c - b, a + d]] made orthogonal."""
    a, b, c, d = x
    n = mp.hypot(a + d, b - c)
    return [(a + d) / n, (b - c) / n, (c - b) / n, (a + d) / n]


def pseudo_inverse(x: Numbers) -> list[Any]:
    p, q, r = gram(x)
    det = p * r - q * q
    columns = [(x[0], x[1]), (x[2], x[3]), (mpf(0), mpf(1))]
    return [(r * a - q * b) / det for a, b in columns] + [(p * b - q * a) / det for a, b in columns]


def attention(x: Numbers) -> list[Any]:
    """Two queries, keys and values of one number each: q0 q1 k0 k1 v0 v1."""
    q, k, v = x[:2], x[2:4], x[4:6]
    return [mp.fsum(w * b for w, b in zip(softmax([a * b for b in k]), v, strict=True)) for a in q]


def gru_states(x: Numbers) -> list[Any]:
    """Two steps of one unit with all weights 1: x0 x1 h0."""
    h, out = x[2], []
    for a in x[:2]:
        gate = sigmoid(a + h)
        h = (1 - gate) * mp.tanh(a + gate * h) + gate * h
        out.append(h)
    return out


def lstm_states(x: Numbers) -> list[Any]:
    """Two steps of one unit with all weights 1: x0 x1 h0 c0."""
    h, c, out = x[2], x[3], []
    for a in x[:2]:
        z = a + h
        c = sigmoid(z) * c + sigmoid(z) * mp.tanh(z)
        h = sigmoid(z) * mp.tanh(c)
        out.append(h)
    return out


def rnn_states(x: Numbers) -> list[Any]:
    h, out = x[2], []
    for a in x[:2]:
        h = mp.tanh(a + h)
        out.append(h)
    return out


def ctc(x: Numbers) -> Any:
    """Two frames, blank and one label, target [1]: the alignments are -1, 1-, 11."""
    b0, l0, b1, l1 = x
    return -mp.log(mp.exp(b0 + l1) + mp.exp(l0 + b1) + mp.exp(l0 + l1))


def cross(x: Numbers, q: Sequence[float]) -> Any:
    return -mp.fsum(mpf(w) * (a - logsumexp(x)) for w, a in zip(q, x, strict=True))


def bce(p: Any, y: Any) -> Any:
    return -(y * mp.log(p) + (1 - y) * mp.log(1 - p))


def huber(d: Any) -> Any:
    return d * d / 2 if abs(d) <= 1 else abs(d) - mpf(1) / 2
