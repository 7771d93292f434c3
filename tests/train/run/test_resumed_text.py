"""What is said where a resumed run finds another text than it had."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train import DataError, Trainer
from tinytensor.train import checkpoint as files
from tinytensor.train.cli import run
from tinytensor.train.data import corpus

from ..helpers import config

OLD = "help of one Python\n" * 20
NEW = OLD.replace("one", "another")


def python(patch: pytest.MonkeyPatch, version: str, text: str) -> None:
    """Be this version of Python, with this text."""
    patch.setattr(platform, "python_version", lambda: version)
    patch.setattr(corpus, "default_corpus", lambda: text)


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on the help topics of Python 3.11.7."""
    python(monkeypatch, "3.11.7", OLD)
    trainer = saved(tmp_path / "run")
    assert trainer.task.corpus.describe() == "the help topics of Python"
    return tmp_path / "run"


def saved(folder: Path, text: str | None = None, **settings: Any) -> Trainer:
    """A run that has saved its checkpoint after a step."""
    trainer = Trainer(config(steps=2, **settings), text, folder)
    trainer.train_step()
    folder.mkdir()
    trainer.save()
    return trainer


def edit(folder: Path, **meta: Any) -> None:
    """Change a checkpoint's meta."""
    content = files.load(folder / files.NAME)
    content.meta.update(meta)
    files.save(folder / files.NAME, content)


def test_the_corpus_of_another_python_is_named(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python(monkeypatch, "3.13.0", OLD + "$")
    with pytest.raises(DataError) as error:
        Trainer.resume(trained)
    assert str(error.value).endswith(
        "the checkpoint 12; not in the checkpoint: '$'; the checkpoint was trained on the help "
        "topics of Python 3.11.7, which are not those of Python 3.13.0: go on with Python 3.11.7; "
        "a new run on files (--data) would not depend on it"
    )
    edit(trained, origin=None)
    with pytest.raises(DataError, match=r"help topics of another Python than this one \(3.13.0\)"):
        Trainer.resume(trained)


def test_the_same_characters_in_another_text_are_a_note(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python(monkeypatch, "3.12.1", OLD + "help")
    assert run(["train", "--resume", "--out", str(trained), "--steps", "3"]) == 0
    assert capsys.readouterr().err == (
        "note: the text is not the one of the checkpoint; the checkpoint was trained on the help "
        "topics of Python 3.11.7, which are not those of Python 3.12.1: go on with Python 3.11.7; "
        "a new run on files (--data) would not depend on it\n"
    )
    same = Trainer.resume(trained)
    assert same.same_text and same.text_note == "", "from here on it is the one of Python 3.12.1"


def test_the_same_text_in_another_python_is_no_matter(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python(monkeypatch, "3.12.1", OLD)
    trainer = Trainer.resume(trained)
    assert trainer.same_text and trainer.text_note == ""
    python(monkeypatch, "3.11.7", OLD + "help")  # as a distribution may have changed it
    trainer = Trainer.resume(trained)
    assert not trainer.same_text and trainer.text_note == ""


@pytest.mark.parametrize("origin", [3, [], {}, "python", "python \x1b[31m", "python 3.1.1\n", ""])
def test_an_origin_that_is_none_says_nothing(
    origin: Any, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(trained, origin=origin)
    python(monkeypatch, "3.12.1", OLD + "help")
    trainer = Trainer.resume(trained)
    assert not trainer.same_text and trainer.text_note == ""


def test_files_and_strings_are_told_apart(tmp_path: Path) -> None:
    book, other = tmp_path / "book.txt", tmp_path / "other.txt"
    book.write_text(OLD)
    other.write_text(OLD * 2)
    saved(tmp_path / "run", data=str(book))
    assert Trainer.resume(tmp_path / "run").same_text
    assert Trainer.resume(tmp_path / "run", {"data": str(other)}).text_note == ""
    book.write_text(OLD + "help")
    assert Trainer.resume(tmp_path / "run").text_note == "the files have changed since"
    book.write_text(NEW)
    with pytest.raises(DataError, match="not in the checkpoint: .*; the files have changed since$"):
        Trainer.resume(tmp_path / "run")

    saved(tmp_path / "given", OLD)
    assert Trainer.resume(tmp_path / "given", text=OLD).same_text
    with pytest.raises(DataError, match="was trained on a string: give the same to Trainer.resume"):
        Trainer.resume(tmp_path / "given")


def test_a_run_is_resumed_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(OLD)
    saved(tmp_path / "run", data="*.txt")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    trainer = Trainer.resume(tmp_path / "run")
    assert trainer.same_text and trainer.task.corpus.describe() == "2 files, 760 bytes"
