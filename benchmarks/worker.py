"""The process that one framework runs in: reads requests from standard input, one JSON a line.

    python -m benchmarks.worker torch
    {"build": {"kind": "MLP", "inputs": 16, "hidden": 32}}   -> {"version": "2.13.0"}
    {"steps": 20, "seconds": 1.0, "least": 3}                -> {"times": [...], ...}

A reply {"absent": reason} says that the framework can't do this here.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from . import machine, workloads
from .peers import PEERS, Absent, Peer


def version(peer: Peer) -> str:
    """The framework's version; its own word first, which names the build (2.13.0+cpu)."""
    module = sys.modules.get(peer.package)
    own = getattr(module, "__version__", None)
    try:
        return str(own or metadata.version(peer.package))
    except metadata.PackageNotFoundError:
        return "unknown"


def reason(error: BaseException) -> str:
    """Why a peer is absent, in a line."""
    if isinstance(error, ModuleNotFoundError):
        return f"not installed ({error})"
    lines = str(error).strip().splitlines()
    text = lines[0][:200] if lines else ""
    return text if isinstance(error, Absent) else f"failed with {type(error).__name__}: {text}"


def run(
    step: Callable[[], float], steps: int, seconds: float, least: int = 1
) -> tuple[list[float], list[float]]:
    """Times and losses of ``steps`` steps; past ``least``, none begins after ``seconds``."""
    times: list[float] = []
    losses: list[float] = []
    begin = time.perf_counter()
    while len(times) < steps and (len(times) < least or time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - start)
        losses.append(loss)
    return times, losses


def serve(peer: Peer, requests: Any, replies: Any) -> None:
    """Answer requests until there are no more."""
    step: Callable[[], float] | None = None
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any]
        try:
            module = importlib.import_module(f"benchmarks.peers.{peer.module}")
            if "build" in request:
                setting = workloads.from_message(request["build"])
                step = getattr(module, peer.builders)[type(setting)](setting)
                reply = {"version": version(peer)}
            else:
                assert step is not None, "the first request is a build"
                times, losses = run(step, request["steps"], request["seconds"], request["least"])
                blas = getattr(module, "blas", machine.blas)()
                reply = {"times": times, "losses": losses, "blas": blas}
                reply["peak"] = machine.peak_memory()
        except Exception as error:  # whatever a framework raises is this peer's reason, not our end
            reply = {"absent": reason(error)}
        print(json.dumps(reply), file=replies, flush=True)


def main() -> None:
    """Serve the peer named on the command line."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints goes to standard error
    serve(PEERS[sys.argv[1]], sys.stdin, replies)


if __name__ == "__main__":
    main()
