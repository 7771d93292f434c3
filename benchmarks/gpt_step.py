"""Time of one GPT training step: tinytensor beside eager PyTorch, on this machine, in one run.

    python benchmarks/gpt_step.py                 # setting S: 4 layers, 4 heads, 128 wide
    python benchmarks/gpt_step.py --setting M --rounds 10

A step is forward, backward, clipping by global norm and AdamW, on the same random batches, with no
dropout and no biases. Each framework runs in a process of its own; the two take turns, a few steps
each, so that a machine that slows down slows both. Quoted are medians and the ratio of medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: layers, heads, width, block, batch
SETTINGS = {
    "S": (4, 4, 128, 64, 12),
    "M": (6, 6, 192, 128, 16),
    "L": (6, 6, 384, 256, 8),
}
VOCAB = 65
ROOT = Path(__file__).resolve().parent.parent


def batches(block: int, batch: int) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    """Random ids, the same sequence for both frameworks."""
    rng = np.random.default_rng(0)
    return lambda: (rng.integers(0, VOCAB, (batch, block)), rng.integers(0, VOCAB, (batch, block)))


def tinytensor_step(setting: str) -> Callable[[], float]:
    """A function that trains one step and returns the loss."""
    sys.path.insert(0, str(ROOT))
    import tinytensor as tt
    from tinytensor import models
    from tinytensor.train import AdamW, clip_grad_norm, param_groups

    layers, heads, width, block, batch = SETTINGS[setting]
    tt.manual_seed(1)
    model = models.build(
        "gpt", vocab_size=VOCAB, block_size=block, n_layer=layers, n_head=heads, n_embd=width,
        dropout=0.0, bias=False,
    )  # fmt: skip
    optimizer = AdamW(param_groups(model, 0.1), lr=1e-3, betas=(0.9, 0.99))
    params = list(model.parameters())
    draw = batches(block, batch)

    def step() -> float:
        _, loss = model(*draw())
        loss.backward()
        clip_grad_norm(params, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return float(loss.item())

    return step


def torch_step(setting: str) -> Callable[[], float]:
    """The same model in eager PyTorch, with its fused attention."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    layers, heads, width, block, batch = SETTINGS[setting]
    torch.manual_seed(1)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
            self.c_attn = nn.Linear(width, 3 * width, bias=False)
            self.c_proj = nn.Linear(width, width, bias=False)
            self.c_fc = nn.Linear(width, 4 * width, bias=False)
            self.mlp_proj = nn.Linear(4 * width, width, bias=False)

        def forward(self, x: Any) -> Any:
            q, k, v = (
                part.view(batch, block, heads, -1).transpose(1, 2)
                for part in self.c_attn(self.ln_1(x)).split(width, dim=2)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.c_proj(y.transpose(1, 2).contiguous().view(batch, block, width))
            hidden = F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")
            return x + self.mlp_proj(hidden)

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCAB, width), nn.Embedding(block, width)
            self.h = nn.ModuleList(Block() for _ in range(layers))
            self.ln_f = nn.LayerNorm(width, bias=False)

        def forward(self, ids: Any, targets: Any) -> Any:
            x = self.wte(ids) + self.wpe(torch.arange(block))
            for layer in self.h:
                x = layer(x)
            logits = F.linear(self.ln_f(x), self.wte.weight)
            return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))

    model = GPT()
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    draw = batches(block, batch)

    def step() -> float:
        ids, targets = draw()
        loss = model(torch.from_numpy(ids), torch.from_numpy(targets))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.item())

    return step


STEPS = {"tinytensor": tinytensor_step, "torch": torch_step}


def worker(name: str, setting: str) -> None:
    """Read how many steps to run from standard input, print their times as JSON, repeat."""
    step = STEPS[name](setting)
    for line in sys.stdin:
        times, loss = [], 0.0
        for _ in range(int(line)):
            start = time.perf_counter()
            loss = step()
            times.append(time.perf_counter() - start)
        print(json.dumps({"times": times, "loss": loss, "blas": blas()}), flush=True)


def blas() -> str:
    """Library, kernel and threads of the matrix products, where threadpoolctl can tell."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown (pip install threadpoolctl)"
    infos = [i for i in threadpool_info() if i["user_api"] in ("blas", "openmp")]
    return "; ".join(
        f"{i['internal_api']} {i.get('architecture') or ''} {i['num_threads']} threads".replace(
            "  ", " "
        )
        for i in infos
    )


def measure(setting: str, rounds: int, steps: int) -> None:
    """Run the workers in turn and print the table."""
    # both variables make NumPy's BLAS choose an older, slower kernel
    env = {
        k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    }
    command = [sys.executable, __file__, "--setting", setting, "--worker"]
    workers = {
        n: subprocess.Popen(
            [*command, n], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )
        for n in STEPS
    }
    times: dict[str, list[float]] = {n: [] for n in workers}
    last: dict[str, Any] = {}
    missing = []
    for turn in range(rounds + 1):  # the first turn warms up
        for n, process in list(workers.items()):
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(f"{steps}\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass
            line = process.stdout.readline()
            if not line:
                missing.append(n)
                del workers[n]
                continue
            last[n] = json.loads(line)
            if turn:
                times[n] += last[n]["times"]
    for process in workers.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()

    print(f"setting {setting}: layers, heads, width, block, batch = {SETTINGS[setting]}")
    machine = platform.processor() or platform.machine()
    print(f"{machine}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for n in workers:
        ms = sorted(1e3 * t for t in times[n])
        quartiles = f"quartiles {ms[len(ms) // 4]:.1f} to {ms[3 * len(ms) // 4]:.1f}"
        print(f"{n:12} median {statistics.median(ms):8.1f} ms   {quartiles}   {last[n]['blas']}")
    for n in missing:
        print(f"{n:12} not measured: it could not be started here")
    if len(workers) == 2:
        ratio = statistics.median(times["tinytensor"]) / statistics.median(times["torch"])
        print(f"tinytensor / torch = {ratio:.2f}")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--setting", choices=SETTINGS, default="S", help="size of the model")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each framework")
    parser.add_argument("--steps", type=int, default=10, help="steps in a turn")
    parser.add_argument("--worker", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.setting)
    else:
        measure(options.setting, options.rounds, options.steps)


if __name__ == "__main__":
    main()
