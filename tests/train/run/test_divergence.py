"""Runs that diverge: the last checkpoint is one from which they can go on, and they say so."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import (
    Checkpoint,
    CheckpointError,
    Trainer,
    TrainingError,
    load_model,
    sample_text,
)
from tinytensor.train import checkpoint as files
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.run.step import all_finite, gradients, look_ahead, not_finite

from ..helpers import SMALL, TEXT, call, config, flags
from .test_trainer import whole


def spoil(trainer: Trainer, value: float = math.nan) -> None:
    """Make one weight something that is no number."""
    next(iter(trainer.model.parameters())).data.flat[0] = value


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_what_is_saved_can_go_on(tmp_path: Path, model: str, optimizer: str) -> None:
    """Every diverging run leaves a checkpoint whose next step is finite, or none, and names it."""
    ends = []
    for lr, every in [(1e3, 1), (1e9, 1), (1e9, 2), (1e30, 1)]:
        settings = {"lr": lr, "checkpoint_every": every, "clip": 0.0, "warmup": 0, "steps": 6}
        folder = tmp_path / f"{lr:g}-{every}"
        trainer = Trainer(config(model, optimizer=optimizer, **settings), TEXT, folder)
        text = "of step 6;"
        try:
            trainer.run()
        except TrainingError as error:
            text = str(error)
        ends.append(text)
        if (folder / files.NAME).exists():
            resumed = Trainer.resume(folder, {"steps": 9}, TEXT)
            assert f"of step {resumed.step};" in text
            assert all(all_finite(a) for a in resumed.model.state_dict().values())
            assert math.isfinite(resumed.train_step())
        else:
            assert text.endswith("; no checkpoint was saved")
    assert any("go on from it with a lower lr" in text for text in ends)


def test_the_message_says_how_to_go_on(tmp_path: Path) -> None:
    trainer = Trainer(config(min_lr=5e-3, lr=1e-2, checkpoint_every=2), TEXT, tmp_path / "a b")
    trainer.train_step()
    trainer.save()
    before = (tmp_path / "a b" / files.NAME).read_bytes()
    trainer.train_step()
    spoil(trainer)
    with pytest.raises(TrainingError) as caught:
        trainer.save()
    text = str(caught.value)
    assert text.startswith("step 2: weight ") and " is not finite any more; a lower lr" in text
    reason, line = text.split(" with a lower lr: ")
    assert reason.endswith(f"; the last checkpoint is in {tmp_path}/a b, of step 1; go on from it")
    assert line.endswith(
        f" -m tinytensor train --resume --out '{tmp_path}/a b' --lr 0.001 --min-lr 0.001"
    ), "as all command lines, by the Python that runs this"
    with pytest.raises(TrainingError, match="step 3: loss nan, norm of the gradient nan; a lower"):
        trainer.run()
    assert (tmp_path / "a b" / files.NAME).read_bytes() == before
    (tmp_path / "a b" / files.NAME).unlink()
    with pytest.raises(TrainingError, match="or clip may help; no checkpoint was saved$"):
        trainer.run()
    other = Trainer(config(), TEXT, tmp_path / "a b")
    files.save(tmp_path / "a b" / files.NAME, Checkpoint({}))
    spoil(other)
    with pytest.raises(TrainingError, match="was saved, the one in .*a b is another run's$"):
        other.run()


def test_weights_that_are_finite_may_not_be_good(tmp_path: Path) -> None:
    trainer = Trainer(config(), TEXT, tmp_path)
    trainer.train_step()
    for p in trainer.model.parameters():
        p.data[...] = 1e30
    with pytest.raises(TrainingError, match="step 2 would have loss .*so step 1 was not saved; a"):
        trainer.save()
    assert not (tmp_path / files.NAME).exists()


def test_a_validation_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    trainer = Trainer(config(steps=3, checkpoint_every=2), TEXT, tmp_path)
    real, seen = trainer.evaluate, []
    trainer.evaluate = lambda *args: (seen.append(real(*args)), math.inf)[1]  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match="step 3: validation loss inf; .* of step 2; go on"):
        trainer.run()
    assert trainer.history.val == [] and len(seen) == 1
    assert "Infinity" not in (tmp_path / "log.jsonl").read_text()
    assert files.load(tmp_path).meta["step"] == 2


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("model", SMALL)
def test_looking_ahead_changes_nothing(tmp_path: Path, model: str, workers: int) -> None:
    """Bit for bit, though each checkpoint has drawn a batch and a mask for dropout."""
    if workers > 1 and why_not() is not None:
        pytest.skip(f"several processes: {why_not()}")
    chosen = config(model, dropout=0.3, accumulate=2, checkpoint_every=1, workers=workers, steps=6)
    plain = Trainer(chosen, TEXT)  # without a folder there is nothing to prove
    plain.run()
    saved = Trainer(chosen, TEXT, tmp_path)
    saved.run()
    assert whole(saved) == whole(plain)


def test_what_is_seen_ahead_is_the_next_step() -> None:
    class Counting(nn.Module):
        """A model with a buffer that its forward changes."""

        def __init__(self, inner: Any):
            self.inner = inner
            self.register_buffer("calls", tt.zeros((1,)))

        def loss(self, x: Any, y: Any) -> Any:
            self.calls.data[...] += 1
            return self.inner.loss(x, y)

    trainer = Trainer(config(dropout=0.5, clip=0.1), TEXT)
    trainer.model = Counting(trainer.model)  # type: ignore[assignment]
    state = tt.random.state()
    ahead = look_ahead(trainer, None)
    assert tt.random.state() == state
    assert trainer.model.calls.data.tolist() == [0]
    assert all(p.grad is None for p in trainer.model.parameters())
    assert gradients(trainer, None, 0.1) == ahead and ahead[1] > 0.1


def test_the_first_array_that_is_not_finite_is_named() -> None:
    good = np.ones(200_000, np.float32)
    late = good.copy()
    late[-1] = np.inf
    state = Checkpoint({"w": good, "ids": np.arange(3)}, {"arrays": {"0.m": good}, "numbers": {}})
    assert not_finite(state) is None
    state.optimizer["arrays"]["0.v"] = late.reshape(2, -1).T
    assert not_finite(state) == "optimiser state 0.v"
    state.weights["b"] = np.array([np.nan], np.float16)
    assert not_finite(state) == "weight b"


def test_text_from_weights_that_are_not_finite_is_one_clear_error(tmp_path: Path) -> None:
    trainer = Trainer(config(steps=2), TEXT, tmp_path / "run")
    trainer.run()
    spoil(trainer)
    files.save(tmp_path / "run" / files.NAME, trainer.checkpoint())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CheckpointError, match="no probabilities .*not finite, or too large"):
            sample_text(*load_model(tmp_path / "run"), prompt="the", length=3)
    done = call("sample", "run", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "the model gives no probabilities" in done.stderr


def test_a_mad_learning_rate_on_the_command_line_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    given = flags(lr=1e9, warmup=0, steps=50, checkpoint_every=50)
    done = call("train", "--data", "text.txt", "--out", "r", *given, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("tinytensor: step ") and "no checkpoint was saved" in done.stderr
    assert "sample:" not in done.stdout and not (tmp_path / "r" / files.NAME).exists()
