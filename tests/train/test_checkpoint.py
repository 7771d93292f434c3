"""Checkpoints: exact, atomic, and safe to open."""

from __future__ import annotations

import errno
import inspect
import io
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import AdamW, Checkpoint, CheckpointError
from tinytensor.train import checkpoint as module
from tinytensor.train.checkpoint import NAME, latest, load, locate, save
from tinytensor.train.system import files
from tinytensor.train.system.files import remove_leftovers

from .helpers import environment


def example(step: int = 1) -> Checkpoint:
    rng = np.random.default_rng(step)
    return Checkpoint(
        weights={
            "w": rng.normal(size=(3, 4)).astype("float32").T,
            "scalar": np.array(float(step)),
            "none": np.zeros((0, 2), dtype="float16"),
            "ids": np.arange(4)[::2],
        },
        optimizer={"arrays": {"0.m": rng.normal(size=(5,))}, "numbers": {"steps": [2**70, step]}},
        history={"train": rng.normal(size=(step,))},
        meta={"step": step, "symbols": "a\ud800\U0001f600", "loss": float("inf"), "lr": 0.1 + 0.2},
    )


def same(a: Checkpoint, b: Checkpoint) -> None:
    groups = [(a.weights, b.weights), (a.history, b.history)]
    for one, other in [*groups, (a.optimizer["arrays"], b.optimizer["arrays"])]:
        assert one.keys() == other.keys()
        for name in one:
            assert one[name].dtype == other[name].dtype and one[name].shape == other[name].shape
            np.testing.assert_array_equal(one[name], other[name])
    assert a.meta == b.meta and a.optimizer["numbers"] == b.optimizer["numbers"]


def test_what_is_saved_comes_back_exactly(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / NAME
    save(path, example())
    same(load(path), example())
    same(load(path.parent), example())
    assert load(path).weights["w"].flags.writeable
    assert os.listdir(path.parent) == [NAME]


def test_other_tools_can_read_the_weights(tmp_path: Path) -> None:
    from safetensors import safe_open

    save(tmp_path / NAME, example())
    with safe_open(tmp_path / NAME, framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("model.w"), example().weights["w"])
        assert '"step": 1' in file.metadata()["json"]


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_last_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Case C45: the writer fails after half the bytes (or later); load gives step 1."""
    path, write_once = tmp_path / NAME, files._write_once
    save(path, example(1))

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def half(path: Path, write: Any) -> None:
        def fail(file: Any) -> None:
            content = io.BytesIO()
            write(content)
            file.write(content.getvalue()[: content.tell() // 2])
            full()

        write_once(path, fail)

    with monkeypatch.context() as patch:
        patch.setattr(files, "PATIENCE", ())
        if where == "write":
            patch.setattr(files, "_write_once", half)
        else:
            patch.setattr(os, where, full)
        with pytest.raises(CheckpointError, match=f"{NAME}: No space left on device; the last"):
            save(path, example(2))
    same(load(path), example(1))
    assert os.listdir(tmp_path) == [NAME]
    save(path, example(2))
    same(load(path), example(2))


def test_the_disk_has_the_new_file_before_it_takes_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut cannot be tested, the order that survives one can."""
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, real=real, name=name: (calls.append(name), real(*args))[1]
        )
    save(tmp_path / NAME, example())
    assert calls == ["fsync", "replace", "fsync"]  # the file, the rename, the folder


LOOP = """
import sys
import numpy as np
from tinytensor.train.checkpoint import Checkpoint, save
{big}
print("ready", flush=True)
step = 0
while True:
    step += 1
    save(sys.argv[1], big(step))
    print(step, flush=True)
"""


def big(step: int) -> Checkpoint:
    """One whose parts all say which step they are of: a mixture would show."""
    arrays = {str(i): np.full((64, 1024), step, dtype=np.float32) for i in range(8)}
    optimizer = {"arrays": {"m": np.full((64, 1024), step)}, "numbers": {"step": step}}
    return Checkpoint(arrays, optimizer, {}, {"step": step})


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")
def test_kill_9_at_any_moment_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / NAME
    chance = random.Random(0)
    steps = []
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP.format(big=inspect.getsource(big)), str(path)],
            stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "1\n"
        time.sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        done = [1, *map(int, process.stdout.read().split())]
        process.wait()
        found = load(path)
        steps.append(found.meta["step"])
        same(found, big(found.meta["step"]))
        assert found.meta["step"] in (done[-1], done[-1] + 1), "never older than what was reported"
    remove_leftovers(tmp_path, [NAME])
    assert os.listdir(tmp_path) == [NAME]
    assert len(set(steps)) > 1, "the kills came at different moments"


@pytest.mark.parametrize("keep", [0, 4, 8, 30, 0.5, 0.9, -1])
def test_a_truncated_file_is_named(tmp_path: Path, keep: float) -> None:
    path = save(tmp_path / NAME, example())
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    with pytest.raises(CheckpointError, match=f"{NAME} is truncated, damaged or not a safetensors"):
        load(path)


class Bomb:
    """Unpickling this would leave a file behind."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> Any:
        return Path.touch, (self.target,)


def test_a_hostile_file_runs_nothing(tmp_path: Path) -> None:
    path, target = tmp_path / NAME, tmp_path / "executed"
    path.write_bytes(pickle.dumps(Bomb(target)))
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        load(path)
    np.savez(tmp_path / "a.npz", a=np.array([Bomb(target)], dtype=object))
    with pytest.raises(CheckpointError, match="not a safetensors file"):
        load(tmp_path / "a.npz")
    assert not target.exists()


@pytest.mark.parametrize("metadata", [
    {}, {"format": "other"}, {"format": module.FORMAT}, {"format": module.FORMAT, "json": "{"},
    {"format": module.FORMAT, "json": "[1]"}, {"format": module.FORMAT, "json": "{}"},
    {"format": module.FORMAT, "json": "[" * 100_000},
])  # fmt: skip
def test_somebody_elses_safetensors_file_is_refused(
    tmp_path: Path, metadata: dict[str, str]
) -> None:
    path = tmp_path / NAME
    path.write_bytes(module._encode({"model.w": np.ones(2)}, metadata))
    with pytest.raises(CheckpointError, match=NAME):
        load(path)


def test_foreign_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / NAME
    rest = {"format": module.FORMAT, "json": '{"optimizer": {}}'}
    path.write_bytes(module._encode({"other.w": np.ones(2)}, rest))
    with pytest.raises(CheckpointError, match=r"unexpected array 'other\.w'"):
        load(path)
    with pytest.raises(TypeError, match=r"model\.w: expected a NumPy array, got list"):
        save(path, Checkpoint({"w": [1.0]}))  # type: ignore[dict-item]


def test_missing_checkpoints_are_named_and_leftovers_are_not_taken_for_one(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is none at .*checkpoint.safetensors"):
        locate(tmp_path)
    with pytest.raises(CheckpointError, match="there is none in .*train first"):
        latest(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    (run / f".{NAME}.123.tmp").write_bytes(b"half")
    with pytest.raises(CheckpointError):
        latest(tmp_path)
    old, new = save(run / NAME, example()), save(tmp_path / "later" / NAME, example())
    os.utime(old, (1, 1))
    assert latest(tmp_path) == new
    os.utime(new, (0, 0))
    assert latest(tmp_path) == old


def test_a_loop_of_ones_own_stops_and_goes_on(tmp_path: Path) -> None:
    """As the module's docstring has it; on with the same numbers, to the last bit."""

    def make() -> Any:
        tt.manual_seed(3)
        model = nn.Linear(2, 2)
        return model, AdamW(model.parameters(), lr=0.1)

    def train(model: Any, optimizer: Any, start: int, end: int) -> None:
        for step in range(start, end):
            optimizer.lr = 0.1 / (step + 1)
            (model(tt.ones(1, 2)) ** 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    model, optimizer = make()
    train(model, optimizer, 0, 3)
    state = Checkpoint(model.state_dict(), optimizer.state_dict(), meta={"step": 3})
    file = save(tmp_path / "run" / "own.safetensors", state)
    train(model, optimizer, 3, 6)

    saved = load(file)
    model2, optimizer2 = make()
    model2.load_state_dict(saved.weights)
    optimizer2.load_state_dict(saved.optimizer)
    train(model2, optimizer2, saved.meta["step"], 6)
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(model2.state_dict()[name], array)
