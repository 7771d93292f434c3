"""What the recurrent ops share: checks, blocks of features, gradients of the weights.

What a step computes lies in blocks of up to 64 features, (blocks, batch, width): products of that
size need no packing in OpenBLAS, which for a batch of 32 and 256 features takes as long as the
product itself, and each gate is contiguous. Views between blocks and (batch, features) cost nothing
but a longer stride.
"""

from __future__ import annotations

from typing import Any

from ..linear.products import as_rows, column_sums

#: the widest block, and the multiplications up to which OpenBLAS multiplies without packing
_WIDTH, _SMALL_PRODUCT = 64, 10**6


def check(xp: Any, gates: int, **arrays: Any) -> list[Any]:
    """The operands in the one dtype that holds them all; errors name those that do not fit."""
    given = {name: a for name, a in arrays.items() if a is not None}
    for name in ("x", "h0", "w_ih", "w_hh"):
        if name not in given:
            raise TypeError(f"{name}: expected a tensor, got None")
    for name, a in given.items():
        if a.dtype.kind != "f":
            raise TypeError(f"{name}: expected a floating dtype, got {a.dtype}")
    x, w_hh = given["x"], given["w_hh"]
    hidden = w_hh.shape[-1]
    if x.ndim != 3:
        raise ValueError(f"x: expected shape (time, batch, input), got {x.shape}")
    state = (x.shape[1], hidden)
    for name, want in (
        ("w_hh", (gates * hidden, hidden)),
        ("w_ih", (gates * hidden, x.shape[2])),
        *((name, (gates * hidden,)) for name in ("bias", "b_ih", "b_hh")),
        ("h0", state),
        ("c0", state),
    ):
        if name in given and given[name].shape != want:
            raise ValueError(
                f"{name}: expected shape {want} for x {x.shape} and w_hh {w_hh.shape}, got "
                f"{given[name].shape}"
            )
    dtype = xp.result_type(*given.values())
    return [None if a is None else a.astype(dtype, copy=False) for a in arrays.values()]


def width_of(batch: int, n: int) -> int:
    """How wide the blocks of n features are: n where small products are not worth while."""
    if batch * _WIDTH * n <= _SMALL_PRODUCT:
        for width in range(min(n, _WIDTH), _WIDTH // 4, -1):
            if n % width == 0:
                return width
    return n


def blocks_of(a: Any, width: int, gates: int = 1) -> Any:
    """(..., batch, features) as blocks (..., features / width, batch, width), a view; features of
    no width are one block for each of ``gates``."""
    *lead, batch, features = a.shape
    split = a.reshape(*lead, batch, features // width if width else gates, width)
    return split.swapaxes(-2, -3)


def forward_blocks(w: Any, width: int, gates: int) -> Any:
    """(gates n, n) as (blocks, n, width): h @ each of them is a block of h @ w.T."""
    rows, n = w.shape
    return w.reshape(rows // width if width else gates, width, n).swapaxes(1, 2).copy()


def backward_blocks(w: Any, width: int) -> Any:
    """(gates n, n) as (gates, blocks, n, width), for :func:`back`."""
    rows, n = w.shape
    gates = rows // n if n else 1
    return blocks_of(w.reshape(gates, n, n), width).copy()


def back(xp: Any, d: Any, w: Any) -> Any:
    """d @ w in blocks, for d (batch, gates n) and w from :func:`backward_blocks`."""
    gates, _, n, _ = w.shape
    parts = xp.matmul(d.reshape(len(d), gates, 1, n).transpose(1, 2, 0, 3), w)
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def gradients(xp: Any, k: Any, d: Any, hs: Any, w_ih: Any) -> tuple[Any, Any, Any, Any]:
    """Those of x, w_ih, w_hh and bias from ``d`` (time, batch, gates n), of all pre-activations."""
    need = dict(zip(k.node.op.inputs, k.needs, strict=True))
    rows = as_rows(d)
    dx = dw_ih = dw_hh = dbias = None
    if need["x"]:
        dx = (rows @ w_ih).reshape(*d.shape[:2], w_ih.shape[1])
    if need["w_ih"] or need["w_hh"]:
        before = xp.concatenate([k.h0[None], hs])[: len(hs)]
        read = as_rows(xp.concatenate([k.x, before], axis=2))
        dw = rows.T @ read  # both at once
        dw_ih, dw_hh = dw[:, : k.x.shape[2]], dw[:, k.x.shape[2] :]
    if need["bias"]:
        dbias = column_sums(xp, rows)
    return dx, dw_ih, dw_hh, dbias
