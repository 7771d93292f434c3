"""An op of the user's own, with its own gradient, and the checks that ours go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .gradcheck import gradcheck, gradgradcheck
from .registry import OPS, Op
from .samples import Sample
from .tensor import Tensor, tensor

#: the user's ops by name
CUSTOM: dict[str, CustomOp] = {}


class CustomOp(Op):
    """An op made by :func:`custom_op`; see :class:`~tinytensor.registry.Op`."""

    def check(self, *samples: Sample) -> int:
        """Check the op on the given samples, or on those of its definition; returns how many.

        Checked are: the gradients against finite differences, first and second order (float64);
        that float32 gives the same numbers; that arrays in another memory order give
        the same; that no operand is written to; and for an op with a reference, that both agree.

        Raises:
            AssertionError: one of these fails; the message says which, and for which sample.
            ValueError: there are no samples, or none of them has a gradient to check.
        """
        chosen = list(samples) or self.samples()
        if not chosen:
            raise ValueError(
                f"check: op {self.name!r} has no samples: pass some, as {self.name}.check("
                "tt.Sample(array, ...)), or define them with custom_op(samples=...)"
            )
        for sample in chosen:
            try:
                self._check_values(sample)
                if self.differentiable:
                    self._check_gradients(sample)
            except AssertionError as error:
                raise AssertionError(f"op {self.name!r}, {sample}: {error}") from error
        return len(chosen)

    def _check_values(self, sample: Sample) -> None:
        wide, _ = _tensors(sample, np.float64)
        before = [np.array(x.data) for x in wide if isinstance(x, Tensor)]
        expected = _arrays(self(*wide, **sample.kwargs))
        after = [x.data for x in wide if isinstance(x, Tensor)]
        if not all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True)
        ):
            raise AssertionError("forward wrote into an operand")
        narrow, _ = _tensors(sample, np.float32)
        outs = _arrays(self(*narrow, **sample.kwargs))
        for a, b in zip(outs, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-3, 1e-4, err_msg="float32 differs from float64")
        other, _ = _tensors(sample, np.float64, lambda a: a.T.copy().T)
        for a, b in zip(_arrays(self(*other, **sample.kwargs)), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12, err_msg="Fortran-ordered operands differ")
        if self.reference is not None:
            composed = _arrays(self.reference(*wide, **sample.kwargs))
            for a, b in zip(composed, expected, strict=True):
                np.testing.assert_allclose(b, a, 1e-7, 1e-9, err_msg="differs from the reference")

    def _check_gradients(self, sample: Sample) -> None:
        args, floats = _tensors(sample, np.float64)
        floats = [x.requires_grad_() for x in floats if x.size]
        outs = [y for y in _listed(self(*args, **sample.kwargs)) if y.requires_grad and y.size]
        if not floats or not outs:
            return

        def fn(*_: Tensor) -> Any:
            return self(*args, **sample.kwargs)

        gradcheck(fn, floats)
        gradgradcheck(fn, floats, rtol=1e-4, atol=1e-6)


def _listed(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _arrays(result: Any) -> list[Any]:
    return [y.device.to_host(y.data) for y in _listed(result)]


def _tensors(
    sample: Sample, dtype: Any, layout: Callable[[Any], Any] = np.copy
) -> tuple[list[Any], list[Tensor]]:
    """The sample's arguments with arrays as tensors, and the floating-point ones among them."""
    args: list[Any] = []
    floats: list[Tensor] = []
    for arg in sample.args:
        if isinstance(arg, np.ndarray):
            is_float = arg.dtype.kind == "f"
            arg = tensor(arg.astype(dtype) if is_float else arg)
            arg.data = arg.device.from_host(layout(arg.device.to_host(arg.data)))
            if is_float:
                floats.append(arg)
        args.append(arg)
    return args, floats


def custom_op(
    operands: str, *, name: str | None = None, **options: Any
) -> Callable[[Callable[..., Any]], CustomOp]:
    """Decorator that makes an op from your own forward and backward rule.

    For example, with ``xp`` the operands' array library (NumPy or CuPy)::

        @tt.custom_op("x", keeps="x", samples=lambda r: [tt.Sample(r(3, 4)), tt.Sample(r())])
        def cube(xp, x):
            return x * x * x

        cube.vjp(x=lambda xp, g, k: g * 3 * k.x * k.x)
        cube.check()                     # gradients, dtypes, memory layouts

        y = cube(x).sum()                # in the graph, in pictures, in every report

    Args:
        operands: names of the tensor operands: the first parameters after ``xp``. The others are
            settings, which rules find as ``k.<name>``.
        name: how the op is called in pictures and messages; defaults to the function's name.
        options: as for :func:`tinytensor.registry.op`: ``keeps`` (what the gradient rules read),
            ``outputs``, ``formula``, ``gradient``, ``samples``, ``wide``, ``view``, ``casts``.

    Returns:
        The op: call it on tensors; give its rules by ``.vjp(...)``, and check it by ``.check()``.
        Defining an op again under the same name replaces it, as in a notebook.

    Raises:
        ValueError: one of tinytensor's own ops has this name.
    """

    def define(forward: Callable[..., Any]) -> CustomOp:
        made = CustomOp(name or forward.__name__.strip("_"), forward, operands, **options)
        if made.name in OPS:
            raise ValueError(
                f"custom_op: name: {made.name!r} is one of tinytensor's own ops; choose another"
            )
        CUSTOM[made.name] = made
        return made

    return define
