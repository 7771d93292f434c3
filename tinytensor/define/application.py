"""How an op is applied to tensors: from the operands to the result and its node in the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.device import BY_TYPE, Device, device_of
from ..arrays.dtypes import F16, F32, F64, any_half, narrow_to_operands, widen
from ..context.source_line import caller
from ..context.thread_state import ThreadState, local
from ..graph.anomaly import is_watching, note_application
from ..graph.grad_mode import is_recording
from ..graph.kept import Plan, plan_for
from ..graph.node import SMALL, Node, next_seq, seen
from ..graph.version import Version, share
from ..tensor.tensor import Tensor, make, tensor
from .arguments import NUMBERS, bind, convert, explain, mixed_devices, numbers_as_tensors

if TYPE_CHECKING:
    from .op import pick
else:
    late.needs(__name__, pick="define.op.pick")


class Application:
    """The half of :class:`~tinytensor.define.op.Op` that is its call."""

    # what the other half knows of the op
    name: str
    forward: Callable[..., Any]
    inputs: tuple[str, ...]
    arity: int
    setting_names: tuple[str, ...]
    required: tuple[str, ...]
    input_defaults: dict[str, Any]
    selective: bool
    keys: tuple[str, ...]
    readers: tuple[tuple[int, ...], ...]
    vjps: tuple[Any, ...]
    joint: Any
    __signature__: Any
    outputs: int | None
    defaults: dict[str, Any]
    arrays: tuple[int, ...]
    simple: bool
    variadic: bool
    differentiable: bool
    asks: bool
    view: bool
    casts: bool
    wide: bool
    _extras: tuple[str, ...]
    _kept_inputs: tuple[int, ...]
    _keeps_out: bool
    _plans: dict[tuple[bool, ...], Plan]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # Where arrays are small this is what a program spends its time on: the usual way through
        # the five steps is in one function, and what is seldom wanted in functions of its own.

        # 1. what are operands, and what are settings
        if len(args) == self.arity and self.simple and not kwargs:
            settings = self.defaults
        else:
            args, settings = bind(self, args, kwargs)
            if self.arrays:
                args = numbers_as_tensors(self, args)

        # 2. the operands' arrays, and their places in the graph
        arrays: list[Any] = []
        parents: list[Any] = []  # per operand its node or, for a leaf, itself; None: not tracked
        meta: list[Any] = []
        tracked: list[bool] = []
        kind: type | None = None
        usual = True  # all operands are float32
        for arg in args:
            if isinstance(arg, Tensor):
                array = arg._data
                if type(array) is not kind:
                    if kind is not None:
                        raise mixed_devices(self, args)
                    kind = type(array)
                dtype = array.dtype
                if dtype is not F32:
                    usual = False
                arrays.append(array)
                meta.append((array.shape, dtype))
                if arg.tracked:
                    tracked.append(True)
                    parents.append(arg.node or arg)
                else:
                    tracked.append(False)
                    parents.append(None)
            elif arg is None or type(arg) in NUMBERS:
                arrays.append(arg)
                meta.append(None)
                tracked.append(False)
                parents.append(None)
            else:
                return self._of(convert(self, args), settings)
        if kind is None:
            return self._of([tensor(args[0]), *args[1:]], settings)
        device = BY_TYPE.get(kind) or device_of(arrays[0])
        narrow = None
        if not usual and self.wide and any_half(arrays):
            arrays, narrow = widen(arrays)

        # 3. whether a graph is recorded
        state = local.state
        recording = True in tracked and (not state.recording or is_recording(state))
        if recording and not self.differentiable:
            recording, state.cut = False, self.name

        # 4. the forward rule
        try:
            if self.asks:
                result = self.forward(device.xp, *arrays, **settings, recording=recording)
            elif not usual and self.arity == 1 and arrays[0].dtype.itemsize == 1:
                with np.errstate(all="ignore"):  # float16 may overflow; then _as_float32
                    result = self.forward(device.xp, *arrays, **settings)
            else:
                result = self.forward(device.xp, *arrays, **settings)
        except (ValueError, IndexError, TypeError, OverflowError, AttributeError) as error:
            raise explain(self, error, args, settings) from error

        # 5. the result as a tensor, with a node
        extras: list[Any] = []
        if self._extras:
            result, extras = self._without_extras(result)
        if self.outputs != 1:
            operands = (args, parents, meta, tracked, arrays)
            return self._several(
                device, state, settings, operands, result, extras, narrow, recording
            )
        if type(result) is not kind and type(result) not in BY_TYPE:
            result = device.xp.asarray(result)
        if narrow is not None:
            result = result.astype(narrow)
        elif result.dtype is not F32 and not self.casts:
            if result.dtype == F64:
                result = narrow_to_operands(result, arrays)
            elif result.dtype == F16 and not any_half(arrays):
                return self._as_float32(args, settings)
        out = make(result)
        if self.view:
            share_version(out, args[0])
        if recording and result.dtype.kind == "f":
            node = self._record(state, settings, args, parents, meta, tracked, arrays, extras, out)
            node.shape = result.shape
            node.dtype = result.dtype
            if result.size <= SMALL:
                if result.base is None:
                    node.value = result
                else:
                    node.value, node.apart = result.copy(), True
                node.version = out.version
            out.node = node
            out.tracked = True
            if state.results is not None:
                state.results(out)
        return out

    def _without_extras(self, result: Any) -> tuple[Any, list[Any]]:
        """What a forward rule returned: the result, and the extra arrays that are kept."""
        if type(result) is not tuple or len(result) != 1 + len(self._extras):
            raise TypeError(
                f"op {self.name!r}: forward: expected a tuple of the result and "
                f"{', '.join(self._extras)}, which keeps= names and which are no operands"
            )
        result, *extras = result
        return result, extras

    def _several(
        self,
        device: Device,
        state: ThreadState,
        settings: dict[str, Any],
        given: tuple[Any, ...],
        result: Sequence[Any],
        extras: list[Any],
        narrow: Any,
        recording: bool,
    ) -> tuple[Tensor, ...]:
        """Step 5 for an op with several results: one node for all, and one for each."""
        args, parents, meta, tracked, arrays = given
        results = [r if narrow is None else r.astype(narrow) for r in result]
        results = [
            narrow_to_operands(r if type(r) in BY_TYPE else device.xp.asarray(r), arrays)
            for r in results
        ]
        outs = tuple(make(r) for r in results)
        if recording:
            # an output that is kept: a later write to it must be noticed too
            kept = [next((o.version for o in outs if o._data is e), None) for e in extras]
            node = self._record(
                state, settings, args, parents, meta, tracked, arrays, extras, None, kept
            )
            node.shape = tuple(r.shape for r in results)
            node.dtype = tuple(r.dtype for r in results)
            for i, out in enumerate(outs):
                if out._data.dtype.kind == "f":
                    out.node = pick(node, i, out)
                    out.tracked = True
                    if state.results is not None:
                        state.results(out)
        if self.view:
            for out in outs:
                share_version(out, args[0])
        return outs

    def _as_float32(self, args: Sequence[Any], settings: dict[str, Any]) -> Any:
        """Once more: of 8-bit integers and booleans NumPy makes float16, which overflows at
        exp(12)."""
        return self._of([x.astype(F32) if isinstance(x, Tensor) else x for x in args], settings)

    def _of(self, operands: list[Any], settings: dict[str, Any]) -> Any:
        """The op on these operands, which a variadic one takes as a list."""
        return self(operands, **settings) if self.variadic else self(*operands, **settings)

    def _record(
        self,
        state: ThreadState,
        settings: dict[str, Any],
        args: Sequence[Any],
        parents: list[Any],
        meta: list[Any],
        tracked: list[bool],
        arrays: Sequence[Any],
        extras: list[Any],
        out: Tensor | None,
        versions_of_extras: Sequence[Version | None] | None = None,
    ) -> Node:
        """One application as a node: who its operands are, and the arrays that backward needs.

        Args:
            args: the operands. arrays: theirs, or what they were widened to.
            parents, meta: as in the node. tracked: per operand, whether it is.
            extras: what forward returned besides results. out: the only result, where it is one.
        """
        node = Node()
        node.op = self
        node.params = settings
        node.seq = next_seq()
        node.scope = state.scope
        node.where = caller(3)
        node.parents = tuple(parents)
        node.in_meta = tuple(meta)
        plan = self._plan(tuple(tracked))
        node.needs = plan.needs
        node.consts = None
        for i in plan.constants:
            arg = args[i]
            if arg is not None:
                node.consts = node.consts or {}
                node.consts[i] = seen(arg) if isinstance(arg, Tensor) else arg
        saved: list[Any] = []
        versions: list[tuple[Version, int] | None] = []
        for i in self._kept_inputs:
            saved.append(arrays[i])
            arg = args[i]
            if isinstance(arg, Tensor):
                version = arg.version
                versions.append((version, version.count))
            else:
                versions.append(None)
        if out is not None and self._keeps_out:
            saved.append(out._data)
            versions.append((out.version, out.version.count))
        if extras:
            saved += extras
            counters = versions_of_extras or [None] * len(extras)
            versions += [None if v is None else (v, v.count) for v in counters]
        for n in plan.unread:
            saved[n] = versions[n] = None
        node.saved = tuple(saved)
        node.versions = tuple(versions)
        if state.anomaly and is_watching(state):
            note_application(node)
        for observe in state.observers:
            observe(node)
        return node

    def _plan(self, tracked: tuple[bool, ...]) -> Plan:
        """What to record where these operands are tracked."""
        plan = self._plans.get(tracked)
        if plan is None:
            plan = plan_for(self, tracked)
            if not self.variadic:  # there are too many kinds of lists
                self._plans[tracked] = plan
        return plan


def share_version(view: Tensor, source: Tensor) -> None:
    """Let a view count the writes to the memory that it shares with ``source``.

    A reshape of a transposed array is a copy, with a counter of its own.
    """
    a, b = view._data, source._data
    if a is b or a.base is b or device_of(a).xp.may_share_memory(a, b):
        share(view, source)
