"""Learning-rate schedules: functions from the number of steps done to the next step's rate."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class CosineWarmup:
    """Up in a straight line, then down along half a cosine (Loshchilov and Hutter, 2017).

    ``schedule(step)`` is the learning rate of step ``step`` counted from 0: it rises over
    ``warmup`` steps to ``max_lr``, falls to ``min_lr`` at ``total`` and stays there.

    Args:
        max_lr: the peak.
        min_lr: the end, 0 <= min_lr <= max_lr.
        warmup: steps of the rise, 0 for none.
        total: steps of the whole run; not more than ``warmup`` means no fall.

    Raises:
        ValueError: a number is out of range.
    """

    max_lr: float
    min_lr: float
    warmup: int
    total: int

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_lr < math.inf:
            raise ValueError(f"max_lr: expected a number >= 0, got {self.max_lr!r}")
        if not 0.0 <= self.min_lr <= self.max_lr:
            raise ValueError(
                f"min_lr: expected a number from 0 to max_lr = {self.max_lr}, got {self.min_lr!r}"
            )
        for name in ("warmup", "total"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected a number >= 0, got {getattr(self, name)!r}")

    def __call__(self, step: int) -> float:
        """Learning rate of step ``step``, counted from 0."""
        if step < self.warmup:
            return self.max_lr * (step + 1) / (self.warmup + 1)
        if step >= self.total:
            return self.min_lr
        done = (step - self.warmup) / (self.total - self.warmup)
        return self.min_lr + 0.5 * (1.0 + math.cos(math.pi * done)) * (self.max_lr - self.min_lr)
