"""Gradient clipping: by the joint norm of all gradients (Pascanu et al., 2013), or by value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...graph.version import user_line
from ...tensor.row_grad import stored
from ...tensor.tensor import Tensor
from ..given.values import number, positive
from .groups import refuse_module

#: a sum of squares from which those that vanished in it are too few to count
_LEAST = {
    np.dtype(kind): float(info.tiny) / float(info.eps) ** 2
    for kind, info in (
        (np.float16, np.finfo(np.float32)),  # what its squares are computed in
        (np.float32, np.finfo(np.float32)),
        (np.float64, np.finfo(np.float64)),
        (np.longdouble, np.finfo(np.longdouble)),
    )
}


def clip_grad_norm(params: Iterable[Tensor] | Tensor, max_norm: float) -> float:
    """Scale all gradients by one factor so that their joint 2-norm is at most ``max_norm``.

    Parameters without a gradient are skipped. A gradient that several parameters hold counts for
    each of them in the norm, and is scaled once. As in PyTorch a norm that is not finite scales by
    NaN or 0, so look at what is returned.

    Args:
        params: tensors; one that is there twice counts once.
        max_norm: > 0; infinity only measures, whatever the norm.

    Returns:
        The norm before clipping; 0.0 where no parameter has a gradient (yet). Squares may overflow
        or vanish: the norm is right wherever it is a number of the gradients' dtype.

    Raises:
        ValueError: no parameters, such as a generator that was read before; or a bad ``max_norm``.
        TypeError: something is not a tensor.
    """
    limit = number("max_norm", max_norm, "a number > 0", positive)
    grads = gradients(params)
    alike: dict[Any, list[Any]] = {}  # (device, dtype) -> arrays: one transfer for each
    for grad in grads:
        alike.setdefault((grad.device, grad.dtype), []).append(stored(grad))
    norm = math.hypot(*(joint_norm(place.xp, arrays) for (place, _), arrays in alike.items()))
    scale = factor(limit, norm)
    if not scale >= 1.0:
        scale_all(grads, scale)
    return norm


def factor(limit: float, norm: float) -> float:
    """What gradients of a joint norm are multiplied by, if it is below 1 (or NaN)."""
    return 1.0 if limit == math.inf else limit / (norm + 1e-6)


def clip_grad_value(params: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Limit every number of every gradient to the range from ``-clip_value`` to ``clip_value``.

    Parameters without a gradient are skipped; NaN stays.

    Args:
        params: tensors.
        clip_value: > 0.

    Raises:
        ValueError: no parameters, such as a generator that was read before; or a bad value.
        TypeError: something is not a tensor.
    """
    limit = number("clip_value", clip_value, "a number > 0", positive)
    where = user_line()
    for grad in gradients(params):
        array, xp = stored(grad), grad.device.xp
        most = min(limit, float(np.finfo(array.dtype).max))
        if writeable(array):
            xp.clip(array, -most, most, out=array)
        else:
            grad._data = xp.clip(array, -most, most)
        grad.version.bump(where)


def gradients(params: Iterable[Tensor] | Tensor) -> list[Tensor]:
    """The gradients of the parameters that have one, each parameter's once.

    Raises:
        ValueError: no parameters at all. TypeError: something is not a tensor.
    """
    refuse_module(params)
    tensors = [params] if isinstance(params, Tensor) else list(params)
    if not tensors:
        raise ValueError(
            "params: expected at least one parameter, got none; a generator such as "
            "model.parameters() can be read only once"
        )
    for p in tensors:
        if not isinstance(p, Tensor):
            raise TypeError(f"params: expected tensors, got {type(p).__name__}")
    grads = [p.grad for p in dict.fromkeys(tensors)]
    return [grad for grad in grads if grad is not None]


def joint_norm(xp: Any, arrays: Sequence[Any]) -> float:
    """The 2-norm of all numbers of some arrays, which are of one device and one float dtype.

    The usual case is one pass. Only where the squares overflow, or so small a sum has lost some,
    the numbers are divided by the largest of them first.
    """
    with np.errstate(over="ignore"):
        squares = [xp.dot(flat, flat) for flat in map(_wide, arrays)]
    found = float(sum(map(float, squares)) if xp is np else sum(squares))
    if math.isnan(found):
        return found
    if arrays and _LEAST[arrays[0].dtype] <= found < math.inf:
        return math.sqrt(found)
    largest = max((float(xp.abs(a).max()) for a in arrays if a.size), default=0.0)
    if not 0.0 < largest < math.inf:
        return largest
    found = 0.0
    for array in arrays:
        flat = _wide(array) / largest
        found += float(xp.dot(flat, flat))
    return largest * math.sqrt(found)


def _wide(array: Any) -> Any:
    """One row of an array's numbers, in float32 if they are narrower."""
    flat = array.reshape(-1)
    return flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat


def scale_all(grads: Sequence[Tensor], scale: float) -> None:
    """Multiply gradients in place; memory that several of them share, once."""
    where = user_line()
    arrays = [stored(grad) for grad in grads]
    if len({id(a) for a in arrays}) == len(arrays) and all(a.base is None for a in arrays):
        for grad, array in zip(grads, arrays, strict=True):
            multiply(grad.device.xp, array, scale, array)
            grad.version.bump(where)
        return
    # Views, which may overlap: all are read before one is written.
    scaled = [multiply(g.device.xp, a, scale, None) for g, a in zip(grads, arrays, strict=True)]
    for grad, array, result in zip(grads, arrays, scaled, strict=True):
        if writeable(array):
            array[...] = result
        else:
            grad._data = result
        grad.version.bump(where)


def multiply(xp: Any, array: Any, scale: float, out: Any) -> Any:
    """``array * scale`` in the array's dtype, with a factor that this dtype may not hold."""
    dtype = array.dtype
    if dtype.itemsize < 4:
        dtype = np.dtype(np.float32)
    if 0.0 < scale < np.finfo(dtype).tiny:
        dtype = np.dtype(np.float64)
    if dtype == array.dtype:
        return xp.multiply(array, scale, out=out)
    if out is None:
        return (array.astype(dtype) * scale).astype(array.dtype)
    return xp.multiply(array, scale, out=out, dtype=dtype, casting="same_kind")


def writeable(array: Any) -> bool:
    """Whether an array may be written to (a GPU's always)."""
    return bool(getattr(array.flags, "writeable", True))
