"""Texts cut into passages to learn from, to validate on and to test on, none of which overlap.

A text is a row of *stretches*, whole paragraphs of a thousand characters or more. Each stretch lies
in one part only, and so does every passage, which is cut out of one stretch. A paragraph that comes
again, in the same text or in another, is read once; a sentence may still come twice, so passages to
validate or test on that have much in common with what is learnt from can be told (:func:`copied`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

#: characters of a stretch, at least: as many as here, and as many times the length of a passage
STRETCH, PASSAGES = 1000, 4
#: characters in a row that two passages of their own hardly have in common
SAME = 60
#: the shares of the stretches of each text that are for testing and for validation
TEST, VAL = 0.2, 0.1


class Parts(NamedTuple):
    """The stretches of a text in three parts; the same text always gives the same parts."""

    train: list[str]
    val: list[str]
    test: list[str]


def plain(text: str) -> str:
    """A text on one line: single spaces, and no sign more than three times in a row, as in rulers
    and frames of tables."""
    return re.sub(r"([^\w\s])\1{3,}", r"\1\1\1", " ".join(text.split()))


def paragraphs(text: str) -> list[str]:
    """What stands between blank lines, each :func:`plain`."""
    return [part for part in map(plain, re.split(r"\n\s*\n", text)) if part]


def stretches(text: str, seen: set[str], least: int) -> list[str]:
    """A text as a row of stretches, of at least ``least`` characters unless it has fewer.

    Args:
        seen: paragraphs to leave out; those of this text are added.
    """
    rows: list[list[str]] = [[]]
    for paragraph in paragraphs(text):
        if paragraph in seen:
            continue
        seen.add(paragraph)
        if sum(map(len, rows[-1])) >= least:
            rows.append([])
        rows[-1].append(paragraph)
    if len(rows) > 1 and sum(map(len, rows[-1])) < least:
        rest = rows.pop()
        rows[-1] += rest
    return [" ".join(row) for row in rows if row]


def parts(texts: Mapping[str, str], length: int, most: int | None = None) -> dict[str, Parts]:
    """Each text's stretches in three parts, by what is in them.

    Args:
        texts: name -> text. A paragraph that is in several belongs to the longest of them.
        length: characters of the passages that are to be cut.
        most: take only so many of the texts, those with most characters.

    Returns:
        name -> parts, in the order of the names.
    """
    seen: set[str] = set()
    least = max(STRETCH, PASSAGES * length)
    by_length = sorted(texts, key=lambda name: (-len(texts[name]), name))
    rows = {name: stretches(texts[name], seen, least) for name in by_length}
    rows = {name: row for name, row in rows.items() if len(row) > 2}  # one for each part
    longest = sorted(rows, key=lambda name: -sum(map(len, rows[name])))[:most]
    return {name: _split(rows[name]) for name in sorted(longest)}


def _split(row: list[str]) -> Parts:
    """Whole stretches into each part, at least one, in an order that only their text decides."""
    mixed = sorted(row, key=lambda text: sha256(text.encode("utf-8", "surrogatepass")).digest())
    test = max(1, round(TEST * len(mixed)))
    val = test + max(1, round(VAL * len(mixed)))
    return Parts(mixed[val:], mixed[test:val], mixed[:test])


def starts(stretch: str, length: int) -> list[int]:
    """Where passages of ``length`` characters can begin: at each word that has enough after it."""
    words = (0, *(match.end() for match in re.finditer(" ", stretch)))
    return [start for start in words if start + length <= len(stretch)]


def passages(stretch: str, length: int) -> list[str]:
    """As many passages of ``length`` characters as there are, one after the other; each begins at a
    word."""
    found, end = [], 0
    for start in starts(stretch, length):
        if start >= end:
            end = start + length
            found.append(stretch[start:end])
    return found


def copied(found: Iterable[str], learnt: Iterable[str]) -> set[str]:
    """Those of the passages found that have ``SAME`` characters in a row that are learnt from."""
    rows: dict[str, set[str]] = {}
    for passage in found:
        for start in range(len(passage) - SAME + 1):
            rows.setdefault(passage[start : start + SAME], set()).add(passage)
    result: set[str] = set()
    for text in learnt:
        for start in range(len(text) - SAME + 1):
            result |= rows.get(text[start : start + SAME], set())
    return result
