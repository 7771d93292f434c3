"""How an op is defined, found by name, and applied.

An op is one small definition: a forward rule on arrays, a vector-Jacobian product (VJP) per
operand, what is kept in between, and sample inputs for its tests. For example::

    @op("x y", keeps={"x": "y", "y": "x"}, formula="x · y", samples=...)
    def mul(xp, x, y):
        \"\"\"Elementwise product.\"\"\"
        return x * y

    mul.vjp(x=lambda xp, g, k: g * k.y, y=lambda xp, g, k: g * k.x)

``xp`` is the array namespace of the operands' device (NumPy, CuPy), ``g`` the gradient of the
output, and ``k`` holds what the op keeps: operands, "out", extra arrays, and the keyword settings
such as ``k.axis``. Here the gradient of x reads y and that of y reads x, so each is kept only where
the other's gradient is wanted; ``keeps="x y"`` would always keep both. A forward with a keyword
``recording`` is told whether a backward may follow: where none will, extra arrays may be None.

The VJP of a primitive is used twice: on raw arrays (the fast default), and on Tensors with ``xp``
being tinytensor itself, which makes gradients differentiable (``create_graph=True``). A *fused* op
has in addition a ``reference``: the same function composed from primitives. It is the oracle in
the tests and the way to higher-order gradients.

The engine does centrally, and no rule repeats: summing gradients back over broadcast axes, casting
them to the operand's dtype, skipping operands that need none, accumulation, and error messages
that name the op with the shapes it was given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from types import MethodType
from typing import Any

import numpy as np

from ..arrays.device import BY_TYPE, device_of
from ..arrays.dtypes import F16, F32, F64, any_half, narrow_to_operands, widen
from ..context.thread_state import ThreadState, local
from ..graph.anomaly import is_watching, note_application
from ..graph.grad_mode import is_recording
from ..graph.kept import Kept, Plan, check_names, class_of, plan_for
from ..graph.node import SMALL, Node, Seen, next_seq
from ..graph.version import Version, share
from ..tensor.tensor import Tensor, make, tensor
from .arguments import NUMBERS, bind, convert, explain, mixed_devices, numbers_as_tensors
from .samples import Draw, Sample

#: every op by name
OPS: dict[str, Op] = {}


class Op:
    """A registered operation; calling it applies it to tensors. Made by :func:`op`."""

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        operands: str,
        *,
        keeps: str | dict[str, str] = "",
        outputs: int | None = 1,
        formula: str = "",
        gradient: str = "",
        samples: Callable[[Draw], list[Sample]] | None = None,
        view: bool = False,
        casts: bool = False,
        wide: bool = False,
        arrays: str = "",
    ):
        self.name = name
        self.forward = forward
        self.variadic = operands.startswith("*")
        self.inputs = tuple(operands.lstrip("*").split())
        readers = dict.fromkeys(self.inputs, keeps) if isinstance(keeps, str) else keeps
        self.keeps = tuple(dict.fromkeys(k for names in readers.values() for k in names.split()))
        self.outputs = outputs
        self.formula = formula
        self.gradient = gradient
        self.view = view
        self.casts = casts
        self.wide = wide
        self.doc = inspect.cleandoc(forward.__doc__ or "")
        self.reference: Callable[..., Any] | None = None
        self.joint: Callable[..., Any] | None = None
        #: whether any operand has a gradient rule
        self.differentiable = False
        self.vjps: tuple[Callable[..., Any] | None, ...] = (None,) * len(self.inputs)
        self._samples = samples
        self.arity = len(self.inputs)
        signature = inspect.signature(forward)
        #: whether the forward rule asks if a backward may follow
        self.asks = "recording" in signature.parameters
        known = [p for p in signature.parameters.values() if p.name != "recording"]
        signature = signature.replace(parameters=known)
        settings = list(signature.parameters.values())[1 + self.arity :]
        self.setting_names = tuple(p.name for p in settings)
        self.defaults = {p.name: p.default for p in settings if p.default is not p.empty}
        self.required = tuple(p.name for p in settings if p.default is p.empty)
        #: whether a call with as many arguments as there are operands needs no binding
        self.simple = not (self.variadic or self.required or arrays)
        #: operands that must be arrays: a number in their place is made one without axes
        self.arrays = tuple(map(self.inputs.index, arrays.split()))
        self.input_defaults = {
            p.name: p.default
            for p in list(signature.parameters.values())[1 : 1 + self.arity]
            if p.default is not p.empty
        }
        #: whether what is kept depends on which gradients are wanted
        self.selective = not isinstance(keeps, str)
        self._extras = tuple(k for k in self.keeps if k not in self.inputs and k != "out")
        kept_inputs = tuple(k for k in self.keeps if k in self.inputs)
        self._kept_inputs = tuple(self.inputs.index(k) for k in kept_inputs)
        self._keeps_out = "out" in self.keeps
        #: kept things, as in ``node.saved``
        self.keys = kept_inputs + (("out",) if self._keeps_out else ()) + self._extras
        check_names(self, keeps)
        #: for a selective op: per kept thing, the operands whose gradients read it
        self.readers = tuple(
            tuple(i for i, name in enumerate(self.inputs) if key in readers.get(name, "").split())
            for key in self.keys
        )
        self._plans: dict[tuple[bool, ...], Plan] = {}
        self.__name__ = self.__qualname__ = name
        self.__doc__ = self.doc
        self.__module__ = forward.__module__
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])

    # -- definition ---------------------------------------------------------------------------

    def vjp(self, joint: Callable[..., Any] | None = None, /, **rules: Callable[..., Any]) -> Any:
        """Give the gradient rules: ``vjp(x=rule, y=rule)``, or one joint rule as a decorator.

        A rule is called as ``rule(xp, g, k)`` and returns the gradient of its operand. A joint
        rule returns a tuple with a gradient or None per operand; ``k.needs`` says which are needed.
        """
        self._plans.clear()
        if joint is not None:
            self.joint = joint
            self.vjps = (None,) * len(self.inputs)
            self.differentiable = True
            return joint
        if self.variadic:
            raise TypeError(f"op {self.name}: expected one joint rule: its operands are a list")
        for unknown in set(rules) - set(self.inputs):
            raise TypeError(f"op {self.name}: no operand called {unknown}")
        self.joint = None
        self.vjps = tuple(rules.get(name) for name in self.inputs)
        self.differentiable = bool(rules)
        return None

    def reference_is(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: give the composition from primitives that this fused op equals."""
        self.reference = fn
        return fn

    @property
    def fused(self) -> bool:
        """Whether the op has a reference."""
        return self.reference is not None

    def samples(self, seed: int = 0) -> list[Sample]:
        """Sample arguments, the same on every call with the same seed."""
        return self._samples(Draw(seed)) if self._samples is not None else []

    @cached_property
    def kept(self) -> type[Kept]:
        """The class of what a gradient rule sees of the forward pass."""
        return class_of(self)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle, which can't find a class that was made here."""
        return {key: value for key, value in self.__dict__.items() if key != "kept"}

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A registered op is the same one wherever it is copied to: ``self.act = tt.gelu``."""
        if OPS.get(self.name) is self:
            return registered, (self.name,)
        return super().__reduce_ex__(protocol)

    # -- application --------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == self.arity and self.simple and not kwargs:
            settings = self.defaults
        else:
            args, settings = bind(self, args, kwargs)
            if self.arrays:
                args = numbers_as_tensors(self, args)
        # where arrays are small this is what a program spends its time on
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
        state = local.state
        recording = True in tracked and (not state.recording or is_recording(state))
        if recording and not self.differentiable:
            recording, state.cut = False, self.name
        try:
            if self.asks:
                result = self.forward(device.xp, *arrays, **settings, recording=recording)
            elif not usual and self.arity == 1 and arrays[0].dtype.itemsize == 1:
                with np.errstate(all="ignore"):  # in float16, and then again in float32, see below
                    result = self.forward(device.xp, *arrays, **settings)
            else:
                result = self.forward(device.xp, *arrays, **settings)
        except (ValueError, IndexError, TypeError, OverflowError, AttributeError) as error:
            raise explain(self, error, args, settings) from error
        extras: list[Any] = []
        if self._extras:
            if type(result) is not tuple or len(result) != 1 + len(self._extras):
                raise TypeError(
                    f"op {self.name!r}: forward: expected a tuple of the result and "
                    f"{', '.join(self._extras)}, which keeps= names and which are no operands"
                )
            result, *extras = result
        if self.outputs != 1:
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
            if self.view:
                for out in outs:
                    share_version(out, args[0])
            return outs
        if type(result) is not kind and type(result) not in BY_TYPE:
            result = device.xp.asarray(result)
        if narrow is not None:
            result = result.astype(narrow)
        elif result.dtype is not F32 and not self.casts:
            if result.dtype == F64:
                result = narrow_to_operands(result, arrays)
            elif result.dtype == F16 and not any_half(arrays):
                # of 8-bit integers and booleans NumPy makes float16, which overflows at exp(12)
                wide = [x.astype(F32) if isinstance(x, Tensor) else x for x in args]
                return self._of(wide, settings)
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
        return out

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
        node.parents = tuple(parents)
        node.in_meta = tuple(meta)
        plan = self._plan(tuple(tracked))
        node.needs = plan.needs
        node.consts = None
        for i in plan.constants:
            arg = args[i]
            if arg is not None and (not isinstance(arg, Tensor) or arg._data.size <= SMALL):
                node.consts = node.consts or {}
                node.consts[i] = Seen(arg) if isinstance(arg, Tensor) else arg
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

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<op {self.name}{self.__signature__}>"


def registered(name: str) -> Op:
    """The op of this name."""
    return OPS[name]


def share_version(view: Tensor, source: Tensor) -> None:
    """Let a view count the writes to the memory that it shares with ``source``.

    A reshape of a transposed array is a copy, with a counter of its own.
    """
    a, b = view._data, source._data
    if a is b or a.base is b or device_of(a).xp.may_share_memory(a, b):
        share(view, source)


def op(
    operands: str, *, name: str | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Op]:
    """Decorator that registers ``forward(xp, *operands, **settings)`` as an op.

    Args:
        operands: names of the tensor operands, the first parameters after ``xp``; ``"*xs"`` for
            an op on a list of tensors. All further parameters are settings.
        name: defaults to the function's name.
        options: ``keeps`` (names of operands, "out", and extra arrays that forward returns after
            its output, in that order), ``outputs`` (how many; None where it depends on the call),
            ``formula`` and ``gradient`` (for readers), ``samples`` (``Draw -> [Sample]``), ``view``
            (the output shares the first operand's memory), ``casts`` (the output's dtype is what a
            setting says), ``wide`` (float16 is a storage type here: computed in float32),
            ``arrays`` (names of operands, such as ids, that must have a dtype: a number there is
            made a 0-d tensor).
    """

    def define(forward: Callable[..., Any]) -> Op:
        made = Op(name or forward.__name__.strip("_"), forward, operands, **options)
        if made.name in OPS:
            raise ValueError(f"op {made.name!r} is already registered")
        OPS[made.name] = made
        return made

    return define


def _pick_forward(xp: Any, x: Any, index: int) -> Any:
    """One output of an op that has several."""
    raise RuntimeError("the output of a multi-output op is not applied by itself")


#: marks the nodes that stand for one output of a multi-output op; not in the registry
OUTPUT = Op("output", _pick_forward, "x")


def pick(node: Node, index: int, tensor: Tensor) -> Node:
    """The node for ``tensor``, output ``index`` of a multi-output node."""
    array = tensor._data
    out = Node()
    out.op = OUTPUT
    out.params = {"index": index}
    out.seq = next_seq()
    out.scope = node.scope
    out.parents = (node,)
    out.consts = None
    out.in_meta = ((array.shape, array.dtype),)
    out.needs = (True,)
    out.saved = out.versions = ()
    out.shape = array.shape
    out.dtype = array.dtype
    if array.size <= SMALL:
        out.value, out.apart = array, False
        if array.base is not None:
            out.value, out.apart = array.copy(), True
        out.version = tensor.version
    return out
