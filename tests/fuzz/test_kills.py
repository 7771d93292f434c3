"""Runs that are killed at random moments, each going on where the one before was killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tinytensor.train import Trainer
from tinytensor.train import checkpoint as files

from ..train.helpers import TEXT, call, command, config, environment, flags
from .budget import FACTOR

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")
STEPS = 3000


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a log, all of which but the last must be whole."""
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for line in lines[:-1]:
        assert json.loads(line)["step"] > 0
    return lines[:-1]


def test_a_run_that_is_killed_again_and_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kill leaves a checkpoint that loads, never an older one than before, and a log with a
    line for each step of it; at the end the run is the one that nobody killed, bit for bit."""
    (tmp_path / "text.txt").write_text(TEXT)
    given = flags("rnn", steps=STEPS, checkpoint_every=1, eval_every=7, eval_batches=1, log_every=1)
    run, chance = tmp_path / "run", random.Random(0 if FACTOR == 1 else None)
    steps = [0]
    for kill in range(5 * FACTOR):
        more = ["--resume"] if (run / files.NAME).exists() else ["--data", "text.txt", *given]
        process = subprocess.Popen(
            command("train", "--out", "run", *more), cwd=tmp_path, env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        seen = ""
        if kill % 3:  # else somewhere in the start
            while not seen.startswith("step "):
                seen = process.stdout.readline()
                assert seen, process.stderr.read()
        time.sleep(chance.uniform(0, 0.2 if kill % 3 else 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        lines = whole_lines(run / "log.jsonl")
        if (run / files.NAME).exists():
            steps.append(files.load(run).meta["step"])
            logged = [entry["step"] for entry in map(json.loads, lines) if "loss" in entry]
            assert logged[: steps[-1]] == list(range(1, steps[-1] + 1))
        assert steps == sorted(steps)
        if steps[-1] > STEPS - 500:
            break
    total = steps[-1] + 3
    done = call("train", "--resume", "--out", "run", "--steps", total, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(run)) == [files.NAME, "log.jsonl", "loss.png"]
    logged = [e["step"] for e in map(json.loads, whole_lines(run / "log.jsonl")) if "loss" in e]
    assert logged == list(range(1, total + 1))
    unbroken = Trainer(config("rnn", steps=STEPS), TEXT)
    while unbroken.step < steps[-1]:
        unbroken.train_step()
    found = files.load(run).history["train"]
    np.testing.assert_array_equal(found[: steps[-1]], unbroken.history.train)
    with capsys.disabled():
        print(f"\nkills: {kill + 1} tried, at steps {steps[1:]}, nothing lost")
