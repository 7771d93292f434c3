"""Our functions give PyTorch's values and gradients over PyTorch's own samples (see `opinfo/`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.arrays.device import Device
from tinytensor.define import op as registry

from .summary import KEY

torch = pytest.importorskip("torch", reason="parity needs PyTorch (pip install torch)")
pytest.importorskip("expecttest", reason="PyTorch's samples need it (pip install expecttest)")

from .opinfo import CHOICES, ENTRIES, WITHOUT, Choice, Entry, Result, check, infos  # noqa: E402
from .opinfo._check import dtypes, namesakes  # noqa: E402


def _runs(only: str = "") -> list[Any]:
    """Every entry with every OpInfo of its own, in each dtype, or in one where there are two."""
    found = []
    for entry in ENTRIES:
        try:
            known = infos(entry)
        except LookupError as error:
            found.append(pytest.param(entry, error, "", id=f"{entry.ours}={entry.theirs}-unknown"))
            continue
        for info in known:
            variant = f"({info.variant_test_name})" if info.variant_test_name else ""
            found += [
                pytest.param(entry, info, d, id=f"{entry.ours}={info.name}{variant}-{d}")
                for d in dtypes(info)
                if only in ("", d) or only not in dtypes(info)
            ]
    return found


def _assert_right(result: Result) -> None:
    if result.failures:
        few = "\n".join(result.failures[:5])
        pytest.fail(f"{len(result.failures)} of {result.samples} samples:\n{few}", pytrace=False)
    assert result.passed, f"of {result.samples} samples not one passed: {result.not_applicable}"


@pytest.mark.parametrize(("entry", "info", "dtype"), _runs())
def test_samples(
    entry: Entry, info: Any, dtype: str, record_property: Callable[[str, Any], None]
) -> None:
    if isinstance(info, LookupError):
        raise info
    result = check(entry, info, dtype, CHOICES)
    record_property(KEY, result.counts)
    _assert_right(result)


@pytest.mark.parametrize(("entry", "info", "dtype"), _runs("float32"))
def test_samples_on_other_devices(
    entry: Entry, info: Any, dtype: str, other_device: Device
) -> None:
    if isinstance(info, LookupError):
        raise info
    with other_device:
        _assert_right(check(entry, info, dtype, CHOICES))


def test_every_namesake_is_mapped() -> None:
    functions = [e.function for e in ENTRIES]
    ours = {*registry.OPS, *tt.operations.__all__} - WITHOUT.keys() - {e.ours for e in ENTRIES}
    missing = {
        name: namesakes(name)
        for name in sorted(ours)
        # another name of a mapped function, such as arccos of acos, is mapped with it
        if namesakes(name) and not any(getattr(tt, name, None) is f for f in functions)
    }
    assert not missing, f"give {list(missing)} an Entry, or a reason in WITHOUT: {missing}"


def test_what_has_no_entry_has_a_reason() -> None:
    assert not WITHOUT.keys() & {e.ours for e in ENTRIES}
    assert all(len(reason.split()) > 3 for reason in WITHOUT.values())


def test_no_entry_stands_twice() -> None:
    runs = [p.id for p in _runs()]
    assert sorted(set(runs)) == sorted(runs)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.ours}: {c.reason}")
def test_every_choice_is_needed(choice: Choice) -> None:
    mine = [e for e in ENTRIES if e.ours == choice.ours]
    results = [check(e, i, dtypes(i)[0], [choice]) for e in mine for i in infos(e)]
    assert any(r.choices for r in results), "no sample differs for this reason: take it out"


# -- the suite itself ---------------------------------------------------------------------
def _fails(fn: Callable[..., Any], theirs: str, dtype: str = "float64") -> list[str]:
    entry = Entry("add", theirs, call=lambda T, s: fn(T(s.input), *T(s.args)))
    return check(entry, infos(entry)[0], dtype).failures


@pytest.mark.parametrize(
    ("fn", "theirs", "said"),
    [
        (lambda x: x.exp() * (1 + 1e-6), "exp", "output 0"),
        (lambda x: x.exp().detach(), "exp", "gradient of operand 0"),
        (lambda x: x.exp() + (x - x.detach()), "exp", "gradient of operand 0"),
        (lambda x: x.exp().astype("float32"), "exp", "dtype float32"),
        (lambda x: tt.expand_dims(x.exp(), 0), "exp", "shape"),
        (lambda x: (x.exp(), x), "exp", "2 outputs"),
        (lambda x: tt.matmul(x, x), "exp", "raised"),
        (lambda x, y: x * y.detach(), "mul", "gradient of operand 1"),
        (lambda x, y: x + tt.sum(y), "add", "shape"),
    ],
)
def test_faults_are_noticed(fn: Callable[..., Any], theirs: str, said: str) -> None:
    assert any(said in failure for failure in _fails(fn, theirs))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_right_passes(dtype: str) -> None:
    assert not _fails(lambda x: x.exp(), "exp", dtype)
    assert not _fails(lambda x, y: x * y, "mul", dtype)
