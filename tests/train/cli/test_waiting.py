"""A word about what takes long, before there is a report and after it."""

from __future__ import annotations

import io
import threading
import time

import pytest

from tinytensor.train.cli.waiting import Waiting


def test_what_takes_long_is_said_and_what_does_not_is_not() -> None:
    before = threading.active_count()
    out = io.StringIO()
    with Waiting("reading the text", out):
        pass
    assert out.getvalue() == ""
    with Waiting("reading the text", out, patience=0.0):
        for _ in range(500):
            if out.getvalue().endswith("\n"):
                break
            time.sleep(0.01)
    assert out.getvalue() == "reading the text ...\n"
    assert threading.active_count() == before, "no thread is left, as processes are forked next"


def test_an_error_goes_on_and_a_closed_output_is_no_error() -> None:
    out = io.StringIO()
    out.close()
    before = threading.active_count()
    with pytest.raises(KeyError), Waiting("reading", out, patience=0.0):
        time.sleep(0.02)
        raise KeyError
    assert threading.active_count() == before
