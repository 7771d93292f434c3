"""How the cost of a training step grows: width, depth, block and batch doubled one at a time.

    python benchmarks/scaling.py                       # tinytensor, from setting S
    python benchmarks/scaling.py --peer torch --doublings 2

Prints time, tokens per second and peak memory, and the exponents e of cost ~ size^e: fitted to all
sizes, and of the last doubling, where fixed costs weigh least. In theory the time of a step grows
with width² (heads keep their size, so attention's part grows with width), with depth, with block
between 1 and 2 (attention is the square), and with batch; memory linearly with depth, block and
batch. Then the time of a generated token by its position, which a cache keeps flat.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import machine
from benchmarks.peers import OURS, PEERS
from benchmarks.report import duration
from benchmarks.turns import Result, Worker, take, take_turns
from benchmarks.workloads import GPT, L, S, Workload, gpt_weights, to_message

QUANTITIES = ("width", "depth", "block", "batch")


def grown(base: GPT, quantity: str, factor: int) -> GPT:
    """``base`` with one quantity ``factor`` times as large."""
    if quantity == "width":
        return replace(base, width=base.width * factor, heads=base.heads * factor)
    field = "layers" if quantity == "depth" else quantity
    return replace(base, **{field: getattr(base, field) * factor})


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """e of the curve cost = c size^e that fits best, by least squares of the logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(costs), 1)
    return float(slope)


def measure(peer: str, settings: list[GPT], rounds: int, seconds: float) -> list[Result]:
    """The settings take turns, each in a process of its own, so that each has its own peak."""
    results, workers = [], []
    for setting in settings:
        results.append(Result(Workload("scaling", setting), peer))
        workers.append(Worker(peer))
        take(results[-1], workers[-1].ask(build=to_message(setting)))
    take_turns(list(zip(results, workers)), rounds, 20, seconds)
    for worker in workers:
        worker.close()
    for result in results:
        if result.absent is not None:
            sys.exit(f"{peer}, {result.workload.setting}: {result.absent}")
    return results


def table(quantity: str, results: list[Result]) -> str:
    """One quantity's lines and exponents."""
    sizes, times, peaks, lines = [], [], [], []
    for result in results:
        s = result.workload.setting
        assert isinstance(s, GPT)
        sizes.append(s.layers if quantity == "depth" else getattr(s, quantity))
        times.append(result.median)
        peaks.append(result.peak)
        rate = s.batch * s.block / result.median
        peak = f"{result.peak / 2**20:.0f} MiB"
        lines.append(
            f"{quantity:>6} {sizes[-1]:>5}  {duration(result.median):>10}  "
            f"{rate:>9,.0f} tokens/s  {peak:>9}"
        )
    for name, costs in (("time", times), ("memory", peaks)):
        fitted, last = exponent(sizes, costs), exponent(sizes[-2:], costs[-2:])
        lines.append(f"       {name} ~ {quantity}^{fitted:.2f}; last doubling ^{last:.2f}")
    return "\n".join(lines)


def by_position(setting: GPT, texts: int) -> str:
    """Median time of a token in each quarter of the block, over some texts, with our cache."""
    from tinytensor import models

    model = models.build(
        "gpt", vocab_size=setting.vocab, block_size=setting.block, n_layer=setting.layers,
        n_head=setting.heads, n_embd=setting.width, bias=False,
    )  # fmt: skip
    model.load_state_dict(gpt_weights(setting))
    times: list[list[float]] = [[] for _ in range(setting.block - 1)]
    for text in range(texts + 1):  # the first one warms up
        tokens = models.stream(model, [0], len(times), temperature=0)
        for of_position in times:
            start = time.perf_counter()
            next(tokens)
            if text:
                of_position.append(time.perf_counter() - start)
    lines = []
    for i in range(4):
        part = times[len(times) * i // 4 : len(times) * (i + 1) // 4]
        middle = duration(statistics.median(t for of_position in part for t in of_position))
        lines.append(f"quarter {i + 1} of {setting.block} positions: {middle} a token")
    return "\n".join(lines)


def main() -> None:
    """Parse the command line, measure, print."""
    machine.start_clean()  # by_position runs in this process
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    language = [name for name, peer in PEERS.items() if "GPT" in peer.kinds]
    parser.add_argument("--peer", choices=language, default=OURS, help="whom to measure")
    parser.add_argument("--doublings", type=int, default=3, help="of each quantity, at least 1")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each size")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn")
    parser.add_argument("--quick", action="store_true", help="toy settings, seconds in all")
    options = parser.parse_args()
    base, text = S, L
    if options.quick:
        base, text = GPT(1, 1, 16, 8, 2), GPT(1, 1, 16, 16, 1)
        options.doublings, options.rounds, options.seconds = 1, 1, 0.1
    if options.doublings < 1:
        parser.error(f"--doublings: expected at least 1, got {options.doublings}")
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    print(f"{options.peer}, from {base}")
    for quantity in QUANTITIES:
        settings = [grown(base, quantity, 2**i) for i in range(options.doublings + 1)]
        print(
            "\n"
            + table(quantity, measure(options.peer, settings, options.rounds, options.seconds)),
            flush=True,
        )
    if options.peer == OURS:
        print(f"\ngeneration, {text}\n{by_position(text, 1 if options.quick else 3)}")


if __name__ == "__main__":
    main()
