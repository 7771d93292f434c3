"""Logs that hold anything: a run that goes on keeps the lines that are good, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytensor.train.results.log_file import LOG
from tinytensor.train.run.log import Log

from .budget import budget

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
)
entries = st.fixed_dictionaries(
    {"step": st.integers(-2, 12)},
    optional={"loss": st.floats(), "val_loss": st.floats(), "more": values},
)
good = entries.map(lambda entry: json.dumps(entry).encode())
pieces = st.one_of(
    good, good, st.binary(max_size=30), values.map(lambda value: json.dumps(value).encode()),
    st.tuples(good, st.integers(0, 40)).map(lambda pair: pair[0][: pair[1]]),
    st.integers(1, 70_000).map(lambda size: b'{"step": 1, "x": "' + b"y" * size + b'"}'),
    st.integers(1, 70_000).map(lambda depth: b"[" * depth),
)  # fmt: skip


def expected(content: bytes, step: int, validated: int) -> list[bytes]:
    """The same by reading the whole file at once."""
    found = []
    for line in content.split(b"\n")[:-1]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict) or type(entry.get("step")) is not int or len(line) > 65535:
            continue
        at = entry["step"]
        if at < step or at == step and ("loss" in entry or validated == step):
            found.append(line + b"\n")
    return found


def test_a_run_goes_on_with_any_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # only slow here
    tried = lines = left = 0

    @budget(400)
    @given(st.lists(pieces, max_size=8), st.booleans(), st.integers(1, 10), st.booleans())
    def target(parts: list[bytes], ends: bool, step: int, seen: bool) -> None:
        nonlocal tried, lines, left
        content = b"\n".join(parts) + b"\n" * ends
        (tmp_path / LOG).write_bytes(content)
        validated = step if seen else step - 1
        log = Log(tmp_path, step, validated, pytest.fail)
        log.write(step + 1, loss=0.5)
        log.close()
        result = (tmp_path / LOG).read_bytes()
        kept = expected(content, step, validated)
        assert result == b"".join(kept) + b'{"step": %d, "loss": 0.5}\n' % (step + 1)
        again = Log(tmp_path, step + 1, -1, pytest.fail)
        again.close()
        assert (tmp_path / LOG).read_bytes() == result, "what is kept once is kept for good"
        assert [p.name for p in tmp_path.iterdir()] == [LOG]
        tried, lines, left = tried + 1, lines + len(kept), left + content.count(b"\n") - len(kept)

    target()
    with capsys.disabled():
        print(f"\nlogs: {tried} tried, {lines} lines kept, {left} left out, no fault")
