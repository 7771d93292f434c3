"""Where the windows of a convolution or a pooling lie, for any number of spatial axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...tensor.tensor import Tensor, tensor

Ints = tuple[int, ...]


class Windows(NamedTuple):
    """Windows over the last axes of an array, each field a tuple with one integer per axis.

    Window ``i`` of an axis sees the positions ``i · stride - padding + tap · dilation``, with one
    tap per element of the kernel, 0 to ``kernel - 1``. ``size`` is how many windows there are;
    a position outside the array is filled in.
    """

    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    size: Ints

    @property
    def span(self) -> Ints:
        """How many positions the windows of each axis reach over, from the first to the last."""
        return tuple(
            (n - 1) * s + (k - 1) * d + 1 if n else 0 for k, s, _, d, n in zip(*self, strict=True)
        )

    def padded(self, xp: Any, x: Any, fill: float = 0.0) -> Any:
        """What the windows reach over: ``x`` moved by the padding, ``fill`` where it has nothing.

        A view of ``x`` where nothing is to be filled in.
        """
        spatial = x.shape[-len(self.kernel) :]
        if not any(self.padding) and all(a <= n for a, n in zip(self.span, spatial, strict=True)):
            return x[(..., *(slice(a) for a in self.span))]
        lead = x.shape[: x.ndim - len(self.kernel)]
        out = xp.full((*lead, *self.span), fill, dtype=x.dtype)
        into, taken = [], []
        for p, a, n in zip(self.padding, self.span, spatial, strict=True):
            length = max(0, min(n, a - p))
            into.append(slice(p, p + length))
            taken.append(slice(length))
        out[(..., *into)] = x[(..., *taken)]
        return out

    def canvas(
        self, xp: Any, lead: Ints, spatial: Ints, dtype: Any, batch_last: bool = False
    ) -> tuple[Any, Any]:
        """Zeros to add windows into (see :meth:`taps`), and the part of them that is the result.

        The result has the shape ``(*lead, *spatial)``: what falls into the padding is left out.
        With ``batch_last`` what lies side by side in memory is the first axis.
        """
        reach = zip(self.span, self.padding, spatial, strict=True)
        wide = tuple(max(a, p + n) for a, p, n in reach)
        if batch_last:
            out = xp.moveaxis(xp.zeros((*lead[1:], *wide, lead[0]), dtype=dtype), -1, 0)
        else:
            out = xp.zeros((*lead, *wide), dtype=dtype)
        inner = (slice(p, p + n) for p, n in zip(self.padding, spatial, strict=True))
        return out, out[(..., *inner)]

    def taps(self, padded: Any) -> Iterator[Any]:
        """For each element of the kernel in row-major order, what it sees in all windows: a view.

        Every view has the shape ``(..., *size)``.
        """
        for taps in itertools.product(*(range(k) for k in self.kernel)):
            yield padded[
                (
                    ...,
                    *(
                        slice(t * d, t * d + (n - 1) * s + 1, s) if n else slice(0)
                        for t, s, d, n in zip(
                            taps, self.stride, self.dilation, self.size, strict=True
                        )
                    ),
                )
            ]


def per_axis(name: str, value: Any, dims: int, low: int) -> Ints:
    """An integer for each of ``dims`` axes, from one integer for all or from a sequence.

    Raises:
        ValueError: a value below ``low``, or too many or too few. TypeError: not integers.
    """
    wanted = f"expected an integer >= {low}" + (f" or {dims} of them" if dims > 1 else "")
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(isinstance(v, bool) or not hasattr(v, "__index__") for v in values):
        raise TypeError(f"{name}: {wanted}, got {value!r}")
    if len(values) == 1:
        values *= dims
    if len(values) != dims or min(values) < low:
        raise ValueError(f"{name}: {wanted}, got {value!r}")
    return tuple(int(v) for v in values)


def batched(name: str, x: Any, dims: int) -> tuple[Tensor, bool]:
    """``x`` as a tensor (N, C, ...) with ``dims`` axes after the channels, and whether it was one
    already; an ``x`` without the batch's axis (C, ...) gets one of length 1."""
    x = x if isinstance(x, Tensor) else tensor(x)
    if x.ndim not in (dims + 1, dims + 2):
        axes = ("length", "height, width", "depth, height, width")[dims - 1]
        raise ValueError(
            f"{name}: x: expected shape (batch, channels, {axes}) or (channels, {axes}), got "
            f"{x.shape}"
        )
    return (x, True) if x.ndim == dims + 2 else (x.expand_dims(0), False)


def count_windows(
    name: str,
    spatial: Sequence[int],
    kernel: Ints,
    stride: Ints,
    padding: Sequence[tuple[int, int]],
    dilation: Ints,
    ceil_mode: bool = False,
) -> Ints:
    """How many windows fit on each axis, padded by so much before and after.

    ``ceil_mode`` allows one more that reaches beyond the end, if it starts before the padding
    behind the array does.

    Raises:
        ValueError: not even one fits.
    """
    size = []
    for n, k, s, (before, after), d in zip(spatial, kernel, stride, padding, dilation, strict=True):
        room = n + before + after - (k - 1) * d - 1
        fit = -(-room // s) + 1 if ceil_mode else room // s + 1
        if ceil_mode and (fit - 1) * s >= n + before:
            fit -= 1
        if fit < 1:
            reach = tuple((a - 1) * b + 1 for a, b in zip(kernel, dilation, strict=True))
            room_for = tuple(m + sum(p) for m, p in zip(spatial, padding, strict=True))
            dilated = f" (spread over {reach} by dilation)" if max(dilation) > 1 else ""
            raise ValueError(
                f"{name}: kernel: expected to fit into x, {room_for} with its padding, got "
                f"{kernel}{dilated}"
            )
        size.append(fit)
    return tuple(size)
