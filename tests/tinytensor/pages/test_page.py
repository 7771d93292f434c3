"""Data in a page: what JSON has no word for, hostile texts, and that built/ is what src/ gives."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor.pages.page import as_json, page

PAGES = Path(__file__).parents[3] / "tinytensor" / "pages"


class Reader(HTMLParser):
    """The tags of a page, its title, and the data in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.title = self.data = ""
        self.inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.inside = "data" if ("id", "data") in attributes else tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "title":
            self.title += data
        if self.inside == "data":
            self.data += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


PLAIN = read(page("graph", "t", {}))


@given(st.text(), st.text())
def test_texts_arrive_as_they_are_and_end_nothing(title: str, name: str) -> None:
    text = page("graph", title, {"title": title, name: [name, "</script><script>alert(1)"]})
    assert text.isascii()
    found = read(text)
    assert found.tags == PLAIN.tags
    assert not set("<>&") & set(found.data)
    assert json.loads(found.data) == {"title": title, name: [name, "</script><script>alert(1)"]}


def test_floats_that_json_has_no_word_for_are_strings() -> None:
    data = {"a": [1.5, math.nan, (math.inf,)], "b": -math.inf, "c": None, "d": True}
    assert json.loads(as_json(data)) == {
        "a": [1.5, "nan", ["inf"]], "b": "-inf", "c": None, "d": True,
    }  # fmt: skip


def test_what_the_template_holds_is_no_place_for_data() -> None:
    text = page("graph", "@@DATA@@", {"a": "@@TITLE@@"})
    assert read(text).title == "@@DATA@@"
    assert json.loads(read(text).data) == {"a": "@@TITLE@@"}


def test_an_unknown_page_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"name: expected one of attention, graph.*got '\.\./x'"):
        page("../x", "t", {})


@pytest.mark.parametrize("file", sorted((PAGES / "built").glob("*.html")), ids=lambda f: f.stem)
def test_a_page_runs_its_own_script_only_and_asks_for_nothing(file: Path) -> None:
    text = file.read_text("ascii")
    assert "default-src 'none'" in text and "script-src 'sha256-" in text
    assert "script-src 'unsafe-inline'" not in text
    for word in ("@import", "url(", "XMLHttp", "WebSocket", "eval(", "new Function"):
        assert word not in text, word
    # the page that watches a run asks the server it came from, and says so in its policy
    assert ("fetch(" in text) == ("connect-src 'self'" in text) == (file.stem == "watch")


def test_the_lock_file_names_no_registry() -> None:
    text = (PAGES / "src" / "package-lock.json").read_text()
    assert "resolved" not in text and "http" not in text


def test_built_is_what_the_sources_give(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: the pages are not built again to compare")
    copy = tmp_path / "src"
    junk = shutil.ignore_patterns("node_modules")
    shutil.copytree(PAGES / "src", copy, ignore=junk)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    env = {**os.environ, "npm_config_fetch_retries": "0", "npm_config_update_notifier": "false"}
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, env=env)
    if done.returncode:
        pytest.skip(f"npm ci failed: {done.stderr.strip()[-300:]}")
    made = subprocess.run(["node", "build.mjs", "new"], cwd=copy, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    names = sorted(file.name for file in (PAGES / "built").iterdir())
    assert sorted(file.name for file in (copy / "new").iterdir()) == names
    stale = [
        n for n in names if (PAGES / "built" / n).read_bytes() != (copy / "new" / n).read_bytes()
    ]
    assert not stale, "run `make pages`"
