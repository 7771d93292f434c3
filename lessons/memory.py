"""What is left of the first token? Two sequences differ in it and in nothing else; how alike are
the states in which a recurrent network ends, as the sequences grow longer?

    python lessons/memory.py            prints the tables, writes docs/memory.svg; two minutes
    python lessons/memory.py --quick    without the trained networks; a few seconds

docs/memory.md tells what there is to see. States have 8 numbers, as have tokens; all is float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import AdamW

SIZE = 8
LENGTHS = (2, 4, 8, 16, 32, 64)
#: the networks: layer, and the bias of its forget gates (LSTM's f, which 1 opens somewhat and 6
#: wide); the others have no biases at all
CELLS: dict[str, tuple[type[Any], float]] = {
    "RNN": (nn.RNN, 0.0),
    "GRU": (nn.GRU, 0.0),
    "LSTM": (nn.LSTM, 1.0),
    "LSTM, open": (nn.LSTM, 6.0),
}
SYMBOLS, LONGEST = 8, 32


class Weights:
    """Random weights, drawn in a fixed order from one stream: those of all networks.

    Attributes:
        w_in, w_h: of the RNN, (8, 8) each.
        gates: of the LSTM, its four gates f, i, o, g one below the other, (32, 8 + 8).
        reset_update_new: of the GRU, its gates r, z, n one below the other, (24, 8 + 8).
    """

    def __init__(self, rng: np.random.RandomState):
        self.w_in = rng.randn(SIZE, SIZE) * 0.6
        self.w_h = rng.randn(SIZE, SIZE) * 0.6
        self.gates = rng.randn(4 * SIZE, 2 * SIZE) * 0.3
        later = np.random.RandomState(4)  # so that what is drawn next stays what it was
        self.reset_update_new = later.randn(3 * SIZE, 2 * SIZE) * 0.3

    def network(self, name: str) -> Any:
        """The network of this name in :data:`CELLS`, with these weights."""
        kind, forget = CELLS[name]
        layer = kind(SIZE, SIZE).to("float64")
        if kind is nn.RNN:
            w_ih, w_hh = self.w_in, self.w_h
        elif kind is nn.GRU:
            w_ih, w_hh = np.split(self.reset_update_new, 2, axis=1)
        else:
            f, i, o, g = np.split(self.gates, 4)
            w_ih, w_hh = np.split(np.concatenate([i, f, g, o]), 2, axis=1)
        with tt.no_grad():
            layer.weight_ih_l0.copy_(w_ih)
            layer.weight_hh_l0.copy_(w_hh)
            layer.bias_ih_l0.fill_(0.0)
            layer.bias_hh_l0.fill_(0.0)
            if kind is nn.LSTM:
                layer.bias_ih_l0[SIZE : 2 * SIZE] = forget
        return layer


def last_states(layer: Any, x: np.ndarray) -> np.ndarray:
    """h after the last step of each sequence; x (time, batch, 8) -> (batch, 8)."""
    with tt.no_grad():
        return np.array(layer(tt.tensor(x))[0][-1].numpy())


def cosines(layer: Any, x: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The cosine between the last states of ``x`` and those with the first tokens ``others``.

    Args:
        x: (time, batch, 8). others: (batch, 8), what stands in place of x[0].
    """
    changed = x.copy()
    changed[0] = others
    a, b = last_states(layer, x), last_states(layer, changed)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(1) / (lengths + 1e-9))


def pairs(rng: np.random.RandomState, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """``count`` sequences (length, count, 8), whose first tokens are those of one version, and the
    first tokens of the other version; pair by pair from the stream."""
    drawn = rng.randn(count, length + 2, SIZE)
    x = drawn[:, :length].swapaxes(0, 1).copy()
    x[0] = drawn[:, length]
    return x, drawn[:, length + 1]


def table(layers: dict[str, Any], count: int = 2000) -> dict[str, list[float]]:
    """Mean cosine by length: a row for each network, all of which read the same sequences."""
    rows: dict[str, list[float]] = {name: [] for name in layers}
    for length in LENGTHS:
        x, others = pairs(np.random.RandomState(length), length, count)
        for name, layer in layers.items():
            rows[name].append(float(cosines(layer, x, others).mean()))
    return rows


# -- trained to remember --------------------------------------------------------------------------


def symbols() -> np.ndarray:
    """The vectors of eight tokens."""
    return np.random.RandomState(5).randn(SYMBOLS, SIZE)


def recall(rng: np.random.RandomState, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences that start with one of the eight and go on with noise, and which one it was."""
    first = rng.randint(SYMBOLS, size=count)
    x = rng.randn(length, count, SIZE)
    x[0] = symbols()[first]
    return x, first


def train(layer: Any, steps: int = 1500, seed: int = 1) -> tuple[Any, Any]:
    """Teach a network to say, after the last token, what the first one was.

    Lengths are 2 to 32, all equally often. ``seed`` is that of the head's first weights and of the
    sequences. Returns the layer and the head that reads its state.
    """
    tt.manual_seed(seed)
    head = nn.Linear(SIZE, SYMBOLS).to("float64")
    parameters = [*layer.parameters(), *head.parameters()]
    optimizer = AdamW(parameters, lr=0.01, weight_decay=0.0)
    rng = np.random.RandomState(5 + seed)
    for step in range(steps):
        x, first = recall(rng, int(rng.randint(2, LONGEST + 1)), 64)
        loss = tt.cross_entropy(head(layer(tt.tensor(x))[0][-1]), tt.tensor(first))
        loss.backward()
        tt.train.clip_grad_norm(parameters, 1.0)
        optimizer.lr = 0.01 * (1 - step / steps)
        optimizer.step()
        optimizer.zero_grad()
    return layer, head


def accuracy(layer: Any, head: Any, count: int = 2000) -> list[float]:
    """How often the head names the first token, by length; guessing is right 1 time in 8."""
    found = []
    for length in LENGTHS:
        x, first = recall(np.random.RandomState(100 + length), length, count)
        with tt.no_grad():
            answers = head(tt.tensor(last_states(layer, x))).numpy().argmax(1)
        found.append(float((answers == first).mean()))
    return found


# -- what is printed and drawn --------------------------------------------------------------------


def show(title: str, rows: dict[str, list[float]], digits: int) -> None:
    print(f"{title:24}" + "".join(f"{n:>{digits + 5}}" for n in LENGTHS))
    for name, values in rows.items():
        print(f"{name:24}" + "".join(f"{v:{digits + 5}.{digits}f}" for v in values))
    print()


def draw(path: Path, panels: Sequence[tuple[str, str, dict[str, list[float]]]]) -> None:
    """Panels side by side: title, name of the y axis, rows; differences that become tiny are drawn
    on a logarithmic axis, shares from 0 to 1."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "memory"  # the same picture each time
    figure = Figure(figsize=(4.4 * len(panels), 3.8), layout="constrained")
    for axes, (title, what, rows) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        for (name, values), colour, mark in zip(
            rows.items(), ("#d55e00", "#009e73", "#56b4e9", "#0072b2"), "sDo^", strict=True
        ):
            axes.plot(LENGTHS, values, color=colour, marker=mark, markersize=5, label=name)
        axes.set_xscale("log", base=2)
        axes.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
        axes.set(title=title, xlabel="length of the sequences", ylabel=what)
        if min(map(min, rows.values())) < 0.01:
            axes.set_yscale("log")
            axes.set_ylim(5e-10, 2)
            axes.axhline(1e-9, color="0.6", linewidth=1, linestyle=":")
            axes.text(2, 1.15e-9, "nothing left", color="0.4", fontsize=9)
        else:
            axes.set_ylim(0, 1.04)
        if what == "accuracy":
            axes.axhline(1 / SYMBOLS, color="0.6", linewidth=1, linestyle=":")
            axes.text(2, 1 / SYMBOLS + 0.01, "guessing", color="0.4", fontsize=9)
        axes.grid(True, color="0.93")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[len(panels) // 2].legend(frameon=False, loc="lower right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def differences(rows: dict[str, list[float]]) -> dict[str, list[float]]:
    """1 - cosine; what is below the 1e-9 in its denominator is no difference."""
    return {name: [max(1 - value, 1e-9) for value in row] for name, row in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="without the trained networks")
    parser.add_argument("--out", help="picture (default: docs/memory.svg; none with --quick)")
    chosen = parser.parse_args()
    weights = Weights(np.random.RandomState(3))
    layers = {name: weights.network(name) for name in CELLS}
    untrained = table(layers)
    what = "1 - cosine of the last states"
    show("random weights, cosine", untrained, 6)
    panels = [("random weights", what, differences(untrained))]
    if not chosen.quick:
        trained, right = {}, {}
        for name in CELLS:
            runs = [train(weights.network(name), seed=seed) for seed in (1, 2, 3)]
            cosine = [table({name: layer})[name] for layer, _ in runs]
            named = [accuracy(*run) for run in runs]
            trained[name] = np.mean(cosine, axis=0).tolist()
            right[name] = np.mean(named, axis=0).tolist()
            print(f"{name}, each training at 32: {', '.join(f'{row[4]:.3f}' for row in named)}")
        print()
        show("trained, cosine", trained, 6)
        show("trained, accuracy", right, 3)
        panels += [
            ("trained to recall it", what, differences(trained)),
            ("the first token, named", "accuracy", right),
        ]
    if chosen.out or not chosen.quick:
        default = Path(__file__).resolve().parent.parent / "docs" / "memory.svg"
        path = Path(chosen.out) if chosen.out else default
        draw(path, panels)
        print(path)


if __name__ == "__main__":
    main()
