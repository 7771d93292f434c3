"""Where Python runs in a browser (Pyodide, JupyterLite) or a sandbox: no programs, no threads, no
processes, parts of the standard library missing.

Two imitations of it, in processes of their own. One lacks what Pyodide 314 was measured to lack
(under node: subprocess, fcntl, ctypes and mmap can be imported, but no program, thread
or process starts; resource, readline and _multiprocessing are missing; there is one core, no
/proc). The other lacks the modules altogether.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: NumPy and SciPy come as wheels made for the browser, so they are imported before
BROWSER = """
import importlib.abc, os, sys, threading, warnings
import numpy, scipy.special
warnings.simplefilter("error")
GONE = set("{gone}".split())
for name in list(sys.modules):
    if name.split(".")[0] in GONE:
        del sys.modules[name]
class Gone(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Gone())
def refuse(*args, **kwargs):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
for name in ("fork", "sched_getaffinity", "register_at_fork", "posix_spawn"):
    if hasattr(os, name) and name != "register_at_fork":
        delattr(os, name)
os.cpu_count = lambda: 1
os.environ["PATH"] = "/nowhere"
if "subprocess" not in GONE:
    import subprocess
    class Refused(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            raise OSError(138, "emscripten does not support processes.")
    subprocess.Popen = Refused
sys.platform = "emscripten"
"""
MEASURED = "_multiprocessing resource readline pygraphviz"
STRICT = (
    f"{MEASURED} subprocess _posixsubprocess fcntl ctypes _ctypes multiprocessing mmap termios "
    "filelock threadpoolctl matplotlib graphviz"
)


def run(gone: str, code: str, where: Path) -> str:
    """What the code prints in a browser that lacks these modules."""
    program = BROWSER.format(gone=gone) + code
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=where, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "HOME": str(where), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


both = pytest.mark.parametrize("gone", [MEASURED, STRICT], ids=["as measured", "strict"])


@both
def test_the_engine(gone: str, tmp_path: Path) -> None:
    code = """
import tinytensor as tt
from tinytensor import nn, models
x = tt.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
print(x.grad)
assert tt.gradcheck(lambda a: a.tanh(), [numpy.array([0.5])])
model = nn.Sequential(nn.Linear(2, 3), nn.GELU(), nn.LSTM(3, 2))
with tt.profile() as p:
    model(tt.randn(4, 2))[0].sum().backward()
print(tt.memory_report(model[0](x).sum()))
assert p.by_op and "linear" in str(p)
assert "agrees" in str(tt.explain("softmax")) and model._repr_html_()
with tt.printoptions(precision=1), tt.no_grad():
    print(tt.tensor([1.25]))
"""
    out = run(gone, code, tmp_path)
    assert "tensor([2., 4.])" in out and "tensor([1.2])" in out and "kept for backward" in out


@both
def test_drawing_says_what_is_missing(gone: str, tmp_path: Path) -> None:
    code = """
import tinytensor as tt
drawing = tt.draw((tt.ones(2, requires_grad=True) * 2).sum())
print(drawing)
assert drawing._repr_svg_() is None and drawing.source.startswith("digraph")
drawing.save("a.gv")
try:
    drawing.save("b.svg")
except RuntimeError as error:
    print(error)
"""
    out = run(gone, code, tmp_path)
    assert "no Graphviz here: save('graph.gv') works" in out
    assert "this Python runs in a browser" in out and "apt install" not in out
    assert (tmp_path / "a.gv").is_file() and (tmp_path / "b.gv").is_file()


@both
def test_training_in_one_process(gone: str, tmp_path: Path) -> None:
    code = """
from tinytensor import train
config = train.TrainConfig(steps=3, n_layer=1, batch_size=2)
warnings.simplefilter("default")
trainer = train.Trainer(config, text="abcd " * 400, folder="run")
assert trainer.workers == 1 and trainer.run()
again = train.Trainer.resume("run", {"steps": 4}, text="abcd " * 400)
assert again.run() and again.step == 4
print(len(again.sample("ab", 20)), train.load_model("run") is not None)
for step in train.progress(2):
    pass
try:
    train.Trainer(train.TrainConfig(workers=2, batch_size=4), text="abcd " * 400)
except train.ConfigError as error:
    print(error)
"""
    out = run(gone, code, tmp_path)
    assert "20 True" in out or "22 True" in out
    assert "step 2 of 2, done" in out
    assert "workers: expected 1 here, got 2" in out
    if gone == STRICT:
        assert "cannot be locked (the package filelock is missing)" in out


def test_the_command_line_starts(tmp_path: Path) -> None:
    code = """
from tinytensor.train.cli import main
try:
    main(["models"])
except SystemExit as end:
    assert not end.code
"""
    assert "gpt" in run(MEASURED, code, tmp_path)
