"""What to say where a run is resumed with another text than it had."""

from __future__ import annotations

import re

from .tokenizer import CharTokenizer


def vocabulary_difference(text: CharTokenizer, saved: CharTokenizer) -> str:
    """A line that says how a text's characters differ from a checkpoint's."""
    parts = []
    for what, characters in (
        ("not in the checkpoint", sorted(set(text.symbols) - set(saved.symbols))),
        ("not in the text", sorted(set(saved.symbols) - set(text.symbols))),
    ):
        if characters:
            more = f" and {len(characters) - 8} more" if len(characters) > 8 else ""
            parts.append(f"{what}: {', '.join(map(repr, characters[:8]))}{more}")
    return (
        f"the text has {len(text)} different characters, the checkpoint {len(saved)}; "
        + "; ".join(parts)
    )


def origin_difference(saved: object, now: str, named: bool = True) -> str:
    """Why a text may differ from a checkpoint's and what to do, where their origins tell, or "".

    Args:
        saved: a checkpoint's :attr:`Corpus.origin`; anything, None in old ones.
        now: that of the text read now.
        named: whether the checkpoint's settings name files.
    """
    was = saved if isinstance(saved, str) else None
    here = _python(now)
    if was == now and here is None:
        return "the files have changed since" if now == "files" else ""
    if here is not None and was is None and not named:
        return (
            f"this Python {here} has help topics of its own, and the checkpoint does not say whose "
            "it was trained on: try the Python that made it"
        )
    there = _python(was)
    if here is not None and there is not None and here != there:
        return (
            f"the checkpoint was trained on the help topics of Python {there}, and those of "
            f"Python {here} differ: go on with Python {there}, or train on files (--data), which "
            "are the same everywhere"
        )
    if was == "text" and now != "text":
        return "the checkpoint was trained on a string: give Trainer.resume the same as text"
    return ""


def _python(origin: str | None) -> str | None:
    """The version in "python 3.11.7"."""
    match = re.fullmatch(r"python (\d{1,3}(?:\.\d{1,3}){1,2}[\w+]{0,20})", origin or "")
    return match[1] if match else None
