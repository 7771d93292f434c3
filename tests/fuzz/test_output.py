"""Texts of all kinds on streams of all encodings: what arrives, and that nothing is raised."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinytensor.train.cli.output import Output
from tinytensor.train.system.terminal import one_line, printable

from .budget import budget

#: of Python's codecs, those that a console, a file or a mistake may name
ENCODINGS = [
    "ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-7", "cp1252", "cp437",
    "cp850", "cp1251", "cp932", "cp949", "gb18030", "big5", "shift_jis", "euc_jp", "iso2022_jp",
    "iso2022_kr", "hz", "koi8-r", "latin-1", "cp037", "mac-roman", "idna", "punycode",
    "raw_unicode_escape", "unicode_escape", "charmap", "no-such-codec",
]  # fmt: skip
ERRORS = ["strict", "replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass",
          "xmlcharrefreplace", "namereplace"]  # fmt: skip
ACTING = [chr(c) for c in (0, 7, 8, 0x0D, 0x1B, 0x7F, 0x9B, 0x2028, 0x202E, 0x2066, 0xD800, 0xDC80)]
texts = st.text(
    st.one_of(
        st.characters(codec=None), st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp"]),
        st.sampled_from([*ACTING, "─", "━", "│", "\n", "\t", "é", "Ж", "漢", "😀"]),
    ),
    max_size=40,
)  # fmt: skip
counts: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def told() -> Iterator[None]:
    """How many examples there were, at the end."""
    yield
    print("\nfuzz: output:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))


@budget(800)
@given(texts)
@example("".join(map(chr, range(0x110000))))
def test_no_acting_character_is_left(text: str) -> None:
    counts["texts made printable"] += 1
    for shown, kept in [(printable(text), "\n\t"), (one_line(text), "")]:
        for character in set(shown) - set(kept):
            code = ord(character)
            assert not (code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000)
            assert code not in (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    assert printable(printable(text)) == printable(text)
    assert printable(shown) == shown and "\n" not in shown
    if text.isprintable():
        assert printable(text) == text
    shown.encode("utf-8")


class Narrow(io.TextIOBase):
    """A stream with an encoding, and whatever Python would say to it."""

    def __init__(self, raw: io.RawIOBase, encoding: str, errors: str):
        self.buffer = io.BufferedWriter(raw)  # type: ignore[arg-type]
        self._names = encoding, errors

    encoding = property(lambda self: self._names[0])  # type: ignore[assignment]
    errors = property(lambda self: self._names[1])  # type: ignore[assignment]


class Kept(io.RawIOBase):
    """Keeps what is written; takes few bytes at a time, and fails where it is told to."""

    def __init__(self, few: int, fails: int | None):
        self.kept, self.few, self.calls, self.fails = b"", few, 0, fails

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.calls += 1
        if self.calls == self.fails:
            raise OSError(28 if self.few % 2 else 32, os.strerror(28))
        part = bytes(data)[: self.few]  # type: ignore[call-overload]
        self.kept += part
        return len(part)


@budget(1500)
@given(
    st.lists(texts, max_size=6), st.sampled_from(ENCODINGS), st.sampled_from(ERRORS),
    st.integers(1, 50), st.none() | st.integers(1, 20),
)  # fmt: skip
def test_every_text_in_every_encoding(
    parts: list[str], encoding: str, errors: str, few: int, fails: int | None
) -> None:
    counts["writings"] += 1
    raw = Kept(few, fails)
    out = Output(Narrow(raw, encoding, errors))  # type: ignore[arg-type]
    for part in parts:
        assert out.write(part) == len(part)
    out.flush()
    whole = "".join(parts)
    failed = fails is not None and raw.calls >= fails
    assert (out.lost is not None) == failed
    if failed:
        counts["of them cut short by an error of the system"] += 1
        return
    if encoding.startswith(("utf-8", "utf-16", "utf-32")) and errors in ("strict", "replace"):
        right = "".join("?" if "\ud800" <= c < "\ue000" else c for c in whole)
        assert raw.kept.decode(encoding) == right.replace("\n", os.linesep)
    if encoding == "ascii" and errors == "strict":
        assert len(raw.kept) == len(whole.replace("\n", os.linesep))
    if whole.isascii() and encoding in ("ascii", "latin-1", "cp1252", "no-such-codec"):
        assert raw.kept == whole.replace("\n", os.linesep).encode("ascii")
