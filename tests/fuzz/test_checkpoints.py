"""Damaged and hostile checkpoints: whatever is in the file, the answer is a clear line.

Each file goes through all that reads one: ``load``, what ``tinytensor info`` shows, ``load_model``
of ``tinytensor sample``, and ``Trainer.resume``; where it is taken, a step is trained as well. It
ends in a result or in an error that names the file, within bounds of time and memory, and without
a warning.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor.train import (
    CheckpointError,
    ConfigError,
    DataError,
    Trainer,
    TrainingError,
    load_model,
)
from tinytensor.train import checkpoint as files
from tinytensor.train.cli.info import checkpoint_facts

from ..train.helpers import TEXT, config
from .budget import budget

MODELS = ("gpt", "gru", "lstm", "rnn")
#: of one file through all its readers: far more than a small one takes, far less than a hang
SECONDS, BYTES = 5.0, 100_000_000


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


#: what stands where something else is expected
HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 7, 8, 1.5, -0.0, 5e-324, 1e308, 2**31 - 1, 2**31, 2**32,
    2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**128, 10**20, 10**400, -(10**400), math.nan, math.inf,
    -math.inf, "", "4", "x" * 5000, "\0", "\x1b[31m", "\ud800", "\u202e", "none", "gpt", "lstm",
    "rnn", "sgd", "cuda", "NaN", "a", [], [1], [0, 0], ["a"], [[1], [2]], {}, {"a": 1},
    {"": None}, {"size": 1}, nested(30), nested(60), nested(900),
]  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a real checkpoint of each model, and of GPT's with plain SGD."""
    found = {}
    for name in (*MODELS, "sgd"):
        folder = tmp_path_factory.mktemp(name)
        kind, more = ("gpt", {"optimizer": "sgd"}) if name == "sgd" else (name, {})
        trainer = Trainer(config(kind, steps=3, eval_every=2, **more), TEXT, folder)
        trainer.plot = lambda: None  # type: ignore[method-assign]  # which takes longer than all else
        trainer.run()
        found[name] = (folder / files.NAME).read_bytes()
    return found


def largest_memory() -> int:
    """Bytes that this process has had at most; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


class Count:
    """How the files of a target ended, printed after it."""

    def __init__(self, what: str) -> None:
        self.what, self.tried, self.refused = what, 0, 0

    def read(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self.tried += 1
        results = [self._one(path, name, reader) for name, reader in READERS.items()]
        self.refused += not all(results)

    def _one(self, path: Path, name: str, reader: Callable[[Path], Any]) -> bool:
        before, started = largest_memory(), time.process_time()
        taken = True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                reader(path)
        except CheckpointError as error:
            taken = False
            assert str(path) in str(error), f"{name}: {error}"
            assert len(str(error)) < 800, f"{name}: {error}"
        except (ConfigError, DataError, TrainingError) as error:
            taken = False
            assert name == "resume", f"{name}: {error}"
        seconds = time.process_time() - started
        size = largest_memory() - before
        assert seconds < SECONDS and size < BYTES, f"{name}: {seconds:.1f} s, {size:,} bytes"
        return taken


def resume(path: Path) -> None:
    """Go on with a run, by one step where that is a small one."""
    trainer = Trainer.resume(path, text=TEXT)
    chosen = trainer.config
    symbols = chosen.batch_size * chosen.accumulate * chosen.block_size
    if symbols < 1000 and (chosen.workers or 1) == 1 and chosen.device == "cpu":
        with np.errstate(all="ignore"):  # weights that are not finite load
            trainer.train_step()


READERS: dict[str, Callable[[Path], Any]] = {
    "load": files.load,
    "info": checkpoint_facts,
    "sample": load_model,
    "resume": resume,
}


@pytest.fixture
def counted(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Count]:
    count = Count(request.node.name)
    yield count
    with capsys.disabled():
        print(f"\n{count.what}: {count.tried} files, {count.refused} refused with a clear error")


def sign(content: bytes) -> bytes:
    """The file with a checksum that fits it, as one who means harm would write it."""
    found = re.search(rb'"checksum":\s*"([0-9a-f]{64})"', content)
    if found is None:
        return content
    start, stop = found.span(1)
    blank = content[:start] + b"0" * 64 + content[stop:]
    return content[:start] + hashlib.sha256(blank).hexdigest().encode() + content[stop:]


def spoiled(data: st.DataObject, content: bytes, other: bytes) -> bytes:
    """Bytes with one to three faults of the kinds that disks, networks and people make."""
    for _ in range(data.draw(st.integers(1, 3))):
        size = len(content)
        # half of the faults in the first 6,000 bytes, where the header is
        at = data.draw(st.one_of(st.integers(0, min(size, 6000)), st.integers(0, size)))
        length = data.draw(st.sampled_from([1, 2, 8, 64, 512, 4096]))
        kind = data.draw(st.sampled_from(
            ["bit", "byte", "truncate", "cut", "zeros", "repeat", "append", "splice", "digit"]
        ))  # fmt: skip
        front, middle, rest = content[:at], content[at : at + length], content[at + length :]
        if kind == "bit" and at < size:
            changed = content[at] ^ 1 << data.draw(st.integers(0, 7))
            content = front + bytes([changed]) + content[at + 1 :]
        elif kind == "byte":
            content = front + data.draw(st.binary(min_size=1, max_size=8)) + content[at + 1 :]
        elif kind == "truncate":
            content = front
        elif kind == "cut":
            content = front + rest
        elif kind == "zeros":
            content = front + bytes(len(middle)) + rest
        elif kind == "repeat":
            content = front + middle + middle + rest
        elif kind == "append":
            content += bytes(length)
        elif kind == "splice":
            content = front + other[at : at + length] + rest
        elif kind == "digit":  # another number where there was one: the JSON stays JSON
            digits = [m.start() for m in re.finditer(rb"[0-9]", content[8:6000])]
            if digits:
                place = 8 + data.draw(st.sampled_from(digits))
                digit = data.draw(st.sampled_from(list(b"0123456789.-e")))
                content = content[:place] + bytes([digit]) + content[place + 1 :]
    return content


@given(data=st.data())
@budget(60)
def test_damaged_bytes(
    originals: dict[str, bytes], counted: Count, tmp_path: Path, data: st.DataObject
) -> None:
    """Flipped bits, truncations, splices; with the checksum as it was, or made to fit."""
    names = st.sampled_from(list(originals))
    original, other = originals[data.draw(names)], originals[data.draw(names)]
    content = spoiled(data, original, other)
    signed = data.draw(st.booleans())
    counted.read(tmp_path / "x.safetensors", sign(content) if signed else content)
    if not signed and content != original:
        with pytest.raises(CheckpointError):
            files.load(tmp_path / "x.safetensors")


def opened(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """A file as its header without the settings, the settings' JSON, and its data."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    return header, json.loads(header["__metadata__"].pop("json")), content[8 + size :]


def closed(header: dict[str, Any], meta: Any, data: bytes) -> bytes:
    """The reverse, with a right checksum."""
    if isinstance(header.get("__metadata__"), dict) and "json" not in header["__metadata__"]:
        header["__metadata__"]["json"] = json.dumps(meta)
    text = json.dumps(header).encode()
    return sign(len(text).to_bytes(8, "little") + text + data)


def places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a JSON value, those of hostile nests only to some depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, (dict, list)) and depth < 8:
            yield from places(inner, depth + 1)


def change(data: st.DataObject, value: Any) -> None:
    """Replace, delete or add something somewhere in a JSON value."""
    where = list(places(value))
    container, key = data.draw(st.sampled_from(where))
    kind = data.draw(st.sampled_from(["replace", "replace", "other", "delete", "add", "grow"]))
    hostile = json.loads(json.dumps(data.draw(st.sampled_from(HOSTILE))))
    if kind == "replace":
        container[key] = hostile
    elif kind == "other":  # what is right in another place
        source, name = data.draw(st.sampled_from(where))
        container[key] = json.loads(json.dumps(source[name]))
    elif kind == "delete":
        del container[key]
    elif kind == "grow" and isinstance(container[key], (int, float)):
        factor = data.draw(st.sampled_from([-1, 0.5, 2, 10, 2**20, 2**40]))
        container[key] = container[key] * factor
    elif isinstance(container, dict):
        name = data.draw(st.sampled_from(["", "a", "lr", "size", "n_layer", "params", "dtype"]))
        container[name] = hostile
    else:
        container.insert(key, hostile)


@given(data=st.data())
@budget(60)
def test_hostile_values(
    originals: dict[str, bytes], counted: Count, tmp_path: Path, data: st.DataObject
) -> None:
    """Values of the wrong type, size or place anywhere in settings and header; a right checksum."""
    header, meta, numbers = opened(originals[data.draw(st.sampled_from(list(originals)))])
    for _ in range(data.draw(st.integers(1, 3))):
        change(data, header if data.draw(st.integers(0, 4)) == 0 else meta)
    counted.read(tmp_path / "x.safetensors", closed(header, meta, numbers))


@given(data=st.data())
@budget(40)
def test_hostile_arrays(
    originals: dict[str, bytes], counted: Count, tmp_path: Path, data: st.DataObject
) -> None:
    """Arrays that are missing, too many, of another dtype, shape or name, or not finite."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(originals[data.draw(st.sampled_from(list(originals)))])
    saved = files.load(path)
    groups = [saved.weights, saved.optimizer["arrays"], saved.history]
    with np.errstate(all="ignore"):
        for _ in range(data.draw(st.integers(1, 3))):
            group = data.draw(st.sampled_from([g for g in groups if g]))
            name = data.draw(st.sampled_from(sorted(group)))
            array = group[name]
            kind = data.draw(st.sampled_from(["dtype", "shape", "numbers", "drop", "name", "swap"]))
            if kind == "dtype":
                dtype = data.draw(st.sampled_from(["f2", "f4", "f8", "i8", "u1", "i2", "?"]))
                group[name] = array.astype(dtype)
            elif kind == "shape":
                shapes = [(-1,), (1, *array.shape), (*array.shape, 1), array.T.shape]
                group[name] = array.reshape(data.draw(st.sampled_from(shapes)))
            elif kind == "numbers" and array.size and array.dtype.kind == "f":
                at = data.draw(st.integers(0, array.size - 1))
                number = data.draw(st.sampled_from([np.nan, np.inf, -1.0, 0.0, 1e30, 0.5, -1e300]))
                group[name] = array.copy()
                group[name].reshape(-1)[at] = number
            elif kind == "drop":
                del group[name]
            elif kind == "name":
                group[data.draw(st.sampled_from(["x", name + ".", "." + name, "é", "0"]))] = array
            else:
                group[name] = group[data.draw(st.sampled_from(sorted(group)))]
    files.save(path, saved)
    counted.read(path, path.read_bytes())
