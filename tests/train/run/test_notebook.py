"""Progress in a notebook: a cell that is written anew, and loops of one's own anywhere."""

from __future__ import annotations

import importlib.util
import sys
import types
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest

import tinytensor as tt
from tinytensor import train
from tinytensor.train.cli.progress import Bar, Lines, make_report
from tinytensor.train.run import cell
from tinytensor.train.run import progress as progress_file
from tinytensor.train.system.notebook import in_notebook


class Handle:
    """What ``display`` gives: keeps all that was shown in one place."""

    def __init__(self, shown: Any):
        self.all = [shown]

    def update(self, shown: Any) -> None:
        self.all.append(shown)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Handle]]:
    """IPython as a kernel has it, and what it was asked to display."""
    handles: list[Handle] = []

    def display(shown: Any, display_id: bool = False) -> Handle:
        assert display_id
        handles.append(Handle(shown))
        return handles[-1]

    python: Any = types.ModuleType("IPython")
    shell = type("ZMQInteractiveShell", (), {})()
    python.get_ipython = lambda: shell
    python.display = types.ModuleType("IPython.display")
    python.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", python.display)
    monkeypatch.setattr(cell, "REFRESH", 0.0)
    monkeypatch.setattr(progress_file, "REFRESH", 0.0)
    yield handles


def trainer(**settings: Any) -> train.Trainer:
    config = train.TrainConfig(steps=4, n_layer=1, workers=1, batch_size=2)
    return train.Trainer(config, text="abcd " * 400, **settings)


def test_where_a_notebook_is(cells: list[Handle], monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_notebook()
    shell = type("TerminalInteractiveShell", (), {})()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    assert not in_notebook()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not in_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not in_notebook()


def test_a_trainer_writes_one_place_anew(cells: list[Handle]) -> None:
    run = trainer()
    assert run.run()
    (handle,) = cells
    assert len(handle.all) >= 6
    assert repr(handle.all[0]).startswith("gpt on text: step 0 of 4")
    last = handle.all[-1]
    assert repr(last) == (
        f"gpt on text: step 4 of 4, loss {run.recent_loss:.4f}, "
        f"validation {run.history.val[-1][1]:.4f}, done"
    )
    tree = ET.fromstring(last._repr_html_())
    (bar,) = tree.iter("progress")
    assert (bar.get("value"), bar.get("max")) == ("4", "4")
    assert list(tree.iter("polyline"))


def test_a_stopped_run_says_so(cells: list[Handle]) -> None:
    run = trainer()
    run.train_step()
    run.run(stop=True)  # type: ignore[arg-type]
    assert repr(cells[-1].all[-1]).endswith("stopped")


def test_another_report_and_none(cells: list[Handle]) -> None:
    trainer(report=train.Report()).run()
    assert not cells


def test_outside_of_a_notebook_a_trainer_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    trainer().run()
    assert capsys.readouterr().out == ""


def test_the_command_line_in_a_cell(cells: list[Handle], monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_report(10), cell.Cell)
    monkeypatch.delitem(sys.modules, "IPython")
    assert isinstance(make_report(10), Lines | Bar)


def test_a_loop_of_ones_own(cells: list[Handle]) -> None:
    bar = train.progress(3, what="mine <b>")
    seen = []
    for step in bar:
        bar.show(loss=tt.tensor(2.0 - step, requires_grad=True) * 1, epoch=7, note="x\ny")
        seen.append(step)
    assert seen == [0, 1, 2] and len(bar) == 3
    (handle,) = cells
    first, last = repr(handle.all[0]), repr(handle.all[-1])
    assert first.startswith("mine <b>: step 1 of 3, loss 2, epoch 7, note x\\ny, 0:00 left")
    assert last.startswith("mine <b>: step 3 of 3, loss 0,") and last.endswith("done after 0:00")
    markup = handle.all[-1]._repr_html_()
    ET.fromstring(markup)
    assert "mine &lt;b&gt;" in markup and "<polyline" in markup


def test_a_loop_that_breaks_or_fails_says_stopped(cells: list[Handle]) -> None:
    for step in train.progress(10):
        if step == 2:
            break
    assert "step 2 of 10, stopped after" in repr(cells[-1].all[-1])

    def failing() -> None:
        for _ in train.progress(10):
            raise KeyError

    with pytest.raises(KeyError) as caught:
        failing()
    del caught


def test_anything_can_be_gone_through(cells: list[Handle]) -> None:
    assert list(train.progress(x * x for x in range(3))) == [0, 1, 4]
    assert "step 3, done" in repr(cells[-1].all[-1])
    assert list(train.progress(["a", "b"])) == ["a", "b"]
    assert "step 2 of 2" in repr(cells[-1].all[-1])
    assert list(train.progress(0)) == []


def test_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in train.progress(1000):
        pass
    assert capsys.readouterr().out == "step 1,000 of 1,000, done after 0:00\n"
    monkeypatch.setattr(progress_file, "_LINES", 0.0)
    list(train.progress(2))
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_file, "is_terminal", lambda: True)
    monkeypatch.setattr(progress_file, "_TERMINAL", 0.0)
    bar = train.progress(2)
    for _ in bar:
        bar.show(loss=0.5)
    out = capsys.readouterr().out
    assert "step 2/2" in out and "loss 0.5" in out


@pytest.mark.parametrize("steps, error", [(-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_what_no_loop_can_go_through(steps: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="progress: steps: expected a number"):
        train.progress(steps)


NEEDED = ("nbclient", "nbformat", "ipykernel")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"a real notebook needs {', '.join(MISSING)}")
@pytest.mark.filterwarnings("ignore")
def test_a_real_notebook(tmp_path: Any) -> None:
    import nbclient
    import nbformat

    sources = [
        "import tinytensor as tt\nfrom tinytensor import nn, train",
        "tt.explain('softmax', [1.0, 2.0], g=[1, 0])",
        "tt.tensor([[1.0, 2.0]])",
        "for step in train.progress(3): pass",
        "config = train.TrainConfig(steps=2, n_layer=1, workers=1, batch_size=2)\n"
        "train.Trainer(config, text='abcd ' * 400).run()",
        "nn.Linear(2, 3)",
        "tt.draw((tt.ones(2, requires_grad=True) * 2).sum())",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
    where = {"metadata": {"path": str(tt.__path__[0]).rpartition("tinytensor")[0]}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute()
    explained, tensor, loop, trained, module, drawing = (
        [o for o in cell.outputs if o.output_type != "stream"] for cell in notebook.cells[1:]
    )
    assert "<math" in explained[0].data["text/html"]
    assert explained[0].data["text/plain"].count("softmax(x, axis=-1)") == 1
    assert "<table" in tensor[0].data["text/html"]
    assert len(loop) == 1 and loop[0].data["text/plain"].startswith("step 3 of 3, done")
    assert "step 2 of 2" in trained[0].data["text/plain"] and len(trained) == 2
    assert "9 parameters" in module[0].data["text/html"]
    assert {"image/svg+xml", "text/plain"} & set(drawing[0].data)
