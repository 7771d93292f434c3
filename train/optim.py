"""Optimisers: SGD with momentum, Adam and AdamW, and parameter groups.

Names and arithmetic are those of ``torch.optim``. A step writes parameters in place and needs few
passes over memory: arrays are worked on in pieces that stay in the processor's cache, with one
scratch piece for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import device_of
from ..tensor import Tensor
from ..version import user_line
from .clip import refuse_module

if TYPE_CHECKING:
    from ..nn import Module

#: how many numbers a step works on at a time on the CPU: a piece of parameter, gradient, state and
#: scratch stays in the cache through all passes. AdamW took 1.3 ns a number this way, 2.7 in pieces
#: of 4,096; and a whole step of a GPT with 10 million parameters 2% longer without pieces.
PIECE = 65536


def shares(sizes: Sequence[int], i: int, n: int) -> list[slice]:
    """For arrays of these sizes in a row: which slice of each is in the i-th of n equal parts."""
    total = sum(sizes)
    low, high = total * i // n, total * (i + 1) // n
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(min(max(low - start, 0), size), min(max(high - start, 0), size)))
        start += size
    return slices


class Optimizer:
    """Base of the optimisers: groups of parameters, their settings and their state.

    A subclass names its state arrays in ``slots`` and updates one piece of one parameter in
    ``update``. Parameters without a gradient are skipped: no decay, no state, no step counted.

    Args:
        params: parameters, or dicts ``{"params": [...], "lr": ..., ...}`` with settings that
            differ from ``defaults``. A parameter given twice (a tied weight) counts once.
        defaults: settings of all groups.

    Attributes:
        groups: list of dicts: "params" and one entry for each setting.

    Raises:
        ValueError: no parameters, an unknown setting, or one out of range.
        TypeError: something is not a Tensor that requires gradients.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError("params: expected a list of tensors, got one; write [w], not w")
        refuse_module(params)
        entries = list(params)
        if not entries:
            raise ValueError("params: expected at least one parameter, got none")
        grouped = entries if isinstance(entries[0], Mapping) else [{"params": entries}]
        self.groups: list[dict[str, Any]] = []
        seen: set[int] = set()
        for given in grouped:
            if not isinstance(given, Mapping) or "params" not in given:
                raise TypeError("params: expected only tensors, or only dicts with a 'params' list")
            unknown = sorted(set(given) - set(defaults) - {"params"})
            if unknown:
                raise ValueError(
                    f"{', '.join(unknown)}: {type(self).__name__} has only {sorted(defaults)}"
                )
            group = {**defaults, **given, "params": []}
            for p in [given["params"]] if isinstance(given["params"], Tensor) else given["params"]:
                if not isinstance(p, Tensor) or not p.requires_grad:
                    kind = "one that does not" if isinstance(p, Tensor) else type(p).__name__
                    raise TypeError(f"params: expected tensors that require gradients, got {kind}")
                if p.node is not None:
                    raise TypeError(
                        f"params: expected leaf tensors, got the result of {p.node.op.name!r}, "
                        f"shape {p.shape}, which an update would not change where it came from"
                    )
                if id(p) not in seen:
                    seen.add(id(p))
                    group["params"].append(p)
            self.check(group)
            self.groups.append(group)
        self.state: dict[int, dict[str, Any]] = {}  # id of the parameter -> "step" and arrays

    def slots_of(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The state arrays that a group's settings need."""
        return self.slots

    def check(self, group: dict[str, Any]) -> None:
        """Refuse settings out of range; subclasses add their own."""
        for name in ("lr", "weight_decay"):
            value = group[name]
            if not (isinstance(value, (int, float)) and 0.0 <= value < math.inf):
                raise ValueError(f"{name}: expected a number >= 0, got {value!r}")

    def update(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """Update one piece: ``p`` and the arrays of ``state`` in place, with the gradient ``g``,
        which is only read; all of one shape, as is ``scratch``, which may be written to.
        ``numbers`` come from :meth:`numbers`, for all parameters that are at the same step."""
        raise TypeError(f"{type(self).__name__} defines no update(...)")

    def numbers(self, group: dict[str, Any], step: int) -> dict[str, Any]:
        """What :meth:`update` reads besides arrays, for a parameter's ``step``-th step from 1."""
        return {key: value for key, value in group.items() if key != "params"}

    @property
    def lr(self) -> float:
        """Learning rate of the first group; setting it sets all groups'."""
        return float(self.groups[0]["lr"])

    @lr.setter
    def lr(self, value: float) -> None:
        for group in self.groups:
            group["lr"] = value

    def parameters(self) -> Iterator[Tensor]:
        """All parameters in the order of the groups."""
        return (p for group in self.groups for p in group["params"])

    def zero_grad(self) -> None:
        """Forget the gradients (they become None)."""
        for group in self.groups:
            for p in group["params"]:
                p._grad = None

    def step(self, share: tuple[int, int] = (0, 1)) -> None:
        """Update every parameter that has a gradient.

        Args:
            share: (i, n) updates only the i-th of n equal parts of all numbers, for processes that
                divide the work among them.
        """
        where = user_line()
        given = [(p, g) for g in self.groups for p in g["params"] if p._grad is not None]
        parts: list[slice] | None = None
        if share[1] > 1:
            parts = shares([p.size for p, _ in given], *share)
        known: tuple[Any, int] = (None, 0)  # numbers are the same for most of a group
        numbers: dict[str, Any] = {}
        for i, (p, group) in enumerate(given):
            state = self.state.get(id(p)) or self.state.setdefault(id(p), {"step": 0})
            step = state["step"] = state["step"] + 1
            if known[0] is not group or known[1] != step:
                known, numbers = (group, step), self.numbers(group, step)
            arrays = [self._slot(p, state, name) for name in self.slots_of(group)]
            self._step(p, arrays, numbers, None if parts is None else parts[i])
            p.version.bump(where)

    def _step(
        self, p: Tensor, state: list[Any], numbers: dict[str, Any], part: slice | None
    ) -> None:
        data, g = p._data, p._grad._data  # type: ignore[union-attr]
        if g.shape != data.shape:
            raise ValueError(f"grad: expected the parameter's shape {p.shape}, got {g.shape}")
        xp = device_of(data).xp
        if not data.flags.c_contiguous:
            data = p._data = xp.ascontiguousarray(data)
        size = data.size
        piece = min(PIECE, size) if xp is np else size  # a GPU wants few large launches
        if size <= piece and part is None:
            self.update(xp, data, g, xp.empty(data.shape, data.dtype), state, numbers)
            return
        scratch = xp.empty(piece, dtype=data.dtype)
        flat = [a.reshape(-1) for a in (data, g, *state)]
        if part is not None:
            flat = [a[part] for a in flat]
        for start in range(0, flat[0].size, max(piece, 1)):
            values, grad, *rest = (a[start : start + piece] for a in flat)
            self.update(xp, values, grad, scratch[: values.size], rest, numbers)

    def _slot(self, p: Tensor, state: dict[str, Any], name: str) -> Any:
        """A state array on the parameter's device and of its dtype, zeros at first."""
        array: Any = state.get(name)
        if array is None:
            array = p.device.xp.zeros(p.shape, dtype=p.dtype)
        elif device_of(array) is not p.device or array.dtype != p.dtype:  # p was moved
            host = device_of(array).to_host(array)
            array = p.device.from_host(host.astype(p.dtype))
        state[name] = array
        return array

    def state_dict(self) -> dict[str, Any]:
        """A snapshot: ``{"arrays": {"0.exp_avg": ndarray, ...}, "numbers": {...}}``.

        Arrays are host copies, keyed by the parameter's place and the state's name; the numbers
        (steps, settings of the groups) are fit for JSON.
        """
        arrays: dict[str, np.ndarray] = {}
        steps: list[int] = []
        for i, p in enumerate(self.parameters()):
            state = self.state.get(id(p), {"step": 0})
            steps.append(state["step"])
            for name in self.slots:
                if name in state:
                    host = device_of(state[name]).to_host(state[name])
                    arrays[f"{i}.{name}"] = np.array(host)
        groups = [
            {**{k: v for k, v in group.items() if k != "params"}, "size": len(group["params"])}
            for group in self.groups
        ]
        kind = type(self).__name__
        return {"arrays": arrays, "numbers": {"kind": kind, "steps": steps, "groups": groups}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned; copies, and checks before any change.

        Raises:
            ValueError: the state is of another kind of optimiser, or of other parameters.
        """
        try:
            arrays, numbers = dict(state["arrays"]), state["numbers"]
            kind, steps, groups = numbers["kind"], list(numbers["steps"]), list(numbers["groups"])
            sizes = [group["size"] for group in groups]
            settings = [{k: v for k, v in g.items() if k != "size"} for g in groups]
        except (KeyError, TypeError) as error:
            raise ValueError(f"state: not an optimiser's state dict ({error!r})") from None
        params = [(group, p) for group in self.groups for p in group["params"]]
        own = [len(group["params"]) for group in self.groups]
        if kind != type(self).__name__:
            raise ValueError(f"state: expected one of {type(self).__name__}, got one of {kind}")
        if sizes != own or len(steps) != len(params):
            raise ValueError(f"state: expected groups of {own} parameters, got {sizes}")
        fresh: dict[int, dict[str, Any]] = {}
        for i, ((group, p), step) in enumerate(zip(params, steps, strict=True)):
            if not isinstance(step, int) or isinstance(step, bool) or step < 0:
                raise ValueError(f"state: steps[{i}] is {step!r}, not a count")
            entry: dict[str, Any] = {"step": step}
            for name in self.slots_of(group):
                array = arrays.pop(f"{i}.{name}", None)
                if array is None and step == 0:
                    continue
                if array is None or array.shape != p.shape:
                    got = "nothing" if array is None else f"shape {array.shape}"
                    raise ValueError(f"state: {i}.{name}: expected shape {p.shape}, got {got}")
                entry[name] = p.device.from_host(np.array(array, dtype=p.dtype))
            fresh[id(p)] = entry
        if arrays:
            raise ValueError(f"state: unexpected arrays {sorted(arrays)}")
        for group, values in zip(self.groups, settings, strict=True):
            if set(values) != set(group) - {"params"}:
                raise ValueError(f"state: settings {sorted(values)} do not fit {sorted(group)}")
            values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
            self.check({**group, **values})
        for group, values in zip(self.groups, settings, strict=True):
            group.update({k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
        self.state = {key: entry for key, entry in fresh.items() if entry["step"]}

    def __repr__(self) -> str:
        lines = [
            ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            + f" for {sum(p.size for p in group['params']):,} numbers"
            for group in self.groups
        ]
        return f"{type(self).__name__}(" + "; ".join(lines) + ")"


class SGD(Optimizer):
    """Stochastic gradient descent: ``v = momentum * v + g + weight_decay * p;  p -= lr * v``.

    Args:
        params: see :class:`Optimizer`.
        lr: learning rate.
        momentum: 0 keeps no state.
        weight_decay: of the L2 kind, added to the gradient.
        nesterov: look ahead: ``p -= lr * (g + momentum * v)`` (Sutskever et al., 2013).
    """

    slots = ("momentum",)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        settings = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "nesterov": nesterov})

    def slots_of(self, group: dict[str, Any]) -> tuple[str, ...]:
        """See :class:`Optimizer`."""
        return self.slots if group["momentum"] else ()

    def check(self, group: dict[str, Any]) -> None:
        """See :class:`Optimizer`."""
        super().check(group)
        if not 0.0 <= group["momentum"] < 1.0:
            raise ValueError(f"momentum: expected a number in [0, 1), got {group['momentum']!r}")
        if group["nesterov"] and not group["momentum"]:
            raise ValueError("nesterov: needs a momentum above 0")

    def update(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """See :class:`Optimizer`."""
        lr, momentum, decay = numbers["lr"], numbers["momentum"], numbers["weight_decay"]
        if decay:
            xp.multiply(p, decay, out=scratch)
            scratch += g
            g = scratch
        if momentum:
            (v,) = state
            v *= momentum
            v += g
            if numbers["nesterov"]:
                p -= lr * (g + momentum * v)
                return
            g = v
        xp.multiply(g, lr, out=scratch)
        p -= scratch


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with bias correction; weight decay of the L2 kind.

    ::

        m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
        p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

    Args:
        params: see :class:`Optimizer`.
        lr: learning rate.
        betas: decay rates of the two means.
        eps: added to the root.
        weight_decay: added to the gradient as ``weight_decay * p``, so it passes through the
            means; :class:`AdamW` takes it out of them.
    """

    slots = ("exp_avg", "exp_avg_sq")
    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        defaults = {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        """See :class:`Optimizer`."""
        super().check(group)
        betas = group["betas"]
        if len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
            raise ValueError(f"betas: expected two numbers in [0, 1), got {betas!r}")
        if not group["eps"] > 0.0:
            raise ValueError(f"eps: expected a number > 0, got {group['eps']!r}")

    def numbers(self, group: dict[str, Any], step: int) -> dict[str, Any]:
        """Both bias corrections, folded into one factor and into eps (2 passes less)."""
        beta1, beta2 = group["betas"]
        root = math.sqrt(1.0 - beta2**step)
        return {
            "beta1": beta1,
            "beta2": beta2,
            "eps": group["eps"] * root,
            "rate": group["lr"] * root / (1.0 - beta1**step),
            "lr": group["lr"],
            "decay": group["weight_decay"],
        }

    def update(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """See :class:`Optimizer`."""
        m, v = state
        if numbers["decay"]:
            if self.decoupled:
                p *= 1.0 - numbers["lr"] * numbers["decay"]
            else:
                g = g + numbers["decay"] * p
        xp.subtract(g, m, out=scratch)  # m += (1 - beta1) (g - m)
        scratch *= 1.0 - numbers["beta1"]
        m += scratch
        v *= numbers["beta2"]
        xp.multiply(g, g, out=scratch)
        scratch *= 1.0 - numbers["beta2"]
        v += scratch
        xp.sqrt(v, out=scratch)
        scratch += numbers["eps"]
        xp.divide(m, scratch, out=scratch)
        scratch *= numbers["rate"]
        p -= scratch


class AdamW(Adam):
    """Adam with decoupled decay, ``p *= 1 - lr * weight_decay`` (Loshchilov and Hutter, 2019).

    Args:
        params: see :class:`Optimizer`; :func:`param_groups` decays matrices only.
        lr, betas, eps: see :class:`Adam`.
        weight_decay: the decay.
    """

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)


def param_groups(model: Module, weight_decay: float) -> list[dict[str, Any]]:
    """Two groups for an optimiser: matrices decay, biases and the gains of norms do not.

    Args:
        model: its parameters that require gradients are taken, tied ones once.
        weight_decay: for parameters of at least two axes.
    """
    params = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in params if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
