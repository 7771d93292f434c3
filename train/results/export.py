"""A trained model in the naming of other libraries: safetensors, settings, vocabulary, a loader.

What is written can be read without tinytensor, and nothing in it is a pickle. ``load.py``, which is
written beside it, does so; its texts are in ``loaders.py``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...models import GPT, LanguageModel
from ..config import ConfigError
from ..data import CharTokenizer
from ..given.words import cause
from ..system.files import write_bytes
from .loaders import HF, NANOGPT, TORCH
from .restore import restore

#: activations here -> in the config of Hugging Face's transformers
_HF_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "identity": "linear",
}
#: GPT-2's matrices that Hugging Face keeps as (in, out)
_TURNED = ("attn.c_attn.weight", "c_proj.weight", "mlp.c_fc.weight")


@dataclass(frozen=True)
class Format:
    """A way to export.

    Attributes:
        models: the names of the models it is for.
        naming: whose it is, for a message.
        weights: the model's arrays by their names there.
        config: the model's settings, as its ``config.json`` has them.
        loader: the text of ``load.py``.
    """

    models: tuple[str, ...]
    naming: str
    weights: Callable[[LanguageModel[Any]], dict[str, np.ndarray]]
    config: Callable[[LanguageModel[Any], CharTokenizer], dict[str, Any]]
    loader: str


def export(
    path: str | Path,
    format: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a checkpoint's model for other libraries.

    Args:
        path: the checkpoint, or the folder of its run.
        format: "nanogpt" (of a GPT; the default there), "hf" (of a GPT, for Hugging Face's
            transformers) or "torch" (of an RNN, GRU or LSTM, for ``torch.nn``; the default there).
        out: a folder, made if need be; None takes one beside the checkpoint, named as the format.
        overwrite: whether files that are there are replaced.

    Returns:
        The files: ``model.safetensors``, ``config.json``, ``vocabulary.json``, ``load.py``.

    Raises:
        CheckpointError: the checkpoint cannot be read, or does not fit together.
        ConfigError: the format does not fit the model, or the files can't be written.
    """
    saved = restore(path)
    file, model, name = saved.file, saved.model, saved.config.model
    fitting = [key for key, value in FORMATS.items() if name in value.models]
    if not fitting:
        known = ", ".join(dict.fromkeys(name for way in FORMATS.values() for name in way.models))
        raise ConfigError(f"format: {file} holds a model {name!r}, there are formats for {known}")
    tokenizer = saved.tokenizer
    chosen = fitting[0] if format is None else format
    if chosen not in FORMATS:
        raise ConfigError(f"format: expected one of {', '.join(FORMATS)}, got {chosen!r}")
    if chosen not in fitting:
        raise ConfigError(
            f"format: {file} holds a model {name!r}, for which there is {', '.join(fitting)}, "
            f"got {chosen}"
        )
    way = FORMATS[chosen]
    contents = {
        "model.safetensors": _encoded(way.weights(model)),
        "config.json": _json(way.config(model, tokenizer)),
        "vocabulary.json": _json({c: i for i, c in enumerate(tokenizer.symbols)}),
        "load.py": way.loader.encode(),
    }
    folder = file.parent / chosen if out is None else Path(out)
    files = {folder / name: content for name, content in contents.items()}
    for target in files:
        if os.path.lexists(target) and not overwrite:
            raise ConfigError(f"out: {target} exists already; --overwrite replaces it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target, content in files.items():
            write_bytes(target, content)
    except OSError as error:
        raise ConfigError(f"out: cannot write to {folder}: {cause(error)}") from None
    return list(files)


def _encoded(weights: dict[str, np.ndarray]) -> bytes:
    from safetensors.numpy import save

    rows = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    return bytes(save(rows, {"format": "pt"}))  # transformers wants to know who can read them


def _json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, indent=2).encode("ascii") + b"\n"


def _tied(model: LanguageModel[Any]) -> dict[str, np.ndarray]:
    """The state dict, with the head's weight also where it is the embedding's."""
    weights = model.state_dict()
    weights.setdefault("lm_head.weight", weights["wte.weight"])
    return weights


def _nanogpt_weights(model: LanguageModel[Any]) -> dict[str, np.ndarray]:
    return {
        name if name.startswith("lm_head") else f"transformer.{name}": array
        for name, array in _tied(model).items()
    }


def _hf_weights(model: LanguageModel[Any]) -> dict[str, np.ndarray]:
    """Matrices of blocks as (in, out), every bias there; the head's weight is the embedding's."""
    found = {}
    for name, array in model.state_dict().items():
        name = f"transformer.{name}"
        found[name] = array.T if name.endswith(_TURNED) else array
        if not name.endswith(("wte.weight", "wpe.weight", ".bias")):
            bias = f"{name.removesuffix('weight')}bias"
            found.setdefault(bias, np.zeros(len(array), array.dtype))
    return found


def _own_config(model: LanguageModel[Any], tokenizer: CharTokenizer) -> dict[str, Any]:
    return {"model": type(model).__name__.removesuffix("LM"), **model.config.to_dict()}


def _hf_config(model: LanguageModel[Any], tokenizer: CharTokenizer) -> dict[str, Any]:
    assert isinstance(model, GPT)
    config = model.config
    if config.activation not in _HF_ACTIVATIONS:
        raise ConfigError(
            f"format: hf has no activation {config.activation!r}, only {', '.join(_HF_ACTIVATIONS)}"
        )
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocab_size,
        "n_positions": config.block_size,
        "n_ctx": config.block_size,
        "n_embd": config.n_embd,
        "n_layer": config.n_layer,
        "n_head": config.n_head,
        "n_inner": None,
        "activation_function": _HF_ACTIVATIONS[config.activation],
        "attn_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "layer_norm_epsilon": model.ln_f.eps,
        "tie_word_embeddings": True,
        "bos_token_id": model.start_id,
        "eos_token_id": None,
        "pad_token_id": None,
        "torch_dtype": str(model.wte.weight.dtype),
    }


#: the first that fits a model is its default
FORMATS = {
    "nanogpt": Format(("gpt",), "nanoGPT", _nanogpt_weights, _own_config, NANOGPT),
    "hf": Format(("gpt",), "Hugging Face's transformers", _hf_weights, _hf_config, HF),
    "torch": Format(("gru", "lstm", "rnn"), "torch.nn", _tied, _own_config, TORCH),
}
