"""Names of files, folders and patterns, and the texts of several files as one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tinytensor.train import DataError, TextFiles, load_text
from tinytensor.train.data.files import absolute_names

from ..helpers import environment

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with texts."""
    for name, content in {
        "b.txt": "b\n", "a.txt": "a", "data/z.txt": "z", "data/x/y.txt": "y", "data/x/q.md": "q",
        "data/.hidden": "h", "data/.git/config": "g", "data/empty.txt": "", "void/.only": "o",
        "[1].txt": "one", "1.txt": "other", "x*": "star", "xy": "no star",
    }.items():  # fmt: skip
        if os.name == "nt" and "*" in name:
            continue
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(names: str | Path | list[str] | tuple[str, ...]) -> str:
    """The whole text."""
    return "".join(TextFiles(names).pieces())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a.txt", "a"),
        (["b.txt", "a.txt"], "b\na"),
        (("a.txt", "b.txt"), "a\nb\n"),
        ("data", "q\ny\nz"),
        (["a.txt", "data", "b.txt"], "a\nq\ny\nz\nb\n"),
        ("data/*", "z"),
        ("data/**/*.txt", "y\nz"),
        ("data/**", "q\ny\nz"),
        ("?.txt", "other\na\nb\n"),
        ("[1].txt", "one"),
        ("[a1].txt", "other\na"),
        (["a.txt", "*.txt"], "a\nother\none\nb\n"),
    ],
)
def test_names_folders_and_patterns(names: list[str], expected: str, books: Path) -> None:
    assert text(names) == expected


@pytest.mark.skipif(os.name == "nt", reason="no such names on Windows")
def test_what_exists_comes_before_what_matches(books: Path) -> None:
    assert text("x*") == "star"
    assert TextFiles("x[*]").files == [Path("x*")]


def test_a_file_found_twice_is_read_once(books: Path) -> None:
    os.link("a.txt", "same.txt")
    corpus = TextFiles(["a.txt", "./a.txt", "same.txt", "b.txt"])
    assert [str(p) for p in corpus.files] == ["a.txt", "b.txt"]
    assert len(corpus) == len("a\nb\n")
    assert corpus.describe() == "2 files, 3 bytes, a.txt and 1 more are named twice and read once"
    corpus = TextFiles(["b.txt", "b.txt"])
    assert corpus.describe() == "b.txt, b.txt is named twice and read once"


def test_a_line_says_how_many_files_and_how_large(books: Path) -> None:
    (books / "big.txt").write_text("x" * 1_260_000)
    corpus = TextFiles(["big.txt", "a.txt", "data"])
    assert corpus.describe() == "6 files"
    assert len(corpus) == 1_260_000 + len("\na\nq\ny\nz")
    assert corpus.describe() == "6 files, 1.3 MB"
    alone = TextFiles("big.txt")
    assert alone.fingerprint and alone.describe() == "big.txt, 1.3 MB"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.txt", "none.txt"], "cannot read none.txt: No such file or directory"),
        ("*.rst", "no file matches *.rst"),
        ("void/*", "no file matches void/*"),
        ("v*", "no file matches v*"),
        ("void", "the folder void has no files (hidden ones do not count)"),
        ("", "expected a path, got ''"),
        (["a.txt", ""], "expected a path, got ''"),
        ([], "expected the name of a file, folder or pattern, got none"),
        ("a\0b", "expected a path without control characters, got '\\x00' in"),
        ("a\0*", "expected a path without control characters, got '\\x00' in"),
        ("a.txt/b", "cannot read a.txt/b: Not a directory"),
        ("x" * 300, "File name too long"),
        ("/dev/fd/987", "; it was a pipe, which is there only once: name a file"),
        ("data/empty.txt", "data/empty.txt is empty"),
        (["data/empty.txt", "empty*"], "all 2 files are empty"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="the system says it in other words")
def test_what_is_not_there_is_named(names: list[str], message: str, books: Path) -> None:
    (books / "empty2.txt").write_bytes(b"")
    with pytest.raises(DataError) as error:
        len(TextFiles(names))
    assert str(error.value).startswith("data: ") and message in str(error.value)


def test_an_error_names_the_file(books: Path) -> None:
    (books / "data" / "latin.txt").write_bytes(b"caf\xe9 ")
    with pytest.raises(DataError, match=r"latin.txt is not UTF-8 text \(byte 3"):
        len(TextFiles(["a.txt", "data"]))
    assert TextFiles("data/latin.txt", encoding="cp1252").tokenizer.symbols == " acfé"


def test_each_file_may_have_its_mark_and_line_ends(books: Path) -> None:
    (books / "a.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r")
    (books / "b.txt").write_bytes(b"\xef\xbb\xbf\r\nc")
    assert text(["a.txt", "b.txt", "a.txt"]) == "a\nb\n\nc"


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_to_files_count_and_links_to_folders_are_not_followed(books: Path) -> None:
    os.symlink("../../a.txt", "data/x/link.txt")
    os.symlink("..", "data/x/loop")
    os.symlink("nowhere", "data/broken.txt")
    os.symlink("data", "shelf")
    assert text("data") == "a\nq\ny\nz" == text("shelf")
    with pytest.raises(DataError, match="cannot read data/broken.txt: No such file"):
        text("data/broken.txt")


@pytest.mark.skipif(os.name == "nt", reason="other names on Windows")
def test_absolute_names_stand_for_the_same_files_elsewhere(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = books / "[odd] *"
    shelf.mkdir()
    for name in ("a.txt", "b.txt", "[x].txt"):
        (shelf / name).write_text(name)
    monkeypatch.chdir(shelf)
    names = ("a.txt", "[ab].txt", "[x].txt", "*.md", str(books / "?.txt"), ".")
    whole = absolute_names(names)
    assert whole[0] == str(shelf / "a.txt") and whole[2] == str(shelf / "[x].txt")
    assert whole[4] == str(books / "?.txt")
    found = [TextFiles(name).files for name in names if name != "*.md"]
    monkeypatch.chdir(books)
    again = [TextFiles(name).files for name in whole if not name.endswith(".md")]
    assert [[p.name for p in paths] for paths in found] == [
        [p.name for p in paths] for paths in again
    ]
    assert absolute_names("a.txt") == (str(books / "a.txt"),)


@pipes
def test_what_can_be_read_only_once_is_read_twice(books: Path) -> None:
    os.mkfifo("pipe")
    content = "line of a pipe\r\n" * 50_000
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(content.encode()))
    writer.start()
    corpus = TextFiles(["a.txt", "pipe", "b.txt"])
    ids = corpus.ids()
    writer.join()
    assert corpus.tokenizer.decode(ids) == "a\n" + content.replace("\r\n", "\n") + "b\n"
    assert corpus.describe() == "3 files, 800.0 kB"
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(b"once"))
    writer.start()
    assert load_text("pipe") == "once"
    writer.join()


@pipes
def test_folders_and_patterns_take_regular_files_only(books: Path) -> None:
    os.mkfifo("data/pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("data/socket")
        assert text("data") == text("data/**") == "q\ny\nz"
        with pytest.raises(DataError, match="cannot read data/socket"):
            text("data/socket")
    for device in ("/dev/null", "/dev/zero"):
        with pytest.raises(DataError, match=f"{device} is a device, not a text"):
            text(device)


@pipes
@pytest.mark.parametrize("through", ["pipe", "file"])
def test_standard_input_is_a_file_like_others(books: Path, through: str) -> None:
    code = (
        "from tinytensor.train import TextFiles; t = TextFiles('/dev/stdin');"
        "print(t.tokenizer.decode(t.ids()))"
    )
    (books / "in.txt").write_text("from standard input")
    with open("in.txt", "rb") as file:
        given = {"input": file.read()} if through == "pipe" else {"stdin": file}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(),
            capture_output=True,
            **given,  # type: ignore[call-overload]
        )
    assert done.stdout == b"from standard input\n", done.stderr


def test_the_home_folder_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is in all other names of files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "a.txt").write_text("abc")
    assert TextFiles("~/a.txt").files == TextFiles("~/*.txt").files == [tmp_path / "a.txt"]
    assert load_text("~/a.txt") == "abc"
