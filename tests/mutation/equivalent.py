"""Planted changes that change nothing, each with the proof.

Keyed by (op, what it was, what it is now) as the report prints them.
"""

from __future__ import annotations

_ONE_PRODUCT = "both ways are the same product, once over rows and once over a stack of matrices"
_RATE_1 = "the factor is 1 here; only celu has another"
_KINK = "0, with a derivative that is 0 or NaN"
_FLAT = "celu's two slopes are the same, so the rule ends before it gets here"
_ABOVE, _EYE = "gate(xp, k.x > 0, g * (slope - low))", "xp.eye(a.shape[-1], dtype=a.dtype)"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("matmul", "g.ndim > 2", "g.ndim < 2"): _ONE_PRODUCT,
    ("matmul", "x.ndim > 2", "x.ndim < 2"): _ONE_PRODUCT + ", which the engine then sums",
    ("pow", "k.y", "k.x"): "chooses between two ways to write g y x^(y-1)",
    ("self_attention", "rows > columns", "rows < columns"): "a sequence has as many of both",
    ("lstm", "k.h0", "k.c0"): "only its shape is read, and both have the same",
    **{
        (name, "math.prod(shape) <= _FEW", "math.prod(shape) >= _FEW"): (
            "chooses between an array and a view of the same numbers"
        )
        for name in ("logsumexp", "mean", "nansum", "norm", "prod", "sum")
    },
    ("elu", "left * rate", "left"): _RATE_1,
    ("selu", "left * rate", "left"): _RATE_1,
    ("celu", "g * low", "g"): "low is 1 for celu",
    **{
        (name, f"{slope} + {kink}", f"{slope} - {kink}"): _KINK
        for name, slope, kink in [
            ("abs", "xp.sign(k.x)", "kink(xp, k, k.x)"),
            ("hypot", "xp.where(endless, xp.sign(x) * part, slope)", "kink(xp, k, k.out)"),
            ("l1_loss", "xp.sign(d)", "arithmetic.kink(xp, k, d)"),
            ("norm", "xp.sign(x)", "kink(xp, k, x)"),
            ("norm", "slope", "g * kink(xp, k, out)"),
            ("norm", "xp.where(endless, parts, slope)", "kink(xp, k, out)"),
            ("smooth_l1_loss", "xp.sign(d)", "arithmetic.kink(xp, k, d)"),
        ]
    },
    ("norm", "g * kink(xp, k, out)", "kink(xp, k, out)"): _KINK,
    (
        "slogdet",
        "slope + kink(xp, k, xp.where(singular, 0.0 * k.a, 1.0))",
        "slope - kink(xp, k, xp.where(singular, 0.0 * k.a, 1.0))",
    ): _KINK,
    ("std", "g * kink(xp, k, k.out)", "kink(xp, k, k.out)"): _KINK,
    (
        "std",
        "centred * scale.reshape(shape) + (g * kink(xp, k, k.out)).reshape(s...",
        "centred * scale.reshape(shape) - (g * kink(xp, k, k.out)).reshape(s...",
    ): _KINK,
    (
        "xlogy",
        "xp.where(zero, 0.0, k.x / xp.where(zero, 1.0, k.y)) + kink(xp, k, x...",
        "xp.where(zero, 0.0, k.x / xp.where(zero, 1.0, k.y)) - kink(xp, k, x...",
    ): _KINK,
    ("norm", "p > 0", "p < 0"): "chooses between two ways to write the same power",
    **{
        ("celu", was, now): _FLAT
        for was, now in [
            (f"dx + {_ABOVE}", f"dx - {_ABOVE}"),
            (f"dx + {_ABOVE}", "dx"),
            (f"dx + {_ABOVE}", _ABOVE),
            ("k.x > 0", "k.x < 0"),
            ("g * (slope - low)", "g"),
            ("g * (slope - low)", "slope - low"),
            ("slope - low", "slope + low"),
            ("slope - low", "low - slope"),
            ("xp.where(mask, g, 0.0)", "xp.where(mask, 0.0, g)"),
        ]
    },
    **{
        (name, f"a + {_EYE}", now): f"triangular_solve(unit_diagonal=True), not used by {name}"
        for name in ("cholesky", "qr")
        for now in ("a", _EYE)
    },
    **{
        ("svd", "plus + eye", now): "what is divided is 0 there; it must not be 0 / 0 at a value 0"
        for now in ("plus", "plus - eye")
    },
    (
        "ctc_loss",
        "d += xp.bincount(flat, passing[..., 1::2].reshape(-1), d.size).asty...",
        "d = xp.bincount(flat, passing[..., 1::2].reshape(-1), d.size).astyp...",
    ): "d is zeros before",
    ("ctc_loss", "-g * xp.ones(n, dtype=g.dtype)", "-g"): "broadcast to the batch by where, later",
    ("logit", "1 - low", "1 + low"): "what clip leaves above 1 - low is outside, where 0 is taken",
    ("quantile", "raw * strides[axis]", "raw"): "the axis is the last one here, of stride 1",
    ("binary_cross_entropy_with_logits", "k.target * 1.0", "k.target"): (
        "a target of integers times logits is floating too, and the gradient is cast to its operand"
    ),
}
