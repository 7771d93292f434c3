"""Draws docs/architecture.svg from the code: rooms, what lives in each, and the doors between them.

``python docs/architecture.py`` (``make docs``) writes architecture.gv and the picture made of it.
A door is an import that runs when a file is imported; one that is implied by others is left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tinytensor", "nn", "models", "train")


def rooms() -> dict[str, Path]:
    """Name of each room -> its folder: those of the engine, and the three folders above it."""
    engine = sorted(p.parent for p in (ROOT / "tinytensor").glob("*/__init__.py"))
    engine = [p for p in engine if not p.is_symlink()]
    return {p.name: p for p in engine} | {name: ROOT / name for name in FOLDERS[1:]}


def about(folder: Path) -> str:
    """The first sentence of a room's docstring, without what it lists."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).split(";")[0].rstrip(".").replace("``", "")


def imported(file: Path) -> Iterator[str]:
    """The rooms that a file imports at once, by the import name as written in it."""
    package = file.parent.relative_to(ROOT).parts
    if package[0] != "tinytensor":
        package = ("tinytensor", *package)

    def visit(body: list[ast.stmt]) -> Iterator[str]:
        for node in body:
            if isinstance(node, ast.If):
                types = "TYPE_CHECKING" in ast.dump(node.test)
                yield from visit(node.orelse if types else node.body + node.orelse)
            elif isinstance(node, ast.ImportFrom) and node.level:
                base = package[: len(package) - node.level + 1]
                base += tuple(node.module.split(".")) if node.module else ()
                for alias in node.names:
                    full = (*base, alias.name)
                    if full[0] == "tinytensor" and len(full) > 1:
                        yield full[1]

    yield from visit(ast.parse(file.read_text(encoding="utf-8")).body)


def doors() -> dict[str, set[str]]:
    """Room -> the rooms that it imports, without those that are implied."""
    known = rooms()
    found: dict[str, set[str]] = {}
    for name, folder in known.items():
        found[name] = {
            other
            for file in folder.rglob("*.py")
            for other in imported(file)
            if other in known and other != name
        }

    def behind(name: str) -> set[str]:
        return found[name].union(*(behind(other) for other in found[name]))

    return {
        name: {o for o in others if not any(o in behind(p) for p in others if p != o)}
        for name, others in found.items()
    }


def label(name: str, folder: Path) -> str:
    """The box of a room: its name, what lives in it, and for the ops their families."""
    lines = [f"<b>{name}/</b>", *map(escape, wrap(about(folder), 34))]
    families = sorted(p.parent.name for p in folder.glob("*/__init__.py"))
    if name == "operations":
        lines += [f"<i>{escape(line)}</i>" for line in wrap(" · ".join(families), 40)]
    return "<" + "<br/>".join(lines) + ">"


def source() -> str:
    """The picture as Graphviz's text."""
    known, to = rooms(), doors()
    engine = [name for name, folder in known.items() if folder.parent.name == "tinytensor"]
    boxes = {name: f'  "{name}" [label={label(name, folder)}];' for name, folder in known.items()}
    return "\n".join(
        [
            "digraph architecture {",
            '  rankdir=TB; ranksep=0.35; nodesep=0.3; bgcolor="transparent";',
            '  node [shape=box, style="rounded,filled", fillcolor="#f7fbff", color="#6baed6",',
            '        fontname="Helvetica", fontsize=11];',
            '  edge [color="#969696", arrowsize=0.7];',
            "  subgraph cluster_engine {",
            '    label="tinytensor/, the engine"; labeljust=l; fontname="Helvetica"; fontsize=12;',
            '    style="rounded,filled"; color="#c6dbef"; fillcolor="#ffffff";',
            *(f"  {boxes[name]}" for name in engine),
            "  }",
            *(boxes[name] for name in known if name not in engine),
            *(f'  "{name}" -> "{other}";' for name in known for other in sorted(to[name])),
            "}\n",
        ]
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from tinytensor.draw.render import save

    (ROOT / "docs" / "architecture.gv").write_text(source(), encoding="utf-8")
    save(source(), ROOT / "docs" / "architecture.svg")
