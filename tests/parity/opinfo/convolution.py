"""Convolution and pooling over PyTorch's samples."""

from __future__ import annotations

from . import Entry

_KINDS = "conv conv_transpose max_pool avg_pool adaptive_avg_pool adaptive_max_pool".split()

ENTRIES = [
    Entry(f"{kind}{dims}d", f"nn.functional.{kind}{dims}d") for kind in _KINDS for dims in (1, 2, 3)
]
