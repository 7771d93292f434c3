"""Settings of an optimiser and of its groups: where they are set, changed and refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.train import SGD, Adam, AdamW

from .test_optim import BAD, leaf, steps


def test_setting_lr_sets_all_groups() -> None:
    optimizer = SGD([{"params": [leaf([1.0])], "lr": 1.0}, {"params": [leaf([1.0])]}], lr=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5]
    optimizer.lr = 0.25
    assert [g["lr"] for g in optimizer.param_groups] == [0.25, 0.25]
    assert "lr=0.25" in repr(optimizer)


def test_groups_may_be_changed_and_the_next_step_checks_them() -> None:
    p, q = leaf([1.0]), leaf([1.0])
    optimizer = SGD([{"params": p}, {"params": [q], "lr": 0.5}], lr=0.25)
    for group in optimizer.param_groups:
        group["lr"] *= np.float32(2)
    p.grad = q.grad = tt.ones(1, dtype="float64")
    optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.0)
    assert [type(g["lr"]) for g in optimizer.param_groups] == [float, float]
    optimizer.param_groups[1]["lr"] = "fast"
    with pytest.raises(ValueError, match="lr: expected a finite number >= 0, got 'fast'"):
        optimizer.step()
    assert (p.item(), q.item()) == (0.5, 0.0), "nothing is updated then"


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_bad_settings_are_refused_wherever_they_are_set(kind: Any, name: str, value: Any) -> None:
    p = leaf([1.0])
    expected = f"^{name}: expected .*, got "
    with pytest.raises(ValueError, match=expected):
        kind([p], **{name: value})
    with pytest.raises(ValueError, match=expected):
        kind([{"params": [p], name: value}])
    optimizer = kind([p])
    with pytest.raises(ValueError, match=expected):
        optimizer.add_param_group({"params": [leaf([1.0])], name: value})
    saved = optimizer.state_dict()
    saved["numbers"]["groups"][0][name] = value
    with pytest.raises(ValueError, match=expected):
        optimizer.load_state_dict(saved)
    if name == "lr":
        with pytest.raises(ValueError, match=expected):
            optimizer.lr = value
    optimizer.step()  # nothing of it has come in
    optimizer.param_groups[0][name] = value
    with pytest.raises(ValueError, match=expected):
        optimizer.step()


@pytest.mark.parametrize("half", [
    np.float32(0.5), np.float64(0.5), np.float16(0.5), np.array(0.5), tt.tensor(0.5), 0.5,
], ids=repr)  # fmt: skip
def test_numbers_may_be_numpys(half: Any) -> None:
    p, q = leaf([1.0], "float32"), leaf([1.0], "float32")
    steps(SGD([p], lr=half, momentum=half, weight_decay=half, nesterov=np.True_), p, 1.0, 2.0)
    steps(SGD([q], lr=0.5, momentum=0.5, weight_decay=0.5, nesterov=True), q, 1.0, 2.0)
    assert p.item() == q.item() and p.dtype == np.float32
    optimizer = Adam([p], lr=half, betas=[half, half], eps=half, weight_decay=half)
    expected = {"lr": 0.5, "betas": (0.5, 0.5), "eps": 0.5, "weight_decay": 0.5}
    assert {k: optimizer.param_groups[0][k] for k in expected} == expected
    optimizer.lr = np.int64(2)
    assert optimizer.lr == 2.0 and type(optimizer.param_groups[0]["lr"]) is float
    optimizer.lr = half
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_a_group_is_added() -> None:
    p, q = leaf([1.0]), leaf([1.0])
    optimizer = SGD([p], lr=0.5, momentum=0.5)
    steps(optimizer, p, 1.0)
    optimizer.add_param_group({"params": q, "lr": np.float32(0.25)})
    p.grad = q.grad = tt.ones(1, dtype="float64")
    optimizer.step()
    assert (p.item(), q.item()) == (-0.25, 0.75)
    assert optimizer.state_dict()["numbers"]["steps"] == [2, 1]
    for bad, error, match in (
        ({"params": [leaf([1.0]), q]}, ValueError, r"shape \(1,\) is in another group already"),
        ({"params": [tt.ones(1)]}, TypeError, "require gradients"),
        ({"params": [leaf([1.0])], "rate": 1}, ValueError, "rate: SGD has only"),
        ({"params": nn.Linear(1, 1)}, TypeError, "pass model.parameters"),
        ({"params": iter([])}, ValueError, "the iterator of a group is used up"),
        ([leaf([1.0])], TypeError, "a 'params' list"),
    ):
        with pytest.raises(error, match=match):
            optimizer.add_param_group(bad)
    assert len(optimizer.param_groups) == 2


def test_groups_without_parameters_are_refused_where_none_has_any() -> None:
    model = nn.Linear(1, 1)
    assert len(SGD([{"params": []}, {"params": model.parameters()}]).param_groups) == 2
    with pytest.raises(ValueError, match="got only empty groups"):
        SGD([{"params": []}, {"params": ()}])
    params = model.parameters()
    with pytest.raises(ValueError, match="the iterator of a group is used up"):
        SGD([{"params": params}, {"params": params, "lr": 0.1}])


@pytest.mark.parametrize(("kind", "name", "use"), [
    (SGD, "momentum", r"group\['momentum'\] = "),
    (AdamW, "weight_decay", r"group\['weight_decay'\]"),
    (Adam, "betas", r"group\['betas'\]"), (SGD, "learning_rate", r"optimizer\.lr = "),
    (Adam, "epsilon", r"group\['eps'\]"),
])  # fmt: skip
def test_settings_are_not_set_on_the_optimiser(kind: Any, name: str, use: str) -> None:
    optimizer = kind([leaf([1.0])])
    with pytest.raises(AttributeError, match=rf"{name}: settings are those of the groups; .*{use}"):
        setattr(optimizer, name, 0.5)
    assert name not in vars(optimizer)
    optimizer.note = "mine"
    assert copy.deepcopy(optimizer).note == "mine"


def test_a_group_has_the_settings_and_no_other() -> None:
    p = leaf([1.0])
    p.grad = tt.ones(1, dtype="float64")
    optimizer = SGD([p], lr=0.5)
    group = optimizer.param_groups[0]
    group["momentun"] = 0.9
    for look in (optimizer.step, optimizer.state_dict):
        with pytest.raises(ValueError, match="momentun: SGD has only .*; did you mean momentum"):
            look()
    with pytest.raises(ValueError, match="learning_rate: SGD has only .*; use lr"):
        SGD([{"params": [p], "learning_rate": 1.0}])
    del group["momentun"], group["lr"]
    with pytest.raises(ValueError, match="param_groups: a group has no lr; .*add_param_group"):
        optimizer.step()
    group["lr"] = 0.5
    optimizer.param_groups.append({"params": [leaf([1.0])]})
    with pytest.raises(ValueError, match="no lr, momentum, nesterov, weight_decay"):
        optimizer.step()
    assert p.item() == 1.0 and optimizer.state == {}
    optimizer.param_groups.pop()
    optimizer.step()
    assert p.item() == 0.5
