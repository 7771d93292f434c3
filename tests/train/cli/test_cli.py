"""The command line as a process of its own: what it prints, its exit codes, and how it leaves."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import TrainConfig, Trainer
from tinytensor.train import checkpoint as files

from ..helpers import LEAVING, TEXT, call, command, config, environment, flags


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with a text in it."""
    (tmp_path / "text.txt").write_text(TEXT)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of 3 steps, made by the command line."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "text.txt").write_text(TEXT)
    done = call("train", "--data", "text.txt", "--out", "run", *flags(steps=3), cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder


def test_training_ends_with_loss_sample_checkpoint_and_curve(trained: Path) -> None:
    out = (trained / "stdout").read_text()
    sample = re.search(r"\nsample:\n(.*)\n\nvalidation loss", out, re.DOTALL)
    assert sample is not None and len(sample[1]) == 300
    loss = re.search(r"\nvalidation loss +(\d\.\d{4})\n", out)
    assert loss is not None and 1.0 < float(loss[1]) < 5.0
    for name, start in [("checkpoint", b"\xb0\x0c"), ("loss curve", b"\x89PNG")]:
        found = re.search(rf"\n{name} +(\S+)\n", out)
        assert found is not None
        content = (trained / found[1]).read_bytes()
        assert name == "checkpoint" or content.startswith(start)
    assert "gpt: " in out and "29 symbols, 810 for training and 90 for validation" in out


def test_sampling_from_the_run(trained: Path) -> None:
    args = ["sample", "run", "--prompt", "the ", "--length", "50", "--seed", "3"]
    first, second = (call(*args, cwd=trained) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.startswith("the ") and len(first.stdout) == 4 + 50 + 1
    replaced = call("sample", "run/checkpoint.safetensors", "--prompt", "théx", "--unknown", "e",
                    "--length", "0", cwd=trained)  # fmt: skip
    assert (replaced.returncode, replaced.stdout) == (0, "théx\n")


def test_info_tells_versions_and_what_a_checkpoint_holds(trained: Path) -> None:
    done = call("info", cwd=trained)
    assert done.returncode == 0, done.stderr
    for text in [tt.__version__, np.__version__, "BLAS", "CUDA"]:
        assert text in done.stdout
    done = call("info", "run", cwd=trained)
    assert done.returncode == 0, done.stderr
    for text in ["GPT, ", "n_embd", "step             3 of 3", "validation loss", "text.txt"]:
        assert text in done.stdout


def test_drawing_at_a_zoom_and_one_module(folder: Path) -> None:
    done = call("draw", "gpt", "--out", "a.gv", "--zoom", "ops", "--module", "h.0.attn", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / "a.gv").read_text(encoding="utf-8")
    assert "h.0.attn.c_attn.weight" in text
    assert "±" in text
    assert "h.1" not in text
    for name, first in (("a.mmd", "flowchart TB"), ("a.d2", "direction: down")):
        done = call("draw", "gpt", "--out", name, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (folder / name).read_text(encoding="utf-8").startswith(first)


def test_a_page_of_steps(folder: Path) -> None:
    done = call("draw", "lstm", "--step", "--n-layer", "1", "--block-size", "2", cwd=folder)
    if "no Graphviz" in done.stderr:
        pytest.skip("no Graphviz here: pip install 'pygraphviz>=2.0.4'")
    assert done.returncode == 0 and done.stdout == "lstm-step.html\n", done.stderr
    page = (folder / "lstm-step.html").read_text(encoding="ascii")
    assert '"kind":"steps"' in page and '"op":"cross_entropy"' in page
    assert '"sources":[]' in page  # no line of this program's, nor of a library's
    done = call("draw", "lstm", "--step", "--zoom", "ops", cwd=folder)
    assert done.returncode == 2 and "zoom: --step shows every op" in done.stderr


@pytest.mark.parametrize("model", ["gpt", "gru", "lstm", "rnn", "image_cnn", "transformer"])
def test_drawing_a_small_model(model: str, folder: Path) -> None:
    done = call("draw", model, "--out", "graph.gv", "--depth", "2", "--n-layer", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "graph.gv\n"
    text = (folder / "graph.gv").read_text()
    assert "digraph" in text and ">data<" not in text
    done = call("draw", model, "--out", "graph.gv", "--values", "--n-layer", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert ">data<" in (folder / "graph.gv").read_text()


def test_help_is_complete_and_has_the_defaults(folder: Path) -> None:
    top = call("--help", cwd=folder)
    assert top.returncode == 0 and all(w in top.stdout for w in ("train", "sample", "draw", "info"))
    assert call(cwd=folder).stdout == top.stdout
    done = call("train", "--help", cwd=folder)
    assert done.returncode == 0
    text = " ".join(re.sub(r"[│╭╮╰╯─|]", " ", done.stdout).split())
    for f in fields(TrainConfig):
        assert f"--{f.name.replace('_', '-')}" in text, f.name
        if f.metadata["default"] is not None:
            assert f"(default: {f.metadata['default']})" in text, f.name
    own = len(fields(TrainConfig)) - 1  # all but --tie-weights
    assert text.count("(default: ") == own + 2, "and --watch-every, --port"
    for name in ("sample", "draw", "info"):
        assert call(name, "--help", cwd=folder).returncode == 0
    assert call("--version", cwd=folder).stdout == f"tinytensor {tt.__version__}\n"


def test_flags_win_over_the_file_and_the_file_over_defaults(folder: Path) -> None:
    (folder / "run.toml").write_text(
        'data = "text.txt"\nout = "out"\nsteps = 9\n[model]\nmodel = "rnn"\nn_embd = 4\n'
        "n_hidden = 4\nblock_size = 8\n"
    )
    done = call("train", "--config", "run.toml", "--steps", "2", "--n-layer", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    saved = files.load(folder / "out").meta
    assert saved["step"] == 2 and saved["config"]["batch_size"] == 12
    assert saved["model"]["name"] == "rnn"
    assert {k: saved["model"]["config"][k] for k in ("n_embd", "n_layer")} == {
        "n_embd": 4, "n_layer": 1,
    }  # fmt: skip


BAD: dict[str, tuple[list[str], str]] = {
    "no such file": (["train", "--data", "none.txt"], "cannot read none.txt: No such file"),
    "a folder": (["train", "--data", "void"], "the folder void has no files"),
    "an empty file": (["train", "--data", "empty.txt"], "empty.txt is empty"),
    "not UTF-8": (["train", "--data", "latin.txt"], "latin.txt is not UTF-8"),
    "shorter than a block": (["train", "--data", "short.txt"], "training split is too short for a "
                             "block: it has 45 of the text's 50"),
    "validation shorter than a block": (
        ["train", "--data", "short.txt", "--block-size", "8"], "validation split is too short"),
    "an unknown flag": (["train", "--stesp", "3"], "--stesp"),
    "a flag of the wrong type": (["train", "--steps", "many"], "--steps"),
    "a flag out of range": (["train", "--dropout", "2"], "dropout: expected at least 0.0"),
    "an unknown model": (["train", "--model", "mlp"], "expected one of gpt, rnn, lstm, gru, cnn, "),
    "heads that do not divide": (["train", "--n-embd", "10"], "n_embd: expected a multiple of"),
    "another model's flag": (["train", "--n-hidden", "10"], "n_hidden: model gpt has none"),
    "an unknown command": (["trian"], "trian"),
    "no such config": (["train", "--config", "none.toml"], "cannot read none.toml"),
    "a config that is no TOML": (["train", "--config", "empty.txt.toml"], "is not TOML"),
    "nothing to resume": (["train", "--resume"], "there is none in runs/"),
    "nothing to resume there": (["train", "--resume", "--out", "run"], "there is none at run"),
    "no checkpoint": (["sample", "none"], "there is none at none"),
    "no run": (["sample"], "there is none in runs/"),
    "no checkpoint for info": (["info", "none"], "there is none at none"),
    "not a checkpoint": (["sample", "empty.txt"], "empty.txt is truncated, damaged or not"),
    "a model that cannot be drawn": (["draw", "vgg"], "model: expected gpt, "),
    "a zoom that is none": (["draw", "gpt", "--zoom", "far"], "zoom: expected 'modules'"),
    "a module that is none": (["draw", "gpt", "--module", "h.7"], "no call of 'h.7'"),
    "too many scalars": (["draw", "gpt", "--zoom", "scalars"], "the limit is 200"),
    "a picture of no known kind": (["draw", "gpt", "--out", "x.bmp"], "x.bmp"),
    "a folder that is a file": (["train", "--out", "text.txt"], "text.txt is not a folder"),
    "a folder below a file": (["train", "--out", "text.txt/run"], "cannot write to text.txt/run"),
}  # fmt: skip


def refuse(done: subprocess.CompletedProcess[str], text: str) -> None:
    """One line that says so, exit code 2, no traceback."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tinytensor: "), done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line(case: str, folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"")
    (folder / "empty.txt.toml").write_text("steps = ")
    (folder / "void").mkdir(exist_ok=True)
    (folder / "latin.txt").write_bytes(b"caf\xe9" * 100)
    (folder / "short.txt").write_text("abcdefghij" * 5)
    args, text = BAD[case]
    if args[0] == "train" and "--data" not in args and "--config" not in args:
        args = [*args, "--data", "text.txt"]
    refuse(call(*args, cwd=folder), text)


@pytest.mark.skipif(tt.cuda.is_available(), reason="this machine has a GPU")
def test_cuda_where_there_is_none_is_one_clear_line(trained: Path) -> None:
    for args in (["train", "--data", "text.txt"], ["sample", "run"]):
        refuse(call(*args, "--device", "cuda", cwd=trained), "device 'cuda'")


def test_a_run_that_is_there_is_not_overwritten_unasked(trained: Path) -> None:
    """And what a resumed run can't have is refused: another vocabulary, another model."""
    before = (trained / "run" / files.NAME).read_bytes()
    same = ["train", "--data", "text.txt", "--out", "run"]
    refuse(call(*same, *flags(), cwd=trained), "--resume goes on with it, --overwrite replaces it")
    (trained / "other.txt").write_text(TEXT + "ÄÖÜ")
    refuse(
        call("train", "--resume", "--out", "run", "--data", "other.txt", cwd=trained),
        "not in the checkpoint: 'Ä', 'Ö', 'Ü'",
    )
    refuse(
        call("train", "--resume", "--out", "run", "--n-layer", "3", cwd=trained),
        "n_layer: the checkpoint has 1, a resumed run can't change it to 3",
    )
    asked = call("sample", "run", "--prompt", "Ä?", cwd=trained)
    refuse(asked, "'?' (U+003F), 'Ä' (U+00C4); --unknown '' leaves them out")
    assert "prompt: not among" in asked.stderr
    refuse(
        call("train", "--resume", "--out", "run", "--steps", "2", cwd=trained),
        "steps: the checkpoint has done 3; expected at least that, got 2",
    )
    refuse(call("sample", "run", "--temperature", "-1", cwd=trained), "temperature")
    refuse(call("sample", "run", "--top-k", "0", cwd=trained), "top_k")
    assert (trained / "run" / files.NAME).read_bytes() == before
    torn = trained / "torn.safetensors"
    torn.write_bytes(before[: len(before) // 2])
    refuse(call("sample", torn, cwd=trained), "torn.safetensors is truncated")


def test_runs_without_a_name_get_a_folder_of_their_own(folder: Path) -> None:
    for _ in range(2):
        done = call("train", "--data", "text.txt", *flags("rnn", steps=1), cwd=folder)
        assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (folder / "runs").iterdir()) == ["rnn", "rnn-2"]
    done = call("train", "--resume", "--steps", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert files.load(folder / "runs" / "rnn-2").meta["step"] == 2
    assert files.load(folder / "runs" / "rnn").meta["step"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent to a process on Windows")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_leaves_and_the_run_goes_on_bit_for_bit(
    number: signal.Signals, folder: Path
) -> None:
    settings: dict[str, Any] = {"steps": 400, "dropout": 0.1, "eval_every": 50, "eval_batches": 1,
                                "log_every": 10}  # fmt: skip
    start = command("train", "--data", "text.txt", "--out", "run", *flags("gpt", **settings))
    process = subprocess.Popen(start, cwd=folder, env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, out + err
    assert err.strip() == (LEAVING if number == signal.SIGINT else "")
    assert "train --resume --out run" in out
    found = re.search(r"stopped at step (\d+) of 400", out)
    assert found is not None
    step = int(found[1])
    assert 10 <= step < 400
    assert files.load(folder / "run").meta["step"] == step

    done = call("train", "--resume", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    unbroken = Trainer(config("gpt", **settings), TEXT)
    unbroken.run()
    resumed = files.load(folder / "run")
    np.testing.assert_array_equal(resumed.history["train"], unbroken.history.train)
    np.testing.assert_array_equal(resumed.history["val"], unbroken.history.val)
    for name, array in unbroken.model.state_dict().items():
        np.testing.assert_array_equal(resumed.weights[name], array)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not sent to a process on Windows")
def test_a_reader_that_goes_away_is_no_fault(trained: Path) -> None:
    """tinytensor sample | head"""
    args = command("sample", "run", "--length", "100000")
    process = subprocess.Popen(args, cwd=trained, env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(5)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_help_is_there_at_once(folder: Path) -> None:
    """Nothing heavy is imported before it is used."""
    code = (
        "import sys; sys.argv = ['tinytensor', '--help']\n"
        "from tinytensor.train.cli import run; run(['--version'])\n"
        "print([m for m in ('matplotlib', 'safetensors', 'scipy', 'rich.progress', 'graphviz') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment(),
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
    started = time.monotonic()
    call("--version", cwd=folder)
    assert time.monotonic() - started < 20
