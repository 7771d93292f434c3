"""``tt.cuda``: is there a GPU that tinytensor can use, and if not, why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..hints.finding import missing
from ..hints.other_names import OF_CUDA
from .device import device, import_cupy


def why_not() -> str:
    """The reason why ``tt.device("cuda")`` cannot be used, or ``""`` where it can."""
    try:
        import_cupy()
    except RuntimeError as error:
        return str(error)
    return ""


def is_available() -> bool:
    """True where CuPy is installed and sees a GPU; :func:`why_not` gives the reason otherwise."""
    return not why_not()


def synchronize() -> None:
    """Wait for all work queued on the GPU: needed before reading a clock."""
    device("cuda").synchronize()


if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = missing(__name__, OF_CUDA)
