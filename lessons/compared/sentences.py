"""What the measurements say, in five sentences; each knows whether the numbers bear it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .bodies import HEADS, KINDS, LAYERS, Kind
from .copying import CHANCE, TESTED, Budget, Result
from .measure import Growth


@dataclass
class Measured:
    """All that was measured; the keys of dicts are those of the kinds.

    Attributes:
        budget: of the copy task. batch: sequences of a step, where time and memory are measured.
        lengths: of the chains. chains: how long each kind's is at each.
        distance: of the paths. hops: steps from one end to the other, as measured.
        by_length, by_width: seconds of a step. memory: its peak in bytes, by length.
        copies: what came of the copy task.
        facts: the machine, the versions and the day.
    """

    budget: Budget
    batch: int
    lengths: Sequence[int]
    distance: int
    chains: dict[str, list[int]] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)
    by_length: dict[str, Growth] = field(default_factory=dict)
    by_width: dict[str, Growth] = field(default_factory=dict)
    memory: dict[str, Growth] = field(default_factory=dict)
    copies: dict[str, list[Result]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sentence:
    """A statement on the measurements.

    Attributes:
        about: what it is about, in a word. text: with the numbers measured.
        holds: whether they say so. timed: whether it rests on time, which a busy machine disturbs.
    """

    about: str
    text: str
    holds: bool
    timed: bool = False

    def __str__(self) -> str:
        return self.text if self.holds else f"**Not confirmed this time:** {self.text}"


RECURRENT = [kind for kind in KINDS if kind.recurrent]
OTHERS = [kind for kind in KINDS if not kind.recurrent]
BOUNDED = [kind for kind in KINDS if kind.reach is not None]
ATTENTION = next(kind for kind in KINDS if kind.key == "attention")
WINDOWED = next(kind for kind in KINDS if kind.key == "windowed")


def sentences(m: Measured) -> list[Sentence]:
    """The five, in the order of the page."""
    return [_steps(m), _paths(m), _time(m), _memory(m), _copying(m)]


def listed(words: Iterable[object]) -> str:
    """a, b and c."""
    *most, last = map(str, words)
    return f"{', '.join(most)} and {last}" if most else last


def _names(kinds: Iterable[Kind]) -> str:
    return listed(kind.name for kind in kinds)


def _steps(m: Measured) -> Sentence:
    short, long = m.lengths[0], m.lengths[-1]
    ratios = [m.chains[kind.key][-1] / m.chains[kind.key][0] for kind in RECURRENT]
    least = min(ratios)
    text = (
        f"Recurrent layers work step by step: from {short} symbols to {long} the longest chain of "
        f"operations that wait for one another grows {least:.2g}-fold in {_names(RECURRENT)} (to "
        f"{listed(f'{m.chains[kind.key][-1]:,}' for kind in RECURRENT)}), while in "
        f"{_names(OTHERS)} it stays at {listed(m.chains[kind.key][-1] for kind in OTHERS)}."
    )
    holds = 0.9 * long / short < least and max(ratios) <= long / short
    holds = holds and all(len(set(m.chains[kind.key])) == 1 for kind in OTHERS)
    return Sentence("steps", text, holds)


def _paths(m: Measured) -> Sentence:
    steps = listed(dict.fromkeys(m.hops[kind.key] for kind in RECURRENT))
    layers = (
        f"{count} layer{'s' * (count > 1)} of {kind.name}"
        for kind, count in ((kind, m.hops[kind.key]) for kind in OTHERS)
    )
    text = (
        f"What a sequence begins with reaches the output {m.distance} symbols later by way of "
        f"{listed([f'{steps} steps of {_names(RECURRENT)}', *layers])}, as the formulas say."
    )
    return Sentence("paths", text, all(m.hops[k.key] == k.hops(m.distance) for k in KINDS))


def _time(m: Measured) -> Sentence:
    growth = {key: one.exponent for key, one in m.by_length.items()}
    others = {kind.name: growth[kind.key] for kind in KINDS if kind is not ATTENTION}
    most = max(others, key=lambda name: others[name])
    share = m.by_length[WINDOWED.key].costs[-1] / m.by_length[ATTENTION.key].costs[-1]
    widths = {kind.name: m.by_width[kind.key].exponent for kind in KINDS}
    longest = m.by_length[ATTENTION.key].sizes[-1]
    text = (
        f"On long sequences self-attention's time grows as n^{growth[ATTENTION.key]:.2f}, that of "
        f"the others as n^{others[most]:.2f} at most ({most}), so that at {longest} symbols "
        f"windowed attention takes {share:.0%} of its time; with the width all grow about as "
        f"theory's d² or slower, from d^{min(widths.values()):.2f} to d^{max(widths.values()):.2f}."
    )
    holds = growth[ATTENTION.key] > 1.4 and max(others.values()) < 1.3 and share < 1
    return Sentence("time", text, holds and max(widths.values()) < 2.5, timed=True)


def _memory(m: Measured) -> Sentence:
    growth = {kind.name: m.memory[kind.key].exponent for kind in KINDS}
    held = m.memory[ATTENTION.key]
    weights = weights_of_pairs(m.batch, held.sizes[-1])
    text = (
        "Memory grows with the length and not with its square in all six (from "
        f"n^{min(growth.values()):.2f} to n^{max(growth.values()):.2f}), in self-attention because "
        "the weights of long sequences are not kept but computed again: a step on "
        f"{held.sizes[-1]} symbols holds {held.costs[-1] / 1e6:.0f} MB, and the weights alone "
        f"would be {weights / 1e6:.0f} MB."
    )
    holds = max(growth.values()) < 1.3 and held.costs[-1] < weights
    return Sentence("memory", text, holds)


def weights_of_pairs(batch: int, length: float) -> float:
    """Bytes of the attention weights of all layers, if they were kept: one of each pair."""
    return 4 * LAYERS * HEADS * batch * length**2


def solved(results: Sequence[Result]) -> list[int]:
    """The distances at which at least 95% were right."""
    return [result.distance for result in results if result.accuracy >= 0.95]


def guessed(result: Result) -> bool:
    """Whether it is no better than guessing, by three standard deviations."""
    return result.accuracy <= CHANCE + 3 * (CHANCE * (1 - CHANCE) / TESTED) ** 0.5


def _copying(m: Measured) -> Sentence:
    far = m.budget.distances[-1]
    reach = {kind.key: LAYERS * (kind.reach or 0) for kind in BOUNDED}
    best = {kind.key: max(solved(m.copies[kind.key]), default=0) for kind in KINDS}
    text = (
        f"A symbol is copied over all distances up to {far} by self-attention alone; CNN and "
        f"windowed attention copy it as far as {LAYERS} of their layers reach "
        f"({listed(reach.values())} symbols) and guess beyond, and {_names(RECURRENT)}, which "
        f"could reach any distance, learn it up to {listed(best[kind.key] for kind in RECURRENT)} "
        f"in {m.budget.steps} steps."
    )
    holds = solved(m.copies[ATTENTION.key]) == list(m.budget.distances)
    for kind in BOUNDED:
        near = [r.distance for r in m.copies[kind.key] if r.distance <= reach[kind.key]]
        beyond = [r for r in m.copies[kind.key] if r.distance > reach[kind.key]]
        holds = holds and solved(m.copies[kind.key]) == near and all(map(guessed, beyond))
    holds = holds and all(0 < best[kind.key] < far for kind in RECURRENT)
    return Sentence("copying", text, holds)
