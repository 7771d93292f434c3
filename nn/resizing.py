"""A layer that gives signals, images and volumes another size."""

from __future__ import annotations

from typing import Any

from .. import operations
from ..tensor import Tensor
from .module import Module


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
        return f"{which}={getattr(self, which)}, mode={self.mode!r}"
