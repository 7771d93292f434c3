"""What users call, in its own arguments, and the layers: PyTorch's values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tinytensor as tt
from tinytensor import nn
from tinytensor.operations.windows import cross_correlation

from ..nn.helpers import values_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
F = torch.nn.functional
EVEN_SAME = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")


def each(draw: Callable, dims: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(dims))


def both(name: str, arrays: list[Any], *args: Any, **settings: Any) -> None:
    """The same outputs and gradients, or an error from both."""
    theirs = [None if a is None else torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    ours = [None if a is None else tt.tensor(a, requires_grad=True) for a in arrays]
    try:
        expected = getattr(F, name)(*theirs, *args, **settings)
    except RuntimeError:
        with pytest.raises(ValueError, match=f"{name}: "):
            getattr(tt, name)(*ours, *args, **settings)
        return
    got = getattr(tt, name)(*ours, *args, **settings)
    if isinstance(expected, tuple):
        np.testing.assert_array_equal(values_of(got[1]), expected[1].numpy())
        got, expected = got[0], expected[0]
    assert got.shape == tuple(expected.shape)
    np.testing.assert_allclose(values_of(got), expected.detach().numpy(), rtol=1e-9, atol=1e-11)
    if not got.size:
        return
    cotangent = np.random.default_rng(7).normal(size=got.shape)
    got.backward(tt.tensor(cotangent))
    expected.backward(torch.from_numpy(cotangent))
    for a, b in zip(ours, theirs, strict=True):
        if a is not None:
            np.testing.assert_allclose(values_of(a.grad), b.grad.numpy(), rtol=1e-9, atol=1e-10)


@EVEN_SAME
@given(st.data())
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions(transposed: bool, dims: int, data: st.DataObject) -> None:
    draw, random = data.draw, np.random.default_rng(data.draw(st.integers(0, 99)))
    groups = draw(st.integers(1, 3))
    ins, outs = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel = each(draw, dims, 1, 3)
    lead = draw(st.sampled_from([(), (0,), (1,), (3,)]))
    x = random.normal(size=(*lead, ins, *each(draw, dims, 1, 7 if dims < 3 else 4)))
    settings: dict[str, Any] = {
        "stride": each(draw, dims, 1, 3), "padding": each(draw, dims, 0, 3),
        "dilation": each(draw, dims, 1, 3), "groups": groups,
    }  # fmt: skip
    if transposed:
        assume(x.size)  # without a batch, torch takes an output without elements, too
        settings["output_padding"] = each(draw, dims, 0, 2)
        shape = (ins, outs // groups, *kernel)
    else:
        settings["padding"] = draw(st.sampled_from([settings["padding"], "same", "valid"]))
        shape = (outs, ins // groups, *kernel)
    bias = random.normal(size=(outs,)) if draw(st.booleans()) else None
    name = f"conv{'_transpose' if transposed else ''}{dims}d"
    both(name, [x, random.normal(size=shape), bias], **settings)


@pytest.mark.parametrize("block", [1 << 19, 3000])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_many_small_images(
    dims: int, transposed: bool, block: int, rng: np.random.Generator, monkeypatch: Any
) -> None:
    """Of which columns are made with the members of the batch side by side, in blocks."""
    monkeypatch.setattr(cross_correlation, "_BLOCK", block)
    chosen = []
    rule = cross_correlation._batch_last
    monkeypatch.setattr(
        cross_correlation, "_batch_last", lambda *a: chosen.append(rule(*a)) or chosen[-1]
    )
    x = rng.normal(size=(37, 4, *(5, 4, 3)[:dims]))
    shape = (4, 3, *(5, 3, 3)[:dims]) if transposed else (3, 4, *(5, 3, 3)[:dims])
    arrays = [x, rng.normal(size=shape), rng.normal(size=3)]
    both(f"conv{'_transpose' if transposed else ''}{dims}d", arrays, stride=1, padding=1)
    assert any(chosen)


@given(st.data())
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling(kind: str, dims: int, data: st.DataObject) -> None:
    draw, random = data.draw, np.random.default_rng(data.draw(st.integers(0, 99)))
    lead = draw(st.sampled_from([(), (0,), (1,), (3,)]))
    x = random.integers(-2, 3, (*lead, 2, *each(draw, dims, 1, 7 if dims < 3 else 4))).astype(
        float
    )  # many ties
    special = draw(st.sampled_from([0.0, np.nan, -np.inf, np.inf]))
    x[random.random(x.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = special
    settings: dict[str, Any] = {
        "stride": draw(st.sampled_from([None, each(draw, dims, 1, 3)])),
        "padding": each(draw, dims, 0, 1), "ceil_mode": draw(st.booleans()),
    }  # fmt: skip
    if kind == "max":
        # with both, torch pools windows of padding alone, at positions out of range
        if not any(settings["padding"]):
            settings["dilation"] = each(draw, dims, 1, 3)
        settings["return_indices"] = True
    else:
        settings["count_include_pad"] = draw(st.booleans())
        if dims > 1:
            settings["divisor_override"] = draw(st.sampled_from([None, 3]))
    kernel = each(draw, dims, 1, 4)
    if dims == 3:  # here torch refuses kernels that are larger than x without its padding
        kernel = tuple(min(k, n) for k, n in zip(kernel, x.shape[-3:], strict=True))
        settings["padding"] = tuple(
            min(p, k // 2) for p, k in zip(settings["padding"], kernel, strict=True)
        )
    both(f"{kind}_pool{dims}d", [x], kernel, **settings)
    options = {"return_indices": True} if kind == "max" else {}
    both(f"adaptive_{kind}_pool{dims}d", [x], each(draw, dims, 0, 8), **options)


CONVOLUTIONS: list[tuple[str, tuple, dict[str, Any]]] = [
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ("Conv1d", (4, 6, 2), {"padding": "same", "bias": False}),
    ("Conv2d", (4, 6, (3, 2)), {"stride": (1, 2), "padding": (1, 0), "dilation": 2}),
    ("Conv2d", (4, 4, 3), {"padding": "same", "groups": 4}),
    ("Conv2d", (4, 2, 3), {"padding": (2, 1), "padding_mode": "reflect"}),
    ("Conv2d", (4, 2, 3), {"padding": (2, 1), "padding_mode": "replicate"}),
    ("Conv2d", (4, 2, (4, 3)), {"padding": "same", "padding_mode": "circular"}),
    ("Conv3d", (4, 6, (2, 1, 3)), {"stride": 2, "padding": (0, 1, 1), "groups": 2}),
    ("Conv3d", (4, 2, 2), {"padding": 1, "padding_mode": "replicate"}),
    ("ConvTranspose3d", (4, 6, (2, 1, 3)), {"stride": 2, "padding": (0, 0, 1), "groups": 2}),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "padding": 1, "dilation": (1, 2)}),
    ("ConvTranspose2d", (4, 6, 3), {"stride": (2, 1), "groups": 2, "bias": False}),
]


@EVEN_SAME
@pytest.mark.parametrize(("name", "args", "options"), CONVOLUTIONS)
def test_layers(name: str, args: tuple, options: dict[str, Any], rng: np.random.Generator) -> None:
    """PyTorch's state dict in our layer: the same output, the same gradients."""
    theirs = getattr(torch.nn, name)(*args, **options).double()
    ours = getattr(nn, name)(*args, **options).to("float64")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    values = rng.standard_normal((2, 4, *(5, 6, 4)[: int(name[-2])]))
    x, y = tt.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    a, b = ours(x), theirs(y)
    np.testing.assert_allclose(values_of(a), b.detach().numpy(), rtol=1e-9, atol=1e-11)
    cotangent = rng.standard_normal(a.shape)
    a.backward(tt.tensor(cotangent))
    b.backward(torch.from_numpy(cotangent))
    np.testing.assert_allclose(values_of(x.grad), y.grad.numpy(), rtol=1e-9, atol=1e-11)
    for key, param in theirs.named_parameters():
        mine = values_of(ours.get_parameter(key).grad)
        np.testing.assert_allclose(mine, param.grad.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [f"Conv{t}{d}d" for t in ("", "Transpose") for d in (1, 2, 3)])
def test_initial_spread(name: str) -> None:
    torch.manual_seed(0)
    ours = getattr(nn, name)(20, 200, 3, groups=2)
    theirs = getattr(torch.nn, name)(20, 200, 3, groups=2)
    for key, param in theirs.named_parameters():
        spread = float(param.detach().abs().max())
        assert np.abs(values_of(ours.get_parameter(key))).max() == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("name", [f"{k}Pool{d}d" for k in ("Max", "Avg") for d in (1, 2, 3)])
def test_pooling_layers(name: str, rng: np.random.Generator) -> None:
    values = rng.standard_normal((2, 3, 7, 6, 4)[: 2 + int(name[-2])])
    options = {"ceil_mode": True, **({"count_include_pad": False} if "Avg" in name else {})}
    for args in ((2,), (3, 2), (3, 2, 1)):
        ours, theirs = (getattr(m, name)(*args, **options) for m in (nn, torch.nn))
        a, b = ours(tt.tensor(values)), theirs(torch.from_numpy(values))
        np.testing.assert_allclose(values_of(a), b.numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", ["Avg", "Max"])
@pytest.mark.parametrize("size", [(3,), (2, 3), (None, 4), (1, None, 3)])
def test_adaptive_layers(kind: str, size: Any, rng: np.random.Generator) -> None:
    values = rng.standard_normal((2, 3, 7, 6, 4)[: 2 + len(size)])
    name = f"Adaptive{kind}Pool{len(size)}d"
    ours, theirs = (getattr(m, name)(size) for m in (nn, torch.nn))
    a, b = ours(tt.tensor(values)), theirs(torch.from_numpy(values))
    np.testing.assert_allclose(values_of(a), b.numpy(), rtol=1e-12)


def test_flatten(rng: np.random.Generator) -> None:
    values = rng.standard_normal((2, 3, 4, 5))
    for args in ((), (0,), (1, 2), (-2, -1), (2, 2)):
        ours, theirs = nn.Flatten(*args), torch.nn.Flatten(*args)
        expected = theirs(torch.from_numpy(values)).numpy()
        np.testing.assert_array_equal(values_of(ours(tt.tensor(values))), expected)
