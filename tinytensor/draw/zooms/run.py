"""Running a function or a module to draw it, so that nothing of it is changed afterwards."""

from __future__ import annotations

import functools
import inspect
import random as python_random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import random
from ...arrays.device import BY_TYPE
from ...context.thread_state import local
from ...graph.backward import cotangent, run_backward
from ...graph.grad_mode import enable_grad
from ...graph.node import Node, next_seq
from ...hints.finding import kind_of
from ...tensor import tree
from ...tensor.tensor import Tensor, tensor
from ..walk import reachable, several
from .statistics import Looked, Numbers, look


@dataclass
class Run:
    """What a run has shown.

    Attributes:
        outputs: the tensors that came back.
        values, grads: what nodes made, and its gradient, by number of the node. leaf_grads: of
            leaves, arrays, by id.
        walked: whether there was a backward.
        since: nodes with larger numbers are of this run.
    """

    outputs: list[Tensor] = field(default_factory=list)
    values: dict[int, Looked | None] = field(default_factory=dict)
    grads: dict[int, Looked | None] = field(default_factory=dict)
    leaf_grads: dict[int, Any] = field(default_factory=dict)
    walked: bool = False
    since: int = 0


class NumbersOfRun(Numbers):
    """All numbers of a run; of what was there before it, what the graph still has."""

    own_grads = True

    def __init__(self, nodes: list[Node], run: Run) -> None:
        super().__init__(nodes)
        self.run = run

    def of_node(self, node: Node) -> Looked | None:
        return self.run.values.get(node.seq) or super().of_node(node)

    def grad_of_node(self, node: Node) -> Looked | None:
        return self.run.grads.get(node.seq)

    def grad_of_leaf(self, leaf: Any) -> Any:
        return self.run.leaf_grads.get(id(leaf))


@contextmanager
def run(what: Callable[..., Any], inputs: tuple[Any, ...]) -> Iterator[Run]:
    """Call a function or a module, forward and, from the one number that it returns, backward.

    Inside the ``with`` the graph is there. Afterwards generators and buffers are as they were
    before; no ``.grad`` is touched at all, and no mode changed.

    Raises:
        TypeError: no tensor came back.
        ValueError: nothing that came back has a graph.
    """
    modules = modules_of(what)
    result = Run(since=next_seq())
    with generators_kept(modules), buffers_kept(modules), enable_grad():
        check_inputs(what, inputs)
        given = named_inputs(what, inputs)
        with watching(result):
            returned = what(*given)
        result.outputs = outputs_of(what, returned)
        old: list[tuple[Node, Any, Any]] = []
        try:
            backwards(result, old)
            yield result
        finally:
            for node, grad, walk in old:  # of what the user had computed before
                node.grad = grad
                if walk is None:
                    del node.walk
                else:
                    node.walk = walk


def outputs_of(what: Any, returned: Any) -> list[Tensor]:
    """The tensors among what came back, those with a graph if some have one."""
    found = [x for x in tree.leaves(returned) if isinstance(x, Tensor)]
    name = getattr(what, "__name__", type(what).__name__)
    if not found:
        raise TypeError(
            f"tensor: {name} was to be drawn, and returned {kind_of(returned)}: expected a tensor, "
            "or several in a tuple, list or dict"
        )
    unique = list({id(x): x for x in found}.values())
    tracked = [x for x in unique if x.tracked]
    if not tracked:
        raise ValueError(
            f"tensor: what {name} returned has no graph: nothing it was computed from requires "
            "gradients (or it was computed under no_grad, or of integers)"
        )
    return tracked


def backwards(result: Run, old: list[tuple[Node, Any, Any]]) -> None:
    """Backward from the only number that came back, into ``result`` and no ``.grad``.

    ``old`` gets what the nodes of before have to be given back.
    """
    losses = [x for x in result.outputs if x.size == 1]
    if len(losses) != 1:
        return
    nodes = reachable(x.node for x in losses)
    handles: list[tuple[Node, object]] = []
    leaves: dict[int, Tensor] = {}
    for node in nodes:
        if node.seq < result.since:
            old.append((node, node.grad, getattr(node, "walk", None)))
        if not several(node.shape):
            watch_gradient(node, result, handles)
        for parent in node.parents:
            if isinstance(parent, Tensor) and parent.requires_grad:
                leaves[id(parent)] = parent
    if losses[0].node is None:
        leaves[id(losses[0])] = losses[0]
    targets = list(leaves.values())
    try:
        seed = cotangent(losses[0], None, "gradient", False)
        grads = run_backward(losses, [seed], targets, True, False)
    finally:
        for node, key in handles:
            if node.hooks is not None:
                node.hooks.pop(key, None)
    result.walked = True
    for leaf, grad in zip(targets, grads, strict=True):
        if grad is not None:
            result.leaf_grads[id(leaf)] = grad


def watch_gradient(node: Node, result: Run, handles: list[tuple[Node, object]]) -> None:
    """Note the gradient of a node when it is complete."""
    key = object()

    def note(gradient: Tensor) -> None:
        result.grads[node.seq] = look(gradient._data)

    node.hooks = {**(node.hooks or {}), key: note}
    handles.append((node, key))


@contextmanager
def watching(result: Run) -> Iterator[None]:
    """Look at every result of an op that is recorded."""
    state = local.state
    outer = state.results

    def note(out: Tensor) -> None:
        if outer is not None:
            outer(out)
        assert out.node is not None  # only results that are recorded are told of
        result.values[out.node.seq] = look(out._data)

    state.results = note
    try:
        yield
    finally:
        state.results = outer


# ---- what goes in --------------------------------------------------------------------------------


def named_inputs(what: Any, inputs: tuple[Any, ...]) -> list[Any]:
    """The inputs, called as the parameters are, and as fresh tensors.

    Numbers, arrays and tensors with fractions that are given to a function, or to a module without
    parameters, get gradients; of other modules the parameters do.
    """
    is_module = hasattr(type(what), "named_parameters")
    wanted = not is_module or not any(p.requires_grad for p in what.parameters())

    def fresh(leaf: Any, name: str) -> Any:
        array = type(leaf) in BY_TYPE and (not is_module or leaf.dtype.kind == "f")
        if array or (isinstance(leaf, (float, np.floating)) and wanted):
            leaf = tensor(leaf)
        if not isinstance(leaf, Tensor) or type(leaf).__name__ == "Parameter":
            return leaf
        grads = leaf.dtype.kind == "f" and (wanted or leaf.requires_grad)
        if leaf.requires_grad and leaf.node is None and leaf.name:
            return leaf
        new = leaf.detach()
        new.name = leaf.name or name
        return new.requires_grad_() if grads else new

    def nest(given: Any, name: str) -> Any:
        if isinstance(given, dict):
            return type(given)((k, nest(v, f"{name}[{k!r}]")) for k, v in given.items())
        if isinstance(given, (tuple, list)):
            parts = [nest(part, f"{name}[{i}]") for i, part in enumerate(given)]
            return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
        return fresh(given, name)

    names = parameter_names(what.forward if is_module else what, len(inputs))
    return [nest(given, name) for given, name in zip(inputs, names, strict=True)]


def check_inputs(what: Any, inputs: tuple[Any, ...]) -> None:
    """Refuse a call for which inputs are missing.

    Raises:
        TypeError: names them.
    """
    called = getattr(what, "forward", what)
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return  # nobody can tell
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    missing = [p.name for p in places[len(inputs) :] if p.default is p.empty]
    if missing:
        name = getattr(what, "__name__", type(what).__name__)
        example = ", ".join(p.name for p in places if p.default is p.empty)
        raise TypeError(
            f"inputs: {name} needs {', '.join(missing)} too, which it is called with: "
            f"tt.draw({name}, {example})"
        )


def parameter_names(what: Any, count: int) -> list[str]:
    """What a callable calls its first arguments; "" where that cannot be told."""
    try:
        parameters = list(inspect.signature(what).parameters.values())
    except (TypeError, ValueError):
        return [""] * count
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return [*names, *[""] * count][:count]


# ---- what must not change ------------------------------------------------------------------------


def modules_of(what: Any) -> list[Any]:
    """The modules that a callable is or can reach by its names: by its closure, the names it reads
    of its file, its defaults, and what it is bound to."""
    found: dict[int, Any] = {}
    looked: set[int] = set()
    waiting = [what]
    while waiting:
        thing = waiting.pop()
        if id(thing) in looked:
            continue
        looked.add(id(thing))
        if hasattr(type(thing), "named_buffers"):
            found.update((id(module), module) for module in thing.modules())
        elif isinstance(thing, (tuple, list)):
            waiting += [part for part in thing if hasattr(type(part), "named_buffers")]
        elif isinstance(thing, dict):
            waiting += [part for part in thing.values() if hasattr(type(part), "named_buffers")]
        elif isinstance(thing, functools.partial):
            waiting += [thing.func, thing.args, thing.keywords]
        elif inspect.ismethod(thing):
            waiting += [thing.__self__, thing.__func__]
            waiting += [p for p in vars_of(thing.__self__) if hasattr(type(p), "named_buffers")]
        elif inspect.isfunction(thing):
            waiting += [cell.cell_contents for cell in thing.__closure__ or () if filled(cell)]
            waiting += [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
            names = thing.__code__.co_names
            waiting += [thing.__globals__[name] for name in names if name in thing.__globals__]
        elif callable(thing) and not inspect.isclass(thing):
            waiting += [part for part in vars_of(thing) if hasattr(type(part), "named_buffers")]
    return list(found.values())


def vars_of(thing: Any) -> list[Any]:
    """The attributes of an object's own."""
    return list(getattr(thing, "__dict__", {}).values())


def filled(cell: Any) -> bool:
    """Does a variable of a closure have a value?"""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@contextmanager
def generators_kept(modules: list[Any]) -> Iterator[None]:
    """Put all random streams back: the named ones, NumPy's and Python's, and those of modules."""
    own = [g for m in modules for g in vars_of(m) if isinstance(g, random.Generator)]
    before = random.state(), np.random.get_state(), python_random.getstate()
    states = [generator.state() for generator in own]
    try:
        yield
    finally:
        random.set_state(before[0])
        np.random.set_state(before[1])
        python_random.setstate(before[2])
        for generator, state in zip(own, states, strict=True):
            generator.set_state(state)


@contextmanager
def buffers_kept(modules: list[Any]) -> Iterator[None]:
    """Let modules work on copies of their buffers: what was computed from them before must not
    seem to be changed since."""
    places = [
        (module, name, module.__dict__[name])
        for module in modules
        for name in module._buffers
        if isinstance(module.__dict__.get(name), Tensor)
    ]
    copies: dict[int, Tensor] = {}
    for module, name, buffer in places:
        if id(buffer) not in copies:
            copies[id(buffer)] = buffer.detach().copy()
            copies[id(buffer)].name = buffer.name
        module.__dict__[name] = copies[id(buffer)]
    try:
        yield
    finally:
        for module, name, buffer in places:
            module.__dict__[name] = buffer
