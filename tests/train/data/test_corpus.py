"""Texts of any size: ids in memory or in a file, and what may happen between two readings."""

from __future__ import annotations

import errno
import io
import mmap
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.train import CharTokenizer, DataError, TextFiles, TextString, TokenStream
from tinytensor.train.data import corpus_of, decoding, fingerprint, storage, stream
from tinytensor.train.given.words import readable

from ..helpers import environment

ANY = st.text(st.characters(exclude_categories=()), min_size=1)
TEXT = "the quick brown fox\njumps over\r the lazy dog é я 語 \U0001f600 \ud800\n" * 20


@pytest.fixture
def in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Ids of every number go to a file in this folder; pieces are small."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(storage, "IN_MEMORY", 10)
    monkeypatch.setattr(decoding, "PIECE", 100)
    return folder


@given(ANY, st.integers(1, 5))
def test_a_corpus_has_the_ids_of_its_text(text: str, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE", piece)
        corpus = TextString(text)
        ids = corpus.ids()
        assert len(corpus) == len(text) == len(ids)
        assert corpus.fingerprint == fingerprint(text)
    own = CharTokenizer.from_text(text)
    assert corpus.tokenizer == own and own.decode(ids) == text
    np.testing.assert_array_equal(ids, own.encode(text))


@pytest.mark.parametrize(
    ("symbols", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")]
)
def test_ids_are_of_the_smallest_type(symbols: int, dtype: str) -> None:
    text = "".join(map(chr, range(symbols)))
    assert TextString(text).ids().dtype == np.dtype(dtype)


def test_many_ids_go_to_a_file_that_has_no_name(in_a_file: Path) -> None:
    ids = TextString(TEXT).ids()
    assert isinstance(ids, np.memmap) and not ids.flags.writeable
    assert CharTokenizer.from_text(TEXT).decode(ids) == TEXT
    assert os.name == "nt" or not list(in_a_file.iterdir())


def test_blocks_from_a_file_are_those_from_memory(
    in_a_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "RESIDENT", 3 * stream.FAULT)  # let go every few blocks
    there = TokenStream(TextString(TEXT).ids(), 8, rng=tt.Generator(3))
    here = TokenStream(CharTokenizer.from_text(TEXT).encode(TEXT), 8, rng=tt.Generator(3))
    assert isinstance(there.train, np.memmap) and isinstance(there._file, mmap.mmap)
    pairs = [(there.batch(4), here.batch(4)) for _ in range(20)]
    pairs += list(zip(there.blocks("val", 3), here.blocks("val", 3), strict=True))
    for (x, y), (x2, y2) in pairs:
        assert type(x) is np.ndarray and x.dtype == y.dtype == x2.dtype == np.int64
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)


def test_ids_of_a_caller_are_neither_copied_nor_let_go(tmp_path: Path) -> None:
    ids = np.arange(1000, dtype=np.uint16)
    assert np.shares_memory(TokenStream(ids, 8).train, ids)
    ids.tofile(tmp_path / "ids")
    own = np.memmap(tmp_path / "ids", np.uint16, mode="c")
    own[:] = 7  # in memory only: letting the pages go would lose it
    assert TokenStream(own, 8)._file is None
    for wrong in (np.ones(50), np.ones(50, dtype=bool), ["a"] * 50):
        with pytest.raises(TypeError, match="ids: expected integers, got dtype"):
            TokenStream(wrong, 8)


def test_a_text_takes_little_more_memory_than_its_ids() -> None:
    """It took 25 bytes for each character."""
    for sample in ("the quick brown fox\n", "съешь же ещё\n"):
        text = sample * (1_500_000 // len(sample))
        tracemalloc.start()
        tokenizer = CharTokenizer.from_text(text)
        ids = tokenizer.encode(text)
        encoding = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        TextString(text).ids()
        storing = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        # 4 bytes stay of the one, 1 of the other; pieces and tables are some megabytes at most
        assert encoding < 4 * len(text) + 3e6 and encoding < 6 * len(text)
        assert storing < len(text) + 6e6
        assert ids.nbytes == 4 * len(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "x",
        lambda text: text[:-1],
        lambda text: text[::-1],
        lambda text: text.replace("q", "Q"),
        lambda text: "",
        lambda text: text * 40,
    ],
)
@pytest.mark.parametrize("disk", [True, False])
def test_a_file_that_changes_between_the_readings_is_an_error(
    change: Any, disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if disk:
        monkeypatch.setattr(storage, "IN_MEMORY", 10)
    file = tmp_path / "text.txt"
    file.write_text("the quick brown fox " * 30)
    corpus = TextFiles(file)
    assert corpus.tokenizer
    file.write_text(change(file.read_text()))
    with pytest.raises(DataError, match=r"text.txt, 600 bytes changed while being read"):
        corpus.ids()


def test_a_full_disk_is_one_clear_line(in_a_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(DataError) as error:
        TextString(TEXT).ids()
    assert str(error.value) == (
        f"data: cannot keep {len(TEXT):,} ids in a temporary file in {in_a_file}: No space left on "
        "device; TMPDIR names another folder for it"
    )


def test_the_temporary_folder_is_on_a_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert storage.scratch_folder() == str(tmp_path)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    if os.path.isdir("/var/tmp"):
        assert storage.scratch_folder() == "/var/tmp"


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL and named pipes")
def test_nothing_is_left_of_a_killed_process(in_a_file: Path) -> None:
    """Killed while its ids are in a file, and a pipe's text in another."""
    code = (
        "import os, signal; from tinytensor.train import TextFiles\n"
        "from tinytensor.train.data import storage; storage.IN_MEMORY = 10\n"
        "t = TextFiles('/dev/stdin'); ids = t.ids()\n"
        "print(len(ids), type(ids).__name__, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environ = {**environment(), "TMPDIR": str(in_a_file)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"abc" * 100_000, capture_output=True, env=environ
    )
    assert done.stdout == b"300000 memmap\n" and done.returncode == -9, done.stderr
    assert not list(in_a_file.iterdir())


def test_what_is_no_text_is_refused() -> None:
    for wrong in (b"abc", 3, Path("x")):
        with pytest.raises(DataError, match="text: expected a string, got a "):
            TextString(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="text: expected a string"):
            CharTokenizer.from_text(wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="data: the text is empty"):
        TextString("").ids()


def test_sizes_are_told_in_a_few_digits() -> None:
    told = [readable(n) for n in (1, 999, 1000, 12_100_000, 999_940_000, 999_960_000, 5e15)]
    assert told == ["1 bytes", "999 bytes", "1.0 kB", "12.1 MB", "999.9 MB", "1.0 GB", "5 PB"]


def test_a_string_comes_before_files_and_files_before_the_help_topics(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes("é".encode("latin-1"))
    assert list(corpus_of("b", [str(file)]).pieces()) == ["b"]
    assert list(corpus_of(None, [str(file)], "latin-1").pieces()) == ["é"]
    assert corpus_of(None, None).origin.startswith("python ")
