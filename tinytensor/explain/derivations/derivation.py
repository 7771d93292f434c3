"""What a derivation is: lines of formulas with words, and the last of them as NumPy code."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from textwrap import fill

from ...shown import html
from ...shown.mathml import mathml

#: a formula with words beside it, or on a narrow page below
_STEP = "display:flex;flex-wrap:wrap;column-gap:16px;align-items:center;padding:3px 0"


@dataclass(frozen=True)
class Derivation:
    """Why a gradient is what it is.

    Attributes:
        steps: formulas in order, each with a few words or none. note: what is worth to see in it.
        code: operand -> its gradient as an expression of NumPy, of the operands and settings by
            name, ``out`` and ``g``, before the sum over axes that were broadcast. The tests compute
            it.
    """

    steps: tuple[tuple[str, str], ...]
    note: str = ""
    code: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        width = min(44, max((len(formula) for formula, words in self.steps if words), default=0))
        lines = [
            f"{formula.ljust(width)}   {words}" if words else formula
            for formula, words in self.steps
        ]
        lines += [fill(self.note, 96)] if self.note else []
        lines += [f"In NumPy: d{name} = {code}" for name, code in self.code.items()]
        return "\n".join(lines)

    def markup(self, names: Collection[str] = ()) -> str:
        """For a notebook: formulas as mathematics, in which ``names`` are no words."""
        made = "".join(
            f'<div style="{_STEP}"><span style="min-width:min(17em,100%)">{mathml(formula, names)}'
            f'</span><span style="font-size:13px;opacity:.8">{html.text(words)}</span></div>'
            for formula, words in self.steps
        )
        if self.note:
            made += f'<div style="font-size:13px">{html.text(self.note, 1000)}</div>'
        for name, code in self.code.items():
            made += html.line(
                f'<span style="font-size:13px">In NumPy:</span> {html.code(f"d{name} = {code}")}'
            )
        return made


def of(text: str, note: str = "", **code: str) -> Derivation:
    """A derivation from lines ``formula # words``."""
    steps = []
    for line in text.strip().splitlines():
        formula, _, words = line.partition("#")
        steps.append((formula.strip(), words.strip()))
    return Derivation(tuple(steps), note, code)
