"""Our functions over PyTorch's own sample inputs (OpInfo).

PyTorch tests each of its operators over samples that it ships with itself, in
``torch.testing._internal.common_methods_invocations.op_db``: hundreds of `OpInfo`s, each with
``sample_inputs(device, dtype, requires_grad)``.  Here every function of ours that has a counterpart
runs over all of the counterpart's samples, in float64 and in float32: values, shapes and dtypes,
and the gradients under one random cotangent, must be PyTorch's.

How to add an entry
-------------------
Each family has a module in this folder, found by itself, with a table ``ENTRIES`` (and, where
needed, ``CHOICES`` and ``WITHOUT``)::

    from . import Choice, Entry, NotApplicable, through

    ENTRIES = [
        Entry("tanh"),                                     # the same name and arguments
        Entry("max", "amax"),                              # tt.max is PyTorch's amax
        Entry("var", "var", "unbiased", call=_var),        # only this variant, by an adapter
        Entry("prelu", "nn.functional.prelu"),
        Entry("selu", "nn.functional.selu", lacks={"inplace": "in-place (inplace=True)"}),
        Entry("logsumexp", tolerance={"float32": (1e-3, 1e-4)}),
    ]

``Entry(ours, theirs, variant, ...)``: `ours` is a path from ``tinytensor`` ("nn.functional.x" works
too), `theirs` an OpInfo's name (by default the same as ours), `variant` its variant_test_name; left
out, all variants of that name are run.  One function of ours may have many entries: the more of
PyTorch's operators it can stand in for, the more samples it sees.

Without `call`, the sample's input, args and kwargs are handed to our function as they are, lists as
tuples, with the usual renames (dim to axis, keepdim to keepdims, correction and unbiased to ddof)
and with ``dtype=`` applied to the input first, as PyTorch's reductions and softmax do it.  Other
options of an entry:

- ``rename={"diagonal": "k"}``: further renames of keywords.
- ``lacks={"weight": "class weights (weight=)"}``: keywords which we do not have.  A sample in which
  one of them is set (neither None nor False) is not applicable, for that reason.
- ``call=lambda T, s: tt.where(T(s.args[0]), T(s.input), T(s.args[1]))``: an adapter.  `s` is the
  sample with ``s.input``, ``s.args``, ``s.kwargs``; ``T(value)`` turns torch tensors into ours (the
  same one each time, which is how gradients are found) and torch dtypes into names, inside any
  nest of lists and tuples; ``through(fn, T, s, **more)`` does what happens without an adapter.
  An adapter may say it with other functions of ours, as a user would, but it must not compute.
- ``take=lambda out: out[0]``: the part of PyTorch's result to compare with.  (Where an adapter
  returns None in place of an output, that output is not compared.)
- ``tolerance={"float32": (rtol, atol)}``; atol is times the largest number in PyTorch's array.

Where a sample asks for something that we do not have, the adapter raises
``NotApplicable("complex numbers")``: counted, and listed by reason.  Keep the reasons few and
short, about the feature, so that they add up over ops.  A sample where we differ *by choice* goes
into::

    CHOICES = [Choice("squeeze", lambda s: s.input.ndim == 0, "a 0-d tensor has no axis")]

`Choice(ours, when, reason, gradient_only=False)`; the sample is run all the same, counts as a
choice only if it does differ, and a choice that no sample needs fails the tests.  Everything else
that differs is a fault.  A function with an OpInfo of its own name must have an entry, or be in
``WITHOUT = {"dropout": "draws its own random numbers"}``.

Running
-------
- ``pytest tests/parity/test_opinfo.py -k "softplus or elu"``; the tests are called
  ``ours=theirs(variant)-dtype``.
- ``python -m tests.parity.opinfo [ours ...]``: the complete table, with each failing sample.
  With ``--reference`` over PyTorch's larger set of samples (NaN, infinities, ties, strides): look
  through it once for each new family, it finds faults at the special points.

The package expecttest is needed beside torch: PyTorch's testing modules import it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys

if not all(map(importlib.util.find_spec, ("torch", "expecttest"))):  # python -m begins here
    sys.exit("tests.parity.opinfo needs PyTorch: python -m pip install torch expecttest")

from ._check import Result, check, infos
from ._entry import Choice, Entry, NotApplicable, through

__all__ = ["CHOICES", "ENTRIES", "WITHOUT", "Choice", "Entry", "NotApplicable"]
__all__ += ["Result", "check", "infos", "through"]

ENTRIES: list[Entry] = []
CHOICES: list[Choice] = []
WITHOUT: dict[str, str] = {}

for _found in pkgutil.iter_modules(__path__):
    if not _found.name.startswith("_"):
        _module = importlib.import_module(f"{__name__}.{_found.name}")
        for _entry in _module.ENTRIES:
            _entry.family = _found.name
        ENTRIES += _module.ENTRIES
        CHOICES += getattr(_module, "CHOICES", [])
        WITHOUT |= getattr(_module, "WITHOUT", {})
