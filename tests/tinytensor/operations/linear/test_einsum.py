"""einsum and the products that are einsums, against NumPy's and against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytensor as tt

from ...helpers import close, const, grad_of, host, leaf, numeric_gradients

pytestmark = pytest.mark.usefixtures("device")

LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 2, "m": 3, "b": 2, "A": 3}

NOTATIONS = """ij,jk->ik  ij,jk  ij,kj->ki  ii->i  ii  ii->  iij->ji  iij->  iii->i  iijj->ij
ij->ji  ij->  ij->j  i,j->ij  i,i  i,i->i  ij,ij->  bij,bjk->bik  bij,bjk->kib  ij,jk,kl->il
ij,jk,kl,lm->im  i,j,k->ijk  i,j,k,l->lkji  ij,ij,ij->ij  ij,ik,il->jkl  ii,ij->j  ij,jj->ij
bA  iij,jkk->ik  i,->i  ,->  ij,k->ij  ij,k->k  ij,jk,k->  ijk,ijk->k  ij,kl,ij->kl
ij,ji,ii->i  kj,kji,i,l->jl  i,i,j,j,k->k  ij,jk,ki->""".split()


def operands(notation: str, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    terms = notation.split("->")[0].split(",")
    return [rng.normal(size=[LENGTHS[c] for c in term]) for term in terms]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_kind_of_notation(notation: str) -> None:
    arrays = operands(notation)
    tensors = [leaf(a) for a in arrays]
    out = tt.einsum(notation, *tensors)
    close(out, np.einsum(notation, *arrays), 1e-12)
    cotangent = np.random.default_rng(1).normal(size=out.shape)
    gradients = tt.grad(out, tensors, const(cotangent))
    expected = numeric_gradients(lambda *xs: np.einsum(notation, *xs), arrays, cotangent)
    for got, want in zip(gradients, expected, strict=True):
        close(got, want, 1e-6)


@pytest.mark.parametrize(
    ("notation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 3, 2, 3), (3, 3, 4)]),
        ("...ij,jk", [(5, 2, 3), (3, 4)]),
        ("i...->...", [(2, 3, 4)]),
        ("i...,i...->...", [(3, 1, 4), (3, 5, 1)]),
        ("...,...->...", [(2, 1), (3,)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("...", [(2, 3)]),
        ("...i,...i", [(3,), (4, 3)]),
        ("b...ij,b...jk->b...ik", [(2, 1, 3, 4), (2, 5, 4, 3)]),
        ("a...,...b->ab...", [(2, 3), (3, 4)]),
        ("i->...i", [(3,)]),
        ("ij,jk", [(2, 1), (3, 2)]),
        ("ij,jk->ik", [(1, 3), (3, 2)]),
        ("ii,ij->j", [(1, 1), (3, 2)]),
        ("ij,ij->ij", [(1, 3), (2, 1)]),
        ("ij,ij->", [(1, 3), (2, 1)]),
        ("ij,jk,kl->il", [(2, 1), (3, 1), (4, 5)]),
        ("ij,jk->ik", [(0, 3), (3, 2)]),
        ("ij,jk->ik", [(2, 0), (0, 2)]),
        ("ij->j", [(0, 3)]),
    ],
)
def test_ellipsis_and_axes_of_length_one_broadcast(notation: str, shapes: list) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in shapes]
    tensors = [leaf(a) for a in arrays]
    out = tt.einsum(notation, *tensors)
    close(out, np.einsum(notation, *arrays), 1e-12)
    cotangent = rng.normal(size=out.shape)
    gradients = tt.grad(out, tensors, const(cotangent))
    expected = numeric_gradients(lambda *xs: np.einsum(notation, *xs), arrays, cotangent)
    for got, want in zip(gradients, expected, strict=True):
        close(got, want, 1e-6)


def test_an_ellipsis_that_the_output_leaves_out_is_summed() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    out = tt.einsum("...i->i", x)  # PyTorch's reading; NumPy raises
    close(out, [4, 6])
    out.backward(const([1.0, 2.0]))
    close(x.grad, [[1, 2], [1, 2]])


@st.composite
def notations(draw: Any) -> tuple[str, list[tuple[int, ...]]]:
    lengths = {c: draw(st.integers(1, 3)) for c in "abcd"}
    terms = draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=4))
    shapes = []
    for term in terms:  # an axis may have length 1 instead, the same one in all of an operand
        ones = draw(st.sets(st.sampled_from(sorted(set(term))))) if term else set()
        shapes.append(tuple(1 if c in ones else lengths[c] for c in term))
    seen = sorted(set("".join(terms)))
    output = draw(st.permutations(seen)) if seen else []
    output = output[: draw(st.integers(0, len(output)))]
    arrow = draw(st.booleans())
    return ",".join(terms) + ("->" + "".join(output) if arrow else ""), shapes


@given(notations())
def test_any_notation_equals_numpy(drawn: tuple[str, list[tuple[int, ...]]]) -> None:
    notation, shapes = drawn
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in shapes]
    tensors = [leaf(a) for a in arrays]
    out = tt.einsum(notation, *tensors)
    close(out, np.einsum(notation, *arrays), 1e-10)
    cotangent = rng.normal(size=out.shape)
    gradients = tt.grad(out, tensors, const(cotangent))
    for i, (x, g) in enumerate(zip(arrays, gradients, strict=True)):
        # the function is linear in each operand: one direction says it all
        moved = [*arrays[:i], rng.normal(size=x.shape), *arrays[i + 1 :]]
        want = float(np.sum(np.einsum(notation, *moved) * cotangent))
        assert float(np.sum(host(g) * moved[i])) == pytest.approx(want, rel=1e-9, abs=1e-9)


def test_spaces_do_not_count_and_capitals_come_first() -> None:
    a, b = operands("ij,jk")
    close(tt.einsum(" i j , j k -> k i ", const(a), const(b)), (a @ b).T)
    x = np.arange(6.0).reshape(2, 3)
    close(tt.einsum("bA", const(x)), x.T)


def test_to_the_third_order() -> None:
    rng = np.random.default_rng(0)
    x, y = leaf(rng.normal(size=(2, 3, 3))), leaf(rng.normal(size=(3, 2)))
    assert tt.gradgradcheck(lambda x, y: tt.einsum("bii,ij,bj->j", x, y, y[:2]), [x, y])

    def cubic(x: tt.Tensor) -> tt.Tensor:
        return tt.einsum("ij,jk,ki->", x, x, x)  # trace(x³), whose third derivative is constant

    x = leaf(rng.normal(size=(2, 2)))
    v = rng.normal(size=(2, 2))
    (first,) = tt.grad(cubic(x), [x], create_graph=True)
    close(first, 3 * (host(x) @ host(x)).T)
    (second,) = tt.grad((first * const(v)).sum(), [x], create_graph=True)
    (third,) = tt.grad((second * const(v)).sum(), [x])
    close(third, 6 * (v @ v).T)


def test_only_what_a_gradient_reads_is_kept() -> None:
    x, y = leaf([1.0, 2.0]), const([3.0, 4.0])
    out = tt.einsum("i,i->", x, y)
    with tt.no_grad():
        x += 1  # y wants no gradient, so x is not read again
    out.backward()
    close(x.grad, [3, 4])


def test_float16_is_added_up_in_float32() -> None:
    x = leaf(np.ones(4096), np.float16)
    out = tt.einsum("i,i->", x, const(np.ones(4096), np.float16))
    assert out.dtype == np.float16
    close(out, 4096)
    out.backward()
    assert x.grad is not None and x.grad.dtype == np.float16
    close(tt.einsum("i->", x), 4096)


def test_integers_stay_integers() -> None:
    out = tt.einsum("ij,j->i", const([[1, 2], [3, 4]], np.int64), const([1, 1], np.int64))
    assert out.dtype == np.int64
    close(out, [3, 7])


def test_a_diagonal_takes_the_gradient_and_the_rest_none() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    out = tt.einsum("ii->i", x)
    close(out, [1, 4])
    out.backward(const([5.0, np.inf]))
    close(x.grad, [[5, 0], [0, np.inf]])


def test_the_cheap_order_is_found() -> None:
    """Left to right, the first two would make a matrix of a million elements."""
    x = leaf(np.ones(1000))
    out = tt.einsum("i,j,j->i", x, const(np.ones(1000)), const(np.ones(1000)))
    sizes = []
    stack = [out.node]
    while stack:
        node = stack.pop()
        if node is not None and not isinstance(node, tt.Tensor):
            sizes.append(int(np.prod(node.shape)))
            stack.extend(node.parents)
    assert max(sizes) == 1000
    close(out, np.full(1000, 1000.0))


@pytest.mark.parametrize(
    ("notation", "shapes", "message"),
    [
        ("ij,jk", [(2, 3)], r"'ij,jk': expected 2 operand\(s\), got 1"),
        ("ijk", [(2, 3)], r"'ijk' names 3 axes, but operand 0 has 2: shape \(2, 3\)"),
        ("i", [(2, 3)], r"'i' names 1 axes, but operand 0 has 2"),
        ("i...j", [(2,)], r"'i\.\.\.j' names 2 axes, but operand 0 has 1"),
        ("ij->ik", [(2, 3)], r"the output names 'k', which no operand has"),
        ("ij->ii", [(2, 2)], r"the output names 'i' twice"),
        ("i1->i", [(2, 3)], r"expected letters .* in 'i1', got '1'"),
        ("i..->i", [(2, 3)], r"in 'i\.\.', got '\.'"),
        ("...i...", [(2, 3)], r"in '\.\.\.i\.\.\.', got '\.'"),
        ("ij->i->j", [(2, 3)], r"in 'i->j', got '-'"),
        ("ij->i,j", [(2, 3)], r"in 'i,j', got ','"),
        ("ij,jk", [(2, 3), (4, 5)], r"'j' has length 4 in operand 1, of shape \(4, 5\), but 3"),
        ("ii", [(2, 3)], r"'i' has lengths 2 and 3 in operand 0, of shape \(2, 3\)"),
        ("ii", [(1, 3)], r"'i' has lengths 1 and 3 in operand 0"),
        ("...i,...i", [(2, 3), (4, 3)], r"'\.\.\.' has length 4 in operand 1"),
        ("", [], r"expected 1 operand\(s\), got 0"),
    ],
)
def test_a_bad_notation_is_named(notation: str, shapes: list, message: str) -> None:
    with pytest.raises(ValueError, match="einsum: subscripts .*" + message):
        tt.einsum(notation, *(const(np.ones(s)) for s in shapes))


def test_a_first_argument_that_is_no_string() -> None:
    with pytest.raises(TypeError, match="subscripts: expected a string, got Tensor"):
        tt.einsum(const([1.0]), "i")  # type: ignore[arg-type]


def test_more_axes_than_there_are_letters() -> None:
    with pytest.raises(ValueError, match="more than 52 axes"):
        tt.einsum("..." + "abcdefghijklmnopqrstuvwxyz", const(np.ones((1,) * 26 + (1,) * 27)))


# -- the products that are einsums --------------------------------------------------------
@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (((2, 3, 4), (3, 4, 5)), 2),
        (((2, 3), (3, 4)), 1),
        (((2, 3), (4,)), 0),
        (((2, 3, 4), (4, 5, 3)), ([1, 2], [2, 0])),
        (((2, 3, 4), (4, 5, 3)), ((-1,), (-3,))),
        (((2, 3), (3, 2)), (1, 0)),
        (((2, 3), (2, 3)), ([0, 1], [0, 1])),
        (((2, 0), (0, 3)), 1),
        (((), ()), 0),
        (((2, 3), (2,)), ([], [])),
    ],
)
def test_tensordot(shapes: Any, axes: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in shapes]
    tensors = [leaf(a) for a in arrays]
    out = tt.tensordot(*tensors, axes)
    close(out, np.tensordot(*arrays, axes), 1e-12)
    cotangent = rng.normal(size=out.shape)
    gradients = tt.grad(out, tensors, const(cotangent))
    expected = numeric_gradients(lambda x, y: np.tensordot(x, y, axes), arrays, cotangent)
    for got, want in zip(gradients, expected, strict=True):
        close(got, want, 1e-6)


def test_tensordot_with_an_axis_of_length_one() -> None:
    x, y = leaf([[2.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])
    out = tt.tensordot(x, y, ([1], [0]))
    close(out, [[8, 12]])
    out.backward(const([[1.0, 2.0]]))
    close(x.grad, [[16]])
    close(y.grad, [[2, 4], [2, 4]])


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (3, r"axes: expected 0 to 2 for shapes \(2, 3\) and \(3, 2\), got 3"),
        (-1, r"axes: expected 0 to 2"),
        (([0, 1], [0]), r"axes: expected two lists of equal length"),
        (([0], [0], [0]), r"axes: expected two lists"),
        (([2], [0]), r"axes: expected axes of x, of shape \(2, 3\), each once"),
        (([0, 0], [0, 1]), r"axes: expected axes of x, .* each once"),
        (([0, 1], [1, -1]), r"axes: expected axes of y, of shape \(3, 2\), each once"),
        (([0], [0]), r"axis 0 of x, of shape \(2, 3\), and axis 0 of y, of shape \(3, 2\)"),
    ],
)
def test_tensordot_errors(axes: Any, message: str) -> None:
    with pytest.raises(ValueError, match="tensordot: " + message):
        tt.tensordot(const(np.ones((2, 3))), const(np.ones((3, 2))), axes)


PAIRS = {
    "dot": [
        ((3,), (3,)),
        ((2, 3), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (2, 3, 4)),
        ((2, 3, 4), (5, 4, 2)),
        ((), (2, 3)),
        ((2,), ()),
        ((0,), (0,)),
    ],
    "inner": [((3,), (3,)), ((2, 3), (4, 3)), ((2, 3, 4), (4,)), ((), (3,)), ((2, 0), (3, 0))],
    "outer": [((3,), (2,)), ((2, 2), (3,)), ((), (3,)), ((0,), (2,))],
    "vdot": [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (3, 2)), ((), ()), ((0,), (0, 2))],
    "kron": [
        ((2,), (3,)),
        ((2, 3), (3, 2)),
        ((2, 3), (2,)),
        ((2,), (1, 3, 2)),
        ((), (2, 2)),
        ((0, 2), (2, 1)),
    ],
}


@pytest.mark.parametrize(
    ("name", "shapes"), [(name, pair) for name, pairs in PAIRS.items() for pair in pairs]
)
def test_products_equal_numpy(name: str, shapes: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in shapes]
    tensors = [leaf(a) for a in arrays]
    ours, theirs = getattr(tt, name), getattr(np, name)
    out = ours(*tensors)
    close(out, theirs(*arrays), 1e-12)
    cotangent = rng.normal(size=out.shape)
    gradients = tt.grad(out, tensors, const(cotangent))
    expected = numeric_gradients(lambda x, y: theirs(x, y), arrays, cotangent)
    for got, want in zip(gradients, expected, strict=True):
        close(got, want, 1e-6)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_products_twice_differentiated(name: str) -> None:
    x, y = leaf([[1.0, 2.0], [3.0, 5.0]]), leaf([[0.5, -1.0], [2.0, 1.5]])
    assert tt.gradgradcheck(getattr(tt, name), [x, y])


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_products_take_lists_numbers_and_arrays(name: str) -> None:
    out = getattr(tt, name)([1.0, 2.0], [3.0, 4.0])
    close(out, getattr(np, name)([1.0, 2.0], [3.0, 4.0]))
    assert out.dtype == np.float32


def test_vdot_of_unequal_sizes() -> None:
    with pytest.raises(ValueError, match=r"vdot: expected as many elements in y as in x, \(3,\)"):
        tt.vdot(const(np.ones(3)), const(np.ones(2)))


def test_the_outer_product_of_a_worked_example() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0, 5.0])
    tt.outer(x, y).backward(const([[1.0, 0, 0], [0, 0, 1]]))
    close(grad_of(x), [3, 5])
    close(grad_of(y), [1, 0, 2])
