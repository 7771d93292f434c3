"""What users write on command lines: values that are odd, twice, empty, too large, or no paths."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

import pytest
import typer

from tinytensor.train import ConfigError, TrainConfig, Trainer, load_model
from tinytensor.train import checkpoint as files
from tinytensor.train.checkpoint import CheckpointError
from tinytensor.train.cli import run
from tinytensor.train.cli.app import VERBS, app
from tinytensor.train.config import LARGEST, PATHS, SEEDS, text_name

from ..helpers import TEXT, config, flags

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
INT64 = 9223372036854775807


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a text in it; the home folder is beside it."""
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    home.mkdir()
    (here / "text.txt").write_text(TEXT)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return here


def refusal(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that is refused; it must be one line, and exit code 2."""
    capsys.readouterr()
    assert run(args) == 2, args
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and err.startswith("tinytensor: "), err
    assert out == ""
    return err


def done(args: list[str]) -> None:
    """Run a command that succeeds."""
    assert run(args) == 0, args


# ---- twice ------------------------------------------------------------------------------------


def test_several_texts_are_all_read(folder: Path) -> None:
    (folder / "b.txt").write_text("ABC" * 99)
    (folder / "a.txt").write_text("XYZ" * 99)  # without a line end
    done(["train", "--data", "b.txt", "--data=a.txt", "--out", "run", *flags(steps=1)])
    saved = files.load("run").meta
    assert saved["symbols"] == "\nABCXYZ"
    assert saved["config"]["data"] == [str(folder / "b.txt"), str(folder / "a.txt")]
    given = Trainer(config(data=["b.txt", "a.txt"]))
    both = Trainer(config(), "ABC" * 99 + "\n" + "XYZ" * 99)
    assert given.checkpoint().meta["text"] == both.checkpoint().meta["text"] == saved["text"]
    (folder / "two.toml").write_text('data = ["b.txt", "a.txt"]\nout = "again"\n')
    done(["train", "--config", "two.toml", *flags(steps=1)])
    assert files.load("again").meta["text"] == saved["text"]


def test_names_of_texts_may_come_in_any_form() -> None:
    for value in ("a.txt", ["a.txt"], ("a.txt",), Path("a.txt"), [Path("a.txt")]):
        assert TrainConfig(data=value).data == ("a.txt",)  # type: ignore[arg-type]
    assert TrainConfig(data=["a", "b"]).to_dict()["data"] == ["a", "b"]  # type: ignore[arg-type]
    assert TrainConfig(out=Path("x")).out == "x"  # type: ignore[arg-type]
    for value in ([], (), ["a", 3], [["a"]], 3, {"a": 1}):
        with pytest.raises(ConfigError, match="^data: expected a string or a list of strings, got"):
            TrainConfig(data=value)  # type: ignore[arg-type]
    for value in ("", ["a", ""], " "):
        with pytest.raises(ConfigError, match="^data: expected a path, got '"):
            TrainConfig(data=value)  # type: ignore[arg-type]
    assert text_name(None) == "the help topics of Python"
    assert text_name("old.txt") == "old.txt"
    assert text_name(list("abcde")) == "a, b, c and 2 more"


@pytest.mark.parametrize("verb", VERBS)
def test_no_command_ignores_a_flag_that_is_given_twice(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = 0
    for option in COMMANDS[verb].params:
        if option.param_type_name == "argument" or option.multiple:
            continue
        if not option.is_flag:
            flag = option.opts[0]
            said = refusal([verb, flag, "5", f"{flag}=9"], capsys)
            assert said == f"tinytensor: {flag} is given twice (5, 9)\n"
            assert f"{flag} is given 3 times (5, 9, 5)" in refusal(
                [verb, flag, "5", flag, "9", flag, "5"], capsys
            )
        elif option.secondary_opts:
            yes, no = option.opts[0], option.secondary_opts[0]
            assert f"{yes} and {no} are both given" in refusal([verb, no, yes], capsys)
        tried += 1
    assert tried == sum(hasattr(p, "is_flag") and not p.multiple for p in COMMANDS[verb].params)


def test_a_value_may_look_like_a_flag_and_be_repeated(folder: Path) -> None:
    Trainer(config(steps=1), TEXT, "run").run()
    done(["sample", "run", "--unknown", "", "--prompt", "--length", "--length", "1", "--length=1"])


# ---- empty, home, control characters ---------------------------------------------------------

PATH_COMMANDS = {
    "data": ["train", "--data"],
    "out": ["train", "--data", "text.txt", "--out"],
    "out of resume": ["train", "--resume", "--out"],
    "config": ["train", "--config"],
    "checkpoint of sample": ["sample"],
    "checkpoint of info": ["info"],
    "out of draw": ["draw", "gpt", "--out"],
    "data of profile": ["profile", "--data"],
}


@pytest.mark.parametrize("case", PATH_COMMANDS)
def test_what_can_be_no_path_is_refused_by_name(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, args = case.split()[0], PATH_COMMANDS[case]
    for bad, reason in {
        "": "expected a path, got ''",
        " ": "expected a path, got ' '",
        "a\0b": r"expected a path without control characters, got '\x00' in 'a\x00b'",
        "a\nb": r"expected a path without control characters, got '\n' in",
        "\x1b[31m": r"expected a path without control characters, got '\x1b' in",
        "~nobody-of-this-name/x": "there is no user 'nobody-of-this-name'; for a name that starts "
        f"with ~ write {os.path.join('.', '~nobody-of-this-name/x')}",
        "\ud800": "expected a path that this system can write",
    }.items():
        if bad.startswith(("~", "\ud800")) and sys.platform == "win32":
            continue
        said = refusal([*args, bad], capsys)
        assert f"{name}: {reason}" in said and "\x1b" not in said
    assert sorted(os.listdir(folder)) == ["text.txt"] and not os.listdir(folder.parent / "home")


@pytest.mark.parametrize("case", PATH_COMMANDS)
@pytest.mark.parametrize("path", ["x" * 300, "y/" * 3000, "text.txt/x", "loop/x"])
def test_paths_that_lead_nowhere_are_one_line(
    path: str, case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if path.startswith("loop"):
        try:
            (folder / "loop").symlink_to("loop")
        except OSError:
            pytest.skip("this system makes no symbolic links for users")
    name = {"out of resume": "checkpoint"}.get(case, case.split()[0])
    small = flags(steps=1) if case == "out" else []
    path = path + "x.gv" if case == "out of draw" else path
    assert f"{name}: " in refusal([*PATH_COMMANDS[case], path, *small], capsys)


def test_no_argument_is_a_path_that_is_not_looked_at() -> None:
    """Typer's own Path turns '' into the working folder and leaves ~ as it is."""
    for verb, command in VERBS.items():
        for p in inspect.signature(command, eval_str=True).parameters.values():
            assert "Path" not in str(p.annotation), f"{verb}: {p.name}"
    checked = {p.name for c in COMMANDS.values() for p in c.params if p.callback is not None}
    assert {"checkpoint", "config", "out"} <= checked
    assert set(PATHS) == {"data", "out"}


def test_the_tilde_is_the_home_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = folder.parent / "home"
    (home / "book.txt").write_text(TEXT)
    (home / "run.toml").write_text('out = "~/run"\ndata = "~/book.txt"\n')
    small = flags(steps=1)
    done(["train", "--config=~/run.toml", *small])
    assert (home / "run" / files.NAME).is_file()
    assert files.load(home / "run").meta["config"]["data"] == str(home / "book.txt")
    done(["train", "--data=~/book.txt", "--out=~/other", *small])
    done(["train", "--resume", "--out=~/other", "--steps", "2"])
    assert files.load("~/other").meta["step"] == 2
    capsys.readouterr()
    done(["info", "~/other"])
    assert str(home / "book.txt") in capsys.readouterr().out
    done(["sample", "~/other", "--length", "1"])
    done(["draw", "gpt", "--n-layer", "1", "--out=~/picture.gv"])
    assert (home / "picture.gv").is_file()
    assert load_model("~/run")[1] == Trainer.resume("~/run").task.tokenizer
    assert Trainer(config(), TEXT, "~/here").folder == home / "here"
    files.save("~/own/state", files.Checkpoint({}))
    assert files.load("~/own/state").weights == {} and (home / "own" / "state").is_file()
    assert files.latest("~") in (home / "run" / files.NAME, home / "other" / files.NAME)
    assert os.listdir(folder) == ["text.txt"]
    (folder / "~").mkdir()  # a name for those who mean it
    (folder / "~" / "a.txt").write_text(TEXT)
    assert TrainConfig(data="./~/a.txt").data == ("./~/a.txt",)  # type: ignore[arg-type]
    for bad in ("", "a\nb"):
        with pytest.raises(CheckpointError, match="^checkpoint: expected a path"):
            load_model(bad)
        with pytest.raises(CheckpointError, match="^checkpoint: expected a path"):
            files.save(bad, files.Checkpoint({}))
        with pytest.raises(ConfigError, match="^folder: expected a path"):
            Trainer(config(), TEXT, bad)


# ---- sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [f for f, t in TrainConfig.__annotations__.items() if "int" in t])
def test_every_integer_has_an_upper_limit(name: str) -> None:
    limits = TrainConfig.__dataclass_fields__[name].metadata["limits"]
    high = limits.get("at most", LARGEST)
    assert high == {
        "seed": SEEDS, "n_layer": 10_000, "sample_length": 10**6, "window": 1000, "negatives": 1000,
    }.get(name, INT64)  # fmt: skip
    for value in (high + 1, 10**40, 10**5000):
        with pytest.raises(ConfigError, match=f"^{name}: expected .*at most {high}, got") as error:
            TrainConfig(model="gpt", **{name: value})
        assert len(str(error.value)) < 600
        assert str(error.value).count(";") == 1, "with a reason"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["train", "--seed", "9" * 400], "seed: expected at least 0 and at most 340282366920938"),
        (["train", "--steps", "9" * 5000], "--steps"),
        (
            ["train", "--steps", str(10**20)],
            "steps: expected at most 9223372036854775807, got 1000",
        ),
        (["train", "--n-layer", str(10**9)], "n_layer: expected at least 1 and at most 10000"),
        (["train", "--sample-length", str(10**20)], "; tinytensor sample --length writes longer"),
        (["sample", "run", "--length", str(10**20)], "--length"),
        (["sample", "run", "--seed", "9" * 400], "--seed"),
        (["sample", "run", "--top-k", str(10**20)], "--top-k"),
        (["profile", "--steps", str(10**9)], "--steps"),
        (["draw", "gpt", "--n-layer", str(10**9)], "--n-layer"),
        (["draw", "gpt", "--n-embd", str(2**31)], "sizes: expected a small model"),
        (["draw", "rnn", "--n-hidden", str(10**6)], "sizes: expected a small model"),
        (["draw", "lstm", "--vocab-size", str(10**18)], "sizes: expected a small model"),
        (["draw", "gpt", "--block-size", "100000"], "sizes: expected a small model"),
        (["draw", "gpt", "--batch-size", str(10**20)], "--batch-size"),
    ],
)
def test_a_size_that_cannot_be_is_refused_before_anything_is_built(
    args: list[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(args, capsys)
    assert text in said and len(said) < 1000


# ---- encodings and going on -------------------------------------------------------------------


def test_encodings_are_checked_by_name() -> None:
    assert TrainConfig(encoding="UTF8").encoding == "utf-8"
    assert TrainConfig(encoding="latin1").encoding == "iso8859-1"
    for bad in ("klingon", "base64", "rot13", "", "a\0b", "x" * 9999, "undefined"):
        with pytest.raises(ConfigError, match="^encoding: expected a text encoding, such as utf-8"):
            TrainConfig(encoding=bad)


def test_a_resumed_run_ignores_no_flag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done(["train", "--data", "text.txt", "--out", "run", *flags(steps=1, seed=7)])
    before = (folder / "run" / files.NAME).read_bytes()
    again = ["train", "--resume", "--out", "run"]
    for more, text in {
        "--overwrite": "overwrite: --resume goes on with what is there; give one of them",
        "--seed=3": "seed: the checkpoint has 7, a resumed run can't change it to 3; it goes on "
        "with the random numbers of before",
        "--model=rnn": "model: the checkpoint has gpt, a resumed run can't change it to rnn",
        "--optimizer=sgd": "optimizer: the checkpoint has adamw",
        "--n-layer=2": "n_layer: the checkpoint has 1",
        "--bias": "bias: the checkpoint has False, a resumed run can't change it to True",
    }.items():
        assert text in refusal([*again, more], capsys)
    assert "overwrite: expected --out" in refusal(["train", "--overwrite"], capsys)
    assert (folder / "run" / files.NAME).read_bytes() == before
    done([*again, "--seed=7", "--n-layer=1", "--no-bias", "--n-head=2", "--steps=2"])
    with pytest.raises(ConfigError, match="^out: a resumed run stays in its folder .*, got other"):
        Trainer.resume("run", {"out": "other"})
    with pytest.raises(ConfigError, match="unknown setting 'stesp'; did you mean steps"):
        Trainer.resume("run", {"stesp": 3})
    with pytest.raises(ConfigError, match="^steps: expected an integer, got 'x'"):
        Trainer.resume("run", {"steps": "x"})
    assert Trainer.resume("run", {"out": str(folder / "run"), "steps": 3}).config.steps == 3


def test_what_a_command_does_not_know_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "unexpected extra argument(s) (more)" in refusal(["train", "more"], capsys)
    assert "--steps" in refusal(["train", "--stesp", "3"], capsys), "what was meant"
    assert "--length" in refusal(["sample", "--lenght", "3"], capsys)
