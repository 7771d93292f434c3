"""From DOT text to SVG, PNG or PDF, by whichever Graphviz there is."""

from __future__ import annotations

import sys
from pathlib import Path

FORMATS = ("svg", "png", "pdf")

ADVICE = (
    "install one of them: the `dot` program (Debian, Ubuntu: apt install graphviz; macOS: brew "
    "install graphviz; Windows: winget install graphviz), or pip install 'pygraphviz>=2.0.4', "
    "whose wheels bring Graphviz with them"
)


IN_A_BROWSER = (
    "this Python runs in a browser, which starts no programs, and pygraphviz has no wheel for it; "
    ".source is the picture as text, for a Graphviz elsewhere"
)


def advice() -> str:
    """How to get a Graphviz, where there can be one."""
    return IN_A_BROWSER if sys.platform in ("emscripten", "wasi") else ADVICE


class NoRenderer(RuntimeError):
    """There is no Graphviz to make a picture with; the message says how to get one."""


def renderer() -> str | None:
    """ "dot", "pygraphviz" or None: what :func:`render` will use."""
    import shutil  # brings bz2 and lzma along, and import tinytensor is to be fast

    if shutil.which("dot") and _has("graphviz"):
        return "dot"
    return "pygraphviz" if _has("pygraphviz") else None


def _has(library: str) -> bool:
    """Can it be imported? A broken pygraphviz raises more than ModuleNotFoundError: libraries."""
    try:
        __import__(library)
    except ImportError:
        return False
    return True


def render(source: str, kind: str) -> bytes:
    """A picture of DOT text.

    Args:
        kind: "svg", "png" or "pdf".

    Raises:
        NoRenderer: there is neither the `dot` program nor pygraphviz.
        RuntimeError: Graphviz did not accept the text; its message is passed on.
    """
    if kind not in FORMATS:
        raise ValueError(f"kind: expected one of {', '.join(FORMATS)}, got {kind!r}")
    how = renderer()
    if how is None:
        raise NoRenderer(f"no Graphviz to draw with: {advice()}")
    if kind == "png":  # Graphviz' own 96 dots per inch are blurred on today's screens
        source = source.replace("graph [", "graph [dpi=144, ", 1)
    try:
        return _with_dot(source, kind) if how == "dot" else _with_pygraphviz(source, kind)
    except (OSError, ValueError, RuntimeError) as error:
        raise RuntimeError(f"Graphviz ({how}) could not draw this picture: {error}") from error


def _with_dot(source: str, kind: str) -> bytes:
    import graphviz

    try:
        return bytes(graphviz.Source(source).pipe(format=kind, quiet=True))
    except graphviz.CalledProcessError as error:
        raise RuntimeError(str(error)) from error


def _with_pygraphviz(source: str, kind: str) -> bytes:
    import pygraphviz

    return bytes(pygraphviz.AGraph(string=source).draw(format=kind, prog="dot"))


def save(source: str, path: str | Path) -> Path:
    """Write a picture, or the DOT text itself for ".gv" and ".dot"; returns the path.

    Raises:
        ValueError: the file name ends in none of .svg, .png, .pdf, .gv, .dot.
        NoRenderer: the picture could not be made; the text lies beside it as .gv.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind in ("gv", "dot"):
        path.write_text(source, encoding="utf-8")
        return path
    if kind not in FORMATS:
        known = ", ".join(f".{k}" for k in (*FORMATS, "gv"))
        raise ValueError(f"path: expected a file name that ends in {known}, got {str(path)!r}")
    try:
        picture = render(source, kind)
    except NoRenderer:
        text = path.with_suffix(".gv")
        text.write_text(source, encoding="utf-8")
        raise NoRenderer(
            f"no Graphviz to draw {path} with: {advice()}. The graph itself is saved as {text}; "
            f"dot -T{kind} {text} -o {path} draws it on a machine that has Graphviz."
        ) from None
    path.write_bytes(picture)
    return path
