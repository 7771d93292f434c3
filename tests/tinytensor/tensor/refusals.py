"""Tables of calls that must fail, one a line: ``call | error | what the message says``."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

import tinytensor as tt


def lines(table: str) -> list[Any]:
    """The lines as parameters of a test, each named after its call."""
    return [pytest.param(line, id=line.split(" | ")[0]) for line in table.strip().splitlines()]


def refused(line: str, x: tt.Tensor) -> None:
    """The call, whose names are tinytensor's (and ``x``), raises that error with those words."""
    call, error, words = line.split(" | ")
    with pytest.raises(getattr(builtins, error)) as caught:
        eval(call, {"x": x, "tt": tt, **{name: getattr(tt, name) for name in tt.__all__}})
    assert words in str(caught.value)
