"""Learning-rate schedules: functions from the number of steps done to the next step's rate.

In a loop of your own::

    schedule = StepDecay(1e-3, step_size=1000, gamma=0.5, warmup=100)
    for step in range(3000):
        optimizer.lr = schedule(step)
        ...
        optimizer.step()
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ..hints.finding import attribute_missing
from ..shown import html
from .given.other_names import OF_SCHEDULE
from .given.values import not_negative, number, plain, shown


@dataclass(frozen=True)
class Schedule:
    """Base of the schedules: ``schedule(step)`` is the learning rate of step ``step``, from 0.

    Each rises first in a straight line over ``warmup`` steps to ``max_lr``, which it has at step
    ``warmup``; 0 is for no rise. A subclass says in ``after`` how it goes on. It is a frozen
    dataclass; fields of the names below are checked here, and may be NumPy's numbers.

    Raises:
        ValueError: a number is out of range.
    """

    max_lr: float

    if not TYPE_CHECKING:  # which then knows what is given, and what is missing

        def __new__(cls, *given: Any, **settings: Any) -> Any:
            """Refuse an optimiser, which schedules of other libraries take first."""
            if any(hasattr(value, "param_groups") for value in (*given, *settings.values())):
                raise TypeError(
                    f"max_lr: {cls.__name__} takes max_lr, a number, not an optimizer; in the loop "
                    "write optimizer.lr = schedule(step)"
                )
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            return attribute_missing(self, name, OF_SCHEDULE)

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, self._checked(field.name))

    def _checked(self, name: str) -> Any:
        value = plain(getattr(self, name))
        if name in ("step_size", "warmup", "total"):
            least = 1 if name == "step_size" else 0
            if type(value) is not int or value < least:
                raise ValueError(f"{name}: expected an integer >= {least}, got {shown(value)}")
        elif name == "gamma":
            value = number(name, value, "a number in (0, 1]", lambda x: 0.0 < x <= 1.0)
        elif name == "min_lr":
            expected = f"a number from 0 to max_lr = {self.max_lr}"
            value = number(name, value, expected, lambda x: 0.0 <= x <= self.max_lr)
        elif name == "max_lr":
            value = number(name, value, "a finite number >= 0", not_negative)
        return value

    def __call__(self, step: int) -> float:
        """Learning rate of step ``step``, counted from 0; ValueError for one below or no number."""
        number("step", step, "a finite number >= 0", not_negative)
        warmup = getattr(self, "warmup", 0)
        if step < warmup:
            return float(self.max_lr * (step + 1) / (warmup + 1))
        return float(self.after(step - warmup))

    def _repr_html_(self) -> str:
        """What a notebook shows: the settings, and the rate as a curve."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        steps = given.get("total") or given.get("warmup", 0) + 5 * given.get("step_size", 200)
        shown_ = [self(round(i * (steps - 1) / 319)) for i in range(320)] if steps > 1 else []
        name, settings = type(self).__name__, ", ".join(f"{k}={v}" for k, v in given.items())
        label = f"{name}: the learning rate of steps 0 to {steps:,}"
        ends = f"steps 0 to {steps:,}, from {self(0):.3g} to {self(steps):.3g}"
        return html.framed(name, settings, html.curve(shown_, label), html.line(html.faint(ends)))

    def after(self, step: int) -> float:
        """Learning rate of the ``step``-th step after the rise, counted from 0."""
        raise TypeError(f"{type(self).__name__} defines no after(self, step)")


@dataclass(frozen=True)
class LinearWarmup(Schedule):
    """Up in a straight line, then constant.

    Args:
        max_lr: the rate after the rise.
        warmup: steps of the rise, 0 for none.
    """

    warmup: int = 0

    def after(self, step: int) -> float:
        """See :class:`Schedule`."""
        return self.max_lr


@dataclass(frozen=True)
class CosineWarmup(Schedule):
    """Up in a straight line, then down along half a cosine (Loshchilov and Hutter, 2017).

    It falls to ``min_lr`` at step ``total`` and stays there.

    Args:
        max_lr: the peak.
        min_lr: the end, 0 <= min_lr <= max_lr.
        warmup: steps of the rise, 0 for none.
        total: steps of the whole run; not more than ``warmup`` means no fall.
    """

    min_lr: float
    warmup: int
    total: int

    def after(self, step: int) -> float:
        """See :class:`Schedule`."""
        fall = self.total - self.warmup
        if step >= fall:
            return self.min_lr
        wave = 0.5 * (1.0 + math.cos(math.pi * (step / fall)))
        return self.min_lr + wave * (self.max_lr - self.min_lr)


@dataclass(frozen=True)
class StepDecay(Schedule):
    """Times ``gamma`` every ``step_size`` steps: PyTorch's StepLR, with a rise before it.

    Args:
        max_lr: the rate after the rise.
        step_size: steps between two falls.
        gamma: factor of each, 0 < gamma <= 1.
        min_lr: never below this.
        warmup: steps of the rise, 0 for none.
    """

    step_size: int
    gamma: float = 0.1
    min_lr: float = 0.0
    warmup: int = 0

    def after(self, step: int) -> float:
        """See :class:`Schedule`."""
        return max(self.min_lr, self.max_lr * self.gamma ** (step // self.step_size))


@dataclass(frozen=True)
class ExponentialDecay(Schedule):
    """Times ``gamma`` every step: PyTorch's ExponentialLR, with a rise before it.

    ``gamma = (end / max_lr) ** (1 / steps)`` comes to ``end`` after so many steps.

    Args:
        max_lr: the rate after the rise.
        gamma: factor of each step, 0 < gamma <= 1.
        min_lr: never below this.
        warmup: steps of the rise, 0 for none.
    """

    gamma: float
    min_lr: float = 0.0
    warmup: int = 0

    def after(self, step: int) -> float:
        """See :class:`Schedule`."""
        return max(self.min_lr, self.max_lr * self.gamma**step)


@dataclass(frozen=True)
class InverseSqrt(Schedule):
    """Down with the square root of the step: Vaswani et al., 2017.

    With n = step + 1 and w = warmup + 1 it is ``max_lr min(n / w, sqrt(w / n))``. That is the
    paper's ``d^-0.5 min(n^-0.5, n w^-1.5)``, for a model of width d, with ``max_lr = (d w)^-0.5``.
    How long a run is to be need not be known.

    Args:
        max_lr: the peak.
        warmup: steps of the rise; the more of them, the slower is the fall.
        min_lr: never below this.
    """

    warmup: int = 0
    min_lr: float = 0.0

    def after(self, step: int) -> float:
        """See :class:`Schedule`."""
        peak = self.warmup + 1
        return max(self.min_lr, self.max_lr * math.sqrt(peak / (peak + step)))
