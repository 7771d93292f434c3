"""Ops of the user's own, and the checks they can be put through."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.custom import CUSTOM

from ..helpers import close, leaf


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    CUSTOM.clear()


def cube(**options: Any) -> Any:
    """x³ with a right rule, unless told otherwise."""
    rule = options.pop("rule", lambda xp, g, k: g * 3 * k.x * k.x)
    forward = options.pop("forward", lambda xp, x: x * x * x)
    options.setdefault("samples", lambda r: [tt.Sample(r(3, 4)), tt.Sample(r()), tt.Sample(r(0))])
    op = tt.custom_op("x", name="cube", keeps="x", formula="x³", **options)(forward)
    op.vjp(x=rule)
    return op


def test_it_is_an_op_like_ours() -> None:
    op = cube()
    x = leaf([1.0, 2.0])
    y = op(x)
    assert y.node is not None and y.node.op.name == "cube"
    y.sum().backward()
    close(x.grad, [3, 12])
    (g,) = tt.grad(op(x).sum(), x, create_graph=True)
    close(tt.grad(g.sum(), x)[0], [6, 12])
    assert op.check() == 3
    assert op.check(tt.Sample(np.array([0.3]))) == 1
    assert "cube" in str(tt.ops("cube"))


def test_settings_and_several_operands() -> None:
    @tt.custom_op("x y", keeps={"x": "y", "y": "x"})
    def scaled_product(xp: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        return scale * x * y

    scaled_product.vjp(
        x=lambda xp, g, k: k.scale * g * k.y,
        y=lambda xp, g, k: k.scale * g * k.x,
    )
    x, y = leaf([[1.0], [2.0]]), leaf([3.0, 4.0])
    scaled_product(x, y, scale=2.0).sum().backward()
    close(x.grad, [[14], [14]])
    close(y.grad, [6, 6])
    assert scaled_product.check(tt.Sample(np.ones((2, 1)), np.arange(3.0), scale=0.5)) == 1


def test_without_samples_some_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    op = cube(samples=None)
    assert op.check() == 3
    assert "no samples of its own; drawn: [Sample(float64(3, 4)), Sample(float64())" in (
        capsys.readouterr().out
    )
    with pytest.raises(AssertionError, match=r"cube.*Sample\(float64\(3, 4\)\)"):
        cube(samples=None, rule=PLANTED["a factor"]).check()

    @tt.custom_op("a b", keeps="a b")
    def product(xp: Any, a: Any, b: Any) -> Any:
        assert a.ndim == b.ndim == 2
        return a @ b

    product.vjp(a=lambda xp, g, k: g @ k.b.T, b=lambda xp, g, k: k.a.T @ g)
    assert product.check() == 2  # (3, 4) with (4, 2), (3, 3) with (3, 3)
    product.vjp(a=lambda xp, g, k: g @ k.b.T, b=lambda xp, g, k: g @ k.a)
    with pytest.raises(Exception, match="product|dimension|matmul"):
        product.check()
    logarithm = tt.custom_op("x", name="logarithm", keeps="x")(lambda xp, x: xp.log(x))
    logarithm.vjp(x=lambda xp, g, k: g / k.x)
    assert logarithm.check() == 3
    total = tt.custom_op("*xs", name="total")(lambda xp, *xs: xs[0] + xs[1])
    total.vjp(lambda xp, g, k: (g, g))
    assert total.check() == 3
    picky = tt.custom_op("x", name="picky")(lambda xp, x: x.reshape(7, 5))
    with pytest.raises(ValueError, match=r"accepted none.*shapes .*picky.check\(tt.Sample"):
        picky.check()
    setting = tt.custom_op("x", name="setting")(lambda xp, x, k: x * k)
    with pytest.raises(ValueError, match=r"settings without a default: k"):
        setting.check()


def test_a_rule_that_is_missing_is_named() -> None:
    op = tt.custom_op("x", name="twice")(lambda xp, x: x * 2.0)
    for loss in (op(leaf([1.0])).sum(), (op(leaf([1.0])) * leaf([1.0]).detach()).sum()):
        with pytest.raises(RuntimeError, match=r"op 'twice' has no gradient rule.*twice\.vjp"):
            loss.backward()


PLANTED = {
    "the sign": lambda xp, g, k: -g * 3 * k.x * k.x,
    "a factor": lambda xp, g, k: g * k.x * k.x,
    "zero": lambda xp, g, k: g * 0.0,
    "the shape": lambda xp, g, k: (g * 3 * k.x * k.x)[..., None],
    "the second derivative": lambda xp, g, k: g * 3 * (k.x * k.x if xp is np else k.x),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_check_finds_a_wrong_rule(fault: str) -> None:
    op = cube(rule=PLANTED[fault])
    with pytest.raises((AssertionError, ValueError), match="cube|zero"):
        op.check()


def test_check_finds_a_forward_that_writes() -> None:
    def forward(xp: Any, x: Any) -> Any:
        x *= 1.5
        return x * x * x

    with pytest.raises(AssertionError, match="wrote into an operand"):
        cube(forward=forward).check()


def test_check_finds_a_reference_that_differs() -> None:
    op = cube()
    op.reference_is(lambda x: x * x)
    with pytest.raises(AssertionError, match="differs from the reference"):
        op.check()


def test_check_finds_dependence_on_memory_order() -> None:
    op = cube(forward=lambda xp, x: x * x * x + (0.0 if x.flags.c_contiguous else 1.0))
    with pytest.raises(AssertionError, match="Fortran"):
        op.check(tt.Sample(np.arange(6.0).reshape(2, 3)))


def test_defining_again_replaces_but_ours_are_safe() -> None:
    assert cube() is not cube()
    with pytest.raises(ValueError, match="'softmax' is one of tinytensor's own"):
        tt.custom_op("x", name="softmax")(lambda xp, x: x)


def test_check_looks_into_lists_of_operands() -> None:
    @tt.custom_op("*xs", samples=lambda r: [tt.Sample([r(2), r(2)])])
    def total(xp: Any, *xs: Any) -> Any:
        return xs[0] + xs[1]

    total.vjp(lambda xp, g, k: (g, g))
    assert total.check() == 1
    total.vjp(lambda xp, g, k: (g, g * 5.0))
    with pytest.raises(AssertionError, match="DISAGREE"):
        total.check()


def test_check_wants_a_gradient_to_check() -> None:
    for sample in (tt.Sample(np.arange(3)), tt.Sample(np.zeros((0, 2)))):
        with pytest.raises(ValueError, match="'cube': no sample has a gradient to check"):
            cube().check(sample)


def test_check_finds_a_rule_that_writes() -> None:
    def rule(xp: Any, g: Any, k: Any) -> Any:
        g *= 3 * k.x * k.x
        return g

    op = cube(rule=rule)
    op.reference_is(lambda x: x * x * x)
    with pytest.raises(AssertionError, match="rule wrote into an array"):
        op.check()


def test_check_finds_a_result_that_is_the_operand() -> None:
    op = tt.custom_op("x", name="same")(lambda xp, x: x)
    with pytest.raises(AssertionError, match="memory of an operand"):
        op.check(tt.Sample(np.ones(3)))
    view = tt.custom_op("x", name="same", view=True)(lambda xp, x: x)
    view.vjp(x=lambda xp, g, k: g)
    assert view.check(tt.Sample(np.ones(3))) == 1


def test_mistakes_in_a_definition_are_named() -> None:
    x = leaf([2.0, 3.0])
    no_rule = tt.custom_op("x", name="no_rule")(lambda xp, x: x * x)
    with pytest.raises(ValueError, match=r"no gradient rule: give it one by no_rule\.vjp"):
        no_rule.check(tt.Sample(np.ones(2)))
    typo = tt.custom_op("x", name="typo", keeps="X")(lambda xp, x: x * x)
    with pytest.raises(TypeError, match="typo.*expected a tuple of the result and X"):
        typo(x)
    forgot = tt.custom_op("x", name="forgot")(lambda xp, x: x * x)
    forgot.vjp(x=lambda xp, g, k: g * 2 * k.x)
    with pytest.raises(
        AttributeError, match="'forgot' reads k.x, which is not kept: add 'x' to its"
    ):
        forgot(x).sum().backward()
    with pytest.raises(TypeError, match="unknown option kepes"):
        tt.custom_op("x", kepes="x")
    with pytest.raises(TypeError, match="expected their names, as @tt.custom_op"):
        tt.custom_op(lambda xp, x: x)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "forward", "message"),
    [
        ({"keeps": "needs"}, lambda xp, needs: needs, "needs: a gradient rule reads something el"),
        ({}, lambda xp, x, run=3: x, "run: a gradient rule reads something else as k.run"),
        ({}, lambda xp, x, mro=3: x, "mro: a gradient rule reads something else as k.mro"),
        ({"keeps": "axis"}, lambda xp, x, axis=None: (x, 5), "axis: two things of this name"),
        ({"keeps": "out"}, lambda xp, out: out, "out: two things of this name"),
        ({"keeps": "class"}, lambda xp, x: (x, 5), "expected names as in k.name, got 'class'"),
        ({"keeps": "x.max"}, lambda xp, x: (x, 5), "expected names as in k.name, got 'x.max'"),
        ({"keeps": {"X": "x"}}, lambda xp, x: x, r"keeps: X: expected operands \(x\)"),
        ({"keeps": "out", "outputs": 2}, lambda xp, x: (x, x), "'out' is the result of an op that"),
    ],
)
def test_names_that_a_rule_could_not_read_are_refused(
    options: Any, forward: Any, message: str
) -> None:
    operand = forward.__code__.co_varnames[1]
    with pytest.raises(TypeError, match=f"op 'bad': (keeps: )?{message}"):
        tt.custom_op(operand, name="bad", **options)(forward)


def test_a_joint_rule_returns_a_gradient_for_each_operand() -> None:
    forgot = tt.custom_op("x", name="forgot_return")(lambda xp, x: x * 2)
    forgot.vjp(x=lambda xp, g, k: g * 2)
    forgot.vjp(lambda xp, g, k: None)  # this one counts: it came last
    with pytest.raises(TypeError, match="'forgot_return': its rule returned NoneType; expected a"):
        forgot(leaf([1.0])).sum().backward()
    listed = tt.custom_op("*xs", name="listed")(lambda xp, *xs: xs[0])
    with pytest.raises(TypeError, match="op listed: expected one joint rule"):
        listed.vjp(xs=lambda xp, g, k: g)


def _double(xp: Any, x: Any, by: float = 2.0) -> Any:
    return x * by


def _double_dx(xp: Any, g: Any, k: Any) -> Any:
    assert len({k: 1}) == 1  # a rule may use it as a key
    return g * k.by


def test_a_registered_op_is_copied_and_pickled_as_itself() -> None:
    net = tt.nn.Linear(2, 2)
    net.act = tt.gelu
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert again.act is tt.gelu


def test_pickle_and_copy_after_a_backward() -> None:
    double = tt.custom_op("x", name="double")(_double)
    double.vjp(x=_double_dx)
    double(leaf([1.0])).sum().backward()
    for again in (pickle.loads(pickle.dumps(double)), copy.deepcopy(double)):
        x = leaf([1.0, 2.0])
        again(x).sum().backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.data, [2.0, 2.0])


def test_a_rule_that_comes_later_counts() -> None:
    late = tt.custom_op("x y", name="late", keeps={"x": "y", "y": "x"})(lambda xp, x, y: x * y)
    late.vjp(x=lambda xp, g, k: g * k.y)
    x, y = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    late(x, y).sum().backward()
    assert x.grad is not None and y.grad is None
    late.vjp(x=lambda xp, g, k: g * k.y, y=lambda xp, g, k: g * k.x)
    late(x, y).sum().backward()
    assert y.grad is not None
    np.testing.assert_array_equal(x.grad.data, [10.0, 14.0])
    np.testing.assert_array_equal(y.grad.data, [2.0, 3.0])
