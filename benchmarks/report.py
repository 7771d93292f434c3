"""The table, the CSV file and the bar chart of a run."""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .peers import EAGER, OURS, PRODUCTS, WORKERS
from .turns import Result

HEADER = (
    "workload",
    "framework",
    "median",
    "quartiles",
    "/ torch",
    "/ matmul",
    "peak MiB",
    "version",
    "BLAS",
)
CSV_COLUMNS = (
    "workload", "framework", "version", "per", "median_ms", "quartile1_ms", "quartile3_ms",
    "measured", "ratio_to_torch", "ratio_to_matmul", "peak_mib", "blas", "first_loss", "absent",
)  # fmt: skip


def references(results: list[Result]) -> tuple[float | None, float | None]:
    """Seconds of eager PyTorch and of the matrix products alone, in one workload's results."""
    medians = {r.peer: r.median for r in results if r.times}
    floor = sum(medians[p] for p in PRODUCTS) if all(p in medians for p in PRODUCTS) else None
    return medians.get(EAGER), floor


def by_workload(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each workload, in their order."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.workload.name, []).append(result)
    return groups


def duration(seconds: float) -> str:
    """Four figures in ms, or in µs below a tenth of one; no exponents."""
    if seconds < 1e-4:
        return f"{1e6 * seconds:.1f} µs"
    ms = 1e3 * seconds
    return f"{ms:.{max(0, 3 - math.floor(math.log10(ms)))}f} ms" if ms < 1000 else f"{ms:.0f} ms"


def ratio(seconds: float, reference: float | None) -> str:
    """A ratio to three figures, or a dash."""
    if reference is None:
        return "-"
    value = seconds / reference
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def rows(results: list[Result]) -> list[Sequence[str]]:
    """The cells of the table; an absent peer's reason stands in its row's third cell."""
    table: list[Sequence[str]] = []
    for name, group in by_workload(results).items():
        torch, floor = references(group)
        for r in group:
            if r.absent is not None:
                table.append((name, r.peer, f"absent: {r.absent}"))
                continue
            first, third = r.quartiles
            unit = "" if r.workload.unit == "step" else f" / {r.workload.unit}"
            table.append(
                (
                    name,
                    r.peer,
                    duration(r.median) + unit,
                    f"{duration(first)} to {duration(third)}",
                    ratio(r.median, torch),
                    ratio(r.median, floor),
                    f"{r.peak / 2**20:.0f}",
                    r.version,
                    r.blas,
                )
            )
    return table


def text_table(results: list[Result]) -> str:
    """All results as aligned text, a blank line between workloads."""
    table = [HEADER, *rows(results)]
    full = [row for row in table if len(row) == len(HEADER)]
    widths = [max(len(row[i]) for row in full) for i in range(len(HEADER))]
    for row in table:
        widths[:2] = max(widths[0], len(row[0])), max(widths[1], len(row[1]))
    lines, before = [], HEADER[0]
    for row in table:
        if row[0] != before:
            lines.append("")
            before = row[0]
        right = {2, 3, 4, 5, 6} if len(row) == len(HEADER) else set()
        cells = [
            c.rjust(n) if i in right else c.ljust(n) for i, (c, n) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_csv(results: list[Result], machine: dict[str, str], path: Path) -> None:
    """One row a result, after lines ``# fact: value`` about the machine."""
    with path.open("w", newline="", encoding="utf-8") as file:
        for key, value in machine.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for group in by_workload(results).values():
            torch, floor = references(group)
            for r in group:
                loss: Any = f"{r.losses[0]:.6g}" if r.losses and r.peer not in PRODUCTS else ""
                start = [r.workload.name, r.peer, r.version, r.workload.unit]
                if r.absent is not None:
                    writer.writerow([*start, *[""] * (len(CSV_COLUMNS) - 5), r.absent])
                    continue
                times = [f"{1e3 * t:.6g}" for t in (r.median, *r.quartiles)]
                ratios = ["" if x is None else f"{r.median / x:.4g}" for x in (torch, floor)]
                peak = f"{r.peak / 2**20:.1f}"
                writer.writerow([*start, *times, len(r.times), *ratios, peak, r.blas, loss, ""])


def write_chart(results: list[Result], machine: dict[str, str], path: Path) -> None:
    """A panel of bars for each workload; a dashed line where the matrix products alone end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    groups = {n: [r for r in g if r.times] for n, g in by_workload(results).items()}
    groups = {n: g for n, g in groups.items() if g}
    columns = min(3, max(1, len(groups)))
    height = math.ceil(len(groups) / columns)
    figure, axes = plt.subplots(
        height, columns, figsize=(5 * columns, 2.4 * height + 0.6), squeeze=False
    )
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for axis, (name, group) in zip(axes.flat, groups.items()):
        _, floor = references(group)
        shown = [r for r in group if r.peer not in PRODUCTS]
        medians = [1e3 * r.median for r in shown]
        spread = [[1e3 * abs(r.median - r.quartiles[i]) for r in shown] for i in (0, 1)]
        colours = ["tab:orange" if r.peer in (OURS, WORKERS) else "tab:gray" for r in shown]
        bars = axis.barh([r.peer for r in shown], medians, xerr=spread, color=colours)
        axis.bar_label(bars, labels=[duration(r.median) for r in shown], padding=3, fontsize=8)
        axis.invert_yaxis()
        if medians and max(medians) > 30 * min(medians):
            axis.set_xscale("log")
        axis.margins(x=0.3)
        if floor is not None:
            axis.axvline(1e3 * floor, linestyle="--", color="tab:blue")
        axis.set_title(name, fontsize=10)
        axis.set_xlabel(f"ms per {group[0].workload.unit}", fontsize=8)
        axis.tick_params(labelsize=8)
    facts = ", ".join(f"{k} {v}" for k, v in machine.items() if k in ("date", "cpu", "cores"))
    caption = "Medians and quartiles; dashed: the matrix products alone, through np.matmul"
    figure.suptitle(f"{caption}\n{facts}", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def save(results: list[Result], machine: dict[str, str], folder: Path) -> list[Path]:
    """Write <date>.csv and <date>.png; a second run of the day gets -2, and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    date = datetime.date.today().isoformat()
    name, count = date, 1
    while (folder / f"{name}.csv").exists():
        count += 1
        name = f"{date}-{count}"
    paths = [folder / f"{name}.csv", folder / f"{name}.png"]
    facts = {"date": date, **machine}
    write_csv(results, facts, paths[0])
    write_chart(results, facts, paths[1])
    return paths
