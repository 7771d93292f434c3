"""vjp, jvp, jacobian, hessian, hvp and value_and_grad on nests of tensors."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import tinytensor as tt

from ..helpers import close, const, host, leaf

pytestmark = pytest.mark.usefixtures("device")


class Pair(NamedTuple):
    w: tt.Tensor
    b: tt.Tensor


def cubes(x: tt.Tensor) -> tt.Tensor:
    return (x**3).sum()


def test_value_and_grad() -> None:
    x = const([1.0, 2.0, 3.0])
    for value, g in (tt.value_and_grad(cubes, x), tt.value_and_grad(cubes)(x)):
        close(value, 36)
        close(g, [3, 12, 27])
        assert not value.requires_grad and not g.requires_grad
    assert x.grad is None and not x.requires_grad


def test_value_and_grad_of_a_nest() -> None:
    nest = {
        "p": Pair(const([1.0, 2.0]), const(3.0)),
        "n": 4,
        "more": [const([5.0]), tt.tensor([1, 2])],
    }

    def fn(d: dict[str, Any], scale: float) -> tt.Tensor:
        return ((d["p"].w * d["p"].b).sum() + (d["more"][0] ** 2).sum() * d["n"]) * scale

    value, g = tt.value_and_grad(fn, nest, 2.0)
    close(value, 2 * (9 + 100))
    assert isinstance(g["p"], Pair)
    close(g["p"].w, [6, 6])
    close(g["p"].b, 6)
    close(g["more"][0], [80])
    assert g["n"] is None and g["more"][1] is None


def test_argnums_and_aux() -> None:
    def fn(x: tt.Tensor, y: tt.Tensor) -> Any:
        return (x * y * y).sum(), {"seen": x.shape}

    (value, aux), (gx, gy) = tt.value_and_grad(
        fn, const([2.0]), const([3.0]), argnums=(0, -1), has_aux=True
    )
    close(value, 18)
    assert aux == {"seen": (1,)}
    close(gx, [9])
    close(gy, [12])
    with pytest.raises(ValueError, match="argnums: expected -1 to 0, got 1"):
        tt.value_and_grad(cubes, const([1.0]), argnums=1)


def test_an_input_that_is_not_used_has_gradient_zero() -> None:
    _, (gx, gy) = tt.value_and_grad(
        lambda x, y: cubes(x), const([2.0]), const([[1.0]]), argnums=(0, 1)
    )
    close(gx, [12])
    close(gy, [[0]])
    _, g = tt.value_and_grad(lambda x: const(1.0), const([2.0]))
    close(g, [0])


def test_vjp() -> None:
    x, y = const([1.0, 2.0]), const([3.0, 4.0])
    value, pull = tt.vjp(lambda x, y: {"p": x * y, "s": x.sum()}, x, y)
    close(value["p"], [3, 8])
    for _ in range(2):  # may be called again
        gx, gy = pull({"p": const([1.0, 10.0]), "s": const(100.0)})
        close(gx, [103, 140])
        close(gy, [1, 20])
    with pytest.raises(ValueError, match=r"expected shape \(2,\).*got \(3,\)"):
        pull({"p": const([1.0, 1.0, 1.0]), "s": const(1.0)})
    with pytest.raises(ValueError, match=r"cotangents: expected a dict with keys.*got keys"):
        pull({"p": const([1.0, 1.0])})


def test_jvp_equals_finite_differences(rng: np.random.Generator) -> None:
    a, w, da, dw = (rng.normal(size=s) for s in ((3, 4), (4, 2), (3, 4), (4, 2)))

    def fn(x: tt.Tensor, w: tt.Tensor) -> Any:
        return tt.softmax(tt.tanh(x) @ w), (x * x).sum()

    value, along = tt.jvp(fn, (const(a), const(w)), (const(da), const(dw)))
    h = 1e-6
    high, low = (fn(const(a + s * da), const(w + s * dw)) for s in (h, -h))
    for v, d, p, q in zip(value, along, high, low, strict=True):
        np.testing.assert_allclose(host(d), (host(p) - host(q)) / (2 * h), rtol=1e-6, atol=1e-8)
        assert d.shape == v.shape


def test_jacobian_of_several_in_and_out(rng: np.random.Generator) -> None:
    a, w = rng.normal(size=(2, 3)), rng.normal(size=(3,))
    rows = tt.jacobian(lambda x, w: {"y": x @ w, "z": w * 2.0}, const(a), const(w), argnums=(0, 1))
    close(rows["y"][1], a)
    expected = np.zeros((2, 2, 3))
    expected[0, 0], expected[1, 1] = w, w
    close(rows["y"][0], expected)
    close(rows["z"][0], np.zeros((3, 2, 3)))
    close(rows["z"][1], 2 * np.eye(3))
    assert tt.jacobian(lambda x: x[:0], const(w)).shape == (0, 3)


def test_hessian_and_hvp_agree(rng: np.random.Generator) -> None:
    m, x, v = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)

    def fn(x: tt.Tensor) -> tt.Tensor:
        return tt.exp(x * 0.1).sum() + x @ const(m) @ x

    h = tt.hessian(fn, const(x))
    np.testing.assert_allclose(host(h), m + m.T + np.diag(0.01 * np.exp(0.1 * x)), rtol=1e-9)
    (product,) = tt.hvp(fn, (const(x),), (const(v),))
    np.testing.assert_allclose(host(product), host(h) @ v, rtol=1e-9)
    assert not product.requires_grad


def test_hessian_of_a_nest() -> None:
    h = tt.hessian(lambda p: (p.w * p.b).sum(), Pair(const([1.0, 2.0]), const([3.0, 4.0])))
    close(h.w.w, np.zeros((2, 2)))
    close(h.w.b, np.eye(2))
    close(h.b.w, np.eye(2))


def test_they_compose() -> None:
    third = tt.jacobian(tt.jacobian(tt.jacobian(cubes)))(const([1.0, 2.0]))
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = expected[1, 1, 1] = 6
    close(third, expected)
    # a derivative inside the function that is differentiated
    close(tt.value_and_grad(lambda x: tt.jvp(cubes, (x,), (x,))[1], const([2.0]))[1], [36])  # 9x²


def test_what_a_function_closes_over_gets_gradients_on_request() -> None:
    w = leaf(2.0)
    _, g = tt.value_and_grad(lambda x: (w * x * x).sum(), const([1.0, 2.0]), create_graph=True)
    (g * g).sum().backward()
    close(w.grad, 2 * 2 * 4 * 5)  # d/dw Σ (2wx)²
    w.grad = None
    tt.value_and_grad(lambda x: (w * x).sum(), const([1.0]))
    assert w.grad is None


def test_under_no_grad_too() -> None:
    with tt.no_grad():
        close(tt.value_and_grad(cubes, const([2.0]))[1], [12])


def test_bad_functions_and_arguments() -> None:
    with pytest.raises(ValueError, match=r"one element.*shape \(2,\).*jacobian"):
        tt.value_and_grad(lambda x: x * 2.0, const([1.0, 2.0]))
    with pytest.raises(TypeError, match="floating-point tensor"):
        tt.value_and_grad(cubes, tt.tensor([1, 2]))
    with pytest.raises(TypeError, match="fn: expected tensors to be returned, got float"):
        tt.jacobian(lambda x: 1.0, const([1.0]))
    with pytest.raises(ValueError, match=r"expected shape \(2,\)"):
        tt.jvp(cubes, (const([1.0, 2.0]),), (const([1.0]),))


@pytest.mark.parametrize("kind", ["value_and_grad", "jacobian", "vjp", "hvp"])
def test_a_result_on_request_is_differentiable_by_its_argument(kind: str) -> None:
    x = leaf([2.0, 3.0])
    if kind == "value_and_grad":
        g = tt.value_and_grad(cubes, x, create_graph=True)[1]
    elif kind == "jacobian":
        g = tt.jacobian(lambda x: x * x * x, x, create_graph=True).sum(axis=0)
    elif kind == "vjp":
        (g,) = tt.vjp(cubes, x, create_graph=True)[1](const(1.0))
    else:
        (g,) = tt.hvp(lambda x: (x**4).sum() / 4.0, (x,), (const([1.0, 1.0]),), create_graph=True)
    close(g, [12, 27])
    g.sum().backward()
    close(x.grad, [12, 18])


def test_the_pullback_is_a_function_of_its_cotangent_too() -> None:
    _, pull = tt.vjp(lambda x: x * x, const([1.0, 2.0]))
    close(tt.jacobian(lambda c: pull(c)[0], const([1.0, 1.0])), [[2, 0], [0, 4]])


def test_jvp_beside_an_output_of_integers() -> None:
    (y, i), (dy, di) = tt.jvp(
        lambda x: (x * 2.0, tt.argmax(x)), (const([1.0, 3.0]),), (const([1.0, 5.0]),)
    )
    close(y, [2, 6])
    close(dy, [2, 10])
    assert int(i) == 1 and int(di) == 0


def test_auxiliary_results_are_plain_too() -> None:
    (_, aux), _ = tt.value_and_grad(
        lambda x: ((x * x).sum(), {"twice": x * 2.0, "note": "text"}), const([1.0]), has_aux=True
    )
    assert not aux["twice"].requires_grad and aux["note"] == "text"


def test_dicts_match_by_key_and_nests_by_form() -> None:
    value, pull = tt.vjp(lambda x: {"b": x * 2.0, "a": x * 3.0}, const([1.0]))
    assert list(value) == ["b", "a"]
    close(pull({"a": const([1.0]), "b": const([0.0])})[0], [3])
    _, along = tt.jvp(
        lambda d: d["a"] * 10.0 + d["b"],
        ({"a": const(1.0), "b": const(1.0)},),
        ({"b": const(0.0), "a": const(1.0)},),
    )
    close(along, 10)
    with pytest.raises(ValueError, match="tangents: expected 1, one for each.*got 2"):
        tt.jvp(cubes, (const([1.0]),), (const([1.0]), const([1.0])))
    with pytest.raises(ValueError, match=r"argnums: expected each argument once, got \(0, -2\)"):
        tt.value_and_grad(lambda x, y: (x * y).sum(), const([1.0]), const([1.0]), argnums=(0, -2))


def test_a_mapping_stays_of_its_kind() -> None:
    def fn(d: Any) -> tt.Tensor:
        assert isinstance(d, OrderedDict)
        return d["x"].sum()

    _, g = tt.value_and_grad(fn, OrderedDict(x=const([1.0])))
    assert isinstance(g, OrderedDict)


def test_a_single_tensor_needs_no_tuple() -> None:
    x, v = const([1.0, 2.0]), const([1.0, 0.0])
    close(tt.hvp(cubes, x, v), [6, 0])
    value, along = tt.jvp(cubes, x, v)
    close(value, 9)
    close(along, 3)
