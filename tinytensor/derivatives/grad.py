"""Gradients of tensors inside a graph, without touching any ``.grad``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..graph.backward import cotangent, run_backward
from ..hints.finding import kind_of
from ..tensor.tensor import Tensor, make


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of ``outputs`` with respect to ``inputs``, without touching any ``.grad``.

    Args:
        outputs: a tensor or several, inside a graph.
        inputs: a tensor or several (leaves or not) that require gradients.
        grad_outputs: a cotangent of the same shape per output; may be left out for scalars.
        retain_graph: keep saved arrays for another walk; defaults to ``create_graph``.
        create_graph: make the gradients differentiable themselves.
        allow_unused: return None for an input the outputs do not depend on, instead of raising; so
            for all, if no output is in a graph (as a gradient that is constant is not).

    Returns:
        A tuple with one Tensor per input, of its shape and dtype.
    """
    outs = _tensors("outputs", outputs)
    ins = _tensors("inputs", inputs)
    if grad_outputs is None or isinstance(grad_outputs, (Tensor, np.ndarray, int, float)):
        seeds: list[Any] = [grad_outputs] * len(outs) if grad_outputs is None else [grad_outputs]
    else:
        seeds = list(grad_outputs)
    if len(seeds) != len(outs):
        raise ValueError(f"grad_outputs: expected {len(outs)}, one per output, got {len(seeds)}")
    for i, x in enumerate(ins):
        if not x.requires_grad:
            raise ValueError(
                f"inputs[{i}] (shape {x.shape}): expected a tensor with requires_grad=True"
            )
    if allow_unused:  # what is outside of any graph, as a constant gradient is, uses none of them
        seeds = [s for o, s in zip(outs, seeds, strict=True) if o.tracked]
        outs = [o for o in outs if o.tracked]
        if not outs:
            return (None,) * len(ins)
    cotangents = [
        cotangent(o, s, "grad_outputs", create_graph) for o, s in zip(outs, seeds, strict=True)
    ]
    keep = create_graph if retain_graph is None else retain_graph
    results = run_backward(outs, cotangents, ins, keep, create_graph)
    final = [r if r is None or create_graph else make(r) for r in results]
    for i, r in enumerate(final):
        if r is None and not allow_unused:
            raise ValueError(
                f"inputs[{i}] (shape {ins[i].shape}) was not used to compute the outputs; "
                "pass allow_unused=True to get None for it"
            )
    return tuple(final)


def _tensors(argument: str, given: Any) -> list[Tensor]:
    """A tensor or several as a list. Raises TypeError for anything else."""
    if isinstance(given, Tensor):
        return [given]
    if callable(given):
        raise TypeError(
            f"{argument}: expected a tensor or several, got a function; tt.value_and_grad(fn, x) "
            "takes one"
        )
    listed = list(given) if isinstance(given, Iterable) else [given]
    for i, x in enumerate(listed):
        if not isinstance(x, Tensor):
            which = f"{argument}[{i}]" if isinstance(given, Iterable) else argument
            raise TypeError(f"{which}: expected a tensor, got {kind_of(x)}")
    return listed
