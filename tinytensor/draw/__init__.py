"""Pictures of computation graphs: ``tt.draw(loss).save("loss.svg")``, or just ``tt.draw(loss)`` as
the last line of a notebook's cell.

    choosing.py  draw(): what was asked for, at which zoom
    drawing.py   what it returns, and its files
    trace.py     walks back from a tensor: every op, tensor, name and number
    opened.py    runs a fused op's reference on what the op was given, to show what is inside
    words.py     an op's sign and settings, statistics and flags as text
    labels.py    the texts in boxes; colours.py: what has which colour
    fold.py      merges equal neighbours, folds modules to boxes
    zooms/       functions run to be drawn, statistics, one module, every scalar
    dot.py       writes DOT text, its texts by dot_labels.py; formats/ writes Mermaid and D2
    layout.py    where boxes of given sizes stand, for pages
    render.py    turns DOT into SVG, PNG or PDF
    picture.py   the few classes the others hand on
"""

from .choosing import draw
from .drawing import Drawing
from .render import NoRenderer

__all__ = ["Drawing", "NoRenderer", "draw"]
