"""Gated recurrent units over whole sequences: one op for all time steps, as :mod:`.recurrent`."""

from __future__ import annotations

from typing import Any

from ...define.op import op
from ...define.samples import Sample
from ..activations.smooth import sigmoid
from ..elementwise.trigonometric import tanh
from ..indexing.reading import getitem
from ..linear.products import as_rows, column_sums, linear
from ..shapes.reshaping import stack
from .recurrent_blocks import back, backward_blocks, blocks_of, check, forward_blocks, width_of


def _half(w: Any) -> Any:
    """Rows of gates r z n with those of r and z by half: σ(a) = tanh(a / 2) / 2 + 1/2."""
    out = w.copy()
    out[: 2 * (len(w) // 3)] *= 0.5
    return out


def _last_first(xp: Any, w: Any) -> Any:
    """Rows of gates r z n as n r z."""
    n = len(w) // 3
    return xp.concatenate([w[2 * n :], w[: 2 * n]])


def _first_last(xp: Any, w: Any) -> Any:
    """The inverse of :func:`_last_first`."""
    n = len(w) // 3
    return xp.concatenate([w[n:], w[:n]])


def _biases(xp: Any, n: int, b_ih: Any, b_hh: Any) -> tuple[Any, Any]:
    """What is added to the inputs' product, and n's part of ``b_hh``, which r gates too."""
    if b_hh is None:
        return b_ih, None
    ours = b_hh.copy()
    ours[2 * n :] = 0
    return ours if b_ih is None else ours + b_ih, b_hh[2 * n :]


@op(
    "x h0 w_ih w_hh b_ih b_hh",
    keeps="x h0 w_ih w_hh b_ih b_hh out gates",
    formula="r z a = w_ih xₜ + b_ih; s t q = w_hh hₜ₋₁ + b_hh; n = tanh(a + σ(r + s) q); "
    "hₜ = n + σ(z + t) (hₜ₋₁ - n)",
    gradient="back through time, gate by gate; dw_hh = Σ aₜ hₜ₋₁ᵀ",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 5), r(2, 3), r(9, 5), r(9, 3), r(9), r(9)),
        Sample(r(3, 1, 2), r(1, 2), r(6, 2), r(6, 2)),
        Sample(r(2, 2, 2), r(2, 2), r(6, 2), r(6, 2), r(6)),
        Sample(r(2, 2, 2), r(2, 2), r(6, 2), r(6, 2), None, r(6)),
        Sample(r(2, 0, 3), r(0, 2), r(6, 3), r(6, 2), r(6), r(6)),
        Sample(r(2, 1, 0), r(1, 0), r(0, 0), r(0, 0)),
    ],
)
def gru(xp, x, h0, w_ih, w_hh, b_ih=None, b_hh=None):
    """Gated recurrent unit over a sequence (Cho et al. 2014, arXiv:1406.1078), in the variant of
    cuDNN and PyTorch, where the reset gate comes after the product: with gates r, z, n in this
    order, n = tanh(W_in x + b_in + r * (W_hn h + b_hn)) and h = (1 - z) * n + z * h.

    Args:
        x: (time, batch, input). h0: (batch, hidden). w_ih: (3 hidden, input).
        w_hh: (3 hidden, hidden). b_ih, b_hh: (3 hidden,) or None.

    Returns:
        Hidden states (time, batch, hidden).
    """
    x, h0, w_ih, w_hh, b_ih, b_hh = check(
        xp, 3, x=x, h0=h0, w_ih=w_ih, w_hh=w_hh, b_ih=b_ih, b_hh=b_hh
    )
    (steps, batch, _), n = x.shape, h0.shape[1]
    width = width_of(batch, n)
    w = forward_blocks(_half(w_hh), width, 3)
    bias, b_n = _biases(xp, n, b_ih, b_hh)
    bias = None if bias is None else _half(bias)
    projected = blocks_of(linear.forward(xp, x, _half(w_ih), bias), width, 3)
    hs = xp.empty((steps, batch, n), dtype=x.dtype)
    h, blocks, before = h0, blocks_of(hs, width), blocks_of(h0, width)
    m = len(before)
    if b_n is not None:
        b_n = blocks_of(b_n[None], width)
    gates = xp.empty((steps, 4 * m, batch, width), dtype=x.dtype)
    for t in range(steps):
        xp.matmul(h, w, out=gates[t, : 3 * m])
        sigmoids, q, new = gates[t, : 2 * m], gates[t, 2 * m : 3 * m], gates[t, 3 * m :]
        sigmoids += projected[t, : 2 * m]
        xp.tanh(sigmoids, out=sigmoids)
        sigmoids *= 0.5
        sigmoids += 0.5
        if b_n is not None:
            q += b_n
        xp.multiply(sigmoids[:m], q, out=new)
        new += projected[t, 2 * m :]
        xp.tanh(new, out=new)
        step = before - new
        step *= sigmoids[m:]
        before = xp.add(step, new, out=blocks[t])
        h = hs[t]
    return hs, gates


@gru.vjp
def _gru_vjp(xp: Any, g: Any, k: Any) -> Any:
    gates, hs = k.gates, k.out.astype(g.dtype, copy=False)
    m, width, n = gates.shape[1] // 4, gates.shape[-1], hs.shape[2]
    before = xp.concatenate([k.h0[None], hs])[: len(hs)]
    # pre-activations in the order n r z q: the first three are those of the inputs' product, the
    # last three those of the states'. Each is a factor, made for all steps at once, of dh
    r, z, q, new = (gates[:, j * m : (j + 1) * m] for j in range(4))
    factors = xp.empty_like(gates).reshape(len(hs), 4, *r.shape[1:])
    of_new, of_r, of_z, of_q = (factors[:, j] for j in range(4))
    of_new[...] = (1 - z) * (1 - new * new)
    xp.multiply(of_new, r, out=of_q)
    of_r[...] = of_q * (1 - r) * q
    of_z[...] = (blocks_of(before, width) - new) * (z * (1 - z))
    d = xp.empty((*hs.shape[:2], 4 * n), dtype=hs.dtype)
    d_blocks = blocks_of(d, width, 4)
    d_blocks = d_blocks.reshape(len(d), 4, m, *d_blocks.shape[2:])
    w, g = backward_blocks(k.w_hh.astype(hs.dtype, copy=False), width), blocks_of(g, width)
    dh = xp.zeros(r.shape[1:], dtype=hs.dtype)
    for t in range(len(hs) - 1, -1, -1):
        dh += g[t]
        xp.multiply(factors[t], dh, out=d_blocks[t])
        dh *= z[t]
        dh += back(xp, d[t, :, n:], w)
    inputs, states = as_rows(d[..., : 3 * n]), as_rows(d[..., n:])
    dx = dw_ih = dw_hh = db_ih = db_hh = None
    if k.needs[0]:
        dx = (inputs @ _last_first(xp, k.w_ih)).reshape(k.x.shape)
    if k.needs[2]:
        dw_ih = _first_last(xp, inputs.T @ as_rows(k.x))
    if k.needs[3]:
        dw_hh = states.T @ as_rows(before)
    if k.needs[4]:
        db_ih = _first_last(xp, column_sums(xp, inputs))
    if k.needs[5]:
        db_hh = column_sums(xp, states)
    return dx, dh.swapaxes(0, 1).reshape(k.h0.shape), dw_ih, dw_hh, db_ih, db_hh


@gru.reference_is
def _gru(x: Any, h0: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    h, n = h0, h0.shape[1]
    out = []
    for t in range(len(x)):
        a, b = linear(getitem(x, t), w_ih, b_ih), linear(h, w_hh, b_hh)
        r, z = (sigmoid(a[:, i : i + n] + b[:, i : i + n]) for i in (0, n))
        new = tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
        h = (1 - z) * new + z * h
        out.append(h)
    return stack(out)
