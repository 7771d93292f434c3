"""How long the fuzzing goes: a moment for every run of the tests, hours where it is asked for.

``TINYTENSOR_FUZZ=50 python -m pytest tests/fuzz`` (``make fuzz``) tries fifty times as many
examples as a plain run, whose targets take about a minute together. Every target prints how many
examples it has tried, and of those how many were refused with a clear error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("TINYTENSOR_FUZZ", "1"))


def budget(examples: int) -> Callable[[Any], Any]:
    """Settings of a target that tries this many examples in a plain run: always the same ones
    there, new ones each time in a long run."""
    return settings(
        max_examples=examples * FACTOR,
        deadline=None,
        derandomize=FACTOR == 1,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
