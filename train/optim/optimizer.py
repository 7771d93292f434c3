"""What all optimisers share: groups of parameters, their settings and state, and the step.

Names are those of ``torch.optim``. The optimisers themselves are in ``algorithms.py``, the passes
over memory that a step makes in ``pieces.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.device import device_of
from ...graph.version import user_line, zeroed
from ...hints.finding import attribute_missing, of_setting
from ...hints.other_settings import OF_SETTINGS
from ...tensor.row_grad import stored
from ...tensor.tensor import Tensor
from ..given.other_names import OF_OPTIMIZER
from ..given.values import not_negative, number, plain
from .groups import members, refuse_module
from .overflow import Watch
from .parts import shares
from .pieces import advance
from .shown import in_a_notebook
from .state import restore, snapshot

_FLOAT32 = np.dtype(np.float32)


class Optimizer:
    """Base of the optimisers: groups of parameters, their settings and their state.

    A subclass names its state arrays in ``slots`` and updates one piece of one parameter in
    ``update``. Parameters without a gradient are skipped: no decay, no state, no step counted. Of a
    table with a :class:`tinytensor.RowGrad` so are the rows that it lacks: their decay and their
    moments wait until they have a gradient again (as in ``torch.optim.SparseAdam``); the step is
    counted for the table as a whole. A step is computed in the parameter's dtype, for float16 in
    float32, and so is its state kept; the parameter itself is rounded once in a step. Copying
    (``copy.deepcopy``) or pickling an optimiser together with its model keeps them together.

    Args:
        params: parameters, or dicts ``{"params": [...], "lr": ..., ...}`` with settings that
            differ from ``defaults``. A parameter given twice (a tied weight) counts once.
        defaults: settings of all groups. Numbers may be NumPy's, or tensors without axes.

    Attributes:
        param_groups: list of dicts: "params" and one entry for each setting, which may be
            changed: ``for group in optimizer.param_groups: group["lr"] = 1e-4``. The next step
            checks them. A subclass's settings should be plain values, fit for JSON.
        state: dict of parameter to {"step": how many it has made, slot: array}.

    Raises:
        ValueError: no parameters, an unknown setting, or one out of range.
        TypeError: something is not a Tensor that requires gradients.
    """

    slots: tuple[str, ...] = ()
    #: slots of squares, and the slots of roots that take their place, for good, for a parameter
    #: whose gradients' squares overflow: :meth:`update_wide` then updates it
    roots: Mapping[str, str] = {}

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError("params: expected a list of tensors, got one; write [w], not w")
        refuse_module(params)
        entries = list(params)
        if not entries:
            raise ValueError("params: expected at least one parameter, got none")
        self.defaults = dict(defaults)
        self._keys = {*defaults, "params"}  # of every group
        self._settled: dict[int, tuple[Any, ...]] = {}  # by place in param_groups: values checked
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}  # parameter -> "step" and arrays
        self.watch = Watch()
        seen: set[Tensor] = set()
        for given in entries if isinstance(entries[0], Mapping) else [{"params": entries}]:
            group = self._group(given)
            group["params"] = [p for p in group["params"] if p not in seen]
            seen.update(group["params"])
            self.param_groups.append(group)
        if not seen:
            raise ValueError("params: expected at least one parameter, got only empty groups")

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters, such as those of a layer that is not frozen any more.

        Args:
            param_group: a dict as for the constructor; settings that it lacks are the defaults.

        Raises:
            ValueError: a parameter is in a group already, or as the constructor.
            TypeError: as the constructor.
        """
        group = self._group(param_group)
        known = set(self.parameters())
        for p in group["params"]:
            if p in known:
                raise ValueError(
                    f"param_group: a parameter of shape {p.shape} is in another group already"
                )
        self.param_groups.append(group)

    def _group(self, given: Any) -> dict[str, Any]:
        """A group with all settings, checked; each of its parameters once."""
        if not isinstance(given, Mapping) or "params" not in given:
            raise TypeError("params: expected only tensors, or only dicts with a 'params' list")
        self._refuse_unknown(given)
        group = {**self.defaults, **given, "params": members(given["params"])}
        self.settle(group)
        return group

    def _refuse_unknown(self, group: Mapping[str, Any]) -> None:
        unknown = sorted(str(key) for key in group if key not in self._keys)
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)}: {type(self).__name__} has only {sorted(self.defaults)}"
                f"{of_setting(unknown[0], self.defaults)}"
            )

    def slots_of(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The state arrays that a group's settings need."""
        return self.slots

    def slots_now(self, group: dict[str, Any], state: Container[str]) -> tuple[str, ...]:
        """Those of a parameter in the group, given the names in its state."""
        names = self.slots_of(group)
        for square, root in self.roots.items():
            if root in state:
                names = tuple(root if name == square else name for name in names)
        return names

    def settle(self, group: dict[str, Any]) -> None:
        """Make a group's settings Python's own (they may have come from NumPy), and check them."""
        if group.keys() != self._keys:
            self._refuse_unknown(group)
            missing = ", ".join(sorted(self._keys - group.keys()))
            raise ValueError(
                f"param_groups: a group has no {missing}; optimizer.add_param_group(...) fills in "
                "what is not given"
            )
        for name, value in group.items():
            if type(value) not in (float, bool) and name != "params":
                group[name] = plain(value)
        self.check(group)

    def _settle_changed(self) -> None:
        """Settle the groups that have other keys or values (other objects) than the last time."""
        for i, group in enumerate(self.param_groups):
            last = self._settled.get(i, ())
            known = len(last) == len(group) and group.keys() == self._keys
            if not (known and all(map(is_, group.values(), last))):
                self.settle(group)
                self._settled[i] = tuple(group.values())

    def check(self, group: dict[str, Any]) -> None:
        """Refuse settings out of range; subclasses add their own. Every step begins with it."""
        for name in ("lr", "weight_decay"):
            if name in group:
                group[name] = number(name, group[name], "a finite number >= 0", not_negative)

    def update(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """Update one piece: ``p`` and the arrays of ``state`` in place, with the gradient ``g``,
        which is only read; all of one shape, as is ``scratch``, which may be written to, and of
        one dtype, :meth:`state_dtype`. ``numbers`` come from :meth:`numbers`, for all parameters
        that are at the same step."""
        raise TypeError(f"{type(self).__name__} defines no update(...)")

    def update_wide(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """:meth:`update` with :attr:`roots` in the place of squares."""
        raise TypeError(f"{type(self).__name__} defines no update_wide(...)")

    def widen(self, p: Tensor) -> None:
        """From now on keep :attr:`roots` for a parameter."""
        state = self.state.setdefault(p, {"step": 0})
        for square, root in self.roots.items():
            old = state.pop(square, None)
            xp = p.device.xp
            state[root] = xp.zeros(p.shape, self.state_dtype(p)) if old is None else xp.sqrt(old)

    def numbers(self, group: dict[str, Any], step: int) -> dict[str, Any]:
        """What :meth:`update` reads besides arrays, for a parameter's ``step``-th step from 1."""
        return {key: value for key, value in group.items() if key != "params"}

    @property
    def lr(self) -> float:
        """Learning rate of the first group; setting it sets all groups'."""
        return float(self.param_groups[0]["lr"])

    @lr.setter
    def lr(self, value: float) -> None:
        changed = [{**group, "lr": value} for group in self.param_groups]
        for group in changed:  # all are checked before one is changed
            self.settle(group)
        for group, values in zip(self.param_groups, changed, strict=True):
            group["lr"] = values["lr"]

    def parameters(self) -> Iterator[Tensor]:
        """All parameters in the order of the groups."""
        return (p for group in self.param_groups for p in group["params"])

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse settings, which are those of the groups: here they would change nothing."""
        own = vars(self).get("defaults", ())
        if not hasattr(type(self), name):
            for setting in (name, *OF_SETTINGS.get(name, ())):
                if setting in own:
                    use = (
                        "optimizer.lr = ..."
                        if setting == "lr"
                        else f"for group in optimizer.param_groups: group[{setting!r}] = ..."
                    )
                    raise AttributeError(
                        f"{type(self).__name__}.{name}: settings are those of the groups; use {use}"
                    )
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # which then knows what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            return attribute_missing(self, name, OF_OPTIMIZER)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients.

        Args:
            set_to_none: False writes zeros into them instead, so that ``step`` does not skip
                their parameters.
        """
        for p in self.parameters():
            if set_to_none or p._grad is None:
                p._grad = None
            else:
                if p._grad.tracked:  # made by backward(create_graph=True)
                    p._grad = p._grad.detach()
                p._grad.zero_()
                zeroed(p._grad.version)

    def step(self, share: tuple[int, int] = (0, 1)) -> None:
        """Update every parameter that has a gradient; ``loss.backward()`` comes before it.

        Args:
            share: (i, n) updates only the i-th of n equal parts of all numbers, for processes that
                divide the work among them.

        Raises:
            ValueError: a setting of a group is out of range (nothing is changed then), or a
                parameter is not of the shape of its gradient or state any more.
            TypeError: a closure or a loss was given, as some libraries take them.
        """
        if type(share) is not tuple:
            raise TypeError(
                f"step: takes neither a closure nor a loss, got {type(share).__name__}; call "
                "loss.backward() first, then optimizer.step()"
            )
        where = user_line()
        self._settle_changed()
        given = [(p, g) for g in self.param_groups for p in g["params"] if p._grad is not None]
        parts: list[slice] | None = None
        if share[1] > 1:
            parts = shares([stored(p.grad).size for p, _ in given], *share)
        known: tuple[Any, int] = (None, 0)  # numbers are the same for most of a group
        numbers: dict[str, Any] = {}
        usual: tuple[tuple[str, ...], Callable[..., None]] = ((), self.update)
        rooted = frozenset(self.roots.values())
        # Processes that divide the work are told before: none can decide for all.
        with self.watch.on() if rooted and parts is None else nullcontext():
            for i, (p, group) in enumerate(given):
                state = self.state.get(p) or self.state.setdefault(p, {"step": 0})
                step = state["step"] = state["step"] + 1
                if known[0] is not group or known[1] != step:
                    known, numbers = (group, step), self.numbers(group, step)
                    usual = self.slots_of(group), self.update
                dtype, part = self.state_dtype(p), None if parts is None else parts[i]
                (names, update), start = usual, 0
                if rooted and not rooted.isdisjoint(state):
                    names, update = self.slots_now(group, state), self.update_wide
                while True:
                    arrays = [self._slot(p, state, name, dtype) for name in names]
                    left = advance(p, dtype, arrays, update, numbers, part, start)
                    if left is None:
                        break
                    self.watch.seen = False
                    self.widen(p)
                    names, update, start = self.slots_now(group, state), self.update_wide, left
                p.version.bump(where)

    @staticmethod
    def state_dtype(p: Tensor) -> np.dtype[Any]:
        """What a parameter's step is computed in, and its state kept in: float32 or wider."""
        dtype: np.dtype[Any] = p._data.dtype
        return _FLOAT32 if dtype.itemsize < 4 else dtype

    def _slot(self, p: Tensor, state: dict[str, Any], name: str, dtype: np.dtype[Any]) -> Any:
        """A state array on the parameter's device, zeros at first."""
        array: Any = state.get(name)
        data = p._data
        if type(array) is type(data) and array.shape == data.shape and array.dtype == dtype:
            return array
        if array is None:
            array = p.device.xp.zeros(p.shape, dtype=dtype)
        elif array.shape != p.shape:
            raise ValueError(
                f"state: {name} has the shape {array.shape}, its parameter {p.shape}; make a new "
                "optimiser, or del optimizer.state[p] to start anew"
            )
        else:  # p was moved
            host = device_of(array).to_host(array)
            array = p.device.from_host(host.astype(dtype, order="C"))
        state[name] = array
        return array

    def state_dict(self) -> dict[str, Any]:
        """A snapshot: ``{"arrays": {"0.exp_avg": ndarray, ...}, "numbers": {...}}``.

        Arrays are host copies, keyed by the parameter's place and the state's name; the numbers
        (steps, settings of the groups) are fit for JSON. ``tt.train.checkpoint`` writes both to a
        file, beside the weights of the model.

        Raises:
            ValueError: a setting of a group is out of range.
        """
        return snapshot(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned; copies, and checks before any change.

        Arrays may be of another dtype than the state here, and are converted.

        Raises:
            ValueError: the state is of another kind of optimiser, or of other parameters.
        """
        restore(self, state)

    def __repr__(self) -> str:
        lines = [
            ", ".join(f"{k}={v}" for k, v in group.items() if k != "params")
            + f" for {sum(p.size for p in group['params']):,} numbers"
            for group in self.param_groups
        ]
        return f"{type(self).__name__}(" + "; ".join(lines) + ")"

    def _repr_html_(self) -> str:
        """What a notebook shows: a column for each group, with its settings and its state."""
        return in_a_notebook(self)
