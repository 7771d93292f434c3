"""micrograd: its own demo, one Python object for each number."""

from __future__ import annotations

from collections.abc import Callable

from micrograd.nn import MLP

from .. import workloads as w


def moons(s: w.Moons) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.Moons`."""
    widths = (2, s.hidden, s.hidden, 1)
    model = MLP(widths[0], list(widths[1:]))
    for layer, (weight, bias) in zip(model.layers, w.dense_weights(*widths)):
        for neuron, row, offset in zip(layer.neurons, weight.tolist(), bias.tolist()):
            for value, start in zip(neuron.parameters(), [*row, offset]):
                value.data = start
    points, labels = (a.tolist() for a in w.two_moons(s))

    def step() -> float:
        losses = [(1 + -label[0] * model(point)).relu() for point, label in zip(points, labels)]
        hinge = sum(losses) * (1.0 / len(losses))
        loss = hinge + w.MOONS_ALPHA * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= w.SGD_LR * p.grad
        return float(loss.data)

    return step


BUILDERS = {w.Moons: moons}
