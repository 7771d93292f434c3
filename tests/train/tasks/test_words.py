"""Tasks about word vectors: their parts, their figures by hand, short runs, and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, random
from tinytensor.train import DataError, TrainConfig, Trainer
from tinytensor.train.data import analogies as known
from tinytensor.train.data.words import Words
from tinytensor.train.tasks import AnalogiesTask, WordsTask
from tinytensor.train.tasks.analogies import answered, purity
from tinytensor.train.tasks.word_map import Group, draw_words, plane

TEXT = "the king sees a man. the queen sees a woman! a man sees the king?\n" * 30
TINY: dict[str, Any] = {
    "model": "word2vec", "n_embd": 8, "min_count": 1, "steps": 12, "batch_size": 50,
    "eval_every": 5, "checkpoint_every": 5, "subsample": 0.0,
}  # fmt: skip


def words_task(text: str = TEXT, **settings: Any) -> WordsTask:
    return WordsTask(TrainConfig(**{**TINY, **settings}), text=text)


def test_a_sentence_is_of_one_part() -> None:
    """The last tenth is for validation; random words are drawn by the counts of the others."""
    task = words_task("a b c d e f. " * 90 + "g h. " * 30)
    assert sorted(task.vocabulary) == list("abcdefgh")
    train, val = task.train, task.val
    seen = {task.vocabulary[i] for i in np.unique(train.ids)}
    assert seen == set("abcdef") and {task.vocabulary[i] for i in np.unique(val.ids)} >= set("gh")
    assert not set(train.numbers) & set(val.numbers)
    assert len(train.ids) + len(val.ids) == 600
    draws = train.random_words.draw(tt.Generator(0), (1000,))
    assert {task.vocabulary[i] for i in np.unique(draws)} == seen


def test_validation_is_always_the_same_and_draws_nothing() -> None:
    task, states = words_task(), random.state()
    first, second = list(task.blocks(8)), list(task.blocks(8))
    assert len(first) == task.batches(8) > 2
    for one, two in zip(first, second, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)
    assert len(list(task.blocks(8, 2))) == 2
    assert random.state() == states
    batch = task.batch(32)
    assert random.state() != states and len(batch[0]) <= 32


def test_a_batch_depends_on_the_generator_only() -> None:
    random.manual_seed(4)
    batches = [words_task().batch(32) for _ in range(2)]
    random.manual_seed(4)
    task = words_task()
    for batch in batches:
        for a, b in zip(batch, task.batch(32), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("mode", "optimizer"), [("skipgram", "adagrad"), ("cbow", "adamw"), ("skipgram", "sgd")]
)
def test_a_run_is_resumed_bit_by_bit(mode: str, optimizer: str, tmp_path: Path) -> None:
    settings = {**TINY, "mode": mode, "optimizer": optimizer, "schedule": "constant"}
    runs = []
    for name, stops in (("a", [12]), ("b", [7, 12])):
        config = TrainConfig(**{**settings, "steps": stops[0]}, out=str(tmp_path / name))
        trainer = Trainer(config, text=TEXT)
        assert trainer.run()
        for stop in stops[1:]:
            trainer = Trainer.resume(tmp_path / name, {"steps": stop}, TEXT)
            assert trainer.run()
        runs.append(trainer)
    one, two = runs
    assert one.history.train == two.history.train
    for name, array in one.model.state_dict().items():
        np.testing.assert_array_equal(array, two.model.state_dict()[name])
    for name, array in one.optimizer.state_dict()["arrays"].items():
        np.testing.assert_array_equal(array, two.optimizer.state_dict()["arrays"][name])


def test_a_short_run_gets_better() -> None:
    """On generated sentences: analogies from none to most, and neighbours of one class."""
    config = TrainConfig(task="analogies", steps=500, n_embd=50, eval_every=1000)
    trainer = Trainer(config)
    before = trainer.task.score(trainer.model)
    assert before is not None and before.value < 0.05
    assert trainer.run()
    after = trainer.task.score(trainer.model)
    assert after is not None and after.value > 0.3, str(after)
    assert purity(trainer.model.vectors(), trainer.task.words) > 0.95  # type: ignore[attr-defined]
    assert trainer.history.val[-1][1] < 0.35


def test_figures_by_hand() -> None:
    """Vectors that are sums of a class and of what belongs to both answer everything; vectors that
    are exchanged within a class do not."""
    listed = [word for group in known.classes().values() for word in group]
    words = Words([*listed, "other"])
    classes, pairs = np.eye(8), np.random.default_rng(0).normal(size=(80, 30)) * 0.1
    vectors = np.zeros((161, 38))
    for c, group in enumerate(known.classes().values()):
        for i, word in enumerate(group):
            vectors[words.ids[word]] = [*classes[c], *pairs[c // 2 * 20 + i]]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    assert answered(vectors, words) == (3040, 3040)
    assert purity(vectors, words) == 1.0
    capital, moved = [words.ids[word] for word in known.classes()["capitals"]], vectors.copy()
    moved[capital] = vectors[np.roll(capital, 1)]
    right, count = answered(moved, words)
    assert count == 3040 and right <= 3040 - 2 * 20 * 19 + 40
    assert purity(moved, words) == 1.0
    rng = np.random.default_rng(1)
    close = vectors.copy()
    close[:, :8] *= 0.01  # classes differ by less than what disturbs the vectors
    close += rng.normal(size=close.shape) * 0.02
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    right, _ = answered(close, words)
    assert right > 3000, "the words of the question are no answers to it"
    noise = rng.normal(size=(161, 100))
    assert purity(noise / np.linalg.norm(noise, axis=1, keepdims=True), words) < 0.25


def test_answers(tmp_path: Path) -> None:
    trainer = Trainer(TrainConfig(**TINY, out=str(tmp_path)), text=TEXT)
    task, model = trainer.task, trainer.model
    assert isinstance(task, WordsTask)
    ids = task.words.ids
    for text, plus, minus in (
        ("king", ["king"], []),
        (" King - man+woman ", ["king", "woman"], ["man"]),
        ("+king +queen", ["king", "queen"], []),
        ("-man + king", ["king"], ["man"]),
    ):
        lines = task.answer(model, text).splitlines()
        nearest = model.most_similar([ids[w] for w in plus], [ids[w] for w in minus])
        assert lines == [f"{task.vocabulary[i]}  {cosine:.3f}" for i, cosine in nearest]
    for text in ("", "king +", "king * man", "- man", "+"):
        with pytest.raises(DataError, match="input: expected a word, or words with"):
            task.answer(model, text)
    with pytest.raises(DataError, match="input: 'emperor' is not among the 7 words"):
        task.answer(model, "king - emperor")
    assert task.show(model, 0).count("\n") == 4, "of a small vocabulary five words are shown"
    saved = WordsTask(TrainConfig(**TINY), vocabulary=task.vocabulary)
    assert saved.answer(model, "king") == task.answer(model, "king")


def test_a_checkpoint_answers_without_its_text(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    trainer = Trainer(TrainConfig(**TINY, data=str(path), out=str(tmp_path / "run")))
    assert trainer.run()
    expected = trainer.sample("king")
    path.unlink()
    from tinytensor.train.results.restore import restore

    found = restore(tmp_path / "run")
    assert found.task.answer(found.model, "king") == expected
    with pytest.raises(ValueError, match="words: expected each word once"):
        WordsTask(TrainConfig(**TINY), vocabulary=["a", "a"])


def test_settings() -> None:
    config = TrainConfig(model="word2vec")
    assert (config.task, config.mode, config.optimizer) == ("words", "skipgram", "adagrad")
    assert config.block_size is None and config.window == 5
    assert TrainConfig(task="analogies").model == "word2vec"
    assert TrainConfig().window is None
    for wrong, text in (
        ({"model": "gpt", "window": 3}, "window: task text has none"),
        ({"task": "analogies", "data": "x.txt"}, "data: task analogies has none, only window"),
        ({"model": "word2vec", "mode": "glove"}, "mode: expected one of skipgram, cbow"),
        ({"model": "lstm", "mode": "cbow"}, "mode: model lstm has none"),
    ):
        with pytest.raises(ValueError, match=text):
            TrainConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="task analogies makes its own"):
        AnalogiesTask(TrainConfig(task="analogies"), text="a b")


def test_descriptions() -> None:
    task = words_task()
    task_of_code = AnalogiesTask(TrainConfig(task="analogies"))
    assert "7 words with vectors" in task.describe() and "for validation" in task.describe()
    assert "generated sentences for training" in task_of_code.describe()
    assert "random words" in task.describe_batch(50)
    assert task.fingerprint != task_of_code.fingerprint


def test_principal_components_by_hand() -> None:
    """A long axis and a short one, in a space of five."""
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.normal(size=(5, 5)))[0][:2]
    flat = np.array([[10.0, 0], [-10, 0], [0, 1], [0, -1.5], [0, 0.5]])
    found = plane(flat @ frame + 7)
    np.testing.assert_allclose(np.abs(found[:2, 0]), 10, rtol=1e-6)
    np.testing.assert_allclose(np.abs(found[2:, 1]), [1, 1.5, 0.5], rtol=1e-6)
    assert found[np.abs(found[:, 1]).argmax(), 1] > 0
    assert plane(np.ones((4, 1))).shape == (4, 2)


def test_pictures(tmp_path: Path) -> None:
    task = words_task()
    model = models.build("word2vec", vocab_size=7, n_embd=3)
    path = task.draw(model, tmp_path / "words.png")
    assert path is not None and path.read_bytes().startswith(b"\x89PNG")
    one = Group("one", ["$x", "cat"], np.eye(2))
    many = Group("many", ["xs", "cats"], np.eye(2) + 1)
    svg = draw_words(tmp_path / "map.svg", [("from one to many", [one, many])])
    text = svg.read_text(encoding="utf-8")
    for word in ("$x", "cat", "xs", "cats", "one", "many"):
        assert f"<!-- {word} -->" in text, "words are drawn as they are"
