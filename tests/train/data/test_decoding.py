"""Bytes as text, in pieces of any size, and what is said of bytes that are none."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinytensor.train import DataError, load_text
from tinytensor.train.data.decoding import codec_name, text_pieces

ENCODINGS = [
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-7",
    "latin-1", "cp1252", "cp437", "koi8-r", "mac_roman", "ascii", "shift_jis", "euc_kr", "big5",
    "gb18030", "iso2022_jp", "hz", "unicode_escape",
]  # fmt: skip
LINES = st.lists(
    st.sampled_from(["\r", "\n", "\r\n", "a", "é", "я", "語", "\U0001f600", "\ufeff", "\u2028"])
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3),
    max_size=12,
).map("".join)


def read(data: bytes, encoding: str = "utf-8", size: int | None = None) -> str:
    """The text of these bytes, as of a file called book.txt."""
    pieces = list(text_pieces(io.BytesIO(data), "book.txt", encoding, size))
    assert all(pieces), "no piece is empty"
    return "".join(pieces)


@given(LINES, st.sampled_from(ENCODINGS), st.integers(1, 9))
@example("a\r\nb", "utf-8", 2)
@example("\ufeffa", "utf-8", 1)
@example("\ufeff\ufeffa", "utf-16", 1)
def test_the_size_of_the_pieces_does_not_change_the_text(
    text: str, encoding: str, size: int
) -> None:
    data = text.encode(encoding, "ignore")
    plain = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    if encoding not in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        plain = plain.removeprefix("\ufeff")
    expected = plain.replace("\r\n", "\n").replace("\r", "\n")
    assert read(data, encoding, size) == read(data, encoding) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030"])
def test_a_byte_order_mark_is_no_part_of_the_text(encoding: str) -> None:
    assert read("\ufeffone\r\ntwo\rthree".encode(encoding), encoding) == "one\ntwo\nthree"
    assert read("o\ufeffne".encode(encoding), encoding) == "o\ufeffne"


@pytest.mark.parametrize("size", [1, 7, None])
@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"0123456789caf\xe9 ol\xe9", "utf-8",
         "book.txt is not UTF-8 text (byte 13: invalid continuation byte); if it is from Windows "
         "in a Western language, --encoding cp1252 reads it"),
        (b"0123456789\xff", "utf-8", "(byte 10: invalid start byte); if it is from Windows"),
        ("smörgås"[:3].encode()[:3], "utf-8", "(byte 2: unexpected end of data); it ends in the "
         "middle of a character, as a cut-off file does"),
        ("яю".encode("utf-16"), "utf-8", "(byte 0: invalid start byte); it starts with the mark of "
         "UTF-16: --encoding utf-16 reads it"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "ascii", "is not ascii text (byte 0: ordinal not in range(128)"
         "); it starts with the mark of UTF-8: --encoding utf-8 reads it"),
        (b"\xef\xbb\xbfabc\xff", "utf-8", "is not UTF-8 text (byte 6: invalid start byte)"),
        (b"ab\x81", "cp1252", "is not cp1252 text (byte 2: character maps to <undefined>)"),
        (b"a\0b\0c", "utf-16-le", "is not UTF-16-LE text (byte 4: truncated data)"),
        (b"a\0b\0", "utf-16", "(UTF-16 stream does not start with BOM)"),
        (b"abc\x82", "shift_jis", "is not shift_jis text (byte 3: "),
    ],
)  # fmt: skip
def test_bytes_that_are_no_text_are_placed_and_explained(
    data: bytes, encoding: str, message: str, size: int | None
) -> None:
    with pytest.raises(DataError) as error:
        read(data, encoding, size)
    assert message in str(error.value) and str(error.value).startswith("data: book.txt")


def test_the_place_counts_from_the_start_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes("é".encode() * 300_000 + b"\xe9!")
    with pytest.raises(DataError, match=r"long.txt is not UTF-8 text \(byte 600000: "):
        load_text(file)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(range(16)) * 4 + bytes(64), "68 of its first 128 bytes are NUL, as in a binary"),
        (b"\x7fELF" + bytes(20_000), "8,188 of its first 8,192 bytes are NUL"),
        ("one two".encode("utf-16-le"), "UTF-16 without a byte-order mark, --encoding utf-16-le"),
        ("one two".encode("utf-16-be"), "UTF-16 without a byte-order mark, --encoding utf-16-be"),
        (codecs.BOM_UTF16_BE + "one two".encode("utf-16-be"), "the mark of UTF-16: --encoding utf"),
        ("one two".encode("utf-32"), "the mark of UTF-32: --encoding utf-32 reads it"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_binary_files_are_named_as_such(data: bytes, message: str, encoding: str) -> None:
    with pytest.raises(DataError, match=message):
        read(data, encoding)
    assert read(b"0123456789\0" * 3 + b" " * 40) == "0123456789\0" * 3 + " " * 40, "a few are text"


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("utf8x", "latin-1, got 'utf8x'; did you mean"),
        ("cp1253x", "did you mean cp1253"),
        ("base64x", "got 'base64x'"),
        ("hex", "or latin-1, got 'hex'"),
        ("rot13", "or latin-1, got 'rot13'"),
        ("punycode", "or latin-1, got 'punycode'"),
        ("", "expected a text encoding, such as utf-8, utf-16, cp1252 or latin-1, got ''"),
        ("a\0b", "expected a text encoding"),
        ("\ud800", "expected a text encoding"),
        ("../x", "expected a text encoding"),
    ],
)
def test_an_encoding_that_is_none_is_refused(encoding: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        codec_name(encoding)
    with pytest.raises(DataError, match="encoding: expected a text encoding"):
        read(b"abc", encoding)


def test_what_is_no_text_encoding_is_not_suggested() -> None:
    with pytest.raises(DataError) as caught:
        codec_name("base64")
    assert "base64" not in str(caught.value).replace("got 'base64'", "")


def test_encodings_have_their_usual_other_names() -> None:
    assert codec_name("UTF8") == codec_name("utf-8") == "utf-8"
    assert codec_name("Windows-1252") == "cp1252" and codec_name("latin1") == "iso8859-1"
