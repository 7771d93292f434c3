"""What a trainer tells while it goes; whoever shows it derives from this."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trainer import Trainer


class Report:
    """Shows nothing; the base of those that do. A trainer calls these methods."""

    def start(self, trainer: Trainer) -> None:
        """Training begins or continues."""

    def step(self, trainer: Trainer) -> None:
        """A step is done."""

    def validating(self, trainer: Trainer) -> None:
        """A part of a validation is done, as ``trainer.pace`` says."""

    def validated(self, trainer: Trainer) -> None:
        """A validation is done."""

    def close(self) -> None:
        """Training ends, whether or not it is complete."""
