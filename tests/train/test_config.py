"""Settings: checks, TOML, and the flags made from them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tinytensor.models import MODELS
from tinytensor.train import ConfigError, TrainConfig
from tinytensor.train.config import MODEL_FIELDS, load_toml


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
        ({"dropout": 1.5}, "dropout: expected from 0.0 to 1.0, got 1.5"),
        ({"beta2": 1.0}, "beta2: expected a number below 1"),
        ({"model": "cnn"}, "model: expected one of gpt, lstm, rnn, got 'cnn'"),
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
        ("steps = 3\n[x]\nsteps = 4", "steps is set twice"),
        ("lr = nan", "lr: expected a finite number"),
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
    assert {values["n_embd"] for values in own.values()} == {128}
    assert TrainConfig().model_settings() == {"block_size": 64, "dropout": 0.0, "bias": False}
