"""PyTorch with torch.compile: the eager model, its forward and backward compiled to C++."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import torch

from .. import workloads as w
from . import Absent, torch_eager

blas = torch_eager.blas


def gpt(s: w.GPT) -> Callable[[], float]:
    """See :class:`benchmarks.workloads.GPT`."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None and shutil.which("clang++") is None:
        raise Absent(
            f"torch.compile needs a C++ compiler, and neither {compiler} nor clang++ is here"
        )
    return torch_eager.language_model(s, torch.compile)


BUILDERS = {w.GPT: gpt}
