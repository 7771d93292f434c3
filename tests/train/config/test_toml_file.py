"""Settings in a TOML file: encodings, Windows' paths, and all that is no TOML, in one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinytensor.train import ConfigError
from tinytensor.train.cli import run
from tinytensor.train.config.toml_file import BACKSLASH, load_toml


def refused(content: str | bytes, tmp_path: Path) -> str:
    """What is said of a file with this content."""
    file = tmp_path / "run.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as error:
        load_toml(file)
    line = str(error.value)
    assert "\n" not in line and len(line) < 1000 and str(file) in line
    return line


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    """Notepad and PowerShell put it there."""
    file = tmp_path / "run.toml"
    file.write_bytes(b"\xef\xbb\xbfsteps = 7\r\ndata = 'caf\xc3\xa9.txt'\r\n")
    assert load_toml(file) == {"steps": 7, "data": "café.txt"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_another_encoding_is_named(encoding: str, tmp_path: Path) -> None:
    line = refused("data = 'café.txt'\n".encode(encoding), tmp_path)
    expected = {
        "utf-16": "run.toml is in UTF-16; save it as UTF-8",
        "utf-32": "run.toml is in UTF-32; save it as UTF-8",
        "cp1252": "run.toml is not UTF-8 (byte 11: invalid continuation byte); save it as UTF-8",
    }
    assert expected.get(encoding, "run.toml is not ") in line
    assert line.endswith("ave it as UTF-8")


@pytest.mark.parametrize(
    "line",
    [
        r'data = "C:\Users\me\book.txt"',  # \U is an escape of eight digits
        r'data = "C:\Data\book.txt"',  # \D is none
        r'data = "C:\x.txt"',
        r'data = "C:\ud800.txt"',
        r'data = "D:\texts\new.txt"',  # a tab and a line end
        r'out = "runs\new"',
        r'data = ["a.txt", "b\texts.txt"]',
    ],
)
def test_the_cause_of_a_path_with_backslashes_is_named(line: str, tmp_path: Path) -> None:
    assert refused(line, tmp_path).endswith(f"; {BACKSLASH}")
    good = line.replace('"', "'")
    (tmp_path / "good.toml").write_text(good)
    assert list(load_toml(tmp_path / "good.toml")) == [line.split()[0]]
    assert "double quotes" not in refused('data = "a.txt', tmp_path), "another fault"
    assert "double quotes" not in refused("data = ''", tmp_path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("steps = " + "[" * 500 + "]" * 500, "is nested too deeply"),
        ("steps = " + "[" * 100_000, "is nested too deeply"),
        ("steps = " + "{a=" * 500 + "1" + "}" * 500, "is nested too deeply"),
        ("seed = " + "9" * 5000, "is not TOML: Exceeds the limit (4300 digits)"),
        ("seed = 0x" + "f" * 5000, "seed: expected at least 0 and at most 3402823"),
        ("steps = 1e400", "steps: expected an integer, got inf"),
        ("lr = 1e400", "lr: expected a finite number, got inf"),
        ("lr = inf", "lr: expected a finite number, got inf"),
        ("steps = 2026-01-01", "steps: expected an integer, got datetime.date(2026, 1, 1)"),
        ("lr = 07:30:00", "lr: expected a number, got datetime.time(7, 30)"),
        ("steps = {a = 1}", "unknown setting 'a'"),
        ("steps = [1]", "steps: expected an integer, got [1]"),
        ("data = [[1]]", "data: expected a string or a list of strings, got [[1]]"),
        ("data = []", "data: expected a string or a list of strings, got []"),
        ("data = ''", "data: expected a path, got ''"),
        ("out = ''", "out: expected a path, got ''"),
        ('out = "a\\u0000"', r"out: expected a path without control characters, got '\x00'"),
        ("out = 'a\0b'", "is not TOML: Found invalid character"),
        ("steps = 1\nsteps = 2", "is not TOML: Cannot overwrite a value"),
        ("[x]\n[x]", "is not TOML: Cannot declare ('x',) twice"),
        ("[a.b]\nsteps = 3", "unknown setting 'b'"),
        ("'' = 3", "unknown setting ''"),
        ("x" * 5000 + " = 3", "unknown setting 'xxx"),
        ("model = '" + "x" * 5000 + "'", "transformer, got 'xxx"),
        ("encoding = 'base64'", "encoding: expected a text encoding, such as utf-8"),
        ("x" * 5000 + " = 3\n[a]\n" + "x" * 5000 + " = 3", "xxx' is set twice"),
        ('"\\u001b" = 3\n[a]\n"\\u001b" = 3', r"'\x1b' is set twice"),
        ("# " + "x" * 1_000_000, "is larger than 1,000,000 bytes; expected a few settings"),
    ],
)
def test_what_is_no_settings_is_one_line(content: str, text: str, tmp_path: Path) -> None:
    line = refused(content, tmp_path)
    assert text in line


@pytest.mark.parametrize("name", ["folder", "none.toml", "x" * 300, "text.txt/run.toml"])
def test_a_file_that_cannot_be_read_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").write_text("x")
    assert run(["train", "--config", name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tinytensor: config: cannot read {name}: ") and err.count("\n") == 1
