"""Activations, among them softmax."""

from __future__ import annotations

from .derivation import of

DERIVATIONS = {
    "sigmoid": of(
        """
        out = (1 + e⁻ˣ)⁻¹
        ∂out/∂x = (1 + e⁻ˣ)⁻² e⁻ˣ  # power rule, times the inner derivative, twice minus
        ∂out/∂x = out · e⁻ˣ / (1 + e⁻ˣ) = out (1 - out)  # for 1 - out = e⁻ˣ / (1 + e⁻ˣ)
        dx = g out (1 - out)
        """,
        note="At most 1/4, at x = 0: a stack of sigmoids makes gradients small.",
        x="g * out * (1 - out)",
    ),
    "relu": of(
        """
        out = x where x > 0, else 0
        dx = g where x > 0, else 0  # at 0 there is a kink; 0 is taken
        """,
        note="Where x <= 0 nothing comes back: a unit that is never above 0 is dead.",
        x="g * (x > 0)",
    ),
    "leaky_relu": of(
        """
        out = x where x > 0, else negative_slope x
        dx = g where x > 0, else g negative_slope
        """,
        x="g * np.where(x > 0, 1, negative_slope)",
    ),
    "elu": of(
        """
        ∂(alpha (eˣ - 1))/∂x = alpha eˣ
        dx = g where x > 0, else g alpha eˣ  # with alpha = 1 the slopes meet at 0
        """,
        x="g * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0)))",
    ),
    "silu": of(
        """
        out = x s, s = sigmoid(x)
        ∂out/∂x = s + x ∂s/∂x  # the product rule
        ∂out/∂x = s + x s (1 - s) = s (1 + x (1 - s))
        dx = g s (1 + x (1 - s))
        """,
        x="g / (1 + np.exp(-x)) * (1 + x * (1 - 1 / (1 + np.exp(-x))))",
    ),
    "softplus": of(
        """
        out = ln(1 + e^(beta x)) / beta
        ∂out/∂x = e^(beta x) / (1 + e^(beta x))  # beta and 1 / beta cancel
        dx = g sigmoid(beta x)
        """,
        note="Above the threshold out = x is taken, whose slope is 1.",
        x="np.where(beta * x > threshold, g, g / (1 + np.exp(-beta * x)))",
    ),
    "log_sigmoid": of(
        """
        out = -ln(1 + e⁻ˣ)
        ∂out/∂x = e⁻ˣ / (1 + e⁻ˣ) = sigmoid(-x)
        dx = g sigmoid(-x)
        """,
        x="g / (1 + np.exp(x))",
    ),
    "gelu": of(
        """
        out = x Φ(x)  # Φ: the normal distribution, φ = Φ' its density
        ∂out/∂x = Φ(x) + x φ(x)  # the product rule
        dx = g (Φ(x) + x φ(x))
        """,
    ),
    "softmax": of(
        """
        s = out, sᵢ = e^xᵢ / Σₖ e^xₖ  # every output reads every input, by the sum below
        ∂sᵢ/∂xⱼ = sᵢ (δᵢⱼ - sⱼ)  # the quotient rule; δᵢⱼ is 1 where i = j, else 0
        dxⱼ = Σᵢ gᵢ ∂sᵢ/∂xⱼ  # the chain rule: a term for each output that reads xⱼ
        dxⱼ = Σᵢ gᵢ sᵢ δᵢⱼ - Σᵢ gᵢ sᵢ sⱼ  # of the first sum only i = j is left
        dxⱼ = sⱼ (gⱼ - Σᵢ gᵢ sᵢ)
        dx = s (g - Σ g s)  # for all j at once
        Σ dx = Σ s g - (Σ s) (Σ g s) = 0  # since Σ s = 1
        """,
        note="Why it sums to zero: adding the same number to all x changes nothing, since "
        "e^(x + c) = eᶜ eˣ and eᶜ cancels. So the slope in the direction (1, 1, ..., 1), which is "
        "Σ dx, is 0. What one x gains, others lose.",
        x="out * (g - (g * out).sum(axis, keepdims=True))",
    ),
    "log_softmax": of(
        """
        outᵢ = xᵢ - ln Σₖ e^xₖ
        ∂outᵢ/∂xⱼ = δᵢⱼ - sⱼ, s = e^out  # ∂ ln Σ e^xₖ/∂xⱼ = e^xⱼ / Σ e^xₖ = sⱼ
        dxⱼ = Σᵢ gᵢ (δᵢⱼ - sⱼ) = gⱼ - sⱼ Σᵢ gᵢ
        dx = g - e^out Σ g
        """,
        note="It sums to zero as softmax's does: Σ dx = Σ g - (Σ s) (Σ g), and Σ s = 1.",
        x="g - np.exp(out) * g.sum(axis, keepdims=True)",
    ),
}
