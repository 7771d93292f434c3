"""Pictures of any kind go the same way into their files."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tinytensor.train.system.pictures import canvas, save


def test_the_ending_says_which_kind_it_is(tmp_path: Path) -> None:
    figure = canvas(1, 2, dpi=50)
    kinds = {"a.png": b"\x89PNG", "a.svg": b"<?xml", "a.pdf": b"%PDF", "a": b"\x89PNG"}
    for name, start in kinds.items():
        assert save(figure, str(tmp_path / name)) == tmp_path / name
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match="foo"):
        save(figure, tmp_path / "a.foo")
    assert not (tmp_path / "a.foo").exists()


def test_a_character_that_no_font_has_is_no_warning(tmp_path: Path) -> None:
    figure = canvas(1, 1)
    figure.text(0, 0, "\N{OPEN BOX}\N{EGYPTIAN HIEROGLYPH A001}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(figure, tmp_path / "a.png")
