"""The gallery: each script makes the page that stands in docs/gallery, and all are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from lessons import gallery
from tinytensor.draw.render import renderer

ROOT = Path(__file__).resolve().parents[2]


def committed(name: str) -> Any:
    """The data of the page in docs/gallery."""
    page = (ROOT / "docs" / "gallery" / f"{name}.html").read_text(encoding="ascii")
    return json.loads(page.rpartition('id="data">')[2].partition("</script>")[0])


def numbers(data: Any, key: str) -> np.ndarray:
    """All that is known of values, in a row."""
    known = [value[key] for value in data["values"] if value[key] is not None]
    return np.array([float(x) for part in known for x in part])


@pytest.mark.skipif(renderer() is None, reason="no Graphviz here")
@pytest.mark.parametrize("name", gallery.PAGES)
def test_each_script_makes_the_page_in_docs(name: str) -> None:
    before = tt.random.state()
    try:
        made = gallery.steps(name).data()
    finally:
        tt.random.set_state(before)
    there = committed(name)
    for key in ("title", "about", "backward", "ops", "sources"):
        assert made[key] == there[key], f"{key}: make gallery makes the pages anew"
    assert [step["op"] for step in made["steps"]] == [step["op"] for step in there["steps"]]
    for key in ("data", "grad"):
        np.testing.assert_allclose(numbers(made, key), numbers(there, key), rtol=1e-4, atol=1e-6)


def test_every_page_is_shown_with_its_picture() -> None:
    scripts = {path.stem for path in (ROOT / "lessons" / "steps").glob("*.py")}
    assert set(gallery.PAGES) == scripts
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in scripts:
        for part in (f"gallery/{name}.html", f"gallery/{name}.png", f"lessons/steps/{name}.py"):
            assert part in text
