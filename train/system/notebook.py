"""Whether the program runs in a notebook (Jupyter, VS Code, Colab, JupyterLite), and a place in its
output that can be written anew."""

from __future__ import annotations

import sys
from typing import Any


def in_notebook() -> bool:
    """Whether what is shown arrives in the output of a cell. IPython at a terminal is none."""
    python = sys.modules.get("IPython")
    shell = getattr(python, "get_ipython", lambda: None)()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


class Place:
    """Output of the cell that runs, which each :meth:`show` replaces."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, markup: str, text: str) -> None:
        """Show markup, or text where only that can be shown."""
        from IPython.display import display

        shown = _Shown(markup, text)
        if self._handle is None:
            self._handle = display(shown, display_id=True)
        else:
            self._handle.update(shown)


class _Shown:
    def __init__(self, markup: str, text: str):
        self._markup, self._text = markup, text

    def _repr_html_(self) -> str:
        return self._markup

    def __repr__(self) -> str:
        return self._text
