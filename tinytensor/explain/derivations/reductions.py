"""Reductions, and ops that move elements about."""

from __future__ import annotations

from .derivation import of

DERIVATIONS = {
    "sum": of(
        """
        out = Σᵢ xᵢ
        ∂out/∂xᵢ = 1  # for every i
        dxᵢ = g  # the one gradient goes back to all that were added up
        """,
        x="g * np.ones_like(x)",
    ),
    "mean": of(
        """
        out = Σᵢ xᵢ / n
        ∂out/∂xᵢ = 1 / n
        dxᵢ = g / n
        """,
        x="g / (x.size / g.size) * np.ones_like(x)",
    ),
    "prod": of(
        """
        ∂out/∂xᵢ = (the product of all others)  # out is a straight line in each of them
        dxᵢ = g out / xᵢ  # where no element is 0; the op itself divides by none
        """,
        x="g * out / x",
    ),
    "max": of(
        """
        out = xₘ, where m is the place of the maximum
        ∂out/∂xᵢ = δᵢₘ  # a small change of another one does not show
        dx = g at the maximum, shared evenly among ties
        """,
        x="g * (x == out) / (x == out).sum(axis, keepdims=True)",
    ),
    "min": of(
        """
        out = xₘ, where m is the place of the minimum
        ∂out/∂xᵢ = δᵢₘ
        dx = g at the minimum, shared evenly among ties
        """,
        x="g * (x == out) / (x == out).sum(axis, keepdims=True)",
    ),
    "var": of(
        """
        d = x - m, m = Σ x / n, out = Σ d² / (n - ddof)
        ∂out/∂dᵢ = 2 dᵢ / (n - ddof)
        ∂dᵢ/∂xⱼ = δᵢⱼ - 1/n  # each x moves the mean a little
        dxⱼ = g 2 (dⱼ - Σᵢ dᵢ / n) / (n - ddof)
        dx = g 2 (x - m) / (n - ddof)  # since Σ d = 0: the mean's part cancels
        """,
        x="g * 2 * (x - x.mean(axis, keepdims=True)) / (x.size / g.size - ddof)",
    ),
    "std": of(
        """
        out = √v, with v the variance
        ∂out/∂v = 1 / (2 out)
        dx = (g / (2 out)) (2 (x - m) / (n - ddof))  # times the gradient of the variance
        dx = g (x - m) / ((n - ddof) out)
        """,
        x="g * (x - x.mean(axis, keepdims=True)) / ((x.size / g.size - ddof) * out)",
    ),
    "logsumexp": of(
        """
        out = ln Σₖ e^xₖ
        ∂out/∂xᵢ = e^xᵢ / Σₖ e^xₖ = e^(xᵢ - out)  # which is softmax
        dx = g e^(x - out)
        """,
        x="g * np.exp(x - out)",
    ),
    "cumsum": of(
        """
        yᵢ = x₀ + … + xᵢ
        ∂yᵢ/∂xⱼ = 1 where j <= i, else 0
        dxⱼ = gⱼ + gⱼ₊₁ + …  # every later sum has it: the sums of g from the other end
        """,
        x="np.flip(np.cumsum(np.flip(g, axis), axis), axis)",
    ),
    "reshape": of(
        """
        out has the elements of x in the same order
        dx = g in x's shape  # each gradient goes back where its element was
        """,
        x="g.reshape(x.shape)",
    ),
    "transpose": of(
        """
        out[j, i] = x[i, j]
        dx[i, j] = g[j, i]  # the same exchange, undone
        """,
    ),
    "broadcast_to": of(
        """
        outᵢ = x  # one element, read at many places i
        ∂outᵢ/∂x = 1
        dx = Σᵢ gᵢ  # where something is read several times, its gradients add up
        """,
    ),
    "concat": of(
        """
        out = x₀ beside x₁ beside …
        dxᵢ = the part of g that came from xᵢ
        """,
    ),
    "getitem": of(
        """
        outₖ = x at iₖ
        ∂outₖ/∂xⱼ = 1 where j = iₖ, else 0
        dxⱼ = Σₖ gₖ over all k with iₖ = j  # read twice, it gets both; never read, 0
        """,
    ),
    "embedding": of(
        """
        outₖ = weightⱼ with j = idsₖ  # row by row
        dweightⱼ = Σₖ gₖ over all k with idsₖ = j  # a row that comes up twice gets both
        """,
    ),
    "where": of(
        """
        out = x where condition, else y
        dx = g where condition, else 0
        dy = 0 where condition, else g  # each gets the gradient of the places that it was taken for
        """,
        x="g * condition", y="g * ~condition",
    ),
    "clip": of(
        """
        out = x where low <= x <= high, else the limit
        dx = g where low <= x <= high, else 0  # a limit does not move with x
        """,
    ),
}  # fmt: skip
