"""Dividing the numbers of arrays among processes."""

from __future__ import annotations

from collections.abc import Sequence


def shares(sizes: Sequence[int], i: int, n: int) -> list[slice]:
    """For arrays of these sizes in a row: which slice of each is in the i-th of n equal parts."""
    total = sum(sizes)
    low, high = total * i // n, total * (i + 1) // n
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(min(max(low - start, 0), size), min(max(high - start, 0), size)))
        start += size
    return slices
