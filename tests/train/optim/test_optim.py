"""Optimisers: single steps by hand, skipping, groups, settings, state dicts."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn
from tinytensor.arrays.device import Device
from tinytensor.train import SGD, Adam, AdamW, clip_grad_norm, param_groups
from tinytensor.train.optim import optimizer as module


def leaf(values: Any, dtype: str = "float64") -> tt.Tensor:
    return tt.tensor(np.array(values, dtype=dtype), requires_grad=True)


def steps(optimizer: Any, p: tt.Tensor, *grads: float | None) -> list[float]:
    """The parameter after steps with these gradients."""
    out = []
    for grad in grads:
        p.grad = None if grad is None else tt.full(p.shape, grad, dtype=p.dtype)
        optimizer.step()
        out.append(float(p.detach().numpy().reshape(-1)[0]))
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("make", "grads", "expected"),
    [
        (lambda p: AdamW(p, lr=0.1, weight_decay=0.1), [0.0], [0.99]),
        (lambda p: Adam(p, lr=0.1, weight_decay=0.1), [0.0], [0.90]),
        (lambda p: AdamW(p, lr=0.1, weight_decay=0.1), [None], [1.0]),
        (lambda p: Adam(p, lr=0.1, weight_decay=0.1), [None], [1.0]),
        (lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1), [None], [1.0]),
        (lambda p: Adam(p, lr=0.1), [4.0, 0.0], [0.9, 0.832994]),
        (lambda p: SGD(p, lr=0.1, momentum=0.9), [2.0, 0.0, None], [0.8, 0.62, 0.62]),
        (lambda p: SGD(p, lr=0.1), [2.0, 0.0], [0.8, 0.8]),
        (lambda p: SGD(p, lr=0.1, weight_decay=0.5), [2.0], [0.75]),
        (lambda p: SGD(p, lr=0.1, momentum=0.5, nesterov=True), [2.0, 0.0], [0.7, 0.65]),
    ],
)
def test_steps_worked_out_by_hand(
    device: Device, make: Any, grads: list[float | None], expected: list[float], dtype: str
) -> None:
    p = tt.ones(1, dtype=dtype, requires_grad=True)
    optimizer = make([p])
    np.testing.assert_allclose(steps(optimizer, p, *grads), expected, atol=1e-6)
    assert p.dtype == dtype
    for state in optimizer.state.values():
        assert all(a.dtype == dtype for name, a in state.items() if name != "step")


def test_no_gradient_counts_no_step() -> None:
    """A frozen time must not disturb the bias correction."""
    p, q = leaf([1.0]), leaf([1.0])
    first, second = AdamW([p], lr=0.1), AdamW([q], lr=0.1)
    assert steps(first, p, 4.0, None, None, 1.0)[-1] == steps(second, q, 4.0, 1.0)[-1]
    assert first.state_dict()["numbers"]["steps"] == [2]


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_pieces_do_not_show(kind: Any, monkeypatch: pytest.MonkeyPatch, rng: Any) -> None:
    """An array longer than a piece is updated like one that is shorter."""
    start, grad = rng.normal(size=(7, 11)), rng.normal(size=(7, 11))
    results = []
    for piece in (5, 77, 10**6):
        monkeypatch.setattr(module, "PIECE", piece)
        p = leaf(start)
        optimizer = kind([p], lr=0.1)
        for _ in range(3):
            p.grad = tt.tensor(grad)
            optimizer.step()
        results.append(p.detach().numpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_a_step_is_seen_by_the_engine_as_a_write() -> None:
    """Backward through an array that a step has changed must be refused, not wrong."""
    p = leaf([2.0])
    loss = (p * p).sum()
    optimizer = SGD([p], lr=0.1)
    steps(optimizer, p, 1.0)
    with pytest.raises(RuntimeError, match="changed in place"):
        loss.backward()


def test_a_transposed_parameter_and_gradient_are_updated_in_place() -> None:
    p = tt.tensor(np.arange(6.0).reshape(2, 3).T.copy(order="F"), requires_grad=True)
    p.grad = tt.tensor(np.ones((2, 3))).T
    SGD([p], lr=1.0).step()
    np.testing.assert_array_equal(p.detach().numpy(), np.arange(6.0).reshape(2, 3).T - 1.0)


def test_groups_have_their_own_settings_and_decay_is_for_matrices() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2), nn.Linear(2, 3, bias=False))
    model[2].weight = nn.Parameter(model[0].weight.detach().numpy().T.copy())
    groups = param_groups(model, 0.5)
    assert [p.shape for p in groups[0]["params"]] == [(2, 3), (3, 2)]
    assert [p.shape for p in groups[1]["params"]] == [(2,), (2,), (2,)]
    before = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = tt.zeros_like(p)
    AdamW(groups, lr=0.1).step()
    for name, p in model.named_parameters():
        factor = 0.95 if p.ndim == 2 else 1.0
        np.testing.assert_allclose(p.detach().numpy(), before[name] * factor, rtol=1e-6)


def test_a_tied_weight_is_updated_once() -> None:
    """Case C33: loss 18, gradient 12, weight 3 becomes 1.8."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            self.a, self.b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
            with tt.no_grad():
                self.a.weight.copy_(np.array([[3.0]], dtype=np.float32))
            self.b.weight = self.a.weight

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.b(self.a(x)).sum()

    model = Tied()
    loss = model(tt.tensor([[2.0]]))
    loss.backward()
    assert (loss.item(), model.a.weight.grad.item()) == (18.0, 12.0)
    SGD([model.a.weight, model.b.weight], lr=0.1).step()
    assert model.b.weight.item() == pytest.approx(1.8)


def test_state_follows_a_model_to_another_device(other_device: Device) -> None:
    """Case C49: the moments are made and kept where the parameter is; what is saved is NumPy's."""
    model = nn.Linear(2, 2)
    optimizer, clone = AdamW(model.parameters(), lr=0.1), copy.deepcopy(model)
    reference = AdamW(clone.parameters(), lr=0.1)
    for moved in (False, True):
        if moved:
            model.to(other_device)
        for net, opt in ((model, optimizer), (clone, reference)):
            opt.zero_grad()
            net(tt.ones(1, 2, device=net.weight.device)).sum().backward()
            clip_grad_norm(net.parameters(), 0.5)
            opt.step()
    for name, array in optimizer.state_dict()["arrays"].items():
        assert isinstance(array, np.ndarray)
        np.testing.assert_allclose(array, reference.state_dict()["arrays"][name], rtol=1e-6)
    for state in optimizer.state.values():
        assert isinstance(state["exp_avg"], other_device.array_type)
    np.testing.assert_allclose(
        model.state_dict()["weight"], clone.state_dict()["weight"], rtol=1e-6
    )


@pytest.mark.parametrize("make", [
    lambda p: SGD(p, lr=0.1, momentum=0.9), lambda p: SGD(p, lr=0.1), lambda p: AdamW(p, lr=0.1),
])  # fmt: skip
def test_state_dict_continues_exactly_and_is_a_snapshot(make: Any) -> None:
    p, q = leaf([1.0, -2.0]), leaf([1.0, -2.0])
    unbroken, first = make([p]), make([q])
    steps(unbroken, p, 1.0, 2.0, 3.0)
    steps(first, q, 1.0)
    saved = first.state_dict()
    kept = copy.deepcopy(saved)
    second = make([q])
    second.load_state_dict(saved)
    steps(second, q, 2.0, 3.0)
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
    for name, array in kept["arrays"].items():
        np.testing.assert_array_equal(saved["arrays"][name], array)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda s: s["arrays"].pop("0.exp_avg"), "0.exp_avg"),
        (lambda s: s["arrays"].update({"0.exp_avg": np.zeros(3)}), r"shape \(1,\), got"),
        (lambda s: s["arrays"].update({"9.exp_avg": np.zeros(3)}), "unexpected arrays"),
        (lambda s: s["numbers"].update(kind="SGD"), "expected one of AdamW, got one of SGD"),
        (lambda s: s["numbers"].update(steps=[-1]), "not a count"),
        (lambda s: s["numbers"].update(steps=[1, 1]), "groups of"),
        (lambda s: s["numbers"]["groups"][0].update(lr=-1.0), "lr"),
        (lambda s: s["numbers"]["groups"][0].pop("lr"), "settings"),
        (lambda s: s.pop("numbers"), "not an optimiser's state dict"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(spoil: Any, match: str) -> None:
    p = leaf([1.0])
    optimizer = AdamW([p], lr=0.1)
    steps(optimizer, p, 1.0)
    bad, before = optimizer.state_dict(), optimizer.state_dict()
    spoil(bad)
    with pytest.raises(ValueError, match=match):
        optimizer.load_state_dict(bad)
    after = optimizer.state_dict()
    assert after["numbers"] == before["numbers"]
    np.testing.assert_array_equal(after["arrays"]["0.exp_avg"], before["arrays"]["0.exp_avg"])


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: SGD([]), ValueError, "at least one parameter"),
        (lambda: SGD([tt.ones(1)]), TypeError, "require gradients"),
        (lambda: SGD([1.0]), TypeError, "float"),
        (lambda: SGD(nn.Linear(1, 1)), TypeError, r"got a Linear; pass model\.parameters\(\)"),
        (lambda: SGD([leaf([1.0])], lr=-1.0), ValueError, "lr: expected a finite number >= 0"),
        (lambda: SGD([leaf([1.0])], lr=math.nan), ValueError, "lr"),
        (lambda: SGD([leaf([1.0])], momentum=1.0), ValueError, "momentum"),
        (lambda: SGD([leaf([1.0])], nesterov=True), ValueError, "nesterov"),
        (lambda: AdamW([leaf([1.0])], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda: AdamW([leaf([1.0])], eps=0.0), ValueError, "eps"),
        (lambda: AdamW([{"params": [leaf([1.0])], "rate": 1}]), ValueError, "rate: AdamW has only"),
    ],
)
def test_bad_settings_are_named(make: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()


class _Halved(SGD):
    """An optimiser of a user's, with settings of its own making."""

    def numbers(self, group: dict[str, Any], step: int) -> dict[str, Any]:
        numbers = super().numbers(group, step)
        numbers["lr"] /= 2
        numbers["seen"] = step
        return numbers


def test_what_a_subclass_does_to_its_numbers_stays_there() -> None:
    p = tt.ones(2, requires_grad=True)
    optimizer = _Halved([p], lr=1.0)
    for expected in (0.5, 0.0, -0.5):
        p.grad = tt.ones(2)
        optimizer.step()
        np.testing.assert_array_equal(p.data, [expected, expected])
    assert optimizer.lr == 1.0 and "seen" not in optimizer.param_groups[0]


def test_setting_lr_sets_all_groups() -> None:
    optimizer = SGD([{"params": [leaf([1.0])], "lr": 1.0}, {"params": [leaf([1.0])]}], lr=0.5)
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5]
    optimizer.lr = 0.25
    assert [g["lr"] for g in optimizer.param_groups] == [0.25, 0.25]
    assert "lr=0.25" in repr(optimizer)


# ---- groups and their settings, changed later -----------------------------------------------


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


BAD = [
    (SGD, "lr", -1.0), (SGD, "lr", math.inf), (SGD, "lr", math.nan), (SGD, "lr", True),
    (SGD, "lr", np.bool_(True)), (SGD, "lr", "1"), (SGD, "lr", None), (SGD, "lr", 1j),
    (SGD, "lr", np.ones(1)), (SGD, "lr", [0.1]), (SGD, "lr", 10**400),
    (SGD, "lr", tt.tensor(0.1, requires_grad=True)),
    (SGD, "momentum", 1.0), (SGD, "momentum", "a"), (SGD, "momentum", True),
    (SGD, "weight_decay", -0.1), (SGD, "weight_decay", False), (SGD, "nesterov", 1),
    (SGD, "nesterov", None), (Adam, "eps", 0.0), (Adam, "eps", "tiny"), (Adam, "betas", 0.9),
    (Adam, "betas", (0.9,)), (Adam, "betas", (0.9, 1.0)), (Adam, "betas", (True, 0.9)),
    (Adam, "betas", "ab"), (Adam, "betas", (0.9, math.nan)), (AdamW, "weight_decay", None),
]  # fmt: skip


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


def test_gradients_are_forgotten_or_zeroed() -> None:
    p, q, r = leaf([1.0]), leaf([1.0]), leaf([1.0])
    optimizer = SGD([p, q, r], lr=0.5, momentum=0.5)
    shared = tt.ones(1, dtype="float64")
    p.grad = q.grad = shared
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is q.grad is shared and shared.item() == 0.0 and r.grad is None
    optimizer.step()
    assert (p.item(), q.item(), r.item()) == (0.25, 0.25, 1.0), "the momentum goes on"
    (p * p).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.item() == 0.0 and not p.grad.requires_grad
    optimizer.zero_grad(set_to_none=True)
    assert p.grad is q.grad is None


# ---- what would change nothing ---------------------------------------------------------------


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


@pytest.mark.parametrize("given", [lambda: 0.0, tt.ones(1), 3.0])
def test_a_step_takes_no_closure_and_no_loss(given: Any) -> None:
    with pytest.raises(
        TypeError, match=r"neither a closure nor a loss, .*loss\.backward\(\) first"
    ):
        SGD([leaf([1.0])]).step(given)


def test_parameters_with_names_are_no_parameters() -> None:
    layer = nn.Linear(1, 1)
    for given, kind in ((layer.named_parameters(), "tuple"), (layer.state_dict(), "str")):
        with pytest.raises(TypeError, match=rf"got {kind}; pass model\.parameters\(\)"):
            AdamW(given)
