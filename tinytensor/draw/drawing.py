"""What ``tt.draw`` returns: a picture, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import late
from ..hints.finding import attribute_missing
from ..hints.other_names import OF_DRAWINGS
from ..pages.page import page
from .formats.d2 import to_d2
from .formats.mermaid import to_mermaid
from .picture import Picture
from .render import CURES, TEXTS, TooSlow, render, renderer, save

if TYPE_CHECKING:
    from ..stepper.modules import graph_data
else:
    late.needs(__name__, graph_data="stepper.modules.graph_data")

LIMIT = 1500  # boxes; Graphviz takes minutes beyond, and nobody can read the result
PATIENCE = 5.0  # seconds that Graphviz may take


class Drawing:
    """A drawn graph.

    Attributes:
        source: the DOT text. It needs no Graphviz to exist.
        picture: the steps, values and groups that are shown.
        whole: the same with every module open. direction: where arrows go, such as "TB".
        limit: with more boxes than this, nothing but the text is made.
    """

    def __init__(
        self,
        picture: Picture,
        source: str,
        limit: int | None = LIMIT,
        direction: str = "TB",
        whole: Picture | None = None,
    ) -> None:
        self.picture, self.source, self.limit = picture, source, limit
        self.direction, self.whole = direction, whole or picture

    @property
    def patience(self) -> float | None:
        """Seconds that Graphviz may take."""
        return None if self.limit is None else PATIENCE

    def save(self, path: str | Path) -> Path:
        """Write ``.svg``, ``.png``, ``.pdf``, a page ``.html``, or text as ``.gv``, ``.mmd``
        (Mermaid) or ``.d2``; returns the path.

        Raises:
            ValueError: another ending, more boxes than ``limit``, or Graphviz took too long.
            NoRenderer: neither the ``dot`` program nor pygraphviz is there. The text is left
                beside the missing picture, with the ending ``.gv``.
        """
        ending = Path(path).suffix.lower()
        if ending in (".mmd", ".mermaid", ".d2"):
            text = self.d2() if ending == ".d2" else self.mermaid()
            Path(path).write_text(text, encoding="utf-8")
            return Path(path)
        if ending in (".html", ".htm"):
            Path(path).write_text(self.html(), encoding="ascii")
            return Path(path)
        if ending not in TEXTS:
            self._check_size()
        return save(self.source, path, self.patience)

    def html(self) -> str:
        """A page, one file that asks nobody for anything, in which folded modules open.

        Raises:
            NoRenderer: there is no Graphviz to lay it out with.
        """
        return page("graph", self.title, graph_data(self.whole, self.title))

    @property
    def title(self) -> str:
        """What the picture is called: the module's class, or the name of the result."""
        groups = [group for group in self.whole.groups() if group.parent is None]
        if groups:
            return groups[0].title
        named = [value.name for value in self.whole.outputs if value.name]
        last = self.whole.steps[-1].title if self.whole.steps else "tensor"
        return named[0] if named else last

    def mermaid(self) -> str:
        """The picture as a Mermaid flowchart: text that GitHub draws in Markdown."""
        return to_mermaid(self.picture, self.direction)

    def d2(self) -> str:
        """The picture as D2 text."""
        return to_d2(self.picture, self.direction)

    def svg(self) -> str:
        """The picture as SVG text; errors as :meth:`save`."""
        self._check_size()
        return render(self.source, "svg", self.patience).decode("utf-8")

    def _check_size(self) -> None:
        boxes = self.picture.boxes()
        if self.limit is not None and boxes > self.limit:
            raise ValueError(
                f"this picture would have {boxes:,} boxes, the limit is {self.limit:,}, for Graphviz "
                f"would take more than {PATIENCE:g} s: {CURES}"
            )

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, and with it the plain text, where nothing can be drawn."""
        too_large = self.limit is not None and self.picture.boxes() > self.limit
        if too_large or renderer() is None:
            return None
        try:
            return self.svg()
        except TooSlow:
            return None

    if not TYPE_CHECKING:  # which then knows what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for a name that does not exist: says what it is called here."""
            return attribute_missing(self, name, OF_DRAWINGS)

    def __repr__(self) -> str:
        boxes, arrows = self.picture.boxes(), sum(1 for _ in self.picture.arrows())
        how = "" if renderer() else ", no Graphviz here: save('graph.gv') works"
        return f"<Drawing of {boxes} boxes and {arrows} arrows{how}>"
