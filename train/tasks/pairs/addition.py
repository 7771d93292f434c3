"""Sums of two numbers as text."""

from __future__ import annotations

import re

from ....arrays.random import Generator
from ...data.errors import DataError
from .pairs import Example, Pairs

DIGITS = 4
NUMBER = rf"(0|[1-9]\d{{0,{DIGITS - 1}}})"
SUM = re.compile(rf"{NUMBER}\+{NUMBER}", re.ASCII)


class AdditionTask(Pairs):
    """From "1234+567" to "1801": both numbers from 0 to 9999, digits in their usual order.

    The pairs are split without regard to the order of the two numbers: where 1234+567 is in the
    test, neither it nor 567+1234 was ever trained on. Numbers are drawn evenly, so that nine in
    ten have four digits; for half of the examples to learn from their lengths are, so that short
    sums are learnt, too.
    """

    name = "addition"
    about = "sums of two numbers of up to four digits, as text"
    models = ("transformer", "bahdanau")
    recipes = {
        "bahdanau": {
            "n_embd": 64, "steps": 3000, "batch_size": 64, "lr": 5e-3, "warmup": 50,
            "eval_every": 500, "checkpoint_every": 500,
        },
        "transformer": {
            "n_embd": 64, "norm_first": True, "label_smoothing": 0.0, "steps": 7500,
            "batch_size": 64, "lr": 3e-3, "min_lr": 6e-5, "warmup": 300, "beta2": 0.98,
            "weight_decay": 0.0, "eval_every": 1000, "checkpoint_every": 1000,
        },
    }  # fmt: skip
    characters = "+0123456789"
    longest = (2 * DIGITS + 1, DIGITS + 1)
    counts = {"train": 100_000, "val": 1_000, "test": 2_000}
    things, asked = "sums", "1234+567"

    def draw_examples(self, rng: Generator, n: int) -> list[Example]:
        """See :class:`Pairs`."""
        return [self._example(*pair) for pair in rng.integers(0, 10**DIGITS, (n, 2)).tolist()]

    def draw_training(self, rng: Generator, n: int) -> list[Example]:
        """See :class:`Pairs`."""
        even, limits = n // 2, 10 ** rng.integers(1, DIGITS + 1, (n - n // 2, 2))
        short = (rng.random(limits.shape) * limits).astype(int).tolist()
        return self.draw_examples(rng, even) + [self._example(*pair) for pair in short]

    def read(self, text: str) -> str:
        """See :class:`Pairs`; there may be spaces around the numbers."""
        text = super().read("".join(text.split()))
        if not SUM.fullmatch(text):
            raise DataError(
                f"input: expected two numbers of up to {DIGITS} digits, without zeros in front, "
                f"such as {self.asked}, got {text!r}"
            )
        return text

    def _example(self, a: int, b: int) -> Example:
        return Example(f"{min(a, b)}+{max(a, b)}", f"{a}+{b}", str(a + b))
