"""Who is measured. Each file here is one framework, and has a dict ``BUILDERS``.

``BUILDERS[type of setting](setting)`` returns a function without arguments that does one step and
returns its loss as a float (for generation: the mean of the generated ids). A framework that can't
run here raises :class:`Absent` with the reason.

A file may also define ``blas() -> str``, where threadpoolctl can't see its matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass


class Absent(RuntimeError):
    """This peer can't run here; the message says why, and what would help."""


@dataclass(frozen=True)
class Peer:
    """One framework.

    Attributes:
        name: in the table and on the command line.
        module: its file in this folder.
        package: what it is called on PyPI.
        kinds: names of the settings it has a builder for.
        quick: whether ``--quick`` runs it.
        builders: the name of the dict in its file.
    """

    name: str
    module: str
    package: str
    kinds: tuple[str, ...]
    quick: bool = True
    builders: str = "BUILDERS"


OURS = "tinytensor"
#: ours with a process for each core
WORKERS = "tinytensor workers"
EAGER = "torch"
#: what the matrix products of one step take alone; their sum is the floor of a step
PRODUCTS = ("matmul weights", "matmul time")

_ALL = ("GPT", "Recurrent", "MLP", "Moons", "Generation")
PEERS = {
    peer.name: peer
    for peer in [
        Peer(OURS, "ours", "tinytensor", _ALL),
        Peer(WORKERS, "workers", "tinytensor", ("GPT", "Recurrent")),
        Peer(EAGER, "torch_eager", "torch", _ALL),
        Peer("torch.compile", "torch_compiled", "torch", ("GPT",), quick=False),
        Peer("jax", "jax_jit", "jax", ("GPT", "MLP", "Moons")),
        Peer("autograd", "hips_autograd", "autograd", ("GPT", "MLP", "Moons")),
        Peer("mygrad", "mygrad_moons", "mygrad", ("MLP", "Moons")),
        Peer("tinygrad", "tinygrad_jit", "tinygrad", ("MLP", "Moons")),
        Peer("micrograd", "micrograd_moons", "micrograd", ("Moons",)),
        Peer(PRODUCTS[0], "products", "numpy", ("GPT", "Recurrent"), builders="WEIGHTS"),
        Peer(PRODUCTS[1], "products", "numpy", ("GPT", "Recurrent"), builders="TIME"),
    ]
}
