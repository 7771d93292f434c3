"""The pages in docs/: their links lead somewhere, and what they name is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.draw import NoRenderer

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def heading_anchors(text: str) -> set[str]:
    """What a link can name after a #, as code hosts make it of headings."""
    titles = re.findall(r"^#+ +(.+?)\s*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_what_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in heading_anchors(there.read_text(encoding="utf-8")), target


def blocks(page: Path) -> list[str]:
    """The Python of a page, from top to bottom. A block with ``@op`` is a part of the engine's."""
    found = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [block for block in found if "@op(" not in block]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: page.name)
def test_what_a_page_shows_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From top to bottom; ``print(...)  # 7`` has to print 7."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    before = tt.random.state()
    try:
        for block in blocks(page):
            try:
                exec(compile(block, page.name, "exec"), names)
            except NoRenderer as error:
                pytest.skip(f"no Graphviz: {error}")
            printed = " ".join(capsys.readouterr().out.split())
            for said in re.findall(r"^print\(.*\)  # (.*)$", block, re.M):
                assert said in printed, f"{page.name}: {said!r} is not in {printed!r}"
    finally:
        tt.random.set_state(before)


def test_the_way_of_a_gradient_passes_ten_places_that_are_there() -> None:
    """Each stop is ``function`` in [file](link); both exist, and in this file."""
    page = (ROOT / "docs" / "gradient.md").read_text(encoding="utf-8")
    stops = re.findall(r"^(\d+)\. `([\w.]+)`.*?\((\.\./tinytensor/[\w/]+\.py)\)", page, re.M | re.S)
    assert [int(number) for number, _, _ in stops] == list(range(1, 11))
    for number, name, link in stops:
        owner, _, function = name.rpartition(".")
        source = (ROOT / "docs" / link).resolve().read_text(encoding="utf-8")
        assert re.search(rf"^ *def {function}\(", source, re.M), f"stop {number}: {name}"
        assert not owner or re.search(rf"^class {owner}\b", source, re.M), f"stop {number}: {name}"


def test_the_picture_of_the_rooms_is_that_of_the_code() -> None:
    """``make docs`` draws it again."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs/architecture.py")
    assert spec is not None and spec.loader is not None
    architecture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(architecture)
    assert architecture.source() == (ROOT / "docs" / "architecture.gv").read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    assert all(f">{name}/<" in picture for name in architecture.rooms())
