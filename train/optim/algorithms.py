"""Optimisers: SGD with momentum, Adam, AdamW and Adagrad.

Names and arithmetic are those of ``torch.optim``; what they share is in ``optimizer.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..given.values import decay, not_negative, number, positive, shown
from .optimizer import Optimizer
from .overflow import Overflow

#: the root of the smallest normal number
_LEAST_ROOT = {
    np.dtype(kind): math.sqrt(float(np.finfo(kind).tiny))
    for kind in (np.float32, np.float64, np.longdouble)
}
_SMALL = max(_LEAST_ROOT.values())


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
        momentum, nesterov = group["momentum"], group["nesterov"]
        group["momentum"] = number("momentum", momentum, "a number in [0, 1)", decay)
        if not isinstance(nesterov, bool):
            raise ValueError(f"nesterov: expected True or False, got {shown(nesterov)}")
        if nesterov and not group["momentum"]:
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
        eps: added to the root. Squares of gradients vanish below the smallest normal number, so
            eps counts at least as its root (1e-19 in float32), and a gradient of 0 never is 0/0.
            Squares that are too large (of 2e19 in float32) are no trouble: for such a parameter
            the root of v is kept, as "exp_avg_root" in the place of "exp_avg_sq". On a GPU, which
            does not report them, they end in steps of 0, as in PyTorch: clip there.
        weight_decay: added to the gradient as ``weight_decay * p``, so it passes through the
            means; :class:`AdamW` takes it out of them.
    """

    slots = ("exp_avg", "exp_avg_sq")
    roots = {"exp_avg_sq": "exp_avg_root"}
    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    def check(self, group: dict[str, Any]) -> None:
        """See :class:`Optimizer`."""
        super().check(group)
        betas, expected = group["betas"], "two numbers in [0, 1)"
        if not isinstance(betas, Iterable) or len(pair := tuple(betas)) != 2:
            raise ValueError(f"betas: expected {expected}, got {shown(betas)}")
        group["betas"] = tuple(number("betas", beta, expected, decay) for beta in pair)
        group["eps"] = number("eps", group["eps"], "a number > 0", positive)

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
        if numbers["decay"] and not self.decoupled:
            g = g + numbers["decay"] * p
        watch = self.watch
        watch.armed = True
        xp.multiply(g, g, out=scratch)
        watch.armed = False
        if watch.seen:  # and nothing has changed yet
            raise Overflow
        scratch *= 1.0 - numbers["beta2"]
        v *= numbers["beta2"]
        v += scratch
        xp.subtract(g, m, out=scratch)  # m += (1 - beta1) (g - m)
        scratch *= 1.0 - numbers["beta1"]
        m += scratch
        xp.sqrt(v, out=scratch)
        if numbers["decay"] and self.decoupled:
            p *= 1.0 - numbers["lr"] * numbers["decay"]
        eps = numbers["eps"]
        scratch += eps if eps > _SMALL else max(eps, _LEAST_ROOT[scratch.dtype])
        xp.divide(m, scratch, out=scratch)
        scratch *= numbers["rate"]
        p -= scratch

    def update_wide(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """See :class:`Optimizer`. Nothing overflows here that is not itself too large."""
        m, root = state
        if numbers["decay"] and not self.decoupled:
            g = g + numbers["decay"] * p
        root *= math.sqrt(numbers["beta2"])
        xp.multiply(g, math.sqrt(1.0 - numbers["beta2"]), out=scratch)
        xp.hypot(root, scratch, out=root)
        xp.multiply(g, 1.0 - numbers["beta1"], out=scratch)
        m *= numbers["beta1"]
        m += scratch
        if numbers["decay"] and self.decoupled:
            p *= 1.0 - numbers["lr"] * numbers["decay"]
        xp.add(root, max(numbers["eps"], _LEAST_ROOT[root.dtype]), out=scratch)
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


class Adagrad(Optimizer):
    """Steps that shrink where gradients have been (Duchi, Hazan and Singer, 2011).

    ::

        s += g^2          p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps)

    Rare numbers, such as the rows of a table that few ids name, keep a large step. A row whose
    gradient is 0 stays where it is, so that without decay a :class:`tinytensor.RowGrad` takes the
    same steps as the gradient of the whole table.

    Args:
        params: see :class:`Optimizer`.
        lr: learning rate.
        lr_decay: by how much it shrinks besides, in t steps.
        weight_decay: of the L2 kind, added to the gradient.
        eps: added to the root; see :class:`Adam`, also for squares that are too large: the root of
            s is then kept, as "sum_root" in the place of "sum".
    """

    slots = ("sum",)
    roots = {"sum": "sum_root"}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        eps: float = 1e-10,
    ):
        settings = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        super().__init__(params, settings)

    def check(self, group: dict[str, Any]) -> None:
        """See :class:`Optimizer`."""
        super().check(group)
        expected = "a finite number >= 0"
        group["lr_decay"] = number("lr_decay", group["lr_decay"], expected, not_negative)
        group["eps"] = number("eps", group["eps"], "a number > 0", positive)

    def numbers(self, group: dict[str, Any], step: int) -> dict[str, Any]:
        """See :class:`Optimizer`."""
        rate = group["lr"] / (1.0 + (step - 1) * group["lr_decay"])
        return {"rate": rate, "decay": group["weight_decay"], "eps": group["eps"]}

    def update(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """See :class:`Optimizer`."""
        (total,) = state
        if numbers["decay"]:
            g = g + numbers["decay"] * p
        watch = self.watch
        watch.armed = True
        xp.multiply(g, g, out=scratch)
        scratch += total
        watch.armed = False
        if watch.seen:  # and nothing has changed yet
            raise Overflow
        total[...] = scratch
        xp.sqrt(scratch, out=scratch)
        self._go(xp, p, g, scratch, numbers)

    def update_wide(
        self, xp: Any, p: Any, g: Any, scratch: Any, state: Sequence[Any], numbers: dict[str, Any]
    ) -> None:
        """See :class:`Optimizer`."""
        (root,) = state
        if numbers["decay"]:
            g = g + numbers["decay"] * p
        xp.hypot(root, g, out=root)
        scratch[...] = root
        self._go(xp, p, g, scratch, numbers)

    @staticmethod
    def _go(xp: Any, p: Any, g: Any, root: Any, numbers: dict[str, Any]) -> None:
        """The step itself; ``root`` is written to."""
        root += max(numbers["eps"], _LEAST_ROOT[root.dtype])
        xp.divide(g, root, out=root)
        root *= numbers["rate"]
        p -= root
