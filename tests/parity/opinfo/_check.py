"""Running one entry over all samples of its OpInfo, and comparing."""

from __future__ import annotations

import random
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import tinytensor as tt

from ._entry import Choice, Entry, NotApplicable, Tensors

#: (rtol, atol) per dtype; atol is times the largest number in PyTorch's array, at least 1
TOLERANCE = {"float64": (1e-9, 1e-11), "float32": (1e-4, 1e-5)}


@dataclass
class Result:
    """How the samples of one OpInfo fared in one dtype; each is counted in exactly one place."""

    ours: str
    theirs: str
    variant: str
    family: str
    dtype: str
    samples: int = 0
    passed: int = 0
    not_applicable: Counter[str] = field(default_factory=Counter)
    choices: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    largest: int = 0

    @property
    def id(self) -> str:
        """Such as ``max=max(binary)``."""
        return f"{self.ours}={self.theirs}" + (f"({self.variant})" if self.variant else "")

    @property
    def counts(self) -> dict[str, Any]:
        """All of it in dicts, lists, numbers and strings, which travel between processes."""
        counted = {k: dict(getattr(self, k)) for k in ("not_applicable", "choices")}
        return {**vars(self), **counted}


@cache
def _by_name() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for info in op_db:
        found.setdefault(info.name, []).append(info)
    return found


def infos(entry: Entry) -> list[Any]:
    """The OpInfos of an entry: those of its name, or the one of its variant."""
    named = _by_name().get(entry.theirs, [])
    found = [i for i in named if entry.variant in (None, i.variant_test_name)]
    if not found:
        raise LookupError(
            f"{entry.ours}: PyTorch {torch.__version__} has no OpInfo {entry.theirs!r}"
            + (f" with variant {entry.variant!r}" if entry.variant is not None else "")
            + f"; of that name there are {[i.variant_test_name for i in named]}"
        )
    return found


def namesakes(name: str) -> list[str]:
    """The OpInfos that are called ``name``: in full, after a prefix such as "linalg.", or also."""
    return [
        theirs
        for theirs, found in _by_name().items()
        if name in {n.rpartition(".")[2] for n in (theirs, *(a.name for a in found[0].aliases))}
    ]


def dtypes(info: Any) -> list[str]:
    """float64 and float32, or int64 for what works on integers only."""
    floats = [n for n in TOLERANCE if getattr(torch, n) in info.dtypes]
    return floats or ["int64"]


def samples(info: Any, dtype: str, reference: bool = False) -> list[Any]:
    """All sample inputs, the same on every call; with ``reference`` PyTorch's larger set of them.

    The larger set has strided and huge tensors, NaN, infinities and ties where the operator is
    element by element, and is the same as the smaller one for most others.
    """
    seed = zlib.crc32(f"{info.name}.{info.variant_test_name}".encode())
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    wide = getattr(torch, dtype)
    grad = info.supports_autograd and wide.is_floating_point and wide in info.backward_dtypes
    inputs = info.reference_inputs if reference else info.sample_inputs
    return [_with_leaves(s) for s in inputs("cpu", wide, requires_grad=grad)]


def _with_leaves(sample: Any) -> Any:
    """The sample with a leaf for each of its tensors: some come out of a graph, as views do."""
    made: dict[int, torch.Tensor] = {}

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in made:
            made[id(value)] = value.detach().requires_grad_(value.requires_grad)
        return made[id(value)]

    return sample.transform(leaf)


def check(
    entry: Entry,
    info: Any,
    dtype: str,
    choices: Iterable[Choice] = (),
    reference: bool = False,
) -> Result:
    """Run ``entry`` over every sample of ``info`` in one dtype."""
    result = Result(entry.ours, info.name, info.variant_test_name, entry.family, dtype)
    ours = [c for c in choices if c.ours == entry.ours]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the samples are small: more threads only wait for each other
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for number, sample in enumerate(samples(info, dtype, reference)):
                _count(result, entry, info, number, sample, ours)
    finally:
        torch.set_num_threads(threads)
    result.seconds = time.perf_counter() - start
    return result


def _count(
    result: Result, entry: Entry, info: Any, number: int, sample: Any, choices: Sequence[Choice]
) -> None:
    """Run one sample and put it where it belongs."""
    result.samples += 1
    found = _tensors((sample.input, sample.args, sample.kwargs))
    result.largest = max([result.largest, *(t.numel() for t in found)])
    rtol, atol = entry.tolerance.get(result.dtype, TOLERANCE.get(result.dtype, (0.0, 0.0)))
    try:
        differences = _differences(entry, info, number, sample, rtol, atol)
    except NotApplicable as reason:
        result.not_applicable[str(reason)] += 1
        return
    meant = [c for c in choices if c.when(sample)]
    wrong = [d for d in differences if not any(_covers(c, d) for c in meant)]
    if wrong:
        result.failures.append(f"sample {number}, {described(sample)}\n    " + "\n    ".join(wrong))
    elif differences:
        result.choices[next(c.reason for c in meant if _covers(c, differences[0]))] += 1
    else:
        result.passed += 1


def _covers(choice: Choice, difference: str) -> bool:
    return not choice.gradient_only or difference.startswith("gradient")


def _differences(
    entry: Entry, info: Any, number: int, sample: Any, rtol: float, atol: float
) -> list[str]:
    """What differs between our result for a sample and PyTorch's; nothing where they agree."""
    theirs = _flat(entry.take(info(sample.input, *sample.args, **sample.kwargs)))
    leaves = [t for t in _tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    rng = np.random.default_rng([number, zlib.crc32(entry.theirs.encode())])
    moving = [i for i, y in enumerate(theirs) if isinstance(y, torch.Tensor) and y.requires_grad]
    cotangents = {i: rng.normal(size=tuple(theirs[i].shape)) for i in moving}

    T = Tensors()
    try:
        operands = [T(leaf) for leaf in leaves]
        got = _flat(entry.run(T, sample))
    except NotApplicable:
        raise
    except Exception as error:
        return [f"raised {type(error).__name__}: {error}"]
    if len(got) != len(theirs):
        return [f"gave {len(got)} outputs, expected {len(theirs)}"]
    found = []
    for i, (a, b) in enumerate(zip(got, theirs)):
        if a is not None:
            found += _differ(f"output {i}", _host(a), _numpy(b), rtol, atol)
    compared = [i for i in moving if got[i] is not None]
    if not leaves or not compared:
        return found

    try:
        expected = torch.autograd.grad(
            [theirs[i] for i in compared],
            leaves,
            [torch.from_numpy(cotangents[i]).to(theirs[i].dtype) for i in compared],
            allow_unused=True,
        )
    except RuntimeError as error:
        raise NotApplicable("PyTorch has no gradient here") from error
    flowing = [i for i in compared if isinstance(got[i], tt.Tensor) and got[i].requires_grad]
    gradients: Sequence[Any] = [None] * len(leaves)
    try:
        if flowing:
            upstream = [
                tt.tensor(cotangents[i].astype(got[i].dtype.name)).reshape(got[i].shape)
                for i in flowing
            ]
            outputs = [got[i] for i in flowing]
            gradients = tt.grad(outputs, operands, upstream, allow_unused=True)
    except Exception as error:
        return [*found, f"gradient: raised {type(error).__name__}: {error}"]
    for i, (g, e, leaf) in enumerate(zip(gradients, expected, leaves)):
        zero = np.zeros(tuple(leaf.shape), str(leaf.dtype).removeprefix("torch."))
        a, b = zero if g is None else _host(g), zero if e is None else _numpy(e)
        found += _differ(f"gradient of operand {i}", a, b, rtol, atol)
    return found


def _differ(what: str, got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> list[str]:
    """One line if an array is not what it should be."""
    if got.shape != want.shape:
        return [f"{what}: shape {got.shape}, expected {want.shape}"]
    if got.dtype != want.dtype:
        return [f"{what}: dtype {got.dtype}, expected {want.dtype}"]
    if want.dtype.kind != "f":
        bad = got != want
    else:
        finite = np.abs(want[np.isfinite(want)])
        bad = ~np.isclose(
            got, want, rtol=rtol, atol=atol * max(1.0, finite.max(initial=0.0)), equal_nan=True
        )
    if not bad.any():
        return []
    place = tuple(int(p) for p in np.argwhere(bad)[0])
    return [
        f"{what}: {int(bad.sum())} of {got.size} numbers, first at {place}: "
        f"{got[place]!r}, expected {want[place]!r}"
    ]


def _flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [y for part in result for y in _flat(part)]
    return [result]


def _tensors(value: Any) -> list[torch.Tensor]:
    """The distinct tensors in a nest, in order."""
    found: dict[int, torch.Tensor] = {}

    def walk(part: Any) -> None:
        if isinstance(part, torch.Tensor):
            found[id(part)] = part
        elif isinstance(part, (list, tuple)):
            for p in part:
                walk(p)
        elif isinstance(part, dict):
            for p in part.values():
                walk(p)

    walk(value)
    return list(found.values())


def _host(value: Any) -> np.ndarray:
    if isinstance(value, tt.Tensor):
        return np.asarray(value.device.to_host(value.data))
    return np.asarray(value)


def _numpy(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        return np.asarray(value.numpy(force=True))
    return np.asarray(value)


def described(sample: Any) -> str:
    """A sample in one line: dtypes and shapes for tensors, everything else as it is."""

    def show(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{tuple(value.shape)}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(show(v) for v in value) + "]"
        return repr(value)

    words = [show(v) for v in (sample.input, *sample.args)]
    return ", ".join(words + [f"{k}={show(v)}" for k, v in sample.kwargs.items()])
