"""An array as a notebook shows it: a table where it is small, else its statistics and, of two axes,
a picture."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from . import html
from .printing import number_text, options, text_of
from .statistics import measured

#: at most so many numbers, and in a row so many, are a table
MOST, WIDEST = 200, 16
#: squares of a picture along an axis
SQUARES = 48
#: how negative and positive numbers, and those that are none, are coloured; on light and on dark
_NEGATIVE, _POSITIVE, _NONE = (59, 120, 216), (214, 84, 32), (160, 32, 160)


def array(values: np.ndarray) -> str:
    """The numbers of an array of any shape as markup."""
    threshold = options().threshold
    most = MOST if threshold is None else min(threshold, 5 * MOST)
    if not values.size:
        return ""
    if values.ndim == 0:
        return html.line(html.code(number_text(values)))
    if values.size <= most and values.shape[-1] <= WIDEST and values.ndim <= 3:
        return _tables(values)
    parts = [html.line(html.code(statistics(values)))]
    if values.ndim == 2 and values.dtype.kind in "fiub":
        parts.append(picture(values))
    parts.append(html.folded(html.faint("numbers"), html.source(text_of(values))))
    return "".join(parts)


def statistics(values: np.ndarray) -> str:
    """mean, std, min and max in a line, of those numbers that are finite, and how many are not."""
    if values.dtype.kind == "b":
        return f"True {int(values.sum()):,} of {values.size:,}"
    stats = measured(values)
    if stats is None:
        return ""
    parts = []
    if stats.bad < stats.size:
        parts = [f"mean {stats.mean:.4g}", f"std {stats.std:.4g}"]
        parts += [f"min {stats.low:.4g}", f"max {stats.high:.4g}"]
        if stats.zero:
            parts.append(f"zero {stats.zero:.1%}")
    if stats.bad:
        parts.append(f"not finite {stats.bad:,}")
    return "  ".join(parts)


def _tables(values: np.ndarray) -> str:
    """Rows and columns; of three axes one table below another."""
    if values.ndim == 3:
        return "".join(
            html.line(html.faint(html.code(f"[{i}]"))) + _tables(part)
            for i, part in enumerate(values)
        )
    cells = _cells(values)
    rows = [cells] if values.ndim == 1 else np.array(cells, dtype=object).reshape(values.shape)
    return html.table((), rows, words=())


def _cells(values: np.ndarray) -> list[str]:
    """Each number as text, all with as many digits as those of an array have."""
    flat = values.reshape(-1)
    shown = options()
    settings: dict[str, Any] = {"threshold": flat.size + 1}
    text = np.array2string(
        flat,
        separator="\n",
        max_line_width=10**6,
        precision=shown.precision,
        suppress_small=None if shown.sci_mode is None else not shown.sci_mode,
        **settings,
    )
    # what stands behind a shorter number keeps the points below each other
    cells = [cell.lstrip().replace(" ", "\N{NO-BREAK SPACE}") for cell in text[1:-1].split("\n")]
    cells = [cell for cell in cells if cell]
    if shown.sci_mode is not None or len(cells) != flat.size:
        cells = [number_text(v) for v in flat]
    return cells


def picture(values: np.ndarray) -> str:
    """Two axes as coloured squares, each the mean of a part: blue below 0, orange above, purple
    where a number is not finite; the stronger the larger."""
    small = _parts(values.astype(np.float64))
    finite = np.isfinite(small)
    largest = float(np.abs(small[finite]).max()) if finite.any() else 0.0
    strength = np.abs(np.where(finite, small, 0.0)) / (largest or 1.0)
    pixels = np.zeros((*small.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where((small > 0)[..., None], _POSITIVE, _NEGATIVE)
    pixels[..., 3] = np.round(255 * strength)
    pixels[~finite] = (*_NONE, 255)
    rows, columns = small.shape
    side = max(2, min(10, 240 // max(rows, columns)))
    label = f"{values.shape[0]} x {values.shape[1]} numbers from -{largest:.3g} to {largest:.3g}"
    return (
        f'<img alt="{html.text(label)}" title="{html.text(label)}: blue below 0, orange above" '
        f'width="{columns * side}" height="{rows * side}" '
        f'style="display:block;margin:4px 0;image-rendering:pixelated;max-width:100%;'
        f'outline:1px solid color-mix(in srgb,currentColor 25%,transparent)" '
        f'src="data:image/png;base64,{base64.b64encode(_png(pixels)).decode()}"/>'
    )


def _parts(values: np.ndarray) -> np.ndarray:
    """Means of equal parts along both axes, as many as there are squares; a part with a number
    that is not finite is not finite."""
    for axis in (0, 1):
        length = values.shape[axis]
        if length > SQUARES:
            starts = np.arange(SQUARES) * length // SQUARES
            counts = np.diff([*starts, length])
            shape = (-1, 1) if axis == 0 else (1, -1)
            with np.errstate(invalid="ignore", over="ignore"):
                values = np.add.reduceat(values, starts, axis=axis) / counts.reshape(shape)
    return values


def _png(pixels: np.ndarray) -> bytes:
    """An RGBA picture (rows, columns, 4) as a PNG file."""
    rows, columns, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    scanlines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(scanlines, 9))
        + chunk(b"IEND", b"")
    )
