"""Word2Vec: values by hand, gradients, what does not count, and the nearest words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.models import Word2Vec, Word2VecConfig, build
from tinytensor.train import Adagrad

from ..nn.helpers import check_gradients, randomize, values_of


def small(rng: np.random.Generator, vocab: int = 9, width: int = 3) -> Word2Vec:
    model: Word2Vec = build("word2vec", vocab_size=vocab, n_embd=width)
    randomize(model, rng)
    return model.to("float64")


PAIRS: tuple[Any, ...] = ([1, 5, 1], [[2, 0], [2, 3], [7, 7]], [[1, 0], [1, 0], [1, 0]])
GROUPS: tuple[Any, ...] = (
    [[1, 5, 1], [4, -1, -1], [2, 8, -1]],
    [[2, 0], [2, 3], [7, 7]],
    [[1, 0], [1, -100], [1, 0]],
)


def by_hand(model: Word2Vec, words: Any, samples: Any, labels: Any) -> float:
    """The mean over what counts of -ln σ(±h·c), in plain loops."""
    table, contexts = values_of(model.words.weight), values_of(model.contexts.weight)
    losses = []
    for row, sampled, labelled in zip(words, samples, labels, strict=True):
        there = [i for i in np.atleast_1d(row) if i >= 0]
        hidden = sum(table[i] for i in there) / len(there)
        for sample, label in zip(sampled, labelled, strict=True):
            if label >= 0:
                sign = 1 if label else -1
                losses.append(math.log1p(math.exp(-sign * float(hidden @ contexts[sample]))))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("batch", [PAIRS, GROUPS])
def test_loss_by_hand(batch: Any, rng: np.random.Generator) -> None:
    model = small(rng)
    assert model.loss(*map(np.array, batch)).item() == pytest.approx(by_hand(model, *batch))


@pytest.mark.parametrize("batch", [PAIRS, GROUPS])
def test_gradients(batch: Any, rng: np.random.Generator) -> None:
    model = small(rng)
    check_gradients(lambda: model.loss(*batch), dict(model.named_parameters()), rng)


def test_gradients_are_of_the_rows_that_were_read(rng: np.random.Generator) -> None:
    """Words that are not there (-1) have none, though something is looked up in their place."""
    model = small(rng)
    model.loss(*GROUPS).backward()
    words, contexts = model.words.weight.grad, model.contexts.weight.grad
    assert isinstance(words, tt.RowGrad) and isinstance(contexts, tt.RowGrad)
    assert words.rows.tolist() == [1, 2, 4, 5, 8]
    assert contexts.rows.tolist() == [0, 2, 3, 7]
    assert not contexts.to_dense().numpy()[3].any(), "what does not count has no gradient"
    assert words.to_dense().numpy()[words.rows].all()


def test_parts_of_a_batch_add_up(rng: np.random.Generator) -> None:
    """Weighted by how many targets count, the losses of parts are that of the whole."""
    model = small(rng)
    whole = model.loss(*GROUPS).item()
    batch = [np.array(a) for a in GROUPS]
    parts = [[a[:1] for a in batch], [a[1:] for a in batch]]
    counts = [int((part[-1] != -100).sum()) for part in parts]
    losses = [model.loss(*part).item() for part in parts]
    assert np.average(losses, weights=counts) == pytest.approx(whole, rel=1e-12)
    nothing = model.loss([1], [[2]], [[-100]])
    nothing.backward()
    assert nothing.item() == 0.0 and not model.contexts.weight.grad.to_dense().numpy().any()


def test_starts_where_every_answer_is_as_likely() -> None:
    model: Word2Vec = build("word2vec", vocab_size=50, n_embd=8)
    assert model.loss([1, 2], [[3, 4], [5, 6]], [[1, 0], [1, 0]]).item() == pytest.approx(
        math.log(2)
    )
    table = values_of(model.words.weight)
    assert 0 < np.abs(table).max() <= 0.5 / 8


def test_a_step_with_rows_is_a_step_with_the_whole_table(rng: np.random.Generator) -> None:
    models = [small(rng, 300, 4)]
    models.append(build("word2vec", vocab_size=300, n_embd=4).to("float64"))
    models[1].load_state_dict(models[0].state_dict())
    models[1].words.sparse = models[1].contexts.sparse = False
    for model in models:
        draws = np.random.default_rng(3)
        optimizer = Adagrad(model.parameters(), lr=0.1)
        for _ in range(5):
            words, samples = draws.integers(0, 300, 20), draws.integers(0, 300, (20, 3))
            model.loss(words, samples, np.tile([1, 0, 0], (20, 1))).backward()
            optimizer.step()
            optimizer.zero_grad()
    for name, param in models[0].named_parameters():
        np.testing.assert_array_equal(values_of(param), values_of(models[1].get_parameter(name)))


def test_two_groups_of_words_that_occur_together(rng: np.random.Generator) -> None:
    """A short training: words of a group come to lie near each other."""
    tt.manual_seed(0)
    model: Word2Vec = build("word2vec", vocab_size=20, n_embd=8)
    optimizer = Adagrad(model.parameters(), lr=0.3)
    for _ in range(150):
        words = rng.integers(0, 20, 64)
        right = 2 * rng.integers(0, 10, 64) + words % 2  # odd with odd, even with even
        samples = np.stack([right, *rng.integers(0, 20, (4, 64))], axis=1)
        model.loss(words, samples, np.tile([1, 0, 0, 0, 0], (64, 1))).backward()
        optimizer.step()
        optimizer.zero_grad()
    for word in range(20):
        assert all(i % 2 == word % 2 for i, _ in model.most_similar(word, n=9))


def test_nearest_words_by_hand() -> None:
    model: Word2Vec = build("word2vec", vocab_size=5, n_embd=2)
    table = [[1.0, 0.0], [2.0, 2.0], [0.0, 3.0], [-1.0, 0.0], [0.0, 0.0]]
    model.words.load_state_dict({"weight": table})
    half = math.sqrt(0.5)
    np.testing.assert_allclose(model.vectors()[1], [half, half], rtol=1e-6)
    assert not model.vectors()[4].any(), "a vector of zeros is like none"
    found = model.most_similar(0)
    assert [i for i, _ in found] == [1, 2, 4, 3]
    np.testing.assert_allclose([c for _, c in found], [half, 0, 0, -1], atol=1e-6)
    assert model.most_similar([0], n=1)[0][0] == 1
    assert model.most_similar([1], [0], n=1)[0][0] == 2, "to the left and up"
    assert model.analogy(0, 1, 2)[0][0] not in (0, 1, 2)
    assert sorted(i for i, _ in model.most_similar([0, 1], [2], n=50)) == [3, 4]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: m([[1], [2]], [[1, 2]]), ValueError, r"got \(2, 1\) and \(1, 2\)"),
        (lambda m: m([1], [1]), ValueError, "words, samples: expected shapes"),
        (lambda m: m([[-1, 2]], [[1]]), ValueError, "at least one word in each row"),
        (lambda m: m([9], [[1]]), IndexError, "9 is out of range"),
        (lambda m: m([1], [[-1]]), IndexError, "-1 is out of range"),
        (lambda m: m.loss([1], [[1]], [[1, 0]]), ValueError, r"labels: expected shape \(1, 1\)"),
        (lambda m: m.loss([1], [[1]], [[2]]), ValueError, "labels: expected 1, 0 or -100"),
        (lambda m: m.most_similar([]), ValueError, "positive: expected at least one id"),
        (lambda m: m.most_similar(9), IndexError, "ids: expected 0 to 8"),
        (lambda m: Word2VecConfig(5, mode="glove"), ValueError, "mode: expected one of skipgram"),
    ],
)
def test_errors(call: Any, error: Any, text: str, rng: np.random.Generator) -> None:
    with pytest.raises(error, match=text):
        call(small(rng))


def test_the_config_knows_the_size() -> None:
    config = Word2VecConfig(7, 3)
    model = Word2Vec(config)
    built = [(name, array.shape) for name, array in model.state_dict().items()]
    assert list(config.parameter_shapes()) == built
    assert config.parameter_count() == model.num_parameters() == 42
    assert Word2VecConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ((1.5,), TypeError, "positive: expected an id"),
        ((1, "a"), TypeError, "negative: expected an id"),
        (([2, 1], [1, 2]), ValueError, "the same words"),
        ((1, (), -1), ValueError, "n: expected"),
    ],
)
def test_ids_that_are_none(given: Any, kind: type[Exception], message: str) -> None:
    model = build("word2vec", vocab_size=5, n_embd=3)
    with pytest.raises(kind, match=message):
        model.most_similar(*given)
    model.words.weight.data[...] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        model.most_similar(1)
