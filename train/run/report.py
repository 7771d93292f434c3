"""What a trainer tells while it goes; whoever shows it derives from this."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trainer import Trainer


class Report:
    """Shows nothing; the base of those that do. A trainer calls these methods."""

    def start(self, trainer: Trainer) -> None:
        """Training begins or continues."""

    def gradients(self, trainer: Trainer, norm: float) -> None:
        """The gradients of a step are there, of the whole batch, and the update comes next.

        Args:
            norm: of all of them together before clipping; they may have been scaled already.
        """

    def step(self, trainer: Trainer) -> None:
        """A step is done."""

    def validating(self, trainer: Trainer) -> None:
        """A part of a validation is done, as ``trainer.pace`` says."""

    def validated(self, trainer: Trainer) -> None:
        """A validation is done."""

    def close(self) -> None:
        """Training ends, whether or not it is complete."""


class Reports(Report):
    """Several reports, told one after the other; closed in reverse."""

    def __init__(self, *reports: Report):
        self.reports = reports

    def start(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        for report in self.reports:
            report.start(trainer)

    def gradients(self, trainer: Trainer, norm: float) -> None:
        """See :class:`Report`."""
        for report in self.reports:
            report.gradients(trainer, norm)

    def step(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        for report in self.reports:
            report.step(trainer)

    def validating(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        for report in self.reports:
            report.validating(trainer)

    def validated(self, trainer: Trainer) -> None:
        """See :class:`Report`."""
        for report in self.reports:
            report.validated(trainer)

    def close(self) -> None:
        """See :class:`Report`."""
        for report in reversed(self.reports):
            report.close()
