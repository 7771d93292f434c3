"""Matrix products, normalisations, losses and attention."""

from __future__ import annotations

from .derivation import of

_NORM_NOTE = (
    "Two sums are zero, of dx and of dx x̂: adding a number to all x, or multiplying all of them by "
    "one, changes nothing, so the slope in both directions is 0 (but for eps)."
)

DERIVATIONS = {
    "matmul": of(
        """
        outᵢₖ = Σⱼ xᵢⱼ yⱼₖ
        ∂outᵢₖ/∂xᵢⱼ = yⱼₖ  # xᵢⱼ is read by the whole row i of the result
        dxᵢⱼ = Σₖ gᵢₖ yⱼₖ  # so a sum over k: row i of g times row j of y
        dx = g yᵀ
        dyⱼₖ = Σᵢ xᵢⱼ gᵢₖ  # likewise, column j of x times column k of g
        dy = xᵀ g
        """,
        note="The shapes leave no other choice: g is (m, n), x (m, k) and y (k, n).",
        x="g @ np.swapaxes(y, -1, -2)", y="np.swapaxes(x, -1, -2) @ g",
    ),
    "linear": of(
        """
        outᵢₖ = Σⱼ xᵢⱼ weightₖⱼ + biasₖ
        dxᵢⱼ = Σₖ gᵢₖ weightₖⱼ
        dx = g weight
        dweightₖⱼ = Σᵢ gᵢₖ xᵢⱼ  # every row of the batch adds its part
        dweight = gᵀ x
        dbias = Σ g  # over the rows: every one of them has read it
        """,
        x="g @ weight", weight="g.reshape(-1, g.shape[-1]).T @ x.reshape(-1, x.shape[-1])",
        bias="g.reshape(-1, g.shape[-1]).sum(0)",
    ),
    "inv": of(
        """
        a out = 1
        ∂a out + a ∂out = 0  # the product rule, for a change ∂a of a
        ∂out = -out ∂a out  # solved for the change of the inverse
        da = -outᵀ g outᵀ  # the factors beside ∂a, transposed
        """,
        a="-np.swapaxes(out, -1, -2) @ g @ np.swapaxes(out, -1, -2)",
    ),
    "det": of(
        """
        out = Σⱼ aᵢⱼ cᵢⱼ  # along any row i; the cofactor cᵢⱼ has nothing of that row in it
        ∂out/∂aᵢⱼ = cᵢⱼ
        da = g c = g out a⁻ᵀ  # by Cramer's rule, where a has an inverse
        """,
    ),
    "layer_norm": of(
        """
        x̂ = (x - m) r, r = rstd = 1 / √(v + eps)  # m the mean and v the variance of a row
        out = x̂ weight + bias
        dweight = Σ g x̂, dbias = Σ g  # over all rows
        h = g weight  # what arrives at x̂
        ∂x̂ᵢ/∂xⱼ = r (δᵢⱼ - 1/n - x̂ᵢ x̂ⱼ / n)  # by itself, through the mean, through the variance
        dxⱼ = r (hⱼ - Σᵢ hᵢ / n - x̂ⱼ Σᵢ hᵢ x̂ᵢ / n)
        dx = r (h - mean h - x̂ mean(h x̂))
        """,
        note=_NORM_NOTE,
    ),
    "rms_norm": of(
        """
        x̂ = x r, r = 1 / √(q + eps), q = Σ x² / n
        dweight = Σ g x̂
        h = g weight  # what arrives at x̂
        ∂r/∂xⱼ = -r³ xⱼ / n  # the power rule, and ∂q/∂xⱼ = 2 xⱼ / n
        ∂x̂ᵢ/∂xⱼ = r (δᵢⱼ - x̂ᵢ x̂ⱼ / n)
        dx = r (h - x̂ mean(h x̂))  # no mean was taken away, so none comes back
        """,
    ),
    "mse_loss": of(
        """
        out = Σᵢ (pᵢ - tᵢ)² / n  # p the prediction, t the target
        ∂out/∂pᵢ = 2 (pᵢ - tᵢ) / n
        dp = 2 g (p - t) / n, dt = -dp
        """,
    ),
    "cross_entropy": of(
        """
        out = -Σₖ qₖ ln sₖ, s = softmax(x)  # x the logits; qₖ is 1 at the target, else 0
        ln sₖ = xₖ - ln Σᵢ e^xᵢ
        ∂ln sₖ/∂xⱼ = δₖⱼ - sⱼ  # as for log_softmax
        dxⱼ = -g Σₖ qₖ (δₖⱼ - sⱼ) = -g (qⱼ - sⱼ Σₖ qₖ)
        dx = g (s - q)  # since Σ q = 1: what was said, less what was right
        """,
        note="It sums to zero over the classes, since s and q both sum to 1. For a mean loss it is "
        "divided by the number of rows.",
    ),
    "nll_loss": of(
        """
        out = -xₜ  # x the log-probabilities of a row, t its target
        ∂out/∂xⱼ = -1 where j = t, else 0
        dxⱼ = -g where j = t, else 0  # divided by the number of rows for the mean
        """,
    ),
    "binary_cross_entropy_with_logits": of(
        """
        out = -(t ln p + (1 - t) ln(1 - p)), p = σ(x)  # x the logits, t the target
        ∂ln p/∂x = 1 - p, ∂ln(1 - p)/∂x = -p  # for ∂p/∂x = p (1 - p)
        ∂out/∂x = -(t (1 - p) - (1 - t) p) = p - t
        dx = g (p - t)  # divided by the number of elements for the mean
        """,
    ),
    "dropout": of(
        """
        out = x · keep / (1 - p)  # keep is 0 or 1 and does not hang on x
        dx = g keep / (1 - p)  # what was dropped gets nothing
        """,
    ),
    "scaled_dot_product_attention": of(
        """
        w = softmax(s), s = scale q kᵀ + mask, out = w v
        dv = wᵀ g, dw = g vᵀ  # matmul
        ds = w (dw - Σ w dw)  # softmax, row by row: it sums to zero
        dq = scale ds k, dk = scale dsᵀ q  # matmul again
        """,
        note="Where the mask forbids, w is 0 and so is ds: nothing goes back to what was not read.",
    ),
}  # fmt: skip
