"""What all encoder-decoders promise: one face, no trace of padding or of the future, two ways that
agree, right gradients."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models
from tinytensor.arrays.device import Device
from tinytensor.models.encoder_decoder import END, IGNORED, PAD, START, padded, teacher_forcing

from ..nn.helpers import check_gradients, randomize, values_of

#: a tiny one of each
KINDS: dict[str, dict[str, Any]] = {
    "bahdanau": {"vocab_size": 6, "block_size": 7, "n_embd": 2, "n_hidden": 3},
    "transformer": {
        "vocab_size": 6, "block_size": 7, "n_layer": 2, "n_head": 2, "n_embd": 4, "dropout": 0.0,
        "label_smoothing": 0.0,
    },
}
SOURCES = [[3, 5, 4, 3], [4, 3], [5]]
TARGETS = [[4, 5], [3, 3, 5], [4]]
#: how the names of tables end that give symbols their features
TABLES = ("embedding.weight", "wte.weight")
BATCH = teacher_forcing(SOURCES, TARGETS)


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> Any:
    return models.build(name, **KINDS[name])


@pytest.fixture
def double(model: Any, rng: np.random.Generator) -> Any:
    """In float64, its parameters all random and far from equal, in evaluation mode."""
    randomize(model, rng, 0.8)
    return model.eval()


def test_logits_and_loss(name: str, device: Device) -> None:
    model: Any = models.build(name, **KINDS[name])
    source, given, targets = BATCH
    logits = model(source, given)
    assert logits.shape == (3, 4, 6) and logits.dtype == np.float32 and logits.device is device
    again, loss = model(source, given, targets)
    np.testing.assert_array_equal(values_of(again), values_of(logits))
    assert model.loss(*BATCH).item() == loss.item()
    z = values_of(logits).astype(np.float64)
    log_probs = z - np.log(np.exp(z).sum(-1, keepdims=True))
    counts = targets != IGNORED
    picked = np.take_along_axis(log_probs, np.where(counts, targets, 0)[..., None], -1)[..., 0]
    assert loss.shape == () and loss.item() == pytest.approx(-picked[counts].mean(), rel=1e-5)
    loss.backward()
    for path, param in model.named_parameters():
        assert param.grad is not None, path
        assert param.grad.dtype == np.float32 and param.grad.device is device, path


def test_finite_differences_through_the_whole_model(double: Any, rng: np.random.Generator) -> None:
    leaves = dict(double.named_parameters())
    check_gradients(lambda: double.loss(*BATCH), leaves, rng)
    check_gradients(lambda: double(*BATCH[:2]), leaves, rng, tolerance=1e-5)


def test_padding_leaves_no_trace(double: Any, rng: np.random.Generator) -> None:
    """Whatever the features of PAD are, logits and gradients of what counts stay the same bit for
    bit; and a source alone has the numbers that it has among longer ones."""
    source, given, targets = BATCH
    cotangent = np.where((targets != IGNORED)[..., None], rng.standard_normal((3, 4, 6)), 0.0)
    cotangent[..., PAD] = 0.0  # a head may share PAD's features
    tables = [p for path, p in double.named_parameters() if path.endswith(TABLES)]
    assert tables
    results = []
    for value in (0.0, 1e3, -5.0):
        with tt.no_grad():
            for table in tables:
                rows = values_of(table)
                rows[PAD] = value
                table.copy_(rows)
        double.zero_grad()
        logits = double(source, given)
        logits.backward(tt.tensor(cotangent))
        for table in tables:
            assert not values_of(table.grad)[PAD].any()
        counted = values_of(logits)[targets != IGNORED][:, PAD + 1 :]
        results.append([counted, *(values_of(p.grad) for p in double.parameters())])
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    alone = [
        values_of(double(*teacher_forcing([row], [target])[:2]))[0, :, PAD + 1 :]
        for row, target in zip(SOURCES, TARGETS, strict=True)
    ]
    np.testing.assert_allclose(np.concatenate(alone), results[0][0], rtol=1e-10)


def test_more_padding_changes_nothing(double: Any) -> None:
    source, given, targets = BATCH
    want = values_of(double(source, given))
    longer = np.pad(source, ((0, 0), (0, 3)))
    np.testing.assert_allclose(values_of(double(longer, given)), want, rtol=1e-10)
    late = np.pad(given, ((0, 0), (0, 2)))
    np.testing.assert_allclose(values_of(double(source, late))[:, :4], want, rtol=1e-10)
    ignored = np.pad(targets, ((0, 0), (0, 2)), constant_values=IGNORED)
    loss = double.loss(source, given, targets).item()
    assert double.loss(longer, late, ignored).item() == pytest.approx(loss, rel=1e-12)


def test_no_step_sees_a_later_symbol(double: Any) -> None:
    source, given, _ = BATCH
    before = values_of(double(source, given))
    for t in range(1, given.shape[1]):
        changed = given.copy()
        changed[:, t:] = np.where(given[:, t:] == 3, 5, 3)
        after = values_of(double(source, changed))
        np.testing.assert_array_equal(after[:, :t], before[:, :t])
        assert (np.abs(after - before)[:, t].max(-1) > 1e-6).all()


def test_every_symbol_of_a_source_is_seen(double: Any) -> None:
    source, given, _ = BATCH
    before = values_of(double(source, given))
    for i, row in enumerate(SOURCES):
        for j in range(len(row)):
            changed = source.copy()
            changed[i, j] = 3 if source[i, j] == 4 else 4
            moved = np.abs(values_of(double(changed, given)) - before).max(-1) > 1e-9
            assert moved[i].all() and not np.delete(moved, i, axis=0).any(), "rows do not mix"


def test_writing_agrees_with_teacher_forcing(double: Any) -> None:
    """One symbol a step, or several at once, from a state: the logits of the whole at once."""
    source, given, _ = BATCH
    want = values_of(double(source, given))
    for sizes in ([1, 1, 1, 1], [2, 2], [1, 3], [4]):
        with tt.no_grad():
            state, at = double.encode(source), 0
            for size in sizes:
                logits, state = double.decode(given[:, at : at + size], state)
                at += size
                np.testing.assert_allclose(values_of(logits), want[:, at - 1], rtol=1e-10)


def test_rows_of_a_state_in_another_order(double: Any) -> None:
    source, given, _ = BATCH
    rows = np.array([2, 0, 0, 1])
    with tt.no_grad():
        _, state = double.decode(given[:, :2], double.encode(source))
        logits, _ = double.decode(given[rows][:, 2:], double.reorder(state, rows))
        want = double(source, given)
    np.testing.assert_allclose(values_of(logits), values_of(want)[rows, -1], rtol=1e-10)


def test_translations(double: Any) -> None:
    """The greedy answer takes the most probable symbol each time; a batch has the answers that each
    would have alone; a wider beam finds nothing that is less probable."""

    def log_probability(source: list[int], target: list[int]) -> float:
        given, wanted = teacher_forcing([source], [target])[1:]
        z = values_of(double(padded([source]), given))[0]
        log_probs = z - np.log(np.exp(z).sum(-1, keepdims=True))
        return float(log_probs[np.arange(len(target) + 1), wanted[0]].sum())

    greedy = double.translate(SOURCES)
    assert greedy == [double.translate([source])[0] for source in SOURCES]
    for source, answer in zip(SOURCES, greedy, strict=True):
        assert len(answer) <= 7 and not {PAD, START, END} & set(answer)
        z = values_of(double(padded([source]), padded([[START, *answer]])[:, :7]))[0]
        z[:, [PAD, START]] = -np.inf
        assert z[: len(answer)].argmax(-1).tolist() == answer
    wide = double.translate(SOURCES, beam=50, length_penalty=0.0, max_new_tokens=3)
    assert wide == [double.translate([s], 50, 0.0, 3)[0] for s in SOURCES]
    for source, answer in zip(SOURCES, wide, strict=True):
        ended = double.translate([source], 1, 0.0, 3)[0]
        if len(ended) < 3:
            assert log_probability(source, answer) >= log_probability(source, ended) - 1e-9


def test_smoothing_is_of_training_alone(name: str) -> None:
    model: Any = models.build(name, **(KINDS[name] | {"label_smoothing": 0.3}))
    logits, loss = model(*BATCH)
    want = tt.nn.CrossEntropyLoss(label_smoothing=0.3)(logits, tt.tensor(BATCH[2]))
    assert loss.item() == pytest.approx(want.item(), rel=1e-6)
    logits, loss = model.eval()(*BATCH)
    plain = tt.nn.CrossEntropyLoss()(logits, tt.tensor(BATCH[2])).item()
    assert loss.item() == pytest.approx(plain, rel=1e-6) != want.item()


def test_dropout_acts_in_training_only(name: str) -> None:
    model: Any = models.build(name, **(KINDS[name] | {"dropout": 0.4}))
    assert not np.allclose(values_of(model(*BATCH[:2])), values_of(model(*BATCH[:2])))
    model.eval()
    np.testing.assert_array_equal(values_of(model(*BATCH[:2])), values_of(model(*BATCH[:2])))
    model.train().translate(SOURCES)
    assert model.training, "it gets its own mode back"


def test_copies_are_equal_and_independent(model: Any, name: str) -> None:
    for other in (copy.deepcopy(model), models.build(name, **KINDS[name])):
        other.load_state_dict(model.state_dict())
        np.testing.assert_array_equal(values_of(other(*BATCH[:2])), values_of(model(*BATCH[:2])))
        with tt.no_grad():
            for p in other.parameters():
                p.copy_(values_of(p) + 1)
        assert not np.allclose(values_of(other(*BATCH[:2])), values_of(model(*BATCH[:2])))


def test_a_seed_makes_the_same_model(name: str) -> None:
    states = []
    for _ in range(2):
        tt.random.manual_seed(4)
        states.append(models.build(name, **KINDS[name]).state_dict())
    for key, value in states[0].items():
        np.testing.assert_array_equal(value, states[1][key])


def test_moving_a_model(model: Any, other_device: Device) -> None:
    want = values_of(model(*BATCH[:2]))
    answers = model.translate(SOURCES, beam=2)
    model.to(other_device)
    logits, loss = model(*BATCH)
    loss.backward()
    assert logits.device is other_device
    np.testing.assert_allclose(values_of(logits), want, atol=1e-5)
    assert model.translate(SOURCES, beam=2) == answers


def test_a_few_steps_learn_to_swap(name: str) -> None:
    """A job that attention settles: two symbols, the other way round."""
    wide = {"n_embd": 16, "n_hidden": 16} | ({"n_head": 2} if "n_head" in KINDS[name] else {})
    model: Any = models.build(name, **(KINDS[name] | wide))
    pairs = [[a, b] for a in (3, 4, 5) for b in (3, 4, 5)]
    batch = teacher_forcing(pairs, [pair[::-1] for pair in pairs])
    first = model.loss(*batch).item()
    assert first == pytest.approx(math.log(6), abs=0.8)
    for _ in range(300):
        model.zero_grad()
        loss = model.loss(*batch)
        if loss.item() < 0.03:
            break
        loss.backward()
        with tt.no_grad():
            for p in model.parameters():
                p.copy_(values_of(p) - 0.5 * values_of(p.grad))
    assert loss.item() < 0.03
    assert model.translate(pairs) == [pair[::-1] for pair in pairs]


def test_wrong_batches_are_named(model: Any) -> None:
    source, given, targets = BATCH
    with pytest.raises(IndexError, match=r"source: 6 at \(0, 1\) is outside the vocabulary of 6"):
        model([[3, 6]], [[1]])
    with pytest.raises(IndexError, match=r"given: -1 at \(0, 0\) is outside the vocabulary of 6"):
        model([[3]], [[-1]])
    with pytest.raises(ValueError, match="source: row 1 starts with PAD"):
        model([[3], [0]], [[1], [1]])
    with pytest.raises(ValueError, match="source: row 0 has PAD .* before other symbols"):
        model([[3, 0, 4]], [[1]])
    with pytest.raises(ValueError, match="given: expected 3 rows as in source, got 2"):
        model(source, given[:2])
    with pytest.raises(ValueError, match=r"targets: expected the shape of given \(3, 4\)"):
        model(source, given, targets[:, :2])
    with pytest.raises(ValueError, match="source: 8 symbols are longer than block_size = 7"):
        model([[3] * 8], [[1]])
    with pytest.raises(TypeError, match="source: expected integers"):
        model([[3.0]], [[1]])
