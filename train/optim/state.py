"""An optimiser's state as a dict of host arrays and numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.device import device_of
from ..given.values import plain

if TYPE_CHECKING:
    from .optimizer import Optimizer


def snapshot(optimizer: Optimizer) -> dict[str, Any]:
    """See :meth:`Optimizer.state_dict`."""
    arrays: dict[str, np.ndarray] = {}
    steps: list[int] = []
    groups = []
    for group in optimizer.param_groups:
        optimizer.settle(group)
        settings = {key: value for key, value in group.items() if key != "params"}
        groups.append({**settings, "size": len(group["params"])})
    owners = [group for group in optimizer.param_groups for _ in group["params"]]
    for i, (p, group) in enumerate(zip(optimizer.parameters(), owners, strict=True)):
        state = optimizer.state.get(p, {"step": 0})
        steps.append(state["step"])
        now = optimizer.slots_now(group, state)
        for name in (*optimizer.slots, *optimizer.roots.values()):
            if name in state:
                host = device_of(state[name]).to_host(state[name])
                arrays[f"{i}.{name}"] = np.array(host, order="C")
            elif state["step"] and name in now:  # needed from now on
                arrays[f"{i}.{name}"] = np.zeros(p.shape, optimizer.state_dtype(p))
    kind = type(optimizer).__name__
    return {"arrays": arrays, "numbers": {"kind": kind, "steps": steps, "groups": groups}}


def restore(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    """See :meth:`Optimizer.load_state_dict`."""
    try:
        arrays, numbers = dict(state["arrays"]), state["numbers"]
        kind, steps, groups = numbers["kind"], list(numbers["steps"]), list(numbers["groups"])
        sizes = [group["size"] for group in groups]
        settings = [{k: plain(v) for k, v in g.items() if k != "size"} for g in groups]
    except (KeyError, TypeError) as error:
        raise ValueError(f"state: not an optimiser's state dict ({error!r})") from None
    params = list(optimizer.parameters())
    own = [len(group["params"]) for group in optimizer.param_groups]
    if kind != type(optimizer).__name__:
        raise ValueError(f"state: expected one of {type(optimizer).__name__}, got one of {kind}")
    if sizes != own or len(steps) != len(params):
        raise ValueError(f"state: expected groups of {own} parameters, got {sizes}")
    for i, (group, values) in enumerate(zip(optimizer.param_groups, settings, strict=True)):
        if set(values) != set(group) - {"params"}:
            raise ValueError(f"state: settings {sorted(values)} do not fit {sorted(group)}")
        settings[i] = {**group, **values}
        optimizer.settle(settings[i])
    fresh: dict[Any, dict[str, Any]] = {}
    owners = [values for values in settings for _ in values["params"]]
    for i, (p, group, step) in enumerate(zip(params, owners, steps, strict=True)):
        if not isinstance(step, (int, np.integer)) or isinstance(step, bool) or step < 0:
            raise ValueError(f"state: steps[{i}] is {step!r}, not a count")
        entry: dict[str, Any] = {"step": int(step)}
        known = (*optimizer.slots, *optimizer.roots.values())
        now = optimizer.slots_now(group, {name for name in known if f"{i}.{name}" in arrays})
        for name in known:
            array = arrays.pop(f"{i}.{name}", None)
            if array is None and (step == 0 or name not in now):
                continue
            if array is None or array.shape != p.shape:
                got = "nothing" if array is None else f"shape {array.shape}"
                raise ValueError(f"state: {i}.{name}: expected shape {p.shape}, got {got}")
            entry[name] = p.device.from_host(
                np.array(array, dtype=optimizer.state_dtype(p), order="C")
            )
        if step:
            fresh[p] = entry
    if arrays:
        raise ValueError(f"state: unexpected arrays {sorted(arrays)}")
    for group, values in zip(optimizer.param_groups, settings, strict=True):
        group.update(values)
    optimizer.state = fresh
