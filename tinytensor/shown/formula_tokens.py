"""The words and signs of a formula that is plain text, and which of them are English."""

from __future__ import annotations

import re
from collections.abc import Collection

#: functions: a space follows, and they are no factors of their own
FUNCTIONS = frozenset(
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp ln log det diag sign erf max "
    "min argmax sym triu tril trunc softmax sigmoid mean".split()
)
#: words of one or more letters that stand for something in formulas, besides an op's own operands
NAMES = frozenset(
    "out rstd mean var std eps mask keep scale weight bias target prediction logits atol rtol "
    "ddof condition value alpha beta delta low high vh xs NaN gq gr gs gu gv gw gvh".split()
)
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿᵀˣʸᵖᵒᵘᵗⁱ", "0123456789+−()nTxypouti", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₒₓᵢⱼₖₘₙₚₛₜᵣᵤᵥ", "0123456789+−aeoxijkmnpstruv", strict=True))
OPENING = {"(": ")", "[": "]", "⌊": "⌋", "⌈": "⌉", "{": "}"}

_UP, _DOWN = re.escape("".join(RAISED)), re.escape("".join(LOWERED))
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    |(?P<word>'s\b|-th\b)
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<dots>\.\.\.|…)
    |(?P<sum>[ΣΠ∑∏])
    |(?P<name>[^\W\d{_UP}{_DOWN}ΣΠ]
        (?:[^\W{_UP}{_DOWN}ΣΠ]|[\u0302\u0303\u0304])*)
    |(?P<raised>[{_UP}]+)
    |(?P<lowered>[{_DOWN}]+)
    |(?P<sign>\*\*|==|!=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Unreadable(ValueError):
    """Brackets or bars that do not match, or too deep."""


class Token:
    """One word or sign.

    Attributes:
        kind: number, name, word (an ending, "'s"), sum, dots, raised, lowered or sign; "(" and ")"
            for brackets, "|(" and "|)" for bars that are.
        before, after: whether there is space.
    """

    __slots__ = ("kind", "text", "before", "after")

    def __init__(self, kind: str, text: str, before: bool):
        self.kind, self.text, self.before, self.after = kind, text, before, True


def tokens_of(text: str) -> list[Token]:
    """All of a text but its spaces; bars are told apart into opening, closing and "or"."""
    found: list[Token] = []
    space = True
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "space":
            space = True
            continue
        if found:
            found[-1].after = space
        found.append(Token(kind, match.group(), space))
        space = False
    open_bars = 0
    for token in found:
        if token.text in OPENING or token.text in OPENING.values():
            token.kind = "(" if token.text in OPENING else ")"
        elif token.text == "|" and not (token.before and token.after):
            follows = token.after or (open_bars and not token.before)
            closes = bool(open_bars) and follows and not _opens(found, token)
            token.kind = "|)" if closes else "|("
            open_bars += -1 if closes else 1
    return found


def _opens(tokens: list[Token], bar: Token) -> bool:
    """Whether what stands before a bar leaves it no choice but to open."""
    place = tokens.index(bar)
    last = tokens[place - 1] if place else None
    return last is None or last.kind in ("sum", "(", "|(") or last.text in "+-^/√"


def _is_plain(token: Token | None, names: Collection[str]) -> bool:
    """Whether a token is a word of several letters that stands for nothing."""
    return (
        token is not None
        and token.kind == "name"
        and len(token.text) > 1
        and token.text not in FUNCTIONS
        and token.text not in names
    )


def is_word(tokens: list[Token], i: int, names: Collection[str]) -> bool:
    """Whether a token is a word of English and not of mathematics."""
    token = tokens[i]
    if token.kind != "name":
        return token.kind == "word"
    following = tokens[i + 1] if i + 1 < len(tokens) else None
    last = tokens[i - 1] if i else None
    text = token.text
    if last is not None and last.kind == "sign" and not token.before:  # 10^-decimals
        return False
    if text == "a":  # an article stands between a word or nothing, and a word
        return (
            following is not None
            and following.kind == "name"
            and len(following.text) > 1
            and following.text not in FUNCTIONS
            and (last is None or last.kind == "name")
            and (following.text not in names or _is_plain(last, names))
        )
    if len(text) == 1 or not text.isascii() or "_" in text or any(c.isdigit() for c in text):
        return False
    if text in FUNCTIONS or text in names:
        return False
    if text[0] == "d" and (len(text) == 2 or text[1:] in names) and text != "do":
        return False
    indexed = following is not None and following.kind in ("raised", "lowered")
    called = following is not None and following.kind == "(" and not token.after
    return not (indexed or called)
