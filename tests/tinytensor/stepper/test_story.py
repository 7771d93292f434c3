"""The numbers of a story are the engine's: values, gradients, terms, derivatives, the inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor.define.op import OPS
from tinytensor.stepper.story import Story, Told

from ..helpers import close, const, leaf
from ..ops_under_test import cases


def story_of(output: tt.Tensor, cotangent: Any = None) -> Story:
    start = np.ones(output.shape, output.dtype) if cotangent is None else cotangent
    return Story(output, start)


def by_name(story: Story, name: str) -> int:
    """The id of the value of this name."""
    return next(id(v) for view in story.views for v in view.values() if v.name == name)


def test_a_neuron_worked_out_by_hand() -> None:
    x, w, b = (leaf(v) for v in (2.0, -3.0, 6.0))
    x.name, w.name, b.name = "x", "w", "b"
    story = story_of((x * w + b) * x)  # x² w + x b
    assert [t.node.op.name for t in story.told] == ["mul", "add", "mul"]
    assert [float(story.arrays[id(t.results[0])]) for t in story.told] == [-6.0, 0.0, 0.0]
    assert [t.node.op.name for t in story.backward] == ["mul", "add", "mul"]
    assert float(story.grads[by_name(story, "x")]) == 2 * 2 * -3 + 6
    assert float(story.grads[by_name(story, "w")]) == 4.0
    assert float(story.grads[by_name(story, "b")]) == 2.0
    # x is read twice: two terms, of which the last op's comes first
    terms = [float(t) for told in story.backward for v, t in zip(told.operands, told.terms) if v
             is not None and v.name == "x"]  # fmt: skip
    assert terms == [0.0, -6.0]
    assert [[float(p.diagonal) for p in t.locals] for t in story.told] == [
        [-3.0, 2.0], [1.0, 1.0], [2.0, 0.0],
    ]  # fmt: skip


def run(case: Any) -> tuple[list[tt.Tensor], list[tt.Tensor]]:
    """The op on float64 leaves that another op has made, and its differentiable results."""
    args, kwargs, floats = case.build()
    made = case.op(*args, **kwargs)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    return floats, [r for r in results if r.requires_grad and r.size]


DIFFERENTIABLE = sorted(name for name, op in OPS.items() if op.differentiable)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_op_has_the_engines_numbers(name: str) -> None:
    """Gradients of leaves as by backward, bit for bit; terms add up; the derivative is right."""
    for case in cases(OPS[name]):
        floats, results = run(case)
        if not results:
            continue
        random = np.random.default_rng(3)
        weights = [tt.tensor(random.normal(size=r.shape)) for r in results]
        total = (results[0] * weights[0]).sum()
        for r, w in zip(results[1:], weights[1:], strict=True):
            total = total + (r * w).sum()
        story = story_of(total)
        expected = tt.grad(total, floats, retain_graph=True, allow_unused=True)
        of = {id(story.tracers[0].tensors.get(key)): key for key in story.tracers[0].tensors}
        for x, g in zip(floats, expected, strict=True):
            if g is not None:
                np.testing.assert_array_equal(story.grads[of[id(x)]], g.data)
        for told in story.views[0].told:
            check_locals(told, story)
        check_inside(story)


def check_locals(told: Told, story: Story) -> None:
    """The local derivative times the gradient that came is the term that went."""
    if list(told.results) != [0] or id(told.results[0]) not in story.grads:
        return
    g = np.asarray(story.grads[id(told.results[0])], np.float64)
    for part, term in zip(told.locals, told.terms, strict=True):
        if part is None:
            continue
        if part.matrix is not None:
            product = (g.reshape(-1) @ part.matrix).reshape(term.shape)
        else:
            product = part.diagonal * g
            extra = tuple(range(product.ndim - term.ndim))
            product = product.sum(axis=extra)
            ones = tuple(i for i, n in enumerate(term.shape) if n == 1)
            product = product.sum(axis=ones, keepdims=True)
        close(product, term, 1e-8)


def check_inside(story: Story) -> None:
    """What the inside of an op sends to its operands adds up to what the op sends."""
    for view in story.views[1:]:
        assert view.step is not None
        for value, term in zip(view.step.operands, view.step.terms, strict=True):
            if value is None or term is None:
                continue
            same = [t for v, t in zip(view.step.operands, view.step.terms) if v is value]
            inner = [
                t
                for told in view.told
                for v, t in zip(told.operands, told.terms, strict=True)
                if v is value and t is not None
            ]
            close(sum(inner), sum(t for t in same if t is not None), 1e-7)


def test_dtype_and_broadcasting_are_the_ops_own() -> None:
    x, b = tt.randn(4, 3, requires_grad=True), tt.randn(3, requires_grad=True)
    story = story_of((x * b).sum())
    mul, total = story.told
    assert mul.terms[1].shape == (3,) and mul.terms[1].dtype == np.float32
    assert mul.locals[1] is not None and mul.locals[1].diagonal.shape == (4, 3)
    np.testing.assert_array_equal(mul.locals[1].diagonal, x.data)
    assert total.locals[0] is not None and total.locals[0].matrix.shape == (1, 12)


def test_a_derivative_that_mixes_elements_is_a_matrix() -> None:
    x = leaf([0.0, 1.0, 3.0])
    story = story_of(tt.softmax(x), np.array([1.0, 0.0, 0.0]))
    part = story.told[0].locals[0]
    assert part is not None and part.diagonal is None
    s = np.exp([0.0, 1.0, 3.0]) / np.exp([0.0, 1.0, 3.0]).sum()
    close(part.matrix, np.diag(s) - np.outer(s, s), 1e-12)
    close(story.told[0].terms[0].sum(), 0.0, 1e-12)


def test_a_derivative_that_is_nan_stays_in_its_place() -> None:
    """A NaN times the 0 of its neighbours would be NaN everywhere."""
    with np.errstate(all="ignore"):
        x = leaf([4.0, -1.0, 0.0])
        roots, shares = story_of(tt.sqrt(x).sum()).told[0], story_of(tt.softmax(x * np.nan)[0])
    (found,) = roots.locals
    assert found is not None and found.matrix is None
    np.testing.assert_array_equal(found.diagonal, [0.25, np.nan, np.inf])
    softmax = next(t for t in shares.told if t.node.op.name == "softmax")
    assert softmax.locals[0] is not None and np.isnan(softmax.locals[0].matrix).all()


def test_nothing_of_the_users_is_touched() -> None:
    x = leaf([0.5, -1.0])
    x.grad = tt.tensor([7.0, 7.0], dtype="float64")
    called: list[Any] = []
    x.register_hook(called.append)
    loss = (tt.dropout(x, 0.5) * tt.softmax(x)).sum()
    before = tt.random.state()
    tt.step_through(loss)
    assert tt.random.state() == before
    assert called == [] and x.grad.tolist() == [7.0, 7.0]
    loss.backward()  # the graph is still whole
    assert len(called) == 1


def test_what_backward_has_freed_is_known_again_from_what_is_left() -> None:
    x, w = tt.randn(3, 40, requires_grad=True), tt.randn(40, 2, requires_grad=True)
    loss = tt.tanh(x @ w).sum()
    loss.backward()
    story = story_of(loss)
    assert all(id(v) in story.arrays for v in story.views[0].values())
    of = {id(t): key for key, t in story.tracers[0].tensors.items()}
    np.testing.assert_array_equal(story.grads[of[id(w)]], w.grad.data)


def test_what_was_written_to_is_not_known() -> None:
    """Neither forward nor gradients are made up from numbers that the op did not see."""
    w = tt.randn(40, requires_grad=True)
    loss = (w * 2.0).exp().sum()
    loss.backward()
    with tt.no_grad():
        w -= 1.0
    story = story_of(loss)
    mul, exp, total = story.told
    assert id(mul.results[0]) not in story.arrays and id(mul.operands[0]) not in story.arrays
    assert float(story.arrays[id(total.results[0])]) == loss.item()  # small: the graph knows it
    assert mul.terms[0] is None and exp.terms == [None]
    why = [story.unknown.get(id(v)) for v in (mul.operands[0], mul.results[0], exp.results[0])]
    assert why == ["changed", "changed", "changed"]


def test_a_large_constant_is_known_while_it_lives() -> None:
    x, y = tt.randn(40, requires_grad=True), tt.randn(40)
    loss = ((x - y) ** 2).mean()
    story = story_of(loss)
    np.testing.assert_array_equal(story.arrays[id(story.told[0].operands[1])], y.data)
    del y, story
    story = story_of(loss)
    sub, power, mean = story.told
    assert id(sub.operands[1]) not in story.arrays
    assert story.unknown[id(sub.operands[1])] == "gone"
    assert id(sub.results[0]) in story.arrays  # the square has kept it
    expected = tt.grad(loss, x)[0].data
    np.testing.assert_array_equal(sub.terms[0], expected)


def test_an_op_of_the_users_own() -> None:
    @tt.custom_op("x y", keeps="x y", name="story_product")
    def story_product(xp: Any, x: Any, y: Any, scale: float = 2.0) -> Any:
        return scale * x * y

    story_product.vjp(x=lambda xp, g, k: k.scale * g * k.y, y=lambda xp, g, k: k.scale * g * k.x)
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    story = story_of(story_product(x, y, scale=3.0).sum())
    assert story.told[0].terms[0].tolist() == [9.0, 12.0]
    assert story.told[0].locals[1].diagonal.tolist() == [3.0, 6.0]  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [3, 40])
def test_an_op_that_draws_random_numbers_is_not_told_with_others(size: int) -> None:
    @tt.custom_op("x", keeps="out", name="story_noise")
    def story_noise(xp: Any, x: Any) -> Any:
        return x * np.random.standard_normal(x.shape).astype(x.dtype)

    story_noise.vjp(x=lambda xp, g, k: g * k.out)
    x = tt.randn(size, requires_grad=True)
    noisy = story_noise(x)
    loss = (noisy * noisy).sum()
    before = np.random.get_state()[2]
    story = story_of(loss)
    if size == 3:
        tt.draw(loss, zoom="scalars")
    assert np.random.get_state()[2] == before
    loss.backward()
    noise, square, _ = story.told
    np.testing.assert_array_equal(story.arrays[id(noise.results[0])], noisy.detach().data)
    assert x.grad is not None
    np.testing.assert_array_equal(noise.terms[0], x.grad.data)
    assert noise.applied is None and square.applied is not None


def test_float16_is_rounded_where_the_engine_rounds_it() -> None:
    x = tt.tensor([60000.0, 60000.0, 0.1], dtype="float16", requires_grad=True)
    shares = tt.softmax(x * 1e-5)
    with np.errstate(over="ignore"):
        total = x.sum() * 0.5 + (shares * shares).sum()  # the sum is infinite in float16
    story = story_of(total)
    total.backward()
    told_at_top = story.views[0].told
    assert story.arrays[id(told_at_top[-1].results[0])] == np.inf == total.item()
    for told in told_at_top:
        assert all(story.arrays[id(v)].dtype == v.dtype for v in told.results.values())
    softmax = next(told for told in told_at_top if told.node.op.name == "softmax")
    found = story.arrays[id(softmax.results[0])]
    np.testing.assert_array_equal(found, shares.detach().data)
    of = {id(t): key for key, t in story.tracers[0].tensors.items()}
    assert x.grad is not None
    np.testing.assert_array_equal(story.grads[of[id(x)]], x.grad.data)


def test_what_was_kept_and_written_to_since_has_no_terms() -> None:
    w = tt.randn(40, requires_grad=True)
    loss = (w * w).sum()
    with tt.no_grad():
        w -= 1.0
    story = story_of(loss)
    assert story.told[0].terms == [None, None] and story.told[1].terms[0] is not None


def test_a_checkpoint_is_not_run_again_to_be_told() -> None:
    runs: list[int] = []

    def segment(v: tt.Tensor) -> tt.Tensor:
        runs.append(1)
        return tt.exp(tt.sin(v + tt.randn(40)))  # what is added is gone afterwards

    x = tt.randn(40, requires_grad=True)
    inside = tt.checkpoint(segment, x * 2.0)
    story = story_of(inside.sum())
    add, sin = (next(t for t in story.told if t.node.op.name == name) for name in ("add", "sin"))
    assert runs == [1] and type(sin.node.saved) is not tuple
    assert sin.terms == [None] and id(add.operands[1]) not in story.arrays
    inside.sum().backward()
    assert len(runs) == 2 and x.grad is not None


def test_sums_of_gradients_are_silent_as_the_engines_are() -> None:
    x = tt.tensor([3e38], requires_grad=True)
    with np.errstate(over="ignore"):
        y = x * 3e38
        out = (y * 3e38 + y * 3e38 + y * 2.0).sum()
    with np.errstate(all="raise"):
        story = story_of(out)
    assert np.isinf(story.grads[id(story.told[0].results[0])]).all()


def test_an_op_inside_itself_stays_closed() -> None:
    """Fused ops inside fused ops open too, but none inside one of its own name."""
    q, k, v = (tt.randn(1, 3, 2, requires_grad=True) for _ in range(3))
    mask = const(np.tri(3)).astype("bool")
    story = story_of(tt.scaled_dot_product_attention(q, k, v, mask).sum())
    titles = [view.title for view in story.views]
    assert titles[:2] == ["sum", "scaled_dot_product_attention"] and "softmax" in titles
    for told in story.told:
        assert not (told.opens and story.inside(told, told.node.op.name))


def test_several_results_have_their_own_gradients() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    a, b = tt.split(x, 2)
    story = story_of((a * 2.0).sum() + (b * b).sum())
    of = {id(t): key for key, t in story.tracers[0].tensors.items()}
    assert story.grads[of[id(x)]].tolist() == [2.0, 2.0, 6.0, 8.0]
    split = story.told[0]
    assert sorted(split.results) == [0, 1] and split.locals == [None]
