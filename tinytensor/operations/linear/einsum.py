"""Sums of products over axes with names (Einstein's notation), and the products that are such.

``einsum`` is read once per notation and shapes into a plan, which is remembered. The plan first
makes every operand plain: an axis named twice becomes its diagonal, an axis of length 1 that is
longer elsewhere is dropped, an axis that nothing else has is summed. Then it contracts two
operands at a time, in the order that NumPy's ``einsum_path`` finds the cheapest.

What is left for the op itself is the product of two operands in which each name is in at least two
of x, y and the output. Its gradients are of the same kind: ``"ij,jk->ik"`` has the gradients
``"ik,jk->ij"`` and ``"ij,ik->jk"``; so one rule serves einsum to any order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from ...define.op import op
from ...define.samples import Sample
from ...hints.finding import kind_of
from ...tensor.tensor import Tensor, tensor
from ..elementwise.arithmetic import mul
from ..reductions import sum_mean_max as reduce
from ..shapes.diagonals import diagonal
from ..shapes.reshaping import reshape, transpose
from .products import matmul

Shapes = tuple[tuple[int, ...], ...]


class _Layout(NamedTuple):
    """How x and y are brought into the form of a product of two (stacks of) matrices."""

    swap: bool  # compute y times x, which leaves the axes of the output in order
    x: tuple[int, ...]  # the order of axes: shared ones, own ones, summed ones
    y: tuple[int, ...]  # shared ones, summed ones, own ones
    shared: int
    summed: int
    out: tuple[int, ...]  # the order of the output's axes among (shared, x's own, y's own)


@lru_cache(maxsize=1024)
def _layout(subscripts: str) -> _Layout:
    inputs, out = subscripts.split("->")
    a, b = inputs.split(",")
    x_own = [c for c in out if c not in b]
    y_own = [c for c in out if c not in a]
    swap = bool(x_own and y_own) and out.index(y_own[0]) < out.index(x_own[0])
    if swap:
        a, b, x_own, y_own = b, a, y_own, x_own
    shared = [c for c in out if c in a and c in b]
    summed = [c for c in a if c not in out]
    made = "".join([*shared, *x_own, *y_own])
    return _Layout(
        swap,
        tuple(a.index(c) for c in [*shared, *x_own, *summed]),
        tuple(b.index(c) for c in [*shared, *summed, *y_own]),
        len(shared),
        len(summed),
        tuple(made.index(c) for c in out),
    )


@op(
    "x y",
    name="einsum",
    keeps={"x": "y", "y": "x"},
    formula="Σ x · y over the names that the output lacks",
    gradient="dx = Σ g · y, dy = Σ x · g over the names that the operand lacks",
    wide=True,
    samples=lambda r: [
        Sample(r(2, 3), r(3, 4), "ij,jk->ik"),
        Sample(r(2, 3), r(3, 4), "ij,jk->ki"),
        Sample(r(3), r(3), "i,i->"),
        Sample(r(3), r(2), "i,j->ji"),
        Sample(r(2, 3), r(3, 2), "ij,ji->ij"),
        Sample(r(2, 3, 4), r(4, 2, 5), "bij,jbk->kbi"),
        Sample(r(2, 3, 4), r(3, 4, 2), "aij,ijb->ba"),
        Sample(r(2, 3), r(2), "bi,b->ib"),
        Sample(r(), r(2, 3), ",ij->ij"),
        Sample(r(2, 0), r(0, 3), "ij,jk->ik"),
        Sample(r(1, 3), r(1, 3), "ij,ij->j"),
    ],
)
def _einsum(xp, x, y, subscripts):
    """Product of two operands with named axes, each name in at least two of x, y and the output.

    ``tt.einsum`` takes any number of operands and any notation, and brings them into this form.
    """
    how = _layout(subscripts)
    if how.swap:
        x, y = y, x
    x, y = xp.transpose(x, how.x), xp.transpose(y, how.y)
    shape, n = x.shape[: how.shared], x.ndim - how.summed
    rows, columns = x.shape[how.shared : n], y.shape[how.shared + how.summed :]
    if not how.summed:
        x = xp.reshape(x, (*shape, *rows, *(1,) * len(columns)))
        y = xp.reshape(y, (*shape, *(1,) * len(rows), *columns))
        return xp.transpose(x * y, how.out)
    inner = math.prod(x.shape[n:])
    x = xp.reshape(x, (*shape, math.prod(rows), inner))
    y = xp.reshape(y, (*shape, inner, math.prod(columns)))
    out = xp.reshape(xp.matmul(x, y), (*shape, *rows, *columns))
    return xp.transpose(out, how.out)


def _turned(subscripts: str) -> tuple[str, str]:
    """The notation of the gradients of x and of y."""
    inputs, out = subscripts.split("->")
    x, y = inputs.split(",")
    return f"{out},{y}->{x}", f"{x},{out}->{y}"


_einsum.vjp(
    x=lambda xp, g, k: k.run(_einsum, g, k.y, subscripts=_turned(k.subscripts)[0]),
    y=lambda xp, g, k: k.run(_einsum, k.x, g, subscripts=_turned(k.subscripts)[1]),
)


class _Term(NamedTuple):
    """How an operand is made plain."""

    diagonals: tuple[tuple[int, int], ...]  # pairs of axes, one after another
    kept: tuple[int, ...] | None  # the shape without axes of length 1 that are longer elsewhere
    summed: tuple[int, ...]  # axes that nothing else has


class _Plan(NamedTuple):
    """What einsum does."""

    terms: tuple[_Term, ...]
    steps: tuple[tuple[int, int, str], ...]  # contract these two; the result goes to the end
    order: tuple[int, ...] | None  # of the axes of a single operand


def _read(subscripts: str, shapes: Shapes) -> tuple[list[str], str]:
    """One letter per axis of each operand and of the output.

    Raises:
        ValueError: the notation is not valid, or does not fit the operands.
    """
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    for term in [*terms, output]:
        for c in term.replace("...", "", 1):
            if c not in ascii_letters:
                raise ValueError(f"expected letters and at most one '...' in {term!r}, got {c!r}")
    if len(terms) != len(shapes):
        raise ValueError(f"expected {len(terms)} operand(s), got {len(shapes)}")
    spare = [c for c in ascii_letters if c not in subscripts]
    free = []
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        named = len(term.replace("...", ""))
        free.append(len(shape) - named)
        if free[-1] < 0 or (free[-1] and "..." not in term):
            raise ValueError(
                f"{term!r} names {named} axes, but operand {i} has {len(shape)}: shape {shape}"
            )
    most = max(free)
    if most > len(spare):
        raise ValueError(f"more than {len(ascii_letters)} axes to name")
    rest = "".join(spare[:most])  # names for the axes under '...', aligned at the last one
    terms = [t.replace("...", rest[most - n :]) for t, n in zip(terms, free, strict=True)]
    seen = Counter("".join(terms))
    if not arrow:
        once = sorted(c for c, n in seen.items() if n == 1 and c not in rest)
        return terms, rest + "".join(once)
    output = output.replace("...", rest)
    for c, n in Counter(output).items():
        if n > 1:
            raise ValueError(f"the output names {c!r} twice")
        if c not in seen:
            raise ValueError(f"the output names {c!r}, which no operand has")
    return terms, output


def _lengths(terms: list[str], shapes: Shapes, written: str) -> dict[str, int]:
    """The length of each name; an axis of length 1 goes with any other operand's.

    Raises:
        ValueError: two lengths for one name; a name that is not in ``written`` is called '...'.
    """
    lengths: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        own: dict[str, int] = {}
        for c, n in zip(term, shape, strict=True):
            name = c if c in written else "..."
            if own.setdefault(c, n) != n:
                raise ValueError(
                    f"{name!r} has lengths {own[c]} and {n} in operand {i}, of shape {shape}"
                )
            if lengths.setdefault(c, n) != n:
                if 1 not in (n, lengths[c]):
                    raise ValueError(
                        f"{name!r} has length {n} in operand {i}, of shape {shape}, but "
                        f"{lengths[c]} in another"
                    )
                lengths[c] = n if lengths[c] == 1 else lengths[c]
    return lengths


@lru_cache(maxsize=1024)
def _plan(subscripts: str, shapes: Shapes) -> _Plan:
    names, output = _read(subscripts, shapes)
    lengths = _lengths(names, shapes, subscripts)
    plain: list[str] = []
    diagonals: list[tuple[tuple[int, int], ...]] = []
    kept: list[tuple[int, ...] | None] = []
    for term, shape in zip(names, shapes, strict=True):
        pairs = []
        sizes = dict(zip(term, shape, strict=True))
        while repeated := [c for c, n in Counter(term).items() if n > 1]:
            c = repeated[0]
            first, second = term.index(c), term.rindex(c)
            pairs.append((first, second))
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + c
        full = "".join(c for c in term if sizes[c] == lengths[c])
        diagonals.append(tuple(pairs))
        kept.append(tuple(sizes[c] for c in full) if full != term else None)
        plain.append(full)
    seen = Counter("".join(plain) + output)
    summed = [tuple(i for i, c in enumerate(term) if seen[c] == 1) for term in plain]
    plain = ["".join(c for c in term if seen[c] > 1) for term in plain]
    steps, order = [], None
    for i, j in _path(plain, output, lengths):
        y, x = plain.pop(j), plain.pop(i)
        needed = output + "".join(plain)
        made = output if not plain else "".join(dict.fromkeys(c for c in x + y if c in needed))
        steps.append((i, j, f"{x},{y}->{made}"))
        plain.append(made)
    if plain[0] != output:
        order = tuple(plain[0].index(c) for c in output)
    terms = tuple(_Term(*t) for t in zip(diagonals, kept, summed, strict=True))
    return _Plan(terms, tuple(steps), order)


def _path(terms: list[str], output: str, lengths: dict[str, int]) -> list[tuple[int, int]]:
    """Which two to contract next, until one is left."""
    n = len(terms)
    if n < 3:
        return [(0, 1)] * (n - 1)
    shapes = [np.broadcast_to(0.0, [lengths[c] for c in term]) for term in terms]
    found = np.einsum_path(
        f"{','.join(terms)}->{output}", *shapes, optimize="optimal" if n < 5 else "greedy"
    )
    pairs = []
    for group in found[0][1:]:
        members = sorted(group)
        while len(members) > 1:  # more than two where no order is cheaper than another
            i, j, *others = members
            pairs.append((i, j))
            n -= 1
            members = [m - 2 for m in others] + [n - 1]
    return pairs


def einsum(subscripts: str, *operands: Any) -> Any:
    """Sum of products over named axes: ``einsum("ij,jk->ik", a, b)`` is ``a @ b``.

    Args:
        subscripts: a letter per axis of each operand, the operands separated by commas, and after
            ``->`` the axes of the output in their order; all others are summed over. Without
            ``->`` the output has the names that occur once, in alphabetical order (capitals
            first). A name twice in one operand means its diagonal. ``...`` stands for any further
            axes; they broadcast, and come first without ``->``. Spaces do not count.
        operands: tensors, as many as ``subscripts`` has. An axis of length 1 goes with any length.

    Differs from NumPy in one case, as PyTorch does: axes under ``...`` that an explicit output does
    not name are summed, where NumPy raises.

    Raises:
        ValueError: ``subscripts`` is not valid or does not fit the operands; the message says why.
    """
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum: subscripts: expected a string, got {kind_of(subscripts)}")
    xs = _tensors(operands)
    try:
        plan = _plan(subscripts, tuple(x.shape for x in xs))
    except ValueError as error:
        raise ValueError(f"einsum: subscripts {subscripts!r}: {error}") from None
    for i, (diagonals, kept, summed) in enumerate(plan.terms):
        for axis1, axis2 in diagonals:
            xs[i] = diagonal(xs[i], 0, axis1, axis2)
        if kept is not None:
            xs[i] = reshape(xs[i], kept)
        if summed:
            xs[i] = reduce.sum(xs[i], summed)
    for i, j, notation in plan.steps:
        y, x = xs.pop(j), xs.pop(i)
        xs.append(_einsum(x, y, subscripts=notation))
    return xs[0] if plan.order is None else transpose(xs[0], plan.order)


def _tensors(operands: Sequence[Any]) -> list[Any]:
    """Operands as tensors, on the device of those that are."""
    device = next((x.device for x in operands if isinstance(x, Tensor)), None)
    return [x if isinstance(x, Tensor) else tensor(x, device=device) for x in operands]


def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """Sum of products over axes of ``x`` and ``y``; the others stay, those of ``x`` first.

    Args:
        axes: an integer n: the last n axes of ``x`` with the first n of ``y``, in order. Or two
            lists of axes (or two integers): ``([1, 0], [0, 2])`` sums axis 1 of ``x`` with axis 0
            of ``y``, and axis 0 with axis 2. An axis of length 1 goes with any length, as in
            PyTorch.

    Raises:
        ValueError: an axis that is not there or is named twice, or lengths that differ.
    """
    x, y = _tensors((x, y))
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(
                f"tensordot: axes: expected 0 to {min(x.ndim, y.ndim)} for shapes {x.shape} and "
                f"{y.shape}, got {axes}"
            )
        pair = [list(range(x.ndim - axes, x.ndim)), list(range(axes))]
    else:
        pair = [[int(a)] if isinstance(a, (int, np.integer)) else list(a) for a in axes]
    if len(pair) != 2 or len(pair[0]) != len(pair[1]):
        raise ValueError(f"tensordot: axes: expected two lists of equal length, got {axes!r}")
    for name, a, of in (("x", x, pair[0]), ("y", y, pair[1])):
        for i, axis in enumerate(of):
            if not -a.ndim <= axis < a.ndim or axis % a.ndim in of[:i]:
                raise ValueError(
                    f"tensordot: axes: expected axes of {name}, of shape {a.shape}, each once, got "
                    f"{axes!r}"
                )
            of[i] = axis % a.ndim
    for i, j in zip(*pair, strict=True):
        if x.shape[i] != y.shape[j] and 1 not in (x.shape[i], y.shape[j]):
            raise ValueError(
                f"tensordot: axis {i} of x, of shape {x.shape}, and axis {j} of y, of shape "
                f"{y.shape}, must be of equal length"
            )
    a, b = list(ascii_letters[: x.ndim]), list(ascii_letters[x.ndim : x.ndim + y.ndim])
    for i, j in zip(*pair, strict=True):
        b[j] = a[i]
    out = [c for c in a if c not in b] + [c for c in b if c not in a]
    return einsum(f"{''.join(a)},{''.join(b)}->{''.join(out)}", x, y)


def dot(x: Any, y: Any) -> Any:
    """NumPy's ``dot``: the sum of products over the last axis of ``x`` and the second last of ``y``
    (the only one of a vector). For vectors the scalar product, for matrices ``x @ y``, for a
    number the multiple. Unlike ``@`` it does not pair up the leading axes of stacks: all combine.
    """
    x, y = _tensors((x, y))
    if not x.ndim or not y.ndim:
        return mul(x, y)
    return matmul(x, y) if y.ndim <= 2 else tensordot(x, y, (-1, -2))


def inner(x: Any, y: Any) -> Any:
    """Sum of products over the last axis of both; all other axes combine. A number multiplies."""
    x, y = _tensors((x, y))
    return tensordot(x, y, (-1, -1)) if x.ndim and y.ndim else mul(x, y)


def vdot(x: Any, y: Any) -> Any:
    """Scalar product of all elements, in C order, of two tensors of the same size."""
    x, y = _tensors((x, y))
    if x.size != y.size:
        raise ValueError(f"vdot: expected as many elements in y as in x, {x.shape}, got {y.shape}")
    return matmul(reshape(x, x.size), reshape(y, y.size))


def outer(x: Any, y: Any) -> Any:
    """Every element of ``x`` times every element of ``y``: (n,), (m,) -> (n, m).

    Operands of other shapes count as the vectors of their elements in C order.
    """
    x, y = _tensors((x, y))
    return _einsum(reshape(x, x.size), reshape(y, y.size), subscripts="i,j->ij")


def kron(x: Any, y: Any) -> Any:
    """Kronecker product: each element of ``x`` replaced by that element times ``y``.

    The shape is the product of both, axis by axis; the one with fewer axes gets leading axes of
    length 1.
    """
    x, y = _tensors((x, y))
    n = max(x.ndim, y.ndim)
    shapes = [(1,) * (n - a.ndim) + a.shape for a in (x, y)]
    a, b = ascii_letters[:n], ascii_letters[n : 2 * n]
    pairs = "".join(c + d for c, d in zip(a, b, strict=True))
    blocks = _einsum(*map(reshape, (x, y), shapes), subscripts=f"{a},{b}->{pairs}")
    return reshape(blocks, tuple(p * q for p, q in zip(*shapes, strict=True)))
