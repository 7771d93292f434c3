"""``train --watch`` and ``watch``, as a user types them."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tinytensor.train.parallel import data_parallel
from tinytensor.train.results.watch_file import NAME

from ..helpers import TEXT, call, command, environment, flags

needs_processes = pytest.mark.skipif(
    data_parallel.why_not() is not None, reason=f"several processes: {data_parallel.why_not()}"
)
ADDRESS = re.compile(r"^watch it learn: (http://127\.0\.0\.1:\d+/[\w-]{32,}/)$", re.M)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and a run that was watched."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text(TEXT)
    more = ("--watch", "--watch-every", 4, "--data", "text.txt", "--out", "run", "--workers", 1)
    done = call("train", *flags(), *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("watch it learn: ") and len(ADDRESS.findall(done.stdout)) == 1
    return folder


def data(address: str, mark: str = "") -> Any:
    with urllib.request.urlopen(f"{address}data?since={mark}", timeout=10) as answer:
        return json.load(answer)


def started(*args: object, cwd: Path) -> tuple[subprocess.Popen[str], str]:
    """A command that goes on, and the address that it prints."""
    process = subprocess.Popen(
        command(*args), cwd=cwd, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    found = ADDRESS.match(process.stdout.readline().rstrip())
    if found is None:
        process.kill()
        raise AssertionError(process.communicate())
    return process, found[1]


def test_a_run_shows_itself_and_ends_with_its_page(trained: Path) -> None:
    more = ("--watch", "--watch-every", 50, "--data", "text.txt", "--out", "long", "--workers", 1)
    process, address = started("train", *flags(steps=100_000), *more, cwd=trained)
    try:
        first = data(address)
        assert first["run"]["model"] == "gpt" and first["run"]["steps"] == 100_000
        assert {kind for kind, _, _ in first["seen"]} >= {"sample", "activations"}
        deadline = time.monotonic() + 60
        while not (later := data(address, first["mark"]))["train"] or not later["seen"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not later["ended"]
        # from another terminal
        other, second = started("watch", "long", cwd=trained)
        assert second != address and data(second)["train"][0][0] == 1
        other.send_signal(signal.SIGINT)
        _, words = other.communicate(timeout=20)
        assert other.returncode == 0 and "saving" not in words  # there is nothing to save
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and "all is saved" in out and "Traceback" not in err
    with pytest.raises(urllib.error.URLError):
        data(address)
    steps = [json.loads(line).get("step", 0) for line in open(trained / "long" / NAME)]
    assert max(steps) % 50 == 0 and max(steps) > 0


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=needs_processes)])
def test_an_open_page_gets_the_end(trained: Path, workers: int) -> None:
    more = ("--watch", "--data", "text.txt", "--out", f"short{workers}")
    settings = flags(steps=60, workers=workers, oversubscribe=True)
    process, address = started("train", *settings, *more, cwd=trained)
    try:
        mark, answers = "", []
        while not answers or not answers[-1]["ended"]:
            answers.append(data(address, mark))
            mark = answers[-1]["mark"]
            time.sleep(0.05)
        assert answers[-1]["train"][-1][0] == 60
        assert max(step for one in answers for _, step, _ in one["seen"]) == 60
        assert process.communicate(timeout=60)[1].count("warning") == 0
    finally:
        process.kill()
    assert process.returncode == 0


def test_a_page_in_a_file_has_it_all(trained: Path) -> None:
    done = call("watch", "run", "--html", "replay.html", cwd=trained)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == "page     replay.html\n"
    text = (trained / "replay.html").read_text(encoding="ascii")
    found = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert found["every"] is None and len(found["train"]) == 12
    assert [step for kind, step, _ in found["seen"] if kind == "sample"] == [0, 4, 8, 12]
    latest = call("watch", "--html", "latest.html", cwd=trained)  # there is no runs/ here
    assert latest.returncode == 2 and "there is none in runs/" in latest.stderr


def refuse(folder: Path, *args: object) -> str:
    done = call(*args, cwd=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    return done.stderr


def test_what_cannot_be_shown_says_how_it_could(trained: Path) -> None:
    run = ("--data", "text.txt", "--workers", 1)
    assert call("train", *flags(), *run, "--out", "blind", cwd=trained).returncode == 0
    said = refuse(trained, "watch", "blind")
    assert f"blind has no {NAME}" in said and "train --resume --out blind --watch" in said
    (trained / "empty").mkdir(exist_ok=True)
    assert "train one by" in refuse(trained, "watch", "empty")
    said = refuse(trained, "watch", "nothing")
    assert "nothing is no folder of a run" in said and "train --out nothing --watch" in said
    assert "html: cannot write no/x.html" in refuse(trained, "watch", "run", "--html", "no/x.html")
    said = refuse(trained, "watch", "run", "--html", "x.html", "--port", 1)
    assert "port: a page in a file has none" in said
    assert "port: it needs --watch" in refuse(trained, "train", *flags(), "--port", 1)
    assert "watch-every: it needs --watch" in refuse(trained, "train", *flags(), "--watch-every", 1)


def test_a_port_that_is_taken_is_told_before_anything_is_trained(trained: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        more = ("--data", "text.txt", "--out", "taken", "--watch", "--port", port)
        for args in (("train", *flags(), *more), ("watch", "run", "--port", port)):
            said = refuse(trained, *args)
            assert (
                f"port: cannot listen at port {port} of 127.0.0.1: Address already in use" in said
            )
            assert "without --port a free one is taken" in said
    assert not (trained / "taken").exists()


def test_a_machine_without_its_own_address_still_keeps_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tinytensor.train.cli.watch import watcher_of
    from tinytensor.train.watch import server

    def refuse(self: Any) -> None:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(server.Server, "server_bind", refuse)
    watcher = watcher_of(tmp_path / "run", None, None)
    assert watcher.server is None
    said = capsys.readouterr().err
    assert said.startswith(
        "warning: watch: port: cannot listen at 127.0.0.1: Cannot assign requested"
    )
    assert "the history is kept" in said


def test_a_reader_that_leaves_does_not_end_the_run(trained: Path) -> None:
    more = ("--watch", "--data", "text.txt", "--out", "piped", "--workers", 1)
    process, _ = started("train", *flags(steps=40), *more, cwd=trained)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 0
    assert (trained / "piped" / "checkpoint.safetensors").is_file()
