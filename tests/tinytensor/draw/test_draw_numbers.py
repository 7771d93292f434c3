"""Numbers in pictures are those that the ops saw: computed once more from the boxes before them.

What was written to since says so, and where a number is not known there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import models, nn
from tinytensor.define.op import OPS
from tinytensor.draw.picture import COMPUTED, CONSTANT, Picture, Step, Value
from tinytensor.train import SGD

from ..ops_under_test import cases
from .dotgraph import drawn, leaf, texts_of

FUSED = sorted(name for name, op in OPS.items() if op.reference is not None)


def array(value: Value, numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=value.dtype).reshape(value.shape or ())


def operands(step: Step, leaves: dict[int, tt.Tensor]) -> list[Any] | None:
    """The inputs of a step as fresh leaves with the numbers in its boxes; None if one has none."""
    found: list[Any] = []
    for value in step.inputs:
        if value.data is None or value.changed:
            return None
        if value.role == CONSTANT:
            found.append(value.data)
            continue
        floats = np.dtype(value.dtype).kind == "f"
        found.append(tt.tensor(array(value, value.data), requires_grad=floats))
        leaves[len(found) - 1] = found[-1]
    return found


def apply(step: Step, given: list[Any]) -> list[tt.Tensor]:
    op = OPS[step.title]
    result = op(given, **step.params) if op.variadic else op(*given, **step.params)
    return list(result) if isinstance(result, tuple) else [result]


def check(picture: Picture, rtol: float = 1e-9) -> tuple[int, int]:
    """Compute every number once more, and every gradient; how many of both there were."""
    numbers, flowing = 0, {id(v): 0.0 for v in picture.values()}
    whole = {id(v): True for v in picture.values()}
    for step in picture.steps:
        given = operands(step, leaves := {})
        results = [] if given is None else apply(step, given)
        for value in step.outputs:
            if value.data is None or not results:
                continue
            expected = results[value.index or 0].detach().numpy()
            np.testing.assert_allclose(
                array(value, value.data), expected, rtol, 1e-9, err_msg=step.title
            )
            numbers += 1
        known = bool(results) and all(value.grad is not None for value in step.outputs)
        if not known or len(step.outputs) != len(results):
            for value in step.inputs:
                whole[id(value)] = False
            continue
        pairs = [
            (results[v.index or 0], tt.tensor(array(v, v.grad)))
            for v in step.outputs
            if results[v.index or 0].requires_grad
        ]
        wanted = [t for t in leaves.values() if t.requires_grad]
        grads = tt.grad([r for r, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
        by_tensor = {id(t): g for t, g in zip(wanted, grads, strict=True)}
        for i, value in enumerate(step.inputs):
            g = by_tensor.get(id(leaves.get(i)))
            if g is not None:
                flowing[id(value)] = flowing[id(value)] + g.numpy()
    gradients = 0
    for value in picture.values():
        read = any(value is v for step in picture.steps for v in step.inputs)
        if value.grad is not None and whole[id(value)] and read and not value.output:
            np.testing.assert_allclose(
                array(value, value.grad), flowing[id(value)], rtol, 1e-9, err_msg=value.name
            )
            gradients += 1
    return numbers, gradients


def samples_of(name: str) -> list[tuple[list[Any], dict[str, Any]]]:
    return [case.build()[:2] for case in cases(OPS[name])]


def result_of(name: str, args: Any, kwargs: Any) -> list[tt.Tensor]:
    """The results of a fused op that is in the middle of a graph, walked back from a random loss.

    Its large operands are leaves: of small results the graph knows the numbers, of large ones not.
    """
    random = np.random.default_rng(len(name))
    inner = [isinstance(a, tt.Tensor) and a.requires_grad and a.size <= 16 for a in args]
    args = [a * 1.0 if small else a for a, small in zip(args, inner, strict=True)]
    made = OPS[name](*args, **kwargs)
    outputs = list(made) if isinstance(made, tuple) else [made]
    if outputs[0].requires_grad:
        weights = [tt.tensor(random.normal(size=y.shape)) for y in outputs]
        sum(
            ((y * w).sum() for y, w in zip(outputs, weights, strict=True)), tt.tensor(0.0)
        ).backward(retain_graph=True)
    return outputs


# ---- opened ops ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUSED)
def test_every_number_inside_an_opened_op_can_be_computed_once_more(name: str) -> None:
    """On all its samples, with the fused ops inside its reference closed and open."""
    numbers = gradients = 0
    for args, kwargs in samples_of(name):
        outputs = result_of(name, args, kwargs)
        if outputs[0].node is None:
            continue
        for open in (name, True):
            picture = tt.draw(outputs, open=open).picture
            outermost = [group for group in picture.groups() if group.parent is None]
            assert [group.note for group in outermost] == [""], "all operands are known"
            found = check(picture)
            numbers, gradients = numbers + found[0], gradients + found[1]
    assert numbers > 5, numbers
    assert gradients > 3, gradients


@pytest.mark.parametrize("name", FUSED)
def test_all_small_results_inside_an_opened_op_have_numbers_and_gradients(name: str) -> None:
    for args, kwargs in samples_of(name):
        outputs = result_of(name, args, kwargs)
        if outputs[0].node is None:
            continue
        walked = all(y.size <= 16 for y in outputs)
        for value in tt.draw(outputs, open=name).picture.values():
            inside = value.step is not None and value.step.group is not None
            if inside and np.prod(value.shape) <= 16 and not value.output:
                assert value.data is not None, value
                assert (value.grad is not None) == walked, value


@pytest.mark.parametrize("name", FUSED)
def test_no_boolean_without_a_name(name: str) -> None:
    """Each helper of a reference says what it is; operands are called what the op calls them."""
    operands = OPS[name].inputs
    for args, kwargs in samples_of(name):
        outputs = result_of(name, args, kwargs)
        for value in tt.draw(outputs, open=True).picture.values():
            if value.dtype == "bool":
                assert value.name or value.hint in operands, value


def test_an_op_opened_inside_an_opened_one_has_real_numbers() -> None:
    logits = leaf([[0.0, 1.0, 3.0]], "logits")
    loss = tt.cross_entropy(logits, tt.tensor([1]))
    texts = drawn(loss, open=True).texts()
    assert any("-3.17 -2.17 -0.1698" in text for text in texts)
    assert not any("-1.099" in text for text in texts)
    assert any(text.startswith("max over axis -1 (1, 1) float32 data 3.0") for text in texts)


def test_gradients_inside_an_opened_op_are_those_of_the_last_backward() -> None:
    x = leaf([0.0, 1.0, 3.0], "x")
    p = tt.softmax(x)
    assert not any("grad" in text for text in drawn(p, open=True).texts())
    p.backward(tt.tensor([1.0, 0.0, 0.0]))
    assert check(tt.draw(p, open=True).picture, 1e-4)[1] >= 3
    assert x.grad is not None
    before = x.grad.numpy().copy()
    tt.draw(p, open=True)
    np.testing.assert_array_equal(x.grad.numpy(), before)


def test_where_an_operand_is_not_known_there_are_no_numbers_inside() -> None:
    x = leaf(np.ones((4, 20), np.float32), "x")
    loss = tt.cross_entropy(x * 2.0, tt.tensor([1, 2, 3, 4]))
    known = tt.draw(loss, open="cross_entropy").picture
    assert any(group.note == "" for group in known.groups())
    assert sum(v.role == COMPUTED and v.data is not None for v in known.values()) > 3
    loss.backward()  # frees the logits, which are large
    lost = tt.draw(loss, open="cross_entropy").picture
    assert [group.note for group in lost.groups()] == ["shapes alone"]
    inside = [v for v in lost.values() if v.role == COMPUTED and not v.output]
    assert inside
    assert all(v.data is None and v.grad is None for v in inside)
    assert all(v.data is None for v in lost.values() if v.inner and v.role != CONSTANT)


def test_a_leaf_written_to_before_the_op_is_opened_gives_no_numbers() -> None:
    x = leaf([0.0, 1.0, 3.0], "x")
    p = tt.softmax(x)
    with tt.no_grad():
        x += 1.0
    picture = tt.draw(p, open=True).picture
    assert [group.note for group in picture.groups()] == ["shapes alone"]
    assert [v.data is not None for v in picture.values() if v.role == COMPUTED].count(True) == 1


def test_opening_under_detect_anomaly_is_no_anomaly() -> None:
    x = leaf([-np.inf, -np.inf], "x")
    with tt.detect_anomaly():
        p = tt.softmax(x * 1.0)
        graph = drawn(p, open=True)
    assert graph.find("all is -inf").text.endswith("data True")


def test_float16_is_opened_as_it_was_computed() -> None:
    x = leaf(np.array([0.0, 12.0], np.float16), "x")
    picture = tt.draw(tt.log_softmax(x), open=True).picture
    assert {v.dtype for v in picture.outputs} == {"float16"}
    assert check(picture, 2e-3)[0] > 3


# ---- written to since ----------------------------------------------------------------------------


def test_after_an_optimisers_step_the_weights_say_so() -> None:
    w, x = leaf([1.0, 2.0], "w"), leaf([3.0, 4.0], "x")
    loss = (w * x).sum()
    loss.backward()
    assert drawn(loss).find("w").text == "w (2,) float32 data 1.0 2.0 grad 3.0 4.0"
    SGD([w], lr=1.0).step()
    graph = drawn(loss)
    assert graph.find("w").text == "w (2,) float32 now -2.0 -2.0 grad 3.0 4.0 changed since"
    assert graph.find("x").text == "x (2,) float32 data 3.0 4.0 grad 1.0 2.0"
    numbers, _ = check(tt.draw(loss).picture)
    assert numbers == 1, "the sum; the product's operand is not known any more"


def test_reads_before_and_after_a_write_are_two_boxes() -> None:
    w = leaf([1.0], "w")
    before = w * 2.0
    with tt.no_grad():
        w += 10.0
    after = w * 3.0
    graph = drawn((before, after))
    boxes = sorted(text for text in graph.texts() if text.startswith("w"))
    assert boxes == ["w (1,) float32 data 11.0", "w (1,) float32 now 11.0 changed since"]
    (before + after).sum().backward()
    grads = [text for text in drawn((before, after)).texts() if "w" in text and "grad 5.0" in text]
    assert len(grads) == 1, "one gradient, once"


def test_a_result_written_to_without_a_record_says_so() -> None:
    x = leaf([1.0, 2.0], "x")
    y = x + 1.0
    y.name = "y"
    z = y.sum()
    with tt.no_grad():
        y[0] = 7.0
    assert drawn(z).find("y").text == "y (2,) float32 now 7.0 3.0 changed since"


def test_a_recorded_write_is_an_op_and_changes_nothing_before_it() -> None:
    x = leaf([1.0, 2.0], "x")
    y = x * 1.0
    first = y.sum()
    y += 5.0
    picture = tt.draw((first, y.sum())).picture
    assert not any(v.changed for v in picture.values())
    check(picture)
    with tt.no_grad():
        y += 1.0
    changed = [v.data for v in tt.draw(y.sum()).picture.values() if v.changed]
    assert changed == [[7.0, 8.0]] or changed == []


def test_a_constant_written_to_keeps_what_was_read() -> None:
    c = tt.tensor([1.0, np.nan], name="c")
    x = leaf([2.0, 3.0], "x")
    y = x * c
    assert sum("c" in text.split() for text in drawn(y).texts()) == 1, "NaN is the same NaN"
    c[0] = 9.0
    assert "c (2,) float32 data 1.0 nan" in drawn(y).texts()


# ---- another array -------------------------------------------------------------------------------


def test_weights_given_another_array_say_so() -> None:
    w = leaf([1.0, 2.0], "w")
    y = (tt.softmax(w) * tt.tensor([1.0, 2.0])).sum()
    y.backward()
    w.data = w.data - w.grad.data
    graph = drawn(y, open="softmax")
    assert graph.find("w").text.startswith("w (2,) float32 now 1.197 1.803")
    assert graph.find("w").text.endswith("changed since")
    assert ["shapes alone" in title for title in graph.titles()] == [True]
    assert not any("1.197" in text or "0.35" in text for text in graph.texts() if text[0] != "w")


def test_reads_before_and_after_another_array_are_two_boxes() -> None:
    w, v = leaf([1.0], "w"), leaf([5.0], "v")
    a = w * 3.0
    w.data = w.data + 10.0
    b = w * 3.0
    expected = ["w (1,) float32 data 11.0", "w (1,) float32 now 11.0 changed since"]
    assert sorted(texts_of((a + b).sum(), "w")) == expected
    c = v * 3.0
    w.data = v.detach()  # a tensor, whose own readers saw nothing change
    assert texts_of((b + c).sum(), "w") == ["w (1,) float32 now 5.0 changed since"]
    assert texts_of((b + c).sum(), "v") == ["v (1,) float32 data 5.0"]


def test_a_models_weights_given_other_arrays_say_so() -> None:
    model = nn.Linear(2, 2)
    loss = model(tt.ones(1, 2)).sum()
    loss.backward()
    for p in model.parameters():
        p.data = p.data - p.grad.data
    found = texts_of(loss, "weight", values=True) + texts_of(loss, "bias", values=True)
    assert [text.endswith("changed since") for text in found] == [True, True]


def test_an_earlier_write_is_not_forgotten_with_the_array() -> None:
    w = leaf([1.0], "w")
    a = w * 3.0
    w.data += 1.0
    w.data = w.data + 1.0
    assert texts_of(a, "w") == ["w (1,) float32 now 3.0 changed since"]


def test_a_result_whose_memory_is_elsewhere_shows_what_the_op_made() -> None:
    w = leaf([1.0, 2.0], "w")
    y = (w * 1.0).reshape(2, 1)
    y.name = "y"
    with tt.no_grad():
        y[0] = 7.0
    assert [" ".join(t.split()) for t in texts_of(y, "y")] == [
        "y (2, 1) float32 data 1.0 2.0 changed since"
    ]
    z = w * 1.0
    z.name = "z"
    s = z.sum()
    z.data = z.data + 3.0
    assert texts_of(s, "z") == ["z (2,) float32 data 1.0 2.0 changed since"]


# ---- the switch ----------------------------------------------------------------------------------


def test_values_are_off_for_models_and_on_for_expressions() -> None:
    model = nn.Linear(2, 2)
    out = model(tt.tensor([[1.0, 2.0]]))

    def shows(**how: Any) -> bool:
        return any("data" in text for text in drawn(out, **how).texts())

    assert not shows()
    assert shows(values=True)
    x = leaf([1.0, 2.0], "x")
    assert drawn(x * 2.0).find("x").text == "x (2,) float32 data 1.0 2.0"
    graph = drawn(x * 2.0, values=False)
    assert graph.find("x").text == "x (2,) float32"
    assert graph.find("2.0").text == "2.0", "a number of the formula stays"


@pytest.mark.parametrize("name", ["gpt", "gru", "lstm", "rnn"])
def test_numbers_in_a_model_add_up_too(name: str) -> None:
    own = {"n_head": 2} if name == "gpt" else {"n_hidden": 4}
    model = models.build(name, vocab_size=3, block_size=2, n_layer=1, n_embd=4, **own)
    ids = np.array([[0, 2]])
    loss = model(ids, ids)[1]
    picture = tt.draw(loss, depth=9, values=True, merge=False).picture
    assert check(picture, 1e-3)[0] > 3
    loss.backward()
    assert check(tt.draw(loss, depth=9, values=True, merge=False).picture, 1e-3)[1] > 3
