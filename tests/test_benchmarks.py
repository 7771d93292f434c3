"""That the benchmarks run, and measure the same work in every framework. No time is asserted."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import machine, report, scaling, worker
from benchmarks.__main__ import chosen, options_of
from benchmarks.install import requirements
from benchmarks.peers import OURS, PEERS, PRODUCTS, Absent, functional, products
from benchmarks.turns import Result, Worker, disagreements, measure, run_all
from benchmarks.workloads import (
    GPT,
    KINDS,
    QUICK,
    WORKLOADS,
    Generation,
    Workload,
    from_message,
    gpt_weights,
    to_message,
)
from tinytensor.train.parallel.data_parallel import why_not
from tinytensor.train.system.cores import cores

ROOT = Path(__file__).resolve().parent.parent
TINY = Workload("tiny", GPT(1, 2, 8, 4, 2))


def command(*arguments: str) -> str:
    """Run Python from the root with a BLAS kernel forced, as some machines do; what it printed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OPENBLAS_CORETYPE": "Haswell"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """What ``--quick`` prints, and the folder it wrote into. Absent peers become warnings."""
    folder = tmp_path_factory.mktemp("results")
    printed = command("-m", "benchmarks", "--quick", "--threads", "1", "--out", str(folder))
    absent = {}
    for row in read(folder):
        if row["absent"]:
            absent[row["framework"]] = row["absent"]
    for name, why in absent.items():
        warnings.warn(f"benchmarks without {name}: {why}", stacklevel=1)
    yield printed, folder


def read(folder: Path) -> list[dict[str, str]]:
    """The rows of the one CSV file."""
    (path,) = folder.glob("*.csv")
    lines = [x for x in path.read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    return list(csv.DictReader(lines))


def test_quick_measures_every_workload_and_peer(quick: tuple[str, Path]) -> None:
    rows = {(row["workload"], row["framework"]): row for row in read(quick[1])}
    for workload in QUICK:
        able = {n for n, p in PEERS.items() if type(workload.setting).__name__ in p.kinds}
        assert {peer for name, peer in rows if name == workload.name} == able
        for peer in able & {OURS, *PRODUCTS}:
            row = rows[workload.name, peer]
            assert not row["absent"], row
            first, median, third = (
                float(row[f"{k}_ms"]) for k in ("quartile1", "median", "quartile3")
            )
            assert 0 < first <= median <= third
            assert float(row["peak_mib"]) > 1 or sys.platform == "win32"
            assert row["blas"] and row["version"]


def test_an_absent_peer_is_named_with_the_reason(quick: tuple[str, Path]) -> None:
    for row in read(quick[1]):
        assert bool(row["absent"]) != bool(row["median_ms"])
        if row["absent"]:
            (line,) = (
                line
                for line in quick[0].splitlines()
                if line.split("  ")[0] == row["workload"] and f"{row['framework']}  " in line
            )
            assert f"absent: {row['absent']}" in line


def test_all_frameworks_compute_the_same_losses(quick: tuple[str, Path]) -> None:
    assert "NOT THE SAME WORK" not in quick[0]
    losses = {
        row["framework"]: row["first_loss"]
        for row in read(quick[1])
        if row["workload"] == QUICK[0].name
    }
    assert float(losses[OURS]) == pytest.approx(np.log(65), rel=0.02)


def test_the_files_describe_the_machine(quick: tuple[str, Path]) -> None:
    (path,) = quick[1].glob("*.csv")
    head = path.read_text(encoding="utf-8").split("workload,")[0]
    for fact in ("date", "cpu", "cores", "memory", "system", "python", "numpy"):
        assert f"# {fact}: " in head
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    for line in (f"cpu: {machine.cpu()}", f"python: {sys.version.split()[0]}"):
        assert line in quick[0]


def test_a_second_run_of_a_day_overwrites_nothing(tmp_path: Path) -> None:
    result = Result(TINY, OURS, times=[0.001, 0.002], losses=[4.0])
    first, second = (report.save([result], {"cpu": "any"}, tmp_path)[0] for _ in range(2))
    assert first.exists() and second.name == f"{first.stem}-2.csv"


def test_children_do_not_inherit_a_slow_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "262144")
    assert not set(machine.SLOW_BLAS) & set(machine.clean_environment())
    assert machine.clean_environment(3)["OPENBLAS_NUM_THREADS"] == "3"


def test_peak_memory_sees_what_was_freed() -> None:
    code = (
        "import numpy as np; from benchmarks.machine import peak_memory as p; a = p();"
        "b = np.ones(10**7); del b; print(p() - a)"
    )
    assert 70 * 2**20 < int(command("-c", code)) < 160 * 2**20


def test_the_first_turn_warms_up_and_does_not_count() -> None:
    (result,) = measure(TINY, [OURS], rounds=2, steps=4, seconds=60.0, threads=1)
    assert len(result.times) == 8 and len(result.losses) == 4


def test_a_turn_ends_after_its_seconds() -> None:
    clock = iter(range(100))
    times, _ = worker.run(lambda: float(next(clock)), steps=50, seconds=0.0)
    assert len(times) == 1
    times, losses = worker.run(lambda: float(next(clock)), steps=50, seconds=0.0, least=3)
    assert len(times) == 3 and losses == [1.0, 2.0, 3.0]


def test_generation_is_timed_by_token() -> None:
    workload = Workload("text", Generation(1, 1, 8, 12, prompt=4))
    (result,) = measure(workload, [OURS], rounds=1, steps=2, seconds=60.0, threads=1)
    assert workload.units == 8 and workload.unit == "token" and len(result.times) == 2


def test_a_worker_that_dies_is_absent_and_says_why() -> None:
    process = Worker("no such peer")
    reply = process.ask(build=to_message(TINY.setting))
    process.close()
    assert "ended with code 1" in reply["absent"] and "no such peer" in reply["absent"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModuleNotFoundError("No module named 'x'"), "not installed (No module named 'x')"),
        (Absent("needs clang"), "needs clang"),
        (ValueError("first\nsecond"), "failed with ValueError: first"),
    ],
)
def test_reasons(error: Exception, expected: str) -> None:
    assert worker.reason(error) == expected


def test_different_work_is_noticed() -> None:
    ours = Result(TINY, OURS, losses=[4.0, 3.9, 3.8])
    other = Result(TINY, "torch", losses=[4.0, 3.91, 3.8])
    (line,) = disagreements([ours, other])
    assert "step 2" in line and "torch" in line
    assert not disagreements([ours, replace(other, losses=[4.0001, 3.9001, 3.8001])])
    assert len(disagreements([ours, replace(other, losses=[float("nan")])])) == 1
    dropped = Workload("tiny", GPT(1, 2, 8, 4, 2, dropout=0.2))
    assert not disagreements([replace(ours, workload=dropped), replace(other, workload=dropped)])


def test_ratios_are_to_eager_torch_and_to_the_sum_of_the_products() -> None:
    seconds = {OURS: 2.0, "torch": 4.0, PRODUCTS[0]: 0.75, PRODUCTS[1]: 0.25}
    results = [Result(TINY, peer, times=[t] * 3, blas="some") for peer, t in seconds.items()]
    assert report.references(results) == (4.0, 1.0)
    row = dict(zip(report.HEADER, report.rows(results)[0]))
    assert (row["/ torch"], row["/ matmul"]) == ("0.50", "2.00")
    assert report.references(results[:1]) == (None, None)
    assert dict(zip(report.HEADER, report.rows(results[:1])[0]))["/ torch"] == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.23456e-5, "12.3 µs"), (0.00123456, "1.235 ms"), (0.0123456, "12.35 ms"), (1.5, "1500 ms")],
)
def test_durations(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_slow_peers_are_left_out_by_name() -> None:
    (workload,) = chosen(["gpt-M"], quick=False)
    (result,) = run_all([workload], ["autograd"], 1, 1, 1.0)
    assert result.absent is not None and "--all" in result.absent
    (result,) = run_all([QUICK[0]], ["torch.compile"], 1, 1, 1.0, quick=True)
    assert result.absent is not None and "--quick" in result.absent


def test_the_command_line() -> None:
    assert [w.name for w in chosen([], quick=False)] == [w.name for w in WORKLOADS]
    assert [w.name for w in chosen(["gpt-?", "mlp"], False)] == ["gpt-S", "gpt-M", "gpt-L", "mlp"]
    with pytest.raises(SystemExit, match="nothing fits 'gpt-XL'"):
        chosen(["gpt-XL"], quick=False)
    assert options_of([]).out == ROOT / "benchmarks" / "results"
    assert options_of(["--quick"]).rounds == 1
    with pytest.raises(SystemExit):
        options_of(["--rounds", "0"])


def test_settings_survive_the_message() -> None:
    for workload in [*WORKLOADS, *QUICK]:
        message = json.loads(json.dumps(to_message(workload.setting)))
        assert from_message(message) == workload.setting


def test_every_peer_has_its_file_and_can_be_installed() -> None:
    for peer in PEERS.values():
        path = ROOT / "benchmarks" / "peers" / f"{peer.module}.py"
        assert path.is_file() and set(peer.kinds) <= set(KINDS)
    names = {requirement.split(">")[0].split("=")[0] for requirement in requirements()}
    assert {peer.package for peer in PEERS.values()} - {"numpy"} - {OURS} <= names


def test_the_products_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    s = GPT(3, 2, 8, 4, 5)
    matrices = [v for k, v in gpt_weights(s).items() if v.ndim == 2 and "wpe" not in k]
    listed: list[Any] = []
    monkeypatch.setattr(products, "stepper", listed.append)
    products.gpt_weights(s)
    products.gpt_time(s)
    weights, time = listed
    rows = s.batch * s.block
    flops = sum(2 * a.shape[0] * a.shape[1] * b.shape[1] for a, b, _ in weights)
    assert flops == 3 * 2 * rows * sum(m.size for m in matrices)
    # six products over the square of positions in each block
    assert len(time) == 6 * s.layers
    assert {a.shape[-1] * b.shape[-1] * a.shape[-2] for a, b, _ in time} == {4 * 4 * 4}


def test_adamw_of_the_functional_models_is_ours() -> None:
    import tinytensor as tt
    from tinytensor.train import AdamW, clip_grad_norm

    rng = np.random.default_rng(0)
    p = {"w": rng.standard_normal((3, 2)), "b": rng.standard_normal(3)}
    m, v = ({k: np.zeros_like(a) for k, a in p.items()} for _ in range(2))
    mine = {k: tt.tensor(a, requires_grad=True) for k, a in p.items()}
    groups = [
        {"params": [mine["w"]], "weight_decay": 0.1},
        {"params": [mine["b"]], "weight_decay": 0.0},
    ]
    optimizer = AdamW(groups, lr=1e-3, betas=(0.9, 0.99), eps=1e-8)
    for step in (1, 2, 3):
        g = {k: 10 * rng.standard_normal(a.shape) for k, a in p.items()}
        for k, t in mine.items():
            t.grad = tt.tensor(g[k])
        clip_grad_norm(mine.values(), 1.0)
        optimizer.step()
        p, m, v = functional.adamw(np, p, g, m, v, step)
    for k, t in mine.items():
        np.testing.assert_allclose(t.detach().numpy(), p[k], rtol=1e-9)


def test_fitted_exponents() -> None:
    assert scaling.exponent([1, 2, 4, 8], [5, 20, 80, 320]) == pytest.approx(2.0)
    assert scaling.grown(GPT(2, 2, 32, 8, 4), "width", 2) == GPT(2, 4, 64, 8, 4)
    assert scaling.grown(GPT(2, 2, 32, 8, 4), "depth", 4) == GPT(8, 2, 32, 8, 4)


@pytest.mark.skipif(why_not() is not None or cores() < 2, reason="several processes")
def test_the_table_of_workers_runs() -> None:
    printed = command("benchmarks/workers.py", "--quick")
    for model in ("gpt  1 x 16    4 x 16        0.3 M", "lstm 1 x 32    4 x 16        0.8 M"):
        (line,) = [line for line in printed.splitlines() if line.startswith(model)]
        assert line.endswith(" 1"), "so little is left to one process"


def test_the_scaling_table_runs() -> None:
    printed = command("benchmarks/scaling.py", "--quick")
    for quantity in scaling.QUANTITIES:
        assert f"time ~ {quantity}^" in printed and f"memory ~ {quantity}^" in printed
    assert printed.count("tokens/s") == 8 and printed.count("a token") == 4


def test_the_short_command_runs() -> None:
    printed = command("benchmarks/gpt_step.py", "--rounds", "1", "--steps", "1", "--threads", "1")
    assert "gpt-S" in printed and "tinytensor" in printed and "matmul weights" in printed
