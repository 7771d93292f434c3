"""Elman's network and LSTM over whole sequences: one op for all time steps.

All input projections are one product, the steps go through one fused cell, and the gradient of each
weight is one product over all steps. Features lie in blocks, see :mod:`.recurrent_blocks`.
"""

from __future__ import annotations

from typing import Any

from ...define.op import op
from ...define.samples import Sample
from ..activations.relu import relu
from ..activations.smooth import sigmoid
from ..elementwise.trigonometric import tanh
from ..indexing.reading import getitem
from ..linear.products import linear
from ..shapes.reshaping import stack
from .recurrent_blocks import (
    back,
    backward_blocks,
    blocks_of,
    check,
    forward_blocks,
    gradients,
    width_of,
)


@op(
    "x h0 w_ih w_hh bias",
    keeps="x h0 w_ih w_hh bias out",
    formula="hₜ = f(w_ih xₜ + bias + w_hh hₜ₋₁)",
    gradient="back through time: aₜ = f'(.) (gₜ + w_hhᵀ aₜ₊₁); dw_hh = Σ aₜ hₜ₋₁ᵀ",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 5), r(2, 3), r(3, 5), r(3, 3), r(3)),
        Sample(r(3, 1, 2), r(1, 2), r(2, 2), r(2, 2), None, "relu"),
        Sample(r(1, 2, 2), r(2, 2), r(2, 2), r(2, 2), r(2)),
        Sample(r(2, 0, 2), r(0, 2), r(2, 2), r(2, 2)),
        Sample(r(2, 2, 3), r(2, 0), r(0, 3), r(0, 0)),
    ],
)
def rnn(xp, x, h0, w_ih, w_hh, bias=None, nonlinearity="tanh"):
    """Elman network over a sequence (Elman 1990).

    Args:
        x: (time, batch, input). h0: (batch, hidden). w_ih: (hidden, input).
        w_hh: (hidden, hidden). bias: (hidden,) or None. nonlinearity: "tanh" or "relu".

    Returns:
        Hidden states (time, batch, hidden).
    """
    x, h0, w_ih, w_hh, bias = check(xp, 1, x=x, h0=h0, w_ih=w_ih, w_hh=w_hh, bias=bias)
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity: expected 'tanh' or 'relu', got {nonlinearity!r}")
    width = width_of(*h0.shape)
    w = forward_blocks(w_hh, width, 1)
    projected = blocks_of(linear.forward(xp, x, w_ih, bias), width)
    out = xp.empty((*x.shape[:2], h0.shape[1]), dtype=x.dtype)
    h, blocks = h0, blocks_of(out, width)
    for t in range(len(x)):
        a = xp.matmul(h, w)
        a += projected[t]
        if nonlinearity == "tanh":
            xp.tanh(a, out=blocks[t])
        else:
            xp.maximum(a, 0, out=blocks[t])
        h = out[t]
    return out


@rnn.vjp
def _rnn_vjp(xp: Any, g: Any, k: Any) -> Any:
    hs, width = k.out.astype(g.dtype, copy=False), width_of(*k.h0.shape)
    w = backward_blocks(k.w_hh.astype(hs.dtype, copy=False), width)
    d = 1 - hs * hs if k.nonlinearity == "tanh" else (hs > 0).astype(hs.dtype)
    slopes, g = blocks_of(d, width), blocks_of(g, width)
    carry = blocks_of(xp.zeros(k.h0.shape, dtype=hs.dtype), width)
    for t in range(len(hs) - 1, -1, -1):
        carry += g[t]
        slopes[t] *= carry  # that is d[t]
        carry = back(xp, d[t], w)
    dx, dw_ih, dw_hh, dbias = gradients(xp, k, d, hs, k.w_ih)
    return dx, carry.swapaxes(0, 1).reshape(k.h0.shape), dw_ih, dw_hh, dbias


@rnn.reference_is
def _rnn(
    x: Any, h0: Any, w_ih: Any, w_hh: Any, bias: Any = None, nonlinearity: str = "tanh"
) -> Any:
    h = h0
    f = tanh if nonlinearity == "tanh" else relu
    out = []
    for t in range(len(x)):
        h = f(linear(getitem(x, t), w_ih, bias) + linear(h, w_hh))
        out.append(h)
    return stack(out)


def _inner(xp: Any, w: Any, half: bool) -> Any:
    """Rows of gates in the order i f g o as g i f o; with ``half``, those of i, f, o by half.

    σ(a) = tanh(a / 2) / 2 + 1/2: one tanh serves all gates, and the three sigmoids lie together.
    """
    n = w.shape[0] // 4
    out = xp.concatenate([w[2 * n : 3 * n], w[: 2 * n], w[3 * n :]])
    if half:
        out[n:] *= 0.5
    return out


def _outer(xp: Any, w: Any) -> Any:
    """The inverse of :func:`_inner` with half=False."""
    n = w.shape[0] // 4
    return xp.concatenate([w[n : 3 * n], w[:n], w[3 * n :]])


@op(
    "x h0 c0 w_ih w_hh bias",
    keeps="x h0 c0 w_ih w_hh bias gates cells tanh_cells hs",
    outputs=2,
    formula="i f g o = w_ih xₜ + bias + w_hh hₜ₋₁; cₜ = σ(f) cₜ₋₁ + σ(i) tanh(g); "
    "hₜ = σ(o) tanh(cₜ)",
    gradient="back through time, gate by gate; dw_hh = Σ aₜ hₜ₋₁ᵀ",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 5), r(2, 3), r(2, 3), r(12, 5), r(12, 3), r(12)),
        Sample(r(1, 1, 2), r(1, 2), r(1, 2), r(8, 2), r(8, 2)),
        Sample(r(2, 0, 3), r(0, 2), r(0, 2), r(8, 3), r(8, 2), r(8)),
        Sample(r(2, 1, 0), r(1, 0), r(1, 0), r(0, 0), r(0, 0)),
    ],
)
def lstm(xp, x, h0, c0, w_ih, w_hh, bias=None):
    """Long short-term memory over a sequence (Hochreiter and Schmidhuber 1997, with the forget gate
    of Gers et al. 2000). Gates are in PyTorch's order: input, forget, cell, output.

    Args:
        x: (time, batch, input). h0, c0: (batch, hidden). w_ih: (4 hidden, input).
        w_hh: (4 hidden, hidden). bias: (4 hidden,) or None.

    Returns:
        Hidden states (time, batch, hidden), and the last cell state (batch, hidden).
    """
    x, h0, c0, w_ih, w_hh, bias = check(xp, 4, x=x, h0=h0, c0=c0, w_ih=w_ih, w_hh=w_hh, bias=bias)
    (steps, batch, _), n = x.shape, h0.shape[1]
    width = width_of(batch, n)
    w = forward_blocks(_inner(xp, w_hh, half=True), width, 4)
    if bias is not None:
        bias = _inner(xp, bias, half=True)
    projected = blocks_of(linear.forward(xp, x, _inner(xp, w_ih, half=True), bias), width)
    hs = xp.empty((steps, batch, n), dtype=x.dtype)
    h, blocks = h0, blocks_of(hs, width)
    m = blocks.shape[1]
    gates = xp.empty((steps, 4 * m, batch, width), dtype=x.dtype)
    cells = xp.empty((steps + 1, m, batch, width), dtype=x.dtype)
    cells[0] = blocks_of(c0, width)
    tanh_cells = xp.empty_like(cells[1:])
    for t in range(steps):
        a = xp.matmul(h, w, out=gates[t])
        a += projected[t]
        xp.tanh(a, out=a)
        sigmoids = a[m:]
        sigmoids *= 0.5
        sigmoids += 0.5
        g, i, f, o = a[:m], a[m : 2 * m], a[2 * m : 3 * m], a[3 * m :]
        c = xp.multiply(f, cells[t], out=cells[t + 1])
        c += i * g
        xp.multiply(xp.tanh(c, out=tanh_cells[t]), o, out=blocks[t])
        h = hs[t]
    return (hs, cells[-1].swapaxes(0, 1).reshape(c0.shape)), gates, cells, tanh_cells, hs


@lstm.vjp
def _lstm_vjp(xp: Any, g: Any, k: Any) -> Any:
    hs, gates, tanh_c = k.hs, k.gates, k.tanh_cells
    width, m = gates.shape[-1], tanh_c.shape[1]
    g_hs, dc = blocks_of(g[0], width), blocks_of(g[1].astype(hs.dtype), width).copy()
    # what a step multiplies by is made for all steps at once: factors of dc for g, i and f, of dh
    # for o, and how much of dh goes into dc
    cell, i, f, o = (gates[:, j * m : (j + 1) * m] for j in range(4))
    factors = xp.subtract(1, gates)
    factors *= gates  # σ' of i, f and o
    factors[:, :m] = 1 - cell * cell
    for j, factor in enumerate((i, cell, k.cells[:-1], tanh_c)):
        factors[:, j * m : (j + 1) * m] *= factor
    into_c = (1 - tanh_c * tanh_c) * o
    d = xp.empty((*hs.shape[:2], 4 * hs.shape[2]), dtype=hs.dtype)
    d_blocks = blocks_of(d, width)
    d_blocks = d_blocks.reshape(len(d), 4, m, *d_blocks.shape[2:])
    factors = factors.reshape(len(d), 4, m, *factors.shape[2:])
    w = backward_blocks(_inner(xp, k.w_hh.astype(hs.dtype, copy=False), half=False), width)
    dh = xp.zeros_like(dc)
    for t in range(len(hs) - 1, -1, -1):
        dh += g_hs[t]
        dc += dh * into_c[t]
        xp.multiply(factors[t, :3], dc, out=d_blocks[t, :3])
        xp.multiply(factors[t, 3], dh, out=d_blocks[t, 3])
        dh = back(xp, d[t], w)
        dc *= f[t]
    dx, dw_ih, dw_hh, dbias = gradients(xp, k, d, hs, _inner(xp, k.w_ih, half=False))
    rows = [None if w is None else _outer(xp, w) for w in (dw_ih, dw_hh, dbias)]
    dh0, dc0 = (x.swapaxes(0, 1).reshape(k.h0.shape) for x in (dh, dc))
    return dx, dh0, dc0, *rows


@lstm.reference_is
def _lstm(x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, bias: Any = None) -> Any:
    h, c = h0, c0
    n = h0.shape[1]
    out = []
    for t in range(len(x)):
        a = linear(getitem(x, t), w_ih, bias) + linear(h, w_hh)
        i, f, g, o = (a[:, j * n : (j + 1) * n] for j in range(4))
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        out.append(h)
    return stack(out), c
