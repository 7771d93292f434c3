"""A stand-in for CuPy that runs on any machine and forgives nothing.

`StrictArray` wraps a NumPy array without being one, and `xp` offers only the names and keyword
arguments that CuPy has (`cupy_surface.json`).  An engine that works on the stand-in never mixes
host and device arrays, never calls `np.` on a tensor's data and never uses a NumPy-only name.

Where the two differ on purpose, the stand-in is the stricter one:

* `np.exp(array)` and `array[[0, 1]]` work on CuPy (the index with a hidden copy); here they raise.
* `array[index] = values` with a repeated index is a race on a GPU; here it raises.
* `empty` is filled with NaN (or the largest integer), so that reading it shows.

Not offered at all: kernels written in CUDA, streams, `random`, `fft` and array methods that no
tensor library needs.  Asking for one is an AttributeError that says so.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .cupy_surface import SURFACE, signature
from .strict_array import StrictArray, refuse_host, unwrap, wrap, wrap_index

_ADD_AT_TYPES = {"int32", "int64", "uint32", "uint64", "float16", "float32", "float64"}
_FROM_HOST = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"}
# Parameters that CuPy reads as an array of the device: a host list or number there is refused.
_ARRAY_PARAMETERS = set("a a1 a2 arr x1 x2 m v array ary b condition indices".split())
_SCALARS = (bool, int, float, complex, np.generic)


def _operator(symbol: str, ufunc: str, in_place: bool = False) -> None:
    def forward(self: StrictArray, other: Any) -> Any:
        return getattr(xp, ufunc)(self, other)

    def reflected(self: StrictArray, other: Any) -> Any:
        return getattr(xp, ufunc)(other, self)

    def update(self: StrictArray, other: Any) -> Any:
        return getattr(xp, ufunc)(self, other, out=self)

    setattr(StrictArray, f"__{symbol}__", forward)
    if in_place:
        setattr(StrictArray, f"__r{symbol}__", reflected)
        setattr(StrictArray, f"__i{symbol}__", update)


class _Ufunc:
    """An elementwise function with CuPy's keywords, and `at` where CuPy has it (`add` only)."""

    def __init__(self, name: str):
        self.name, self.host = name, getattr(np, name)
        self.nin, self.nout = SURFACE["ufuncs"][name]

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        dtype: Any = None,
        casting: str = "same_kind",
        **wrong: Any,
    ) -> Any:
        if wrong:
            raise TypeError(f"Wrong arguments {wrong}")
        if not self.nin <= len(args) <= self.nin + self.nout:
            raise TypeError(f"{self.name}: {len(args)} arguments given, {self.nin} expected")
        for a in args:
            if not isinstance(a, (StrictArray, *_SCALARS)):
                raise TypeError(f"Unsupported type {type(a)}")
        if len(args) > self.nin:
            out = args[self.nin]
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if out is not None and not isinstance(out, (StrictArray, tuple)):
            raise TypeError(f"out: Unsupported type {type(out)}")
        options: dict[str, Any] = {}
        if isinstance(self.host, np.ufunc):
            options = (
                {"casting": casting} if dtype is None else {"casting": casting, "dtype": dtype}
            )
            if out is None and self.name != "matmul":
                options["order"] = "C"  # `x.T + 1` is C-ordered on CuPy
        with np.errstate(all="ignore"):  # a GPU gives inf and nan without a warning
            result = self.host(*(unwrap(a) for a in args[: self.nin]), out=unwrap(out), **options)
        return wrap(result) if out is None else out

    def at(self, a: StrictArray, indices: Any, b: Any = None) -> None:
        if self.name != "add":
            raise NotImplementedError(f"`cupy_{self.name}.at` is not supported yet")
        if a.dtype.name not in _ADD_AT_TYPES:
            raise TypeError(f"cupy.add.at only supports {sorted(_ADD_AT_TYPES)} as data type")
        refuse_host(b)
        np.add.at(a._host, wrap_index(indices, a.shape), unwrap(b))

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"`cupy_{self.name}.reduce` is not supported yet")

    accumulate = reduceat = reduce


def _special(name: str, args: inspect.BoundArguments) -> Any:
    """Functions whose behaviour, not only whose surface, differs from NumPy's."""
    v = args.arguments
    if name in ("take_along_axis", "put_along_axis"):
        arr = v["a" if "a" in v else "arr"]
        axis = v.get("axis", -1)
        index = v["indices"]._host
        size = arr.size if axis is None else arr.shape[axis]
        index = index % max(size, 1)
        if name == "take_along_axis":
            return wrap(np.take_along_axis(arr._host, index, axis))
        return np.put_along_axis(arr._host, index, unwrap(v["values"]), axis)
    if name == "take":
        indices = v["indices"]
        host = unwrap(indices)
        return wrap(np.take(v["a"]._host, host, axis=v.get("axis"), mode="wrap"))
    if name in ("empty", "empty_like"):
        result = getattr(np, name)(
            *unwrap(args.args), **{k: unwrap(x) for k, x in args.kwargs.items()}
        )
        if result.dtype.kind != "b":
            result[...] = np.nan if result.dtype.kind in "fc" else np.iinfo(result.dtype).max
        return wrap(result)
    return NotImplemented


_SPECIAL = {"take", "take_along_axis", "put_along_axis", "empty", "empty_like"}


class _Function:
    """A CuPy function: its own signature, NumPy's result."""

    def __init__(self, name: str, words: str, host: Any):
        self.name, self.signature, self.host = name, signature(words), host

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        if self.name == "asnumpy":
            return args[0].get() if isinstance(args[0], StrictArray) else np.asarray(args[0])
        if self.name in _FROM_HOST:
            host = args[0]._host if isinstance(args[0], StrictArray) else args[0]
            if isinstance(host, (list, tuple)):
                host = unwrap(host)
            return wrap(self.host(host, *args[1:], **kwargs))
        for key, value in bound.arguments.items():
            refused = (list, np.ndarray, *(_SCALARS if key in ("a", "array", "m", "v") else ()))
            if key in _ARRAY_PARAMETERS and isinstance(value, refused):
                raise TypeError(f"{self.name}: argument {key!r} has incorrect type {type(value)}")
            if key in ("arrays", "tup") and not all(isinstance(v, StrictArray) for v in value):
                raise TypeError(f"{self.name}: {key!r} holds something that is no device array")
        if self.name in _SPECIAL:
            return _special(self.name, bound)
        args = tuple(unwrap(a) for a in args)
        with np.errstate(all="ignore"):
            return wrap(self.host(*args, **{k: unwrap(v) for k, v in kwargs.items()}))


class _Namespace:
    """What `import cupy as xp` gives: only CuPy's names, checked on use."""

    __name__ = "strict"
    ndarray = StrictArray

    def __getattr__(self, name: str) -> Any:
        if name in ("random", "fft", "cuda", "lib", "testing"):
            raise AttributeError(f"{name}: the stand-in does not model it")
        host = getattr(np, name, None)
        value: Any
        if name in SURFACE["ufuncs"] and host is not None:
            value = _Ufunc(name)
        elif name in SURFACE["functions"] and (host is not None or name == "asnumpy"):
            value = _Function(name, SURFACE["functions"][name], host)
        elif name == "linalg":
            value = _Linalg()
        elif name in SURFACE["constants_and_types"]:
            value = host
        else:
            raise AttributeError(f"CuPy has no {name!r}, or the stand-in does not model it")
        setattr(self, name, value)
        return value


class _Linalg:
    def __getattr__(self, name: str) -> Any:
        if name not in SURFACE["linalg"]:
            raise AttributeError(f"cupy.linalg has no {name!r}")
        return _Function(name, SURFACE["linalg"][name], getattr(np.linalg, name))


xp = _Namespace()

for _word in (
    "add sub:subtract mul:multiply truediv:true_divide floordiv:floor_divide mod:remainder "
    "pow:power and:bitwise_and or:bitwise_or xor:bitwise_xor lshift:left_shift "
    "rshift:right_shift matmul"
).split():
    _symbol, _, _name = _word.partition(":")
    _operator(_symbol, _name or _symbol, in_place=True)
for _word in "lt:less le:less_equal gt:greater ge:greater_equal eq:equal ne:not_equal".split():
    _symbol, _, _name = _word.partition(":")
    _operator(_symbol, _name)
for _symbol, _name in (
    ("neg", "negative"),
    ("abs", "absolute"),
    ("invert", "invert"),
    ("pos", "positive"),
):
    setattr(StrictArray, f"__{_symbol}__", lambda self, _name=_name: getattr(xp, _name)(self))
for _name in (
    "all any argmax argmin argsort compress conj cumprod cumsum diagonal dot max mean min "
    "nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
).split():
    setattr(
        StrictArray, _name, lambda self, *a, _name=_name, **k: getattr(xp, _name)(self, *a, **k)
    )
StrictArray.clip = lambda self, min=None, max=None, out=None: xp.clip(self, min, max, out)  # type: ignore[attr-defined]


class _Special:
    """The part of `cupyx.scipy.special` that the engine uses: ufuncs of one or two arrays."""

    def __getattr__(self, name: str) -> Any:
        if name not in SURFACE["special"]:
            raise AttributeError(f"{name}: the stand-in does not model it")
        import scipy.special

        host = getattr(scipy.special, name)

        def run(*xs: StrictArray, out: StrictArray | None = None) -> StrictArray:
            assert len(xs) == SURFACE["special"][name][0], f"{name}: {len(xs)} arguments given"
            for x in xs:
                if not isinstance(x, StrictArray):
                    raise TypeError(f"Unsupported type {type(x)}")
            arrays = [x._host for x in xs]
            return wrap(host(*arrays)) if out is None else wrap(host(*arrays, out=unwrap(out)))

        return run


special = _Special()


def to_host(array: StrictArray) -> np.ndarray:
    """A copy in host memory, as `cupy.asnumpy`."""
    return array.get()


def from_host(host: Any) -> StrictArray:
    """A copy on the device, as `cupy.asarray`."""
    if isinstance(host, StrictArray):
        return host.copy()
    return StrictArray(np.array(host))
