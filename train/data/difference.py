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


def origin_difference(saved: object, now: str, same_names: bool) -> str:
    """Why a text is not a checkpoint's, and what to do about it, where that can be told; else "".

    Args:
        saved: the checkpoint's :attr:`Corpus.origin`: anything, as it is from a file; None in those
            of older versions.
        now: that of the text read now.
        same_names: whether the files named are those of the checkpoint (none, in both, count).
    """
    there, here = _python(saved), _python(now)
    if there is not None and here is not None and there != here:
        return (
            f"the checkpoint was trained on the help topics of Python {there}, which are not those "
            f"of Python {here}: go on with Python {there}; a new run on files (--data) would not "
            "depend on it"
        )
    if there is not None and here is None:
        return f"the checkpoint was trained on the help topics of Python {there}"
    if saved == "text" and now != "text":
        return "the checkpoint was trained on a string: give the same to Trainer.resume"
    if saved is None and here is not None and same_names:
        return (
            "the checkpoint does not say what it was trained on: the help topics of another Python "
            f"than this one ({here}), or a string"
        )
    if now == "files" and same_names and saved in (None, "files"):
        return "the files have changed since"
    return ""


def _python(origin: object) -> str | None:
    """The version in "python 3.11.7", where it is one."""
    if not isinstance(origin, str):
        return None
    match = re.fullmatch(r"python (\d{1,3}\.\d{1,3}\.\d{1,3}[\w+]{0,20})", origin, re.ASCII)
    return match and match[1]
