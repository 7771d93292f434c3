"""How long the library alone takes for a matrix product: the floor for an op made of such."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..arrays.device import device


class Product(NamedTuple):
    """``stack`` times (rows, inner) @ (inner, columns), of one dtype on one device."""

    stack: int
    rows: int
    inner: int
    columns: int
    dtype: str
    device: str

    @property
    def flops(self) -> int:
        """Floating-point operations: a multiplication and an addition for each term."""
        return 2 * self.stack * self.rows * self.inner * self.columns

    def __str__(self) -> str:
        stack = f"{self.stack} x " if self.stack != 1 else ""
        return f"{stack}({self.rows}, {self.inner}) @ ({self.inner}, {self.columns})"


#: operands are made at most this large to measure a product; a larger one is measured in part
_MOST = 1 << 25


def seconds_alone(product: Product, budget: float = 0.05) -> float:
    """The shortest time that ``xp.matmul`` takes for a product, with nothing around it.

    The shortest, since whatever else runs on the machine can only make it longer.

    Args:
        product: what to compute, on random numbers.
        budget: about how many seconds to spend, 3 computations at the least.
    """
    dev = device(product.device)
    sizes = list(product[:4])
    part = 1.0
    while sizes[0] * max(sizes[1] * sizes[2], sizes[2] * sizes[3], sizes[1] * sizes[3]) > _MOST:
        longest = max(range(4), key=sizes.__getitem__)
        part *= sizes[longest] / (sizes[longest] // 2)
        sizes[longest] //= 2
    stack, rows, inner, columns = sizes
    lead = (stack,) if stack > 1 else ()
    rng = np.random.Generator(np.random.PCG64(0))
    a, b = (
        dev.from_host(rng.random((*lead, *shape), np.float32).astype(product.dtype))
        for shape in ((rows, inner), (inner, columns))
    )
    out = dev.xp.matmul(a, b)
    dev.synchronize()
    taken: list[float] = []
    while len(taken) < 3 or sum(taken) < budget and len(taken) < 200:
        start = time.perf_counter_ns()
        dev.xp.matmul(a, b, out=out)
        dev.synchronize()
        taken.append((time.perf_counter_ns() - start) * 1e-9)
    return min(taken) * part
