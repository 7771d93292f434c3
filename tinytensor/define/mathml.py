"""Formulas of ops, which are plain text such as ``dx = out (g - Σ g out)``, as MathML.

A formula is one line of Unicode mathematics with English words in it. It is read as a mathematician
reads it: what stands side by side is a product, ``a / b`` a fraction of the products beside it,
``2/π`` with no space around it one of its two neighbours, ``x^(y-1)``, ``xᵀ`` and ``hₜ₋₁`` have
exponents and indices, and ``x where x > 0, else 0`` are cases.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from html import escape

from .tokens import LOWERED, NAMES, OPENING, RAISED, Token, Unreadable, is_word, tokens_of

_COMPARING = ("==", "!=", "<=", ">=", "<", ">", "=", "≠", "≤", "≥")
_ADDING = ("+", "-", "±", "∓")
_SIGNS = {"-": "−", "<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "Σ": "∑", "Π": "∏", "**": ""}
_HALVES = {"½": ("1", "2"), "⅓": ("1", "3"), "¼": ("1", "4")}
_LONGEST, _DEEPEST = 2000, 60

#: a row in round brackets
_ROUND = re.compile(
    r'<mrow><mo form="prefix"[^>]*>\(</mo>(.*)<mo form="postfix"[^>]*>\)</mo></mrow>', re.DOTALL
)
#: characters that act on a page or that XML forbids
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def mathml(text: str, names: Collection[str] = ()) -> str:
    """A formula as HTML: one ``<span>`` with a ``<math>`` for each piece that may stand on a line
    of its own, and the words between them as plain text, so that a narrow page can break it.

    Args:
        text: the formula. names: further words that stand for something, such as an op's operands.

    Returns:
        Well-formed XML, safe to put into a page. What can't be read as a formula is text.
    """
    text = _ACTING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " ").replace("\t", " "))
    try:
        if len(text) > _LONGEST:
            raise Unreadable
        inner = "".join(_pieces(tokens_of(text), {*NAMES, *names}))
    except Unreadable:
        inner = escape(text)
    return f'<span class="formula">{inner}</span>'


# -- pieces of a line --------------------------------------------------------------------------


def _pieces(tokens: list[Token], names: set[str]) -> Iterator[str]:
    """Statements between commas and semicolons, each cut where words stand between formulas."""
    for statement, end in _statements(tokens):
        cases = _cases(statement, names)
        yield from cases if cases else _with_words(statement, names)
        yield end


def _statements(tokens: list[Token]) -> Iterator[tuple[list[Token], str]]:
    """Tokens up to a comma or semicolon outside of brackets, and that mark. A comma before
    "else" belongs to the cases, and one after a "where" too if an "else" comes."""
    depth, found = 0, list[Token]()
    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.kind, 0)
        if depth < 0:
            raise Unreadable
        if depth == 0 and token.text in (",", ";") and not _of_cases(tokens, i):
            yield found, f"{token.text} "
            found = []
        else:
            found.append(token)
    if depth:
        raise Unreadable
    if found:
        yield found, ""


def _of_cases(tokens: list[Token], comma: int) -> bool:
    """Whether a comma divides cases: "else" follows it, after other cases at most."""
    if tokens[comma].text != "," or "where" not in {t.text for t in tokens[:comma]}:
        return False
    depth, first, where = 0, True, False
    for token in tokens[comma + 1 :]:
        depth += {"(": 1, ")": -1}.get(token.kind, 0)
        if depth == 0 and token.text == "else":
            return first
        if depth == 0 and token.text == "where":
            where = True
        elif depth == 0 and token.text == ",":
            if not where:
                return False
            first, where = True, False
            continue
        elif depth == 0 and token.text == ";":
            return False
        first = False
    return False


def _cases(tokens: list[Token], names: set[str]) -> list[str]:
    """``left = a where c, b where d, else e`` as a table behind a brace; empty where it is none."""
    words = [t.text for t in tokens]
    if "else" not in words or "where" not in words or words.index("where") > words.index("else"):
        return []
    start = next((i + 1 for i, t in enumerate(tokens[: words.index("where")]) if t.text == "="), 0)
    rows, row = list[tuple[list[Token], list[Token] | None]](), list[Token]()
    value: list[Token] | None = None
    for token in tokens[start:]:
        if token.text == "where" and value is None:
            value, row = row, []
        elif token.text in (",", "else") and value is not None:
            rows.append((value, row))
            value, row = None, []
        elif token.text != "else":
            row.append(token)
    if value is not None or not row or any(not v or not c for v, c in rows):
        return []
    rows.append((row, None))
    lines = "".join(
        f'<mtr><mtd style="text-align:left">{_row(v, names)}</mtd><mtd style="text-align:left">'
        + (
            f"<mrow><mtext>where&#160;</mtext>{_row(c, names)}</mrow>"
            if c
            else "<mtext>else</mtext>"
        )
        + "</mtd></mtr>"
        for v, c in rows
    )
    left = _row(tokens[:start], names) if start else ""
    return [
        f'<math displaystyle="true"><mrow>{left}<mo fence="true">{{</mo><mtable columnspacing="1em">{lines}</mtable>'
        "</mrow></math>"
    ]


def _with_words(tokens: list[Token], names: set[str]) -> Iterator[str]:
    """Runs of mathematics, each a ``<math>``, and the words between them as they are."""
    run, depth = list[Token](), 0

    def done() -> Iterator[str]:
        if run:
            yield f'<math displaystyle="true">{_row(run, names)}</math>'
            run.clear()

    for i, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(token.kind, 0)
        if depth == 0 and is_word(tokens, i, names):
            spaced = i and token.before and tokens[i - 1].text not in _COMPARING
            yield from done()
            before = " " if spaced else ""
            after = " " if i + 1 < len(tokens) and token.after else ""
            following = after and is_word(tokens, i + 1, names)
            yield f"{before}{escape(token.text)}{'' if following else after}"
        else:
            run.append(token)
    yield from done()


# -- one formula -------------------------------------------------------------------------------


def _row(tokens: list[Token], names: set[str]) -> str:
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
            if token.kind == "sign" and token.text not in ("√", "½", "⅓", "¼"):
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
            elif token.kind == "sign" and token.text not in ("√", "½", "⅓", "¼"):
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
            if token.kind == "sign" and token.text not in ("√", "½", "⅓", "¼"):
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
    for found in re.finditer(r"\d+|[a-zA-Z]+|.", plain):
        part = found.group()
        tag = "mn" if part.isdigit() else "mi" if part.isalpha() else "mo"
        parts.append(f"<{tag}>{escape(part)}</{tag}>")
    return _in_row(parts)
