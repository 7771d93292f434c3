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
from collections.abc import Callable
from functools import cached_property
from types import MethodType
from typing import Any

from ..graph.kept import Kept, Plan, check_names, class_of
from ..graph.node import SMALL, Node, next_seq
from ..tensor.tensor import Tensor
from .application import Application
from .samples import Draw, Sample

#: every op by name
OPS: dict[str, Op] = {}


class Op(Application):
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

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<op {self.name}{self.__signature__}>"


def registered(name: str) -> Op:
    """The op of this name."""
    return OPS[name]


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
    out.scope, out.where = node.scope, node.where
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
