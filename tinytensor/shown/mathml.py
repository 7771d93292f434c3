"""Formulas of ops, which are plain text such as ``dx = out (g - Σ g out)``, as MathML.

A formula is one line of Unicode mathematics with English words in it. It is read as a mathematician
reads it: what stands side by side is a product, ``a / b`` a fraction of the products beside it,
``2/π`` with no space around it one of its two neighbours, ``x^(y-1)``, ``xᵀ`` and ``hₜ₋₁`` have
exponents and indices, and ``x where x > 0, else 0`` are cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from html import escape

from .formula import row_of
from .formula_tokens import NAMES, Token, Unreadable, is_word, tokens_of
from .html import ACTING

_COMPARING = ("==", "!=", "<=", ">=", "<", ">", "=", "≠", "≤", "≥")
_LONGEST = 2000


def mathml(text: str, names: Collection[str] = ()) -> str:
    """A formula as HTML: one ``<span>`` with a ``<math>`` for each piece that may stand on a line
    of its own, and the words between them as plain text, so that a narrow page can break it.

    Args:
        text: the formula. names: further words that stand for something, such as an op's operands.

    Returns:
        Well-formed XML, safe to put into a page. What can't be read as a formula is text.
    """
    text = ACTING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " ").replace("\t", " "))
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
        f'<mtr><mtd style="text-align:left">{row_of(v, names)}</mtd><mtd style="text-align:left">'
        + (
            f"<mrow><mtext>where&#160;</mtext>{row_of(c, names)}</mrow>"
            if c
            else "<mtext>else</mtext>"
        )
        + "</mtd></mtr>"
        for v, c in rows
    )
    left = row_of(tokens[:start], names) if start else ""
    return [
        f'<math displaystyle="true"><mrow>{left}<mo fence="true">{{</mo>'
        f'<mtable columnspacing="1em">{lines}</mtable></mrow></math>'
    ]


def _with_words(tokens: list[Token], names: set[str]) -> Iterator[str]:
    """Runs of mathematics, each a ``<math>``, and the words between them as they are."""
    run, depth = list[Token](), 0

    def done() -> Iterator[str]:
        if run:
            yield f'<math displaystyle="true">{row_of(run, names)}</math>'
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
