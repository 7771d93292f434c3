"""Errors that say what to do, in one sentence each."""

from __future__ import annotations

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


# -- what to do: one sentence each that names the remedy ----------------------------------------
def twice() -> None:
    y = tt.exp(t(2)).sum()
    y.backward()
    y.backward()


def half_freed() -> None:
    shared = tt.exp(t(2))
    shared.sum().backward()
    (shared * 2).sum().backward()


def changed(how: Callable[[tt.Tensor], Any]) -> Callable[[], None]:
    """An operand is written to between the forward and the backward pass."""

    def run() -> None:
        w = t(2)
        y = (w * w).sum()
        with tt.no_grad():
            how(w)
        y.backward()

    return run


def changed_output() -> None:
    y = tt.exp(t(2))
    with tt.no_grad():
        y += 1
    y.sum().backward()


def written_through(make_view: Callable[[tt.Tensor], tt.Tensor]) -> Callable[[], None]:
    """A write to a tensor in a graph, whose memory another one shares."""

    def run() -> None:
        w = t(2) * 2
        view = make_view(w)
        w[0] = 1.0
        assert view is not None

    return run


def in_place(how: Callable[[tt.Tensor], Any]) -> Callable[[], None]:
    return lambda: how(t(2))


def add_to(x: tt.Tensor) -> None:
    x += 1


def set_first(x: tt.Tensor) -> None:
    x[0] = 1.0


CHANGED = (
    r"'mul'.*shape \(2,\), was saved .* changed in place once, last at .*test_remedies\.py:\d+; "
)
REMEDIES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # backward
    "not a scalar": (
        lambda: (t(2) * 2).backward(),
        RuntimeError,
        r"expected a scalar output, got shape \(2,\); reduce it first, for example with "
        r"\.sum\(\) or \.mean\(\), or pass gradient of that shape",
    ),
    "grad of no scalar": (
        lambda: (lambda x: tt.grad(x * 2, x))(t(2)),
        RuntimeError,
        r"got shape \(2,\); reduce it first, .* or pass grad_outputs of that shape",
    ),
    "an integer leaf": (
        lambda: tt.tensor([1, 2], requires_grad=True),
        TypeError,
        r"only floating-point .* this one is int64; write .*\(1\.0\) or give dtype='float32' where",
    ),
    "a boolean leaf": (
        lambda: const([True], bool).requires_grad_(),
        TypeError,
        r"this one is bool; .*, or convert it with \.astype\('float32'\)",
    ),
    "an integer result": (
        lambda: tt.argmax(t(2)).backward(),
        RuntimeError,
        r"shape \(\), int64\) holds no floating-point .*; call it on what was computed before",
    ),
    "a comparison": (
        lambda: (t(2) > 1).sum().backward(), RuntimeError, "integers have no gradients; call it on",
    ),
    "no graph": (
        lambda: const([1.0]).backward(), RuntimeError, r"no graph: .* requires_grad=True",
    ),
    "detached": (lambda: t(1).detach().backward(), RuntimeError, r"no_grad\(\) or detached"),
    "twice": (
        twice,
        RuntimeError,
        r"'exp' a second time, .* freed .*; call backward\(retain_graph=True\) the first time, "
        "or compute the loss again",
    ),
    "twice through a part": (half_freed, RuntimeError, r"'exp' a second time.*retain_graph=True"),
    "after += ": (
        changed(add_to),
        RuntimeError,
        CHANGED + r"compute on a copy \(x = x \+ 1 instead of x \+= 1\), or change it after",
    ),
    "after x[0] =": (changed(set_first), RuntimeError, CHANGED),
    "after copy_": (changed(lambda w: w.copy_([3.0, 4.0])), RuntimeError, CHANGED),
    "after a write to a view": (changed(lambda w: set_first(w[:1])), RuntimeError, CHANGED),
    "after a write to the output": (changed_output, RuntimeError, "'exp': its output, shape"),
    "another upstream shape": (
        lambda: (t(2) * 2).backward(const([1.0])),
        ValueError,
        r"gradient: expected shape \(2,\), that of the output, got \(1,\)",
    ),
    "not used": (
        lambda: tt.grad(t(2).sum(), t(3)),
        ValueError,
        r"inputs\[0\] \(shape \(3,\)\) was not used .*; pass allow_unused=True",
    ),
    # in place
    "+= on a leaf": (in_place(add_to), RuntimeError, r"use x = x \+ y, or .* tt\.no_grad\(\)"),
    "= on a leaf": (
        in_place(set_first), RuntimeError, r"use x = tt\.at\(x, index\)\.set\(v\), or",
    ),
    "a view": (written_through(lambda w: w[:1]), RuntimeError, r"shares the memory .* \.copy\(\)"),
    "a detached one": (written_through(lambda w: w.detach()), RuntimeError, r"use x = tt\.at"),
    # out of the graph
    ".numpy()": (lambda: t(2).numpy(), RuntimeError, r"use t\.detach\(\)\.numpy\(\)"),
    "if x:": (lambda: bool(t(2)), ValueError, r"got shape \(2,\); reduce it first, .*\.any\(\)"),
    "no such dtype": (
        lambda: t(2).astype("flot"), TypeError, "dtype: expected one of NumPy's .* got 'flot'",
    ),
    # dtypes
    "float ids": (lambda: tt.take(t(2), t(2)), TypeError, "indices: expected integers, got float"),
    "a float index": (lambda: t(2)[0.5], IndexError, "expected slices, integers, .* got float"),
    "complex": (lambda: tt.tensor([1j]), TypeError, "expected real numbers or booleans"),
    "ragged": (lambda: tt.tensor([[1.0], [1.0, 2.0]]), TypeError, "evenly nested lists"),
    # shapes
    "matmul": (
        lambda: t(2, 3) @ t(2, 3),
        ValueError,
        r"the last axis of x \(3\) and the second last axis of y \(2\) must be equal",
    ),
    "broadcast": (
        lambda: t(2, 3) + t(4),
        ValueError,
        r"add\(.*the shapes \(2, 3\), \(4,\) do not fit: .* equal or 1; insert an axis with "
        r"\.expand_dims\(axis\), or use \.reshape",
    ),
    "expand": (lambda: tt.expand(t(2, 3), 3, 3), ValueError, r"\(2, 3\), \(3, 3\) do not fit"),
    "reshape": (
        lambda: t(2, 3).reshape(4, -1),
        ValueError,
        r"expected lengths that multiply to 6, .*\(one of them may be -1\), got \(4, -1\)",
    ),
    # axes
    "no such axis": (
        lambda: t(2, 3).sum(axis=5), IndexError, "axis: expected -2 to 1 for 2 axes, got 5",
    ),
    "no such axis in a tuple": (
        lambda: tt.std(t(2, 3), axis=(0, -3)), ValueError, r"from -2 to 1.*got \(0, -3\)",
    ),
    "an axis twice": (
        lambda: t(2, 3).max(axis=(1, -1)), ValueError, r"expected different axes, got \(1, -1\)",
    ),
    "a permutation": (
        lambda: t(2, 3).transpose(0), ValueError, r"transpose: axes: .* \(2, 3\) once, got \(0,\)",
    ),
    "arguments exchanged": (
        lambda: tt.gather(t(2, 3), const([[0]], np.int64), 1),
        TypeError,
        "gather: axis: expected an integer, got a tensor",
    ),
    "one axis for two": (
        lambda: tt.matrix_norm(t(2, 3), axis=1), ValueError, "expected two axes .* got 1",
    ),
    "half an axis": (
        lambda: tt.logsumexp(t(2, 3), axis=1.0),
        TypeError,
        "axis: expected an integer, a tuple of integers or None, got 1.0",
    ),
    "an axis by name": (
        lambda: tt.norm(t(2, 3), axis="rows"), ValueError, "axis: expected numbers .*got rows",
    ),
    "an axis of NumPy's": (
        lambda: tt.softmax(t(2, 3), axis=np.int64(7)), ValueError, "expected one of the 2 axes",
    ),
    # in the words of Python or NumPy, which name no argument
    "a setting of another kind": (
        lambda: t(2).sum(0, {}), TypeError, r"keepdims: expected True or False, got \{\}",
    ),
    "text for a number": (
        lambda: tt.layer_norm(t(2), eps="a"), TypeError, "eps: expected a number, got 'a'",
    ),
    "text for a tensor": (
        lambda: tt.concat([t(2), ["a"]]), TypeError, r"concat: xs\[1\]: expected real numbers or",
    ),
    "text for a tensor of a composed function": (
        lambda: tt.flatten("a"), TypeError, "flatten: x: expected real numbers or booleans, got",
    ),
    "fractions for bits": (
        lambda: t(2) & i(1, 2),
        TypeError,
        "bitwise_and.*expected integers or booleans, got float64 and int64; convert with .astype",
    ),
    "text for a length": (
        lambda: tt.eye("a"), TypeError, "^eye\\(n='a'\\): 'str' object cannot be interpreted",
    ),
    "text for a number to start at": (
        lambda: tt.arange("a", 3), TypeError, "^arange\\(start='a', stop=3\\): unsupported",
    ),
    "a list for a device": (
        lambda: tt.zeros(2, device=["cpu"]), TypeError, r"device: expected a device or its name",
    ),
    "text for a seed": (
        lambda: tt.manual_seed("a"), ValueError, "seed: expected an integer >= 0, got 'a'",
    ),
    "None for a state": (
        lambda: tt.rnn(t(2, 1, 3), None, t(4, 3), t(4, 4)), TypeError, "h0: expected a tensor, got",
    ),
    "dropout of None": (
        lambda: tt.dropout(None, 0.5), TypeError, "dropout: x: expected real numbers or booleans",
    ),
    "a list for a probability": (
        lambda: tt.dropout(t(2), [0.5]), ValueError, r"dropout: p: expected .* got \[0\.5\]",
    ),
    "an element of several": (
        lambda: t(2).item(), ValueError, r"got shape \(2,\); \.tolist\(\) or \.numpy\(\) gives",
    ),
    "the length of a number": (
        lambda: len(t()), TypeError, r"no length; \.item\(\) is its number .* tt\.stack\(xs\)\.n",
    ),
    "a format of several": (
        lambda: f"{t(2, 3):.2f}", ValueError, r"'\.2f' is for one number, got shape \(2, 3\)",
    ),
    "a hook that is none": (
        lambda: t(2).register_hook(3), TypeError, "hook: expected a function, got int",
    ),
    "numbers for a tensor": (
        lambda: tt.tensor(1, 2, 3),
        TypeError,
        r"dtype: .* got 2; several .* tt\.tensor\(\[1, 2, \.\.\.\]\), .* tt\.zeros\(1, 2, ",
    ),
    "a shape for a tensor": (lambda: tt.Tensor(2, 3), TypeError, r"a shape is tt\.zeros\(2, 3, "),
    "a shape for a dtype": (
        lambda: tt.tensor([1.0], "float33"), TypeError, "dtype: .* got 'float33'$",
    ),
    "a number for a gradient": (
        lambda: setattr(t(2), "grad", 0.0), TypeError, "got float; write None to clear it$",
    ),
    "a generator of NumPy's": (
        lambda: tt.rand(2, generator=np.random.default_rng(1)),
        TypeError,
        r"got numpy\.random\.Generator; use tt\.Generator\(seed\)",
    ),
    "normalized_shape": (
        lambda: tt.layer_norm(t(2, 3), (3,)),
        TypeError,
        r"weight: expected a tensor of shape \(3,\), got .* \[3\]: there is no normalized_shape",
    ),
    "normalized_shape of two": (
        lambda: tt.rms_norm(t(2, 2, 2), [2, 2]), TypeError, "the numbers .*: there is no normal",
    ),
    "a value for tt.at": (
        lambda: tt.at(t(3), 1, 5.0), TypeError, r"at: .*; write tt\.at\(x, index\)\.set\(v\)",
    ),
    "where alone": (
        lambda: tt.where(t(3) > 2), TypeError, r"argument 'x'; .*; tt\.nonzero\(condition\)",
    ),
    "a scale for a size": (
        lambda: tt.interpolate(t(1, 1, 2, 2), 2.5), TypeError, "size: .* got 2.5; .* scale_factor=",
    ),
    "text for a scale": (
        lambda: tt.interpolate(t(1, 1, 2, 2), scale_factor="2"),
        ValueError,
        "scale_factor: expected a number above 0 or one per axis, got '2'",
    ),
    "one size of two": (
        lambda: tt.interpolate(t(1, 1, 2, 2), size=(4,)),
        ValueError,
        r"size: expected one number, or 2 for x of shape \(1, 1, 2, 2\), got \(4,\)",
    ),
    "one scale of two": (
        lambda: tt.interpolate(t(1, 1, 2, 2), scale_factor=[2.0]),
        ValueError,
        r"scale_factor: expected one number, or 2 for .* got \[2\.0\]",
    ),
    "in place, too large": (
        lambda: const([1.0]).__iadd__(const([1.0, 2.0])),
        ValueError,
        r"x of shape \(1,\) cannot hold the result of shape \(2,\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REMEDIES)
def test_error_says_what_to_do(name: str) -> None:
    statement, kind, text = REMEDIES[name]
    with pytest.raises(kind, match=text) as error:
        statement()
    assert "\n" not in str(error.value), "one sentence"
