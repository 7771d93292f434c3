"""The layout: which folders are packages, what may import what, and what an import may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "tinytensor": "tinytensor",
    "nn": "tinytensor.nn",
    "models": "tinytensor.models",
    "train": "tinytensor.train",
}
# the rooms of the engine; each may import itself and those before it
ROOMS = [
    "late", "context", "hints", "pages", "shown", "arrays", "graph", "tensor", "define",
    "operations", "derivatives", "explain", "draw", "stepper", "profiling",
]  # fmt: skip
# and those of train/, with its two files that are modules of the public face
ROOMS_OF_TRAIN = [
    "given", "system", "data", "optim", "schedule", "checkpoint", "tasks", "config", "parallel",
    "results", "run", "watch", "cli",
]  # fmt: skip
LAYERS = ["tinytensor", "nn", "models", "train"]  # each may import itself and those before it

# `python -m tinytensor` is the command line: the one place where the engine's folder looks up.
UPWARD_BY_DESIGN = {"tinytensor/__main__.py": {"tinytensor.train.cli"}}


def sources(folder: str) -> list[Path]:
    """All Python files of one of the four folders."""
    return sorted(p for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


def module_name(path: Path) -> str:
    """The import name of a file: nn/layers.py is tinytensor.nn.layers."""
    folder, *rest = path.relative_to(ROOT).with_suffix("").parts
    if rest[-1] == "__init__":
        rest = rest[:-1]
    return ".".join([FOLDERS[folder], *rest])


def imports(source: str, module: str, is_package: bool) -> Iterator[tuple[str, int]]:
    """(absolute name, level) of everything a file imports; level is 0 for an absolute import.

    ``from ..nn import Module`` yields both tinytensor.nn and tinytensor.nn.Module, because the
    name may itself be a module.
    """
    for found in ast.walk(ast.parse(source)):
        if isinstance(found, ast.Import):
            for alias in found.names:
                yield alias.name, 0
        elif isinstance(found, ast.ImportFrom):
            base = found.module or ""
            if found.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                package = package[: len(package) - (found.level - 1)]
                base = ".".join([*package, *base.split(".")] if base else package)
            yield base, found.level
            for alias in found.names:
                yield f"{base}.{alias.name}", found.level


def layer(name: str) -> str | None:
    """The folder an import name belongs to, or None for somebody else's package."""
    first, _, rest = name.partition(".")
    if first in ("nn", "models", "train"):
        return first
    if first != "tinytensor":
        return None
    second = rest.partition(".")[0]
    return second if second in ("nn", "models", "train") else "tinytensor"


def upward(folder: str, source: str, module: str, is_package: bool, allowed: set[str]) -> list[str]:
    """The imports of one file that look to a higher layer."""
    height = LAYERS.index(folder)
    return [
        name
        for name, _ in imports(source, module, is_package)
        if (found := layer(name)) is not None
        and LAYERS.index(found) > height
        and not any(
            name == a or name.startswith(a + ".") or a.startswith(name + ".") for a in allowed
        )
    ]


def run_python(code: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a line of Python in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True)


def test_every_folder_with_code_is_a_listed_package() -> None:
    """A sub-package missing from pyproject.toml would be missing from the wheel only."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = set()
    for folder in FOLDERS:
        for path in sources(folder):
            found.add(module_name(path.parent / "__init__.py"))
            assert (path.parent / "__init__.py").is_file(), f"{path.parent} has no __init__.py"
    assert set(listed) == found
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_type_hints_are_published(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_imports_a_higher_layer(folder: str) -> None:
    wrong = {}
    for path in sources(folder):
        relative = path.relative_to(ROOT).as_posix()
        bad = upward(
            folder,
            path.read_text(encoding="utf-8"),
            module_name(path),
            path.name == "__init__.py",
            UPWARD_BY_DESIGN.get(relative, set()),
        )
        if bad:
            wrong[relative] = bad
    assert not wrong


def imports_at_once(source: str, module: str, is_package: bool) -> Iterator[str]:
    """What a file imports when it is imported itself: not inside functions, nor for types only."""

    def visit(body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                yield statement
            elif isinstance(statement, ast.If):
                types = "TYPE_CHECKING" in ast.dump(statement.test)
                yield from visit(statement.orelse if types else statement.body + statement.orelse)
            elif isinstance(statement, (ast.Try, ast.With, ast.ClassDef)):
                yield from visit(statement.body)

    for statement in visit(ast.parse(source).body):
        for name, _ in imports(ast.unparse(statement), module, is_package):
            yield name


def room(name: str) -> tuple[str, int] | None:
    """The house (the engine or train) and the number of the room in it that an import name belongs
    to, or None."""
    names = [*name.split("."), "", ""]
    house, found = ("train", names[2]) if names[1] == "train" else ("engine", names[1])
    rooms = ROOMS_OF_TRAIN if house == "train" else ROOMS
    return (house, rooms.index(found)) if names[0] == "tinytensor" and found in rooms else None


def looking_up(source: str, module: str, is_package: bool) -> list[str]:
    """The imports of a file that go to a higher room of the same house."""
    own = room(module)
    return [
        name
        for name in imports_at_once(source, module, is_package)
        if own is not None
        and (other := room(name)) is not None
        and other[0] == own[0]
        and other[1] > own[1]
    ]


def test_doors_between_the_rooms_of_the_engine_go_one_way() -> None:
    inside = [p for p in (ROOT / "tinytensor").iterdir() if not p.is_symlink()]
    rooms = {p.name for p in inside if (p / "__init__.py").is_file()}
    assert rooms == set(ROOMS) - {"late"}
    wrong = {}
    for path in sources("tinytensor"):
        source = path.read_text(encoding="utf-8")
        bad = looking_up(source, module_name(path), path.name == "__init__.py")
        if bad and path != ROOT / "tinytensor" / "__init__.py":
            wrong[path.relative_to(ROOT).as_posix()] = bad
    assert not wrong


def test_doors_between_the_rooms_of_train_go_one_way() -> None:
    inside = (ROOT / "train").iterdir()
    rooms = {p.stem for p in inside if (p / "__init__.py").is_file() or p.suffix == ".py"}
    assert rooms == {*ROOMS_OF_TRAIN, "__init__"}
    wrong = {}
    for path in sources("train"):
        source = path.read_text(encoding="utf-8")
        if bad := looking_up(source, module_name(path), path.name == "__init__.py"):
            wrong[path.relative_to(ROOT).as_posix()] = bad
    assert not wrong


def test_no_file_is_longer_than_can_be_read_at_once() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in sources(folder)
    }
    assert {path: length for path, length in lengths.items() if length > 400} == {}


@pytest.mark.parametrize(
    ("module", "line", "bad"),
    [
        ("train.optim.clip", "from ..config import TrainConfig", True),
        ("train.config.config", "from ..optim import SGD", False),
        ("train.given.paths", "from ...tensor.tensor import Tensor", False),
        ("graph.node", "from ..tensor.tensor import Tensor", True),
        ("graph.node", "try:\n    from ..draw import draw\nexcept ImportError:\n    pass", True),
        ("arrays.device", "import tinytensor.operations.linear", True),
        ("graph.node", "if TYPE_CHECKING:\n    from ..tensor.tensor import Tensor", False),
        ("tensor.tensor", "from ..graph.node import Node", False),
        ("draw.trace", "from ..arrays.device import device_of", False),
    ],
)
def test_the_check_of_doors_sees_each_kind_of_import(module: str, line: str, bad: bool) -> None:
    assert bool(looking_up(line, f"tinytensor.{module}", False)) == bad


def test_no_file_of_ours_is_imported_in_a_circle() -> None:
    """By imports that run at once; a package and what is in it count as one."""
    edges: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for path in sources(folder):
            edges[module_name(path)] = set()
    for folder in FOLDERS:
        for path in sources(folder):
            module = module_name(path)
            source = path.read_text(encoding="utf-8")
            for name in imports_at_once(source, module, path.name == "__init__.py"):
                if name in edges and not module.startswith(name + ".") and name != module:
                    edges[module].add(name)
    sorter = TopologicalSorter(edges)
    sorter.prepare()  # raises CycleError, which names the circle


def test_the_engine_imports_nothing_of_its_own_inside_functions() -> None:
    """What looks up says so by ``late.needs``."""
    found = set()
    for path in sources("tinytensor"):
        module, source = module_name(path), path.read_text(encoding="utf-8")
        package = path.name == "__init__.py"
        at_once = set(imports_at_once(source, module, package))
        for_types = {
            name
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in node.body
            for name, _ in imports(ast.unparse(inner), module, package)
        }
        for name, _ in imports(source, module, package):
            if layer(name) and name not in at_once | for_types:
                found.add((module, name))
    assert not found


@pytest.mark.parametrize("folder", ["nn", "models", "train"])
def test_the_three_upper_folders_import_relatively(folder: str) -> None:
    """Then a stray ``import nn`` fails at once instead of making a second copy of every class."""
    wrong = {}
    for path in sources(folder):
        bad = [
            name
            for name, level in imports(
                path.read_text(encoding="utf-8"), module_name(path), path.name == "__init__.py"
            )
            if level == 0 and layer(name) is not None
        ]
        if bad:
            wrong[path.relative_to(ROOT).as_posix()] = bad
    assert not wrong


@pytest.mark.parametrize(
    ("folder", "line", "bad"),
    [
        ("tinytensor", "from .nn import Module", True),
        ("tinytensor", "from . import nn", True),
        ("tinytensor", "import tinytensor.train.cli", True),
        ("tinytensor", "import nn", True),
        ("nn", "from ..models import gpt", True),
        ("nn", "def f():\n    from ..train.optim import SGD", True),
        ("models", "from .. import train", True),
        ("nn", "from ..tensor import Tensor", False),
        ("models", "from ..nn import Module", False),
        ("train", "from ..models.gpt import GPT", False),
        ("train", "import numpy", False),
    ],
)
def test_the_import_check_sees_each_kind_of_import(folder: str, line: str, bad: bool) -> None:
    """The check is itself checked: planted imports in files that do not exist."""
    assert bool(upward(folder, line, FOLDERS[folder] + ".planted", False, set())) == bad


def test_importing_the_engine_loads_nothing_but_numpy() -> None:
    """Heavy or optional libraries are imported when first used."""
    heavy = [
        "scipy",
        "matplotlib",
        "graphviz",
        "pygraphviz",
        "cupy",
        "rich",
        "typer",
        "safetensors",
        "torch",
        # Python's own that take long: what only errors and pictures want waits for them
        "bz2",
        "difflib",
    ]
    done = run_python(
        f"import sys, tinytensor; print([name for name in {heavy} if name in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_layers_are_reached_by_one_import_name() -> None:
    """From the checkout, ``tinytensor.nn`` is the folder nn, and there is one copy of it."""
    code = (
        "import sys\n"
        "import tinytensor, tinytensor.nn, tinytensor.models, tinytensor.train\n"
        "print(tinytensor.nn.__file__); print('nn' in sys.modules)"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    where, stray = done.stdout.split()
    assert Path(where) == ROOT / "nn" / "__init__.py"
    assert stray == "False"


@pytest.mark.parametrize("folder", ["nn", "models", "train"])
def test_a_stray_import_of_a_folder_is_an_import_error(folder: str) -> None:
    done = run_python(f"import {folder}")
    assert done.returncode == 1
    assert "ImportError: attempted relative import" in done.stderr, done.stderr
