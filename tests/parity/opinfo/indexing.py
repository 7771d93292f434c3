"""Gathering, scattering and writing at positions over PyTorch's samples."""

from __future__ import annotations

from typing import Any

import tinytensor as tt

from . import Choice, Entry, NotApplicable


def _rows(axis: int, ndim: int, index: Any) -> Any:
    """The index that reads ``index`` along ``axis``."""
    return (slice(None),) * (axis % max(ndim, 1)) + (index,)


def _scatter(T: Any, s: Any) -> Any:
    """PyTorch calls it src, or value where it is a number."""
    x, (axis, index, *src) = T(s.input), T(s.args)
    reduce = s.kwargs.get("reduce")
    if reduce == "multiply":
        raise NotApplicable("scatter: reduce=")
    src = src[0] if src else s.kwargs.get("value")
    return (tt.scatter_add if reduce == "add" else tt.scatter)(x, axis, index, src)


def _change(kind: str) -> Any:
    """index_copy, index_fill and select_scatter as ``at(x, index).set``, index_add as ``.add``."""

    def run(T: Any, s: Any) -> Any:
        x, given = T(s.input), T([*s.args, *s.kwargs.values()])
        if kind == "select_scatter":
            v, axis, index = given
        else:
            axis, index, v = given
            index = index.reshape(-1)
        return tt.at(x, _rows(axis, x.ndim, index)).set(v)

    return run


def _slice_scatter(T: Any, s: Any) -> Any:
    given = dict(zip(("src", "dim", "start", "end", "step"), s.args)) | s.kwargs
    part = slice(given.get("start"), given.get("end"), given.get("step"))
    x = T(s.input)
    return tt.at(x, _rows(given.get("dim", 0), x.ndim, part)).set(T(given["src"]))


def _index_put(T: Any, s: Any) -> Any:
    place = tt.at(T(s.input), T(tuple(s.args[0])))
    return (place.add if s.kwargs["accumulate"] else place.set)(T(s.args[1]))


def _put(T: Any, s: Any) -> Any:
    """``x.put(index, source, accumulate)``: positions in the flat x."""
    x, index, source = T(s.input), *T(s.args[:2])
    accumulate = s.args[2] if len(s.args) > 2 else s.kwargs.get("accumulate", False)
    place = tt.at(x.reshape(-1), index.reshape(-1))
    v = source.reshape(-1)
    return (place.add(v) if accumulate else place.set(v)).reshape(x.shape)


def _nonzero(T: Any, s: Any) -> Any:
    found = tt.nonzero(T(s.input))
    return found if s.kwargs.get("as_tuple") else tt.stack(found, axis=1)


ENTRIES = [
    Entry("gather"),
    Entry("scatter", call=_scatter),
    Entry("scatter_add"),
    Entry("index_add", rename={"alpha": "alpha"}),
    Entry("index_select"),
    Entry("index_set", "index_copy", call=_change("index_copy")),
    Entry("index_set", "index_fill", call=_change("index_fill")),
    Entry("index_set", "select_scatter", call=_change("select_scatter")),
    Entry("index_set", "slice_scatter", call=_slice_scatter),
    Entry("at", "index_put", call=_index_put),
    Entry("at", "put", call=_put),
    Entry("take"),
    Entry("masked_select"),
    Entry("masked_scatter"),
    Entry("nonzero", call=_nonzero),
    Entry("nonzero", "argwhere", call=_nonzero),
]

_AXIS_OPS = ("gather", "scatter", "scatter_add", "index_add", "index_select", "index_set")

CHOICES = [
    *[
        Choice(
            ours,
            lambda s: s.input.ndim == 0,
            "a 0-d tensor has no axis, as in NumPy; PyTorch takes 0 and -1 for one",
        )
        for ours in _AXIS_OPS
    ],
    Choice(
        "nonzero",
        lambda s: s.input.ndim == 0,
        "a 0-d tensor has no positions, as in NumPy; PyTorch takes it for one of shape (1,)",
    ),
    Choice(
        "gather",
        lambda s: s.input.ndim != s.args[1].ndim and not s.args[1].numel(),
        "an index of another number of axes is an error even if it is empty",
    ),
]
