"""A user of PyTorch or NumPy who tries a name from there is told the one from here."""

from __future__ import annotations

import contextlib
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import tinytensor as tt
from tinytensor import models, nn, other_functions, other_names, train
from tinytensor.other_settings import OF_SETTINGS

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


#: the tables: where their names are looked for, and the texts
TABLES: dict[str, tuple[Any, dict[str, str]]] = {
    "x": (const([1.0]), other_names.OF_TENSOR),
    "tt": (tt, other_functions.OF_PACKAGE),
    "tt.autograd": (tt.autograd, other_names.OF_AUTOGRAD),
    "tt.random": (tt.random, other_names.OF_RANDOM),
    "tt.cuda": (tt.cuda, other_names.OF_CUDA),
    "nn": (nn, nn.other_names.OF_NN),
    "nn.init": (nn.init, nn.other_names.OF_INIT),
    "model": (nn.Linear(2, 2), nn.other_names.OF_MODULE),
    "train": (train, train.other_names.OF_TRAIN),
    "optimizer": (train.SGD([leaf([1.0])]), train.other_names.OF_OPTIMIZER),
    "models": (models, models.OF_MODELS),
}
SEEN = leaf([1.0])
SEEN.grad = const([1.0])
#: what the first word of a name in a hint stands for
STANDS_FOR: dict[str, Any] = {
    "tt": tt,
    "x": const([[1.0, 2.0], [3.0, 4.0]]),
    "y": const([1.0]),
    "a": const([1.0]),
    "p": SEEN,
    "loss": leaf([1.0]),
    "nn": nn,
    "np": np,
    "math": math,
    "safetensors": safetensors,
    "model": nn.Linear(2, 2),
    "self": nn.Linear(2, 2),
    "optimizer": train.SGD([leaf([1.0])]),
    "checkpoint": train.checkpoint,
}


@pytest.mark.parametrize("place", TABLES)
def test_no_hint_speaks_of_a_name_that_exists(place: str) -> None:
    """A name that became real must leave the table."""
    where, table = TABLES[place]
    assert [name for name in table if hasattr(where, name)] == []


@pytest.mark.parametrize("place", TABLES)
def test_every_name_in_a_hint_exists(place: str) -> None:
    _, table = TABLES[place]
    for name, text in table.items():
        dotted = re.findall(r"(?<![\w.'])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)", text)
        for mentioned in dotted:
            first, *rest = mentioned.split(".")
            if mentioned == "F.relu" or mentioned == "F.cross_entropy" or first == "cupy":
                continue
            if mentioned == "self.w":  # which the hint makes
                continue
            found = STANDS_FOR[first]
            for part in rest:
                assert hasattr(found, part), f"{place}.{name}: {text}: there is no {mentioned}"
                found = getattr(found, part)
        if place in ("train", "models"):  # whose own names stand alone
            for mentioned in re.findall(r"(?<![\w.'])[A-Z]\w+(?![\w.])", text):
                found = mentioned == "True" or hasattr(TABLES[place][0], mentioned)
                assert found, f"{place}.{name}: {text}: there is no {mentioned}"


def test_every_argument_that_a_hint_names_is_one_of_a_function() -> None:
    """A word that no function, layer or optimiser takes could never be shown."""
    taken: set[str] = set()
    for where in (tt, nn, train):
        for name in where.__all__:
            if callable(getattr(where, name)):
                with contextlib.suppress(ValueError):
                    taken |= inspect.signature(getattr(where, name)).parameters.keys()
    for name, texts in OF_SETTINGS.items():
        words = [t for t in texts if not t.startswith("leave")]
        assert not words or taken & {re.split(r"\W", w)[0] for w in words}, name
