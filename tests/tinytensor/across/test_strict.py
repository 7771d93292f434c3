"""The stand-in device refuses what CuPy refuses and answers as CuPy answers.

The same table runs against CuPy itself where there is a GPU, so the stand-in cannot drift.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import strict

HOST = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(params=["strict", pytest.param("cuda", marks=pytest.mark.cuda)])
def lib(request: pytest.FixtureRequest) -> Any:
    if request.param == "strict":
        return SimpleNamespace(xp=strict.xp, strict=True, get=strict.to_host)
    import cupy

    return SimpleNamespace(xp=cupy, strict=False, get=cupy.asnumpy)


def _set(a: Any, index: Any, value: Any) -> Any:
    a = a.copy()
    a[index] = value
    return a


def _iadd(a: Any, b: Any) -> Any:
    a = a.copy()
    a += b
    return a


REFUSED = [
    ("device + host", TypeError, lambda xp, a: a + HOST),
    ("host + device", TypeError, lambda xp, a: HOST + a),
    ("device + host 0-d", TypeError, lambda xp, a: a + np.array(1.0)),
    ("device + list", TypeError, lambda xp, a: a + [1, 2, 3]),
    ("device += host", TypeError, lambda xp, a: _iadd(a, HOST)),
    ("device == host", TypeError, lambda xp, a: a == HOST),
    ("matmul host", TypeError, lambda xp, a: a @ HOST.T),
    ("host matmul", TypeError, lambda xp, a: HOST.T @ a),
    ("np.asarray", TypeError, lambda xp, a: np.asarray(a)),
    ("np.array", TypeError, lambda xp, a: np.array(a)),
    ("ufunc of host", TypeError, lambda xp, a: xp.exp(HOST)),
    ("ufunc of list", TypeError, lambda xp, a: xp.exp([1.0, 2.0])),
    ("ufunc where", TypeError, lambda xp, a: xp.exp(a, where=a > 1)),
    ("ufunc order", TypeError, lambda xp, a: xp.exp(a, order="C")),
    ("ufunc out host", TypeError, lambda xp, a: xp.exp(a, out=np.empty_like(HOST))),
    ("where host", TypeError, lambda xp, a: xp.where(HOST > 1, a, 0)),
    ("clip host", TypeError, lambda xp, a: xp.clip(a, HOST, None)),
    ("concatenate host", TypeError, lambda xp, a: xp.concatenate([a, HOST])),
    ("stack lists", TypeError, lambda xp, a: xp.stack([[1, 2], [3, 4]])),
    ("broadcast a number", TypeError, lambda xp, a: xp.broadcast_to(2.0, (2, 2))),
    ("sum where", TypeError, lambda xp, a: xp.sum(a, where=a > 1)),
    ("sum method where", TypeError, lambda xp, a: a.sum(where=a > 1)),
    ("max initial", TypeError, lambda xp, a: xp.max(a, initial=0)),
    ("max method initial", TypeError, lambda xp, a: a.max(initial=0)),
    ("sum of list", (TypeError, AttributeError), lambda xp, a: xp.sum([1, 2])),
    ("sum of number", (TypeError, AttributeError), lambda xp, a: xp.sum(2.0)),
    ("maximum.reduce", NotImplementedError, lambda xp, a: xp.maximum.reduce(a)),
    ("multiply.at", NotImplementedError, lambda xp, a: xp.multiply.at(a, xp.array([0]), 1.0)),
    (
        "subtract.at float",
        (TypeError, NotImplementedError),
        lambda xp, a: xp.subtract.at(a, xp.array([0]), 1.0),
    ),
    ("add.at bool", TypeError, lambda xp, a: xp.add.at(a > 1, xp.array([0]), True)),
    ("add.at int16", TypeError, lambda xp, a: xp.add.at(a.astype("i2"), xp.array([0]), 1)),
    ("assign host", ValueError, lambda xp, a: _set(a, ..., HOST)),
    ("assign list", ValueError, lambda xp, a: _set(a, ..., [1, 2, 3])),
    ("int += float", TypeError, lambda xp, a: _iadd(xp.arange(3), 0.5)),
    ("integer out of range", IndexError, lambda xp, a: a[5]),
    ("float index", IndexError, lambda xp, a: a[xp.array([0.5])]),
    ("object array", ValueError, lambda xp, a: xp.array([object()])),
    ("string array", ValueError, lambda xp, a: xp.array(["a"])),
    ("hash", TypeError, lambda xp, a: hash(a.sum())),
    ("range", TypeError, lambda xp, a: range(xp.array(3))),
    ("len of 0-d", TypeError, lambda xp, a: len(a.sum())),
    ("iterate 0-d", TypeError, lambda xp, a: list(a.sum())),
    ("truth of many", ValueError, lambda xp, a: bool(a)),
    ("max of nothing", ValueError, lambda xp, a: xp.max(xp.zeros((0,)))),
    ("bool minus bool", TypeError, lambda xp, a: (a > 1) - (a > 2)),
    ("setflags", AttributeError, lambda xp, a: a.setflags(write=False)),
    ("errstate", AttributeError, lambda xp, a: xp.errstate),
    ("unknown name", AttributeError, lambda xp, a: xp.trapezium),
    ("astype casting", TypeError, lambda xp, a: a.astype("f8", casting="safe")),
]

STRICTER = [
    ("np.exp", TypeError, lambda xp, a: np.exp(a)),
    ("np.concatenate", TypeError, lambda xp, a: np.concatenate([a, a])),
    ("np.sum", TypeError, lambda xp, a: np.sum(a)),
    ("list index", TypeError, lambda xp, a: a[[0, 1]]),
    ("host index", TypeError, lambda xp, a: a[np.array([0, 1])]),
    ("host index in a tuple", TypeError, lambda xp, a: a[:, np.array([0, 1])]),
    ("host mask", TypeError, lambda xp, a: a[HOST > 1]),
    ("take with a list", TypeError, lambda xp, a: xp.take(a, [0, 1])),
    ("add.at host index", TypeError, lambda xp, a: xp.add.at(a, np.array([0]), 1.0)),
    ("add.reduce", NotImplementedError, lambda xp, a: xp.add.reduce(a)),
    ("add.accumulate", NotImplementedError, lambda xp, a: xp.add.accumulate(a)),
    ("race", RuntimeError, lambda xp, a: _set(a, xp.array([0, 0]), a)),
    ("random", AttributeError, lambda xp, a: xp.random),
]


@pytest.mark.parametrize("error, statement", [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_refuses_what_cupy_refuses(lib: Any, error: Any, statement: Any) -> None:
    a = lib.xp.asarray(HOST)
    with pytest.raises(error):
        statement(lib.xp, a)


@pytest.mark.parametrize(
    "error, statement", [c[1:] for c in STRICTER], ids=[c[0] for c in STRICTER]
)
def test_refuses_hidden_copies_and_races(error: Any, statement: Any) -> None:
    with pytest.raises(error):
        statement(strict.xp, strict.xp.asarray(HOST))


RESULTS = [
    ("add", np.float32, HOST + HOST, lambda xp, a: a + a),
    ("number keeps float32", np.float32, HOST * 2, lambda xp, a: 2.0 * a),
    ("np.float64 widens", np.float64, HOST * 2.0, lambda xp, a: np.float64(2) * a),
    ("power", np.float32, HOST**2, lambda xp, a: a**2),
    ("matmul", np.float32, HOST @ HOST.T, lambda xp, a: a @ a.T),
    ("sum is 0-d", np.float32, HOST.sum(), lambda xp, a: a.sum()),
    ("element is 0-d", np.float32, HOST[1, 2], lambda xp, a: a[1, 2]),
    ("argmax is 0-d", np.int64, np.int64(5), lambda xp, a: xp.argmax(a)),
    ("index wraps", np.float32, HOST[[0, 1]], lambda xp, a: a[xp.array([0, 3])]),
    ("index wraps below", np.float32, HOST[:, [2, 1]], lambda xp, a: a[:, xp.array([-1, 4])]),
    ("after ellipsis", np.float32, HOST[..., [1]], lambda xp, a: a[..., xp.array([4])]),
    ("after newaxis", np.float32, HOST[None, [1]], lambda xp, a: a[None, xp.array([3])]),
    (
        "after mask",
        np.float32,
        HOST[[1], [2]],
        lambda xp, a: a[xp.array([False, True]), xp.array([5])],
    ),
    ("take wraps", np.float32, HOST[:, [1]], lambda xp, a: xp.take(a, xp.array([7]), axis=1)),
    (
        "take_along_axis wraps",
        np.float32,
        HOST[[0, 1], [2, 1]][:, None],
        lambda xp, a: xp.take_along_axis(a, xp.array([[5], [1]]), axis=1),
    ),
    ("0-d index", np.float32, HOST[1], lambda xp, a: a[xp.array(1)]),
    ("mask", np.float32, HOST[HOST > 1], lambda xp, a: a[a > 1]),
    ("fill", np.float32, np.full_like(HOST, 3), lambda xp, a: _set(a, ..., np.float64(3))),
    ("clip", np.float32, HOST.clip(None, 1), lambda xp, a: xp.clip(a, None, 1)),
    ("where", np.float32, np.where(HOST > 1, HOST, 0), lambda xp, a: xp.where(a > 1, a, 0.0)),
    ("split", np.float32, HOST[:, 1:], lambda xp, a: xp.split(a, [1], axis=1)[1]),
    ("reversed", np.float32, HOST[::-1], lambda xp, a: a[::-1]),
    ("deepcopy", np.float32, HOST, lambda xp, a: copy.deepcopy(a)),
    ("log of zero", np.float32, np.float32(-np.inf), lambda xp, a: xp.log(a[0, 0])),
]


@pytest.mark.parametrize(
    "dtype, value, statement", [c[1:] for c in RESULTS], ids=[c[0] for c in RESULTS]
)
def test_same_answer_as_cupy(lib: Any, dtype: Any, value: Any, statement: Any) -> None:
    result = statement(lib.xp, lib.xp.asarray(HOST))
    assert isinstance(result, lib.xp.ndarray)
    assert result.dtype == dtype
    assert result.shape == np.shape(value)
    np.testing.assert_allclose(lib.get(result), value, rtol=1e-6)


def test_add_at_sums_repeats_and_widths(lib: Any) -> None:
    a = lib.xp.zeros((3, 2), dtype=np.float32)
    lib.xp.add.at(a, lib.xp.array([0, 0, 2]), lib.xp.ones((3, 2), dtype=np.float64))
    np.testing.assert_array_equal(lib.get(a), [[2, 2], [0, 0], [1, 1]])


def test_writeable_flag_has_no_effect(lib: Any) -> None:
    a = lib.xp.zeros(2)
    a.flags.writeable = False
    a[0] = 1.0
    assert float(a[0]) == 1.0


def test_views_share_memory_and_results_do_not(lib: Any) -> None:
    a = lib.xp.zeros((2, 3))
    a.T[0] = 7.0
    a.reshape(-1)[1] = 5.0
    np.testing.assert_array_equal(lib.get(a), [[7, 5, 0], [7, 0, 0]])
    copied = a.get()
    copied[...] = 0
    assert float(a[0, 0]) == 7.0
    assert (a.T + 1).flags.c_contiguous


def test_unset_memory_shows() -> None:
    assert np.isnan(strict.to_host(strict.xp.empty((2,), dtype=np.float32))).all()
    assert np.isnan(strict.to_host(strict.xp.empty_like(strict.xp.zeros(2)))).all()
