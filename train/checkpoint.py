"""Checkpoints: one file that is either the old one or the new one, whatever happens.

A checkpoint is a single safetensors file: weights, optimiser state and losses as arrays, and all
the rest (settings, step, generator states, vocabulary) as JSON in its metadata. Being one file it
can be replaced in one atomic step (``system/files.py``): a kill, a full disk or a power cut at any
moment leaves the last good one. Nothing in it can run code; a file from elsewhere is checked before
anything is changed. A checksum over all of the file tells a damaged one; it does not tell who wrote
it.

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

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..nn.tensor_file import (
    DTYPES,
    FormatError,
    Header,
    encode,
    open_file,
    parse_json,
    read_arrays,
    read_header,
)
from .given.paths import given_path
from .given.words import cause, readable
from .system import files
from .system.memory import machine_memory

NAME = "checkpoint.safetensors"
FORMAT = "tinytensor-checkpoint-2"
#: formats that are still read: the first one has no checksum
FORMATS = ("tinytensor-checkpoint-1", FORMAT)
#: what stands in the place of the checksum while it is computed
_BLANK = "0" * hashlib.sha256().digest_size * 2


class CheckpointError(Exception):
    """A checkpoint that cannot be read, written or used; the message names the file."""


class SaveError(CheckpointError):
    """A checkpoint could not be written; what was there is untouched."""


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


def save(path: str | Path, checkpoint: Checkpoint, patience: Sequence[float] | None = None) -> Path:
    """Write a checkpoint so that ``path`` is at every moment the old file or the whole new one.

    Args:
        path: where; its folder is made if need be.
        checkpoint: what. Arrays must be NumPy's: a run on a GPU saves host arrays only.
        patience: seconds to wait before each further try; see :func:`files.write_atomically`.

    Returns:
        The path.

    Raises:
        SaveError: it could not be written; what was at ``path`` is untouched. (A CheckpointError.)
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
            arrays[f"{part}.{name}"] = array
    # ASCII keeps lone surrogates, which UTF-8 could not hold; allow_nan reads back losses of inf.
    rest = {**checkpoint.meta, "optimizer": checkpoint.optimizer["numbers"]}
    content = _encode(arrays, {"format": FORMAT, "json": json.dumps(rest)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_bytes(path, content, patience)
    except OSError as error:
        raise SaveError(
            f"checkpoint: cannot write {path}: {cause(error)}; "
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
        with open_file(path) as file:
            header = read_header(file)
            _check_header(path, header)
            digest = hashlib.sha256(_blanked(path, header))
            arrays = read_arrays(file, header, digest.update)
    except OSError as error:
        raise CheckpointError(f"checkpoint: cannot read {path}: {cause(error)}") from None
    except FormatError as error:
        raise CheckpointError(
            f"checkpoint: {path} is truncated, damaged or not a safetensors file ({error})"
        ) from None
    if header.metadata.get("checksum", digest.hexdigest()) != digest.hexdigest():
        raise CheckpointError(
            f"checkpoint: {path} is damaged: its checksum does not fit what it holds"
        )
    try:
        meta = parse_json(header.metadata["json"], constants=True)
        numbers = meta.pop("optimizer")
        if not isinstance(numbers, dict):
            raise FormatError("the optimiser's numbers are no JSON object")
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f"checkpoint: {path} has damaged settings ({error!r})") from None
    parts: dict[str, dict[str, np.ndarray]] = {"model": {}, "optimizer": {}, "history": {}}
    for name, array in arrays.items():
        part, _, rest = name.partition(".")
        parts[part][rest] = array
    optimizer = {"arrays": parts["optimizer"], "numbers": numbers}
    return Checkpoint(parts["model"], optimizer, parts["history"], meta)


def _check_header(path: Path, header: Header) -> None:
    """Refuse a file that is no checkpoint, or too large, before its arrays are read."""
    found = header.metadata.get("format", "none")
    if found not in FORMATS:
        newer = "; a newer tinytensor may have written it" if found.startswith(FORMAT[:-1]) else ""
        raise CheckpointError(
            f"checkpoint: {path} is a safetensors file, but not a checkpoint of tinytensor "
            f"(format {found[:40]!r}, expected {FORMAT!r}{newer})"
        )
    if ("checksum" in header.metadata) != (found == FORMAT):
        raise CheckpointError(f"checkpoint: {path} is damaged: its checksum is missing")
    for name, entry in header.entries.items():
        part, _, rest = name.partition(".")
        if part not in ("model", "optimizer", "history") or not rest:
            raise CheckpointError(f"checkpoint: {path} holds an unexpected array {name[:60]!r}")
        if entry.dtype not in DTYPES:
            raise CheckpointError(f"checkpoint: {path}: {name[:60]!r} is {entry.dtype}, no number")
    if header.size > machine_memory():
        raise CheckpointError(
            f"checkpoint: {path} holds {readable(header.size)}, this machine has "
            f"{readable(machine_memory())} of memory"
        )


def _blanked(path: Path, header: Header) -> bytes:
    """A header as it was when its checksum was computed."""
    checksum = header.metadata.get("checksum")
    if checksum is None:
        return header.raw
    written = checksum.encode()
    if len(written) != len(_BLANK) or written not in header.raw:
        raise CheckpointError(f"checkpoint: {path} is damaged: its checksum is none")
    return header.raw.replace(written, _BLANK.encode(), 1)


def locate(path: str | Path) -> Path:
    """The checkpoint's file, given the file itself or the folder of its run; ``~`` is filled in.

    Raises:
        CheckpointError: there is none, or no path could be so.
    """
    path = _given(path)
    try:
        file = path / NAME if path.is_dir() else path
        if file.is_file():
            return file
        there = file.exists()
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise CheckpointError(f"checkpoint: cannot read {path}: {cause(error)}") from None
    kind = ": what is there is no regular file" if there else ""
    raise CheckpointError(f"checkpoint: there is none at {file}{kind}")


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


def _encode(arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> bytearray:
    """The file's bytes: its checksum is the SHA-256 of all of them, with zeros in its own place."""
    content = encode(arrays, {"checksum": _BLANK, **metadata})
    start = content.index(_BLANK.encode())
    digest = hashlib.sha256(content).hexdigest()
    content[start : start + len(digest)] = digest.encode()
    return content
