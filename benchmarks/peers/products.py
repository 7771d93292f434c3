"""The matrix products of one step alone, through np.matmul into arrays made beforehand.

What a step of any NumPy framework can't go below without better products: forward, and for each
factor of it one product in backward. Attention computes the whole square of scores here, above the
diagonal too, and np.matmul runs a batch of small products on one thread; an op that does neither
may be faster than this floor.

"weights" are products with a weight matrix over all positions at once; "time" are attention's, or
the recurrence's, one for each time step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import workloads as w

Product = tuple[np.ndarray, np.ndarray, np.ndarray]  # a, b, out


def _array(*shape: int) -> np.ndarray:
    return np.random.default_rng(6).standard_normal(shape, dtype=np.float32)


def linear(rows: int, inputs: int, outputs: int) -> list[Product]:
    """y = x wᵀ, dx = dy w, dw = dyᵀ x."""
    x, weight, dy = _array(rows, inputs), _array(outputs, inputs), _array(rows, outputs)
    return [
        (x, weight.T, np.empty_like(dy)),
        (dy, weight, np.empty_like(x)),
        (dy.T, x, np.empty_like(weight)),
    ]


def attention(batch: int, heads: int, block: int, size: int) -> list[Product]:
    """scores = q kᵀ, y = p v; dp = dy vᵀ, dv = pᵀ dy, dq = ds k, dk = dsᵀ q."""
    q = _array(batch, heads, block, size)
    square = _array(batch, heads, block, block)
    small, large = np.empty_like(q), np.empty_like(square)
    turned, square_turned = q.swapaxes(-1, -2), square.swapaxes(-1, -2)
    scores, mixed = (q, turned, large), (square, q, small)
    return [scores, mixed, scores, (square_turned, q, small), mixed, (square_turned, q, small)]


def stepper(products: list[Product]) -> Callable[[], float]:
    """A function that computes them all."""

    def step() -> float:
        for a, b, out in products:
            np.matmul(a, b, out=out)
        return 0.0

    return step


def gpt_weights(s: w.GPT) -> Callable[[], float]:
    """Four linears for each block and the head."""
    rows, c = s.batch * s.block, s.width
    shapes = [(c, 3 * c), (c, c), (c, 4 * c), (4 * c, c)] * s.layers + [(c, s.vocab)]
    return stepper([p for shape in shapes for p in linear(rows, *shape)])


def gpt_time(s: w.GPT) -> Callable[[], float]:
    """Attention of each block."""
    size = s.width // s.heads
    return stepper([p for _ in range(s.layers) for p in attention(s.batch, s.heads, s.block, size)])


def recurrent_weights(s: w.Recurrent) -> Callable[[], float]:
    """For each layer the projection of all inputs, and one product for the gradient of w_hh."""
    rows, gates = s.batch * s.block, s.width * s.gates
    products = linear(rows, s.width, s.vocab)
    for _ in range(s.layers):
        products += [*linear(rows, s.width, gates), linear(rows, s.width, gates)[2]]
    return stepper(products)


def recurrent_time(s: w.Recurrent) -> Callable[[], float]:
    """For each layer and time step h w_hhᵀ, and its gradient with respect to h."""
    gates = s.width * s.gates
    return stepper(linear(s.batch, s.width, gates)[:2] * (s.layers * s.block))


WEIGHTS = {w.GPT: gpt_weights, w.Recurrent: recurrent_weights}
TIME = {w.GPT: gpt_time, w.Recurrent: recurrent_time}
