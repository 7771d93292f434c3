"""What holds for every task with every model of it: data, runs, checkpoints, answers."""

from __future__ import annotations

import copy
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, random
from tinytensor.models import MODELS
from tinytensor.models.ids import IGNORED
from tinytensor.train import CheckpointError, ConfigError, TrainConfig, Trainer, checkpoint
from tinytensor.train.config import TASK_FIELDS, usual_task
from tinytensor.train.results.restore import restore
from tinytensor.train.system.signals import Stop
from tinytensor.train.tasks import TASKS, Task
from tinytensor.train.tasks.pairs.pairs import Pairs

from ..helpers import TEXT

#: settings that make each model small
SMALL: dict[str, dict[str, Any]] = {
    "gpt": {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 8},
    "gru": {"n_layer": 1, "n_embd": 6, "n_hidden": 7, "block_size": 8},
    "lstm": {"n_layer": 1, "n_embd": 6, "n_hidden": 7, "block_size": 8},
    "rnn": {"n_layer": 1, "n_embd": 6, "n_hidden": 7, "block_size": 8},
    "cnn": {"n_embd": 4, "block_size": 40},
    "image_cnn": {},
    "word2vec": {"n_embd": 5},
    "bahdanau": {"n_embd": 5, "n_hidden": 6},
    "transformer": {"n_layer": 1, "n_head": 2, "n_embd": 8},
}
PAIRS = [(name, model) for name, task in TASKS.items() for model in task.models]
#: tasks that read a text, which is short here
ON_A_TEXT = {"text", "words"}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of strings are made in a moment where there are few."""
    monkeypatch.setattr(Pairs, "counts", {"train": 300, "val": 40, "test": 30})


@pytest.fixture(params=PAIRS, ids=lambda pair: "-".join(pair))
def pair(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A task and a model that can learn it."""
    if request.param[0] == "digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed: it has the digits")
    return request.param


def config(pair: tuple[str, str], **settings: Any) -> TrainConfig:
    """Settings of a run that takes a moment."""
    task, model = pair
    base = {"steps": 6, "batch_size": 8, "warmup": 2, "eval_every": 3, "eval_batches": 2}
    own = {"min_count": 1} if task == "words" else {}
    given = {**base, **SMALL[model], **own, "workers": 1, **settings}
    return TrainConfig(task=task, model=model, **given)


def trainer(pair: tuple[str, str], folder: Path | None = None, **settings: Any) -> Trainer:
    text = TEXT * 3 if pair[0] in ON_A_TEXT else None
    return Trainer(config(pair, **settings), text, folder)


def weights(run: Trainer) -> dict[str, np.ndarray]:
    return run.model.state_dict()


def equal(a: Any, b: Any) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# ---- the lists ----------------------------------------------------------------------------------


def test_every_model_has_a_task_and_says_what_it_is() -> None:
    for name, (model, _) in MODELS.items():
        assert usual_task(name) in TASKS, name
        assert model.about and model.paper and "\n" not in model.about, name
    for name, task in TASKS.items():
        assert task.name == name and task.about and task.models, name
        assert set(task.models) <= set(MODELS) and set(task.recipes) <= set(task.models), name
        assert set(task.reads) <= set(TASK_FIELDS), name


def test_task_and_model_choose_each_other() -> None:
    assert (TrainConfig().model, TrainConfig().task) == ("gpt", "text")
    for name in ("transformer", "bahdanau"):
        assert TrainConfig(model=name).task == "dates"
    for name, task in TASKS.items():
        assert TrainConfig(task=name).model == task.models[0]
    with pytest.raises(ConfigError, match="task dates is for transformer, bahdanau, got gpt"):
        TrainConfig(task="dates", model="gpt")
    with pytest.raises(ConfigError, match="data: task dates has none"):
        TrainConfig(task="dates", data="x.txt")
    with pytest.raises(ConfigError, match="block_size: the data of task dates settle it"):
        TrainConfig(task="dates", block_size=5)
    with pytest.raises(ConfigError, match="task: expected one of text, .*, got 'dance'"):
        TrainConfig(task="dance")


def test_recipes_are_settings_that_can_be(pair: tuple[str, str]) -> None:
    task, model = pair
    chosen, recipe = TrainConfig(task=task, model=model), TASKS[task].recipes.get(model, {})
    for name, value in recipe.items():
        assert getattr(chosen, name) == value
    assert TrainConfig(task=task, model=model, steps=7).steps == 7, "what is given wins"
    assert TrainConfig.from_dict(chosen.to_dict()) == chosen
    json.dumps(chosen.to_dict())


# ---- data ---------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def test_batches_depend_on_the_generator_of_data_alone(pair: tuple[str, str]) -> None:
    task = trainer(pair).task
    tt.manual_seed(5)
    before = random.state()
    first = [task.batch(7) for _ in range(3)]
    after = random.state()
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["data"]
    random.set_state(before)
    again = [task.batch(7) for _ in range(3)]
    for a, b in zip(first, again, strict=True):
        same(a, b)
    for batch in first:
        assert 0 < len(batch[0]) <= 7
        assert all(isinstance(a, np.ndarray) and len(a) == len(batch[0]) for a in batch)
        assert (batch[-1] != IGNORED).any()


def test_validation_is_always_the_same_and_draws_nothing(pair: tuple[str, str]) -> None:
    task = trainer(pair).task
    state = copy.deepcopy(random.state())
    whole = list(task.blocks(8))
    assert 0 < len(whole) <= task.batches(8) < 1.1 * len(whole) + 1
    for a, b in zip(whole, task.blocks(8), strict=True):
        same(a, b)
    wanted = min(3, len(whole))
    few = list(task.blocks(8, 3))
    assert len(few) == wanted
    for batch in few:
        assert any(
            len(batch) == len(other) and all(map(np.array_equal, batch, other)) for other in whole
        )
    assert random.state() == state


def test_the_loss_of_a_batch_is_the_mean_of_its_parts(pair: tuple[str, str]) -> None:
    """Weighted by the targets that count: what lets several processes share a batch."""
    run = trainer(pair, batch_size=9)
    run.model.eval()
    batch = run.task.batch(9)
    with tt.no_grad():
        whole = float(run.model.loss(*batch).item())
        parts, counts = [], []
        for rows in (slice(0, 4), slice(4, None)):
            part = tuple(a[rows] for a in batch)
            counts.append(int((part[-1] != IGNORED).sum()))
            parts.append(float(run.model.loss(*part).item()) if counts[-1] else 0.0)
    assert whole == pytest.approx(np.average(parts, weights=counts), rel=1e-5)


# ---- runs ---------------------------------------------------------------------------------------


def test_a_run_resumed_is_the_run_that_never_stopped(pair: tuple[str, str], tmp_path: Path) -> None:
    whole = trainer(pair)
    assert whole.run()
    text = TEXT * 3 if pair[0] in ON_A_TEXT else None
    half = trainer(pair, tmp_path / "run")
    stop = Stop()
    half.report.step = (  # type: ignore[method-assign]
        lambda t: setattr(stop, "signal", signal.SIGINT) if t.step == 3 else None
    )
    assert not half.run(stop)
    again = Trainer.resume(tmp_path / "run", text=text)
    assert again.step == 3 and again.same_text
    assert again.run()
    equal(weights(again), weights(whole))
    assert again.history.train == whole.history.train
    assert again.history.val == whole.history.val
    assert again.optimizer.state_dict()["numbers"] == whole.optimizer.state_dict()["numbers"]
    equal(again.optimizer.state_dict()["arrays"], whole.optimizer.state_dict()["arrays"])


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="several processes need Linux")
def test_several_processes_learn_the_same(pair: tuple[str, str]) -> None:
    own = {"dropout": 0.0} if trainer(pair).config.dropout else {}
    one = trainer(pair, batch_size=9, steps=3, **own)
    assert one.run()
    two = trainer(pair, batch_size=9, steps=3, **own, workers=2, oversubscribe=True)
    assert two.run()
    np.testing.assert_allclose(two.history.train, one.history.train, rtol=2e-4)
    for name, value in weights(one).items():
        np.testing.assert_allclose(weights(two)[name], value, rtol=5e-3, atol=5e-3, err_msg=name)


def test_what_came_of_it(pair: tuple[str, str], tmp_path: Path) -> None:
    """Figure, picture and examples draw nothing from the run's generators and change nothing."""
    run = trainer(pair, tmp_path / "run")
    assert run.run()
    state, before = copy.deepcopy(random.state()), weights(run)
    score = run.score()
    assert score is None or 0.0 <= score.value <= 1.0 and str(score)
    picture = run.draw()
    assert picture is None or picture.is_file() and picture.stat().st_size > 5_000
    shown = run.sample()
    assert isinstance(shown, str) and shown == run.sample()
    assert random.state() == state
    equal(weights(run), before)
    assert run.score() == score


def test_a_checkpoint_alone_answers(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that answering needs is in it: no data are read."""
    run = trainer(pair, tmp_path / "run")
    assert run.run()
    example = run.task.example
    found = restore(tmp_path / "run")
    assert found.task.vocabulary == run.task.vocabulary
    json.dumps(found.task.vocabulary)
    if example:
        question = example[example.index("--input") + 1]
        if pair[0] == "words":
            question = "fox"
        assert found.task.answer(found.model, question) == run.task.answer(run.model, question)


HOSTILE: list[Any] = [
    None, 3, -1.5, True, "", "aa", [], {}, [1], ["a", "a"], [None], [["a"]], {"words": None},
    {"a": 1}, "\ud800", ["\ud800"], [""], {"symbols": "ab", "labels": 3}, ["a"] * 3,
]  # fmt: skip


def test_a_hostile_vocabulary_is_refused_in_a_line(pair: tuple[str, str], tmp_path: Path) -> None:
    run = trainer(pair, tmp_path / "run", steps=1, eval_every=1)
    assert run.run()
    file = tmp_path / "run" / checkpoint.NAME
    saved = checkpoint.load(file)
    for value in HOSTILE:
        if value == run.task.vocabulary:
            continue
        saved.meta["symbols"] = value
        checkpoint.save(tmp_path / "bad" / checkpoint.NAME, saved)
        with pytest.raises(CheckpointError, match="does not fit together") as error:
            restore(tmp_path / "bad")
        assert "\n" not in str(error.value)


def test_a_task_of_ones_own() -> None:
    """The face is all that a run needs: here a model learns to add a constant."""

    class Shift(Task):
        name, about, models = "shift", "", ()
        vocabulary, fingerprint, length = "x", "0", 1

        def __init__(self) -> None:
            return

        def batch(self, size: int) -> Any:
            x = random.generator("data").normal((size, 1))
            return x.astype(np.float32), (x + 1).astype(np.float32)

        def batches(self, size: int) -> int:
            return 1

        def blocks(self, size: int, limit: int | None = None) -> Any:
            yield np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)

        def describe(self) -> str:
            return ""

        def show(self, model: Any, seed: int) -> str:
            return ""

    class Bias(models.Model[models.ModelConfig]):
        def __init__(self) -> None:
            self.bias = tt.nn.Parameter(np.zeros(1, np.float32))

        def loss(self, *batch: Any) -> tt.Tensor:
            x, y = batch
            return tt.mse_loss(tt.tensor(x) + self.bias, tt.tensor(y))

    task, model = Shift(), Bias()
    optimizer = tt.train.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        model.loss(*task.batch(4)).backward()
        optimizer.step()
        optimizer.zero_grad()
    assert float(model.loss(*next(task.blocks(1))).item()) < 1e-6


def test_a_checkpoint_does_not_depend_on_the_recipe_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run leaves to its model stays what it was, whatever a later recipe says."""
    kind = TASKS["dates"]
    with monkeypatch.context() as before:
        before.setattr(kind, "recipes", {})
        given = TrainConfig(task="dates", steps=1, n_layer=1, batch_size=4, workers=1)
        run = Trainer(given, folder=tmp_path / "run")
        assert run.config.n_embd is None and run.run()
    assert kind.recipes["transformer"]["n_embd"] != 128
    found = restore(tmp_path / "run")
    assert found.model.config.n_embd == found.config.n_embd == 128
    assert Trainer.resume(tmp_path / "run", {"steps": 2}).run()
