"""Long arrays in strips that stay in the processor's cache.

A chain of elementwise passes over a large array fetches it from far away once for each pass, and so
it does with temporaries as large. Done strip by strip, all passes but the first find their numbers
in the level-2 cache, and temporaries are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

#: elements of a strip: four strips of float32 fill a level-2 cache of 1 MiB, while NumPy's cost per
#: call (about 1 µs) is still small
STRIP = 65536


def strips(xp: Any, *arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Contiguous arrays of one size as tuples of flat views of at most ``STRIP`` elements.

    None stays None. On a GPU, which wants few large launches, there is one strip.
    """
    flat = [None if a is None else a.reshape(-1) for a in arrays]
    size = max(a.size for a in flat if a is not None)
    step = STRIP if xp is np else max(size, 1)
    for start in range(0, size, step):
        yield tuple(None if a is None else a[start : start + step] for a in flat)
