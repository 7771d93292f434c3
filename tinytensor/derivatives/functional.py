"""Derivatives of functions: of any nest (tuples, lists, dicts) of tensors.

Each comes in two forms: ``jacobian(fn, x)`` is the value at x, and ``jacobian(fn)`` is the function
that gives it. They compose (``jacobian(jacobian(fn))``): inside another of them, results are
differentiable; on the outside they are plain tensors unless ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.device import BY_TYPE
from ..context.blocks import Block, Manager
from ..context.thread_state import ThreadState, local
from ..graph.grad_mode import recording_on
from ..hints.finding import kind_of
from ..operations import stack, sum
from ..operations.elementwise.conversion import alias
from ..tensor import tree
from ..tensor.creation import zeros
from ..tensor.tensor import Tensor, tensor
from .grad import grad

Nest = Any


class _Variables:
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


class _running(Manager):
    """The functions of this file that are running are counted, and record graphs inside."""

    lists = ("recording", "derivatives")
    strict = False

    def _check(self, state: ThreadState) -> None:
        recording_on(state.recording)

    def _enter(self, block: Block) -> None:
        block.note = True


def _keep_graph(create_graph: bool | None) -> bool:
    """Whether results are differentiable: asked for, or needed by a function around this one."""
    if create_graph is None:
        return [block.running for block in local.state.derivatives].count(True) > 1
    return create_graph


def _plain(results: Nest, keep: bool) -> Nest:
    """Results without their graphs, unless these are to be kept."""
    if keep:
        return results
    return tree.map_leaves(lambda x: x.detach() if isinstance(x, Tensor) else x, results)


def _outputs(result: Nest, who: str) -> list[Tensor]:
    outs = tree.leaves(result)
    for out in outs:
        if not isinstance(out, Tensor):
            raise TypeError(f"{who}: fn: expected tensors to be returned, got {kind_of(out)}")
    return outs


def _is_one(primals: Any) -> bool:
    """Whether this is one argument, and not a sequence of them."""
    return isinstance(primals, (Tensor, float, np.floating)) or type(primals) in BY_TYPE


def _split(args: tuple[Any, ...], argnums: int | Sequence[int], who: str) -> Nest:
    """The arguments at ``argnums``: one, or a tuple of them."""
    several = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in several:
        if not -len(args) <= n < len(args):
            raise ValueError(f"{who}: argnums: expected -{len(args)} to {len(args) - 1}, got {n}")
    if len({n % len(args) for n in several}) < len(several):
        raise ValueError(f"{who}: argnums: expected each argument once, got {argnums}")
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in several)


def _merge(args: tuple[Any, ...], argnums: int | Sequence[int], chosen: Nest) -> list[Any]:
    """The arguments with those at ``argnums`` replaced."""
    new = list(args)
    if isinstance(argnums, int):
        new[argnums] = chosen
    else:
        for n, value in zip(argnums, chosen, strict=True):
            new[n] = value
    return new


def value_and_grad(
    fn: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    create_graph: bool | None = None,
) -> Any:
    """The value of a scalar function and its gradient.

    Args:
        fn: returns a tensor with one element; with ``has_aux``, a tuple of that and anything else.
        args: where to evaluate it; without any, a function of them is returned.
        argnums: which argument, or arguments, to differentiate; each may be a nest of tensors.
        has_aux: ``fn`` returns (value, auxiliary).
        create_graph: make the results differentiable.

    Returns:
        ``(value, gradient)``, the gradient a nest like the argument's with None where there is
        nothing to differentiate; with ``has_aux``, ``((value, auxiliary), gradient)``.

    Raises:
        ValueError: the value has more than one element.
        TypeError: no floating-point tensor among the arguments at ``argnums``.
    """
    if not args:
        return lambda *given: value_and_grad(
            fn, *given, argnums=argnums, has_aux=has_aux, create_graph=create_graph
        )
    return _value_and_grad(fn, args, argnums, has_aux, create_graph, "value_and_grad")


def _value_and_grad(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    argnums: int | Sequence[int],
    has_aux: bool,
    create_graph: bool | None,
    who: str,
) -> Any:
    """The same for the function ``who``, which errors name."""
    with _running():
        keep = _keep_graph(create_graph)
        variables = _Variables(_split(args, argnums, who), who, keep)
        value = fn(*_merge(args, argnums, variables.values))
        aux = None
        if has_aux:
            value, aux = value
        _outputs(value, who)
        if not isinstance(value, Tensor) or value.size != 1:
            raise ValueError(
                f"{who}: fn: expected a tensor with one element to be returned, got "
                f"{f'shape {value.shape}' if isinstance(value, Tensor) else kind_of(value)}; "
                "reduce it, for example with .sum(), or use tt.jacobian"
            )
        gradients = variables.nest(_gradients([value], [None], variables.tensors, keep))
        value, aux, gradients = (_plain(part, keep) for part in (value, aux, gradients))
        return ((value, aux) if has_aux else value), gradients


def _gradients(
    outs: Sequence[Tensor], cotangents: Sequence[Any], xs: Sequence[Tensor], graph: bool
) -> list[Tensor]:
    """Gradients of outputs with respect to xs: zeros where nothing depends on an x."""
    live = [(o, c) for o, c in zip(outs, cotangents, strict=True) if o.requires_grad]
    found: Sequence[Tensor | None] = [None] * len(xs)
    if live:
        seeds = None if live[0][1] is None else [c for _, c in live]
        found = grad(
            [o for o, _ in live],
            xs,
            seeds,
            retain_graph=True,
            create_graph=graph,
            allow_unused=True,
        )
    return [
        zeros(x.shape, dtype=x.dtype, device=x.device) if g is None else g
        for x, g in zip(xs, found, strict=True)
    ]


def vjp(
    fn: Callable[..., Any], *primals: Any, create_graph: bool | None = None
) -> tuple[Nest, Callable[[Nest], Nest]]:
    """Vector-Jacobian product: the value of ``fn`` and the function that pulls a cotangent back.

    Args:
        fn: returns a nest of tensors. primals: its arguments, nests of tensors.
        create_graph: make what the returned function gives differentiable.

    Returns:
        ``(value, pull)``; ``pull(cotangents)``, with a nest like the value's, gives a tuple with
        the product for each of the primals: v ↦ vᵀ J.
    """
    with _running():
        keep = _keep_graph(create_graph)
        variables = _Variables(primals, "vjp", keep)
        value = fn(*variables.values)
        outs = _outputs(value, "vjp")

    def pull(cotangents: Nest) -> Nest:
        with _running():  # inside another of these, it is a function of the cotangents
            graph = keep or _keep_graph(create_graph)
            matching = tree.matching(cotangents, value, "vjp: cotangents")
            given = [_like(c, o) for c, o in zip(matching, outs, strict=True)]
            return variables.nest(_gradients(outs, given, variables.tensors, graph))

    return _plain(value, keep), pull


def _like(given: Any, x: Tensor) -> Tensor:
    """A tangent or cotangent for ``x``, of its shape, dtype and device."""
    t = given if isinstance(given, Tensor) else tensor(given, device=x.device)
    if t.shape != x.shape:
        raise ValueError(
            f"a tangent or cotangent: expected shape {x.shape}, that of its tensor, got {t.shape}"
        )
    return t if t.dtype == x.dtype else t.astype(x.dtype)


def jvp(
    fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Nest, Nest]:
    """Jacobian-vector product: the value of ``fn`` and its derivative along ``tangents``.

    The product u ↦ uᵀ J is linear in u, and J v is its gradient with respect to u: two walks back
    stand in for one walk forward (J. Townsend, "A new trick for calculating Jacobian vector
    products", 2017).

    Args:
        fn: returns a nest of tensors.
        primals: its arguments, nests of tensors; or a single tensor or array.
        tangents: a direction for each, alike in shape.

    Returns:
        ``(value, derivative)``, two nests of one form; zeros for an output of integers.
    """
    if _is_one(primals):
        primals, tangents = (primals,), (tangents,)
    with _running():
        keep = _keep_graph(None)
        variables = _Variables(tuple(primals), "jvp", keep)
        value = fn(*variables.values)
        outs = _outputs(value, "jvp")
        given = [
            c
            for c, wanted in zip(
                tree.matching(tuple(tangents), variables.args, "jvp: tangents"),
                variables.places,
                strict=True,
            )
            if wanted
        ]
        directions = [_like(v, x) for v, x in zip(given, variables.tensors, strict=True)]
        floats = [o for o in outs if o.dtype.kind == "f"]
        us = [zeros(o.shape, dtype=o.dtype, device=o.device, requires_grad=True) for o in floats]
        pulled = _gradients(floats, us, variables.tensors, True)
        found = iter(_gradients(pulled, directions, us, keep))
        along = [
            next(found) if o.dtype.kind == "f" else zeros(o.shape, dtype=o.dtype, device=o.device)
            for o in outs
        ]
        return _plain(value, keep), _plain(tree.rebuild(value, along), keep)


def jacobian(
    fn: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    create_graph: bool | None = None,
) -> Any:
    """All partial derivatives of ``fn``, one walk back for each element of its value.

    Args:
        fn: returns a nest of tensors.
        args: where to evaluate it; without any, a function of them is returned.
        argnums: which argument, or arguments, to differentiate; each may be a nest of tensors.
        create_graph: make the result differentiable.

    Returns:
        For one output and one input tensor a Tensor of shape ``out.shape + in.shape``; in general
        a nest like the value's, holding nests like the argument's.
    """
    if not args:
        return lambda *given: jacobian(fn, *given, argnums=argnums, create_graph=create_graph)
    return _jacobian(fn, args, argnums, create_graph, "jacobian")


def _jacobian(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    argnums: int | Sequence[int],
    create_graph: bool | None,
    who: str,
) -> Any:
    """The same for the function ``who``, which errors name."""
    with _running():
        keep = _keep_graph(create_graph)
        variables = _Variables(_split(args, argnums, who), who, keep)
        value = fn(*_merge(args, argnums, variables.values))
        rows = [_rows(out, variables, keep) for out in _outputs(value, who)]
        return _plain(tree.rebuild(value, rows), keep)


def _rows(out: Tensor, variables: _Variables, keep: bool) -> Nest:
    """The Jacobian of one output, as a nest like the variables'."""
    parts: list[list[Tensor]] = [[] for _ in variables.tensors]
    for i in range(out.size):
        one = zeros(out.shape, dtype=out.dtype, device=out.device)
        one.data.reshape(-1)[i] = 1
        for part, g in zip(parts, _gradients([out], [one], variables.tensors, keep), strict=True):
            part.append(g)
    return variables.nest(
        [
            stack(part).reshape(*out.shape, *x.shape)
            if part
            else zeros((*out.shape, *x.shape), dtype=x.dtype, device=x.device)
            for part, x in zip(parts, variables.tensors, strict=True)
        ]
    )


def hessian(
    fn: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    create_graph: bool | None = None,
) -> Any:
    """Second partial derivatives of a scalar function.

    Returns:
        For one input tensor a Tensor of shape ``x.shape + x.shape``; in general a nest like the
        argument's, holding nests like the argument's. Arguments are those of :func:`jacobian`.
    """
    if not args:
        return lambda *given: hessian(fn, *given, argnums=argnums, create_graph=create_graph)

    def gradient(*given: Any) -> Any:
        return _value_and_grad(fn, given, argnums, False, None, "hessian")[1]

    return _jacobian(gradient, args, argnums, create_graph, "hessian")


def hvp(
    fn: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    create_graph: bool | None = None,
) -> Nest:
    """Hessian-vector product of a scalar function, without making the Hessian.

    The gradient of ⟨∇f, v⟩ (Pearlmutter 1994, "Fast exact multiplication by the Hessian").

    Args:
        fn: returns a tensor with one element.
        primals: its arguments, nests of tensors. tangents: a vector v for each, alike in shape.
        create_graph: make the result differentiable.

    Returns:
        A tuple with H v for each of the primals; for a single tensor, as primals and as tangents,
        that product alone.
    """
    if _is_one(primals):
        return hvp(fn, (primals,), (tangents,), create_graph)[0]
    everything = tuple(range(len(primals)))

    def directional(*given: Any) -> Tensor:
        gradient = _value_and_grad(fn, given, everything, False, None, "hvp")[1]
        vectors = tree.matching(tuple(tangents), gradient, "hvp: tangents")
        pairs = zip(tree.leaves(gradient), vectors, strict=True)
        terms = [sum(g * _like(v, g)) for g, v in pairs if g is not None]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return _value_and_grad(directional, tuple(primals), everything, False, create_graph, "hvp")[1]
