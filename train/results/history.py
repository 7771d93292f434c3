"""What happened so far in a run: its losses by step."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...shown import html

#: so many last steps make a mean loss
RECENT = 50


class History:
    """Losses of a run, kept in its checkpoint.

    Attributes:
        train: the loss of each step; ``train[0]`` is step 1's.
        val: pairs (step, loss) of the validations.
    """

    def __init__(self) -> None:
        self.train: list[float] = []
        self.val: list[tuple[int, float]] = []

    @property
    def validated(self) -> int:
        """The step of the last validation, -1 before the first."""
        return self.val[-1][0] if self.val else -1

    @property
    def recent(self) -> float:
        """Mean training loss of the last 50 steps, NaN before the first."""
        last = self.train[-RECENT:]
        return sum(last) / len(last) if last else math.nan

    def __repr__(self) -> str:
        if not self.train:
            return "History(no steps yet)"
        parts = [
            f"{len(self.train):,} steps",
            f"loss {self.recent:.4f}, at first {self.train[0]:.4f}",
        ]
        if self.val:
            parts.append(f"validation {self.val[-1][1]:.4f} at step {self.val[-1][0]:,}")
        return f"History({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the losses as curves."""
        val = [loss for _, loss in self.val]
        return html.framed(
            "History",
            repr(self)[len("History(") : -1],
            html.curve(self.train, f"training loss of {len(self.train):,} steps"),
            html.line(html.faint("validation")) if len(val) > 1 else "",
            html.curve(val, f"validation loss, {len(val):,} times") if len(val) > 1 else "",
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """As float64 arrays: train (steps,) and val (validations, 2)."""
        return {
            "train": np.array(self.train, dtype=np.float64),
            "val": np.array(self.val, dtype=np.float64).reshape(-1, 2),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], step: int) -> History:
        """The history at ``step`` from what :meth:`arrays` returned; ValueError if it is not."""
        history = cls()
        train, val = arrays.get("train"), arrays.get("val")
        if train is None or train.shape != (step,) or train.dtype != np.float64:
            raise ValueError(f"history: expected the losses of {step} steps")
        if val is None or val.ndim != 2 or val.shape[1] != 2 or val.dtype != np.float64:
            raise ValueError("history: expected pairs of step and validation loss")
        if len(arrays) > 2:
            raise ValueError(f"history: expected train and val, got {len(arrays)} arrays")
        if not np.isfinite(train).all():
            raise ValueError("history: a training loss is not finite")
        at = np.concatenate([[0.0], val[:, 0], [step]])
        if not ((at == np.floor(at)).all() and (np.diff(at[:-1]) > 0).all() and at[-2] <= step):
            raise ValueError(f"history: expected validations at rising steps from 1 to {step}")
        history.train = train.tolist()
        history.val = [(int(at), loss) for at, loss in val.tolist()]
        return history
