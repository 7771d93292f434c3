"""Rearranging, repeating, cutting, padding and windows over PyTorch's samples."""

from __future__ import annotations

from typing import Any

import tinytensor as tt

from . import Choice, Entry, through

_TWO_AXES = {"dim1": "axis1", "dim2": "axis2"}
_PADDINGS = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _counts(fn: Any) -> Any:
    """``x.repeat(2, 3)`` and ``x.repeat((2, 3))``: ours takes a tuple."""
    return lambda T, s: fn(T(s.input), T(s.args[0] if len(s.args) == 1 else tuple(s.args)))


def _repeat(T: Any, s: Any) -> Any:
    """output_size tells PyTorch the length of the result, which it could have added up."""
    given = {"axis" if k == "dim" else k: T(v) for k, v in s.kwargs.items() if k != "output_size"}
    return tt.repeat(T(s.input), *T(s.args), **given)


def _all(fn: Any) -> Any:
    """All tensors of a sample as arguments of their own."""
    return lambda T, s: fn(T(s.input), *T(s.args), **s.kwargs)


def _meshgrid(T: Any, s: Any) -> Any:
    """Vectors one by one or in a list; if nothing is said, PyTorch means "ij" and we "xy"."""
    vectors = T([s.input, *s.args] if not isinstance(s.input, (list, tuple)) else s.input)
    return tt.meshgrid(*vectors, **{"indexing": "ij", **s.kwargs})


def _widths(s: Any) -> list[int]:
    """PyTorch's flat list: before and after, the last axis first."""
    return list(s.args[0] if s.args else s.kwargs["pad"])


def _pad(T: Any, s: Any) -> Any:
    flat = _widths(s)
    pairs = {-1 - i: pair for i, pair in enumerate(zip(flat[::2], flat[1::2], strict=True))}
    rest = dict(zip(("mode", "value"), s.args[1:])) | s.kwargs
    value = rest.get("value") or 0.0
    return tt.pad(T(s.input), pairs, _PADDINGS[rest.get("mode", "constant")], value)


def _pad_constant(T: Any, s: Any) -> Any:
    flat = _widths(s)
    pairs = {-1 - i: pair for i, pair in enumerate(zip(flat[::2], flat[1::2], strict=True))}
    return tt.pad(T(s.input), pairs, value=[*s.args[1:], *s.kwargs.values(), 0.0][0])


def _interpolate(T: Any, s: Any) -> Any:
    return through(tt.interpolate, T, s)


def _upsample(mode: str, align_corners: bool) -> Any:
    """The older names of two of the modes."""
    return lambda T, s: through(tt.interpolate, T, s, mode=mode, align_corners=align_corners)


def _roll(T: Any, s: Any) -> Any:
    shifts, dims = (*s.args, *s.kwargs.values(), None)[:2]
    return tt.roll(T(s.input), shifts, None if dims == () else dims)


def _scattered(T: Any, s: Any) -> Any:
    """``x.diagonal_scatter(y)``: x without its diagonal, plus y there."""
    x, y = T(s.input), T(s.args[0])
    where = [*s.args[1:], *(0, 0, 1)[len(s.args) - 1 :]]
    kept = tt.ones_like(tt.diagonal(x.detach(), *where)).astype("bool")
    put = tt.registry.OPS["diag_embed"]
    return tt.where(put(kept, x.shape, *where), 0.0, x) + put(y, x.shape, *where)


ENTRIES = [
    # other words
    Entry("moveaxis", "movedim"),
    Entry("flatten", rename={"start_dim": "start", "end_dim": "end"}),
    Entry("unflatten"),
    Entry("ravel"),
    Entry("expand"),
    Entry("expand", "expand_copy"),
    Entry("broadcast_tensors", call=_all(tt.broadcast_tensors)),
    Entry("broadcast_arrays", "broadcast_tensors", call=_all(tt.broadcast_arrays)),
    Entry("meshgrid", call=_meshgrid),
    Entry("reshape", "view_copy"),
    Entry("transpose", "t_copy"),
    Entry("permute", "permute_copy"),
    Entry("swapaxes", "transpose_copy"),
    Entry("squeeze", "squeeze_copy"),
    Entry("expand_dims", "unsqueeze_copy"),
    # another order
    Entry("flip"),
    Entry("flip", "fliplr", call=lambda T, s: tt.flip(T(s.input), 1)),
    Entry("flip", "flipud", call=lambda T, s: tt.flip(T(s.input), 0)),
    Entry("roll", call=_roll),
    Entry("rot90", rename={"dims": "axes"}),
    # repeated
    Entry("repeat", "repeat_interleave", call=_repeat),
    Entry("repeat_interleave", call=_repeat),
    Entry("tile", call=_counts(tt.tile)),
    Entry("tile", "repeat", call=_counts(tt.tile)),
    # pieces
    Entry("chunk"),
    Entry("chunk", "unsafe_chunk"),
    Entry("split", "unsafe_split"),
    Entry("split", "split_with_sizes_copy"),
    Entry("tensor_split"),
    Entry("array_split", "tensor_split"),
    Entry("vsplit"),
    Entry("hsplit"),
    Entry("dsplit"),
    Entry("unbind"),
    Entry("unbind", "unbind_copy"),
    Entry("hstack", call=_all(tt.hstack)),
    Entry("vstack", call=_all(tt.vstack)),
    Entry("dstack", call=_all(tt.dstack)),
    Entry("column_stack", call=_all(tt.column_stack)),
    Entry("atleast_1d", call=_all(tt.atleast_1d)),
    Entry("atleast_2d", call=_all(tt.atleast_2d)),
    Entry("atleast_3d", call=_all(tt.atleast_3d)),
    # another size
    *[
        Entry("interpolate", "nn.functional.interpolate", mode, call=_interpolate)
        for mode in ("nearest", "linear", "bilinear", "trilinear")
    ],
    Entry("interpolate", "nn.functional.upsample_nearest", call=_upsample("nearest", False)),
    Entry("interpolate", "nn.functional.upsample_bilinear", call=_upsample("bilinear", True)),
    # diagonals
    Entry("diag", rename={"diagonal": "k"}),
    Entry("diag", "diagflat", call=lambda T, s: tt.diag(tt.ravel(T(s.input)), *s.kwargs.values())),
    Entry("diag_embed", rename=_TWO_AXES),
    Entry("diag_embed", "diagonal_scatter", call=_scattered),
    Entry("diagonal", rename=_TWO_AXES),
    Entry("diagonal", "diagonal_copy", rename=_TWO_AXES),
    Entry(
        "diagonal",
        "linalg.diagonal",
        call=lambda T, s: through(
            lambda x, offset=0, axis1=-2, axis2=-1: tt.diagonal(x, offset, axis1, axis2),
            T,
            s,
            rename=_TWO_AXES,
        ),
    ),
    Entry("trace"),
    # padding and windows
    *[Entry("pad", "nn.functional.pad", mode, call=_pad) for mode in _PADDINGS],
    Entry("pad", "constant_pad_nd", call=_pad_constant),
    Entry("unfold"),
    Entry("unfold", "unfold_copy"),
]

CHOICES = [
    Choice(
        "pad",
        lambda s: min(_widths(s), default=0) < 0,
        "a negative width is an error, as in NumPy; PyTorch cuts off elements",
    ),
    Choice(
        "unfold",
        lambda s: s.input.ndim == 0,
        "a 0-d tensor has no axis, as in NumPy; PyTorch takes 0 and -1 for one",
    ),
]
