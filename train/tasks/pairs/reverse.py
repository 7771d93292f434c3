"""Strings to be written backwards."""

from __future__ import annotations

from ....arrays.random import Generator
from .pairs import Example, Pairs

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = 12


class ReverseTask(Pairs):
    """From "stressed" to "desserts": random lower-case letters, one to twelve of them.

    A model that knows which letters there are and not where they stand cannot do it. The strings
    are split by what they are: none of the test was ever trained on.
    """

    name = "reverse"
    about = "random strings to be written backwards: needs positions"
    models = ("transformer", "bahdanau")
    recipes = {
        "bahdanau": {
            "n_embd": 64, "steps": 800, "batch_size": 64, "lr": 3e-3, "warmup": 50,
            "eval_every": 200, "checkpoint_every": 200,
        },
        "transformer": {
            "n_embd": 64, "steps": 1000, "batch_size": 64, "lr": 3e-3, "min_lr": 6e-5,
            "warmup": 150, "beta2": 0.98, "weight_decay": 0.0, "eval_every": 200,
            "checkpoint_every": 200,
        },
    }  # fmt: skip
    characters = LETTERS
    longest = (LONGEST, LONGEST)
    things, asked = "strings", "stressed"

    def draw_examples(self, rng: Generator, n: int) -> list[Example]:
        """See :class:`Pairs`."""
        letters = rng.integers(0, len(LETTERS), (n, LONGEST)).tolist()
        lengths = rng.integers(1, LONGEST + 1, (n,)).tolist()
        texts = ["".join(LETTERS[i] for i in row[:k]) for row, k in zip(letters, lengths)]
        return [Example(text, text, text[::-1]) for text in texts]
