"""Checkpoints: one file that is either the old one or the new one, whatever happens.

A checkpoint is a single safetensors file: weights, optimiser state and losses as arrays, and all
the rest (settings, step, generator states, vocabulary) as JSON in its metadata. Being one file it
can be replaced in one atomic step: it is written under another name in the same folder, flushed to
the disk, and renamed. A kill, a full disk or a power cut at any moment leaves the last good one.
Nothing in it can run code; a file from elsewhere is checked before anything is changed.

In a loop of your own, to stop and go on with the same numbers::

    from tinytensor.train import Checkpoint, checkpoint

    state = Checkpoint(model.state_dict(), optimizer.state_dict(), meta={"step": step})
    checkpoint.save("run/checkpoint.safetensors", state)

    saved = checkpoint.load("run/checkpoint.safetensors")
    model.load_state_dict(saved.weights)
    optimizer.load_state_dict(saved.optimizer)
    start = saved.meta["step"]
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .paths import given_path

NAME = "checkpoint.safetensors"
FORMAT = "tinytensor-checkpoint-1"


class CheckpointError(Exception):
    """A checkpoint that cannot be read, written or used; the message names the file."""


@dataclass
class Checkpoint:
    """What a checkpoint holds.

    Attributes:
        weights: the model's state dict, host arrays.
        optimizer: the optimiser's state dict, ``{"arrays": ..., "numbers": ...}``.
        history: the losses so far: arrays by name, float64.
        meta: plain values, fit for JSON: "config", "model", "symbols", "step", "random", ...
    """

    weights: dict[str, np.ndarray]
    optimizer: dict[str, Any] = field(default_factory=lambda: {"arrays": {}, "numbers": {}})
    history: dict[str, np.ndarray] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


def save(path: str | Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint so that ``path`` is at every moment the old file or the whole new one.

    Args:
        path: where; its folder is made if need be.
        checkpoint: what. Arrays must be NumPy's: a run on a GPU saves host arrays only.

    Returns:
        The path.

    Raises:
        CheckpointError: it could not be written; what was at ``path`` is untouched.
        TypeError: an array is not on the host.
    """
    path = _given(path)
    parts = {
        "model": checkpoint.weights,
        "optimizer": checkpoint.optimizer["arrays"],
        "history": checkpoint.history,
    }
    arrays = {}
    for part, group in parts.items():
        for name, array in group.items():
            if not isinstance(array, np.ndarray):
                kind = type(array).__name__
                raise TypeError(f"{part}.{name}: expected a NumPy array, got {kind}")
            arrays[f"{part}.{name}"] = np.array(array, order="C")
    # ASCII keeps lone surrogates, which UTF-8 could not hold; allow_nan reads back losses of inf.
    rest = {**checkpoint.meta, "optimizer": checkpoint.optimizer["numbers"]}
    content = _encode(arrays, {"format": FORMAT, "json": json.dumps(rest)})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(temporary, content)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise CheckpointError(
            f"checkpoint: cannot write {path}: {error.strerror or error}; "
            "the last good one, if any, is untouched"
        ) from error
    return path


def load(path: str | Path) -> Checkpoint:
    """Read a checkpoint; ``path`` is the file or the folder of its run.

    Raises:
        CheckpointError: there is none, or the file is truncated, damaged or something else.
    """
    path = locate(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"checkpoint: cannot read {path}: {error.strerror or error}"
        ) from None
    try:
        arrays, metadata = _decode(content)
    except Exception as error:  # the library's own error class, and what damaged JSON may raise
        raise CheckpointError(
            f"checkpoint: {path} is truncated, damaged or not a safetensors file ({error})"
        ) from None
    if metadata.get("format") != FORMAT:
        raise CheckpointError(
            f"checkpoint: {path} is a safetensors file, but not a checkpoint of tinytensor "
            f"(format {metadata.get('format')!r}, expected {FORMAT!r})"
        )
    try:
        meta = json.loads(metadata["json"])
        numbers = meta.pop("optimizer")
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"checkpoint: {path} has damaged settings ({error!r})") from None
    parts: dict[str, dict[str, np.ndarray]] = {"model": {}, "optimizer": {}, "history": {}}
    for name, array in arrays.items():
        part, _, rest = name.partition(".")
        if part not in parts or not rest:
            raise CheckpointError(f"checkpoint: {path} holds an unexpected array {name!r}")
        parts[part][rest] = array
    optimizer = {"arrays": parts["optimizer"], "numbers": numbers}
    return Checkpoint(parts["model"], optimizer, parts["history"], meta)


def locate(path: str | Path) -> Path:
    """The checkpoint's file, given the file itself or the folder of its run; ``~`` is filled in.

    Raises:
        CheckpointError: there is none, or no path could be so.
    """
    path = _given(path)
    try:
        file = path / NAME if path.is_dir() else path
        found = file.is_file()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise CheckpointError(
            f"checkpoint: cannot read {path}: {error.strerror or error}"
        ) from None
    if not found:
        raise CheckpointError(f"checkpoint: there is none at {file}")
    return file


def latest(root: str | Path = "runs") -> Path:
    """The newest checkpoint of the runs in a folder.

    Raises:
        CheckpointError: there is none.
    """
    found = sorted(_given(root).glob(f"*/{NAME}"), key=lambda file: file.stat().st_mtime)
    if not found:
        raise CheckpointError(f"checkpoint: there is none in {root}/; train first, or name one")
    return found[-1]


def _given(path: str | Path) -> Path:
    """A path with ``~`` filled in; CheckpointError where it can be none."""
    try:
        return Path(given_path(path))
    except ValueError as error:
        raise CheckpointError(f"checkpoint: {error}") from None


def remove_leftovers(folder: str | Path) -> None:
    """Delete half-written files of killed processes. Not while another one may be saving here."""
    for file in Path(folder).glob(f".{NAME}.*.tmp"):
        file.unlink(missing_ok=True)


def _encode(arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    from safetensors.numpy import save as encode

    return bytes(encode(dict(arrays), metadata))


def _decode(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    from safetensors.numpy import load as decode

    arrays = decode(content)  # refuses a header that does not fit the file's length
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    # The library's arrays look into the read-only bytes; copies do not keep the file in memory.
    return {name: np.array(a) for name, a in arrays.items()}, header.get("__metadata__", {})


def _write(path: Path, content: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the disk knows of the rename.

    The new file is whole and in place by now; Windows and some network drives cannot do this.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
