"""Cost of the graph itself: microseconds per node, forward and backward, from 10³ to 10⁶ nodes.

    python benchmarks/graph_cost.py

The chain is y = y * 1.0 on one number, so that nothing but the engine's own work is timed. Python's
cyclic garbage collector walks over all living objects again and again while a graph grows; graphs
have no cycles and do not need it, so the table has both: with the collector as it is by default,
and with ``gc.disable()``.
"""

from __future__ import annotations

import gc
import time

import tinytensor as tt


def chain(nodes: int) -> tuple[float, float, float]:
    """Seconds per node: to record, to walk back, to free."""
    x = tt.tensor(1.0, requires_grad=True)
    start = time.perf_counter()
    y = x
    for _ in range(nodes):
        y = y * 1.0
    recorded = time.perf_counter()
    y.backward()
    walked = time.perf_counter()
    del y
    freed = time.perf_counter()
    assert x.grad is not None and x.grad.item() == 1.0
    return (recorded - start) / nodes, (walked - recorded) / nodes, (freed - walked) / nodes


def main() -> None:
    print("    nodes  collector   forward  backward   freeing  (µs per node)")
    for collector in (True, False):
        for nodes in (10**3, 10**4, 10**5, 10**6):
            if not collector:
                gc.disable()
            runs = [chain(nodes) for _ in range(5 if nodes < 10**6 else 2)]
            gc.enable()
            gc.collect()
            best = [1e6 * min(run[i] for run in runs) for i in range(3)]
            cells = "  ".join(f"{b:8.2f}" for b in best)
            print(f"{nodes:>9}  {'on' if collector else 'off':>9}  {cells}")


if __name__ == "__main__":
    main()
