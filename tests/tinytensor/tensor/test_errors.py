"""Every error names the argument, what was given and what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import const, leaf

pytestmark = pytest.mark.usefixtures("device")


def t(*shape: int) -> tt.Tensor:
    return leaf(np.ones(shape))


def i(*values: int) -> tt.Tensor:
    return const(np.array(values), np.int64)


ERRORS: dict[str, tuple[Callable[[], Any], tuple[type[Exception], ...], tuple[str, ...]]] = {
    # name: (statement, error, words that the message must hold)
    "broadcast": (lambda: t(2, 3) + t(4), (ValueError,), ("add", "(2, 3)", "(4,)")),
    "broadcast mul": (lambda: t(2, 3) * t(3, 2), (ValueError,), ("mul", "(2, 3)", "(3, 2)")),
    "matmul": (lambda: t(2, 3) @ t(2, 3), (ValueError,), ("matmul", "(2, 3)")),
    "matmul batches": (
        lambda: t(2, 3, 4) @ t(5, 4, 3),
        (ValueError,),
        ("matmul", "(2, 3, 4)", "(5, 4, 3)"),
    ),
    "matmul of numbers": (lambda: t() @ t(3), (ValueError,), ("matmul", "()")),
    "reshape": (lambda: t(2, 3).reshape(4), (ValueError,), ("reshape", "(2, 3)", "(4,)")),
    "sum axis": (lambda: t(2, 3).sum(axis=2), (ValueError, IndexError), ("axis", "2", "(2, 3)")),
    "sum axis twice": (lambda: t(2, 3).sum(axis=(0, 0)), (ValueError,), ("axis", "(0, 0)")),
    "softmax axis": (
        lambda: tt.softmax(t(2, 3), axis=5),
        (ValueError, IndexError),
        ("axis", "5", "(2, 3)"),
    ),
    "max of nothing": (lambda: t(0, 3).max(axis=0), (ValueError,), ("max", "(0, 3)")),
    "permute": (lambda: t(2, 3).permute(0, 0), (ValueError,), ("permute", "(0, 0)")),
    "permute count": (
        lambda: t(2, 3).permute(0, 1, 2),
        (ValueError,),
        ("permute", "(0, 1, 2)", "(2, 3)"),
    ),
    "swapaxes": (lambda: t(2, 3).swapaxes(0, 4), (ValueError, IndexError), ("axis", "4")),
    "squeeze": (lambda: t(2, 3).squeeze(axis=0), (ValueError,), ("squeeze", "axis", "(2, 3)")),
    "expand_dims": (lambda: t(2, 3).expand_dims(7), (ValueError, IndexError), ("axis", "7")),
    "broadcast_to": (
        lambda: t(2, 3).broadcast_to((2, 4)),
        (ValueError,),
        ("broadcast_to", "(2, 3)", "(2, 4)"),
    ),
    "concat shapes": (
        lambda: tt.concat([t(2, 3), t(3, 4)], axis=0),
        (ValueError,),
        ("concat", "(2, 3)", "(3, 4)"),
    ),
    "concat nothing": (lambda: tt.concat([]), (ValueError,), ("concat",)),
    "concat axis": (
        lambda: tt.concat([t(2, 3), t(2, 3)], axis=2),
        (ValueError, IndexError),
        ("axis", "2"),
    ),
    "stack shapes": (
        lambda: tt.stack([t(2, 3), t(2, 4)]),
        (ValueError,),
        ("stack", "(2, 3)", "(2, 4)"),
    ),
    "split uneven": (lambda: tt.split(t(5, 2), [2, 2], axis=0), (ValueError,), ("split", "5", "2")),
    "index too many": (lambda: t(2, 3)[0, 0, 0], (IndexError,), ("(2, 3)",)),
    "index text": (lambda: t(2, 3)["a"], (TypeError, IndexError), ("str",)),
    "mask shape": (lambda: t(2, 3)[const([True, False, True], bool)], (IndexError,), ("3", "2")),
    "embedding dtype": (lambda: tt.embedding(t(2), t(4, 3)), (TypeError,), ("ids", "float64")),
    "embedding weight": (lambda: tt.embedding(i(0), t(4)), (ValueError,), ("weight", "(4,)")),
    "linear": (lambda: tt.linear(t(2, 3), t(4, 5)), (ValueError,), ("weight", "(2, 3)", "(4, 5)")),
    "linear bias": (
        lambda: tt.linear(t(2, 3), t(4, 3), t(3)),
        (ValueError,),
        ("bias", "(3,)", "4"),
    ),
    "layer_norm weight": (
        lambda: tt.layer_norm(t(2, 3), t(2)),
        (ValueError,),
        ("weight", "(2,)", "3"),
    ),
    "layer_norm bias": (
        lambda: tt.layer_norm(t(2, 3), t(3), t(2)),
        (ValueError,),
        ("bias", "(2,)", "3"),
    ),
    "cross_entropy shape": (
        lambda: tt.cross_entropy(t(2, 3), i(0, 1, 2)),
        (ValueError,),
        ("target", "(2, 3)", "(3,)"),
    ),
    "cross_entropy dtype": (
        lambda: tt.cross_entropy(t(2, 3), t(2)),
        (TypeError,),
        ("target", "float64"),
    ),
    "cross_entropy reduction": (
        lambda: tt.cross_entropy(t(2, 3), i(0, 1), reduction="average"),
        (ValueError,),
        ("reduction", "average", "mean"),
    ),
    "cross_entropy smoothing": (
        lambda: tt.cross_entropy(t(2, 3), i(0, 1), label_smoothing=1.5),
        (ValueError,),
        ("label_smoothing", "1.5"),
    ),
    "gelu": (
        lambda: tt.gelu(t(2), approximate="fast"),
        (ValueError,),
        ("approximate", "fast", "tanh"),
    ),
    "dropout": (lambda: tt.dropout(t(2), p=1.5), (ValueError,), ("p", "1.5")),
    "attention widths": (
        lambda: tt.scaled_dot_product_attention(t(2, 3), t(2, 4), t(2, 4)),
        (ValueError,),
        ("k", "(2, 3)", "(2, 4)"),
    ),
    "attention lengths": (
        lambda: tt.scaled_dot_product_attention(t(2, 3), t(4, 3), t(5, 3)),
        (ValueError,),
        ("v", "(4, 3)", "(5, 3)"),
    ),
    "attention mask": (
        lambda: tt.scaled_dot_product_attention(
            t(2, 3), t(4, 3), t(4, 3), mask=const(np.ones((2, 5)), bool)
        ),
        (ValueError,),
        ("mask", "(2, 5)", "(2, 4)"),
    ),
    "attention mask dtype": (
        lambda: tt.scaled_dot_product_attention(t(2, 3), t(2, 3), t(2, 3), mask=i(1, 0)),
        (TypeError,),
        ("mask", "int64"),
    ),
    "one_hot": (lambda: tt.one_hot(t(2), 3), (TypeError,), ("float64",)),
    "take_along_axis": (
        lambda: tt.take_along_axis(t(2, 3), i(0, 1), axis=0),
        (ValueError,),
        ("take_along_axis", "(2, 3)", "(2,)"),
    ),
    "clip": (lambda: tt.clip(t(2)), (ValueError, TypeError), ("clip",)),
    "unknown operand": (lambda: t(2) + "a", (TypeError,), ("str",)),
    "none operand": (
        lambda: t(2) * None,
        (TypeError,),
        ("y: expected a Tensor", "got None"),
    ),
    "grad input": (
        lambda: tt.grad(t(2).sum(), [const([1.0])]),
        (RuntimeError, ValueError),
        ("inputs[0]", "require"),
    ),
    "device": (lambda: t(2).to("moon"), (ValueError, TypeError), ("moon",)),
    "generator": (lambda: tt.dropout(t(2), 0.5, generator=3), (TypeError,), ("generator", "int")),
    "full": (lambda: tt.full((2,), "x"), (TypeError, ValueError), ("fill_value",)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_what_is_wrong(name: str) -> None:
    statement, kinds, words = ERRORS[name]
    with pytest.raises(kinds) as error:
        statement()
    text = str(error.value)
    missing = [w for w in words if w.replace(" ", "") not in text.replace(" ", "")]
    assert not missing, f"{missing} not in: {text}"


#: arguments before the axis, for functions that need some
BEFORE_AXIS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "concat": lambda: ([t(2, 3), t(2, 3)],),
    "stack": lambda: ([t(2, 3), t(2, 3)],),
    "cross": lambda: (t(2, 3), t(2, 3)),
    "topk": lambda: (t(2, 3), 2),
    "quantile": lambda: (t(2, 3), 0.5),
    "linear_recurrence": lambda: (t(2, 3), t(2, 3)),
    "overlap_add": lambda: (t(2, 3),),
    **dict.fromkeys(["cosine_similarity"], lambda: (t(2, 3), t(2, 3))),
    **dict.fromkeys(["chunk", "split", "array_split", "tensor_split"], lambda: (t(2, 3), 2)),
    **dict.fromkeys(["repeat", "repeat_interleave", "roll"], lambda: (t(2, 3), 1)),
    **dict.fromkeys(["take", "take_along_axis"], lambda: (t(2, 3), i(0))),
}
AFTER_AXIS: dict[str, Callable[[], dict[str, Any]]] = {
    **dict.fromkeys(["gather", "index_select"], lambda: {"index": i(0)}),
    **dict.fromkeys(["scatter", "scatter_add"], lambda: {"index": i(0), "src": t(1)}),
    "index_add": lambda: {"index": i(0), "source": t(1)},
    "unfold": lambda: {"size": 1},
    "sliding_window_view": lambda: {"window_shape": 1},
    "unflatten": lambda: {"sizes": (1, 1)},
    "overlap_add": lambda: {"length": 3},
}
WITH_AXIS = [
    name
    for name in sorted(tt.__all__)
    if callable(getattr(tt, name))
    and not isinstance(getattr(tt, name), type)
    and "axis" in inspect.signature(getattr(tt, name)).parameters
]


@pytest.mark.parametrize("name", WITH_AXIS)
@pytest.mark.parametrize("axis", [9, -9])
def test_an_axis_that_is_not_there_is_refused_everywhere(name: str, axis: int) -> None:
    args = BEFORE_AXIS.get(name, lambda: (t(2, 3),))()
    rest = AFTER_AXIS.get(name, dict)()
    with pytest.raises((ValueError, IndexError)) as error:
        getattr(tt, name)(*args, axis=(0, axis) if name == "matrix_norm" else axis, **rest)
    assert "axis" in str(error.value) and str(axis) in str(error.value)


def test_an_error_leaves_the_graph_usable() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(ValueError):
        y + const([1.0, 2.0, 3.0])
    y.sum().backward()
    assert x.grad is not None


def test_non_finite_values_pass_through_without_errors() -> None:
    x = leaf([np.nan, np.inf, 1.0])
    (x * 2).sum().backward()
    assert x.grad is not None
