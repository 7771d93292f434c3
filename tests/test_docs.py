"""The pages in docs/: their links lead somewhere, and what they name is there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tinytensor.draw.render import renderer

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    """The Python in a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


#: not architecture.md, which quotes the definition of an op that is there already
WITH_CODE = [page for page in PAGES if blocks(page) and page.name != "architecture.md"]


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


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page))
    if ".save(" in code and renderer() is None:
        pytest.skip("no Graphviz here: neither dot nor pygraphviz")
    where = {**os.environ, "PYTHONPATH": str(ROOT), "TINYTENSOR_DEVICE": "cpu"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
