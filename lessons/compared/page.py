"""The page, docs/comparison.md."""

from __future__ import annotations

from textwrap import fill

from .bodies import KERNEL, KINDS, LAYERS, WINDOW, Kind
from .copying import BATCH, CHANCE, RATE, RATES, TESTED
from .sentences import Measured, Sentence, listed

_PAGE = """# Six ways to read a sequence

Made by `make comparison`, which measures everything anew{again}; {day}, {cpu}, \
{cores} cores, of which matrix products use one, {versions}.

Two layers each of {names} turn a sequence of vectors into another one. All six have the same \
number of parameters, {fewest:,} to {most:,}: their vectors are {widths} numbers long. A \
convolution sees {kernel} positions, windowed attention {window}, and nothing sees what comes later.

## What the measurements say

{sentences}

The script that makes this page checks each sentence against the numbers below, and says where \
one does not hold.

## Cost

{costs}

*Sequential steps* is the longest chain of operations in the graph, fused ones opened, at \
{lengths} symbols. *Path* is by how many steps the first input gets to the output \
{distance} symbols later, found by trying which gradients are zero. *Time* is processor time, \
the least of several, of forward and backward with {batch} sequences; its exponents are fitted to \
the three largest sizes, and beside each stands in brackets that of the \
multiplications in the formula.

![Time of a step by length and by width](comparison-time.svg)

*Memory* is the most that a step holds at once, without parameters. Attention over more than 512 \
keys keeps no weights and computes them again on the way back.

![Memory of a step by length](comparison-memory.svg)

## The copy task

One of 8 symbols, then noise of 8 other kinds, then a question mark: which symbol was it? Right \
answers of {tested} new sequences, after at most {steps} steps of {copied} sequences with Adam \
(learning rate {rate:g}{rates}) for each distance; guessing gets {chance:.1%}. A training ends \
early after ten batches without a fault.

{copies}

![Right answers by kind and distance](comparison-copy.svg)"""


def page(m: Measured, said: list[Sentence], quick: bool) -> str:
    """The whole page."""
    counts = [kind.body().num_parameters() for kind in KINDS]
    names = {kind.key: kind.name for kind in KINDS}
    rates = "".join(f", {names[key]} {rate:g}" for key, rate in RATES.items())
    text = _PAGE.format(
        again=" (this time in a hurry, with `--quick`)" if quick else "",
        names=listed(names.values()),
        fewest=min(counts),
        most=max(counts),
        widths=listed(f"{kind.width} ({kind.name})" for kind in KINDS),
        kernel=KERNEL,
        window=WINDOW,
        sentences="\n".join(f"{i}. {sentence}" for i, sentence in enumerate(said, 1)),
        costs=_costs(m),
        lengths=listed(m.lengths),
        distance=m.distance,
        batch=m.batch,
        tested=TESTED,
        steps=m.budget.steps,
        copied=BATCH,
        rate=RATE,
        rates=rates,
        chance=CHANCE,
        copies=_copies(m),
        **m.facts,
    )
    return "\n".join(map(_wrapped, text.split("\n"))) + "\n"


def _wrapped(line: str) -> str:
    """A paragraph or a numbered sentence in lines of at most 100 characters; tables as they are."""
    if not line or line[0] in "|!#":
        return line
    return fill(line, 100, subsequent_indent="   " if line[0].isdigit() else "",
                break_long_words=False, break_on_hyphens=False)  # fmt: skip


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _costs(m: Measured) -> str:
    longest = m.by_length[KINDS[0].key].sizes[-1]
    most = m.memory[KINDS[0].key].sizes[-1]
    head = [
        "", "parameters", "cost of a layer", "sequential steps", "longest path", "time, by length",
        "time, by width", f"time at n = {longest}", f"memory at n = {most}",
    ]  # fmt: skip
    return _table(head, [_row(m, kind) for kind in KINDS])


def _row(m: Measured, kind: Kind) -> list[str]:
    length, width, memory = (x[kind.key] for x in (m.by_length, m.by_width, m.memory))
    return [
        kind.name,
        f"{kind.body().num_parameters():,}",
        kind.cost,
        f"{kind.steps}: {', '.join(f'{n:,}' for n in m.chains[kind.key])}",
        f"{kind.path}: {m.hops[kind.key]}",
        f"n^{length.exponent:.2f} ({length.counted:.2f})",
        f"d^{width.exponent:.2f} ({width.counted:.2f})",
        f"{length.costs[-1] * 1e3:.0f} ms",
        f"{memory.costs[-1] / 1e6:.0f} MB ~ n^{memory.exponent:.2f}",
    ]


def _copies(m: Measured) -> str:
    head = ["distance", *map(str, m.budget.distances)]
    rows = [
        [kind.name, *(f"{result.accuracy:.1%}" for result in m.copies[kind.key])] for kind in KINDS
    ]
    reach = [f"{LAYERS * kind.reach}" if kind.reach else "any" for kind in KINDS]
    return _table([*head, "can reach"], [[*row, far] for row, far in zip(rows, reach)])
