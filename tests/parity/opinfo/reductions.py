"""Reductions, scans and order over PyTorch's samples."""

from __future__ import annotations

from typing import Any

import torch

import tinytensor as tt

from . import Choice, Entry, through


def _std(T: Any, s: Any) -> Any:
    """PyTorch's ddof is 1 if nothing is said, ours, like NumPy's, is 0."""
    if s.args:  # torch.std(x, unbiased)
        return tt.std(T(s.input), ddof=int(s.args[0]))
    given = {"correction", "unbiased"} & s.kwargs.keys()
    return through(tt.std, T, s, **({} if given else {"ddof": 1}))


def _std_mean(T: Any, s: Any) -> Any:
    axis, keepdims = s.kwargs.get("dim"), s.kwargs.get("keepdim", False)
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _std(T, s), tt.mean(T(s.input), axis, keepdims)


def _frobenius(T: Any, s: Any) -> Any:
    return tt.norm(T(s.input), 2, *T(s.args[1:]))


def _dist(T: Any, s: Any) -> Any:
    return tt.norm(T(s.input) - T(s.args[0]), s.args[1])


def _kthvalue(T: Any, s: Any) -> Any:
    """The k-th of the sorted elements, and where it was."""
    k, axis, keepdims = (*s.args, *(-1, False)[len(s.args) - 1 :])
    x = T(s.input)
    if not x.ndim:
        return tt.sort(x, axis)
    at = (slice(None),) * (axis % x.ndim) + (slice(k - 1, k) if keepdims else k - 1,)
    return tuple(y[at] for y in tt.sort(x, axis))


def _quantile(T: Any, s: Any) -> Any:
    q = s.args[0]
    q = tuple(q.tolist()) if isinstance(q, torch.Tensor) else q
    names = {"dim": "axis", "keepdim": "keepdims"}
    return tt.quantile(T(s.input), q, **{names.get(n, n): v for n, v in s.kwargs.items()})


def _lower_median(T: Any, s: Any) -> Any:
    return through(tt.quantile, T, s, q=0.5, interpolation="lower")


def _values(out: Any) -> Any:
    """Of PyTorch's (values, indices), or values alone, the values."""
    return out if isinstance(out, torch.Tensor) else out[0]


def _middle_two(s: Any) -> bool:
    return (s.input.shape[s.kwargs["dim"]] if "dim" in s.kwargs else s.input.numel()) % 2 == 0


_NAMES = ["amax", "amin", "prod", "logsumexp", "count_nonzero", "nansum", "nanmean"]
_NAMES += ["cumsum", "cumprod", "cummax", "cummin", "diff", "sort", "argsort"]

ENTRIES = [
    # float32 at 1e4: PyTorch's gradient, by logarithms, is off by 3e-3, ours by 3e-7
    Entry("logcumsumexp", tolerance={"float32": (1e-2, 1e-2)}),
    *[Entry(name) for name in [*_NAMES, "topk"]],
    Entry("std", call=_std),
    Entry("std", "std_mean", call=_std_mean),
    Entry("norm", "norm", ""),
    Entry("norm", "norm", "inf"),
    Entry("norm", "norm", "fro", call=_frobenius),
    Entry("norm", "linalg.vector_norm", rename={"ord": "p"}),
    Entry("norm", "dist", call=_dist),
    Entry("sort", "msort", call=lambda T, s: tt.sort(T(s.input), 0)[0]),
    Entry("sort", "kthvalue", call=_kthvalue),
    Entry("quantile", call=_quantile),
    Entry("quantile", "median", call=_lower_median, take=_values),
    Entry("median", take=_values),
]

CHOICES = [
    Choice(
        "quantile",
        lambda s: bool(s.args) and isinstance(s.args[0], torch.Tensor),
        "q are numbers, and have no gradient",
        gradient_only=True,
    ),
    Choice(
        "median",
        lambda s: s.input.ndim > 0 and _middle_two(s),
        "the mean of the middle two, as in NumPy; PyTorch's lower one is quantile's 'lower'",
    ),
]
