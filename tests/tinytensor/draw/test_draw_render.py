"""Making SVG, PNG and PDF: with `dot`, with pygraphviz, and with neither."""

from __future__ import annotations

import importlib.util
import re
import shutil
import stat
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models
from tinytensor.draw import NoRenderer

from .dotgraph import AWKWARD, leaf, neuron

HAS_DOT = shutil.which("dot") is not None
HAS_PYGRAPHVIZ = importlib.util.find_spec("pygraphviz") is not None
HEADS = {"svg": b"<?xml", "png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-"}

with_renderers = pytest.mark.parametrize(
    "renderer",
    [
        pytest.param("dot", marks=pytest.mark.skipif(not HAS_DOT, reason="no dot program here")),
        pytest.param(
            "pygraphviz",
            marks=pytest.mark.skipif(not HAS_PYGRAPHVIZ, reason="pygraphviz is not installed"),
        ),
    ],
)


unix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for dot is a Unix script")


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH on which there is no program at all."""
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    return empty


@pytest.fixture
def no_graphviz(no_dot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the program nor pygraphviz."""
    monkeypatch.setitem(sys.modules, "pygraphviz", None)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, renderer: str) -> None:
    """Leave only one of the two renderers."""
    if renderer == "dot":
        monkeypatch.setitem(sys.modules, "pygraphviz", None)
    else:
        monkeypatch.setenv("PATH", str(tmp_path))


@with_renderers
@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_each_renderer_makes_each_format(use: None, kind: str, tmp_path: Path) -> None:
    target = tmp_path / f"neuron.{kind}"
    assert tt.draw(neuron()[0]).save(target) == target
    assert target.read_bytes().startswith(HEADS[kind])
    assert [p.suffix for p in tmp_path.iterdir()] == [f".{kind}"], "nothing else is left behind"


@with_renderers
def test_awkward_names_arrive_in_the_picture(use: None) -> None:
    """Graphviz itself reads the text: what it draws has all names, and no more nodes."""
    leaves = [leaf(1.0, name) for name in [*AWKWARD, r"a\Nb\G\l", "&amp;", "ünï ∂", "]; n0 -> n1;"]]
    svg = tt.draw(tt.stack(leaves)).svg()
    texts = [unescape(t).strip() for t in re.findall(r"<text[^>]*>(.*?)</text>", svg)]
    for value in leaves:
        for line in str(value.name).split("\n"):
            assert line in texts
    assert svg.count('class="node"') == len(leaves) + 2
    assert svg.count('class="edge"') == len(leaves) + 1


def points_of(path: str) -> np.ndarray:
    """Points along the curves of an SVG path."""
    ends = np.array([float(x) for x in re.findall(r"-?[\d.]+", path)]).reshape(-1, 2)
    t = np.linspace(0, 1, 50)[:, None]
    weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    return np.vstack([weights @ ends[i : i + 4] for i in range(0, len(ends) - 1, 3)])


@with_renderers
@pytest.mark.parametrize("depth", [None, 1, 2, 3])
@pytest.mark.parametrize("name", ["gpt", "gru", "lstm", "rnn"])
def test_no_arrow_runs_through_the_title_of_a_frame(
    use: None, name: str, depth: int | None
) -> None:
    model = models.build(name, vocab_size=65, block_size=8, n_embd=16)
    ids = np.arange(16).reshape(2, 8)
    svg = tt.draw(model(ids, ids)[1], depth=depth).svg()
    arrows = re.findall(r'class="edge".*?<path [^>]*? d="(M[^"]*)"', svg, re.DOTALL)
    points = np.vstack([points_of(path) for path in arrows])
    frames = re.findall(r'class="cluster".*?</g>', svg, re.DOTALL)
    assert arrows
    assert frames
    for frame in frames:
        for x, y, text in re.findall(r'<text [^>]*?x="(.*?)" y="(.*?)".*?>(.*?)</text>', frame):
            off = points - (float(x), float(y))
            over = (off[:, 0] > 0) & (off[:, 0] < 6 * len(unescape(text)))
            assert not (over & (off[:, 1] > -9) & (off[:, 1] < 1)).any(), text


@with_renderers
def test_a_notebook_gets_an_svg(use: None) -> None:
    svg = tt.draw(neuron()[0])._repr_svg_()
    assert svg is not None
    assert svg.lstrip().startswith("<?xml")
    assert svg.count('class="node"') == 15


@unix
def test_dot_on_the_path_comes_first(no_dot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in called dot answers: the graphviz package runs what the PATH names."""
    program = no_dot / "dot"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\nprint('drawn by', sys.argv[1:])\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    assert "drawn by" in tt.draw(leaf(1.0)).svg()
    assert "'-Tsvg'" in tt.draw(leaf(1.0)).svg()


@unix
def test_a_dot_that_fails_passes_its_complaint_on(no_dot: Path) -> None:
    program = no_dot / "dot"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stderr.write('out of ink'); sys.exit(1)\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    with pytest.raises(RuntimeError, match="out of ink"):
        tt.draw(leaf(1.0)).svg()


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_without_graphviz_the_text_is_saved_and_both_cures_named(
    no_graphviz: None, kind: str, tmp_path: Path
) -> None:
    drawing = tt.draw(neuron()[0])
    with pytest.raises(NoRenderer) as caught:
        drawing.save(tmp_path / f"g.{kind}")
    message = str(caught.value)
    assert "`dot`" in message
    assert "apt install graphviz" in message
    assert "pip install 'pygraphviz>=2.0.4'" in message
    assert f"{tmp_path / 'g.gv'}" in message
    assert (tmp_path / "g.gv").read_text(encoding="utf-8") == drawing.source
    assert not (tmp_path / f"g.{kind}").exists()


def test_without_graphviz_text_and_notebook_still_work(no_graphviz: None, tmp_path: Path) -> None:
    drawing = tt.draw(neuron()[0])
    assert drawing._repr_svg_() is None
    assert "no Graphviz here" in repr(drawing)
    drawing.save(tmp_path / "g.gv")
    assert (tmp_path / "g.gv").read_text(encoding="utf-8") == drawing.source
    with pytest.raises(RuntimeError, match="no Graphviz"):
        drawing.svg()


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path: expected a file name that ends in \.svg"):
        tt.draw(leaf(1.0)).save(tmp_path / "g.bmp")
    with pytest.raises(ValueError, match="path"):
        tt.draw(leaf(1.0)).save(tmp_path / "g")
    assert not list(tmp_path.iterdir())
