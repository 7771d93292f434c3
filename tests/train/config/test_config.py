"""Settings: checks, TOML, and the flags made from them."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.models import MODELS, build
from tinytensor.train import ConfigError, TrainConfig
from tinytensor.train.config import CHOICES, MODEL_FIELDS, usual_task, value_type
from tinytensor.train.config.toml_file import load_toml
from tinytensor.train.tasks import TASKS, TextTask


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"steps": 0}, "steps: expected at least 1, got 0"),
        ({"steps": 1.5}, "steps: expected an integer, got 1.5"),
        ({"steps": True}, "steps: expected an integer, got True"),
        ({"lr": "fast"}, "lr: expected a number, got 'fast'"),
        ({"lr": float("nan")}, "lr: expected a finite number"),
        ({"bias": 1}, "bias: expected true or false"),
        ({"data": 3}, "data: expected a string"),
        ({"dropout": 1.5}, "dropout: expected at least 0.0 and below 1.0, got 1.5"),
        ({"dropout": 1.0}, "below 1.0, got 1.0; at 1 nothing is left to learn from"),
        ({"beta1": 1.0}, "beta1: expected at least 0.0 and below 1.0, got 1.0"),
        ({"beta2": 1.0}, "beta2: expected at least 0.0 and below 1.0, got 1.0"),
        ({"lr_gamma": 0.0}, "lr_gamma: expected above 0.0 and at most 1.0, got 0.0"),
        ({"schedule": "linear"}, "schedule: expected one of cosine, exponential, step, inverse"),
        ({"schedule": "exponential", "min_lr": 0.0}, "min_lr: expected above 0.0 with schedule"),
        ({"n_embd": 9, "n_head": 2}, "n_embd: expected a multiple of n_head = 2, got 9"),
        ({"n_embd": 9}, "n_embd: expected a multiple of n_head = 4, got 9"),
        ({"model": "lstm", "tie_weights": True}, "tie_weights: needs n_embd = n_hidden"),
        ({"model": "rnn", "n_head": 2}, "n_head: model rnn has none, only n_layer, n_embd, "),
        ({"tie_weights": True}, "tie_weights: model gpt has none, only n_layer, n_head, n_embd, "),
        ({"lr": 10**400}, "lr: expected a finite number, got 1000"),
        ({"lr": np.ones(2)}, r"lr: expected a number, got ndarray of shape \(2,\)"),
        ({"lr": np.bool_(True)}, "lr: expected a number, got np.True_"),
        ({"steps": np.float32(3)}, "steps: expected an integer, got np.float32"),
        ({"model": "vgg"}, "model: expected one of gpt, .*, got 'vgg'"),
        ({"device": "tpu"}, "device: expected one of cpu, cuda"),
        ({"workers": 0}, "workers: expected at least 1, got 0"),
        ({"workers": 2, "device": "cuda"}, "workers: expected 1 with device cuda, got 2"),
        ({"lr": 1e-3, "min_lr": 1e-2}, "min_lr: expected at most lr = 0.001, got 0.01"),
    ],
)
def test_a_bad_setting_is_named(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        TrainConfig(**settings)


def test_it_survives_a_dict_and_refuses_unknown_names() -> None:
    config = TrainConfig(model="rnn", steps=7, bias=None)
    assert TrainConfig.from_dict(config.to_dict()) == config
    with pytest.raises(ConfigError, match="here: unknown setting 'whim'; known are data, "):
        TrainConfig.from_dict({"whim": 3}, where="here")
    for typed, meant in (("stesp", "steps"), ("n-layer", "n_layer")):
        with pytest.raises(ConfigError, match=f"unknown setting '{typed}'; did you mean {meant}"):
            TrainConfig.from_dict({typed: 3}, where="here")


@pytest.mark.parametrize("name", [f.name for f in fields(TrainConfig)])
def test_every_field_is_checked_where_it_is_set(name: str) -> None:
    """And in a TOML file as well, so that a flag cannot hide it."""
    kind, _ = value_type(name)
    bad: list[Any] = [[], {}, 1j, "x" if kind not in (str, tuple) else 3]
    if kind in (int, float):
        bad += [-1, True, float("nan"), float("inf"), -float("inf"), "1"]
    if kind is int:
        bad += [0.5, 1.0]
    if kind is bool:
        bad += [0, 1.0]
    assert TrainConfig(**{name: None}) == TrainConfig(), "None is for what is not given"
    for value in bad:
        with pytest.raises(ConfigError, match=f"^{name}: expected"):
            TrainConfig(**{name: value})
        with pytest.raises(ConfigError, match=f"^here: {name}: expected"):
            TrainConfig.from_dict({name: value}, where="here")


def test_numbers_may_be_numpys_and_become_pythons() -> None:
    values = {
        "model": "gpt", "steps": np.int64(7), "n_layer": np.array(2), "lr": np.float32(0.25),
        "min_lr": tt.tensor(0.125), "dropout": np.float16(0.5), "bias": np.True_, "clip": 1,
    }  # fmt: skip
    config = TrainConfig(**values)
    plain = TrainConfig(
        model="gpt", steps=7, n_layer=2, lr=0.25, min_lr=0.125, dropout=0.5, bias=True, clip=1.0
    )
    assert config == plain
    assert json.loads(json.dumps(config.to_dict())) == plain.to_dict()
    for f in fields(config):
        assert type(getattr(config, f.name)) in (value_type(f.name)[0], type(None)), f.name


@pytest.mark.parametrize("model", MODELS)
def test_what_a_config_takes_its_model_takes(model: str) -> None:
    """Nothing is left for later: such a config makes a model, a schedule and an optimiser."""
    task = TASKS[usual_task(model)]
    own = {f.name for f in fields(MODELS[model][1])} - task.least.keys()
    edges: list[dict[str, Any]] = [{}, {"dropout": 0.999}, {"n_layer": 1, "block_size": 1}]
    for edge in edges:
        config = TrainConfig(model=model, **{k: v for k, v in edge.items() if k in own})
        small = {"n_embd": 8} if "n_embd" in own else {}
        built = build(
            model, **{**task.least, **task.usual_sizes, **small, **config.model_settings()}
        )
        if "dropout" in own:
            assert built.config.dropout == config.dropout
    with pytest.raises(ConfigError, match="dropout"):
        TrainConfig(model=model, dropout=1.0)


def test_schedules_of_a_run() -> None:
    settings: dict[str, Any] = {"lr": 1.0, "steps": 14, "warmup": 4, "lr_step": 4}
    found = {}
    for kind in CHOICES["schedule"]:
        schedule = TrainConfig(schedule=kind, **settings).make_schedule()
        assert [schedule(step) for step in range(5)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
        found[kind] = [schedule(step) for step in (8, 9, 12, 14, 15)]
    half_way = 0.1 + 0.9 * 0.5 * (1 + math.cos(0.4 * math.pi))
    assert found["cosine"] == pytest.approx([half_way, 0.55, found["cosine"][2], 0.1, 0.1])
    assert found["exponential"] == pytest.approx([10**-0.4, 10**-0.5, 10**-0.8, 0.1, 0.1])
    assert found["step"] == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.01])
    roots = [math.sqrt(5 / n) for n in (9, 10, 13, 15, 16)]
    assert found["inverse_sqrt"] == pytest.approx(roots)
    assert found["constant"] == [1.0] * 5
    floor = TrainConfig(schedule="step", min_lr=0.05, lr_gamma=0.5, **settings).make_schedule()
    assert [floor(step) for step in (8, 12, 100)] == [0.5, 0.25, 0.05]
    for kind in CHOICES["schedule"]:  # no fall at all, and nothing to fall
        assert TrainConfig(schedule=kind, steps=1, warmup=9).make_schedule()(0) > 0
        assert TrainConfig(schedule=kind, lr=0.0).make_schedule()(500) == 0.0


def test_a_toml_file_is_checked_alone_where_flags_may_still_change_it(tmp_path: Path) -> None:
    """What has to go together is looked at when flags and file are."""
    file = tmp_path / "run.toml"
    file.write_text("n_embd = 90\nmin_lr = 0.01\n")
    values = load_toml(file)
    with pytest.raises(ConfigError, match="min_lr: expected at most lr"):
        TrainConfig.from_dict(values)
    config = TrainConfig.from_dict({**values, "n_head": 3, "lr": 0.1})
    assert (config.n_embd, config.min_lr) == (90, 0.01)


def test_tables_of_a_toml_file_are_headings(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('steps = 7\nlr = 1\n[model]\nmodel = "rnn"\nn_hidden = 5\n')
    assert load_toml(file) == {"steps": 7, "lr": 1, "model": "rnn", "n_hidden": 5}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("steps = ", "is not TOML"),
        ("step = 3", "unknown setting 'step'"),
        ("steps = '3'", "run.toml: steps: expected an integer, got '3'"),
        ("steps = 3\n[x]\nsteps = 4", "'steps' is set twice"),
        ("lr = nan", "lr: expected a finite number"),
        ("dropout = 1", "run.toml: dropout: expected at least 0.0 and below 1.0, got 1"),
        ("schedule = 'x'", "run.toml: schedule: expected one of cosine, "),
    ],
)
def test_a_bad_toml_file_is_named(tmp_path: Path, text: str, match: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=match):
        load_toml(file)


def test_a_toml_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read .*none.toml"):
        load_toml(tmp_path / "none.toml")


def test_each_model_field_belongs_to_a_model_and_defaults_are_as_helped() -> None:
    """The help texts name the models' own defaults; they must not drift apart."""
    own = {name: {f.name: f.default for f in fields(cls)} for name, (_, cls) in MODELS.items()}
    assert all(any(name in values for values in own.values()) for name in MODEL_FIELDS)
    assert (own["gpt"]["n_layer"], own["lstm"]["n_layer"], own["rnn"]["n_layer"]) == (4, 2, 2)
    assert (own["gpt"]["n_head"], own["lstm"]["n_hidden"], own["rnn"]["n_hidden"]) == (4, 240, 480)
    written = [own[name] for name in TextTask.models]
    assert {values["n_embd"] for values in written} == {128}
    assert TrainConfig().model_settings() == {"block_size": 64, "dropout": 0.0, "bias": False}
