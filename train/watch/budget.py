"""How often a run is looked at: so that it costs little."""

from __future__ import annotations

#: the part of a run's time that watching may take
SHARE = 0.02
#: seconds that it may take all the same, spread over the steps: a short run has a history too
ALLOWED = 1.0
#: looks of a kind at a run, at least and at most
FEWEST, LOOKS = 10, 120
#: how the time is divided
PARTS = {"gradients": 0.1, "activations": 0.2, "attention": 0.3, "sample": 0.4}


class Budget:
    """When to look, and what it has cost.

    Args:
        first, last: steps of the run that are done, and that will be.
        every: steps between two looks, whatever they cost; None chooses.
    """

    def __init__(self, first: int, last: int, every: int | None = None):
        self.first, self.last, self.every = first, last, every
        self._apart = every or max(1, (last - first) // LOOKS)
        self._spent = dict.fromkeys(PARTS, 0.0)
        self._latest: dict[str, int] = {}  # kind -> step of the last look
        self._least: dict[str, float] = {}  # kind -> seconds that a look takes

    @property
    def spent(self) -> float:
        """Seconds that all looks took."""
        return sum(self._spent.values())

    def _tenth(self, step: int) -> int:
        return (step - self.first) * FEWEST // max(1, self.last - self.first)

    def due(self, kind: str, step: int, seconds: float) -> bool:
        """Whether to look after a step, of a run that has taken so many seconds.

        The first step and the last one are always looked at, and each tenth of the way.
        """
        if kind not in self._latest or step >= self.last:
            return True
        if self.every is not None:
            return step % self.every == 0
        before = self._latest[kind]
        if step - before < self._apart:
            return False
        if self._tenth(step) > self._tenth(before):
            return True
        done = (step - self.first) / max(1, self.last - self.first)
        may = max(SHARE * seconds, ALLOWED * done) * PARTS[kind]
        return self._spent[kind] + self._least[kind] <= may

    def looked(self, kind: str, step: int, seconds: float) -> None:
        """Take down what a look took."""
        self._spent[kind] += seconds
        self._least[kind] = min(seconds, self._least.get(kind, seconds))
        self._latest[kind] = step
