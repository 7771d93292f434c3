"""What every test shares: devices, seeds, and how hypothesis searches.

Engine tests take the fixture `device` and so run three times: on NumPy, on the stand-in of
`strict.py` (which refuses what CuPy refuses), and on CUDA where there is a GPU.  Where there is
none, each run ends with the reason (`pytest -rs` prints it).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import tinytensor as tt
from tinytensor.arrays.device import Device, register

from . import strict
from .parity import summary

# Same examples on every run and machine; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

STRICT = register(
    Device(
        "strict",
        strict.xp,
        strict.StrictArray,
        from_host=strict.from_host,
        to_host=strict.to_host,
        special=strict.special,
        checks_bounds=False,
    )
)
NO_CUDA = tt.cuda.why_not()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "cuda: needs CuPy and a GPU; skipped with the reason otherwise"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if NO_CUDA and item.get_closest_marker("cuda"):
        pytest.skip(f"no CUDA: {NO_CUDA}")


@pytest.fixture(params=["cpu", "strict", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Each device in turn, as the default for tensors made in the test."""
    dev = tt.device(request.param)
    with dev:
        yield dev


@pytest.fixture(params=["strict", pytest.param("cuda", marks=pytest.mark.cuda)])
def other_device(request: pytest.FixtureRequest) -> Device:
    """A device whose arrays are not NumPy's (not made the default)."""
    return tt.device(request.param)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend only on the test's name."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _seed() -> Iterator[None]:
    """Each test starts from the same named generators and leaves grad mode and device as found."""
    tt.random.manual_seed(0)
    yield
    assert tt.is_grad_enabled(), "the test left gradient recording off"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What became of PyTorch's samples (parity/opinfo), where they were run."""
    reports = [r for s in ("passed", "failed") for r in terminalreporter.getreports(s)]
    found = summary.rows(reports)
    if found:
        terminalreporter.section("PyTorch's own samples", sep="-")
        for line in summary.lines(found):
            terminalreporter.write_line(line)
