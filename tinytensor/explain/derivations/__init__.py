"""Why the gradients of ops are what they are: written by hand for the main ones, by rules for the
others."""

from __future__ import annotations

import numpy as np

from ...define.op import Op
from ...graph.backward import collect
from ...graph.grad_mode import enable_grad
from ...tensor.tensor import Tensor, tensor
from . import activations, elementwise, networks, reductions
from .derivation import Derivation

#: by the op's name
DERIVATIONS: dict[str, Derivation] = {
    **elementwise.DERIVATIONS,
    **activations.DERIVATIONS,
    **reductions.DERIVATIONS,
    **networks.DERIVATIONS,
}

__all__ = ["DERIVATIONS", "Derivation", "derivation"]


def derivation(op: Op) -> Derivation | None:
    """Why its gradient is what it is; None for an op without one."""
    if not op.differentiable:
        return None
    if op.name in DERIVATIONS:
        return DERIVATIONS[op.name]
    if op.reference is not None:
        return _by_its_parts(op)
    return _by_the_chain_rule(op)


def _by_the_chain_rule(op: Op) -> Derivation:
    """What holds of every op, and its gradient."""
    name = op.inputs[0]
    family = op.forward.__module__.split(".")[-2]
    if family in ("elementwise", "activations") and not op.variadic:
        first = (f"d{name} = g ∂out/∂{name}", "each element of out reads one of it: the chain rule")
    else:
        first = (
            f"d{name}ⱼ = Σᵢ gᵢ ∂outᵢ/∂{name}ⱼ",
            "the chain rule: a term for each element of out that reads it",
        )
    steps = [(f"out = {op.formula}" if "=" not in op.formula else op.formula, ""), first]
    return Derivation((*steps, (op.gradient, "")) if op.gradient else tuple(steps))


def _by_its_parts(op: Op) -> Derivation:
    """The chain of primitives that a fused op equals, each with its own gradient, as backward goes
    through them."""
    steps = [("g", "arrives, and goes back through the parts that the op equals, the last first")]
    for part in _chain(op):
        words = f"{part.name}: out = {part.formula}" if "=" not in part.formula else (
            f"{part.name}: {part.formula}"
        )  # fmt: skip
        steps.append((part.gradient or part.name, words))
    steps.append((op.gradient, "all in one, without what lies between"))
    return Derivation(tuple(steps))


def _chain(op: Op) -> list[Op]:
    """The ops of its reference, each once, in the order in which backward comes to them."""
    samples = [s for s in op.samples() if all(np.size(a) for a in s.args)]
    if not samples or op.reference is None:
        return []
    sample = samples[0]
    args = [
        tensor(a, requires_grad=a.dtype.kind == "f") if isinstance(a, np.ndarray) else a
        for a in sample.args
    ]
    with enable_grad():
        out = op.reference(*args, **sample.kwargs)
    outs = [o for o in (out if isinstance(out, tuple) else [out]) if isinstance(o, Tensor)]
    nodes = collect([o.node for o in outs if o.node is not None], {})
    found = [node.op for node in sorted(nodes, key=lambda n: -n.seq) if node.op.name != "output"]
    return list({part.name: part for part in found}.values())
