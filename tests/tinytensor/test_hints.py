"""A user of PyTorch or NumPy who tries a name from there is told the one from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import hints

from .helpers import const, leaf

TRIED: dict[str, tuple[Callable[[tt.Tensor], Any], type[Exception], str]] = {
    "x.view": (lambda x: x.view(2), AttributeError, r"x\.reshape"),
    "x.dim": (lambda x: x.dim(), AttributeError, r"x\.ndim"),
    "x.add_": (lambda x: x.add_(1), AttributeError, r"x = x\.add\("),
    "a typing mistake": (lambda x: x.sofmax(), AttributeError, "did you mean softmax"),
    "tt.cat": (lambda x: tt.cat([x]), AttributeError, r"tt\.concat"),
    "tt.from_numpy": (lambda x: tt.from_numpy(x), AttributeError, r"tt\.tensor"),
    "tt.sofmax": (lambda x: tt.sofmax(x), AttributeError, "did you mean softmax"),
    "dim=": (lambda x: tt.sum(x, dim=0), TypeError, "unknown argument 'dim'.*use axis"),
    "keepdim=": (lambda x: tt.sum(x, keepdim=True), TypeError, "use keepdims"),
    "a method's dim=": (lambda x: x.sum(dim=0), TypeError, r"Tensor\.sum\(\).*'dim'; use axis"),
    "keepdim= of a method": (lambda x: x.mean(0, keepdim=True), TypeError, "; use keepdims"),
    "no setting": (lambda x: x.sum(foo=0), TypeError, r"Tensor\.sum\(\).*'foo'$"),
    "tt.mm": (lambda x: tt.mm(x, x), AttributeError, "use x @ y"),
    "tt.save": (lambda x: tt.save(x), AttributeError, r"save_file\(model\.state_dict\(\)"),
    "a number for a tensor": (
        lambda x: tt.linear(3.0, x.reshape(1, 2)),
        TypeError,
        r"linear\(x: 3\.0, .*expected a tensor in the place of 3\.0",
    ),
    "None for a tensor": (
        lambda x: tt.linear(None, x.reshape(1, 2)),
        TypeError,
        r"linear\(x: None, .*expected a tensor in the place of None",
    ),
    "x + None": (lambda x: x + None, TypeError, r"add\(x: .*, y: None\)"),
    "np.sin": (lambda x: np.sin(x), TypeError, r"use tt\.sin"),
    "np.sum": (lambda x: np.sum(x), TypeError, r"use tt\.sum"),
    "np.hanning": (lambda x: np.interp(x, x, x), TypeError, r"t\.detach\(\)\.numpy\(\)"),
    "np.add.reduce": (lambda x: np.add.reduce(x), TypeError, r"np\.add\.reduce"),
    "grad = 3": (lambda x: setattr(x, "grad", 3), TypeError, r"shape \(2,\), got int"),
    "grad of another shape": (
        lambda x: setattr(x, "grad", const([1.0])),
        TypeError,
        r"shape \(2,\), got shape \(1,\)",
    ),
}


@pytest.mark.parametrize("tried", TRIED)
def test_hint(tried: str) -> None:
    call, kind, text = TRIED[tried]
    with pytest.raises(kind, match=text):
        call(leaf([1.0, 2.0]))


def test_an_array_cannot_be_added_to_in_place() -> None:
    a = np.ones(2)
    with pytest.raises(TypeError, match="write a = a \\+ t"):
        a += leaf([1.0, 2.0])
    np.testing.assert_array_equal(a, [1, 1])


def test_numpy_functions_take_tensors_outside_the_graph() -> None:
    x = const([1.0, 4.0])
    assert np.sum(x) == 5.0
    assert np.allclose(x, [1, 4])
    np.testing.assert_array_equal(np.concatenate([x, x]), [1, 4, 1, 4])


def test_no_hint_names_what_exists() -> None:
    """A name that became real must leave the table."""
    x = leaf([1.0])
    assert [n for n in hints.OF_TENSOR if n in dir(x)] == []
    assert [n for n in hints.OF_PACKAGE if n in tt.__all__] == []
