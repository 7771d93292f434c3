"""Checking gradients against finite differences, with a report that says what looks wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..arrays.random import Generator
from ..graph.grad_mode import enable_grad
from ..hints.finding import kind_of
from ..shown import html
from ..tensor.tensor import Tensor, tensor
from .grad import grad

T = TypeVar("T")


@dataclass
class InputReport:
    """How one input fared: the worst element and, where it is wrong, a guess at the mistake."""

    name: str
    shape: tuple[int, ...]
    passed: bool
    checked: int
    worst: tuple[int, ...] | None = None
    analytic: float = 0.0
    numeric: float = 0.0
    hint: str = ""

    def __str__(self) -> str:
        head = (
            f"{self.name} {self.shape}: {'ok' if self.passed else 'WRONG'}, {self.checked} elements"
        )
        if self.worst is None:
            return head
        place = f"[{', '.join(map(str, self.worst))}]" if self.worst else ""
        line = (
            f"{head}, worst at {self.name}{place}: backward {self.analytic:.9g}, "
            f"differences {self.numeric:.9g}"
        )
        return line + (f"\n    {self.hint}" if self.hint else "")


@dataclass(repr=False)
class GradcheckReport:
    """Result of :func:`gradcheck`: true where every gradient is right; ``print`` it to read it."""

    inputs: list[InputReport] = field(default_factory=list)

    def __bool__(self) -> bool:
        return all(i.passed for i in self.inputs)

    def __str__(self) -> str:
        title = (
            "gradients agree with finite differences"
            if self
            else "gradients DISAGREE with finite differences"
        )
        return "\n".join([title, *(f"  {i}" for i in self.inputs)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each input, with its worst element."""
        columns = ("input", "shape", "", "checked", "worst at", "backward", "differences", "")
        rows = [
            (
                i.name, i.shape, "ok" if i.passed else "WRONG", i.checked,
                "" if i.worst is None else list(i.worst),
                "" if i.worst is None else f"{i.analytic:.9g}",
                "" if i.worst is None else f"{i.numeric:.9g}", i.hint,
            )
            for i in self.inputs
        ]  # fmt: skip
        title, *_ = str(self).split("\n")
        return html.framed("gradcheck", title, html.table(columns, rows, words=(0, 1, 2, 7)))


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    generator: Generator | None = None,
    max_elements: int | None = None,
    raise_on_failure: bool = True,
) -> GradcheckReport:
    """Compare ``backward`` with central differences, element by element, in float64.

    The outputs are weighted by random cotangents, never ones: with ones, softmax and layer norm add
    up to a constant and any wrong gradient of theirs would pass.

    Args:
        fn: function of ``inputs`` that returns a tensor or several; it must give the same result
            on every call (fix the generator of any dropout).
        inputs: tensors; those with ``requires_grad`` must be float64 and are checked. They may
            also be what ``fn`` closes over, such as a model's parameters. A floating-point array or
            number is made such a tensor, one of integers or booleans is passed on unchecked.
        eps: half the step of the difference (f(x + eps) - f(x - eps)) / (2 eps).
        rtol, atol: an element is right within ``atol + rtol · max(|element|, largest / 100)``, with
            the largest |element| of its input's gradient.
        generator: source of the cotangents; by default a fresh one, the same on every call.
        max_elements: check at most so many elements of each input, drawn at random.
        raise_on_failure: raise with the report instead of returning it.

    Returns:
        A report that is true or false and prints as a table.

    Raises:
        AssertionError: a gradient is wrong; the message is the report.
        ValueError: nothing to check, or all gradients are zero, so that a check proves nothing.
        TypeError: an input is a tensor that is not float64, or nothing numeric.
    """
    xs = _as_inputs(inputs, "gradcheck")
    checked = [(f"inputs[{i}]", x) for i, x in enumerate(xs) if x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck: inputs: none of them requires gradients; give a float64 tensor with "
            "requires_grad=True, or a floating-point array"
        )
    for name, x in checked:
        if x.dtype != np.float64:
            raise TypeError(
                f"gradcheck: {name}: expected float64, got {x.dtype}; differences of {x.dtype} are "
                "mostly "
                "rounding noise. Convert the input with .astype('float64')"
            )
    rng = generator or Generator(0)

    def outputs() -> list[Tensor]:
        with enable_grad():
            out = fn(*xs)
        return [o for o in _as_outputs(out, "gradcheck") if o.dtype.kind == "f"]

    outs = outputs()
    for before, now in zip(outs, outputs(), strict=True):
        if not _alike(before, now):
            raise ValueError(
                "gradcheck: fn gives another result each time it is called, so that differences "
                "mean nothing; fix what is random in it (dropout takes a generator)"
            )
    weights = [rng.normal(o.shape) for o in outs]
    if not any(o.requires_grad for o in outs):
        raise ValueError("gradcheck: fn: no output depends on an input that requires gradients")

    def backward_of(cotangents: list[np.ndarray]) -> list[np.ndarray]:
        live = [(o, w) for o, w in zip(outputs(), cotangents, strict=True) if o.requires_grad]
        seeds = [tensor(w, dtype=o.dtype, device=o.device) for o, w in live]
        grads = grad([o for o, _ in live], [x for _, x in checked], seeds, allow_unused=True)
        return [
            np.zeros(x.shape) if g is None else np.array(g.device.to_host(g.data))
            for (_, x), g in zip(checked, grads, strict=True)
        ]

    def value() -> list[np.ndarray]:
        return [o.device.to_host(o.data).astype(np.float64) for o in outputs()]

    report = GradcheckReport()
    largest, elements = 0.0, 0
    for which, ((name, x), analytic) in enumerate(zip(checked, backward_of(weights), strict=True)):
        places = np.arange(x.size)
        if max_elements is not None and x.size > max_elements:
            places = rng.permutation(x.size)[:max_elements]
        numeric = np.array([_difference(value, weights, x, int(i), eps) for i in places])
        row = _compare(name, x.shape, analytic, numeric, places, rtol, atol)
        if not row.passed and len(places) == x.size and _square(x.shape):
            # under symmetric cotangents a transposed operand shows as a transposed gradient
            even = [w + np.swapaxes(w, -1, -2) if _square(w.shape) else w for w in weights]
            a = backward_of(even)[which]
            n = np.array([_difference(value, even, x, int(i), eps) for i in places]).reshape(
                x.shape
            )
            if np.allclose(np.swapaxes(a, -1, -2), n, rtol=1e-4, atol=1e-6):
                row.hint = (
                    "transposed: an operand, or the gradient itself, has its last two axes "
                    "exchanged"
                )
        report.inputs.append(row)
        elements += len(places)
        if len(places):
            largest = max(largest, float(np.abs(analytic).max()), float(np.abs(numeric).max()))
    if report and elements and largest < max(atol, 1e-8):
        raise ValueError(
            "gradcheck: all gradients are zero, so the check proves nothing: the output does not "
            "depend on "
            "the inputs here (softmax summed over its axis, for example, is constant)"
        )
    if not report and raise_on_failure:
        raise AssertionError(str(report))
    return report


def gradgradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    generator: Generator | None = None,
    max_elements: int | None = None,
    raise_on_failure: bool = True,
) -> GradcheckReport:
    """Check second derivatives: :func:`gradcheck` of the gradient, as a function of the inputs and
    of the cotangents that it is pulled back from.

    Arguments, result and errors are those of :func:`gradcheck`. In the report the cotangents come
    after the inputs.

    Raises:
        ValueError: also where the gradient depends on neither inputs nor cotangents.
    """
    xs = _as_inputs(inputs, "gradgradcheck")
    checked = [x for x in xs if x.requires_grad]
    rng = generator or Generator(1)

    def outputs(*args: Tensor) -> list[Tensor]:
        with enable_grad():
            out = fn(*args)
        return [o for o in _as_outputs(out, "gradgradcheck") if o.requires_grad]

    cotangents = [
        tensor(rng.normal(o.shape), dtype=o.dtype, device=o.device, requires_grad=True)
        for o in outputs(*xs)
    ]
    if not cotangents:
        raise ValueError("gradgradcheck: fn: no output depends on an input that requires gradients")

    plain, recorded = (
        grad(outputs(*xs), checked, cotangents, create_graph=graph, allow_unused=True)
        for graph in (False, True)
    )
    for i, (a, b) in enumerate(zip(plain, recorded, strict=True)):
        if a is not None and b is not None and not _alike(a, b):
            raise AssertionError(
                f"gradgradcheck: inputs[{i}]: the gradient with create_graph=True differs from the "
                "one without: the rule computes something else on Tensors than on arrays"
            )

    def gradient(*args: Tensor) -> list[Tensor]:
        outs = outputs(*args[: len(xs)])
        seeds = args[len(xs) :]
        found = grad(outs, checked, seeds, create_graph=True, allow_unused=True)
        return [g for g in found if g is not None]

    return gradcheck(
        gradient, [*xs, *cotangents], eps, rtol, atol, rng, max_elements, raise_on_failure
    )


def _as_inputs(inputs: Any, who: str) -> list[Tensor]:
    """The inputs as tensors, of which those made here from fractions are checked too."""
    several = isinstance(inputs, Iterable) and not isinstance(inputs, (Tensor, np.ndarray, str))
    xs = []
    for i, x in enumerate(inputs if several else [inputs]):
        if not isinstance(x, Tensor):
            try:
                x = tensor(x)
            except TypeError as error:
                raise TypeError(
                    f"{who}: inputs[{i}]: expected a tensor, an array or a number, got "
                    f"{kind_of(x)} ({error})"
                ) from None
            if x.dtype.kind == "f":
                x = tensor(inputs[i] if several else inputs, dtype="float64", requires_grad=True)
        xs.append(x)
    return xs


def _as_outputs(out: Any, who: str) -> list[Tensor]:
    """What the function returned as a list of tensors."""
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    for o in outs:
        if not isinstance(o, Tensor):
            raise TypeError(
                f"{who}: fn: expected a tensor or several to be returned, got {kind_of(o)}"
            )
    return outs


def _alike(a: Tensor, b: Tensor) -> bool:
    """Equal up to rounding."""
    x, y = (t.device.to_host(t.data) for t in (a, b))
    scale = float(np.abs(x).max(initial=0.0))
    return bool(np.allclose(x, y, rtol=1e-7, atol=1e-9 * max(scale, 1.0), equal_nan=True))


def _square(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 2 and shape[-1] == shape[-2] > 1


def _difference(
    value: Callable[[], list[np.ndarray]], weights: list[np.ndarray], x: Tensor, i: int, eps: float
) -> float:
    """Central difference of the weighted outputs with respect to element ``i`` of ``x``."""
    low, high = either_side(value, x, i, eps)
    return sum(float(np.sum((h - lo) * w)) for h, lo, w in zip(high, low, weights, strict=True)) / (
        2 * eps
    )


def either_side(value: Callable[[], T], x: Tensor, i: int, eps: float) -> tuple[T, T]:
    """What ``value()`` gives where element ``i`` of ``x`` is smaller by eps, and where larger."""
    place = tuple(int(p) for p in np.unravel_index(i, x.shape))
    before = float(x.data[place])
    try:
        x.data[place] = before + eps
        high = value()
        x.data[place] = before - eps
        return value(), high
    finally:
        x.data[place] = before


def _compare(
    name: str,
    shape: tuple[int, ...],
    analytic: np.ndarray,
    numeric: np.ndarray,
    places: np.ndarray,
    rtol: float,
    atol: float,
) -> InputReport:
    a = analytic.reshape(-1)[places]
    if not len(places):
        return InputReport(name, shape, True, 0)
    largest = float(np.nanmax(np.abs(np.concatenate([a, numeric]))))
    bound = atol + rtol * largest
    error = np.abs(a - numeric)
    error[~np.isfinite(error)] = np.inf
    # rounding puts the same noise on all differences: what is small beside the largest element
    # is known to fewer digits
    bounds = atol + rtol * np.maximum(np.abs(np.nan_to_num(numeric)), 1e-2 * largest)
    worst = int(np.argmax(error / bounds))
    passed = bool(error[worst] <= bounds[worst])
    where = tuple(int(p) for p in np.unravel_index(int(places[worst]), shape))
    report = InputReport(
        name, shape, passed, len(places), where, float(a[worst]), float(numeric[worst])
    )
    if not passed:
        full = numeric.reshape(shape) if len(places) == analytic.size else None
        report.hint = _diagnose(a, numeric, analytic, full, bound)
    return report


def _diagnose(
    a: np.ndarray, n: np.ndarray, analytic: np.ndarray, numeric: np.ndarray | None, bound: float
) -> str:
    """What kind of mistake the numbers look like."""
    if not np.all(np.isfinite(a)):
        return "backward gives NaN or infinity: a division by zero, log 0 or 0 · ∞ in the rule"
    if np.all(np.abs(a) <= bound):
        return (
            "backward gives zero: the rule is missing, or the graph is cut (detach, no_grad, .data)"
        )
    if np.all(np.abs(n) <= bound):
        return (
            "differences are zero: the output does not depend on this input, but backward says it "
            "does"
        )
    if np.all(np.abs(a + n) <= 4 * bound):
        return "the sign is wrong"
    ratio = float(np.dot(a, n) / np.dot(n, n))
    if np.all(np.abs(a - ratio * n) <= 4 * bound * max(1.0, abs(ratio))):
        hint = f"a factor is wrong: backward gives {ratio:.6g} times the true gradient"
        if abs(ratio - 0.5) < 1e-3:
            return (
                hint + ": a missing factor of 2, or an operand used twice that does not accumulate"
            )
        for k in (abs(ratio), 1 / abs(ratio)):
            if k > 1.5 and abs(k - round(k)) < 1e-3:
                return (
                    hint
                    + f" (a count n = {round(k)}: a mean taken for a sum or the other way round?)"
                )
        return hint
    if numeric is not None and numeric.ndim >= 2:
        for axis, length in enumerate(numeric.shape):
            if length > 1 and np.all(
                np.abs(numeric - analytic.sum(axis=axis, keepdims=True)) <= 4 * bound
            ):
                return f"looks like a sum over axis {axis} is missing (un-broadcasting)"
    wrong = int(np.sum(np.abs(a - n) > bound))
    return (
        f"{wrong} of {len(a)} elements differ, with no common factor: a wrong formula, or a "
        "missing accumulation"
    )
