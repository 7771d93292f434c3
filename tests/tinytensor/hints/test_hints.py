"""A user of PyTorch or NumPy who tries a name from there is told the one from here."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import inspect
import math
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import tinytensor as tt
from tinytensor import models, nn, train
from tinytensor.hints import other_functions, other_names
from tinytensor.hints.other_settings import OF_SETTINGS

from ..helpers import const, leaf

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
    "tt.save": (lambda x: tt.save(x), AttributeError, r"tt\.nn\.save_weights\(model"),
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
    "x + None": (lambda x: x + None, TypeError, "add: y: expected a Tensor, .* got None"),
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
    "a function as a method": (lambda x: x.arccos(), AttributeError, r"use tt\.arccos\(x, "),
    "such a one in place": (lambda x: x.arccos_(), AttributeError, r"use x = tt\.arccos\(x"),
    "a function in place": (lambda x: tt.relu_(x), AttributeError, r"use x = tt\.relu\(x"),
    "NumPy's": (lambda x: tt.histogram(x), AttributeError, r"np\.histogram\(x\.numpy\(\)\) does"),
    "x.unique": (lambda x: x.unique(), AttributeError, r"np\.unique\(x\.numpy\(\)\) does"),
    "tt.Linear": (lambda x: tt.Linear, AttributeError, r"use tt\.nn\.Linear"),
    "tt.Adam": (lambda x: tt.Adam, AttributeError, r"use tt\.train\.Adam"),
    "tt.linalg": (lambda x: tt.linalg.norm(x), AttributeError, r"tt itself: tt\.inv, "),
    "tt.index_put": (lambda x: tt.index_put(x), AttributeError, r"tt\.at\(x, index\)\.set\(v\)"),
    "leave it out": (lambda x: tt.compile(x), AttributeError, "; leave it out: ops run as"),
    "functional.relu": (lambda x: tt.functional.relu(x), AttributeError, r"use tt\.relu"),
    "autograd.Function": (lambda x: tt.autograd.Function, AttributeError, r"use tt\.custom_op"),
    "nn.MultiheadAttention": (lambda x: nn.MultiheadAttention, AttributeError, "MultiHeadAtt"),
    "nn.functional": (lambda x: nn.functional.relu(x), AttributeError, r"use tt itself: F\.relu"),
    "nn.relu": (lambda x: nn.relu(x), AttributeError, r"use tt\.relu"),
    "nn.Linaer": (lambda x: nn.Linaer, AttributeError, r"did you mean Linear\?"),
    "nn.Adam": (lambda x: nn.Adam, AttributeError, r"use tt\.train\.Adam"),
    "init.xavier_uniform": (lambda x: nn.init.xavier_uniform, AttributeError, "xavier_uniform_"),
    "train.DataLoader": (lambda x: train.DataLoader, AttributeError, "use TokenStream"),
    "optim.RMSprop": (lambda x: train.optim.RMSprop, AttributeError, "use Adam or AdamW"),
    "models.LSTM": (lambda x: models.LSTM, AttributeError, "use LSTMLM"),
    "random.seed": (lambda x: tt.random.seed(0), AttributeError, r"use tt\.manual_seed\(seed\)"),
    "random.randn": (lambda x: tt.random.randn(2), AttributeError, r"use tt\.randn"),
    "cuda.manual_seed": (lambda x: tt.cuda.manual_seed(0), AttributeError, r"tt\.manual_seed"),
    "model.cuda": (lambda x: NET.cuda(), AttributeError, r"use model\.to\('cuda'\)"),
    "model.device": (lambda x: NET.device, AttributeError, r"next\(model\.parameters\(\)\)\.d"),
    "model.weigth": (lambda x: NET.weigth, AttributeError, r"did you mean weight\?"),
    "optimizer": (lambda x: SGD.learning_rate, AttributeError, r"use optimizer\.lr"),
    "Linear(dtype=)": (
        lambda x: nn.Linear(2, 2, dtype="int64"), TypeError, r"^Linear\(\).*'dtype'; leave it out",
    ),
    "Dropout(inplace=)": (lambda x: nn.Dropout(0.5, inplace=True), TypeError, "leave it out: the"),
    "CrossEntropyLoss(reduce=)": (
        lambda x: nn.CrossEntropyLoss(reduce=False), TypeError, "use reduction='none'",
    ),
    "a typing mistake in a setting": (
        lambda x: nn.Linear(2, out_featurs=2), TypeError, r"did you mean out_features\?",
    ),
    "Adam(amsgrad=)": (lambda x: train.Adam([x], amsgrad=True), TypeError, "leave it out: there"),
    "SGD(learning_rate=)": (lambda x: train.SGD([x], learning_rate=1.0), TypeError, "use lr$"),
    "SGD(parameters)": (lambda x: train.SGD(NET.parameters), TypeError, r"a method; call it, as"),
    "var(unbiased=)": (lambda x: x.var(unbiased=True), TypeError, "use ddof: 1 is unbiased"),
    "tt.std(unbiased=)": (lambda x: tt.std(x, unbiased=True), TypeError, "use ddof: 1 is unb"),
    "zeros(size=)": (lambda x: tt.zeros(size=(2,)), TypeError, r"without a name, as \(2,\) alone"),
    "linspace(steps=)": (lambda x: tt.linspace(0, 1, steps=3), TypeError, "use num$"),
    "clip(min=)": (lambda x: x.clip(min=0), TypeError, "use low$"),
    "concat(dim=)": (lambda x: tt.concat([x, x], dim=0), TypeError, "use axis$"),
    "x.add(alpha=)": (lambda x: x.add(1, alpha=2), TypeError, r"; use other multiplied by it: al"),
    "tt.sub(alpha=)": (lambda x: tt.sub(x, 1, alpha=2), TypeError, r"; use y multiplied by it: al"),
    "svd(some=)": (lambda x: tt.svd(x, some=True), TypeError, "use full_matrices=False: the third"),
    "multinomial(seed=)": (
        lambda x: tt.multinomial(x, 1, seed=3), TypeError, r"use generator=tt\.Generator\(seed\)$",
    ),
    "interpolate(scale=)": (lambda x: tt.interpolate(x, scale=2), TypeError, "use scale_factor$"),
    "values of a maximum": (lambda x: x.max(0).values, AttributeError, "use x itself: max, min an"),
    "indices of one": (lambda x: x.max(0).indices, AttributeError, r"use x\.argmax\(axis\)"),
    "x.char": (lambda x: x.char(), AttributeError, r"use x\.astype\('int8'\)"),
    "tt.unsqueeze": (lambda x: tt.unsqueeze(x, 0), AttributeError, r"use tt\.expand_dims"),
    "tt.getitem": (lambda x: tt.getitem(x, 0), AttributeError, r"use x\[index\]$"),
    "tt.index_set": (lambda x: tt.index_set(x, 0, x), AttributeError, r"use tt\.at\(x, index\)"),
    "autograd.backward": (lambda x: tt.autograd.backward(x), AttributeError, r"use loss\.backward"),
    "flatten(start_dim=)": (lambda x: x.flatten(start_dim=0), TypeError, "use start$"),
}  # fmt: skip
NET = nn.Linear(2, 2)
SGD = train.SGD([leaf([1.0])])


@pytest.mark.parametrize("tried", TRIED)
def test_hint(tried: str) -> None:
    call, kind, text = TRIED[tried]
    with pytest.raises(kind, match=text):
        call(leaf([1.0, 2.0]))


IMPORTS = {
    "from tinytensor import optim": r"'tinytensor'; use tt\.train\.optim",
    "from tinytensor import Linear": r"use tt\.nn\.Linear",
    "from tinytensor.nn import functional as F": r"use tt itself: F\.relu\(x\) is tt\.relu\(x\)",
    "from tinytensor.nn import MultiheadAttention": r"use nn\.MultiHeadAttention",
    "from tinytensor.nn.init import xavier_uniform": "did you mean xavier_uniform_",
    "from tinytensor.train import DataLoader": "use TokenStream",
    "from tinytensor.train.optim import RMSprop": "use Adam or AdamW",
    "from tinytensor.models import GPT2": "use GPT$",
    "from tinytensor.random import seed": r"use tt\.manual_seed",
    "from tinytensor import nothing_like_it": "nothing_like_it' from 'tinytensor'$",
}


@pytest.mark.parametrize("line", IMPORTS)
def test_an_import_says_what_a_name_is_called_here(line: str) -> None:
    with pytest.raises(ImportError, match=IMPORTS[line]):
        exec(line, {})


MODULES = {
    "import tinytensor.nn.functional as F": r"; use tt itself: F\.relu\(x\) is tt\.relu\(x\)",
    "import tinytensor.optim as optim": r"'tinytensor\.optim'; use tt\.train\.optim",
    "import tinytensor.optim.lr_scheduler": r"'tinytensor\.optim'; use tt\.train\.optim",
    "from tinytensor.optim import Adam": r"'tinytensor\.optim'; use tt\.train\.optim",
    "from tinytensor.nn.utils import clip_grad_norm_": r"; use tt\.train\.clip_grad_norm",
    "import tinytensor.relu": "; it is no module: from tinytensor import relu$",
    "import tinytensor.nothing_like_it": "'tinytensor.nothing_like_it'$",
    "import tinytensor.nn.nothing_like_it": "'tinytensor.nn.nothing_like_it'$",
    "from tinytensor.creation import zeros": r"; did you mean tinytensor\.tensor\.creation\?$",
    "import tinytensor.grad_mode": r"; did you mean tinytensor\.graph\.grad_mode\?$",
}


@pytest.mark.parametrize("line", MODULES)
def test_importing_a_module_says_what_it_is_called_here(line: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=MODULES[line]) as error:
        exec(line, {})
    assert error.value.name is not None and error.value.name.startswith("tinytensor.")
    assert importlib.util.find_spec(error.value.name) is None  # which only asks
    with pytest.raises(ModuleNotFoundError, match="^No module named 'nothing_like_it'$"):
        importlib.import_module("nothing_like_it")


SHORT = {
    "import tinytensor.random as there": tt.random,
    "import tinytensor.cuda as there": tt.cuda,
    "import tinytensor.autograd as there": tt.autograd,
    "import tinytensor.functional as there": tt.functional,
    "import tinytensor.registry as there": tt.registry,
    "from tinytensor.random import Generator as there": tt.Generator,
    "from tinytensor.device import Device as there": tt.Device,
    "from tinytensor.functional import vjp as there": tt.functional.vjp,
    "from tinytensor.registry import OPS as there": tt.registry.OPS,
    "from tinytensor.tensor import Tensor as there": tt.Tensor,
}


@pytest.mark.parametrize("line", SHORT)
def test_public_modules_are_imported_by_their_short_names(line: str) -> None:
    names: dict[str, Any] = {}
    exec(line, names)
    assert names["there"] is SHORT[line]


def test_what_is_not_there_can_be_asked_for() -> None:
    for where in (tt, nn, train, models, tt.random, tt.cuda, nn.init, NET, SGD, const([1.0])):
        assert not hasattr(where, "functional_") and not hasattr(where, "__nothing__")
        assert getattr(where, "nothing_like_it", 3) == 3


def test_an_error_inside_a_property_is_the_one_that_is_seen() -> None:
    class Net(nn.Module):
        @property
        def width(self) -> int:
            return self.inner.out_features

    with pytest.raises(AttributeError, match="no attribute 'inner'"):
        Net().width  # noqa: B018


def test_settings_that_hint_leave_classes_and_functions_as_they_were() -> None:
    assert str(inspect.signature(nn.Linear)).startswith("(in_features: 'int', out_features")
    assert pickle.loads(pickle.dumps(tt.reshape)) is tt.reshape
    assert tt.reshape.__doc__ == tt.operations.reshape.__doc__
    layer = copy.deepcopy(nn.ReLU())
    assert pickle.loads(pickle.dumps(layer))(const([-1.0])).tolist() == [0]

    class Wide(nn.Linear):
        def __init__(self, n: int):
            super().__init__(n, 2 * n)

    assert Wide(2).weight.shape == (4, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'$"):
        Wide(dim=3)


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
    "train": (train, train.given.other_names.OF_TRAIN),
    "optimizer": (train.SGD([leaf([1.0])]), train.given.other_names.OF_OPTIMIZER),
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
