"""Exported models compute what ours do, in the libraries that they are exported for."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tinytensor import no_grad, random
from tinytensor.models import build
from tinytensor.train import (
    AdamW,
    CharTokenizer,
    CheckpointError,
    ConfigError,
    TrainConfig,
    checkpoint,
)
from tinytensor.train.cli import run
from tinytensor.train.config import MODEL_FIELDS
from tinytensor.train.results.export import FORMATS, export
from tinytensor.train.results.history import History

SYMBOLS = "\n abc\ud800\U0001f600"
FILES = ["config.json", "load.py", "model.safetensors", "vocabulary.json"]
#: model -> settings
MODELS: dict[str, dict[str, Any]] = {
    "gpt": {"n_layer": 2, "n_head": 2, "n_embd": 8},
    "gru": {"n_layer": 2, "n_embd": 6, "n_hidden": 7},
    "lstm": {"n_layer": 2, "n_embd": 6, "n_hidden": 7},
    "rnn": {"n_layer": 1, "n_embd": 6, "n_hidden": 7, "dropout": 0.2},
}


def package(name: str) -> None:
    """Skip where a package is not installed."""
    pytest.importorskip(
        name, reason=f"the package {name} is not installed: nothing to compare with"
    )


def saved(folder: Path, name: str, **settings: Any) -> Any:
    """A model whose numbers are all of some size, in a checkpoint."""
    settings = {"vocab_size": len(SYMBOLS), "block_size": 9, **MODELS[name], **settings}
    model = build(name, **settings)
    rng = np.random.default_rng(0)
    with no_grad():
        for p in model.parameters():
            p.copy_(rng.normal(p.ndim == 1, 0.5, p.shape))
    model.eval()
    optimizer = AdamW(model.parameters(), lr=1e-3).state_dict()
    own = {key: value for key, value in settings.items() if key in MODEL_FIELDS}
    meta = {
        "config": TrainConfig(model=name, **own).to_dict(),
        "model": {"name": name, "config": model.config.to_dict()},
        "symbols": CharTokenizer(SYMBOLS).symbols,
        "step": 0,
        "random": random.state(),
    }
    saved = checkpoint.Checkpoint(
        model.state_dict(), optimizer, history=History().arrays(), meta=meta
    )
    checkpoint.save(folder / checkpoint.NAME, saved)
    return model


def loader(files: list[Path]) -> Any:
    """The written load.py as a module."""
    spec = importlib.util.spec_from_file_location("load", files[3])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare_logits(model: Any, module: Any, theirs: Any) -> None:
    """Assert that both make the same of every beginning of some text."""
    ids = np.random.default_rng(1).integers(0, len(SYMBOLS), 9).tolist()
    ours = model([ids]).detach().numpy()[0]
    assert ours.std() > 0.5
    torch = sys.modules["torch"]
    with torch.no_grad():
        for n in range(1, 10):
            found = module.next_logits(theirs, ids[:n]).numpy()
            np.testing.assert_allclose(found, ours[n - 1], atol=1e-4)
        module.next_logits(theirs, ids * 3)  # longer than a block
    text = module.text_of(theirs, 20)
    assert len(text) == 20 and set(text) <= set(SYMBOLS)


@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu", "relu"])
@pytest.mark.parametrize("bias", [False, True])
def test_nanogpt(
    bias: bool, activation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package("torch")
    from . import nano

    model = saved(tmp_path, "gpt", bias=bias, activation=activation)
    monkeypatch.setitem(sys.modules, "model", types.ModuleType("model"))
    vars(sys.modules["model"]).update(GPT=nano.GPT, GPTConfig=nano.GPTConfig)
    module = loader(export(tmp_path))
    compare_logits(model, module, module.load())


@pytest.mark.parametrize("bias", [False, True])
def test_the_naming_of_hugging_face(bias: bool, tmp_path: Path) -> None:
    """Its matrices turned back are nanoGPT's; biases that we lack are zeros."""
    saved(tmp_path, "gpt", bias=bias)
    nano, hf = (load_file(export(tmp_path, name)[0]) for name in ("nanogpt", "hf"))
    assert hf.keys() == {
        "transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f.weight",
        "transformer.ln_f.bias",
        *(
            f"transformer.h.{i}.{part}.{kind}"
            for i in range(2)
            for part in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
            for kind in ("weight", "bias")
        ),
    }  # fmt: skip
    assert hf["transformer.h.0.attn.c_attn.weight"].shape == (8, 24)
    assert hf["transformer.h.0.mlp.c_fc.bias"].shape == (32,)
    for name, array in hf.items():
        if name in nano:
            matrix = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
            np.testing.assert_array_equal(array.T if matrix else array, nano[name], err_msg=name)
        else:
            assert not bias and name.endswith(".bias") and not array.any()
    np.testing.assert_array_equal(nano["lm_head.weight"], nano["transformer.wte.weight"])


@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu", "silu", "identity"])
@pytest.mark.parametrize("bias", [False, True])
def test_hugging_face(bias: bool, activation: str, tmp_path: Path) -> None:
    package("torch")
    package("transformers")
    model = saved(tmp_path, "gpt", bias=bias, activation=activation)
    module = loader(export(tmp_path, "hf"))
    compare_logits(model, module, module.load())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gru", {}),
        ("gru", {"n_embd": 7, "tie_weights": True}),
        ("lstm", {}),
        ("lstm", {"n_embd": 7, "tie_weights": True}),
        ("rnn", {}),
        ("rnn", {"nonlinearity": "relu", "n_layer": 3}),
    ],
)
def test_torch(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    package("torch")
    model = saved(tmp_path, name, **settings)
    module = loader(export(tmp_path))
    compare_logits(model, module, module.load())


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written(format: str, tmp_path: Path) -> None:
    name = FORMATS[format].models[0]
    saved(tmp_path, name)
    files = export(tmp_path, format)
    assert sorted(p.name for p in files) == FILES == sorted(os.listdir(tmp_path / format))
    vocabulary = json.loads((tmp_path / format / "vocabulary.json").read_text())
    assert vocabulary == {c: i for i, c in enumerate(SYMBOLS)}
    config = json.loads((tmp_path / format / "config.json").read_text())
    assert config["n_layer"] == 2 and config["vocab_size"] == len(SYMBOLS)


def test_nothing_is_replaced_without_a_word(tmp_path: Path) -> None:
    saved(tmp_path, "gpt")
    out = tmp_path / "there"
    out.mkdir()
    (out / "load.py").write_text("mine")
    with pytest.raises(ConfigError, match=r"out: .*load\.py exists already; --overwrite replaces"):
        export(tmp_path, out=out)
    assert os.listdir(out) == ["load.py"] and (out / "load.py").read_text() == "mine"
    export(tmp_path, out=out, overwrite=True)
    assert sorted(os.listdir(out)) == FILES and "nanoGPT" in (out / "load.py").read_text()


def test_formats_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="there is none"):
        export(tmp_path)
    saved(tmp_path, "lstm")
    with pytest.raises(ConfigError, match="holds a model 'lstm', for which there is torch, got hf"):
        export(tmp_path, "hf")
    with pytest.raises(ConfigError, match="format: expected one of nanogpt, hf, torch, got 'onnx'"):
        export(tmp_path, "onnx")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="out: cannot write to .*file"):
        export(tmp_path, out=tmp_path / "file" / "x")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, "rnn")
    assert run(["export", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for name in FILES:
        assert str(tmp_path / "torch" / name) in out
    assert run(["export", str(tmp_path)]) == 2
    assert "exists already; --overwrite replaces it" in capsys.readouterr().err
    assert run(["export", str(tmp_path), "--overwrite"]) == 0
    assert run(["export", str(tmp_path), "--format", "nanogpt"]) == 2
    assert "for which there is torch, got nanogpt" in capsys.readouterr().err
