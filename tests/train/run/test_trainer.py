"""The training loop: it learns, and an interrupted run equals an unbroken one bit for bit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.train import (
    CheckpointError,
    ConfigError,
    DataError,
    Trainer,
    TrainingError,
    load_model,
    sample_text,
)
from tinytensor.train import checkpoint as files
from tinytensor.train.run.report import Report
from tinytensor.train.system.signals import Stop

from ..helpers import SMALL, TEXT, config


class StopAt(Report):
    """Asks for a stop after a step, or when a step's validation begins."""

    def __init__(self, stop: Stop, step: int):
        self.stop, self.at = stop, step

    def step(self, trainer: Trainer) -> None:
        if trainer.step == self.at:
            self.stop.request()


def whole(trainer: Trainer) -> dict[str, Any]:
    """All of a run's state in a form that can be compared."""
    saved = trainer.checkpoint()
    arrays = {**saved.weights, **saved.optimizer["arrays"], **saved.history}
    numbers = {**saved.meta, "optimizer": saved.optimizer["numbers"], "config": None}
    return {"arrays": {k: v.tobytes() for k, v in arrays.items()}, "numbers": numbers}


@pytest.mark.parametrize("model", SMALL)
@pytest.mark.parametrize("settings", [
    {"dropout": 0.3, "accumulate": 2, "eval_every": 4, "eval_batches": 2},
    {"optimizer": "sgd", "eval_every": 5, "clip": 0.0, "schedule": "step", "lr_step": 2},
])  # fmt: skip
def test_an_interrupted_run_is_the_unbroken_one(
    tmp_path: Path, model: str, settings: dict[str, Any]
) -> None:
    """Stopped twice, in a plain step and where a validation is due; resumed each time."""
    chosen = config(model, **settings)
    unbroken = Trainer(chosen, TEXT, tmp_path / "unbroken")
    assert unbroken.run() is True
    expected = whole(unbroken)
    broken = Trainer(chosen, TEXT, tmp_path / "broken")
    for at in (4, 7):
        stop = Stop()
        broken.report = StopAt(stop, at)
        assert broken.run(stop) is False
        assert broken.step == at
        tt.random.manual_seed(99)  # whatever another process would start from
        broken = Trainer.resume(tmp_path / "broken", text=TEXT)
        assert broken.step == at
    assert broken.run() is True
    assert whole(broken) == expected
    logs = [(tmp_path / name / "log.jsonl").read_text() for name in ("unbroken", "broken")]
    entries = [[json.loads(line) for line in log.splitlines()] for log in logs]
    for log in entries:
        for entry in log:
            entry.pop("seconds", None)
    assert entries[0] == entries[1]
    assert [e["step"] for e in entries[0] if "loss" in e] == list(range(1, 13))


def test_a_killed_run_repeats_the_steps_since_its_checkpoint(tmp_path: Path) -> None:
    """After kill -9 the log has steps and half a line that the checkpoint does not have."""
    chosen = config(checkpoint_every=5, steps=9, dropout=0.1)
    unbroken = Trainer(chosen, TEXT, tmp_path / "a")
    unbroken.run()

    class Killed(Exception):
        pass

    class KillAt(Report):
        def step(self, trainer: Trainer) -> None:
            if trainer.step == 8:
                raise Killed

    with pytest.raises(Killed):
        Trainer(chosen, TEXT, tmp_path / "b", KillAt()).run()
    with (tmp_path / "b" / "log.jsonl").open("a") as log:
        log.write('{"step": 8, "lo')
    resumed = Trainer.resume(tmp_path / "b", text=TEXT)
    assert resumed.step == 5
    resumed.run()
    assert whole(resumed) == whole(unbroken)
    lines = (tmp_path / "b" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [*range(1, 10), 9]


@pytest.mark.parametrize("model", SMALL)
def test_it_learns(model: str) -> None:
    trainer = Trainer(config(model, steps=120, lr=3e-2), TEXT)
    guess = math.log(len(trainer.task.tokenizer))
    before = trainer.evaluate()
    assert before is not None and abs(before - guess) < 0.5
    trainer.run()
    after = trainer.evaluate()
    assert after is not None and after < 0.8 * before
    assert trainer.history.val == [(120, after)]


def test_accumulated_batches_give_the_gradient_of_one_large_batch() -> None:
    trainer = Trainer(config(batch_size=4), TEXT)
    x, y = trainer.task.data.batch(8)
    batches = iter([(x, y), (x[:4], y[:4]), (x[4:], y[4:])])
    results = []
    for settings in ({"batch_size": 8}, {"batch_size": 4, "accumulate": 2}):
        run = Trainer(config(optimizer="sgd", clip=0.0, **settings), TEXT)
        run.task.batch = lambda size: next(batches)  # type: ignore[method-assign]
        loss = run.train_step()
        results.append((loss, run.model.state_dict()))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    for name, array in results[0][1].items():
        np.testing.assert_allclose(array, results[1][1][name], rtol=1e-4, atol=1e-6)


def test_validation_draws_nothing_and_weights_every_symbol_alike() -> None:
    trainer = Trainer(config(dropout=0.5, batch_size=2), TEXT)
    state = tt.random.state()
    loss = trainer.evaluate()
    assert tt.random.state() == state
    assert trainer.model.training, "and the mode is as before"
    total, count = 0.0, 0
    trainer.model.eval()
    with tt.no_grad():
        for x, y in trainer.task.data.blocks("val", 1):
            total += trainer.model(x, y)[1].item() * y.size
            count += y.size
    assert count == len(trainer.task.data.val) - 1
    assert loss == pytest.approx(total / count, rel=1e-6)


def test_validations_and_checkpoints_come_when_they_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(config(steps=7, eval_every=3, checkpoint_every=2), TEXT, tmp_path)
    saved = []
    real = trainer.save
    monkeypatch.setattr(trainer, "save", lambda: (saved.append(trainer.step), real())[1])
    trainer.run()
    assert [step for step, _ in trainer.history.val] == [3, 6, 7]
    assert saved == [2, 4, 6, 7]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "checkpoint.safetensors", "log.jsonl", "loss.png",
    ]  # fmt: skip


def test_a_run_goes_on_for_longer_than_planned(tmp_path: Path) -> None:
    Trainer(config(steps=5), TEXT, tmp_path).run()
    trainer = Trainer.resume(tmp_path, {"steps": 9, "lr": 0.5}, TEXT)
    assert trainer.config.steps == 9 and trainer.step == 5
    trainer.run()
    assert len(trainer.history.train) == 9 and trainer.history.validated == 9
    again = Trainer.resume(tmp_path, text=TEXT)
    assert again.config.lr == 0.5 and again.run() is True and again.step == 9


def test_what_a_resumed_run_cannot_change_is_named(tmp_path: Path) -> None:
    Trainer(config(steps=2), TEXT, tmp_path).run()
    with pytest.raises(ConfigError, match="n_embd: the checkpoint has 8, .* change it to 16"):
        Trainer.resume(tmp_path, {"n_embd": 16}, TEXT)
    with pytest.raises(ConfigError, match="model: the checkpoint has gpt"):
        Trainer.resume(tmp_path, {"model": "rnn"}, TEXT)
    with pytest.raises(
        DataError, match="30 different characters, the checkpoint 29; not in the checkpoint: 'é'"
    ):
        Trainer.resume(tmp_path, text=TEXT + "é")
    assert Trainer.resume(tmp_path, text=TEXT).same_text
    assert not Trainer.resume(tmp_path, text=TEXT + TEXT).same_text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c.meta.pop("random"),
        lambda c: c.meta["random"]["data"].update(bit_generator="MT19937"),
        lambda c: c.meta["random"].update(other={}),
        lambda c: c.meta.update(step=99),
        lambda c: c.meta.update(step="1"),
        lambda c: c.meta["config"].update(steps="many"),
        lambda c: c.meta["config"].update(other=1),
        lambda c: c.meta["model"].update(name="cnn"),
        lambda c: c.meta["model"]["config"].update(vocab_size=5),
        lambda c: c.meta["model"]["config"].update(n_layer=3),
        lambda c: c.meta.update(model=[]),
        lambda c: c.meta.update(symbols=3),
        lambda c: c.weights.popitem(),
        lambda c: c.weights.update(more=np.ones(1)),
        lambda c: c.history.update(val=np.ones(3)),
        lambda c: c.optimizer["arrays"].popitem(),
        lambda c: c.optimizer["numbers"].update(kind="SGD"),
    ],
)
def test_a_checkpoint_that_does_not_fit_together_touches_nothing(
    tmp_path: Path, spoil: Any
) -> None:
    trainer = Trainer(config(steps=2), TEXT, tmp_path)
    trainer.run()
    bad = trainer.checkpoint()
    spoil(bad)
    path = files.save(tmp_path / "bad" / files.NAME, bad)
    before, state = whole(trainer), tt.random.state()
    with pytest.raises(CheckpointError, match=f"bad.{files.NAME}"):
        Trainer.resume(path, text=TEXT)
    assert whole(trainer)["arrays"] == before["arrays"]
    assert {k: v for k, v in tt.random.state().items() if k != "init"} == {
        k: v for k, v in state.items() if k != "init"
    }


def test_a_loss_that_is_no_number_ends_training_before_the_weights_are_spoiled(
    tmp_path: Path,
) -> None:
    trainer = Trainer(config(checkpoint_every=1), TEXT, tmp_path)
    trainer.train_step()
    trainer.save()
    good = trainer.model.state_dict()
    with tt.no_grad():
        next(trainer.model.parameters()).data[:] = np.nan
    with pytest.raises(TrainingError, match=r"step 2: loss nan.*last checkpoint is in"):
        trainer.run()
    for name, array in load_model(tmp_path)[0].state_dict().items():
        np.testing.assert_array_equal(array, good[name])


def test_the_sample_is_the_same_from_the_file(tmp_path: Path) -> None:
    trainer = Trainer(config(steps=3), TEXT, tmp_path)
    trainer.run()
    state = tt.random.state()
    text = trainer.sample("the ", 40)
    assert len(text) == 40 and set(text) <= set(TEXT) and text == trainer.sample("the ", 40)
    assert tt.random.state() == state, "sampling leaves training's randomness alone"
    model, tokenizer = load_model(tmp_path)
    rng = tt.Generator(trainer.config.seed)
    assert sample_text(model, tokenizer, "the ", 40, rng=rng) == text
    assert model.start_id == tokenizer.symbols.index("\n")


def test_a_run_on_another_device_saves_host_arrays(
    other_device: tt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case C49: trained there, loaded here."""
    chosen = config(steps=2, dropout=0.2, accumulate=2)
    here = Trainer(chosen, TEXT)
    here.run()
    there = Trainer(chosen, TEXT, tmp_path)
    there.model.to(other_device)
    there.run()
    assert isinstance(next(there.model.parameters()).data, other_device.array_type)
    model, _ = load_model(tmp_path)
    for name, array in model.state_dict().items():
        np.testing.assert_allclose(array, here.model.state_dict()[name], rtol=1e-3, atol=1e-5)


def test_settings_that_cannot_be_are_one_line() -> None:
    for settings, match in [
        ({"n_embd": 9}, "n_embd: expected a multiple of n_head = 2, got 9"),
        ({"n_hidden": 9}, "n_hidden: model gpt has none, only"),
    ]:
        with pytest.raises(ConfigError, match=match):
            Trainer(config(**settings), TEXT)
    with pytest.raises(DataError, match="empty"):
        Trainer(config(), "")
