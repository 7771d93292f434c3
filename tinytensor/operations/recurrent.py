"""Recurrent networks over whole sequences: one op for all time steps.

The input projections of all steps are computed before, as one matrix product; what is left here
is the part that depends on the previous step. The gradients with respect to the recurrent weight
are again one product over all steps.
"""

from __future__ import annotations

from typing import Any

from ..registry import op
from ..samples import Sample
from .activation import sigmoid
from .index import getitem
from .piecewise import relu
from .products import as_rows, matmul
from .shape import stack, transpose
from .trigonometric import tanh

__all__ = ["lstm", "rnn"]


def _of_one_dtype(xp: Any, *arrays: Any) -> list[Any]:
    """The arrays in the dtype that holds them all."""
    dtype = xp.result_type(*arrays)
    return [a.astype(dtype, copy=False) for a in arrays]


def _weight_gradient(xp: Any, d: Any, h0: Any, hs: Any) -> Any:
    """Σₜ dₜᵀ hₜ₋₁, as one product over all steps."""
    before = xp.concatenate([h0[None], hs])[: len(hs)]
    return as_rows(d).T @ as_rows(before)


def _check(x_proj: Any, h0: Any, w_hh: Any, gates: int) -> None:
    hidden = w_hh.shape[-1]
    for name, a in (("x_proj", x_proj), ("h0", h0), ("w_hh", w_hh)):
        if a.dtype.kind != "f":
            raise TypeError(f"{name}: expected a floating dtype, got {a.dtype}")
    if w_hh.shape != (gates * hidden, hidden):
        raise ValueError(f"w_hh: expected shape ({gates} * hidden, hidden), got {w_hh.shape}")
    if x_proj.ndim != 3 or x_proj.shape[-1] != gates * hidden:
        raise ValueError(
            f"x_proj: expected shape (time, batch, {gates * hidden}), got {x_proj.shape}"
        )
    if h0.shape != (x_proj.shape[1], hidden):
        raise ValueError(f"h0: expected shape ({x_proj.shape[1]}, {hidden}), got {h0.shape}")


@op(
    "x_proj h0 w_hh",
    keeps="x_proj h0 w_hh out",
    formula="hₜ = f(x_projₜ + hₜ₋₁ w_hhᵀ)",
    gradient="back through time: aₜ = f'(.) (gₜ + aₜ₊₁ w_hh); dw_hh = Σ aₜᵀ hₜ₋₁",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 3), r(2, 3), r(3, 3)),
        Sample(r(3, 1, 2), r(1, 2), r(2, 2), "relu"),
        Sample(r(1, 2, 2), r(2, 2), r(2, 2)),
        Sample(r(2, 0, 2), r(0, 2), r(2, 2)),
        Sample(r(2, 2, 0), r(2, 0), r(0, 0)),
    ],
)
def rnn(xp, x_proj, h0, w_hh, nonlinearity="tanh"):
    """Elman network over a sequence (Elman 1990).

    Args:
        x_proj: (time, batch, hidden), the projected inputs with all biases.
        h0: (batch, hidden). w_hh: (hidden, hidden). nonlinearity: "tanh" or "relu".

    Returns:
        Hidden states (time, batch, hidden).
    """
    _check(x_proj, h0, w_hh, 1)
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity: expected 'tanh' or 'relu', got {nonlinearity!r}")
    x_proj, h0, w_hh = _of_one_dtype(xp, x_proj, h0, w_hh)
    out = xp.empty_like(x_proj)
    h, w = h0, w_hh.T
    for t in range(len(x_proj)):
        a = h @ w
        a += x_proj[t]
        h = xp.tanh(a) if nonlinearity == "tanh" else xp.maximum(a, 0)
        out[t] = h
    return out


@rnn.vjp
def _rnn_vjp(xp: Any, g: Any, k: Any) -> Any:
    hs, w = k.out, k.w_hh
    d = xp.empty_like(g)
    carry = xp.zeros_like(k.h0)
    for t in range(len(hs) - 1, -1, -1):
        carry = carry + g[t]
        carry *= 1 - hs[t] * hs[t] if k.nonlinearity == "tanh" else hs[t] > 0
        d[t] = carry
        carry = carry @ w
    return d, carry, _weight_gradient(xp, d, k.h0, hs)


@rnn.reference_is
def _rnn(x_proj: Any, h0: Any, w_hh: Any, nonlinearity: str = "tanh") -> Any:
    h, w = h0, transpose(w_hh)
    f = tanh if nonlinearity == "tanh" else relu
    out = []
    for t in range(len(x_proj)):
        h = f(getitem(x_proj, t) + matmul(h, w))
        out.append(h)
    return stack(out)


@op(
    "x_proj h0 c0 w_hh",
    keeps="x_proj h0 c0 w_hh gates cells hs",
    outputs=2,
    formula="i f g o = x_projₜ + hₜ₋₁ w_hhᵀ; cₜ = σ(f) cₜ₋₁ + σ(i) tanh(g); hₜ = σ(o) tanh(cₜ)",
    gradient="back through time, gate by gate; dw_hh = Σ aₜᵀ hₜ₋₁",
    wide=True,
    samples=lambda r: [
        Sample(r(4, 2, 12), r(2, 3), r(2, 3), r(12, 3)),
        Sample(r(1, 1, 8), r(1, 2), r(1, 2), r(8, 2)),
        Sample(r(2, 0, 8), r(0, 2), r(0, 2), r(8, 2)),
        Sample(r(2, 1, 0), r(1, 0), r(1, 0), r(0, 0)),
    ],
)
def lstm(xp, x_proj, h0, c0, w_hh):
    """Long short-term memory over a sequence (Hochreiter and Schmidhuber 1997, with the forget gate
    of Gers et al. 2000). Gates are in PyTorch's order: input, forget, cell, output.

    Args:
        x_proj: (time, batch, 4 hidden), the projected inputs with all biases.
        h0, c0: (batch, hidden). w_hh: (4 hidden, hidden).

    Returns:
        Hidden states (time, batch, hidden), and the last cell state (batch, hidden).
    """
    _check(x_proj, h0, w_hh, 4)
    if c0.shape != h0.shape:
        raise ValueError(f"c0: expected shape {h0.shape}, that of h0, got {c0.shape}")
    x_proj, h0, c0, w_hh = _of_one_dtype(xp, x_proj, h0, c0, w_hh)
    (steps, batch, _), n = x_proj.shape, h0.shape[1]
    gates = xp.empty_like(x_proj)
    hs = xp.empty((steps, batch, n), dtype=x_proj.dtype)
    cells = xp.empty((steps + 1, batch, n), dtype=x_proj.dtype)
    cells[0] = c0
    h, c, w = h0, cells[0], w_hh.T
    for t in range(steps):
        a = h @ w
        a += x_proj[t]
        a[:, : 2 * n] *= 0.5  # σ(a) = tanh(a / 2) / 2 + 1/2: one tanh serves all four gates
        a[:, 3 * n :] *= 0.5
        a = xp.tanh(a, out=gates[t])
        for part in (a[:, : 2 * n], a[:, 3 * n :]):
            part *= 0.5
            part += 0.5
        c = a[:, n : 2 * n] * c
        c += a[:, :n] * a[:, 2 * n : 3 * n]
        cells[t + 1] = c
        h = xp.tanh(c)
        h *= a[:, 3 * n :]
        hs[t] = h
    return (hs, c.copy()), gates, cells, hs


@lstm.vjp
def _lstm_vjp(xp: Any, g: Any, k: Any) -> Any:
    g_hs, g_c = g
    n = k.h0.shape[1]
    d = xp.empty_like(k.gates)
    dh = xp.zeros_like(k.h0)
    dc = g_c.copy()
    for t in range(len(k.hs) - 1, -1, -1):
        a, da = k.gates[t], d[t]
        i, f, cell, o = (a[:, j * n : (j + 1) * n] for j in range(4))
        dh = dh + g_hs[t]
        tanh_c = xp.tanh(k.cells[t + 1])
        dc += dh * o * (1 - tanh_c * tanh_c)
        da[:, :n] = dc * cell * i * (1 - i)
        da[:, n : 2 * n] = dc * k.cells[t] * f * (1 - f)
        da[:, 2 * n : 3 * n] = dc * i * (1 - cell * cell)
        da[:, 3 * n :] = dh * tanh_c * o * (1 - o)
        dh = da @ k.w_hh
        dc *= f
    return d, dh, dc, _weight_gradient(xp, d, k.h0, k.hs)


@lstm.reference_is
def _lstm(x_proj: Any, h0: Any, c0: Any, w_hh: Any) -> Any:
    h, c, w = h0, c0, transpose(w_hh)
    n = h0.shape[1]
    out = []
    for t in range(len(x_proj)):
        a = getitem(x_proj, t) + matmul(h, w)
        i, f, g, o = (a[:, j * n : (j + 1) * n] for j in range(4))
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        out.append(h)
    return stack(out), c
