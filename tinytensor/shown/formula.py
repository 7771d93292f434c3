"""One formula, read by descent: sums of products of factors, as MathML."""

from __future__ import annotations

import re
from html import escape

from .formula_tokens import FUNCTIONS, LOWERED, OPENING, RAISED, Token, Unreadable, is_word

_ADDING = ("+", "-", "±", "∓")
_SIGNS = {"-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "Σ": "∑", "Π": "∏", "**": ""}
_PREFIXES = ("√", "∂", "½", "⅓", "¼")  # signs that a factor begins with
_HALVES = {"½": ("1", "2"), "⅓": ("1", "3"), "¼": ("1", "4")}
_DEEPEST = 60

#: a row in round brackets
_ROUND = re.compile(
    r'<mrow><mo form="prefix"[^>]*>\(</mo>(.*)<mo form="postfix"[^>]*>\)</mo></mrow>', re.DOTALL
)


def row_of(tokens: list[Token], names: set[str]) -> str:
    """A formula as one element. Raises :class:`.formula_tokens.Unreadable` where it is none."""
    return _Reader(tokens, names).read()


class _Reader:
    """Reads a formula by descent: sums of products of factors."""

    def __init__(self, tokens: list[Token], names: set[str]):
        self.tokens, self.names, self.at, self.depth = tokens, names, 0, 0

    def read(self) -> str:
        """All of it, as one row."""
        parts = self.line(None)
        if self.at < len(self.tokens):
            raise Unreadable
        return _in_row(parts)

    @property
    def next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def deeper(self) -> None:
        """One level down, as far as a stack goes."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unreadable

    def line(self, until: str | None) -> list[str]:
        """Products with signs between them, up to a closing bracket of the kind ``until``."""
        self.deeper()
        parts = list[str]()
        while (token := self.next) is not None and token.kind != until:
            if token.kind == ")" or token.kind == "|)":
                raise Unreadable
            if token.kind == "sign" and token.text not in _PREFIXES:
                self.take()
                parts.append(_sign(token, unary=not parts or parts[-1].endswith("</mo>")))
            elif is_word(self.tokens, self.at, self.names):
                parts.append(self.words(first=not parts))
            else:
                parts.append(self.product(until))
        self.depth -= 1
        return parts

    def words(self, first: bool) -> str:
        """Words of English in a row, with space around them but not inside of a bracket's ends."""
        found = [self.take().text]
        while self.next is not None and is_word(self.tokens, self.at, self.names):
            found.append(self.take().text)
        last = self.next is None or self.next.kind in (")", "|)") or self.next.text in (",", ":")
        text = escape(" ".join(found)).replace(" ", "&#160;")
        return f"<mtext>{'' if first else '&#160;'}{text}{'' if last else '&#160;'}</mtext>"

    def product(self, until: str | None) -> str:
        """Factors side by side or with "·" between them; what is left of a "/" is above it."""
        parts = list[str]()
        while (token := self.next) is not None and token.kind not in (")", "|)", until):
            if token.kind == "sign" and token.text in ("·", "×", "@", "∘"):
                self.take()
                parts.append(_sign(token))
            elif token.text == "/":
                self.take()
                below = _in_row(self.factors(until, apart=True)) if self.next else "<mrow></mrow>"
                parts = [_fraction(_in_row(parts), below)]
            elif token.kind == "sign" and token.text not in _PREFIXES:
                break
            elif parts and is_word(self.tokens, self.at, self.names):
                break
            else:
                if parts and not parts[-1].endswith("</mo>"):
                    parts.append('<mspace width="0.17em"/>')
                parts += self.factors(until, apart=False)
        return _in_row(parts)

    def factors(self, until: str | None, apart: bool) -> list[str]:
        """One factor, or, below a fraction, all that stand side by side."""
        parts = [self.factor()]
        while apart and (token := self.next) is not None and token.kind not in (")", "|)", until):
            if token.kind == "sign" and token.text not in _PREFIXES:
                break
            if is_word(self.tokens, self.at, self.names):
                break
            parts += ['<mspace width="0.17em"/>', self.factor()]
        return [parts[0]] if len(parts) == 1 else parts

    def factor(self) -> str:
        """A number, name, root or bracket with its indices and exponents; ``2/π`` is one too."""
        made = self.power()
        token = self.next
        if token is not None and token.text == "/" and not token.before and not token.after:
            self.take()
            made = _fraction(made, self.power())
        return made

    def power(self) -> str:
        """An atom with what stands behind it: indices, exponents, a bracket of its own."""
        self.deeper()
        made = self.atom()
        while (token := self.next) is not None and not token.before:
            if token.kind == "lowered":
                index = _script(self.take().text, LOWERED)
                if (after := self.next) is not None and after.kind == "raised" and not after.before:
                    raised = _script(self.take().text, RAISED)
                    made = f"<msubsup>{made}{index}{raised}</msubsup>"
                else:
                    made = f"<msub>{made}{index}</msub>"
            elif token.kind == "raised":
                made = f"<msup>{made}{_script(self.take().text, RAISED)}</msup>"
            elif token.text == "'":
                self.take()
                made = f'<mrow>{made}<mo lspace="0" rspace="0">′</mo></mrow>'
            elif token.text == "^":
                self.take()
                made = f"<msup>{made}{self.exponent()}</msup>"
            elif token.kind == "(":  # f(x), x[i]
                made = f"<mrow>{made}{self.bracket()}</mrow>"
            else:
                break
        self.depth -= 1
        return made

    def exponent(self) -> str:
        """What follows a "^": a bracket, without it, or one factor with its sign."""
        token = self.next
        if token is None:
            raise Unreadable
        if token.kind == "(" and token.text == "(":
            return self.bracket(shown=False)
        if token.text in _ADDING:
            return f"<mrow>{_sign(self.take(), unary=True)}{self.power()}</mrow>"
        return self.power()

    def atom(self) -> str:
        """The smallest thing."""
        token = self.next
        if token is None:
            raise Unreadable
        if token.kind in ("(", "|("):
            return self.bracket()
        self.take()
        text = token.text
        if token.kind == "number":
            return f"<mn>{escape(text)}</mn>"
        if text == "√":
            return f"<msqrt>{self.root()}</msqrt>"
        if text == "∂":
            return f"<mrow><mo>∂</mo>{self.derived()}</mrow>"
        if text in _HALVES:
            above, below = _HALVES[text]
            return f"<mfrac><mn>{above}</mn><mn>{below}</mn></mfrac>"
        if token.kind == "sum":
            return f'<mo largeop="false">{_SIGNS.get(text, text)}</mo>'
        if token.kind == "name":
            return _name(text)
        if token.kind == "dots":
            return "<mi>…</mi>"
        if token.kind in ("raised", "lowered"):  # nothing before it
            shown = "".join({**RAISED, **LOWERED}[c] for c in text)
            return f"<mtext>{escape(shown)}</mtext>"
        return f"<mo>{escape(text)}</mo>"

    def derived(self) -> str:
        """What follows "∂": one factor, or a function with what it is of."""
        function = self.next is not None and self.next.text in FUNCTIONS
        made = self.power()
        token = self.next
        if function and token is not None and token.before and token.kind in ("name", "sum"):
            made += f'<mspace width="0.17em"/>{self.power()}'
        return made

    def root(self) -> str:
        """What is below a root: a bracket, without it, or one factor."""
        token = self.next
        if token is not None and token.text == "(":
            return self.bracket(shown=False)
        self.deeper()
        made = self.atom()
        while (token := self.next) is not None and token.kind == "lowered" and not token.before:
            made = f"<msub>{made}{_script(self.take().text, LOWERED)}</msub>"
        self.depth -= 1
        return made

    def bracket(self, shown: bool = True) -> str:
        """A bracket or bars, with what is inside."""
        opening = self.take()
        closing = "|)" if opening.kind == "|(" else ")"
        inner = self.line(closing)
        if self.next is None or (closing == ")" and self.next.text != OPENING[opening.text]):
            raise Unreadable
        end = self.take().text
        if not shown:
            return _in_row(inner)
        body = "".join(inner)
        grows = "" if "<mfrac" in body else ' stretchy="false"'
        left = f'<mo form="prefix"{grows}>{escape(opening.text)}</mo>'
        right = f'<mo form="postfix"{grows}>{escape(end)}</mo>'
        return f"<mrow>{left}{body}{right}</mrow>"


def _in_row(parts: list[str]) -> str:
    """Parts as one element."""
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _fraction(above: str, below: str) -> str:
    return f"<mfrac>{_bare(above)}{_bare(below)}</mfrac>"


def _bare(row: str) -> str:
    """A row without round brackets around all of it, which a fraction's line makes needless."""
    found = _ROUND.fullmatch(row)
    if found is None:
        return row
    inner = found.group(1)
    depth = 0
    for tag in re.finditer(r"<(/?)mrow>", inner):
        depth += -1 if tag.group(1) else 1
        if depth < 0:
            return row
    return f"<mrow>{inner}</mrow>"


def _name(text: str) -> str:
    """A name: of several letters upright, and a letter alone as mathematics has it, in italics."""
    if len(text) == 2 and text[1] in "\u0302\u0303\u0304":
        over = {"\u0302": "^", "\u0303": "~", "\u0304": "¯"}[text[1]]
        return f'<mover accent="true"><mi>{escape(text[0])}</mi><mo>{over}</mo></mover>'
    return f"<mi>{escape(text)}</mi>"


def _sign(token: Token, unary: bool = False) -> str:
    """An operator, with more room around one that compares."""
    shown = escape(_SIGNS.get(token.text, token.text))
    form = ' form="prefix"' if unary and token.text in _ADDING else ""
    return f"<mo{form}>{shown}</mo>"


def _script(text: str, table: dict[str, str]) -> str:
    """Raised or lowered characters: a number, a name, or a row of them with signs."""
    plain = "".join(table[c] for c in text)
    parts = []
    letters = "[a-zA-Z]" if table is LOWERED else "[a-zA-Z]+"  # i and j are two indices
    for found in re.finditer(rf"\d+|{letters}|.", plain):
        part = found.group()
        tag = "mn" if part.isdigit() else "mi" if part.isalpha() else "mo"
        parts.append(f"<{tag}>{escape(part)}</{tag}>")
    return _in_row(parts)
