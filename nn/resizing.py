"""A layer that gives signals, images and volumes another size."""

from __future__ import annotations

import math
from typing import Any

from .. import operations
from ..tensor.axes import wholes
from ..tensor.tensor import Tensor
from .layers import check_number
from .module import Module

_MODES = ("nearest", "linear", "bilinear", "trilinear")


class Upsample(Module):
    """Another size, larger or smaller: see :func:`tinytensor.interpolate`; ``torch.nn.Upsample``.

    Args:
        size: the spatial axes of the output: an integer for all, or one per axis.
        scale_factor: instead of ``size``, how many times as long as those of the input.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"`` or ``"trilinear"``.
        align_corners: the outer elements stay at the ends (not for "nearest").
        recompute_scale_factor: outputs are as far apart as the rounded lengths say.
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool = False,
        recompute_scale_factor: bool = False,
    ):
        if mode not in _MODES:
            raise ValueError(f"mode: expected one of {', '.join(_MODES)}, got {mode!r}")
        if align_corners and mode == "nearest":
            raise ValueError("align_corners: expected False for mode='nearest', got True")
        if (size is None) == (scale_factor is None):
            given = "neither" if size is None else "both"
            raise ValueError(f"size: expected either size or scale_factor, got {given}")
        if size is not None and min(wholes("size", size), default=0) < 1:
            raise ValueError(f"size: expected integers >= 1, got {size!r}")
        for f in scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,):
            if size is None:
                check_number("scale_factor", f, "numbers > 0", lambda x: 0 < x < math.inf)
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Tensor) -> Any:
        """(N, C, ...) -> (N, C, *size)."""
        return operations.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The arguments, for ``repr``."""
        which = "size" if self.scale_factor is None else "scale_factor"
        text = f"{which}={getattr(self, which)}, mode={self.mode!r}"
        for flag in ("align_corners", "recompute_scale_factor"):
            text += f", {flag}=True" if getattr(self, flag) else ""
        return text
