"""How tensors print: options everywhere, in a block, in a thread, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    tt.set_printoptions(profile="default")


def test_without_options_it_prints_as_numpy_does() -> None:
    x = tt.tensor([[1.5, -2.25], [1e-9, 3.0]])
    expected = np.array2string(x.data, separator=", ", prefix="tensor(")
    assert repr(x) == f"tensor({expected})"
    with np.printoptions(precision=1):
        assert repr(tt.tensor([1.26])) == "tensor([1.3])"


def test_each_option() -> None:
    x = tt.tensor([1.23456, -2.0])
    tt.set_printoptions(precision=2)
    assert repr(x) == "tensor([ 1.23, -2.  ])"
    tt.set_printoptions(threshold=5, edgeitems=1)
    assert repr(tt.arange(9)) == "tensor([0, ..., 8], dtype=int64)"
    tt.set_printoptions(threshold=tt.inf, linewidth=30)
    assert "..." not in repr(tt.arange(2000))
    assert max(map(len, repr(tt.arange(2000)).splitlines()[:-1])) <= 30


def test_powers_of_ten_always_or_never() -> None:
    x = tt.tensor([1500.0, -0.00001])
    tt.set_printoptions(precision=2, sci_mode=True)
    assert repr(x) == "tensor([ 1.50e+03, -1.00e-05])"
    assert repr(tt.tensor([1.0, tt.inf])) == "tensor([1.00e+00, inf])"
    tt.set_printoptions(sci_mode=False, precision=6)
    assert "e" not in repr(x).removeprefix("tensor")
    assert repr(tt.tensor([1e20, 1.5], dtype="float64")).count("e") == 2  # of tensor and dtype
    tt.set_printoptions(suppress=False)
    assert tt.get_printoptions()["sci_mode"] is None
    tt.set_printoptions(suppress=True)
    assert tt.get_printoptions()["sci_mode"] is False


def test_profiles() -> None:
    tt.set_printoptions(profile="short")
    assert tt.get_printoptions()["precision"] == 2
    tt.set_printoptions(profile="full", precision=3)
    assert tt.get_printoptions()["precision"] == 3
    assert "..." not in repr(tt.arange(3000))
    tt.set_printoptions(profile="default")
    assert tt.get_printoptions()["precision"] == np.get_printoptions()["precision"]


def test_what_is_told_can_be_set_again() -> None:
    tt.set_printoptions(precision=3, threshold=7, edgeitems=2, linewidth=60, sci_mode=True)
    told = tt.get_printoptions()
    assert told == {
        "precision": 3, "threshold": 7, "edgeitems": 2, "linewidth": 60, "sci_mode": True,
    }  # fmt: skip
    tt.set_printoptions(profile="default")
    tt.set_printoptions(**told)
    assert tt.get_printoptions() == told


def test_a_block_ends_and_blocks_nest() -> None:
    x = tt.tensor([1.23456])
    with tt.printoptions(precision=3) as around:
        assert around["precision"] == 3 and repr(x) == "tensor([1.235])"
        with tt.printoptions(sci_mode=True):
            assert repr(x) == "tensor([1.235e+00])"
            with tt.printoptions(precision=1):
                assert repr(x) == "tensor([1.2e+00])"
        assert repr(x) == "tensor([1.235])"
    assert repr(x) == "tensor([1.23456])"
    with pytest.raises(KeyError), tt.printoptions(precision=1):
        raise KeyError
    assert repr(x) == "tensor([1.23456])"


def test_a_block_is_of_its_thread_and_set_is_of_all() -> None:
    seen = []

    def other() -> None:
        seen.append(repr(tt.tensor([1.23456])))

    def run() -> str:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return seen.pop()

    with tt.printoptions(precision=1):
        assert run() == "tensor([1.23456])"
    tt.set_printoptions(precision=2)
    assert run() == "tensor([1.23])"


def test_numpys_own_options_stay() -> None:
    before = np.get_printoptions()
    tt.set_printoptions(precision=1, threshold=3, edgeitems=1, linewidth=20, sci_mode=True)
    repr(tt.randn(10))
    with tt.printoptions(suppress=True):
        repr(tt.randn(10))
    assert np.get_printoptions() == before


@pytest.mark.parametrize("who", ["set_printoptions", "printoptions"])
@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"precision": -1}, ValueError, "precision: expected an integer from 0 to 100, got -1"),
        ({"precision": 1.5}, TypeError, "precision: expected an integer, got float"),
        ({"precision": True}, TypeError, "precision: expected an integer, got bool"),
        ({"threshold": "x"}, TypeError, "threshold: expected an integer or tt.inf, got str"),
        ({"edgeitems": -2}, ValueError, "edgeitems: expected an integer >= 0, got -2"),
        ({"linewidth": 0}, ValueError, "linewidth: expected an integer >= 1, got 0"),
        ({"sci_mode": 1}, TypeError, "sci_mode: expected True, False or None, got int"),
        ({"sci_mode": True, "suppress": True}, ValueError, "say the same in two ways"),
        ({"profile": "long"}, ValueError, "profile: expected one of 'default', 'short', 'full'"),
        ({"precison": 2}, TypeError, "precison"),
    ],
)
def test_what_is_refused(who: str, given: dict, error: type, message: str) -> None:
    before = tt.get_printoptions()
    with pytest.raises(error, match=message):
        getattr(tt, who)(**given)
    assert tt.get_printoptions() == before


def test_a_parameter_says_what_it_is() -> None:
    w = nn.Parameter([1.0, 2.0])
    assert repr(w) == "Parameter([1., 2.], requires_grad=True)"
