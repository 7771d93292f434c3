"""Mermaid and D2: the same boxes and arrows as the picture, and names that stay names.

Both were put through the programs' own parsers by hand, with these names and random ones; here a
small reader of each knows just what is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models

from .dotgraph import AWKWARD, leaf, neuron

HOSTILE = [
    *AWKWARD, "`md`", "end", "style x:#fff;", "%% c", "${y} $x$", "a'b", "</script><img src=x>",
    "-->", "#quot;", "&amp;", "; n0 -> n1", "|", "\x00\u202e", "click n0", "@{ shape: x }", "日本",
]  # fmt: skip

MERMAID = [
    r"flowchart (TB|LR)",
    r'subgraph g\d+\["(?P<title>[^"\n]*)"\]',
    r"end",
    r'(?P<id>n\d+|notes)(\(\[|\[\[|\(\(|\[|\(|>)"(?P<text>[^"\n]*)"(\]\)|\]\]|\)\)|\]|\))',
    r'(?P<start>n\d+) (-->|-\.->)(\|"(?P<word>[^"\n]*)"\|)? (?P<stop>n\d+)',
    r"classDef \w+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#[0-9a-f]{6}",
    r"class [ng]\w*(,[ng]\d+)* \w+",
]
D2_STRING = r'"(?:[^"\\$\n]|\\.)*"'
D2 = [
    r"direction: (down|right)",
    rf"(?P<frame>g\d+): (?P<title>{D2_STRING}) {{ style.*",
    r"}",
    rf"(?P<id>n\d+|notes): (?P<text>{D2_STRING}) {{ shape: \w+.* }}",
    rf"(?P<start>[\w.]+) -> (?P<stop>[\w.]+)(: (?P<word>{D2_STRING}))?"
    r"( { style.stroke-dash: 4 })?",
]


def read(text: str, rules: list[str]) -> list[dict[str, str]]:
    """Each line by the rule that it follows; one that follows none is an error."""
    found = []
    for line in text.splitlines():
        matches = [m for rule in rules if (m := re.fullmatch(rule, line.strip()))]
        assert matches, f"cannot read {line!r}"
        found.append({k: v for k, v in matches[0].groupdict().items() if v is not None})
    return found


def mermaid_text(text: str) -> str:
    numbers = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text.replace("<br/>", "\n"))
    assert not re.search(r"[#&<>`]", re.sub(r"#\d+;|<br/>", "", text))
    return numbers


def d2_text(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text[1:-1])


def shown(name: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in name)


@pytest.mark.parametrize("kind", ["mermaid", "d2"])
def test_names_are_texts_whatever_is_in_them(kind: str) -> None:
    leaves = [leaf(1.0, name) for name in HOSTILE]
    drawing = tt.draw(tt.stack(leaves))
    lines, plain = {
        "mermaid": (read(drawing.mermaid(), MERMAID), mermaid_text),
        "d2": (read(drawing.d2(), D2), d2_text),
    }[kind]
    texts = [plain(line["text"]) for line in lines if "text" in line]
    for name in HOSTILE:
        assert any(text.startswith(shown(name) + "\n() float32") for text in texts), name
    assert len(texts) == len(HOSTILE) + 2
    assert sum("start" in line for line in lines) == len(HOSTILE) + 1


@pytest.mark.parametrize("kind", ["mermaid", "d2"])
@pytest.mark.parametrize("how", [{}, {"depth": 1}, {"zoom": "ops"}])
def test_boxes_frames_and_arrows_are_those_of_the_picture(kind: str, how: dict[str, Any]) -> None:
    model = models.build("gpt", vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=8)
    ids = np.arange(8).reshape(1, 8)
    drawing = tt.draw(lambda: model.loss(ids, ids), **how)
    lines = read(drawing.mermaid(), MERMAID) if kind == "mermaid" else read(drawing.d2(), D2)
    boxes = [line["id"] for line in lines if line.get("id", "notes") != "notes"]
    assert len(boxes) == len(set(boxes)) == drawing.picture.boxes()
    assert sum("title" in line for line in lines) == len(drawing.picture.groups())
    arrows = [(a["start"].split(".")[-1], a["stop"].split(".")[-1]) for a in lines if "start" in a]
    assert len(arrows) == len(list(drawing.picture.arrows()))
    assert {end for arrow in arrows for end in arrow} <= set(boxes)


def test_the_texts_have_numbers_words_and_signs() -> None:
    drawing = tt.draw(neuron()[0])
    texts = [mermaid_text(x["text"]) for x in read(drawing.mermaid(), MERMAID) if "text" in x]
    assert "x1\n() float32\ndata 2.0\ngrad -1.5" in texts
    assert "×" in texts
    assert "tanh" in texts
    assert [d2_text(x["text"]) for x in read(drawing.d2(), D2) if "text" in x] == texts


def test_a_deeper_path_of_d2_names_every_frame() -> None:
    model = models.build("gpt", vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=8)
    ids = np.arange(8).reshape(1, 8)
    text = tt.draw(model.loss(ids, ids), depth=3, merge=False).d2()
    around: list[str] = []
    known = set()
    for line in map(str.strip, text.splitlines()):
        if match := re.match(r"(g\d+): ", line):
            around.append(match[1])
        elif line == "}":
            around.pop()
        elif match := re.match(r"(n\d+): ", line):
            known.add(".".join([*around, match[1]]))
        elif " -> " in line:
            ends = re.match(r"([\w.]+) -> ([\w.]+)", line)
            assert ends is not None
            assert {ends[1], ends[2]} <= known


def test_what_is_strange_is_red_and_said_in_both() -> None:
    layer = tt.nn.Linear(4, 4)
    with tt.no_grad():
        layer.bias[:2] = -1000.0
    x = np.random.default_rng(0).normal(size=(32, 4))
    drawing = tt.draw(lambda x: tt.relu(layer(x)).sum(), x, zoom="ops")
    for text in (drawing.mermaid(), drawing.d2()):
        assert "#c5281c" in text
        assert "2 of 4 units 0 in all 32 rows" in text


def test_notes_come_along() -> None:
    drawing = tt.draw((leaf(np.ones(20), "w") * 2.0).sum(), zoom="ops")
    assert "no gradients" in drawing.mermaid()
    assert "no gradients" in drawing.d2()


@pytest.mark.parametrize("ending", ["mmd", "mermaid", "d2", "D2"])
def test_they_are_saved_by_their_endings(ending: str, tmp_path: Path) -> None:
    drawing = tt.draw(leaf(1.0, "ünï") * 2.0)
    path = drawing.save(tmp_path / f"g.{ending}")
    text = drawing.d2() if ending.lower() == "d2" else drawing.mermaid()
    assert path.read_text(encoding="utf-8") == text
    assert "ünï" in text
