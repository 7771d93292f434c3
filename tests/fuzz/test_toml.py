"""Odd TOML files for ``--config``: each is taken, or refused in one clear line."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinytensor.train import ConfigError, TrainConfig
from tinytensor.train.config.toml_file import load_toml

from .budget import budget

NAMES = sorted(TrainConfig.__dataclass_fields__)
#: as a user, an editor or a script of theirs may write them
VALUES = [
    "3", "-1", "0", "1.5", "true", '"text"', "'text'", '""', "nan", "-inf", "1e400", "1e-400",
    str(2**31), str(2**63), "9" * 400, "9" * 5000, "0x" + "f" * 5000, "1_000", "01", "2026-01-01",
    "07:32:00", "2026-01-01T00:00:00Z", "[]", '["a", "b"]', "[1, 'a']", "[[[]]]", "{}", "{a = 1}",
    '"C:\\Users\\me\\book.txt"', '"D:\\texts\\new.txt"', "'C:\\Users\\me'", '"runs\\new"',
    '"a\\u0000b"',
    '"\\ud800"', '"\\U0010ffff"', "'~/x'", "'~nobody-of-this-name'", "'~'", '"""a\nb"""', "gpt", "",
    "'rnn'", "'utf-16'", "'base64'", "'x' # why", "[" * 500, "[" * 500 + "]" * 500,
    "{a=" * 500 + "1" + "}" * 500, "'" + "x" * 5000 + "'", "é", "'\u202e'", "'\x07'",
]  # fmt: skip
KEYS = [
    *NAMES,
    "a.b",
    '""',
    "'\\n'",
    "n-layer",
    "stesp",
    ".".join("a" * 600),
    '"\\u0007"',
    "é",
    "x" * 5000,
]
HEADS = ["[model]", "[a.b]", "[[runs]]", "[" + ".".join("a" * 600) + "]", "[]", "[steps]", "# note"]
#: lines that are as they should be
GOOD = [
    f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
    for name, value in ((f.name, f.metadata["default"]) for f in fields(TrainConfig))
    if value is not None
] + ["data = ['a.txt', 'b.txt']", "data = '~/a.txt'", "out = 'run'", "n_layer = 2", "bias = true"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1"]
counts: Counter[str] = Counter()


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file of settings: some of its lines odd, its encoding perhaps, a few bytes changed."""
    lines = []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.integers(0, 4)) == 0:
            lines.append(draw(st.sampled_from(HEADS)))
        if draw(st.integers(0, 2)):
            lines.append(draw(st.sampled_from(GOOD)))
            continue
        key = draw(st.sampled_from(KEYS if draw(st.integers(0, 3)) == 0 else NAMES))
        lines.append(f"{key} = {draw(st.sampled_from(VALUES))}")
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from([*["utf-8"] * 6, *ENCODINGS]))
    content = bytearray((end.join(lines) + end).encode(encoding, "replace"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        if content:
            content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content[: draw(st.integers(0, len(content)))] if draw(st.integers(0, 9)) == 0
                 else content)  # fmt: skip


def judge(content: bytes, file: Path) -> None:
    """Settings that make a config or are refused; whatever else is raised is a fault."""
    file.write_bytes(content)
    counts["tried"] += 1
    try:
        values = load_toml(file)
        assert set(values) <= set(NAMES)
        TrainConfig.from_dict(values, where="train")
        counts["taken"] += 1
    except ConfigError as error:
        line = str(error)
        assert "file.toml" in line or line.startswith("train: "), line
        assert len(line) < 1500, line
        counts["refused"] += 1


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where to write."""
    return tmp_path_factory.mktemp("toml") / "file.toml"


@given(content=files())
@example(content=b"steps = " + b"[" * 100_000)
@example(content=b"\xef\xbb\xbfsteps = 3\n")
@example(content=b"a." * 5000 + b"a = 1\n")
@budget(1000)
def test_files_of_odd_settings(file: Path, content: bytes) -> None:
    judge(content, file)


@given(content=st.binary(max_size=200))
@budget(300)
def test_any_bytes(file: Path, content: bytes) -> None:
    judge(content, file)


def test_how_many_were_tried() -> None:
    print(f"TOML files: {counts['tried']} tried, {counts['refused']} refused in one line", end=" ")
    print(f"(Python {sys.version_info.major}.{sys.version_info.minor})")
