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
from tinytensor.train import SGD, Adagrad, Adam, AdamW, clip_grad_norm, param_groups
from tinytensor.train.optim import pieces as module


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
        (lambda p: Adagrad(p, lr=0.1, lr_decay=1.0), [3.0, 4.0, 0.0], [0.9, 0.86, 0.86]),
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


@pytest.mark.parametrize("kind", [SGD, Adagrad, Adam, AdamW])
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
        (lambda: Adagrad([leaf([1.0])], eps=0.0), ValueError, "eps"),
        (lambda: Adagrad([leaf([1.0])], lr_decay=-1.0), ValueError, "lr_decay"),
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


# ---- groups and their settings, changed later -----------------------------------------------


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
