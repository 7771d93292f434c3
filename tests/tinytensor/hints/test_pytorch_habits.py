"""What somebody types who comes from PyTorch works, or says what to write here; never silently
something else."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.define.op import OPS

from ..helpers import close, const, leaf

ROWS = [[1.0, 5.0, 3.0], [6.0, 2.0, 4.0]]


def quiet(call: Callable[[], Any]) -> Any:
    """The result of a call that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


# -- size ------------------------------------------------------------------------------------------


def test_size_is_a_number_and_tells_who_calls_it() -> None:
    x = const(ROWS)
    assert x.size == 6 and type(x.size) is int
    assert getattr(x, "size") == 6  # noqa: B009  (read by C code)
    for call in (lambda: x.size(), lambda: x.size(0), lambda: x.T.size(-1)):
        with pytest.raises(TypeError, match=r"size: not a method .* 6; use x\.shape, which is \("):
            call()


# -- values, indices = x.max(axis) -----------------------------------------------------------------


def max_of_two() -> Any:
    values, indices = const(ROWS).max(1)
    return values, indices


def function_of_two() -> Any:
    _, predicted = tt.max(const(ROWS).abs(), 1)
    return predicted


def median_of_two() -> Any:
    values, _ = const(ROWS)[:, 1:].median(axis=1)
    return values


def min_of_three() -> Any:
    values, indices = const(ROWS).min(0)
    return values, indices


@pytest.mark.parametrize("unpack", [max_of_two, function_of_two, median_of_two])
def test_two_values_are_not_values_and_indices(unpack: Callable[[], Any]) -> None:
    with pytest.warns(UserWarning, match="gives the values alone") as seen:
        unpack()
    assert seen[0].filename == __file__


def test_maxima_that_do_not_fit_two_names_say_where_the_indices_are() -> None:
    with pytest.raises(ValueError, match=r"\(3,\) into 2: .*; min gives the values alone; use x"):
        min_of_three()


def test_unpacking_what_is_not_a_maximum() -> None:
    def rows() -> Any:
        a, b = const(ROWS)
        return a, b

    def sums() -> Any:
        a, b = const(ROWS).sum(1)
        return a, b

    def stacked() -> Any:
        x = const(ROWS)
        a, b = tt.stack([x.max(), x.min()])
        return a, b

    def listed() -> Any:
        low, high = const(ROWS).max(1).tolist()
        return low, high

    close(quiet(rows)[1], ROWS[1])
    close(quiet(sums)[0], 9)
    close(quiet(stacked)[1], 1)
    assert quiet(listed) == (5.0, 6.0)
    assert [float(v) for v in const(ROWS).max(1)] == [5, 6]
    with pytest.raises(ValueError, match=r"shape \(2, 3\) into 3: its first axis has 2$"):
        a, b, c = const(ROWS)


# -- transpose ------------------------------------------------------------------------------------


def test_transpose_is_numpys_and_names_what_exchanges_two_axes() -> None:
    x = const(np.arange(24.0).reshape(2, 3, 4))
    with pytest.raises(ValueError, match=r"use x\.swapaxes\(-2, -1\) or x\.mT$"):
        x.transpose(-2, -1)
    with pytest.raises(ValueError, match=r"use x\.swapaxes\(0, 1\)$"):
        tt.transpose(x, 0, 1)
    with pytest.raises(ValueError, match=r"each axis of shape \(2, 3, 4\) once, got \(0,\)$"):
        x.transpose(0)


@pytest.mark.parametrize("axes", [(0, 1), (-2, -1), (0, -1)])
def test_transposing_two_axes_to_what_they_are_warns(axes: tuple[int, int]) -> None:
    x = const(ROWS)
    with pytest.warns(UserWarning, match=r"keeps the two axes .* x\.T or x\.swapaxes") as seen:
        y = x.transpose(*axes)
    assert y.shape == (2, 3) and seen[0].filename == __file__
    assert quiet(lambda: x.transpose(axes)).shape == (2, 3)  # as code that computes orders writes
    for order in ((), (1, 0), (-1, 0)):
        assert quiet(lambda order=order: x.transpose(*order)).shape == (3, 2)


# -- repeat ----------------------------------------------------------------------------------------


def test_repeat_with_two_numbers_tells_numpys_from_pytorchs() -> None:
    x = const(ROWS)
    with pytest.warns(
        UserWarning, match=r"along axis 1, as .* x\.tile\(\(2, 1\)\); .* axis=1"
    ) as seen:
        y = x.repeat(2, 1)
    assert y.tolist() == np.repeat(ROWS, 2, 1).tolist() and seen[0].filename == __file__
    close(quiet(lambda: x.repeat(2, axis=1)), np.repeat(ROWS, 2, 1))
    for axis in (0, -1, None):  # in PyTorch these make an array without elements, or an error
        close(quiet(lambda axis=axis: x.repeat(2, axis)), np.repeat(ROWS, 2, axis))
    close(quiet(lambda: x.repeat([1, 0, 2], 1)), np.repeat(ROWS, [1, 0, 2], 1))
    close(quiet(lambda: x[None].repeat(2, 1)), np.repeat([ROWS], 2, 1))
    close(quiet(lambda: tt.repeat(x, 2, 1)), np.repeat(ROWS, 2, 1))  # torch has no such function
    close(x.tile((2, 1)), np.tile(ROWS, (2, 1)))


def test_repeat_as_pytorch_has_it_says_tile() -> None:
    x = const(ROWS)
    with pytest.raises(
        ValueError, match=r"expected 6 counts, .*; for PyTorch's .* tile\(x, \(3, 1"
    ):
        x.repeat((3, 1))
    with pytest.raises(IndexError, match=r"no axis 1 in shape \(3,\); .* x\.tile\(\(3, 1\)\)"):
        x[0].repeat(3, 1)
    with pytest.raises(
        TypeError, match=r"\(repeats, axis\), got \(2, 1, 1\); .* x\.tile\(\(2, 1, 1"
    ):
        x.repeat(2, 1, 1)
    with pytest.raises(TypeError, match=r"got \(2, 1\) and axis=0"):
        x.repeat(2, 1, axis=0)


# -- dtypes and devices ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("half", "float16"), ("float", "float32"), ("double", "float64"), ("short", "int16"),
        ("int", "int32"), ("long", "int64"), ("bool", "bool"), ("float16", "float16"),
        ("int8", "int8"), ("uint8", "uint8"), ("int32", "int32"),
    ],
)  # fmt: skip
def test_names_of_dtypes(name: str, dtype: str) -> None:
    assert tt.zeros(2, dtype=getattr(tt, name)).dtype == dtype


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("half", "float16"), ("float", "float32"), ("double", "float64"), ("short", "int16"),
        ("int", "int32"), ("long", "int64"), ("bool", "bool"),
    ],
)  # fmt: skip
def test_methods_named_as_dtypes(name: str, dtype: str) -> None:
    x = const([0.0, 2.0])
    y = getattr(x, name)()
    assert y.dtype == dtype and y.tolist() == x.data.astype(dtype).tolist()


def test_names_of_numbers() -> None:
    assert (tt.inf, tt.pi, tt.e, tt.newaxis) == (np.inf, np.pi, np.e, None)
    assert np.isnan(tt.nan)


def test_to_takes_a_device_and_a_dtype() -> None:
    x = const(ROWS, np.float32)
    assert x.to("cpu", "float64").dtype == x.to(device="cpu", dtype="float64").dtype == np.float64
    assert x.to("cpu") is x and x.to(dtype="float32") is x
    with pytest.raises(TypeError, match="to: unknown argument 'non_blocking'; .*; leave it out"):
        x.to("cpu", non_blocking=True)
    with pytest.raises(ValueError, match="unknown name 'mps'; expected one of .*'cuda'"):
        x.to("mps")
    with pytest.raises(TypeError, match="device: expected a device or its name, .* got 3"):
        tt.zeros(2, device=3)


def test_dtypes_of_pytorch_say_which_is_meant() -> None:
    torch = pytest.importorskip("torch")
    x = const(ROWS)
    for call in (
        lambda d: tt.tensor([1], dtype=d),
        lambda d: tt.Tensor([1], dtype=d),
        lambda d: tt.zeros(2, dtype=d),
        lambda d: tt.arange(3, dtype=d),
        lambda d: x.astype(d),
        lambda d: x.to(d),
        lambda d: tt.one_hot([0, 1], 2, dtype=d),
    ):
        with pytest.raises(TypeError, match=r"got torch\.float32; use tt\.float32"):
            call(torch.float32)
    with pytest.raises(TypeError, match=r"use tt\.float16 or tt\.float32, since NumPy has no"):
        x.to(torch.bfloat16)


# -- other calls ----------------------------------------------------------------------------------


def test_randint_without_low() -> None:
    x = tt.randint(3, (4, 5), generator=tt.Generator(0))
    y = tt.randint(0, 3, (4, 5), generator=tt.Generator(0))
    assert x.shape == (4, 5) and x.tolist() == y.tolist()
    assert tt.randint(3, [2]).shape == (2,)
    for args in ((3,), (0, 3), (3, 4)):
        with pytest.raises(TypeError, match=r"randint: expected \(low, high, shape\), or \(high"):
            tt.randint(*args)
    with pytest.raises(TypeError, match="randint: high: expected an integer, got 2.5"):
        tt.randint(0, 2.5, (3,))


def test_zero_grad_to_zeros() -> None:
    x = leaf([1.0, 2.0])
    x.zero_grad(set_to_none=False)
    assert x.grad is None
    (x * x).sum().backward()
    before = x.grad
    x.zero_grad(set_to_none=False)
    assert x.grad is not None and x.grad.tolist() == [0, 0] and before.tolist() == [2, 4]
    (x * x).sum().backward()
    close(x.grad, [2, 4])
    x.zero_grad(set_to_none=True)
    assert x.grad is None


def test_a_class_of_int_is_a_number() -> None:
    class Few(int):
        """As members of an IntEnum are."""

    x = const([1.0, 2.0], np.float32)
    assert (x * Few(3)).tolist() == [3, 6] and (x * Few(3)).dtype == np.float32
    assert (Few(3) - x).tolist() == [2, 1]


def test_arguments_in_pytorchs_order_are_not_taken_for_others() -> None:
    q = const(np.ones((1, 2, 3)))
    for dropout in (0.0, 0.1):
        with pytest.raises(TypeError, match=r"is_causal: expected True or False, got 0\.[01]"):
            tt.scaled_dot_product_attention(q, q, q, None, dropout, True)
    with pytest.raises(TypeError, match="log_target: .* got 'batchmean'; use reduction="):
        tt.kl_div(q, q, "batchmean")
    with pytest.raises(TypeError, match=r"max: axis: .* tt\.maximum and tt\.minimum take tensors"):
        tt.max(q, q)


def test_tensors_of_pytorch_are_called_so() -> None:
    torch = pytest.importorskip("torch")
    x, y = const(ROWS), torch.ones(2, 3)
    for call in (lambda: x + y, lambda: x.add(y), lambda: x == y):
        with pytest.raises(
            TypeError, match=r"y: .*, got torch\.Tensor; use tt\.tensor\(y\), or tt\.fr"
        ):
            call()
    for call in (lambda: y + x, lambda: y @ x.T):
        with pytest.raises(TypeError, match=r"x: .*, got torch\.Tensor; use tt\.tensor\(x\)"):
            call()
    with pytest.raises(TypeError, match=r"xs\[1\]: .*, got torch\.Tensor; use tt\.tensor"):
        tt.concat([x, y])
    with pytest.raises(TypeError, match=r"tt\.Generator or None, got torch\.Generator"):
        tt.rand(2, generator=torch.Generator())
    close(x + tt.from_dlpack(y), np.asarray(ROWS) + 1)


def test_the_array_of_a_tensor_is_documented() -> None:
    text = tt.Tensor.data.__doc__ or ""
    assert all(word in text for word in ("NumPy", "w.zero_()", "nn.init.normal_(w)", "detect_anom"))
    w = leaf([1.0, 2.0])
    with tt.no_grad():
        w += 1.0
        assert w.tolist() == [2, 3]
        w.zero_()
    assert w.tolist() == [0, 0]


def test_an_output_of_several_says_which_op_made_it() -> None:
    x = leaf(ROWS)
    for name, out in {
        "split": x.split(1)[0],
        "topk": x.topk(1)[0],
        "sort": x.sort()[0],
        "svd": tt.svd(x)[2],
    }.items():
        assert repr(out).endswith(f"op={name})")
    with pytest.warns(UserWarning, match="grad of the result of 'sort'"):
        assert x.sort()[0].grad is None


def test_a_number_is_formatted_as_one() -> None:
    assert f"{leaf([1.256]):.2f} {leaf(2.0):6.1f}" == "1.26    2.0"
    assert f"{leaf([1.0, 2.0]):>60}".strip() == f"{leaf([1.0, 2.0])}"


# -- a number where ids are meant -----------------------------------------------------------------


def test_a_class_may_be_a_plain_number() -> None:
    z = leaf([1.0, 2.0, 4.0])
    want = float(np.log(np.exp(z.data).sum()) - 2.0)
    q = np.exp(z.data) / np.exp(z.data).sum() - [0, 1, 0]
    close(tt.cross_entropy(z, 1), want)
    close(tt.cross_entropy(z, target=np.int64(1), reduction="sum"), want)
    close(tt.cross_entropy(z, 1, weight=[1.0, 2.0, 3.0]), want)
    assert tt.cross_entropy([1.0, 2.0, 4.0], 1).item() == pytest.approx(want, rel=1e-6)
    close(tt.grad(tt.cross_entropy(z, 1), z)[0], q)
    close(nn.CrossEntropyLoss()(z, 1), want)
    close(tt.nll_loss(z, 1), -2)
    close(tt.grad(tt.nll_loss(z * z, 1), z)[0], [0, -4, 0])
    with pytest.raises(TypeError, match=r"target: expected integers .* float32 of shape \(\)"):
        tt.cross_entropy(z, 1.5)
    with pytest.raises(ValueError, match=r"target: expected integers of shape \(1,\), .* got \(\)"):
        tt.cross_entropy(const([[1.0, 2.0]]), 1)


def test_other_ids_and_masks_may_be_plain_numbers() -> None:
    table = leaf(ROWS)
    close(tt.embedding(1, table), ROWS[1])
    close(tt.embedding(ids=1, weight=table), ROWS[1])
    close(tt.grad(tt.embedding(1, table).sum(), table)[0], [[0, 0, 0], [1, 1, 1]])
    close(OPS["embedding_grad"](const([1.0, 2.0]), 1, 3), [[0, 0], [1, 2], [0, 0]])
    close(tt.one_hot(1, 3), [0, 1, 0])
    close(tt.masked_fill(const([1.0, 2.0]), True, 0.0), [0, 0])
    with pytest.raises(TypeError, match="ids: expected integers, got float32"):
        tt.embedding(1.5, table)
    with pytest.raises(TypeError, match="mask: expected booleans, got int64"):
        tt.masked_fill(const([1.0, 2.0]), 1, 0.0)


# -- singular points ------------------------------------------------------------------------------


def test_what_the_documentation_of_log_says_of_zero_times_infinity() -> None:
    x = leaf([0.0, 0.5])
    with np.errstate(all="ignore"):
        assert np.isnan(tt.grad(tt.log(x)[1], x)[0].data[0])
        outside = tt.where(x > 0, tt.log(x), 0.0).sum()
        assert np.isnan(tt.grad(outside, x)[0].data[0])
        close(tt.grad(tt.log(x[1]), x)[0], [0, 2])
        inside = tt.where(x > 0, tt.log(tt.where(x > 0, x, 1.0)), 0.0).sum()
        close(tt.grad(inside, x)[0], [0, 2])
