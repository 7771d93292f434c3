"""An op of the user's own, with its own gradient, and the checks that ours go through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.device import device_of
from ..graph.grad_mode import no_grad
from ..tensor import tree
from ..tensor.tensor import Tensor, tensor
from .op import OPS, Op
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..derivatives.grad import grad
    from ..derivatives.gradcheck import gradcheck, gradgradcheck
else:
    late.needs(
        __name__,
        grad="derivatives.grad.grad",
        gradcheck="derivatives.gradcheck.gradcheck",
        gradgradcheck="derivatives.gradcheck.gradgradcheck",
    )

#: shapes to draw operands of, in turn
_SHAPES: list[list[tuple[int, ...]]] = [
    [(3, 4)], [()], [(5,)], [(3, 4), (4,)], [(3, 4), (4, 2)], [(3, 3)], [(2, 3, 4)], [(2, 3, 4, 4)],
]  # fmt: skip

#: the user's ops by name
CUSTOM: dict[str, CustomOp] = {}


class CustomOp(Op):
    """An op made by :func:`custom_op`; see :class:`~tinytensor.define.op.Op`."""

    def check(self, *samples: Sample) -> int:
        """Check the op on the given samples, or on those of its definition; returns how many.

        Where there are none, some are drawn and printed: operands of equal and of other shapes, of
        which those are taken that forward accepts, with every setting at its default.

        Checked are: the gradients against finite differences, first and second order (float64);
        that float32 gives the same numbers; that arrays in another memory order give
        the same; that forward writes into no operand and returns none, or a part of one, as its
        result; that a rule writes into no array it is given; and for an op with a reference, that
        both agree.

        Raises:
            AssertionError: one of these fails; the message says which, and for which sample.
            ValueError: there are no samples and forward accepts none that were drawn, or none of
                them has a gradient to check (an op without rules needs none).
        """
        chosen = list(samples) or self.samples()
        if not chosen:
            chosen = self._drawn()
            print(f"check: op {self.name!r} has no samples of its own; drawn: {chosen}")
        with_gradient = 0
        for sample in chosen:
            try:
                self._check_values(sample)
                if not self.differentiable and self._gives_floats(sample):
                    raise ValueError(
                        f"check: op {self.name!r} has no gradient rule: give it one by "
                        f"{self.name}.vjp(...), or let it return integers or booleans"
                    )
                if self.differentiable:
                    with_gradient += self._check_gradients(sample)
            except AssertionError as error:
                raise AssertionError(f"op {self.name!r}, {sample}: {error}") from error
            except Exception as error:
                error.add_note(f"(op {self.name!r}, {sample})")
                raise
        if self.differentiable and not with_gradient:
            raise ValueError(
                f"check: op {self.name!r}: no sample has a gradient to check: give one with "
                "floating-point arrays that are not empty"
            )
        return len(chosen)

    def _drawn(self) -> list[Sample]:
        """Samples that forward accepts and gives finite numbers for: at most three.

        Raises:
            ValueError: there are none, or a setting has no default.
        """
        why = f"settings without a default: {', '.join(self.required)}" if self.required else ""
        count = 2 if self.variadic else self.arity
        found: list[Sample] = []
        for shapes in _SHAPES if not self.required else ():
            operands = [shapes[i % len(shapes)] for i in range(count)]
            r = Draw(0)
            for draw in (r, r.positive):  # a logarithm wants positive numbers
                arrays = [draw(*shape) for shape in operands]
                sample = Sample(arrays) if self.variadic else Sample(*arrays)
                try:
                    with no_grad(), np.errstate(all="ignore"):
                        outs = _arrays(self(*_tensors(sample, np.float64)[0]))
                except Exception as error:
                    why = f"with the shapes {', '.join(map(str, operands))}: {error}"
                    continue
                if all(np.isfinite(out).all() for out in outs):
                    found.append(sample)
                    break
                why = f"with the shapes {', '.join(map(str, operands))}: NaN or infinity"
            if len(found) == 3:
                break
        if not found:
            raise ValueError(
                f"check: op {self.name!r} has no samples, and forward accepted none of those drawn "
                f"({why}): pass some, as {self.name}.check(tt.Sample(array, ...)), or define them "
                "with custom_op(samples=...)"
            )
        return found

    def _gives_floats(self, sample: Sample) -> bool:
        args, floats = _tensors(sample, np.float64)
        return bool(floats) and any(
            y.dtype.kind == "f" for y in _listed(self(*args, **sample.kwargs))
        )

    def _check_values(self, sample: Sample) -> None:
        wide, _ = _tensors(sample, np.float64)
        operands = [x for x in tree.leaves(wide) if isinstance(x, Tensor)]
        before = _copies(operands)
        outs = _listed(self(*wide, **sample.kwargs))
        if _changed(operands, before):
            raise AssertionError("forward wrote into an operand")
        if not self.view and any(_overlap(y.data, x.data) for y in outs for x in operands):
            raise AssertionError(
                "forward returned the memory of an operand: return a copy, or define the op with "
                "view=True (for one output that is a view of the first operand)"
            )
        expected = _arrays(outs)
        narrow, _ = _tensors(sample, np.float32)
        for a, b in zip(_arrays(self(*narrow, **sample.kwargs)), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-3, 1e-4, err_msg="float32 differs from float64")
        other, _ = _tensors(sample, np.float64, lambda a: a.T.copy().T)
        for a, b in zip(_arrays(self(*other, **sample.kwargs)), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12, err_msg="Fortran-ordered operands differ")
        if self.reference is not None:
            composed = _arrays(self.reference(*wide, **sample.kwargs))
            for a, b in zip(composed, expected, strict=True):
                np.testing.assert_allclose(b, a, 1e-7, 1e-9, err_msg="differs from the reference")

    def _check_gradients(self, sample: Sample) -> bool:
        """Returns whether there were any to check."""
        args, floats = _tensors(sample, np.float64)
        floats = [x.requires_grad_() for x in floats if x.size]
        outs = [y for y in _listed(self(*args, **sample.kwargs)) if y.requires_grad and y.size]
        if not floats or not outs:
            return False

        seeds = [tensor(y.data) for y in outs]
        given = [*(x for x in tree.leaves(args) if isinstance(x, Tensor)), *outs, *seeds]
        before = _copies(given)
        grad(outs, floats, seeds, allow_unused=True)
        if _changed(given, before):
            raise AssertionError(
                "a gradient rule wrote into an array that it was given (g, or one that was kept)"
            )

        def fn(*_: Tensor) -> Any:
            return self(*args, **sample.kwargs)

        gradcheck(fn, floats)
        gradgradcheck(fn, floats, rtol=1e-4, atol=1e-6)
        return True


def _listed(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _arrays(result: Any) -> list[Any]:
    return [y.device.to_host(y.data) for y in _listed(result)]


def _copies(tensors: list[Tensor]) -> list[Any]:
    return [np.array(a) for a in _arrays(tensors)]


def _changed(tensors: list[Tensor], before: list[Any]) -> bool:
    return not all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(_arrays(tensors), before, strict=True)
    )


def _overlap(a: Any, b: Any) -> bool:
    # of 0-d arrays CuPy says that they all overlap
    return a.ndim > 0 and bool(device_of(a).xp.may_share_memory(a, b))


def _tensors(
    sample: Sample, dtype: Any, layout: Callable[[Any], Any] = np.copy
) -> tuple[list[Any], list[Tensor]]:
    """The sample's arguments with arrays as tensors, and the floating-point ones among them."""
    floats: list[Tensor] = []

    def operand(arg: Any) -> Any:
        if not isinstance(arg, np.ndarray):
            return arg
        x = tensor(arg.astype(dtype) if arg.dtype.kind == "f" else arg)
        x._data = x.device.from_host(layout(x.device.to_host(x.data)))
        if arg.dtype.kind == "f":
            floats.append(x)
        return x

    return list(tree.map_leaves(operand, sample.args)), floats


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
        options: as for :func:`tinytensor.define.op.op`: ``keeps`` (what the gradient rules read),
            ``outputs``, ``formula``, ``gradient``, ``samples``, ``wide``, ``view``, ``casts``.

    Returns:
        The op: call it on tensors; give its rules by ``.vjp(...)``, and check it by ``.check()``.
        Defining an op again under the same name replaces it, as in a notebook.

    Raises:
        ValueError: one of tinytensor's own ops has this name.
    """

    if not isinstance(operands, str):
        raise TypeError('custom_op: operands: expected their names, as @tt.custom_op("x y")')
    unknown = set(options) - set(inspect.signature(Op.__init__).parameters)
    if unknown:
        raise TypeError(f"custom_op: unknown option {', '.join(sorted(unknown))}")

    def define(forward: Callable[..., Any]) -> CustomOp:
        made = CustomOp(name or forward.__name__.strip("_"), forward, operands, **options)
        if made.name in OPS:
            raise ValueError(
                f"custom_op: name: {made.name!r} is one of tinytensor's own ops; choose another"
            )
        CUSTOM[made.name] = made
        return made

    return define
