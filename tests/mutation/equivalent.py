"""Planted changes that change nothing, each with the proof.

Keyed by (op, what it was, what it is now) as the report prints them.
"""

from __future__ import annotations

_ONE_PRODUCT = "both ways are the same product, once over rows and once over a stack of matrices"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("matmul", "g.ndim > 2", "g.ndim < 2"): _ONE_PRODUCT,
    ("matmul", "x.ndim > 2", "x.ndim < 2"): _ONE_PRODUCT + ", which the engine then sums",
    ("pow", "k.y", "k.x"): "chooses between two ways to write g y x^(y-1)",
}
