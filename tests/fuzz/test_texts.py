"""Hostile texts: through files, tokenizer and stream, only clear errors; what is text comes back.

Each example is compared with what Python's own ``open(..., newline=None)`` reads: where that
succeeds, so must we, with the same characters (unless the file has as many NULs as a binary one).
"""

from __future__ import annotations

import atexit
import codecs
import io
import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor.train import CharTokenizer, DataError, TextFiles, TextString, TokenStream
from tinytensor.train.data import decoding, storage, tokenizer

from .budget import budget

COUNTS: Counter[str] = Counter()


@atexit.register
def _report() -> None:
    if COUNTS:
        told = ", ".join(f"{n:,} {what}" for what, n in sorted(COUNTS.items()))
        print(f"\nfuzz of texts: {told}")


@pytest.fixture(scope="module", autouse=True)
def _small_pieces() -> object:
    """Ids go to a file early, so that both ways are tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "IN_MEMORY", 40)
        yield


ENCODINGS = [
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-7",
    "ascii", "latin-1", "cp1252", "cp437", "koi8-r", "mac_roman", "shift_jis", "cp932", "euc_jp",
    "iso2022_jp", "euc_kr", "big5", "gb18030", "hz", "unicode_escape",
]  # fmt: skip
MARKS = [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE]
PARTS = ["\0", "\ufeff", "\r", "\n", "\r\n", "\x85", "\u2028", "\x1b[31m", "\u202e", "a", "é",
         "語", "\ud800", "\udfff", "\U0001f600", "\U0010ffff", "\x7f", "\x1a", "+", "~{",
         "\\"]  # fmt: skip
characters = st.characters(exclude_categories=())
strings = st.lists(st.sampled_from(PARTS) | st.text(characters, max_size=4), max_size=30)
texts = st.builds("".join, strings) | st.text(characters, max_size=40)


@st.composite
def file_sets(draw: st.DrawFn) -> tuple[list[bytes], str]:
    """The contents of some files, and the encoding to read them in."""
    encoding = draw(st.sampled_from(ENCODINGS))
    own = contents(st.just(encoding))
    file = st.one_of(own, own, own, contents(st.sampled_from(ENCODINGS)))
    return draw(st.lists(file, min_size=1, max_size=3)), encoding


@st.composite
def contents(draw: st.DrawFn, encodings: st.SearchStrategy[str]) -> bytes:
    """The bytes of a file: a text in an encoding, marked, cut, damaged; or just bytes."""
    kind = draw(st.sampled_from(["text", "text", "text", "long", "long", "bytes"]))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    encoding = draw(encodings)
    data = draw(texts).encode(encoding, draw(st.sampled_from(["ignore", "replace"])))
    if kind == "long":
        data *= draw(st.integers(2, 200))
    if draw(st.integers(0, 9)) == 9:
        data = draw(st.sampled_from(MARKS)) + data
    if data and draw(st.integers(0, 9)) == 9:
        data = data[: draw(st.integers(0, len(data)))]
    if data and draw(st.integers(0, 9)) == 9:
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(min_size=1, max_size=2)) + data[at + 1 :]
    return data


def expected(data: bytes, encoding: str) -> str | None:
    """What Python reads; None where it can't."""
    codec = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    try:
        # decoded bit by bit, as a file is: only so does UTF-16 without a mark fail
        text = codecs.getincrementaldecoder(codec)().decode(data, final=True)
    except UnicodeError:
        return None
    text = io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)
    return text if codec in ("utf-8-sig", "utf-16", "utf-32") else text.removeprefix("\ufeff")


@budget(600)
@given(
    file_sets(),
    st.sampled_from([1, 2, 3, 5, 64, 1 << 16]),
    st.integers(1, 8),
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of unicode_escape, for its backslashes
def test_files(files_read: tuple[list[bytes], str], piece: int, block: int) -> None:
    COUNTS["sets of files tried"] += 1
    files, encoding = files_read
    whole = ""
    for text in (expected(data, encoding) for data in files):
        if text is None:
            whole = ""
            break
        whole += "\n" * (bool(whole and text) and not whole.endswith("\n")) + text
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    zeros = not wide and any(data[:8192].count(0) * 20 > len(data[:8192]) for data in files)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE", piece)
        paths = [Path(folder, f"{i}.txt") for i in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.write_bytes(data)
        corpus = TextFiles(folder if piece % 2 else [str(path) for path in paths], encoding)
        try:
            ids = corpus.ids()
        except DataError as error:
            COUNTS["sets of files refused"] += 1
            line = str(error)
            assert "\n" not in line.replace(folder, "") and line.startswith("data: "), line
            assert not whole or zeros, f"{line}, but Python reads {whole!r}"
            return
        assert whole and corpus.tokenizer.decode(ids) == whole
        assert corpus.tokenizer == CharTokenizer.from_text(whole)
        assert corpus.fingerprint == TextString(whole).fingerprint
        check_stream(ids, block)
        del ids  # on Windows, the folder can't go before


@budget(600)
@given(texts, texts, st.sampled_from([1, 2, 7, 1 << 16]), st.integers(1, 8))
def test_strings(text: str, other: str, piece: int, block: int) -> None:
    COUNTS["strings tried"] += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE", piece)
        patch.setattr(tokenizer, "PIECE", piece)
        corpus = TextString(text)
        if not text:
            with pytest.raises(DataError, match="the text is empty"):
                corpus.ids()
            COUNTS["strings refused"] += 1
            return
        ids = corpus.ids()
        assert corpus.tokenizer.decode(ids) == text
        assert corpus.tokenizer.symbols == "".join(sorted(set(text)))
        check_stream(ids, block)
        if set(other) <= set(text):
            assert corpus.tokenizer.decode(corpus.tokenizer.encode(other)) == other
        else:
            with pytest.raises(DataError, match="not among the"):
                corpus.tokenizer.encode(other)
            kept = "".join(c for c in other if c in text)
            assert corpus.tokenizer.decode(corpus.tokenizer.encode(other, "")) == kept


names = st.sampled_from(["a", "./a", "a*", "?", "[a-z]", "**", ".", "**/a", "b/../a"]) | st.text(
    st.sampled_from("ab*?[]!/\\.~\0\n é\udc80$%") | characters, max_size=12
)


@budget(300)
@given(st.lists(names, max_size=3), names)
def test_names(given_names: list[str], encoding: str) -> None:
    """Names that are hostile, in a folder with one file: it is read, or one line says why not."""
    COUNTS["names tried"] += 1
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("a").write_text("text")
            # from this folder, not from above it: the machine's files are not ours to read
            inside = [name for name in given_names if not os.path.isabs(name)]
            inside = [name for name in inside if ".." not in name.split("/")[0]]
            assert len(TextFiles(inside)) == 4
            try:
                assert len(TextFiles("a", encoding)) == 4  # "L1" is one that Python has
            except DataError as error:
                assert "encoding: " in str(error), error
        except DataError as error:
            COUNTS["names refused"] += 1
            assert str(error).startswith("data: "), error
        finally:
            os.chdir(home)


def check_stream(ids: np.ndarray, block: int) -> None:
    """A stream's blocks are the ids, or the line says that they are too few."""
    try:
        stream = TokenStream(ids, block, 0.3, rng=tt.Generator(1))
    except DataError as error:
        COUNTS["streams refused"] += 1
        assert "split is too short for a block" in str(error)
        return
    cut = int(len(ids) * (1.0 - 0.3))
    x, y = stream.batch(3)
    assert x.dtype == y.dtype == np.int64 and x.shape == y.shape == (3, block)
    np.testing.assert_array_equal(x[:, 1:], y[:, :-1])
    targets = [y.ravel() for _, y in stream.blocks("val", 2)]
    np.testing.assert_array_equal(np.concatenate(targets), ids[cut + 1 :])
