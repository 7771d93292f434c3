"""What is seen of a run costs it nothing: readers that leave, full disks, narrow encodings,
control characters."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tinytensor.train import checkpoint as files
from tinytensor.train.cli import run
from tinytensor.train.cli.output import Output, guarded
from tinytensor.train.system.terminal import as_shown, is_terminal, one_line, printable, tell, warn

from ..helpers import TEXT, command, environment, flags

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such descriptors")
#: what a text may do to a terminal: colours, the title, a bell, a C1 escape, reordering
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eabc\u2066\x7f\r\x00\ud800"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder, with a text and a run of 2 steps on it."""
    folder, before = tmp_path_factory.mktemp("terminal"), Path.cwd()
    (folder / "text.txt").write_text(TEXT + "Привет ─\n", encoding="utf-8")
    os.chdir(folder)
    with redirected(open(os.devnull, "w")):
        assert run(["train", "--data", "text.txt", "--out", "run", *flags(steps=2)]) == 0
    yield folder
    os.chdir(before)


@contextmanager
def redirected(out: Any, err: Any = None) -> Iterator[None]:
    """Within it these are standard output and standard error."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, before[1] if err is None else err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def opened(kind: str) -> tuple[IO[str] | None, int | None]:
    """A stream that is broken in some way, and the descriptor to read it from if there is one."""
    if kind == "closed":
        return None, None
    if kind == "full":
        return open("/dev/full", "w"), None
    if kind == "shut":
        stream = open(os.devnull, "w")
        stream.close()
        return stream, None
    reader, writer = os.pipe()
    if kind == "stuck":
        os.set_blocking(writer, False)
        while True:
            try:
                os.write(writer, b"x" * 4096)
            except BlockingIOError:
                return open(writer, "w"), reader
    os.close(reader)
    return open(writer, "w"), None


COMMANDS = {
    "train": ["train", "--data", "text.txt", "--log-every", "1", "--steps", "4", "--sample-length",
              "20", "--n-layer", "1", "--n-head", "1", "--n-embd", "4", "--block-size", "4",
              "--batch-size", "2", "--overwrite"],
    "sample": ["sample", "run", "--length", "50"],
    "info": ["info", "run"],
    "draw": ["draw", "gpt", "--out", "graph.gv", "--n-layer", "1"],
    "profile": ["profile", "--data", "text.txt", "--steps", "1", "--n-layer", "1", "--n-embd", "4",
                "--n-head", "1", "--block-size", "4", "--batch-size", "2"],
    "help": ["--help"],
    "version": ["--version"],
}  # fmt: skip


ENCODINGS = ["cp1252", "ascii", "utf-8", "utf-16", "cp037"]


@unix
@pytest.mark.parametrize("kind", ["closed", "full", "shut", "gone"])
@pytest.mark.parametrize("name", COMMANDS)
def test_output_that_cannot_be_written(name: str, kind: str, folder: Path) -> None:
    """A run goes on to its end; another command says so, but not of a reader that has left."""
    args = [*COMMANDS[name], *(["--out", f"train-{kind}"] if name == "train" else [])]
    err = io.StringIO()
    with redirected(opened(kind)[0], err):
        code = run(args)
        again = run(args) if name != "train" else 0
    assert again == code == (0 if name == "train" or kind == "gone" else 1), err.getvalue()
    words = {"full": "No space left on device", "gone": ""}.get(kind, "it is closed")
    if name == "train":
        for file in ("checkpoint.safetensors", "log.jsonl", "loss.png"):
            assert (folder / f"train-{kind}" / file).stat().st_size > 0
        assert files.load(folder / f"train-{kind}").meta["step"] == 4
        note = f"tinytensor: note: some lines could not be written to standard output: {words}\n"
        assert err.getvalue() == (note if kind == "full" else "")
    else:
        assert err.getvalue() == (f"tinytensor: standard output: {words}\n" * 2 if words else "")
    with redirected(opened(kind)[0], opened(kind)[0]):  # nobody to tell
        assert run(args) == code


@unix
def test_errors_keep_their_exit_code_where_they_cannot_be_said(folder: Path) -> None:
    for kind in ("closed", "full", "shut", "gone"):
        for args, code in (
            [["sample", "none"], 2],
            [["trian"], 2],
            [["train", "--n-embd", "0"], 2],
        ):
            with redirected(opened(kind)[0], opened(kind)[0]):
                assert run(args) == code


@unix
def test_a_pipe_that_nobody_reads_is_not_waited_for_by_a_run(folder: Path) -> None:
    stream, reader = opened("stuck")
    assert reader is not None
    out = Output(stream, patience=0.05)
    for k in range(50):
        out.write(f"line {k}\n")
    assert isinstance(out.lost, BlockingIOError) and not out.over
    os.read(reader, 2**20)  # now there is room again
    out.write("seen\n")
    assert os.read(reader, 2**20) == b"seen\n"
    line = "y" * 200_000 + "\n"  # more than a pipe holds: the rest comes before anything else
    out.write(line)
    got = os.read(reader, 2**20)
    out.write("next\n")
    while len(got) < len(line) + 5:
        got += os.read(reader, 2**20)
        out.write("next\n")
    assert got.startswith(line.encode() + b"next\n")


def test_whole_lines_go_out_at_once_and_in_order() -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as stream, guarded():
        stream.write("before ")
        out = Output(stream)
        print("step", 3, "loss", 2.5, file=out)
        assert os.read(reader, 100).decode().split() == ["before", "step", "3", "loss", "2.5"]
        out.write("part")
        os.set_blocking(reader, False)
        with pytest.raises(BlockingIOError):
            os.read(reader, 100)
        out.flush()
        assert os.read(reader, 100) == b"part"
        assert out.lost is None and out.fileno() == writer and not out.isatty()
    os.close(reader)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [(name, encoding) for name in ("sample", "info", "help") for encoding in ENCODINGS]
    + [("train", "cp1252"), ("profile", "ascii")],
)
def test_characters_that_an_encoding_lacks(name: str, encoding: str, folder: Path) -> None:
    args = [*COMMANDS[name], *(["--out", f"train-{encoding}"] if name == "train" else [])]
    args += ["--prompt", "Привет ─"] if name == "sample" else []
    raw = io.BytesIO()
    with redirected(io.TextIOWrapper(raw, encoding), io.StringIO()):
        assert run(args) == 0
        sys.stdout.flush()
        text = raw.getvalue().decode(encoding)
    if name in ("sample", "info"):
        assert ("П" in text) == encoding.startswith("utf")
    if name == "sample" and encoding in ("ascii", "cp1252"):
        assert text.startswith("?????? -")
    if name == "help" and encoding == "ascii":
        assert "+- Commands ----" in text


def test_encodings_of_a_kind() -> None:
    for encoding, errors, right in [
        ("ascii", "strict", b"a?-=|+?\n"),
        ("cp437", "strict", "a?─=│┌?\n".encode("cp437")),
        ("ascii", "backslashreplace", rb"a\u0416\u2500\u2501\u2502\u250c\ud800" + b"\n"),
        ("utf-8", "strict", "aЖ─━│┌?\n".encode()),
        ("utf-8", "surrogateescape", "aЖ─━│┌?\n".encode()),
        ("utf-16", "strict", "aЖ─━│┌?\n".encode("utf-16")),
    ]:  # fmt: skip
        raw = io.BytesIO()
        out = Output(io.TextIOWrapper(raw, encoding, errors, newline="\n"))
        out.write("aЖ─━│┌\ud800\n")
        assert raw.getvalue() == right, encoding


def test_control_characters_become_visible() -> None:
    assert printable(HOSTILE) == (
        r"\x1b[31mred\x1b]0;title\x07\x9b2J\u202eabc\u2066\x7f\x0d\x00\ud800"
    )
    kept = "a\n\tb ß Ж 漢 😀 שלום \u200f\ufeff"
    assert printable(kept) == kept and one_line(kept) == kept.replace("\n", "\\n").replace(
        "\t", "\\t"
    )
    assert printable("\u2028\u2029\x80\x9f\x1c") == r"\u2028\u2029\x80\x9f\x1c"
    assert one_line(Path("a\nb")) == r"a\nb"
    with redirected(Terminal()):
        assert as_shown("a\x1b\n") == "a\\x1b\n"
    with redirected(io.StringIO()):
        assert as_shown("a\x1b\n") == "a\x1b\n" and not is_terminal()
    with redirected(None):
        assert not is_terminal() and as_shown("a") == "a"


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


def test_terminals_that_cannot_redraw_get_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with redirected(Terminal()):
        for name, right in [("dumb", False), ("unknown", False), ("xterm", True), ("linux", True)]:
            monkeypatch.setenv("TERM", name)
            assert is_terminal() == right


def test_a_hostile_text_and_a_hostile_checkpoint_reach_no_terminal_raw(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    hostile = HOSTILE[:-1].replace("\r", "").replace("\x00", "")
    name = "te\x1b[5mxt\n.txt"
    Path(name).write_text((hostile + "\n") * 60, encoding="utf-8")
    shown, err = Terminal(), Terminal()
    from tinytensor.train import TrainConfig, Trainer

    trainer = Trainer(
        TrainConfig(n_layer=1, n_head=1, n_embd=4, block_size=4, batch_size=2, steps=1),
        (hostile + "\n") * 60,
        "hostile",
    )
    trainer.run()
    path = files.locate("hostile")
    with redirected(shown, err):
        assert run(["sample", "hostile", "--length", "300", "--prompt", "\x1b"]) == 0
        assert run(["info", "hostile"]) == 0
        good = path.read_bytes()
        for field in ("optimizer", "schedule", "data"):
            saved = files.load(path)
            saved.meta["config"][field] = "\x1b[2J\nseed  1\x9b\u202e"
            files.save(path, saved)
            assert run(["info", "hostile"]) == 2
            path.write_bytes(good)
        assert run(["sample", "hostile", "--prompt", "\x01\u2067"]) == 2
        assert run(["sample", "none\x1b[31m"]) == 2
        assert run(["train\x1b[31m"]) == 2
        assert run(["train", "--\x1b[31m"]) == 2
        train = [*COMMANDS["train"], "--out", "hostile2"]
        train[2] = "hostile.txt"
        Path(name).rename("hostile.txt")
        assert run(train) == 0
    text = shown.getvalue() + err.getvalue()
    raw = {c for c in text if not c.isprintable()} - {"\n", "\t"}
    assert raw == set()
    assert r"\x1b" in text and r"\x9b" in text and r"\u202e" in text
    assert "not fit together: config: optimizer: expected" in text and r"\x1b[2J\nseed 1" in text
    with redirected(io.StringIO()):
        assert run(["sample", "hostile", "--length", "300", "--prompt", "\x1b"]) == 0
        assert sys.stdout.getvalue().startswith("\x1b")  # type: ignore[union-attr]
    with redirected(io.StringIO()):
        assert run(["profile", "--json", *COMMANDS["profile"][1:]]) == 0
        assert json.loads(sys.stdout.getvalue())["steps"] == 1  # type: ignore[union-attr]


@unix
def test_as_processes(folder: Path) -> None:
    """The shell's ways to break output, and no word from Python's own end."""
    train = [*COMMANDS["train"]]
    train[train.index("--steps") + 1] = "400"
    lines, lines_2 = (shlex.join(command(*train, "--out", out)) for out in ("head", "none"))
    other = shlex.join(command("info", "run"))
    for script, codes, err in [
        (f"{lines} | head -n 3", "0 0", ""),
        (f"{other} | head -n 1", "0 0", ""),
        (f"{lines_2} <&- >&- 2>&- | cat", "0 0", ""),
        (f"{other} >&- | cat", "1 0", "tinytensor: standard output: it is closed\n"),
    ]:
        done = subprocess.run(
            ["bash", "-c", f"{script}; echo ${{PIPESTATUS[*]}} >codes"], cwd=folder,
            env=environment(), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert ((folder / "codes").read_text().strip(), done.stderr) == (codes, err), script
    for out in ("head", "none"):
        assert files.load(folder / out).meta["step"] == 400
        assert (folder / out / "loss.png").read_bytes().startswith(b"\x89PNG")
        assert len((folder / out / "log.jsonl").read_text().splitlines()) >= 400


def test_the_errno_of_a_reader_that_left_is_no_fault() -> None:
    class Leaving(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EPIPE, "Broken pipe")

    with redirected(Leaving(), io.StringIO()):
        assert run(["--version"]) == 0 and sys.stderr.getvalue() == ""  # type: ignore[union-attr]


def test_a_line_that_tells_is_one_line_and_keeps_names_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell("cannot read a  b\t\x1b[2J:\n    no such file\n")
    warn("x")
    assert capsys.readouterr() == (
        "",
        "cannot read a  b\\t\\x1b[2J: no such file\nwarning: x\n",
    )
    monkeypatch.setattr(sys, "stderr", None)
    tell("nobody hears this")
    assert capsys.readouterr().out == "", "which print(file=None) would have used"
