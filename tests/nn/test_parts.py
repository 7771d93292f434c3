"""Names of parameters and modules: each has one, no two have the same, and none is left out."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, UserDict, UserList, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinytensor as tt
from tinytensor import nn


def param(value: float = 0.0) -> nn.Parameter:
    return nn.Parameter(tt.tensor([value]))


class Holder(nn.Module):
    """A module with one attribute."""

    def __init__(self, value: Any = None) -> None:
        self.d = value


def names(module: nn.Module) -> list[str]:
    return [name for name, _ in module.named_parameters()]


# ---- two parts, one name -------------------------------------------------------------------------

ONE_NAME: dict[str, Callable[[], Any]] = {
    "key": lambda: {0: param(), "0": param()},
    "module_key": lambda: {None: nn.Linear(1, 1), "None": nn.Linear(1, 1)},
    "nested": lambda: {"a": [{1: param(), "1": (param(),)}]},
    "bytes": lambda: OrderedDict({b"x": param(), "b'x'": param()}),
}


@pytest.mark.parametrize("kind", ONE_NAME)
def test_two_keys_of_one_name_are_refused_when_set_and_when_they_come_later(kind: str) -> None:
    message = r"Holder\.d.*: the keys .* give two parts one name, .d\."
    with pytest.raises(ValueError, match=message):
        Holder(ONE_NAME[kind]())
    module = Holder({})
    module.d.update(ONE_NAME[kind]())
    for look in (
        names,
        nn.Module.state_dict,
        repr,
        lambda m: m.load_state_dict({}, strict=False),
        lambda m: list(m.modules()),
        lambda m: nn.Sequential(m).state_dict(),
    ):
        with pytest.raises(ValueError, match=message):
            look(module)


def test_keys_of_one_name_are_fine_where_only_one_holds_a_part() -> None:
    module = Holder({0: param(1.0), "0": "zero", "": 3, "a.b": {"c": 1.5}, 2: {"x": []}})
    assert names(module) == ["d.0"]
    other = Holder({0: param()})
    other.load_state_dict(module.state_dict())
    assert other.d[0].item() == 1


@pytest.mark.parametrize("key", ["a.b", "", ".", 0.5, complex(0, 1.5)])
def test_keys_that_make_no_step_of_a_name_are_refused(key: Any) -> None:
    message = rf"Holder\.d: the key {key!r} is part of the name".replace("(", r"\(")
    with pytest.raises(ValueError, match=message.replace(")", r"\)")):
        Holder({key: [nn.Linear(1, 1)]})


def test_attribute_names_with_dots_are_refused() -> None:
    module = Holder(nn.Linear(1, 1))
    for name in ("d.weight", "e.f", ""):
        for value in (param(), nn.Linear(1, 1), [param()], {"x": (param(),)}):
            with pytest.raises(ValueError, match="expected a name without dots.*Holder"):
                setattr(module, name, value)
    setattr(module, "no.part", 3)
    assert names(module) == ["d.weight", "d.bias"]


@pytest.mark.parametrize("name", ["d.a.b", "d.a", ""])
def test_names_with_dots_are_refused_however_they_came(name: str) -> None:
    """Here ``d.a.b`` is the name of another one."""
    message = "expected a name without dots.*Holder"
    for value in (param(), [param()], nn.Linear(1, 1)):
        module = Holder({"a": SimpleNamespace(b=param())})
        vars(module)[name] = value
        for look in (names, nn.Module.state_dict, lambda m: m.load_state_dict({}, strict=False)):
            with pytest.raises(ValueError, match=message):
                look(module)
    vars(module)[name] = 3
    assert names(module) == ["d.a.b"]


@pytest.mark.parametrize("name", ["a.b", ""])
def test_namespaces_have_no_names_with_dots(name: str) -> None:
    space = SimpleNamespace(a=SimpleNamespace(b=param()), **{name: param()})
    with pytest.raises(ValueError, match=rf"Holder\.d: the key {name!r} is part of the name"):
        Holder(space)
    module = Holder(SimpleNamespace(a=SimpleNamespace(b=param())))
    vars(module.d)[name] = param()
    with pytest.raises(ValueError, match=rf"Holder\.d: the key {name!r} is part of the name"):
        module.state_dict()


@pytest.mark.parametrize("name", ["parameters", "training", "aliases", "to", "forward", "_buffers"])
def test_parts_do_not_hide_what_every_module_has(name: str) -> None:
    module = Holder()
    with pytest.raises(ValueError, match=f"{name}: every Module has an attribute of this name"):
        setattr(module, name, param())
    module.forward = lambda x: x  # type: ignore[method-assign]  # what is no part may
    assert module(3) == 3


def test_items_and_attributes_of_containers_share_their_names() -> None:
    class Chain(nn.Sequential):
        pass

    chain = Chain(nn.Linear(1, 1))
    chain.extra = param()
    assert names(chain) == ["extra", "0.weight", "0.bias"]
    for value in (param(), nn.Tanh(), [param()]):
        with pytest.raises(ValueError, match=r"Chain\.0: one of the modules in it is called '0'"):
            setattr(chain, "0", value)
    with pytest.raises(ValueError, match="name: Chain already has a module '0'"):
        chain.register_buffer("0", tt.ones(1))
    heads = nn.ModuleDict()
    heads.x, heads.rest = param(), []
    heads.register_buffer("b", tt.ones(1))
    for key in ("x", "b"):
        with pytest.raises(ValueError, match=f"key: ModuleDict has an attribute '{key}'"):
            heads[key] = nn.Linear(1, 1)
    heads["rest"] = nn.ModuleList([nn.Linear(1, 1)])  # nothing is in that attribute yet
    heads.rest.append(nn.Linear(1, 1))
    with pytest.raises(ValueError, match=r"ModuleDict\.rest: one of the modules"):
        heads.state_dict()


def test_appending_overwrites_nothing() -> None:
    chain = nn.Sequential({"1": nn.Linear(1, 1)})
    with pytest.raises(ValueError, match="append: Sequential already has a module '1'"):
        chain.append(nn.Tanh())
    chain.add_module("2", nn.Tanh())
    assert len(chain) == 2 and isinstance(chain[1], nn.Tanh)  # called, as in PyTorch
    assert chain(tt.zeros(1, 1)).item() == pytest.approx(np.tanh(chain[0].bias.item()))


# ---- parts without a name ------------------------------------------------------------------------

Pair = namedtuple("Pair", "x y")


class Stack(list):  # type: ignore[type-arg]
    """A list of one's own."""


@dataclass
class Cell:
    kind: str
    w: Any
    more: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Frozen:
    w: Any


ORDERED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "deque": (lambda: deque([param(), param()]), ["d.0", "d.1"]),
    "own list": (lambda: Stack([param()]), ["d.0"]),
    "user list": (lambda: UserList([param()]), ["d.0"]),
    "user dict": (lambda: UserDict(a=param()), ["d.a"]),
    "mapping": (lambda: MappingProxyType({"a": param()}), ["d.a"]),
    "namedtuple": (lambda: Pair(param(), [param()]), ["d.0", "d.1.0"]),
    "dataclass": (lambda: Cell("k", param(), [3, param()]), ["d.w", "d.more.1"]),
    "slots": (lambda: [Frozen({"a": param()})], ["d.0.w.a"]),
    "namespace": (lambda: SimpleNamespace(a=param(), b=[param()]), ["d.a", "d.b.0"]),
    "tuple in dict": (lambda: {"a": (param(), {"b": param()}), 7: 1}, ["d.a.0", "d.a.1.b"]),
    "tuple as key": (lambda: {(0, 1): param()}, ["d.(0, 1)"]),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_ordered_containers_are_searched(kind: str) -> None:
    make, expected = ORDERED[kind]
    module = Holder(make())
    assert names(module) == expected
    state = {name: np.array([3.0 + i]) for i, name in enumerate(expected)}
    module.load_state_dict(state)
    assert [p.item() for p in module.parameters()] == [v.item() for v in state.values()]
    if kind != "mapping":  # which Python cannot copy
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert names(other) == expected and [p.item() for p in other.parameters()] == [
                v.item() for v in state.values()
            ]


def test_what_holds_itself_is_searched_once() -> None:
    child = Cell("leaf", param())
    root = Cell("root", param(), [child])
    child.more += [root, child.more]
    assert names(Holder(root)) == ["d.w", "d.more.0.w"]


WITHOUT_NAMES: dict[str, Callable[[], Any]] = {
    "set": lambda: {param()},
    "frozenset": lambda: frozenset([nn.Linear(1, 1)]),
    "tuple in set": lambda: {(1, param())},
    "set in list": lambda: [1, {"a": {param()}}],
    "values": lambda: {"a": param()}.values(),
    "items": lambda: {"a": nn.Linear(1, 1)}.items(),
    "keys": lambda: {param(): 1}.keys(),
    "array": lambda: np.array([nn.Tanh(), nn.Linear(1, 1)]),
}


@pytest.mark.parametrize("kind", WITHOUT_NAMES)
def test_parts_without_a_name_are_refused(kind: str) -> None:
    message = r"Holder\.d.*: holds a .* in a .*, where it has no name"
    with pytest.raises(TypeError, match=message):
        Holder(WITHOUT_NAMES[kind]())
    module = Holder([])
    module.d.append(WITHOUT_NAMES[kind]())
    for look in (names, nn.Module.state_dict, nn.Module.eval):
        with pytest.raises(TypeError, match=message):
            look(module)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (x for x in [1, 2]),
        lambda: map(abs, [1, 2]),
        lambda: zip([1, 2], [3, 4], strict=True),
        lambda: filter(None, [1, 2]),
        lambda: iter([nn.Tanh(), nn.Linear(1, 1)]),
        lambda: reversed([1, 2]),
    ],
)
def test_iterators_are_not_looked_into(make: Callable[[], Any]) -> None:
    module = Holder(make())
    module.rest = [make()]
    assert names(module) == [] and list(module.state_dict()) == []
    assert len(list(module.d)) == len(list(module.rest[0])) == 2, "nor used up"


class _Counted(list):  # type: ignore[type-arg]
    """Counts how many of its items are looked at."""

    seen = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.seen += 1
            yield item


def test_a_long_list_becomes_an_attribute_quickly() -> None:
    losses = _Counted([0.5] * 1000)
    rows = _Counted([(i, 0.5) for i in range(1000)])
    module = Holder(losses)
    module.rows = {"all": rows}
    assert losses.seen <= 5 and rows.seen <= 5
    late = [0.5] * 1000 + [{1: param(), "1": param()}]
    module.late = late
    with pytest.raises(ValueError, match="give two parts one name"):
        module.state_dict()
    late[-1] = param()
    assert names(module) == ["late.1000"]


def test_a_set_may_say_which_of_the_named_ones() -> None:
    module = Holder(nn.Sequential(nn.Linear(1, 1), nn.Tanh()))
    module.skipped = {module.d[1], module.d[0].weight}
    module.own = {"rows": [param()], "first": set()}
    module.own["first"].add(module.own["rows"][0])
    module.colours, module.numbers = {"red"}, np.ones(3)
    assert names(module) == ["own.rows.0", "d.0.weight", "d.0.bias"]
    module.d[1] = nn.ReLU()
    with pytest.raises(TypeError, match=r"Holder\.skipped: holds a Tanh in a set"):
        module.state_dict()


@pytest.mark.parametrize(
    "value",
    [
        param(),
        nn.Linear(1, 1),
        [param()],
        {"a": {param()}},
        nn.Sequential(nn.ReLU(), nn.PReLU()),
        nn.BatchNorm1d(2, affine=False),
    ],
)
def test_a_class_has_no_parameters_of_its_own(value: Any) -> None:
    with pytest.raises(TypeError, match=r"Net\.w: a parameter or module in the class itself"):
        type("Net", (nn.Module,), {"w": value})


def test_a_class_may_have_modules_without_parameters() -> None:
    class Net(nn.Module):
        default = nn.ReLU()
        by_name = {"relu": nn.ReLU(), "none": nn.Sequential()}

        def forward(self, x: Any) -> Any:
            return self.default(x)

    assert names(Net()) == [] and Net()(tt.tensor([-1.0, 2.0])).tolist() == [0, 2]


def test_a_parameter_in_the_place_of_a_buffer_is_one() -> None:
    module = Holder()
    module.register_buffer("b", tt.ones(1), persistent=False)
    module.b = param(2.0)
    assert names(module) == ["b"] and list(module.buffers()) == []
    assert list(module.state_dict()) == ["b"]
