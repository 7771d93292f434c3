"""Six ways to read a sequence, side by side: RNN, GRU, LSTM, convolutions, attention in a window,
and self-attention, with equally many parameters.

    python lessons/comparison.py            # make comparison: docs/comparison.md, three plots
    python lessons/comparison.py --quick    # the same in a hurry, into build/comparison

Measured anew each time: sequential steps, the longest path, time by length and by width, memory,
and how far apart two symbols may be for one to be copied to the other. What the page says of it is
checked; where a sentence does not hold, this says so and ends with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import tinytensor as tt  # noqa: E402
from benchmarks import machine  # noqa: E402
from lessons.compared import measure, plots  # noqa: E402
from lessons.compared.bodies import KINDS, spread  # noqa: E402
from lessons.compared.copying import Budget, train_all  # noqa: E402
from lessons.compared.page import page  # noqa: E402
from lessons.compared.sentences import Measured, sentences  # noqa: E402
from tinytensor.train.system.cores import cores  # noqa: E402

#: by how much numbers of parameters may differ
ALIKE = 0.02


def compare(quick: bool, workers: int, tell: Callable[[str], None]) -> Measured:
    """Measure everything; ``tell`` hears how far it is."""
    lengths = [64, 128] if quick else [64, 128, 256, 512, 1024, 2048]
    lengths_of_memory = [512, 1024] if quick else lengths
    scales = [1, 2] if quick else [1, 2, 4, 8]
    seconds = 0.0 if quick else 0.6
    m = Measured(
        Budget((8, 64), 100) if quick else Budget((8, 16, 32, 64, 128, 256, 512), 300),
        batch=4,
        lengths=(40, 80) if quick else (64, 128, 256),
        distance=32 if quick else 128,
        facts=facts(),
    )
    for scale in scales:
        if spread(scale) > ALIKE:
            raise AssertionError(f"parameters differ by {spread(scale):.1%} at {scale} x width")
    tell("steps and paths")
    for kind in KINDS:
        m.chains[kind.key] = [measure.steps(kind, length) for length in m.lengths]
        m.hops[kind.key] = measure.hops(kind, m.distance)
    tell("time by length")
    by_length = measure.times(KINDS, [1] * len(lengths), lengths, m.batch, seconds)
    tell("time by width")
    by_width = measure.times(KINDS, scales, [128] * len(scales), m.batch, seconds)
    tell("memory")
    for kind in KINDS:
        work = [kind.work(length, kind.width) for length in lengths]
        m.by_length[kind.key] = measure.Growth(lengths, by_length[kind.key], work)
        peaks = [float(measure.peak(kind, length, m.batch)) for length in lengths_of_memory]
        m.memory[kind.key] = measure.Growth(lengths_of_memory, peaks, [])
        widths = [kind.width * scale for scale in scales]
        work = [kind.work(128, width) for width in widths]
        m.by_width[kind.key] = measure.Growth(widths, by_width[kind.key], work)
    tell("copy task")
    m.copies = train_all(KINDS, m.budget, workers, tell)
    return m


def facts() -> dict[str, str]:
    """The machine, the versions and the day."""
    found = machine.describe()
    versions = f"Python {found['python']}, NumPy {found['numpy']}, tinytensor {tt.__version__}"
    return {"cpu": found["cpu"], "cores": found["cores"], "versions": versions,
            "day": f"{date.today():%d %B %Y}".lstrip("0")}  # fmt: skip


def main() -> int:
    """Parse the command line, measure, write the page; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds in all")
    parser.add_argument("--out", type=Path, help="folder (docs, or build/comparison)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes for the copy task")
    options = parser.parse_args()
    if options.workers < 1:
        parser.error(f"--workers: expected at least 1, got {options.workers}")
    folder = options.out or ROOT / ("build/comparison" if options.quick else "docs")
    folder.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1), np.errstate(under="ignore"):
        m = compare(options.quick, options.workers, lambda text: print(text, flush=True))
    said = sentences(m)
    written = folder / "comparison.md"
    written.write_text(page(m, said, options.quick), encoding="utf-8")
    for path in (written, *plots.draw(m, folder)):
        print(path)
    failed = [sentence for sentence in said if not sentence.holds]
    for sentence in failed:
        print(f"not confirmed ({sentence.about}): {sentence.text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    machine.start_clean()
    sys.exit(main())
