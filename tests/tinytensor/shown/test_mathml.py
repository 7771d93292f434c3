"""Formulas as MathML: what is read out of them, that it is well-formed, and that nothing acts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor.define.op import OPS
from tinytensor.shown.mathml import mathml


def shape(text: str, *names: str) -> str:
    """What was read, as short text: fractions as (a//b), powers as a^[b], indices as a_[b]."""
    return _short(ET.fromstring(mathml(text, names))).replace("\xa0", " ")


def _short(e: ET.Element) -> str:
    parts = [_short(child) + (child.tail or "") for child in e]
    inside = (e.text or "") + "".join(parts)
    if e.tag == "mfrac":
        return f"({parts[0]}//{parts[1]})"
    if e.tag == "msup":
        return f"{parts[0]}^[{parts[1]}]"
    if e.tag == "msub":
        return f"{parts[0]}_[{parts[1]}]"
    if e.tag == "msubsup":
        return f"{parts[0]}_[{parts[1]}]^[{parts[2]}]"
    if e.tag == "msqrt":
        return f"√[{inside}]"
    if e.tag == "mspace":
        return "."
    if e.tag == "mtr":
        return f"<{inside}>"
    return inside


@pytest.mark.parametrize(
    "text, read",
    [
        ("x · y", "x·y"),
        ("x @ weightᵀ + bias", "x@weight^[T]+bias"),
        ("eˣ / Σ eˣ", "(e^[x]//∑.e^[x])"),
        ("dx = out (g - Σ g out)", "dx=out.(g−∑g.out)"),
        ("1 / (1 + e⁻ˣ)", "(1//1+e^[−x])"),
        ("dx = -g / √(1 - x²)", "dx=−(g//√[1−x^[2]])"),
        ("dx = g 2/√π exp(-x²)", "dx=g.(2//√[π]).exp(−x^[2])"),
        ("g √π/2 exp(out²)", "g.(√[π]//2).exp(out^[2])"),
        ("(x - mean) / √(var + eps) · weight", "(x−mean//√[var+eps])·weight"),
        ("dy = g x^y ln x", "dy=g.x^[y].ln.x"),
        ("dx = g y x^(y-1)", "dx=g.y.x^[y−1]"),
        ("ln(1 + e^-|x|)", "ln(1+e^[−|x|])"),
        ("x1 · x2 / (|x1| |x2|)", "(x1·x2//|x1|.|x2|)"),
        ("x / (1 + |x|)²", "(x//(1+|x|)^[2])"),
        ("log₁₀ x", "log_[10].x"),
        ("sᵢ = gᵢ + xᵢ₊₁ sᵢ₊₁", "s_[i]=g_[i]+x_[i+1].s_[i+1]"),
        ("e^x₀", "e^[x_[0]]"),
        ("da = g a⁻ᵀ", "da=g.a^[−T]"),
        ("x | y", "x|y"),
        ("(a + b) (c + d) / 2", "((a+b).(c+d)//2)"),
        ("(a + b) / (c + d)", "(a+b//c+d)"),
        ("½ (P + Q) / (s - t)", "((1//2).(P+Q)//s−t)"),
        ("dx = g / n, added to each", "dx=(g//n), added to each"),
        ("g / n where it is", "(g//n) where it is"),
        ("g / beta", "(g//beta)"),
        ("the points of a", "the points of a"),
        ("zeros of a shape", "zeros of a shape"),
        ("a out = 1", "a.out=1"),
        ("rows of a weight", "rows of a weight"),
        ("dx = g in x's shape", "dx=g in x's shape"),
        ("hₜ₋₁ᵀ", "h_[t−1]^[T]"),
        ("∂sᵢ/∂xⱼ = sᵢ δᵢⱼ", "(∂s_[i]//∂x_[j])=s_[i].δ_[ij]"),
        ("∂tan x/∂x", "(∂tan.x//∂x)"),
        ("10^-decimals", "10^[−decimals]"),
        ("f'(x)", "f′(x)"),
        ("max(x, 0)", "max(x,0)"),
        ("x where x > 0, else 0", "{<xwhere x>0><0else>"),
        (
            "dx = 0 where x <= -3, g x where x < 3, else g; dy = g",
            "dx={<0where x≤−3><g.xwhere x<3><gelse>; dy=g",
        ),
        ("dx = g ln y, 0 where x = 0", "dx=g.ln.y, 0 where x=0"),
    ],
)
def test_it_is_read_as_a_mathematician_reads_it(text: str, read: str) -> None:
    assert shape(text) == read


def test_names_of_an_op_are_no_words() -> None:
    assert shape("rate of x") == "rate of x"
    assert shape("2 rate of x", "rate") == "2.rate of x"


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_well_formed_formulas(name: str) -> None:
    op = OPS[name]
    for text in (op.formula, op.gradient):
        made = mathml(text, {*op.inputs, *op.setting_names})
        tree = ET.fromstring(made)
        assert tree.tag == "span"
        letters = [c for c in "".join(tree.itertext()) if c.isascii() and c.isalpha()]
        lost = [c for c in text if c.isascii() and c.isalpha()]
        for letter in letters:  # "where" and "else" stay, and so does every name
            if letter in lost:
                lost.remove(letter)
        assert not lost, (text, lost)
        if any(mark in text for mark in "=·Σ√²ˣ"):
            assert "<math " in made, text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>", "x < y > z & w", "</math></span><img src=x onerror=1>", "((((",
        "))", "|", "||", "|x", "x^", "x /", "/ x", "√", "^^^^", "a\x00b", "\u202edx = g", "\ud800",
        "(" * 1000, "√" * 1000, "x^" * 900, "x where", "where else", "else", ", ; ,", "", " ", "ⁿ",
        "₁",        "x where y, else", "e\u0302", "]" , "(]", "x" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_formula_is_text(text: str) -> None:
    check_safe(text)


@given(st.text(alphabet=st.sampled_from("xg²ᵢ^/()|[]√Σ,;<>&=+- \u202e\x00where.else½'\"").map(str)))
def test_no_text_breaks_out(text: str) -> None:
    check_safe(text)


@given(st.text(max_size=60))
def test_no_character_breaks_out(text: str) -> None:
    check_safe(text)


def check_safe(text: str) -> None:
    """Well-formed, of the elements that formulas are made of only, and nothing that acts."""
    made = mathml(text)
    for e in ET.fromstring(made).iter():
        assert e.tag == "span" or e.tag == "math" or e.tag.startswith("m"), e.tag
        assert not [a for a in e.attrib if a.startswith("on") or a in ("href", "src")]
    assert not any(c in made for c in "\x00\u202e\ud800")
