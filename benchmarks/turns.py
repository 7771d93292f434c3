"""Workers of several frameworks taking turns at one workload, a few steps each."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import machine
from .peers import OURS, PEERS, PRODUCTS
from .workloads import Generation, Workload, to_message

ROOT = Path(__file__).resolve().parent.parent
#: how many steps' losses are compared between frameworks
COMPARED = 3


class Worker:
    """One framework's process.

    Args:
        peer: a key of :data:`PEERS`.
        threads: see :func:`machine.clean_environment`.
    """

    def __init__(self, peer: str, threads: int | None = None):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", peer],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
            env=machine.clean_environment(threads),
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the reply; {"absent": reason} if the process has died."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # then there is no reply either
        line = self.process.stdout.readline()
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines() or [""]
        return {"absent": f"its process ended with code {code}: {said[-1][:200]}"}

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


@dataclass
class Result:
    """One framework at one workload.

    Attributes:
        times: seconds of each step, or of each token, of all turns but the first.
        losses: of the first turn, in which every framework starts from the same weights.
        peak: the most memory its process has held, in bytes.
        absent: why there are no figures; None if there are.
    """

    workload: Workload
    peer: str
    times: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    peak: int = 0
    blas: str = ""
    version: str = ""
    absent: str | None = None

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third, in seconds: half of all times lie between."""
        if len(self.times) == 1:
            return self.times[0], self.times[0]
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return first, third


def measure(
    workload: Workload,
    peers: Iterable[str],
    rounds: int,
    steps: int,
    seconds: float,
    threads: int | None = None,
    kept: dict[str, Worker] | None = None,
) -> list[Result]:
    """Let the peers take turns.

    Args:
        workload: what to measure.
        peers: keys of :data:`PEERS`, in the order of their turns.
        rounds: turns of each, after a first one that warms up (and compiles, where they compile).
        steps: how many steps a turn has at most.
        seconds: a turn ends with the first step that ends later than this.
        threads: of each process.
        kept: processes to use and to leave running; None starts new ones, so that the peak of
            memory is this workload's own.

    Returns:
        One result for each peer, those that can't run here included.
    """
    results, workers = [], {}
    for name in peers:
        result = Result(workload, name)
        results.append(result)
        worker = (kept or {}).get(name) or Worker(name, threads)
        if kept is not None:
            kept[name] = worker
        workers[name] = worker
        take(result, worker.ask(build=to_message(workload.setting)))
    take_turns([(result, workers[result.peer]) for result in results], rounds, steps, seconds)
    if kept is None:
        for worker in workers.values():
            worker.close()
    return results


def take_turns(pairs: list[tuple[Result, Worker]], rounds: int, steps: int, seconds: float) -> None:
    """One turn each to warm up, in which as many steps are done as losses get compared; then
    ``rounds`` more, whose times count. The workers have built their models already."""
    for turn in range(rounds + 1):
        least = min(steps, COMPARED) if turn == 0 else 1
        for result, worker in pairs:
            if result.absent is None:
                take(result, worker.ask(steps=steps, seconds=seconds, least=least), turn == 0)


def take(result: Result, reply: dict[str, Any], first: bool = False) -> None:
    """Write a worker's reply into the result."""
    result.absent = reply.get("absent")
    if "version" in reply:
        result.version = reply["version"]
    if "times" in reply:
        result.peak, result.blas = reply["peak"], reply["blas"]
        if first:
            result.losses = reply["losses"]
        else:
            result.times += [t / result.workload.units for t in reply["times"]]


def disagreements(results: list[Result], tolerance: float = 1e-3) -> list[str]:
    """Peers whose first losses are not those of tinytensor: then they do not do the same work.

    With dropout each framework draws its own masks, and nothing is compared.
    """
    by_peer = {r.peer: r for r in results if r.absent is None and r.peer not in PRODUCTS}
    ours = by_peer.pop(OURS, None)
    if ours is None or float(getattr(ours.workload.setting, "dropout", 0)) > 0:
        return []
    exact = isinstance(ours.workload.setting, Generation)
    found = []
    for peer, result in by_peer.items():
        for i, (a, b) in enumerate(zip(ours.losses[:COMPARED], result.losses[:COMPARED])):
            if not abs(a - b) <= (0.0 if exact else tolerance * abs(a)):
                what = "mean of the generated ids" if exact else "loss"
                found.append(
                    f"{ours.workload.name}: the {what} of step {i + 1} is {a:.6g} in {OURS} and "
                    f"{b:.6g} in {peer}"
                )
                break
    return found


def run_all(
    workloads: Iterable[Workload],
    peers: Iterable[str],
    rounds: int,
    steps: int,
    seconds: float,
    threads: int | None = None,
    quick: bool = False,
    slow: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Measure several workloads.

    Args:
        workloads: what.
        peers: who; those without a builder for a workload are passed over.
        rounds, steps, seconds, threads: see :func:`measure`.
        quick: one process for each peer, for all workloads, and no peers that compile for long.
        slow: also the peers that a workload lists as slow.
        tell: gets a line of progress for each workload.
    """
    wanted = list(peers)
    kept: dict[str, Worker] | None = {} if quick else None
    results: list[Result] = []
    for workload in workloads:
        left_out, takes_part = [], []
        for name in wanted:
            peer = PEERS[name]
            if type(workload.setting).__name__ not in peer.kinds:
                continue
            why = None
            if quick and not peer.quick:
                why = "left out by --quick: it compiles for longer than all the rest takes"
            elif name in workload.slow and not slow:
                why = "left out as too slow here: --all includes it"
            if why is None:
                takes_part.append(name)
            else:
                left_out.append(Result(workload, name, absent=why))
        tell(f"{workload.name}: {', '.join(takes_part)}")
        results += measure(workload, takes_part, rounds, steps, seconds, threads, kept) + left_out
    for worker in (kept or {}).values():
        worker.close()
    return results
