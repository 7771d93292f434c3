"""A reader for the DOT text that tinytensor.draw writes, for the tests of the pictures; and what
they draw.

It knows just what is needed: a node, an arrow or a frame a line, attributes that are HTML-like,
quoted or bare. Whatever it does not understand is an error, so a name that breaks out of its label
is noticed even without Graphviz.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

import tinytensor as tt

#: names that break out of a label that is not written with care
AWKWARD = ['w"1', "a::b", "{x|y}", "<b>", "back\\", "line1\nline2", "out: (3, 4) float32"]

ATTRIBUTE = re.compile(r'(\w+)=(<(?:[^<>]|<[^<>]*>)*>|"(?:[^"\\]|\\.)*"|[-\w.]+)(?:, |$)')
NODE = re.compile(r"(n\d+) \[(.*)\];")
ARROW = re.compile(r"(n\d+) -> (n\d+)(?: \[(.*)\])?;")
FRAME = re.compile(r"subgraph (cluster_\d+) \{")
ROW = re.compile(r"\{rank=same;( [ns]\d+;)+\}")
SPACER = re.compile(r"s\d+ (-> n\d+ )?\[style=invis.*\];")
DEFAULTS = re.compile(r"(graph|node|edge) \[(.*)\];")


@dataclass
class Thing:
    """A node or a frame: its attributes, the lines of text in its label, the frame around it."""

    id: str
    around: str | None
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return plain(self.attributes.get("label", "<>")[1:-1]).strip(" ")

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each row of the label's table."""
        rows = re.findall(r"<TR>(.*?)</TR>", self.attributes["label"])
        return [[plain(cell) for cell in re.findall(r"<TD[^>]*>(.*?)</TD>", row)] for row in rows]


@dataclass
class Graph:
    nodes: dict[str, Thing]
    arrows: list[tuple[str, str, dict[str, str]]]
    frames: dict[str, Thing]

    def find(self, text: str) -> Thing:
        """The one node whose label starts with some words."""
        found = [node for node in self.nodes.values() if f"{node.text} ".startswith(f"{text} ")]
        assert len(found) == 1, f"{len(found)} nodes with {text!r}: {self.texts()}"
        return found[0]

    def texts(self) -> list[str]:
        return [node.text for node in self.nodes.values()]

    def titles(self) -> list[str]:
        return [frame.text for frame in self.frames.values()]

    def links(self) -> list[tuple[str, str]]:
        """(first word of the start, first word of the end) of each arrow."""

        def word(name: str) -> str:
            return self.nodes[name].text.split()[0]

        return sorted((word(a), word(b)) for a, b, _ in self.arrows)


def plain(label: str) -> str:
    """The text of an HTML-like label: line breaks for <BR/>, a space between cells."""
    text = label.replace("<BR/>", "\n").replace("</TD>", " ")
    return html.unescape(re.sub(r"</?[A-Z][^<>]*>", "", text)).replace("\\\\", "\\")


def attributes(text: str) -> dict[str, str]:
    found, end = {}, 0
    for match in ATTRIBUTE.finditer(text):
        assert match.start() == end, f"cannot read {text[end:]!r}"
        found[match[1]] = match[2]
        end = match.end()
    assert end == len(text), f"cannot read {text[end:]!r}"
    return found


def parse(source: str) -> Graph:
    """Read a picture's DOT text."""
    first, *lines, last, end = source.split("\n")
    assert (first, last, end) == ("digraph tinytensor {", "}", "")
    graph = Graph({}, [], {})
    around: list[str] = []
    for line in map(str.strip, lines):
        if match := FRAME.fullmatch(line):
            graph.frames[match[1]] = Thing(match[1], around[-1] if around else None)
            around.append(match[1])
        elif line == "}":
            around.pop()
        elif match := ARROW.fullmatch(line):
            how = attributes(match[3] or "")
            ends = (match[2], match[1]) if how.get("dir") == "back" else (match[1], match[2])
            graph.arrows.append((*ends, how))
        elif ROW.fullmatch(line) or SPACER.fullmatch(line):
            continue
        elif match := NODE.fullmatch(line):
            assert match[1] not in graph.nodes
            inside = around[-1] if around else None
            graph.nodes[match[1]] = Thing(match[1], inside, attributes(match[2]))
        else:
            match = DEFAULTS.fullmatch(line)
            assert match, f"cannot read {line!r}"
            if match[1] == "graph" and around:
                graph.frames[around[-1]].attributes = attributes(match[2])
    assert not around
    for start, stop, _ in graph.arrows:
        assert start in graph.nodes and stop in graph.nodes
    return graph


def drawn(tensor: object, **how: Any) -> Graph:
    """The picture of a tensor, read."""
    return parse(tt.draw(tensor, **how).source)


def leaf(data: object, name: str | None = None) -> tt.Tensor:
    """A tensor that gradients are wanted for."""
    return tt.tensor(data, requires_grad=True, name=name)


def texts_of(tensor: object, word: str, **how: Any) -> list[str]:
    """The texts in a tensor's picture that begin with a word."""
    return [text for text in drawn(tensor, **how).texts() if text.startswith(word)]


def neuron() -> tuple[tt.Tensor, dict[str, tt.Tensor]]:
    """micrograd's picture: (x1 w1 + x2 w2 + b).tanh(), differentiated."""
    start = {"x1": 2.0, "w1": -3.0, "x2": 0.0, "w2": 1.0, "b": 6.881373587019543}
    leaves = {name: leaf(value, name) for name, value in start.items()}
    x1, w1, x2, w2, b = leaves.values()
    out = (x1 * w1 + x2 * w2 + b).tanh()
    out.backward()
    return out, leaves
