"""The package as users get it: wheel, sdist, editable install and plain checkout, each in an
environment that holds nothing else of tinytensor, used from another folder.
"""

from __future__ import annotations

import os
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from .installing import FOLDERS, ROOT, build, copy_of_checkout, environment, install, run

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_checkout(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", source, tmp_path_factory.mktemp("sdist"))


def expected_files() -> set[str]:
    """Where each file of the four folders belongs in an installation."""
    files = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            page = path.parent.name == "built"
            if path.suffix in (".py", ".pyi") or path.name == "py.typed" or page:
                inner = path.relative_to(ROOT).as_posix()
                files.add(inner if folder == "tinytensor" else f"tinytensor/{inner}")
    return files


def test_the_wheel_holds_every_file_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {n for n in names if ".dist-info/" not in n} == expected_files()
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_the_metadata_says_what_pyproject_says(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    name = next(n for n in archive.namelist() if n.endswith("/METADATA"))
    meta = message_from_string(archive.read(name).decode())
    assert meta["Name"] == "tinytensor"
    assert meta["License-Expression"] == "MIT"
    assert meta["Requires-Python"] == ">=3.11"
    needs = {r for r in meta.get_all("Requires-Dist", []) if "extra ==" not in r}
    assert needs == set(PROJECT["dependencies"])
    assert set(meta.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    assert "tinytensor" in meta.get_payload(), "the README is the long description"


def test_the_sdist_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", unpacked, tmp_path / "again")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())
    assert (unpacked / "tests" / "test_packaging.py").is_file()
    assert (unpacked / "Makefile").is_file()
    assert (unpacked / "tinytensor" / "pages" / "src" / "build.mjs").is_file()


@pytest.fixture(params=["wheel", "sdist", "editable", "checkout"])
def python(request: pytest.FixtureRequest, source: Path, tmp_path: Path) -> Path:
    """The interpreter of a fresh environment with tinytensor in it, come by in each way."""
    paths = [source] if request.param == "checkout" else []
    interpreter = environment(tmp_path / "env", *paths)
    if request.param == "editable":
        install(interpreter, "--editable", source)
    elif request.param != "checkout":
        install(interpreter, "--force-reinstall", request.getfixturevalue(request.param))
    return interpreter


def test_it_imports_and_trains_from_another_folder(python: Path, tmp_path: Path) -> None:
    """One environment for both checks: making it is most of the time this takes."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "train.py").write_text("raise SystemExit('a user's own train.py was imported')")
    code = """
import sys
import tinytensor as tt
import tinytensor.nn, tinytensor.models, tinytensor.train, tinytensor.draw
assert not {"nn", "models", "train"} & set(sys.modules), "a second copy of a folder"
x = tt.tensor([3.0], requires_grad=True)
(x * x).sum().backward()
print(tt.__file__, float(x.grad.item()))
"""
    where, slope = run(python, "-c", code, cwd=elsewhere).split()
    assert slope == "6.0"
    assert tmp_path in Path(where).parents or ROOT not in Path(where).parents

    (elsewhere / "data.txt").write_text("the quick brown fox jumps over the lazy dog. " * 40)
    out = elsewhere / "run"
    run(
        python,
        "-m",
        "tinytensor",
        "train",
        "--data",
        "data.txt",
        "--steps",
        3,
        "--out",
        out,
        "--n-layer",
        1,
        "--n-head",
        1,
        "--n-embd",
        8,
        "--block-size",
        8,
        "--sample-length",
        10,
        cwd=elsewhere,
    )
    assert list(out.rglob("*.safetensors"))
    script = python.parent / ("tinytensor.exe" if os.name == "nt" else "tinytensor")
    if script.exists():  # a plain checkout has no script
        assert "train" in run(script, "--help", cwd=elsewhere)
