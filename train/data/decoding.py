"""Bytes of a file as text, piece by piece, and what is wrong where they are none."""

from __future__ import annotations

import codecs
import difflib
import encodings.aliases
import io
from collections.abc import Iterator
from typing import IO

from ..given.values import shown as quoted
from ..given.words import cause
from .errors import DataError

PIECE = 1 << 16  # bytes, or characters of a string, looked at in one go
HEAD = 8192  # bytes at the start of a file by which to tell that it is no text

MARK = "\ufeff"  # the byte-order mark, as a character
MARKS = {  # in this order: UTF-32's starts with UTF-16's
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
TAKE_MARK = ("utf-8-sig", "utf-16", "utf-32")  # codecs that read and drop the mark by themselves
DOMAIN_NAMES = ("idna", "punycode")  # encodings of single words, not of files


def codec_name(encoding: str) -> str:
    """Python's name of a text encoding.

    Raises:
        DataError: Python knows no text encoding of this name; similar ones are named.
    """
    if name := _text_codec(encoding):
        return name
    known = {*encodings.aliases.aliases, *encodings.aliases.aliases.values()}
    wanted = str(encoding).lower().replace("_", "-")
    similar = difflib.get_close_matches(wanted, sorted(n.replace("_", "-") for n in known), n=9)
    close = [name for name in similar if _text_codec(name)][:3]
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise DataError(
        "encoding: expected a text encoding, such as utf-8, utf-16, cp1252 or latin-1, got "
        f"{quoted(encoding)}{hint}"
    )


def _text_codec(encoding: str) -> str | None:
    """Python's name of a text encoding, None where it has none of this name."""
    try:
        "".encode(encoding)  # refuses what turns bytes into bytes, as base64 does
        codecs.getincrementaldecoder(encoding)
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError, ImportError, TypeError):
        return None
    return None if name in DOMAIN_NAMES else name


def text_pieces(
    file: IO[bytes], name: str, encoding: str = "utf-8", size: int | None = None
) -> Iterator[str]:
    """The text of a file without its byte-order mark, in pieces; every line end becomes ``\\n``.

    Args:
        file: open for reading, and seekable; it is read from its start.
        name: of the file, for messages.
        encoding: any text encoding that Python knows.
        size: bytes of a piece; the text is the same with each.

    Raises:
        DataError: no text in this encoding (the message gives the place in bytes and, where the
            cause can be guessed, what to do), no such encoding, or the file cannot be read.
    """
    codec = codec_name(encoding)
    if codec == "utf-8":
        codec = "utf-8-sig"
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(codec)(), translate=True)
    size = PIECE if size is None else size
    try:
        file.seek(0)
        head = file.read(HEAD)
        refuse_binary(head, name, codec)
        file.seek(0)
        done, started = 0, codec in TAKE_MARK
        while True:
            data = file.read(size)
            done += len(data)
            piece = decoder.decode(data, final=not data)
            if piece and not started:
                piece, started = piece.removeprefix(MARK), True
            if piece:
                yield piece
            if not data:
                return
    except UnicodeDecodeError as error:
        at = done - len(error.object) + error.start
        raise DataError(
            f"data: {name} is not {shown(encoding)} text (byte {at}: {error.reason})"
            f"{advice(head, error)}"
        ) from None
    except UnicodeError as error:  # without a place: a byte-order mark is missing, say
        raise DataError(f"data: {name} is not {shown(encoding)} text ({error})") from None
    except OSError as error:
        raise DataError(f"data: cannot read {name}: {cause(error)}") from None


def refuse_binary(head: bytes, name: str, codec: str) -> None:
    """Raise DataError where a file's first bytes have more NULs than a text has, one in twenty."""
    zeros = head.count(0)
    if codec.startswith(("utf-16", "utf-32")) or zeros <= len(head) // 20:
        return
    hint = marked(head)
    odd = head[1::2].count(0)
    if not hint and zeros > len(head) // 4 and max(odd, zeros - odd) > 0.95 * zeros:
        order = "le" if odd > zeros - odd else "be"
        hint = f"; if it is UTF-16 without a byte-order mark, --encoding utf-16-{order} reads it"
    raise DataError(
        f"data: {name} is not text: {zeros:,} of its first {len(head):,} bytes are NUL"
        f"{hint or ', as in a binary file'}"
    )


def marked(head: bytes) -> str:
    """What to do about a file that starts with another encoding's byte-order mark, or ""."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            upper = encoding.upper()
            return f"; it starts with the mark of {upper}: --encoding {encoding} reads it"
    return ""


def advice(head: bytes, error: UnicodeDecodeError) -> str:
    """What to do about bytes that don't decode, where that can be guessed, or ""."""
    if hint := marked(head):
        return hint
    if error.encoding != "utf-8":
        return ""
    if error.reason == "unexpected end of data":
        return "; it ends in the middle of a character, as a cut-off file does"
    try:
        around = error.object[max(0, error.start - 40) : error.start + 40].decode("cp1252")
    except UnicodeDecodeError:
        return ""
    if not all(c.isprintable() or c.isspace() for c in around):
        return ""
    return "; if it is from Windows in a Western language, --encoding cp1252 reads it"


def shown(encoding: str) -> str:
    """An encoding as messages write it."""
    return encoding.upper() if encoding.lower().startswith("utf") else encoding
