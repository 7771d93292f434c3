"""A run that cannot fit into memory is refused before anything is built, with both figures."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tinytensor.models import CNNConfig, GPTConfig, ImageCNNConfig, RNNConfig
from tinytensor.train import ConfigError, TrainConfig, Trainer
from tinytensor.train.cli.app import run
from tinytensor.train.given.words import readable
from tinytensor.train.run import memory
from tinytensor.train.run.memory import check_memory
from tinytensor.train.system import groups
from tinytensor.train.system import memory as machine
from tinytensor.train.system.memory import machine_memory

from ..helpers import TEXT, config

HUGE = "2147483647"


def test_this_machine_has_some() -> None:
    assert 10**8 < machine_memory() < 10**15


@pytest.mark.parametrize(("size", "text"), [
    (0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (999_960, "1.0 MB"),
    (25_300_000_000, "25.3 GB"),
    (2 * 10**15, "2 PB"), (10**400, "1e+285 PB"),
])  # fmt: skip
def test_sizes_in_words(size: int, text: str) -> None:
    assert readable(size) == text


def test_what_needs_too_much_is_refused_with_what_to_lower(monkeypatch: Any) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 10**9)
    wide = GPTConfig(vocab_size=65, n_layer=4, n_embd=4096)
    with pytest.raises(ConfigError) as caught:
        check_memory(wide, 1, 64, numbers=4)
    assert str(caught.value) == (
        "memory: 806,055,936 parameters need at least 12.9 GB, batches of 1 x 64 symbols 67.1 MB; "
        "this machine has 1.0 GB; lower n_layer or n_embd"
    )
    with pytest.raises(ConfigError, match=r"symbols 3\.\d GB; .* lower batch_size or block_size"):
        check_memory(RNNConfig(vocab_size=65, n_layer=1, n_hidden=8), 200_000, 64)
    with pytest.raises(ConfigError, match="lower n_layer, n_embd or n_hidden and batch_size or bl"):
        check_memory(RNNConfig(vocab_size=65, n_layer=9, n_hidden=8000), 200_000, 64)
    with pytest.raises(ConfigError, match="lower n_hidden$"):
        check_memory(ImageCNNConfig(n_hidden=2_000_000), 12, 64)
    with pytest.raises(ConfigError, match="lower n_embd and batch_size or block_size$"):
        check_memory(CNNConfig(vocab_size=65, n_embd=500_000), 200_000, 64)
    check_memory(RNNConfig(vocab_size=65), 12, 64, numbers=4)


@pytest.mark.parametrize("settings", [{}, {"optimizer": "sgd"}, {"optimizer": "sgd", "beta1": 0.0}])
def test_what_is_counted_is_no_more_than_what_a_run_takes(
    monkeypatch: Any, settings: dict[str, Any]
) -> None:
    """The very bytes that would be refused fit: the peak of a step is above the estimate."""
    chosen = config(n_embd=64, n_layer=3, batch_size=40, **settings)
    counted: list[int] = []

    def at_most() -> int:
        return limit

    monkeypatch.setattr(memory, "machine_memory", at_most)
    limit = 1 << 62
    tracemalloc.start()
    trainer = Trainer(chosen, TEXT)
    trainer.train_step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for limit in range(peak // 20, peak, peak // 20):
        try:
            Trainer(chosen, TEXT)
        except ConfigError:
            counted.append(limit)
    limit = peak
    Trainer(chosen, TEXT)
    assert counted, "some are refused"


@pytest.mark.parametrize("args", [
    ["train", "--data", "t", "--out", "r", "--n-layer", "10000", "--n-embd", "100000"],
    ["train", "--data", "t", "--out", "r", "--model", "lstm", "--n-hidden", HUGE],
    ["train", "--data", "t", "--out", "r", "--batch-size", "1000000000"],
    ["profile", "--data", "t", "--n-embd", "1000000000"],
])  # fmt: skip
def test_the_command_line_says_so_in_one_line(
    tmp_path: Path, monkeypatch: Any, capsys: Any, args: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t").write_text(TEXT)
    assert run(args) == 2
    error = capsys.readouterr().err
    assert error.startswith("tinytensor: memory: ") and error.count("\n") == 1
    assert "; this machine has " in error and "lower " in error


def test_the_limits_of_a_container_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    """Both versions of control groups; the tightest of a group and those above it counts."""
    member = tmp_path / "cgroup"
    monkeypatch.setattr(groups, "GROUPS", tmp_path)
    monkeypatch.setattr(groups, "OWN", member)
    member.write_text("0::/user/app\n")
    (tmp_path / "user" / "app").mkdir(parents=True)
    (tmp_path / "user" / "app" / "memory.max").write_text("max\n")
    (tmp_path / "user" / "memory.max").write_text("3000\n")
    assert machine._of_groups() == [3000]
    (tmp_path / "memory.max").write_text("2000\n")
    assert sorted(machine._of_groups()) == [2000, 3000]
    member.write_text("5:cpu,cpuacct:/x\n9:memory:/docker/abc\n")
    (tmp_path / "memory" / "docker" / "abc").mkdir(parents=True)
    (tmp_path / "memory" / "docker" / "abc" / "memory.limit_in_bytes").write_text("1000\n")
    assert machine._of_groups() == [1000]
    monkeypatch.setattr(groups, "OWN", tmp_path / "none")
    assert machine._of_groups() == []


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of the process, as Linux has it")
def test_a_limit_of_the_process_counts() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (10**11, before[1]))
        assert machine._of_process() == [10**11]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert machine._of_process() == []


def test_the_default_run_fits() -> None:
    for model in ("gpt", "gru", "lstm", "rnn"):
        memory.check_run(TrainConfig(model=model), {"vocab_size": 100}, 64)


def test_a_gpu_has_memory_of_its_own(monkeypatch: Any) -> None:
    """Only the weights are in this machine's, while the model is built."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 4 * 10**6)
    chosen = TrainConfig(batch_size=10_000)
    with pytest.raises(ConfigError, match="memory: 804,096 parameters need at least 12"):
        memory.check_run(chosen, {"vocab_size": 65}, 64)
    memory.check_run(chosen.merged({"device": "cuda"}), {"vocab_size": 65}, 64)
    with pytest.raises(ConfigError, match="lower n_layer or n_embd"):
        memory.check_run(chosen.merged({"device": "cuda", "n_layer": 8}), {"vocab_size": 65}, 64)
