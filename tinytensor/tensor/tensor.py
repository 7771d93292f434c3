"""The Tensor: an array, its gradient, and the graph node that made it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import late
from ..arrays.convert import as_array
from ..arrays.device import BY_TYPE, Device, device_of
from ..arrays.rows import Rows, dense
from ..graph import hooks as _hooks
from ..graph import inplace
from ..graph.backward import cotangent, run_backward
from ..graph.hooks import RemovableHandle
from ..graph.node import Node
from ..graph.version import Version, share, walks, zeroed
from ..hints.finding import hint, kind_of, of_function
from ..hints.habits import is_called
from ..hints.other_names import OF_TENSOR
from .conversions import Conversions
from .interop import NumpyProtocols
from .methods import Operators
from .writing import Writes

if TYPE_CHECKING:
    from .row_grad import RowGrad, as_grad
else:
    late.needs(
        __name__, RowGrad="tensor.row_grad.RowGrad", as_grad="tensor.row_grad.as_grad"
    )


class Tensor(Operators, Writes, Conversions, NumpyProtocols):
    """An n-dimensional array with an optional history for reverse-mode differentiation.

    Make one with :func:`tinytensor.tensor` or a creation function such as ``tt.zeros``.

    Attributes:
        data: the array (`numpy.ndarray`, or `cupy.ndarray` on a GPU), outside of any graph. It may
            be written to (``t.data[...] = v``), but the engine does not see that: between forward
            and backward it makes the gradient wrong without a word. Write with ``t[...] = v`` under
            ``tt.no_grad()``, call :meth:`bump_version` after, or let ``tt.detect_anomaly()`` look
            for such writes. ``t.data = array`` and ``t.data += array`` are seen: see
            :func:`tinytensor.graph.inplace.assign`.
        grad: gradient accumulated by ``backward``, a Tensor of the same shape and dtype, or None.
        node: the graph node that made it; None for a leaf or outside any graph.
        name: label in pictures of the graph.
    """

    __slots__ = (
        "_data", "_grad", "tracked", "node", "version", "_name", "holder", "hooks", "replaced",
        "__weakref__",
    )  # fmt: skip
    __hash__ = object.__hash__

    _data: Any
    _grad: Tensor | None
    hooks: dict[Any, Callable[..., Any]] | None
    tracked: bool
    node: Node | None
    version: Version
    holder: object | None
    replaced: int  # the running number of graph nodes when x.data = array was last; seldom set

    def __init__(
        self,
        data: Any,
        dtype: Any = None,
        requires_grad: bool = False,
        device: str | Device | None = None,
        name: str | None = None,
    ):
        self._data = as_array(data, dtype, device)
        self._grad = self.hooks = None
        self.node = None
        self.version = Version()
        self._name = name
        if name is not None:
            self.name = name  # checks it
        self.tracked = False
        if requires_grad:
            self.requires_grad_()

    #: the getter is not a Python function, which would take twice as long
    data = property(
        attrgetter("_data"),
        inplace.assign,
        doc="""The array itself (NumPy's, or CuPy's on a GPU), outside of any graph.

        ``t.data = array`` and ``t.data += array`` count as writes, as ``t.copy_(array)`` does: a
        backward that needs the old numbers refuses. ``t.data[...] = v`` changes the array behind
        the engine's back, which only ``tt.detect_anomaly()`` sees. An array has none of PyTorch's
        methods: for ``w.data.zero_()`` write ``w.zero_()``, for ``w.data.add_(d)`` ``w += d``, for
        ``w.data.normal_()`` ``nn.init.normal_(w)``, each under ``tt.no_grad()``.
        """,
    )

    # -- what it is ---------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        shape: tuple[int, ...] = self._data.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self._data.ndim)

    @property
    def size(self) -> int:
        """Number of elements."""
        if is_called(sys._getframe(1)):
            raise TypeError(
                f"size: not a method here but the number of elements, {self._data.size}; use "
                f"x.shape, which is {self.shape}, or x.shape[axis]"
            )
        return int(self._data.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the elements."""
        dtype: np.dtype[Any] = self._data.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self._data.nbytes)

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return BY_TYPE.get(type(self._data)) or device_of(self._data)

    @property
    def is_leaf(self) -> bool:
        """True where no recorded op made it: gradients of such tensors end up in ``grad``."""
        return self.node is None

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to (or through) this tensor; see :meth:`requires_grad_`."""
        return self.tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def grad(self) -> Tensor | None:
        """Gradient accumulated by ``backward``: a Tensor of this shape and dtype, or None."""
        if self._grad is None and self.node is not None:
            warnings.warn(
                f"grad of the result of {self.node.made_by!r}: backward fills only those of "
                "leaves; call retain_grad() before, or use tt.grad(loss, x). (A weight stays a "
                "leaf if it is written to: with tt.no_grad(): w -= lr * w.grad)",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not (
            isinstance(value, Tensor) and value.shape == self.shape and value.dtype == self.dtype
        ):
            tensor = isinstance(value, Tensor)
            got = f"shape {value.shape} {value.dtype}" if tensor else kind_of(value)
            raise TypeError(
                f"grad: expected None or a {self.dtype} Tensor of shape {self.shape}, got {got}"
                f"{'' if tensor else '; write None to clear it'}"
            )
        if value is not None and value.device is not self.device:
            raise TypeError(
                f"grad: expected a Tensor on {self.device.name!r}, got one on "
                f"{value.device.name!r}; move it with .to({self.device.name!r})"
            )
        self._grad = value

    @property
    def name(self) -> str | None:
        """Label in pictures of the graph."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"name: expected a str or None, got {type(value).__name__}")
        self._name = value
        if self.node is not None:
            self.node.name = value

    # -- autograd -----------------------------------------------------------------------------

    def backward(
        self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False
    ) -> None:
        """Add the gradient of this tensor to the ``grad`` of every leaf it was computed from.

        Args:
            gradient: cotangent of this tensor's shape; may be left out for a single element.
            retain_graph: keep saved arrays, so that backward can be called again.
            create_graph: record the backward pass, so that gradients are differentiable. ``x.grad``
                then refers to x, and x to it: set it to None afterwards, or use :func:`grad`.

        Raises:
            RuntimeError: no graph; not a scalar and no ``gradient``; the graph was freed by an
                earlier backward; a saved array was changed in place.
        """
        seed = cotangent(self, gradient, "gradient", create_graph)
        keep = retain_graph or create_graph
        run_backward([self], [seed], None, keep, create_graph)

    def accumulate_grad(self, g: Any, owned: bool, graph: bool, walk: int) -> None:
        """Add ``g`` to ``grad``: a raw array, ``owned`` if nobody else holds it, or a Tensor for a
        ``graph`` of the gradients. ``walk``: the number of the backward that it comes from."""
        before = self._grad
        if before is None:
            self._grad = grad = g.copy() if graph else as_grad(g if owned else g.copy())
            grad.version.walk = walk
            return
        of = walks(before.version, walk)
        if graph or before.node is not None:
            self._grad = grad = before + g if graph else make(dense(g) + before._data)
        elif type(before) is RowGrad:
            self._grad = grad = as_grad(before.sparse + g)
        elif type(g) is Rows:
            grad = before
            g.add_to(grad._data)
            grad.version.bump()
        else:
            grad = before
            grad._data += g
            grad.version.bump()
        version = grad.version
        version.walk = of if of is None else (*of, version.count)

    def detach(self) -> Tensor:
        """The same memory outside the graph."""
        out = make(self._data)
        share(out, self)
        return out

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients, or (for a leaf) stop asking; returns the tensor.

        Raises:
            TypeError: integer or boolean tensors cannot have gradients.
        """
        if requires_grad and self._data.dtype.kind != "f":
            raise TypeError(
                "requires_grad: only floating-point tensors can have gradients, this one is "
                f"{self.dtype}; write its numbers with a point (1.0) or give dtype='float32' where "
                "it is made, or convert it with .astype('float32')"
            )
        if not requires_grad and self.node is not None:
            raise RuntimeError("requires_grad: cannot be unset inside a graph; use .detach()")
        self.tracked = requires_grad
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(gradient)`` in every backward, once the gradient of this tensor is complete.

        Args:
            hook: gets the gradient (a copy, of this tensor's shape and dtype) and may return
                another one of that shape, which then takes its place: here and further back.

        Returns:
            A handle; ``handle.remove()`` takes the hook out again.

        Raises:
            RuntimeError: this tensor does not require gradients.
            TypeError: (in backward) the hook returned something else.
        """
        return _hooks.register_hook(self, hook)

    def retain_grad(self) -> None:
        """Let backward fill ``grad`` of this tensor too, although it is not a leaf.

        Raises:
            RuntimeError: this tensor does not require gradients.
        """
        _hooks.retain_grad(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradient, or with ``set_to_none=False`` set it to zeros."""
        if set_to_none or self._grad is None:
            self._grad = None
        elif type(self._grad) is RowGrad:
            self._grad = self._grad.detach().zero_()
            zeroed(self._grad.version)
        else:
            self._grad = make(self.device.xp.zeros_like(self._grad.data))
            zeroed(self._grad.version)

    if not TYPE_CHECKING:  # which then knows what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            if hasattr(type(self), name):  # a property, whose own error is the one to see
                return object.__getattribute__(self, name)
            known = [] if name.startswith("_") else [n for n in dir(type(self)) if n[0] != "_"]
            advice = "" if name in OF_TENSOR or name.rstrip("_") in known else of_function(name)
            advice = advice or hint(name, OF_TENSOR, known, numpy=True)
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{advice}")


def make(array: Any, node: Any = None, kind: type[Tensor] = Tensor) -> Tensor:
    """A tensor around an existing array (no copy, no checks); ``node`` puts it into a graph."""
    out = kind.__new__(kind)
    out._data = array
    out._grad = out.hooks = None
    out.node = node
    out.tracked = node is not None
    out.version = Version()
    out._name = None
    return out


def tensor(
    data: Any,
    dtype: Any = None,
    requires_grad: bool = False,
    device: str | Device | None = None,
    name: str | None = None,
) -> Tensor:
    """A new leaf tensor holding a copy of ``data``.

    Args:
        data: a number, a nested list of numbers, an array or a tensor. Python numbers and NumPy
            scalars become float32 (or int64, bool); arrays keep their dtype.
        dtype: NumPy dtype or its name, to override that.
        requires_grad: accumulate gradients into ``.grad`` on backward.
        device: ``"cpu"``, ``"cuda"`` or a Device; by default that of ``data``, or the default.
        name: label in pictures of the graph.
    """
    return Tensor(data, dtype, requires_grad, device, name)
