"""The package as users get it: wheel, sdist, editable install and plain checkout, each in an
environment that holds nothing else of tinytensor, used from another folder.

Nothing here needs the network: the build runs with the setuptools that is installed, and the empty
environment borrows the libraries (NumPy and the rest) of the one that runs the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDERS = ["tinytensor", "nn", "models", "train"]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"


def run(*command: object, cwd: Path, **env: str) -> str:
    """Run a command without the tests' own PYTHONPATH; its output, or an assertion with both."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**clean, **env},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a "wheel" or "sdist" with the installed setuptools, as pip and build do."""
    into.mkdir(exist_ok=True)
    run(
        sys.executable,
        "-c",
        f"from setuptools import build_meta; build_meta.build_{kind}({str(into)!r})",
        cwd=source,
    )
    return next(into.iterdir())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, because a build leaves folders behind that spoil the next one."""
    copy = tmp_path_factory.mktemp("source") / "tinytensor"
    copy.mkdir()
    junk = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in [*FOLDERS, "tests"]:
        shutil.copytree(ROOT / folder, copy / folder, ignore=junk)
    for name in ["pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "Makefile"]:
        shutil.copy(ROOT / name, copy / name)
    return copy


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
            if path.suffix == ".py" or path.name == "py.typed":
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


@pytest.fixture(params=["wheel", "sdist", "editable", "checkout"])
def python(request: pytest.FixtureRequest, source: Path, tmp_path: Path) -> Path:
    """The interpreter of a fresh environment with tinytensor in it, come by in each way."""
    home = tmp_path / "env"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=tmp_path)
    interpreter = home / SCRIPTS / Path(sys.executable).name
    site = Path(
        run(
            interpreter,
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
            cwd=tmp_path,
        ).strip()
    )
    # As plain path lines the borrowed folders' own .pth files, and with them an editable
    # installation of the tests' environment, stay out of it.
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    lines = [*borrowed, *([str(source)] if request.param == "checkout" else [])]
    (site / "borrowed.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        interpreter,
        "install",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
    ]
    if request.param == "editable":
        run(*pip, "--editable", source, cwd=tmp_path)
    elif request.param != "checkout":
        run(*pip, "--force-reinstall", request.getfixturevalue(request.param), cwd=tmp_path)
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
