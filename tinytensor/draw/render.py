"""From DOT text to SVG, PNG or PDF, by whichever Graphviz there is."""

from __future__ import annotations

import sys
from pathlib import Path

FORMATS = ("svg", "png", "pdf")
TEXTS = (".gv", ".dot")

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


#: what helps where a picture has too much in it
CURES = (
    "fold modules with depth=1 or zoom='modules', draw one of them with module='path', save a page "
    "in which they open with .save('graph.html'), draw a shorter input, or be patient with "
    "limit=None; .source and .save('graph.gv') work in any case"
)

#: lines of DOT text that pygraphviz, which can't be stopped, may be given in this process
SMALL_SOURCE = 150


class TooSlow(ValueError):
    """Graphviz took longer than it may; the message says what to draw instead."""

    def __init__(self, source: str, seconds: float) -> None:
        arrows = source.count(" -> ")
        super().__init__(
            f"Graphviz took more than {seconds:g} s to place {arrows:,} arrows, and was stopped: "
            + CURES
        )


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


def render(source: str, kind: str, seconds: float | None = None) -> bytes:
    """A picture of DOT text.

    Args:
        kind: "svg", "png", "pdf", or "json0": where everything stands.
        seconds: how long it may take.

    Raises:
        TooSlow: it took longer.
        NoRenderer: there is neither the `dot` program nor pygraphviz.
        RuntimeError: Graphviz did not accept the text; its message is passed on.
    """
    if kind not in (*FORMATS, "json0"):
        raise ValueError(f"kind: expected one of {', '.join(FORMATS)}, got {kind!r}")
    how = renderer()
    if how is None:
        raise NoRenderer(f"no Graphviz to draw with: {advice()}")
    if kind == "png":  # Graphviz' own 96 dots per inch are blurred on today's screens
        source = source.replace("graph [", "graph [dpi=144, ", 1)
    try:
        with_it = _with_dot if how == "dot" else _with_pygraphviz
        return with_it(source, kind, seconds)
    except TooSlow:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise RuntimeError(f"Graphviz ({how}) could not draw this picture: {error}") from error


def _with_dot(source: str, kind: str, seconds: float | None) -> bytes:
    import shutil

    return _piped([shutil.which("dot") or "dot", f"-T{kind}"], source, seconds)


#: a process of its own, for it cannot be stopped otherwise
_CHILD = """
import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


def _with_pygraphviz(source: str, kind: str, seconds: float | None) -> bytes:
    import pygraphviz

    if seconds is not None and source.count("\n") > SMALL_SOURCE and sys.executable:
        try:
            return _piped([sys.executable, "-c", _CHILD, kind], source, seconds)
        except TooSlow:
            raise
        except (OSError, RuntimeError):  # no processes here, as in a browser
            pass
    return bytes(pygraphviz.AGraph(string=source).draw(format=kind, prog="dot"))


def _piped(command: list[str], source: str, seconds: float | None) -> bytes:
    """What a program writes that is given the text. It is killed when its time is over."""
    import subprocess

    flags = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # of Windows
    try:
        done = subprocess.run(
            command,
            input=source.encode("utf-8"),
            capture_output=True,
            timeout=seconds,
            creationflags=flags,
            check=False,
        )
    except subprocess.TimeoutExpired:
        assert seconds is not None
        raise TooSlow(source, seconds) from None
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout


def save(source: str, path: str | Path, seconds: float | None = None) -> Path:
    """Write a picture, or the DOT text itself for ".gv" and ".dot"; returns the path.

    Raises:
        ValueError: the file name ends in none of .svg, .png, .pdf, .gv, .dot.
        TooSlow: Graphviz took longer than ``seconds``.
        NoRenderer: the picture could not be made; the text lies beside it as .gv.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind in ("gv", "dot"):
        path.write_text(source, encoding="utf-8")
        return path
    if kind not in FORMATS:
        known = ", ".join(f".{k}" for k in (*FORMATS, "gv", "mmd", "d2", "html"))
        raise ValueError(f"path: expected a file name that ends in {known}, got {str(path)!r}")
    try:
        picture = render(source, kind, seconds)
    except NoRenderer:
        text = path.with_suffix(".gv")
        text.write_text(source, encoding="utf-8")
        raise NoRenderer(
            f"no Graphviz to draw {path} with: {advice()}. The graph itself is saved as {text}; "
            f"dot -T{kind} {text} -o {path} draws it on a machine that has Graphviz."
        ) from None
    path.write_bytes(picture)
    return path
