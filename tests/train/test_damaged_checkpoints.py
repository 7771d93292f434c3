"""Checkpoints that are damaged, or made to do harm: one clear line names the file, quickly."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.nn.tensor_file import encode
from tinytensor.train import Checkpoint, CheckpointError, Trainer, load_model
from tinytensor.train import checkpoint as files
from tinytensor.train.checkpoint import NAME, load, save
from tinytensor.train.cli.info import checkpoint_facts
from tinytensor.train.results.restore import restore
from tinytensor.train.run import memory as memory_module

from .helpers import TEXT, config

READERS = [load, checkpoint_facts, load_model, lambda path: Trainer.resume(path, text=TEXT)]


def small() -> Checkpoint:
    weights = {"w": np.arange(6, dtype="float32").reshape(2, 3), "none": np.zeros((0, 2))}
    optimizer = {"arrays": {"0.m": np.ones(2)}, "numbers": {"steps": [1]}}
    return Checkpoint(weights, optimizer, {"train": np.ones(1)}, {"step": 1, "symbols": "aé"})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Checkpoint]:
    """The checkpoint of a short run, each time read anew."""
    folders: dict[str, Path] = {}

    def get(model: str = "gpt") -> Checkpoint:
        if model not in folders:
            folders[model] = tmp_path_factory.mktemp(model)
            trainer = Trainer(config(model, steps=2, eval_every=1), TEXT, folders[model])
            trainer.plot = lambda: None  # type: ignore[method-assign]
            trainer.run()
        return load(folders[model])

    return get


# ---- the file ----------------------------------------------------------------------------------


def test_one_flipped_bit_anywhere_is_told(tmp_path: Path) -> None:
    path = save(tmp_path / NAME, small())
    content = path.read_bytes()
    for at in range(len(content)):
        spoiled = bytearray(content)
        spoiled[at] ^= 1 << at % 8
        path.write_bytes(spoiled)
        with pytest.raises(CheckpointError, match=NAME):
            load(path)
    spoiled = bytearray(content)
    spoiled[-1] ^= 1
    path.write_bytes(spoiled)
    with pytest.raises(CheckpointError, match=f"{NAME} is damaged: its checksum does not fit"):
        load(path)


def test_a_file_cut_anywhere_or_with_more_behind_it_is_told(tmp_path: Path) -> None:
    path = save(tmp_path / NAME, small())
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(CheckpointError, match=f"{NAME} is truncated, damaged or not"):
            load(path)
    for more in (b"\0", b" ", content):
        path.write_bytes(content + more)
        with pytest.raises(CheckpointError, match=f"{NAME} is truncated, damaged or not"):
            load(path)


def test_a_checkpoint_of_the_first_format_still_loads(trained: Any, tmp_path: Path) -> None:
    """It has no checksum. One of this format without it is refused, and so is a newer one."""
    new = trained()
    rest = json.dumps({**new.meta, "optimizer": new.optimizer["numbers"]})
    parts = {"model": new.weights, "optimizer": new.optimizer["arrays"], "history": new.history}
    arrays = {f"{part}.{name}": a for part, group in parts.items() for name, a in group.items()}
    path = tmp_path / NAME
    path.write_bytes(encode(arrays, {"format": "tinytensor-checkpoint-1", "json": rest}))
    old = load(path)
    assert old.meta == new.meta and old.optimizer["numbers"] == new.optimizer["numbers"]
    for name, array in new.weights.items():
        np.testing.assert_array_equal(old.weights[name], array)
    assert Trainer.resume(path, text=TEXT).step == 2
    path.write_bytes(encode(arrays, {"format": files.FORMAT, "json": rest}))
    with pytest.raises(CheckpointError, match="is damaged: its checksum is missing"):
        load(path)
    path.write_bytes(encode(arrays, {"format": "tinytensor-checkpoint-3", "json": rest}))
    with pytest.raises(CheckpointError, match="-3'.*; a newer tinytensor may have written it"):
        load(path)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """A pipe would be waited for, a device has no end; 10 GB need not be read to refuse them."""
    sparse = tmp_path / "sparse"
    with open(sparse, "wb") as file:
        file.truncate(10**10)
    (tmp_path / "empty").touch()
    (tmp_path / "folder" / NAME).mkdir(parents=True)
    long, nul = tmp_path / ("x" * 300), f"{tmp_path}/a\0b"
    named: list[Any] = [sparse, tmp_path / "empty", tmp_path / "folder", tmp_path, long, nul]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        named += [tmp_path / "pipe", "/dev/zero"]
    for path in named:
        for reader in READERS:
            with pytest.raises(CheckpointError, match="^checkpoint: "):
                reader(path)
        with pytest.raises((ValueError, OSError)):
            tt.nn.load_weights(path)


def test_a_file_larger_than_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / NAME, small())
    monkeypatch.setattr(files, "machine_memory", lambda: 40)
    with pytest.raises(CheckpointError, match="holds 48 bytes, this machine has 40 bytes of mem"):
        load(path)


@pytest.mark.parametrize(("text", "match"), [
    ("[" * 1000 + "]" * 1000, "nested too deep"),
    ("[" * 100_000, "nested too deep"),
    ('{"a": ' * 70 + "1" + "}" * 70, "nested too deep"),
    ('{"step": 1, "step": 2, "optimizer": {}}', "the same name twice"),
    ('{"step": ' + "9" * 5000 + ', "optimizer": {}}', "no JSON"),
    ('{"optimizer": []}', "numbers are no JSON object"),
    ("[]", "damaged settings"), ("1", "damaged settings"), ("null", "damaged settings"),
    ("", "no JSON"), ("{'a': 1}", "no JSON"),
])  # fmt: skip
def test_settings_that_are_no_json_or_too_much_of_it(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / NAME
    path.write_bytes(files._encode({}, {"format": files.FORMAT, "json": text}))
    with pytest.raises(CheckpointError, match=match) as caught:
        load(path)
    assert len(str(caught.value)) < 500


# ---- what is in it -----------------------------------------------------------------------------


def put(*path: Any) -> Callable[[Checkpoint], None]:
    """put("config", "seed", -1) sets meta["config"]["seed"] = -1."""

    def change(saved: Checkpoint) -> None:
        place: Any = {"meta": saved.meta, "optimizer": saved.optimizer["numbers"]}
        *names, last, value = path if path[0] in place else ("meta", *path)
        for name in names:
            place = place[name]
        place[last] = value

    return change


HUGE = 2147483648
WRONG: dict[str, tuple[Callable[[Checkpoint], Any], str]] = {
    "layers": (put("model", "config", "n_layer", HUGE), "n_layer: expected at most 2147483647"),
    "layers that fit": (put("model", "config", "n_layer", HUGE - 1), "n_layer is 1, but the mod"),
    "all layers": (
        lambda c: (put("model", "config", "n_layer", 9999)(c),
                   put("config", "n_layer", 9999)(c)),
        "its config has 78[0-9]+ parameters, the file 10[0-9]+",
    ),
    "vocabulary": (
        put("model", "config", "vocab_size", HUGE - 1),
        "vocab_size is 2147483647, but the vocabulary's 29",
    ),
    "block": (
        lambda c: (put("model", "config", "block_size", 10**9)(c),
                   put("config", "block_size", 10**9)(c)),
        "its config has 80000[0-9]+ parameters",
    ),
    "another block": (put("config", "block_size", 9), "block_size is 9, but the model's 8"),
    "a word": (put("model", "config", "n_layer", "4"), "n_layer: expected an integer >= 1, got '4"),
    "true": (put("model", "config", "n_layer", True), "n_layer: expected an integer >= 1, got Tr"),
    "half": (put("model", "config", "n_layer", 1.5), "n_layer: expected an integer >= 1, got 1.5"),
    "null": (put("model", "config", "n_embd", None), "n_embd: expected an integer >= 1, got None"),
    "list": (put("model", "config", "activation", []), "activation: expected a string, got"),
    "bias": (put("model", "config", "bias", 0), "bias: expected True or False, got 0"),
    "dropout": (put("model", "config", "dropout", float("nan")), "dropout: expected a probab"),
    "new field": (put("model", "config", "rope", True), "knows no rope; a newer tinytensor may"),
    "new setting": (put("config", "tokens", "bpe"), "knows no tokens; a newer tinytensor may"),
    "seed": (put("config", "seed", [1]), "seed: expected an integer"),
    "steps": (put("config", "steps", "9"), "steps: expected an integer, got '9'"),
    "lr": (put("config", "lr", float("inf")), "lr: expected a finite number"),
    "other model": (put("config", "model", "rnn"), "does not fit together"),
    "unknown model": (put("model", "name", ["gpt"]), "model: expected one of gpt, rnn, lstm, gru"),
    "no config": (put("model", "config", None), "model: expected a config, got nothing"),
    "settings": (put("config", "x" * 9000), "config: expected settings, got a string"),
    "step": (put("step", -1), "step: expected a count, got -1"),
    "half a step": (put("step", 2.0), r"step: expected a count, got 2\.0"),
    "more steps": (put("step", 3), "history: expected the losses of 3 steps"),
    "symbols": (put("symbols", ["a"]), "symbols: expected a string, got a list"),
    "order": (lambda c: put("symbols", c.meta["symbols"][::-1])(c), "each character once, in or"),
    "twice": (lambda c: put("symbols", "\n" + c.meta["symbols"])(c), "each character once"),
    "text": (put("text", 1), "text: expected a fingerprint, got a number"),
    "no symbols": (lambda c: c.meta.pop("symbols"), "it has no symbols, as the checkpoint of a"),
    "generators": (lambda c: c.meta["random"].pop("data"), "random: expected states of init, dro"),
    "generator": (put("random", "data", "bit_generator", "MT19937"), "random: data: state: not a"),
    "its state": (put("random", "data", "state", "state", -1), "state: expected an integer from"),
    "its number": (put("random", "data", "state", "inc", 2), "inc: expected an odd number"),
    "its bits": (put("random", "data", "uinteger", 2**32), "uinteger: expected an integer"),
    "its flag": (put("random", "data", "has_uint32", False), "has_uint32: expected an integer"),
    "no generator": (put("random", "data", None), "random: data: state: not a PCG64"),
    "weight": (lambda c: c.weights.update({"wte.weight": c.weights["wte.weight"].T}),
               r"wte\.weight: expected floats of shape \(29, 8\), got float32 of shape \(8, 29\)"),
    "integers": (lambda c: c.weights.update({"ln_f.weight": np.ones(8, "i4")}),
                 "expected floats of shape"),
    "name": (lambda c: c.weights.update(x=c.weights.pop("ln_f.weight")), "has no ln_f.weight"),
    "train": (lambda c: c.history.update(train=np.array([1, 2])), "history: expected the losses"),
    "loss": (lambda c: c.history["train"].__setitem__(0, np.inf), "a training loss is not finite"),
    "val": (lambda c: c.history["val"].__setitem__((0, 0), np.nan), "validations at rising steps"),
    "late": (lambda c: c.history["val"].__setitem__((1, 0), 9), "rising steps from 1 to 2"),
    "more": (lambda c: c.history.update(more=np.ones(1)), "history: expected train and val"),
    "updates": (lambda c: put("optimizer", "steps", 0, 10**400)(c), "steps: expected a count"),
    "3 updates": (lambda c: put("optimizer", "steps", 0, 3)(c), "optimizer: 3 updates in 2 steps"),
    "no updates": (put("optimizer", "steps", None), "expected a list of steps, got nothing"),
    "squares": (lambda c: c.optimizer["arrays"]["0.exp_avg_sq"].__setitem__((0, 0), -1.0),
                r"0\.exp_avg_sq: a mean of squares is negative"),
    "whole": (lambda c: c.optimizer["arrays"].update({"0.exp_avg": np.zeros((29, 8), "i8")}),
              r"0\.exp_avg: expected floats, got int64"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_every_value_is_looked_at_before_it_is_used(
    trained: Any, tmp_path: Path, what: str
) -> None:
    """The file has a right checksum, as one who means harm would give it."""
    spoil, match = WRONG[what]
    saved = trained()
    spoil(saved)
    path = save(tmp_path / NAME, saved)
    for reader in READERS[1:]:
        with pytest.raises(CheckpointError, match=match) as caught:
            reader(path)
        assert str(path) in str(caught.value) and len(str(caught.value)) < 800


@pytest.mark.parametrize("model", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("block_size", 10**30, "block_size: expected at most 2147483647"),
        ("n_layer", HUGE - 1, "n_layer is 2, but the model's"),
        ("forget_bias", [1.0], "forget_bias: expected a finite number|knows no forget_bias"),
        ("forget_bias", 1e300, "forget_bias: expected a finite number|knows no forget_bias"),
        ("nonlinearity", {}, "nonlinearity: expected a string|knows no nonlinearity"),
    ],
)
def test_numbers_without_weights_have_their_bounds_too(
    trained: Any, tmp_path: Path, model: str, field: str, value: Any, match: str
) -> None:
    saved = trained(model)
    saved.meta["model"]["config"][field] = value
    with pytest.raises(CheckpointError, match=match):
        restore(save(tmp_path / NAME, saved))


SPOILED: dict[str, Callable[[Any], Any]] = {
    "kind": lambda n: n.update(kind=["AdamW"]),
    "groups": lambda n: n.update(groups=3),
    "no groups": lambda n: n.update(groups=[]),
    "a group": lambda n: n["groups"].__setitem__(0, "adamw"),
    "a list": lambda n: n["groups"].__setitem__(0, [1]),
    "lr": lambda n: n["groups"][0].update(lr={"a": 1}),
    "betas": lambda n: n["groups"][0].update(betas=0.9),
    "three betas": lambda n: n["groups"][0].update(betas=[0.9, 0.9, 0.9]),
    "eps": lambda n: n["groups"][0].update(eps="1e-8"),
    "decay": lambda n: n["groups"][0].update(weight_decay=10**400),
    "size": lambda n: n["groups"][0].update(size=[2]),
    "another": lambda n: n["groups"][0].update(more=1),
    "steps": lambda n: n.update(steps=[1]),
}


@pytest.mark.parametrize("what", SPOILED)
def test_the_optimisers_settings_are_looked_at(trained: Any, tmp_path: Path, what: str) -> None:
    saved = trained()
    SPOILED[what](saved.optimizer["numbers"])
    path = save(tmp_path / NAME, saved)
    with pytest.raises(CheckpointError, match=f"{NAME}: optimizer: "):
        Trainer.resume(path, text=TEXT)


def test_weights_that_are_not_finite_load_and_are_told(trained: Any, tmp_path: Path) -> None:
    saved = trained()
    saved.weights["h.0.ln_1.weight"][2] = np.nan
    path = save(tmp_path / NAME, saved)
    assert np.isnan(load_model(path)[0].state_dict()["h.0.ln_1.weight"][2])
    facts = checkpoint_facts(path)
    assert facts["weights"] == "not finite in 1 of 9 arrays: h.0.ln_1.weight"
    assert "weights" not in checkpoint_facts(save(path, trained()))


def test_what_a_checkpoint_asks_for_is_compared_with_memory(
    trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = trained("rnn")
    saved.meta["config"]["batch_size"] = 10**9
    path = save(tmp_path / NAME, saved)
    monkeypatch.setattr(memory_module, "machine_memory", lambda: 10**9)
    with pytest.raises(tt.train.ConfigError, match="memory: .* lower batch_size or block_size"):
        Trainer.resume(path, text=TEXT)
    assert "rnn" in str(checkpoint_facts(path)).lower(), "looking at it needs no batch"


@pytest.mark.skipif(sys.platform == "win32", reason="needs file modes")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: Any) -> None:
    path = save(tmp_path / NAME, small())

    def denied(*args: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "open_file", denied)
    with pytest.raises(CheckpointError, match=f"cannot read .*{NAME}: Permission denied"):
        load(path)
