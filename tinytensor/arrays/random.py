"""Explicit random streams.

Four named generators keep the uses of randomness apart: ``init`` (parameters), ``dropout``,
``data`` (which blocks are trained on) and ``sample`` (text generation). Sampling from a model or
evaluating it therefore never changes what training draws next, and a checkpoint that stores their
states continues bit for bit. Numbers are drawn on the host (PCG64) on every device, so that a seed
gives the same run on the CPU and on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..hints.finding import kind_of, missing
from ..hints.other_names import OF_RANDOM

Shape = int | Sequence[int]


class Generator:
    """A random stream over NumPy's PCG64; all draws are host arrays.

    Args:
        seed: an integer >= 0, or None for one from the operating system.
    """

    def __init__(self, seed: int | None = None):
        self.manual_seed(seed)

    def manual_seed(self, seed: int | None) -> Generator:
        """Restart the stream from ``seed`` and return the generator."""
        if seed is not None and (
            isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0
        ):
            raise ValueError(f"seed: expected an integer >= 0 or None, got {seed!r}")
        self._rng = np.random.Generator(np.random.PCG64(seed))
        return self

    def random(self, shape: Shape = (), dtype: Any = np.float64) -> np.ndarray:
        """Uniform numbers in [0, 1), float64 or float32."""
        return np.asarray(self._rng.random(shape, dtype=np.dtype(dtype).type))

    def normal(self, shape: Shape = (), dtype: Any = np.float64) -> np.ndarray:
        """Standard normal numbers, float64 or float32."""
        return np.asarray(self._rng.standard_normal(shape, dtype=np.dtype(dtype).type))

    def integers(self, low: int, high: int, shape: Shape = ()) -> np.ndarray:
        """int64 numbers with ``low <= n < high``."""
        return np.asarray(self._rng.integers(low, high, shape))

    def coins(self, shape: Shape, p: float) -> np.ndarray:
        """Booleans, each True with probability ``p`` rounded to a multiple of 1/65,536.

        Four from one number of the stream, which takes a third of the time of uniform numbers.
        """
        size = int(np.prod(shape, dtype=np.int64))
        drawn = self._rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size]
        return np.asarray(drawn < round(p * 65536)).reshape(shape)

    def categorical(self, weights: np.ndarray, n: int) -> np.ndarray:
        """int64 indices into the last axis, ``n`` for each row, drawn independently with
        probabilities in proportion to ``weights``: (..., k) -> (..., n).

        Args:
            weights: finite numbers >= 0, in each row one above 0.
        """
        bounds = np.cumsum(weights, axis=-1, dtype=np.float64)
        # u in [0, total) falls in the interval of an index whose weight is not 0
        u = self.random((*weights.shape[:-1], n)) * bounds[..., -1:]
        rows = zip(bounds.reshape(-1, bounds.shape[-1]), u.reshape(-1, n), strict=True)
        found = [np.searchsorted(row, at, side="right") for row, at in rows]
        return np.asarray(found, dtype=np.int64).reshape(u.shape)

    def distinct(self, weights: np.ndarray, n: int) -> np.ndarray:
        """As :meth:`categorical`, but each index at most once in a row: one after the other, among
        those that are left. In each row at least ``n`` weights are above 0.

        Exponential waiting times with these rates end in that order (Efraimidis and Spirakis,
        "Weighted random sampling with a reservoir", 2006).
        """
        with np.errstate(divide="ignore"):  # a weight of 0 waits for ever
            waits = np.log(self._rng.standard_exponential(weights.shape)) - np.log(weights)
        return np.argsort(waits, axis=-1, kind="stable")[..., :n]

    def permutation(self, n: int) -> np.ndarray:
        """The numbers 0 to n - 1 in random order, int64."""
        return self._rng.permutation(n)

    def state(self) -> dict[str, Any]:
        """The stream's position as a dict of plain numbers and strings (fit for JSON)."""
        return dict(self._rng.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a position that :meth:`state` returned.

        Raises:
            ValueError: ``state`` is not such a position.
        """
        numbers = state.get("state") if isinstance(state, dict) else None
        if not isinstance(numbers, dict) or state.get("bit_generator") != "PCG64":
            raise ValueError("state: not a PCG64 generator state")
        for name, value, limit in (
            ("state", numbers.get("state"), 1 << 128),
            ("inc", numbers.get("inc"), 1 << 128),
            ("has_uint32", state.get("has_uint32"), 2),
            ("uinteger", state.get("uinteger"), 1 << 32),
        ):
            if type(value) is not int or not 0 <= value < limit:
                raise ValueError(
                    f"state: not a PCG64 generator state ({name}: expected an integer from 0 to "
                    f"{limit - 1}, got {value!r})"
                )
        if numbers["inc"] % 2 == 0:
            raise ValueError("state: not a PCG64 generator state (inc: expected an odd number)")
        self._rng.bit_generator.state = state


NAMES = ("init", "dropout", "data", "sample")
_generators = {name: Generator() for name in NAMES}


def generator(name: str) -> Generator:
    """The generator called ``name``: one of "init", "dropout", "data", "sample"."""
    if name not in _generators:
        raise ValueError(f"name: expected one of {NAMES}, got {name!r}")
    return _generators[name]


def source(given: Generator | None, name: str) -> Generator:
    """The generator that was given, or else the named one. Raises TypeError for anything else."""
    if given is None:
        return generator(name)
    if not isinstance(given, Generator):
        raise TypeError(
            f"generator: expected a tt.Generator or None, got {kind_of(given)}; use "
            "tt.Generator(seed)"
        )
    return given


def manual_seed(seed: int) -> None:
    """Seed the four named generators, each with a stream of its own derived from ``seed``.

    Raises:
        ValueError: ``seed`` is not an integer >= 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed: expected an integer >= 0, got {seed!r}")
    for i, name in enumerate(NAMES):
        _generators[name].manual_seed(int(np.random.SeedSequence([seed, i]).generate_state(1)[0]))


def state() -> dict[str, dict[str, Any]]:
    """The states of the four named generators, fit for JSON."""
    return {name: gen.state() for name, gen in _generators.items()}


def set_state(states: dict[str, dict[str, Any]]) -> None:
    """Put the named generators back to what :func:`state` returned.

    Raises:
        ValueError: a name or a state is none; all generators are as before then.
    """
    for name, value in states.items():
        generator(name)
        Generator(0).set_state(value)
    for name, value in states.items():
        generator(name).set_state(value)


if not TYPE_CHECKING:  # which then knows what is missing
    __getattr__ = missing(__name__, OF_RANDOM)
