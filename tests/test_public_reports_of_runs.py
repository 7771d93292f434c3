"""Faults that users of other frameworks reported, of data, sampling, files, pictures and devices.

Each is a small program with its right values, derived by hand; the comment above names the kind of
fault.  See test_public_reports.py.
"""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.arrays.device import Device
from tinytensor.draw import NoRenderer
from tinytensor.train import (
    Checkpoint,
    CheckpointError,
    DataError,
    TokenStream,
    Trainer,
    load_model,
)
from tinytensor.train import checkpoint as files

from .test_public_reports import MAKERS, Make
from .tinytensor.draw.dotgraph import parse
from .train.helpers import TEXT, config, environment


# ---- data: how many windows, and a text that is shorter than a block -----------------------------
def test_windows_of_a_text() -> None:
    nine = TokenStream(np.arange(18), 8, val_fraction=0.5)
    assert nine.windows("train") == nine.windows("val") == 1
    x, y = nine.batch(1)
    assert x.tolist() == [list(range(8))] and y.tolist() == [list(range(1, 9))]
    with pytest.raises(DataError, match=r"training split .* 8 of .* block_size 8 needs at least 9"):
        TokenStream(np.arange(16), 8, val_fraction=0.5)
    with pytest.raises(DataError, match="validation split .* has 5 of the text's 50 symbols"):
        TokenStream(np.arange(50), 8, val_fraction=0.1)
    with pytest.raises(DataError, match="validation split"):
        Trainer(config(block_size=8), TEXT[:50])  # at once, not at the first validation


# ---- sampling: more than the vocabulary, temperature 0 -------------------------------------------
def test_top_k_beyond_the_vocabulary_and_temperature_zero() -> None:
    logits = [1.0, 3.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = [0.090031, 0.665241, 0.244728]
        np.testing.assert_allclose(models.probabilities(logits, top_k=200), full, atol=1e-6)
        for how in ({"temperature": 0}, {"top_k": 1}, {"temperature": 0, "top_k": 200}):
            assert {int(models.sample(logits, **how)) for _ in range(100)} == {1}
    for how, words in (({"top_k": 0}, "top_k: .*or None"), ({"temperature": -1}, "temperature: ")):
        with pytest.raises(ValueError, match=words):
            models.sample(logits, **how)


# ---- checkpoints: killed while saving, cut short, hostile ----------------------------------------
def test_a_bad_checkpoint_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(config(steps=2), TEXT, tmp_path)
    trainer.train_step()
    path = trainer.save()
    first = path.read_bytes()
    trainer.train_step()

    def half(file: Path, content: bytes) -> None:
        file.write_bytes(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write", half)
        with pytest.raises(CheckpointError, match="No space left"):
            trainer.save()
    assert path.read_bytes() == first and files.load(path).meta["step"] == 1
    assert not [p for p in tmp_path.iterdir() if p.suffix == ".tmp"]

    before = (trainer.model.state_dict(), trainer.optimizer.state_dict()["arrays"])
    path.write_bytes(first[: len(first) // 2])
    with pytest.raises(CheckpointError, match=f"{path.name} is truncated"):
        trainer.model.load_state_dict(files.load(path).weights)
    after = (trainer.model.state_dict(), trainer.optimizer.state_dict()["arrays"])
    for old, new in zip(before, after, strict=True):
        assert old.keys() == new.keys()
        for name in old:
            np.testing.assert_array_equal(old[name], new[name])


def test_a_file_that_would_run_a_command_is_refused(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    path = tmp_path / files.NAME
    path.write_bytes(pickle.dumps({"weights": Bomb()}))
    for read in (files.load, load_model, lambda p: Trainer.resume(p, text=TEXT)):
        with pytest.raises(CheckpointError, match=files.NAME):
            read(path)
    assert not (tmp_path / "ran").exists()


# ---- drawing: no `dot` program, and labels that could break the text -----------------------------
AWKWARD = ['w"1', "a::b", "{x|y}", "<b>", "back\\", "line1\nline2", "out: (3, 4) float32"]


def test_awkward_names_do_not_change_the_graph(tmp_path: Path) -> None:
    def net(names: list[str]) -> Any:
        leaves = [tt.tensor(1.0, requires_grad=True, name=n) for n in names]
        total = leaves[0]
        for x in leaves[1:]:
            total = total * x
        total.name = names[0]
        return tt.draw(total)

    plain, odd = parse(net(list("abcdefg")).source), parse(net(AWKWARD).source)
    assert len(odd.nodes) == len(plain.nodes)
    assert [a[:2] for a in odd.arrows] == [a[:2] for a in plain.arrows], (
        "no name is read as a port, and none makes a node"
    )
    for name in AWKWARD:
        assert any(text.startswith(name) for text in odd.texts())


def test_a_picture_without_dot_is_one_message_and_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    for package in ("graphviz", "pygraphviz"):
        monkeypatch.setitem(sys.modules, package, None)
    x = tt.tensor(2.0, requires_grad=True, name=AWKWARD[1])
    drawing = tt.draw(x * x)
    with pytest.raises(NoRenderer) as caught:
        drawing.save(tmp_path / "g.png")
    assert "`dot`" in str(caught.value) and "install" in str(caught.value)
    assert (tmp_path / "g.gv").read_text(encoding="utf-8") == drawing.source
    assert not (tmp_path / "g.png").exists()


# ---- devices: trained on one, opened where there is no CuPy --------------------------------------
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_training_after_a_move_and_loading_elsewhere(
    make: Make, other_device: Device, tmp_path: Path
) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.LayerNorm(3), nn.Linear(3, 2))
    optimizer = make(list(model.parameters()))  # before the move
    model.to(other_device)
    for _ in range(2):
        optimizer.zero_grad()
        out = model(tt.ones((4, 2), device=other_device))
        nn.CrossEntropyLoss()(out, [0, 1, 1, 0]).backward()
        optimizer.step()
    assert all(p.device is other_device for p in model.parameters())
    for state in optimizer.state.values():
        arrays = [a for name, a in state.items() if name != "step"]
        assert all(isinstance(a, other_device.array_type) for a in arrays)
    path = files.save(tmp_path / files.NAME, Checkpoint(model.state_dict(), optimizer.state_dict()))
    code = (
        "import sys; sys.modules['cupy'] = None\n"
        "from tinytensor.train import checkpoint\n"
        "found = checkpoint.load(sys.argv[1])\n"
        "print({type(a).__name__ for a in found.weights.values()}, len(found.weights))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert done.stdout.strip() == "{'ndarray'} 6", done.stderr
    other = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.LayerNorm(3), nn.Linear(3, 2))
    other.load_state_dict(files.load(path).weights)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], value)


def test_losses_of_host_targets_on_another_device(other_device: Device) -> None:
    """Targets of nn's losses follow the prediction; a tensor elsewhere is refused by name."""
    logits = tt.tensor(np.ones((2, 3), np.float32), device=other_device, requires_grad=True)
    loss = nn.CrossEntropyLoss()(logits, np.array([0, 1]))
    loss.backward()
    assert loss.device is other_device
    assert logits.grad is not None and logits.grad.device is other_device
    with pytest.raises(TypeError) as error:
        nn.CrossEntropyLoss()(logits, tt.tensor([0, 1], device="cpu"))
    assert "cpu" in str(error.value) and other_device.name in str(error.value)
    with pytest.raises(TypeError) as error:
        nn.mse_loss(logits, tt.zeros((2, 3), device="cpu"))
    assert "cpu" in str(error.value) and other_device.name in str(error.value)
