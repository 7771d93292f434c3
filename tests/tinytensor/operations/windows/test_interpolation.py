"""Signals and images in another size."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn

from ...helpers import close, const, grad_of, leaf

pytestmark = pytest.mark.usefixtures("device")


def test_worked_examples() -> None:
    x = const([[[1.0, 2.0, 4.0]]])
    close(tt.interpolate(x, 6), [[[1, 1, 2, 2, 4, 4]]])
    close(tt.interpolate(x, scale_factor=2, mode="linear"), [[[1, 1.25, 1.75, 2.5, 3.5, 4]]])
    close(tt.interpolate(x, 5, mode="linear", align_corners=True), [[[1, 1.5, 2, 3, 4]]])
    close(tt.interpolate(x, 2), [[[1, 2]]])
    close(tt.interpolate(x, 1, mode="linear"), [[[2]]])
    image = const([[[[0.0, 2.0], [4.0, 6.0]]]])
    close(
        tt.interpolate(image, 3, mode="bilinear", align_corners=True),
        [[[[0, 1, 2], [2, 3, 4], [4, 5, 6]]]],
    )
    close(tt.interpolate(image, (1, 4)), [[[[0, 0, 2, 2]]]])


def test_a_number_never_reaches_outputs_that_it_has_no_part_in() -> None:
    x = leaf([[[np.inf, 1.0, 2.0, 3.0]]])
    y = tt.interpolate(x, 8, mode="linear")
    assert np.isfinite(np.asarray(y.tolist()[0][0][3:])).all()
    g = np.ones((1, 1, 8))
    g[0, 0, 0] = np.inf
    y.backward(const(g))
    assert np.isfinite(grad_of(x)[0, 0, 1:]).all()


def test_the_gradient_gives_back_what_was_taken() -> None:
    """The sum of the shares of all outputs, for any sizes: <g, A x> = <Aᵀ g, x>."""
    rng = np.random.default_rng(0)
    for n, m in itertools.product((1, 2, 3, 5, 8), (1, 2, 3, 7, 16)):
        for mode, corners in (("nearest", False), ("linear", False), ("linear", True)):
            x, g = leaf(rng.normal(size=(2, 1, n))), rng.normal(size=(2, 1, m))
            y = tt.interpolate(x, m, mode=mode, align_corners=corners)
            y.backward(const(g))
            close(np.sum(grad_of(x) * np.array(x.tolist())), np.sum(g * np.array(y.tolist())))


def test_layer() -> None:
    layer = nn.Upsample(scale_factor=2, mode="bilinear")
    assert layer(tt.ones(1, 2, 3, 4)).shape == (1, 2, 6, 8)
    assert repr(layer) == "Upsample(scale_factor=2, mode='bilinear')"
    assert repr(nn.Upsample(5)) == "Upsample(size=5, mode='nearest')"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tt.interpolate(x), r"expected either size or scale_factor, got neither"),
        (lambda x: tt.interpolate(x, 2, 2.0), r"expected either size or scale_factor, got both"),
        (lambda x: tt.interpolate(x, 2, mode="cubic"), r"mode: expected one of nearest, .*'cubic'"),
        (
            lambda x: tt.interpolate(x, 2, mode="bilinear"),
            r"x: expected 4 axes, \(N, C, \.\.\.\), for mode='bilinear', got shape \(1, 1, 3\)",
        ),
        (lambda x: tt.interpolate(x[0], 2), r"x: expected 3 axes or 4 axes or 5 axes"),
        (lambda x: tt.interpolate(x, 2, align_corners=True), r"align_corners: expected False"),
        (lambda x: tt.interpolate(x, (2, 3)), r"size: expected one number, or 1 for x .*\(2, 3\)"),
        (lambda x: tt.interpolate(x, 0), r"at least one element along each axis, got \(3,\) in x"),
        (lambda x: tt.interpolate(x, scale_factor=0.1), r"at least one element along each axis"),
        (lambda x: tt.interpolate(x, scale_factor=-1), r"scale_factor: expected a number above 0"),
        (lambda x: tt.interpolate(x, scale_factor="2x"), r"scale_factor: expected a number"),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(const(np.ones((1, 1, 3))))
