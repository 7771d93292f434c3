"""What all models that tell classes apart promise: one face, right gradients, clear errors."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import models
from tinytensor.arrays.device import Device

from ..nn.helpers import check_gradients, randomize, values_of

CLASSES = 4
TINY: dict[str, dict[str, Any]] = {
    "cnn": {
        "vocab_size": 6, "block_size": 7, "n_embd": 3, "windows": (2, 3), "n_filters": 4,
        "dropout": 0.0,
    },
    "image_cnn": {"height": 4, "width": 6, "channels": (3, 4), "n_hidden": 8, "dropout": 0.0},
}  # fmt: skip
TARGETS = np.array([3, -100, 0, 1, 3])


def examples(name: str, rng: np.random.Generator) -> np.ndarray:
    """Five of them."""
    if name == "cnn":
        ids = rng.integers(1, 6, (5, 7))
        ids[1, 4:] = ids[2, 3:] = 0  # no shorter than the widest window
        return ids
    return rng.random((5, 4, 6), dtype=np.float32)


@pytest.fixture(params=TINY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> Any:
    return models.build(name, n_classes=CLASSES, **TINY[name])


@pytest.fixture
def x(name: str, rng: np.random.Generator) -> np.ndarray:
    return examples(name, rng)


def test_logits_and_loss(name: str, x: np.ndarray, device: Device) -> None:
    model: Any = models.build(name, n_classes=CLASSES, **TINY[name])
    logits = model(x)
    assert logits.shape == (5, CLASSES) and logits.dtype == np.float32 and logits.device is device
    again, loss = model(x, TARGETS)
    np.testing.assert_array_equal(values_of(again), values_of(logits))
    z = values_of(logits).astype(np.float64)
    log_probs = z - np.log(np.exp(z).sum(-1, keepdims=True))
    want = -np.mean([log_probs[row, TARGETS[row]] for row in (0, 2, 3, 4)])
    assert loss.shape == () and loss.item() == pytest.approx(want, rel=1e-5)
    assert model.loss(x, TARGETS).item() == loss.item()
    loss.backward()
    for path, param in model.named_parameters():
        assert param.grad is not None and param.grad.device is device, path


def test_examples_may_be_tensors_arrays_or_lists(model: Any, x: np.ndarray) -> None:
    want = values_of(model(x))
    for same in (tt.tensor(x), x.tolist(), x[:, None] if x.ndim == 3 else x.astype(np.uint8)):
        np.testing.assert_allclose(values_of(model(same)), want, rtol=1e-6)
    loss = model.loss(x, TARGETS).item()
    assert model.loss(tt.tensor(x), TARGETS.tolist()).item() == pytest.approx(loss)


def test_finite_differences_through_the_whole_model(
    model: Any, x: np.ndarray, rng: np.random.Generator
) -> None:
    randomize(model, rng)
    leaves = dict(model.named_parameters())
    check_gradients(lambda: model.loss(x, TARGETS), leaves, rng)
    check_gradients(lambda: model(x), leaves, rng, tolerance=1e-5)


def test_the_loss_of_a_batch_is_that_of_its_parts(model: Any, x: np.ndarray) -> None:
    parts = [model.loss(x[at], TARGETS[at]).item() for at in (slice(3), slice(3, 5))]
    assert model.loss(x, TARGETS).item() == pytest.approx(np.mean(parts), rel=1e-5)  # 2 and 2 count


def test_examples_of_a_batch_do_not_mix(model: Any, x: np.ndarray) -> None:
    alone = np.concatenate([values_of(model(x[i : i + 1])) for i in range(len(x))])
    np.testing.assert_allclose(values_of(model(x)), alone, atol=1e-6)


def test_predictions_are_without_dropout_and_leave_no_graph(name: str, x: np.ndarray) -> None:
    model = models.build(name, n_classes=CLASSES, **(TINY[name] | {"dropout": 0.5}))
    assert not np.allclose(values_of(model(x)), values_of(model(x)))
    before = tt.random.state()
    found = model.probabilities(x)
    assert found.shape == (5, CLASSES) and found.dtype == np.float64
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(x), found.argmax(axis=1))
    assert tt.random.state() == before, "dropout was drawn"
    assert model.training and model.dropout.training
    model.eval()
    z = values_of(model(x))
    np.testing.assert_allclose(found, np.exp(z) / np.exp(z).sum(1, keepdims=True), rtol=1e-5)


def test_a_few_steps_learn_by_heart(name: str, x: np.ndarray) -> None:
    wide = {"n_filters": 16} if name == "cnn" else {"n_hidden": 32, "channels": (8, 8)}
    model = models.build(name, n_classes=CLASSES, **(TINY[name] | wide))
    first = model.loss(x, TARGETS).item()
    assert first == pytest.approx(math.log(CLASSES), abs=1)
    for _ in range(400):
        model.zero_grad()
        loss = model.loss(x, TARGETS)
        if loss.item() < 0.1:
            break
        loss.backward()
        with tt.no_grad():
            for p in model.parameters():
                p.copy_(values_of(p) - 0.3 * values_of(p.grad))
    assert loss.item() < 0.1
    kept = TARGETS >= 0
    np.testing.assert_array_equal(model.predict(x)[kept], TARGETS[kept])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_equal(model: Any, x: np.ndarray, copied: Callable[[Any], Any]) -> None:
    other = copied(model)
    np.testing.assert_array_equal(values_of(other(x)), values_of(model(x)))
    assert other.config == model.config


def test_state_dict_round_trip_and_seed(model: Any, name: str, x: np.ndarray) -> None:
    made = []
    for _ in range(2):
        tt.random.manual_seed(4)
        made.append(models.build(name, n_classes=CLASSES, **TINY[name]))
    np.testing.assert_array_equal(values_of(made[0](x)), values_of(made[1](x)))
    assert not np.allclose(values_of(made[0](x)), values_of(model(x)))
    made[0].load_state_dict(model.state_dict())
    np.testing.assert_array_equal(values_of(made[0](x)), values_of(model(x)))


def test_moving_a_model(model: Any, x: np.ndarray, other_device: Device) -> None:
    want, said = values_of(model(x)), model.predict(x)
    model.to(other_device)
    logits, loss = model(x, TARGETS)
    loss.backward()
    assert logits.device is other_device
    np.testing.assert_allclose(values_of(logits), want, atol=1e-5)
    assert type(model.predict(x)) is np.ndarray
    np.testing.assert_array_equal(model.predict(x), said)


def test_wrong_targets_are_named(model: Any, x: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"targets: expected one for each example \(5,\), got"):
        model(x, TARGETS[:4])
    with pytest.raises(TypeError, match="targets: expected integers, got dtype float64"):
        model(x, TARGETS * 0.5)
    with pytest.raises((IndexError, ValueError), match=r"\b4\b"):
        model(x, np.full(5, CLASSES))


# ---- configs -----------------------------------------------------------------------------------


def test_configs_are_frozen_plain_and_checked(name: str) -> None:
    kind = models.MODELS[name][1]
    config = kind(n_classes=CLASSES, **TINY[name])
    assert kind(**json.loads(json.dumps(config.to_dict()))) == config
    assert kind.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert hash(config) == hash(kind(n_classes=CLASSES, **TINY[name]))
    with pytest.raises(AttributeError):
        config.n_classes = 3
    with pytest.raises(ValueError, match="n_classes: expected an integer >= 1, got 0"):
        kind(**(TINY[name] | {"n_classes": 0}))
    several = "windows" if name == "cnn" else "channels"
    numpy = kind(**(TINY[name] | {several: [np.int64(2), 1]}))
    assert json.loads(json.dumps(numpy.to_dict()))[several] == [2, 1]
    for bad, expected in (
        ((), "expected some integers, got"), (None, "expected some integers, got None"),
        ((0,), "expected an integer >= 1, got 0"),
        ((2, True), "expected an integer >= 1, got True"),
        (["3"], "expected an integer >= 1, got '3'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{several}: {expected}"):
            kind(**(TINY[name] | {several: bad}))
    with pytest.raises(ValueError, match=rf"{several}: expected at most 2147483647"):
        kind(**(TINY[name] | {several: [2**31]}))


size = st.integers(1, 4)
some = st.lists(size, min_size=1, max_size=3)


@st.composite
def configs(draw: Any) -> tuple[str, Any]:
    name = draw(st.sampled_from(sorted(TINY)))
    if name == "cnn":
        values = {"vocab_size": 1 + draw(size), "windows": draw(some), "n_filters": draw(size),
                  "block_size": draw(st.integers(4, 6)), "n_embd": draw(size)}  # fmt: skip
    else:
        layers = draw(some)
        sides = st.integers(2 ** len(layers), 2 ** len(layers) + 5)
        values = {"height": draw(sides), "width": draw(sides), "channels": layers,
                  "kernel_size": draw(st.sampled_from([1, 3])), "in_channels": draw(size),
                  "n_hidden": draw(size)}  # fmt: skip
    return name, models.MODELS[name][1](**values, n_classes=draw(size))


@given(configs())
@settings(max_examples=40)
def test_shapes_and_counts_are_those_of_the_model(drawn: tuple[str, Any]) -> None:
    """Names, shapes and their order; and what a training step keeps is no overestimate."""
    name, config = drawn
    model = models.MODELS[name][0](config)
    built = [(path, array.shape) for path, array in model.state_dict().items()]
    assert list(config.parameter_shapes()) == built
    assert config.parameter_count() == model.num_parameters()
    assert config.array_count() == len(built)
    if name == "cnn":
        x = np.full((2, config.block_size), config.vocab_size - 1)
    else:
        x = np.zeros((2, config.in_channels, config.height, config.width), dtype=np.float32)
    report = tt.memory_report(model.loss(x, np.zeros(2, dtype=np.int64)))
    symbols = x.size if name == "cnn" else x.size // config.in_channels
    assert config.kept_per_symbol() * symbols * 4 <= report.total - report.leaves
