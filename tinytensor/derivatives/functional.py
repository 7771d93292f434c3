"""Derivatives of functions: of any nest (tuples, lists, dicts) of tensors.

Each comes in two forms: ``jacobian(fn, x)`` is the value at x, and ``jacobian(fn)`` is the function
that gives it. They compose (``jacobian(jacobian(fn))``): inside another of them, results are
differentiable; on the outside they are plain tensors unless ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..hints.finding import kind_of
from ..operations import stack, sum
from ..tensor import tree
from ..tensor.creation import zeros
from ..tensor.tensor import Tensor, tensor
from .grad import grad
from .variables import Nest, Variables, is_one, keep_graph, merge, outputs_of, plain, running, split


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
    with running():
        keep = keep_graph(create_graph)
        variables = Variables(split(args, argnums, who), who, keep)
        value = fn(*merge(args, argnums, variables.values))
        aux = None
        if has_aux:
            value, aux = value
        outputs_of(value, who)
        if not isinstance(value, Tensor) or value.size != 1:
            raise ValueError(
                f"{who}: fn: expected a tensor with one element to be returned, got "
                f"{f'shape {value.shape}' if isinstance(value, Tensor) else kind_of(value)}; "
                "reduce it, for example with .sum(), or use tt.jacobian"
            )
        gradients = variables.nest(_gradients([value], [None], variables.tensors, keep))
        value, aux, gradients = (plain(part, keep) for part in (value, aux, gradients))
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
    with running():
        keep = keep_graph(create_graph)
        variables = Variables(primals, "vjp", keep)
        value = fn(*variables.values)
        outs = outputs_of(value, "vjp")

    def pull(cotangents: Nest) -> Nest:
        with running():  # inside another of these, it is a function of the cotangents
            graph = keep or keep_graph(create_graph)
            matching = tree.matching(cotangents, value, "vjp: cotangents")
            given = [_like(c, o) for c, o in zip(matching, outs, strict=True)]
            return variables.nest(_gradients(outs, given, variables.tensors, graph))

    return plain(value, keep), pull


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
    if is_one(primals):
        primals, tangents = (primals,), (tangents,)
    with running():
        keep = keep_graph(None)
        variables = Variables(tuple(primals), "jvp", keep)
        value = fn(*variables.values)
        outs = outputs_of(value, "jvp")
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
        return plain(value, keep), plain(tree.rebuild(value, along), keep)


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
    with running():
        keep = keep_graph(create_graph)
        variables = Variables(split(args, argnums, who), who, keep)
        value = fn(*merge(args, argnums, variables.values))
        rows = [_rows(out, variables, keep) for out in outputs_of(value, who)]
        return plain(tree.rebuild(value, rows), keep)


def _rows(out: Tensor, variables: Variables, keep: bool) -> Nest:
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
    if is_one(primals):
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
