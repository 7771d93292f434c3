"""The file of what was watched: what stays in it, and what is read of one from anywhere."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train.results import watch_file
from tinytensor.train.results.log_file import LOG
from tinytensor.train.results.watch_file import NAME, Seen, cut, number, parsed, spread_out
from tinytensor.train.watch import follow, keep
from tinytensor.train.watch.follow import Curves, Followed, Tail
from tinytensor.train.watch.keep import WatchLog

MAP: dict[str, Any] = {
    "kind": "text to itself", "layer": 1, "heads": 2, "queries": ["a", "b"],
    "keys": ["a", "b", "c"],
    "weights": base64.b64encode(bytes(range(12))).decode(),
}  # fmt: skip
GOOD = [
    Seen("gradients", 1, [["wte", 0.5], ["h.0", "inf"]]),
    Seen("activations", 0, [["wte", "Embedding", *range(11)]]),
    Seen("attention", 3, [MAP]),
    Seen("sample", 2**53 - 1, "</script>\u202e\0\n"),
]


def seen(folder: Path) -> list[tuple[str, int, Any]]:
    found = map(parsed, (folder / NAME).read_bytes().splitlines(keepends=True))
    return [(one.kind, one.step, one.value) for one in found if isinstance(one, Seen)]


@pytest.mark.parametrize("one", GOOD, ids=lambda one: one.kind)
def test_an_observation_comes_back_as_it_was(one: Seen) -> None:
    assert parsed(one.line()) == one
    assert one.line().count(b"\n") == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("gradients", {"a": 1}), ("gradients", [["a", "1"]]), ("gradients", [["a", True]]),
        ("gradients", [[1, 1]]), ("gradients", [["a", 1, 2]]), ("gradients", 5),
        ("gradients", [["a", 1]] * 2001), ("activations", [["a", "b", *range(10)]]),
        ("activations", [["a", "b", *range(10), None]]), ("sample", 5), ("sample", "x" * 20_001),
        ("other", "x"), ("attention", [{**MAP, "heads": 3}]), ("attention", [{**MAP, "heads": -2}]),
        ("attention", [{**MAP, "weights": "?"}]), ("attention", [{**MAP, "keys": ["a", "b", 5]}]),
        ("attention", [{**MAP, "queries": []}]), ("attention", [{**MAP, "layer": "1"}]),
        ("attention", [{**MAP, "kind": 5}]), ("attention", [[]]), ("attention", [{}]),
        ("attention", [{**MAP, "queries": "ab"}]),
        ("attention", [{**MAP, "queries": {"a": 1, "b": 2}}]),
        ("attention", ""), ("gradients", {}), ("activations", ""), ("gradients", [["a", 10**400]]),
        ("activations", [["a", "b", *range(10), -(10**400)]]),
    ],
)  # fmt: skip
def test_a_value_that_is_none_of_its_kind_is_left_out(kind: str, value: Any) -> None:
    line = json.dumps({"step": 1, "kind": kind, "value": value}).encode() + b"\n"
    assert parsed(line) is None


def test_numbers_that_json_has_no_word_for_do_not_reach_the_page(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"run": {"name": "r", "a": NaN, "b": -Infinity, "c": 0.1}}\n')
    huge = "1" + "0" * 400
    (tmp_path / LOG).write_text(
        f'{{"step": 1, "loss": {huge}}}\n{{"step": 2, "val_loss": {huge}}}\n'
        f'{{"step": 3, "loss": 2, "lr": -{huge}}}\n'
        + f'{{"step": 4, "loss": {10**308}}}\n' * 2
        + '{"step": 4, "loss": 1.5}\n'
    )
    data = Followed(tmp_path).data()
    json.dumps(data, allow_nan=False)
    assert data["run"] == {"name": "r", "a": "nan", "b": "-inf", "c": 0.1}
    assert (data["train"], data["val"]) == ([[3, 2.0, 0.0, 0.0], [4, "inf", 0.0, 0.0]], [])


@pytest.mark.parametrize(
    "line",
    [b"", b"[]\n", b"5\n", b'"run"\n', b'{"step": -1, "kind": "sample", "value": ""}\n',
     b'{"step": true, "kind": "sample", "value": ""}\n', b'{"kind": "sample", "value": ""}\n',
     b'{"step": 1, "kind": [], "value": ""}\n',
     b'{"step": 1, "kind": "gradients", "value": [["a", NaN]]}\n',
     b'{"run": 5}\n', b"[" * 100_000, b"\xff\n", b'{"step": 1e3, "kind": "sample", "value": ""}\n',
     b'{"step": 1, "kind": "gradients", "value": [["a", ' + b"9" * 5000 + b"]]}\n"],
)  # fmt: skip
def test_a_line_that_is_none_is_left_out(line: bytes) -> None:
    assert parsed(line) is None


def test_numbers_have_six_digits_or_a_word() -> None:
    assert number(1 / 3) == 0.333333
    assert [number(float(x)) for x in ("nan", "inf", "-inf")] == ["nan", "inf", "-inf"]


def test_half_of_many_observations_stay_evenly_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "MOST", 8)
    log = WatchLog(tmp_path, {"name": "x"})
    for step in range(40):
        log.add(Seen("sample", step, f"text {step}"))
        log.add(Seen("gradients", step, [["a", step]])) if step < 8 else None
        there = [at for kind, at, _ in seen(tmp_path) if kind == "sample"]
        assert len(there) <= 8 and there[0] == 0 and there[-1] == step and there == sorted(there)
        gaps = [b - a for a, b in zip(there, there[1:])]
        assert not gaps or max(gaps) <= 2 * max(1, step / 3)
    log.close()
    assert [at for kind, at, _ in seen(tmp_path) if kind == "gradients"] == list(range(8))
    run = json.loads((tmp_path / NAME).read_bytes().splitlines()[0])["run"]
    assert run == {"name": "x", "thinned": 40 - len(there)}
    assert all(value == f"text {step}" for kind, step, value in seen(tmp_path) if kind == "sample")
    again = WatchLog(tmp_path, {"name": "y"})  # a run that goes on counts on
    again.close()
    assert (
        json.loads((tmp_path / NAME).read_bytes().splitlines()[0])["run"]["thinned"]
        == run["thinned"]
    )
    assert os.listdir(tmp_path) == [NAME]


def test_large_observations_are_thinned_by_their_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "MOST_BYTES", 20_000)
    log = WatchLog(tmp_path, {})
    for step in range(100):
        log.add(Seen("sample", step, "x" * 1000))
        assert (tmp_path / NAME).stat().st_size < 22_000
    log.close()
    with pytest.raises(ValueError, match="sample of step 100"):
        log.add(Seen("sample", 100, "x" * 30_000))


@pytest.mark.parametrize(
    ("steps", "most", "left"),
    [
        ([0, 1, 2, 3, 4], 3, [0, 2, 4]),
        ([0, 1], 2, [0, 1]),
        ([5], 2, [5]),
        ([0, 90, 91, 92, 100], 3, [0, 90, 100]),
        ([0, 1, 2, 100], 3, [0, 2, 100]),
        (list(range(101)), 11, list(range(0, 101, 10))),
    ],
)
def test_those_nearest_to_even_distances_stay(steps: list[int], most: int, left: list[int]) -> None:
    assert spread_out(steps, most) == left


def test_what_a_killed_run_saw_beyond_its_checkpoint_is_cut(tmp_path: Path) -> None:
    log = WatchLog(tmp_path, {"name": "x"})
    for step in range(6):
        log.add(Seen("sample", step, str(step)))
    log.close()
    with open(tmp_path / NAME, "ab") as file:
        file.write(b'nonsense\n{"step": 2, "kind": "sam')
    cut(tmp_path, 3)
    assert [step for _, step, _ in seen(tmp_path)] == [0, 1, 2, 3]
    assert len((tmp_path / NAME).read_bytes().splitlines()) == 5
    cut(tmp_path, 0)
    assert not (tmp_path / NAME).exists()
    cut(tmp_path, 3)
    (tmp_path / NAME).write_text("my own notes\n")
    cut(tmp_path, 0)
    assert (tmp_path / NAME).read_text() == "my own notes\n"


# ---- following -----------------------------------------------------------------------------------


def test_a_tail_reads_each_line_once_as_the_file_grows(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tail = Tail(path, 10)
    assert tail.read() == (False, [])
    path.write_bytes(b"one\ntw")
    assert tail.read() == (True, [b"one"])
    with open(path, "ab") as file:
        file.write(b"o\n" + b"x" * 11 + b"\nthree\n" + b"y" * 30)
    assert tail.read() == (False, [b"two", b"three"])
    with open(path, "ab") as file:
        file.write(b"\nfour\n")
    assert tail.read()[1][-1] == b"four"
    assert tail.read() == (False, [])


@pytest.mark.parametrize("way", ["another", "shorter", "same size", "gone"])
def test_a_tail_sees_that_a_file_was_replaced(tmp_path: Path, way: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\ntwo\n")
    tail = Tail(path, 10)
    tail.read()
    if way == "another":
        (tmp_path / "new").write_bytes(b"one\ntwo\nthree\n")
        os.replace(tmp_path / "new", path)
        assert tail.read() == (True, [b"one", b"two", b"three"])
    elif way == "shorter":
        path.write_bytes(b"one\n")
        assert tail.read() == (True, [b"one"])
    elif way == "same size":
        path.write_bytes(b"ONE\nTWO\n")
        assert tail.read() == (True, [b"ONE", b"TWO"])
    else:
        path.unlink()
        assert tail.read() == (True, [])


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_only_a_file_is_followed(tmp_path: Path, kind: str) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"secret\n")
    if kind == "link":
        path.symlink_to(other)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert Tail(path, 10).read() == (False, [])


def test_a_long_curve_is_of_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "POINTS", 10)
    curves = Curves()
    changed = [
        curves.add(s, {"loss": float(s), "lr": s / 10, "grad_norm": 2.0 * s}) for s in range(1, 45)
    ]
    found = curves.after(0, 0)
    assert found["stride"] == 8 and changed.count(True) == 3
    assert found["train"][0] == [8, 4.5, 0.8, 9.0]  # of steps 1 to 8
    assert found["train"][-1] == [44, 42.5, 4.4, 85.0]  # of steps 41 to 44
    assert [point[0] for point in found["train"]] == [8, 16, 24, 32, 40, 44]


def test_what_came_since_makes_up_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was asked when, with thinning, a replaced log and long curves in between."""
    monkeypatch.setattr(follow, "POINTS", 12)
    monkeypatch.setattr(keep, "MOST", 6)
    followed, lists, mark = Followed(tmp_path), {"train": [], "val": [], "seen": []}, ""

    def ask() -> None:
        nonlocal mark
        answer = followed.data(mark)
        mark = answer["mark"]
        for name, own in lists.items():
            assert answer["at"][name] <= len(own)
            own[answer["at"][name] :] = answer[name]

    log = WatchLog(tmp_path, {"name": "x", "nested": []})
    for step in range(1, 60):
        with open(tmp_path / LOG, "a") as file:
            file.write(json.dumps({"step": step, "loss": 1 / step}) + "\n")
            if step % 10 == 0:
                file.write(json.dumps({"step": step, "val_loss": 2 / step}) + "\n")
        log.add(Seen("sample", step, str(step)))
        if step == 40:  # as a run that goes on from there writes it anew
            kept = (tmp_path / LOG).read_bytes().splitlines(keepends=True)[:30]
            (tmp_path / "new").write_bytes(b"".join(kept))
            os.replace(tmp_path / "new", tmp_path / LOG)
        if step % 3 == 0:
            ask()
            whole = Followed(tmp_path).data()
            assert lists == {name: whole[name] for name in lists}, step
    assert whole["run"] == {"name": "x", "thinned": whole["run"]["thinned"]}
    assert lists["val"] == [[10, 0.2], [20, 0.1], [50, 0.04]]
    log.close()


def test_the_limits_hold_a_page_together() -> None:
    """All kinds together stay below what a browser opens with ease."""
    assert len(watch_file.KINDS) * watch_file.MOST_BYTES < 50_000_000
    assert watch_file.LONGEST < watch_file.MOST_BYTES
