"""Validations: what part of the split they read, what is shown of them and of the time left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor.train import TokenStream, TrainConfig, Trainer, default_corpus
from tinytensor.train.cli.progress import Bar, Lines, part_read
from tinytensor.train.parallel.data_parallel import DataParallel, why_not
from tinytensor.train.run.report import Report
from tinytensor.train.run.validation import Pace, due, to_come
from tinytensor.train.system.signals import Stop

from ..helpers import TEXT, call, config, flags

LONG = TEXT * 3


class Watch(Report):
    """Keeps what a run tells."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, int]] = []
        self.left: list[tuple[int, float]] = []

    def step(self, trainer: Trainer) -> None:
        self.left.append((trainer.step, trainer.seconds_left))

    def validating(self, trainer: Trainer) -> None:
        self.told.append((trainer.step, trainer.pace.done, trainer.pace.count))


# ---- which batches -----------------------------------------------------------------------------


@given(
    length=st.integers(6, 400), block=st.integers(1, 5), batch=st.integers(1, 6),
    limit=st.integers(1, 60),
)  # fmt: skip
def test_a_part_of_the_split_is_spread_evenly(
    length: int, block: int, batch: int, limit: int
) -> None:
    """Whole batches of the full reading, in its order, each at most once, always the same."""
    stream = TokenStream(np.arange(2 * length), block, val_fraction=0.5)
    whole = [(x.tolist(), y.tolist()) for x, y in stream.blocks("val", batch)]
    assert [t for _, y in whole for row in y for t in row] == list(range(length + 1, 2 * length))
    assert stream.batches("val", batch) == len(whole)
    part = [(x.tolist(), y.tolist()) for x, y in stream.blocks("val", batch, limit)]
    assert part == [(x.tolist(), y.tolist()) for x, y in stream.blocks("val", batch, limit)]
    at = [whole.index(one) for one in part]
    assert len(at) == min(limit, len(whole)) and at == sorted(set(at))
    if limit >= len(whole):
        assert part == whole
    stretch = len(whole) / len(part)
    for i, index in enumerate(at):
        assert i * stretch - 1 < index < (i + 1) * stretch, "one in each stretch"
    gaps = set(np.diff(at).tolist())
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_every_validation_is_bounded_the_last_one_too() -> None:
    trainer = Trainer(config(eval_every=5, eval_batches=2), LONG)
    watch = trainer.report = Watch()
    trainer.run()
    assert [step for step, _ in trainer.history.val] == [5, 10, 12]
    assert watch.told == [(step, done, 2) for step in (5, 10, 12) for done in (1, 2)]
    last = trainer.history.val[-1][1]
    assert last == trainer.evaluate(2) != trainer.evaluate()
    assert last != trainer.evaluate(1) and trainer.val_batches == (2, 12)
    x, y = list(trainer.task.data.blocks("val", 3))[3]
    np.testing.assert_array_equal(next(trainer.task.data.blocks("val", 3, 2))[0], x)
    assert trainer.evaluate(1) != trainer.model(x, y)[1].item(), "of one the middle is read"


def test_zero_reads_all_and_so_do_the_usual_texts() -> None:
    trainer = Trainer(config(steps=2, eval_batches=0), LONG)
    trainer.run()
    assert trainer.history.val == [(2, trainer.evaluate())]
    assert trainer.val_batches == (12, 12) and part_read(trainer) == ""
    usual = TrainConfig()
    for symbols in (len(default_corpus()), 1_115_394):  # the latter is tiny Shakespeare
        stream = TokenStream(np.zeros(symbols, int), usual.block_size)
        assert stream.batches("val", usual.batch_size) <= usual.eval_batches, symbols


# ---- which are to come, and how long they take -------------------------------------------------


@given(
    steps=st.integers(1, 40), every=st.integers(1, 45), step=st.integers(0, 40), made=st.booleans()
)
def test_the_validations_to_come_are_those_that_a_run_makes(
    steps: int, every: int, step: int, made: bool
) -> None:
    step = min(step, steps)
    validated = step if made and due(step, steps, every, -1) else -1
    promised = to_come(step, steps, every, validated)
    seen = []
    for now in range(step, steps + 1):
        if due(now, steps, every, validated):
            seen.append(now)
            validated = now
        assert to_come(now, steps, every, validated) == promised - len(seen)
    assert len(seen) == promised and validated == steps


def test_the_time_left_counts_validations() -> None:
    trainer = Trainer(config(steps=10, eval_every=5, accumulate=2, eval_batches=6), LONG)
    assert trainer.seconds_left == 0.0
    trainer.step = 4
    trainer._seconds.append(0.3)
    guess = 6 * 0.3 / 2 / 3
    assert trainer.seconds_left == pytest.approx(6 * 0.3 + 2 * guess)
    trainer.pace.seconds = 1.5
    assert trainer.seconds_left == pytest.approx(6 * 0.3 + 2 * 6 * 1.5)
    trainer.step = 5
    trainer.pace.done, trainer.pace.count = 4, 6
    assert trainer.seconds_left == pytest.approx(5 * 0.3 + (2 + 6) * 1.5)
    trainer.pace.done = trainer.pace.count = 0
    trainer.history.val.append((5, 3.0))
    assert trainer.seconds_left == pytest.approx(5 * 0.3 + 6 * 1.5)
    trainer.step = 10
    assert trainer.seconds_left == pytest.approx(6 * 1.5), "after the steps, not 0:00"
    trainer.history.val.append((10, 3.0))
    assert trainer.seconds_left == 0.0


def test_the_seconds_of_a_batch_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    pace, shown = Pace(), []
    with pace.measured(10, lambda: shown.append((pace.done, pace.count, pace.seconds))) as told:
        for done in (2, 4):
            now[0] += 3.0
            told(done)
    assert shown == [(2, 10, 1.5), (4, 10, 1.5)]
    assert (pace.done, pace.count, pace.seconds) == (0, 0, 1.5)
    assert pace.left(3, 10, 99.0) == 45.0


def test_a_stop_in_a_validation_leaves_it_for_later(tmp_path: Path) -> None:
    class StopThere(Report):
        def validating(self, trainer: Trainer) -> None:
            if (trainer.step, trainer.pace.done) == (5, 2):
                stop.request()

    stop = Stop()
    trainer = Trainer(config(eval_every=5), LONG, tmp_path, StopThere())
    assert trainer.run(stop) is False
    assert (trainer.step, trainer.history.val, trainer.pace.count) == (5, [], 0)
    resumed = Trainer.resume(tmp_path, text=LONG)
    resumed.run()
    unbroken = Trainer(config(eval_every=5), LONG)
    unbroken.run()
    assert resumed.history.val == unbroken.history.val and len(unbroken.history.val) == 3


# ---- what is shown -----------------------------------------------------------------------------


def test_lines_of_a_long_validation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first after two seconds, then one in ten; of a short one only the result."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    trainer = Trainer(config(eval_batches=8), LONG)
    lines = Lines(100)
    trainer.step, trainer.pace.count = 12, 8
    trainer._seconds.append(0.1)
    for done in range(1, 9):
        now[0] += 3.0
        trainer.pace.done, trainer.pace.seconds = done, 3.0
        lines.validating(trainer)
    trainer.history.val.append((12, 3.25))
    trainer.pace.done = trainer.pace.count = 0
    lines.validated(trainer)
    assert capsys.readouterr().out.splitlines() == [
        "step     12  validating 12%  0:21 left",
        "step     12  validating 62%  0:09 left",
        "step     12  validation loss 3.2500 (8 of 12 batches)",
    ]
    trainer.pace.count, trainer.pace.done, trainer.pace.seconds = 8, 1, 0.01
    lines.validating(trainer)
    assert capsys.readouterr().out == ""


def test_the_bar_says_that_it_validates() -> None:
    trainer = Trainer(config(), LONG)
    assert "doing" not in Bar._fields(trainer)
    trainer.pace.done, trainer.pace.count = 34, 100
    assert Bar._fields(trainer)["doing"] == "validating 34%"


def test_on_the_command_line_a_part_is_called_a_part(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(LONG)
    args = flags(steps=4, eval_batches=2, sample_length=0)
    done = call("train", "--data", "text.txt", "--out", "run", *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert "  validation loss " in out and out.count(" (2 of 12 batches)\n") == 2, out


# ---- several processes -------------------------------------------------------------------------


@pytest.mark.skipif(why_not() is not None, reason=f"several processes: {why_not()}")
def test_several_processes_share_a_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes whole batches, so that the loss is the same; nothing is learnt from it."""
    shared: list[int] = []
    losses = DataParallel.losses

    def watched(self: DataParallel, batches: Any) -> list[float]:
        shared.append(len(batches))
        return losses(self, batches)

    monkeypatch.setattr(DataParallel, "losses", watched)
    trainer = Trainer(config(workers=3, dropout=0.5, oversubscribe=True), LONG)
    watch = trainer.report = Watch()
    trainer.train_step()
    grads = [p.grad for p in trainer.model.parameters()]
    many = [trainer.evaluate(11), trainer.evaluate()]
    assert trainer.model.training and grads == [p.grad for p in trainer.model.parameters()]
    with pytest.raises(ValueError, match="losses: expected at most 3 batches, got 4"):
        trainer._parallel.losses([(None, None)] * 4)  # type: ignore[union-attr]
    trainer.close()
    assert shared == [3, 3, 3, 2] + [3, 3, 3, 3, 4]
    assert [trainer.evaluate(11), trainer.evaluate()] == pytest.approx(many, rel=1e-6)
    shared.clear()
    trainer.run()
    assert shared == [3, 3, 3, 3] and watch.told == [(12, n, 12) for n in (3, 6, 9, 12)]
