"""Planted faults: does the suite notice every mistake one can make in a gradient rule?

``python -m tests.mutation`` takes each op's VJP rules apart and puts them together again with one
mistake, in memory only (the files are never touched), and runs the op's own checks on it: finite
differences, gradcheck, fused against reference, second order, and the rest of what a new op gets by
being registered; then PyTorch's values and samples, and last the tests written by hand that speak
of the op.  A fault that all of them let pass is printed with its place.

The kinds of fault (`faults.py`):

- sign: a result negated, a minus left out, + for - and - for +;
- factor: a result doubled, a factor or divisor left out, a mean for a sum and a sum for a mean;
- un-broadcast: the engine's sum over broadcast axes left out or wrong, a rule's own sum not a sum;
- transposed: a transposition left out, the operands of a matrix product exchanged, a result whose
  last two axes are exchanged;
- accumulation: += that overwrites, a sum with one addend left out, a scatter that overwrites;
- operands: the operands of a difference or quotient exchanged, one kept operand taken for another,
  a comparison turned round, the two sides of a where exchanged;
- axis: the first or last axis whatever was asked for.

Options: ``--ops add,mul`` (default: all that have gradients), ``--kinds sign,axis``, ``--fast``
(only the op's own checks: no PyTorch, no tests written by hand), ``-v`` (each fault as it goes).
"""
