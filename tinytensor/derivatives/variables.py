"""Arguments and results of a function that is differentiated, in any nest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.device import BY_TYPE
from ..context.blocks import Block, Manager
from ..context.thread_state import ThreadState, local
from ..graph.grad_mode import recording_on
from ..hints.finding import kind_of
from ..operations.elementwise.conversion import alias
from ..tensor import tree
from ..tensor.tensor import Tensor, tensor

Nest = Any


class Variables:
    """Arguments of a function, with fresh tensors where gradients are wanted.

    Args:
        args: nests. Floating-point tensors, arrays and Python floats in them become variables;
            everything else is passed on as it is.
        keep: whether results are differentiable, also by what the arguments were computed from.
    """

    def __init__(self, args: Nest, who: str, keep: bool):
        self.args = args
        self.tensors: list[Tensor] = []
        self.places: list[bool] = []

        def fresh(leaf: Any) -> Any:
            if isinstance(leaf, (float, np.floating)) or type(leaf) in BY_TYPE:
                leaf = tensor(leaf)
            wanted = isinstance(leaf, Tensor) and leaf.dtype.kind == "f"
            self.places.append(wanted)
            if not wanted:
                return leaf
            tracked = keep and leaf.requires_grad
            self.tensors.append(alias(leaf) if tracked else leaf.detach().requires_grad_())
            return self.tensors[-1]

        self.values = tree.map_leaves(fresh, args)
        if not self.tensors:
            kinds = {type(leaf).__name__ for leaf in tree.leaves(args)}
            advice = "; integers have no derivatives: write 1.0, not 1" if "int" in kinds else ""
            raise TypeError(
                f"{who}: expected at least one floating-point tensor among the arguments to "
                f"differentiate, got {args!r}{advice}"
            )

    def nest(self, gradients: Sequence[Any]) -> Nest:
        """One result per variable, in the nest of the arguments; None in all other places."""
        found = iter(gradients)
        return tree.rebuild(self.args, [next(found) if wanted else None for wanted in self.places])


class running(Manager):
    """The functions of ``functional.py`` that are running are counted, and record graphs inside."""

    lists = ("recording", "derivatives")
    strict = False

    def _check(self, state: ThreadState) -> None:
        recording_on(state.recording)

    def _enter(self, block: Block) -> None:
        block.note = True


def keep_graph(create_graph: bool | None) -> bool:
    """Whether results are differentiable: asked for, or needed by a function around this one."""
    if create_graph is None:
        return [block.running for block in local.state.derivatives].count(True) > 1
    return create_graph


def plain(results: Nest, keep: bool) -> Nest:
    """Results without their graphs, unless these are to be kept."""
    if keep:
        return results
    return tree.map_leaves(lambda x: x.detach() if isinstance(x, Tensor) else x, results)


def outputs_of(result: Nest, who: str) -> list[Tensor]:
    outs = tree.leaves(result)
    for out in outs:
        if not isinstance(out, Tensor):
            raise TypeError(f"{who}: fn: expected tensors to be returned, got {kind_of(out)}")
    return outs


def is_one(primals: Any) -> bool:
    """Whether this is one argument, and not a sequence of them."""
    return isinstance(primals, (Tensor, float, np.floating)) or type(primals) in BY_TYPE


def split(args: tuple[Any, ...], argnums: int | Sequence[int], who: str) -> Nest:
    """The arguments at ``argnums``: one, or a tuple of them."""
    several = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in several:
        if not -len(args) <= n < len(args):
            raise ValueError(f"{who}: argnums: expected -{len(args)} to {len(args) - 1}, got {n}")
    if len({n % len(args) for n in several}) < len(several):
        raise ValueError(f"{who}: argnums: expected each argument once, got {argnums}")
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in several)


def merge(args: tuple[Any, ...], argnums: int | Sequence[int], chosen: Nest) -> list[Any]:
    """The arguments with those at ``argnums`` replaced."""
    new = list(args)
    if isinstance(argnums, int):
        new[argnums] = chosen
    else:
        for n, value in zip(argnums, chosen, strict=True):
            new[n] = value
    return new
