"""Elementwise ops and activation functions."""

from __future__ import annotations

from typing import Any

import tinytensor as tt

from . import Choice, Entry

#: PyTorch has 1 / 6 in float32 there, in float64 too
_SIXTH = {"tolerance": {"float64": (1e-7, 1e-8)}}


def _prelu(T: Any, s: Any) -> Any:
    return tt.prelu(T(s.input), T(s.args[0] if s.args else s.kwargs["weight"]))


def _lerp(T: Any, s: Any) -> Any:
    return tt.lerp(T(s.input), *(T(a) for a in s.args))


def _polygamma(T: Any, s: Any) -> Any:
    """``x.polygamma(n)`` is ``torch.polygamma(n, x)``; the sample has x first."""
    return tt.polygamma(s.args[0] if s.args else s.kwargs["n"], T(s.input))


def _allclose(T: Any, s: Any) -> Any:
    """PyTorch's and ours return a Python bool."""
    return tt.tensor(tt.allclose(T(s.input), T(s.args[0]), **s.kwargs))


_SAME = """square reciprocal rsqrt hypot floor ceil trunc floor_divide remainder fmod fmax fmin
    exp2 expm1 log2 log10 log1p logaddexp xlogy logit erfc tan asin acos atan atan2 sinh cosh asinh
    acosh atanh isinf isclose nan_to_num digamma lgamma erfinv""".split()

ENTRIES = [
    *(Entry(name) for name in _SAME),
    *(
        Entry("polygamma", "polygamma", f"polygamma_n_{n}", call=_polygamma)
        for n in (0, 1, 2, 3, 4)
    ),
    Entry("round", "round", ""),
    Entry("round", "round", "decimals_0"),
    Entry("round", "round", "decimals_3"),
    Entry("round", "round", "decimals_neg_3"),
    Entry("allclose", call=_allclose),
    Entry(
        "floor_divide",
        "div",
        "floor_rounding",
        call=lambda T, s: tt.floor_divide(T(s.input), T(s.args[0])),
    ),
    Entry("trunc", "div", "trunc_rounding", call=lambda T, s: tt.trunc(T(s.input) / T(s.args[0]))),
    Entry("remainder", "__rmod__", call=lambda T, s: tt.remainder(T(s.args[0]), T(s.input))),
    Entry("sign", "sgn"),
    Entry("lerp", call=_lerp),
    Entry("log_sigmoid", "nn.functional.logsigmoid"),
    Entry("softplus", "nn.functional.softplus"),
    Entry("softsign", "nn.functional.softsign"),
    Entry("mish", "nn.functional.mish"),
    Entry("leaky_relu", "nn.functional.leaky_relu"),
    Entry("prelu", "nn.functional.prelu", call=_prelu),
    Entry("elu", "nn.functional.elu"),
    Entry("selu", "nn.functional.selu"),
    Entry("celu", "nn.functional.celu"),
    Entry("relu6", "nn.functional.relu6"),
    Entry("hardtanh", "nn.functional.hardtanh"),
    Entry("hard_sigmoid", "nn.functional.hardsigmoid", **_SIXTH),
    Entry("hard_swish", "nn.functional.hardswish", **_SIXTH),
]

CHOICES: list[Choice] = []
