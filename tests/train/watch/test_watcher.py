"""A run that is watched: what is seen is right, and training is as if nobody looked."""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import no_grad, random
from tinytensor.nn.evaluating import evaluating
from tinytensor.train import ConfigError, Trainer, checkpoint
from tinytensor.train.parallel import data_parallel
from tinytensor.train.results.attention import maps
from tinytensor.train.results.watch_file import NAME, SPREAD, Seen, parsed
from tinytensor.train.run.report import Report, Reports
from tinytensor.train.system.signals import Stop
from tinytensor.train.tasks.pairs.pairs import Pairs
from tinytensor.train.watch import looks
from tinytensor.train.watch.watcher import Watcher

from ..helpers import TEXT, config
from ..tasks import test_every_task as every

needs_processes = pytest.mark.skipif(
    data_parallel.why_not() is not None, reason=f"several processes: {data_parallel.why_not()}"
)


def seen(folder: Path) -> dict[str, dict[int, Any]]:
    """kind -> step -> value."""
    found: dict[str, dict[int, Any]] = {}
    for line in (folder / NAME).read_bytes().splitlines(keepends=True):
        one = parsed(line)
        if isinstance(one, Seen):
            assert one.step not in found.setdefault(one.kind, {}), "each once"
            found[one.kind][one.step] = one.value
    return found


def state(run: Trainer) -> dict[str, Any]:
    """All that a run comes to, but for times."""
    made = run.checkpoint()
    log = [json.loads(line) for line in (run.folder / "log.jsonl").read_text().splitlines()]
    for entry in log:
        entry.pop("seconds", None)
    meta = {**made.meta, "config": {**made.meta["config"], "out": None}}
    return {
        **{f"weight {k}": v.tobytes() for k, v in made.weights.items()},
        **{f"optimiser {k}": v.tobytes() for k, v in made.optimizer["arrays"].items()},
        "history": {k: v.tolist() for k, v in made.history.items()},
        "meta": json.loads(json.dumps(meta, default=str)), "log": log, "random": random.state(),
        "modes": [module.training for module in run.model.modules()],
        "inside": [sorted(module.__dict__) for module in run.model.modules()],
    }  # fmt: skip


@pytest.fixture(params=every.PAIRS, ids=lambda pair: "-".join(pair))
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A task and a model that can learn it; pairs of strings are made in a moment."""
    if request.param[0] == "digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed: it has the digits")
    monkeypatch.setattr(Pairs, "counts", {"train": 300, "val": 40, "test": 30})
    return request.param


def test_every_run_is_bit_for_bit_the_same_when_watched(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dropout = {} if pair[1] in ("word2vec", "image_cnn") else {"dropout": 0.2}
    if pair[1] == "cnn":
        dropout = {}
    plain = every.trainer(pair, tmp_path / "plain", **dropout)
    plain.run()
    expected = state(plain)
    watched = every.trainer(pair, tmp_path / "watched", **dropout)
    watched.report = Watcher(every=1)
    watched.run()
    assert state(watched) == expected
    found = seen(tmp_path / "watched")
    steps = list(range(7))
    attends = pair[1] in ("gpt", "bahdanau", "transformer")
    assert sorted(found) == sorted(
        ["gradients", "activations", "sample", *(["attention"] if attends else [])]
    )
    assert list(found["gradients"]) == steps[1:]
    assert list(found["activations"]) == list(found["sample"]) == steps
    assert found["sample"][6] and all(found["activations"].values())
    log = [json.loads(line) for line in (tmp_path / "watched/log.jsonl").read_text().splitlines()]
    norms = {entry["step"]: entry["grad_norm"] for entry in log if "grad_norm" in entry}
    for step, layers in found["gradients"].items():
        joint = np.hypot.reduce([norm for _, norm in layers])
        assert joint == pytest.approx(norms[step], rel=1e-4)
    said = capsys.readouterr()
    assert "warning" not in said.err and said.out == ""


def test_gradients_are_those_of_the_batch_before_clipping(tmp_path: Path) -> None:
    expected: list[dict[str, float]] = []

    class Own(Report):
        def gradients(self, trainer: Trainer, norm: float) -> None:
            of: dict[str, float] = {}
            scale = max(1.0, norm / 0.01)  # what clipping has divided by
            for name, p in trainer.model.named_parameters():
                layer = name.rpartition(".")[0]
                assert p.grad is not None
                square = float((p.grad.numpy().astype(float) ** 2).sum()) * scale**2
                of[layer] = of.get(layer, 0.0) + square
            expected.append({layer: square**0.5 for layer, square in of.items()})

    run = Trainer(config(clip=0.01, steps=3), TEXT, tmp_path)
    run.report = Reports(Own(), Watcher(every=1))
    run.run()
    found = seen(tmp_path)["gradients"]
    assert list(found) == [1, 2, 3]
    for step, layers in found.items():
        assert dict(layers) == pytest.approx(expected[step - 1], rel=1e-4)
    assert [layer for layer, _ in layers][:3] == ["wte", "wpe", "h.0.ln_1"]


@needs_processes
def test_several_processes_have_the_gradients_of_the_whole_batch(tmp_path: Path) -> None:
    found, states = [], []
    for workers, watched in ((1, True), (2, True), (2, False)):
        folder = tmp_path / f"{workers}{watched}"
        run = Trainer(config(workers=workers, oversubscribe=True, batch_size=4), TEXT, folder)
        if watched:
            run.report = Watcher(every=1)
        run.run()
        states.append(state(run))
        if watched:
            found.append(seen(folder))
    assert states[1] == states[2]
    for step in range(1, 13):
        one, two = (dict(each["gradients"][step]) for each in found)
        assert one == pytest.approx(two, rel=1e-2, abs=1e-5)


def test_activations_are_those_of_the_first_validation_batch(tmp_path: Path) -> None:
    run = Trainer(config(n_layer=2, batch_size=3, dropout=0.5), TEXT, tmp_path)
    found = {layer[0]: layer[1:] for layer in looks.Activations(run)(run)}
    (x, y), *_ = run.task.blocks(3, 1)
    with no_grad(), evaluating(run.model):
        logits, _ = run.model(x, y)
        table = run.model.wte(x).numpy()
    assert list(found)[0] == "wte" and list(found)[-1] == "lm_head"
    assert {"h.0", "h.1.attn", "h.1.mlp", "ln_f"} <= set(found)
    for name, values in (("wte", table), ("lm_head", logits.numpy())):
        kind, *numbers = found[name]
        got = dict(zip(SPREAD, numbers))
        flat = values.astype(float).reshape(-1)
        assert kind == type(dict(run.model.named_modules())[name]).__name__
        assert got["mean"] == pytest.approx(flat.mean(), rel=1e-4, abs=1e-7)
        assert got["std"] == pytest.approx(flat.std(), rel=1e-4)
        assert (got["min"], got["max"]) == pytest.approx((flat.min(), flat.max()), rel=1e-4)
        for part in (5, 25, 50, 75, 95):
            assert got[f"p{part}"] == pytest.approx(np.percentile(flat, part), rel=1e-4, abs=1e-7)
        assert got["zero"] == 0 and got["bad"] == 0


def test_a_spread_tells_of_zeros_and_of_what_is_not_finite() -> None:
    values = np.array([0.0, 0.0, 1.0, 3.0, np.nan, np.inf, -np.inf])
    assert dict(zip(SPREAD, looks.spread(values))) == {
        "mean": 1.0, "std": pytest.approx(1.22474), "min": 0.0, "p5": 0.0, "p25": 0.0, "p50": 0.5,
        "p75": 1.5, "p95": pytest.approx(2.7), "max": 3.0, "zero": 0.5, "bad": 3,
    }  # fmt: skip
    assert looks.spread(np.array([np.nan])) == [0.0] * 10 + [1]


def test_of_a_large_layer_some_numbers_tell_all_columns() -> None:
    x = tt.tensor(np.tile(np.arange(64.0), 4096))
    some = looks._some(x)
    assert some.size <= looks.NUMBERS and set(some) == set(range(64))


def test_attention_is_that_of_the_sentence(tmp_path: Path) -> None:
    run = Trainer(config(block_size=32, steps=4), TEXT, tmp_path)
    run.report = Watcher(every=2)
    run.run()
    found = seen(tmp_path)["attention"]
    assert list(found) == [0, 2, 4]
    head = json.loads((tmp_path / NAME).read_text().splitlines()[0])["run"]
    assert len(head["sentence"]) == looks.SENTENCE and head["sentence"] in TEXT
    (one,) = maps(run.model, run.task, head["sentence"])
    (got,) = found[4]
    shares = np.frombuffer(base64.b64decode(got["weights"]), np.uint8).reshape(one.weights.shape)
    np.testing.assert_allclose(shares / 255, one.weights, atol=0.5 / 255 + 1e-6)
    assert got["queries"] == got["keys"] == one.queries and got["heads"] == 2


def test_samples_are_the_run_s_own(tmp_path: Path) -> None:
    run = Trainer(config("lstm", steps=4), TEXT, tmp_path)
    run.report = Watcher(every=2)
    run.run()
    assert seen(tmp_path)["sample"][4] == run.sample(length=40)
    assert len(set(seen(tmp_path)["sample"].values())) == 3


# ---- stopped, killed, resumed --------------------------------------------------------------------


def test_a_resumed_run_has_the_history_of_one_that_never_stopped(tmp_path: Path) -> None:
    whole = Trainer(config(), TEXT, tmp_path / "whole")
    whole.report = Watcher(every=2)
    whole.run()

    class Later(Report):
        def step(self, trainer: Trainer) -> None:
            if trainer.step == 5:
                stop.request()

    with Stop() as stop:
        run = Trainer(config(), TEXT, tmp_path / "parts")
        run.report = Reports(Watcher(every=2), Later())
        assert not run.run(stop)
    # a process that was killed after its last checkpoint had gone further
    with open(tmp_path / "parts" / NAME, "ab") as file:
        file.write(Seen("sample", 6, "of a life that was never saved").line())
        file.write(Seen("sample", 9, "that neither").line() + b'{"step": 9, "ki')
    again = Trainer.resume(tmp_path / "parts", text=TEXT)
    again.report = Watcher(every=2)
    again.run()
    parts = seen(tmp_path / "parts")
    for kind, values in seen(tmp_path / "whole").items():
        assert {step: parts[kind][step] for step in values} == values
        assert list(parts[kind]) == sorted(parts[kind])


def test_a_resumed_run_that_nobody_watches_forgets_what_it_does_not_do(tmp_path: Path) -> None:
    run = Trainer(config(checkpoint_every=4, steps=6), TEXT, tmp_path)
    run.report = Watcher(every=1)
    for _ in range(4):
        run.train_step()
    run.save()
    run.run()
    saved = checkpoint.load(tmp_path / "checkpoint.safetensors")
    assert saved.meta["step"] == 6
    # as if the process had been killed at step 6, its last checkpoint being that of step 4
    older = Trainer(config(checkpoint_every=4, steps=4), TEXT, tmp_path / "older")
    older.run()
    os.replace(tmp_path / "older/checkpoint.safetensors", tmp_path / "checkpoint.safetensors")
    Trainer.resume(tmp_path, {"steps": 5}, text=TEXT).run()
    assert max(seen(tmp_path)["sample"]) == 4


def test_a_new_run_takes_the_old_one_s_history_away(tmp_path: Path) -> None:
    for watcher in (Watcher(every=1), Report()):
        run = Trainer(config(steps=3), TEXT, tmp_path)
        run.report = watcher
        run.run()
        assert (tmp_path / NAME).exists() == isinstance(watcher, Watcher)


# ---- what goes wrong -----------------------------------------------------------------------------


def test_a_disk_that_takes_nothing_costs_the_watching_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Trainer(config(), TEXT, tmp_path / "plain")
    plain.run()
    expected = state(plain)
    run = Trainer(config(), TEXT, tmp_path / "run")
    run.report = Watcher(every=1)
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if b'"kind":"gradients"' in data and b'"step":3' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)
    assert run.run()
    assert state(run) == expected
    assert capsys.readouterr().err == (
        f"warning: watch: {NAME}: No space left on device; the run goes on without being watched\n"
    )
    assert list(seen(tmp_path / "run")["gradients"]) == [1, 2]


@pytest.mark.parametrize("kind", ["gradients", "activations", "attention", "sample"])
def test_a_look_that_fails_costs_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    def fail(*args: Any) -> Any:
        raise ZeroDivisionError("by chance")

    run = Trainer(config(), TEXT, tmp_path)
    run.report = Watcher(every=1)
    if kind in ("gradients", "sample"):
        monkeypatch.setattr(looks, kind, fail)
    else:
        monkeypatch.setattr(getattr(looks, kind.capitalize()), "__call__", fail)
    assert run.run() and run.step == 12
    said = capsys.readouterr().err
    assert said.count("warning") == 1 and "by chance" in said
    if kind != "gradients":
        assert kind not in seen(tmp_path) and list(seen(tmp_path)["gradients"]) == list(
            range(1, 13)
        )


def test_hooks_and_modes_are_back_after_a_look_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Trainer(config(), TEXT, tmp_path)
    own: list[str] = []
    run.model.wte.register_forward_hook(lambda *args: own.append("mine"))
    before = [sorted(module.__dict__.keys() - {"training"}) for module in run.model.modules()]
    look = looks.Activations(run)
    monkeypatch.setattr(type(run.model), "loss", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        look(run)
    assert [
        sorted(module.__dict__.keys() - {"training"}) for module in run.model.modules()
    ] == before
    assert all(module.training for module in run.model.modules())
    run.model.wte(np.array([[0]]))
    assert own == ["mine"] and len(run.model.wte._hooks.after) == 1


def test_a_run_without_a_folder_is_trained_but_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    run = Trainer(config(), TEXT)
    run.report = Watcher(every=1)
    assert run.run()
    assert "the run has no folder to keep its history in" in capsys.readouterr().err


def test_a_step_taken_by_hand_is_not_watched(tmp_path: Path) -> None:
    run = Trainer(config(), TEXT, tmp_path)
    run.report = Watcher(every=1)
    run.train_step()
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("wrong", [0, -1, True])
def test_every_is_a_number_of_steps(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="watch-every: expected a number of steps >= 1"):
        Watcher(every=wrong)


def test_what_watching_cost_is_told_where_it_was_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    slow: Callable[..., str] = lambda trainer: (now.__setitem__(0, now[0] + 1.0), "x")[1]  # noqa: E731
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(looks, "sample", slow)

    class Steps(Report):
        def step(self, trainer: Trainer) -> None:
            now[0] += 0.25

    run = Trainer(config(), TEXT, tmp_path)
    run.report = Reports(Watcher(), Steps())
    run.run()
    assert "note: watching took 11.0 s, 79% of this run; of a longer one it takes 2%" in (
        capsys.readouterr().err
    )
