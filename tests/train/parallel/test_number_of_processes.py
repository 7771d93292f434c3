"""How many processes a run has: cores, the rule, what is refused, and what a resumed run keeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train import AdamW, ConfigError, DataParallel, TrainConfig, Trainer
from tinytensor.train.checkpoint import load, save
from tinytensor.train.cli.progress import describe
from tinytensor.train.parallel import data_parallel as processes
from tinytensor.train.parallel import workers
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.system import cores as counting
from tinytensor.train.system import groups as control

from ..helpers import TEXT, call, config, flags
from ..sharing import children, make

linux = pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with eight cores, where processes can be forked."""
    for module in (workers, processes):
        monkeypatch.setattr(module, "cores", lambda: 8)
    monkeypatch.setattr(workers, "why_not", lambda: None)


# ---- cores -------------------------------------------------------------------------------------


def groups(folder: Path, monkeypatch: pytest.MonkeyPatch, own: str, **files: str) -> int:
    """The cores of a machine with 16 in control groups; ``__`` stands for a slash in a name."""
    (folder / "own").write_text(own)
    for name, text in files.items():
        path = folder / "groups" / name.replace("__", "/").replace("cpu_max", "cpu.max").replace(
            "quota", "cpu.cfs_quota_us"
        ).replace("period", "cpu.cfs_period_us")  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(control, "OWN", folder / "own")
    monkeypatch.setattr(control, "GROUPS", folder / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    return counting.cores()


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu_max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu_max": "max 100000\n"}, 16),
        ("0::/a/b\n", {"a__cpu_max": "400000 100000\n", "a__b__cpu_max": "max 100000\n"}, 4),
        ("0::/a/b\n", {"a__cpu_max": "400000 100000\n", "a__b__cpu_max": "5000 100000"}, 1),
        ("0::/outside/of/the/container\n", {"cpu_max": "300000 100000\n"}, 3),
        ("4:memory:/m\n3:cpu,cpuacct:/d/1\n0::/\n",
         {"cpu,cpuacct__d__1__quota": "250000\n", "cpu,cpuacct__d__1__period": "100000\n"}, 3),
        ("3:cpu:/d\n", {"cpu__d__quota": "-1\n", "cpu__d__period": "100000\n"}, 16),
        ("3:cpuacct,cpu:/d\n", {"cpu__quota": "50000\n", "cpu__period": "10000\n"}, 5),
        ("3:cpuset:/d\n", {"cpuset__d__quota": "1\n", "cpuset__d__period": "1\n"}, 16),
        ("0::/\n", {"cpu_max": "9999999 100000\n"}, 16),
        ("0::/\n", {"cpu_max": "what is this\n"}, 16),
        ("0::/\n", {"cpu_max": "100 0\n"}, 16),
        ("nonsense", {}, 16),
        ("", {}, 16),
    ],
)  # fmt: skip
def test_a_container_has_the_cores_of_its_quota(
    own: str, files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert groups(tmp_path, monkeypatch, own, **files) == expected


def test_without_linux_the_cores_are_those_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(control, "OWN", Path("none"))
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert counting.cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert counting.cores() == 1


# ---- the rule ----------------------------------------------------------------------------------


def test_the_number_follows_from_the_work_of_a_step(eight: None) -> None:
    """All cores where a step is long, fewer where each would have too little, at most the batch."""
    million, work = 1_000_000, workers.WORK
    assert workers.best(100 * million, 64, 64) == 8
    assert workers.best(100 * million, 5, 1024) == 5, "no more than blocks"
    assert workers.best(100 * million, 64, 8) == 64 * 8 // workers.SYMBOLS
    assert workers.best(work // 1024 * 3 + 3, 16, 64) == 3
    assert workers.best(2 * work // 1024 - 1, 16, 64) == 1
    assert workers.best(1, 1, 1) == 1
    ours = Trainer(config(steps=1), TEXT)
    assert (ours.workers, ours.config.workers) == (1, 1), "so little is done by one"
    assert "process" not in describe(ours)


def test_the_usual_model_is_trained_by_several(eight: None) -> None:
    trainer = Trainer(TrainConfig(), TEXT * 10)
    assert trainer.workers == trainer.config.workers > 1
    assert f"on cpu, {trainer.workers} processes, 3000 steps of 12 blocks" in describe(trainer)
    assert trainer.checkpoint().meta["config"]["workers"] == trainer.workers
    assert Trainer(TrainConfig(workers=1), TEXT * 10).workers == 1


def test_where_there_can_be_only_one_there_is_one(
    eight: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = 10**9
    assert workers.choose(TrainConfig(device="cuda"), big, 64) == 1
    assert workers.choose(TrainConfig(batch_size=1, block_size=512), big, 512) == 1
    monkeypatch.setattr(workers, "why_not", lambda: "needs Linux")
    assert workers.choose(TrainConfig(), big, 64) == 1
    with pytest.raises(ConfigError, match="workers: expected 1 here, got 2; needs Linux"):
        workers.check(TrainConfig(workers=2))


# ---- what is refused ---------------------------------------------------------------------------


def test_more_than_cores_or_blocks_need_a_word(eight: None) -> None:
    for given, match in (
        ({"workers": 9, "batch_size": 9}, "workers: expected at most 8, the number of cores here"),
        ({"workers": 5, "batch_size": 4}, "workers: expected at most 4, batch_size, got 5; more"),
    ):
        with pytest.raises(ConfigError, match=match):
            Trainer(config(**given), TEXT)
        assert Trainer(config(oversubscribe=True, **given), TEXT).workers == given["workers"]
    Trainer(config(workers=4, batch_size=4), TEXT)


def test_without_a_word_there_are_not_thousands(eight: None, monkeypatch: Any) -> None:
    model = make()
    for number in (65, 5000):
        with pytest.raises(ValueError, match=f"at most 64 where there are 8 cores, got {number}"):
            DataParallel(model, AdamW(model.parameters()), number)
    monkeypatch.setattr(processes, "cores", lambda: 100)
    assert processes.most() == 400
    assert children() == []


@linux
def test_thousands_are_one_line_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    args = flags(workers=5000, batch_size=4)
    done = call("train", "--data", "text.txt", "--out", "run", *args, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "workers: expected at most " in done.stderr and "got 5000" in done.stderr
    assert not (tmp_path / "run" / "log.jsonl").exists()


# ---- resumed runs ------------------------------------------------------------------------------


def saved(folder: Path, **changes: Any) -> Path:
    """The checkpoint of a short run, with other values in its config (None: none)."""
    trainer = Trainer(config(steps=2, workers=1), TEXT, folder)
    trainer.run()
    checkpoint = load(folder)
    for name, value in changes.items():
        if value is None:
            del checkpoint.meta["config"][name]
        else:
            checkpoint.meta["config"][name] = value
    return save(folder / "checkpoint.safetensors", checkpoint)


def test_a_resumed_run_keeps_its_number(eight: None, tmp_path: Path) -> None:
    path = saved(tmp_path, workers=6)
    trainer = Trainer.resume(path, text=TEXT)
    assert trainer.workers == trainer.config.workers == 6 and trainer.workers_note is None
    path = saved(tmp_path, workers=12)
    trainer = Trainer.resume(path, text=TEXT)
    assert trainer.workers == 12
    note = "12 processes as before, on 8 cores; with --workers 8 losses differ by rounding"
    assert trainer.workers_note == note
    assert Trainer.resume(path, {"workers": 2}, TEXT).workers == 2
    assert Trainer.resume(path, {"workers": None}, TEXT).workers == 1, "chosen anew"
    with pytest.raises(ConfigError, match="workers: expected at most 3, batch_size, got 7"):
        Trainer.resume(path, {"workers": 7}, TEXT)


def test_a_checkpoint_from_before_there_were_workers_has_one(
    eight: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, workers=None)
    monkeypatch.setattr(workers, "best", lambda *sizes: 3)
    assert Trainer.resume(path, text=TEXT).workers == 1
    assert Trainer.resume(path, {"workers": None}, TEXT).workers == 3


def test_thousands_in_a_checkpoint_are_not_started(eight: None, tmp_path: Path) -> None:
    """Not even if it has the word in it: it may come from anywhere."""
    path = saved(tmp_path, workers=5000, oversubscribe=True)
    with pytest.raises(ConfigError, match="workers: the checkpoint has 5000, expected at most 64"):
        Trainer.resume(path, text=TEXT)
    assert Trainer.resume(path, {"oversubscribe": True}, TEXT).workers == 5000
    assert Trainer.resume(path, {"workers": 2}, TEXT).workers == 2


def test_elsewhere_a_run_goes_on_with_one_process_and_says_so(
    eight: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path, workers=2)
    assert workers.resumed(2, {"device": "cuda"}) == (
        {"device": "cuda", "workers": 1},
        "one process instead of the checkpoint's 2; losses differ by rounding (processes share "
        "the cores of a CPU)",
    )
    monkeypatch.setattr(workers, "why_not", lambda: "needs Linux")
    trainer = Trainer.resume(path, text=TEXT)
    assert (trainer.workers, trainer.config.workers) == (1, 1)
    assert trainer.workers_note is not None and "(needs Linux)" in trainer.workers_note
    with pytest.raises(ConfigError, match="workers: expected 1 here, got 2; needs Linux"):
        Trainer.resume(path, {"workers": 2}, TEXT)
