"""``tinytensor watch``: the history of a run, replayed; and what ``train --watch`` needs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from ..checkpoint import NAME as CHECKPOINT
from ..checkpoint import latest
from ..config import ConfigError
from ..given.words import cause
from ..results.watch_file import NAME
from ..system.files import write_bytes
from ..system.signals import Stop
from ..system.terminal import command, one_line, warn
from ..watch.follow import Followed
from ..watch.watcher import Watcher
from .parsing import path


def watch(
    run: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            callback=path, help="Folder of the run (default: the latest run)", show_default=False
        ),
    ] = None,
    html: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=path,
            help="Write the page into this file, with all in it, instead of serving it",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, max=65535, help="(default: one that is free)", show_default=False),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser")] = False,
) -> int:
    """Replay how a run learnt, or follow one that goes on; Ctrl-C ends it."""
    folder = _folder(run)
    followed = Followed(folder)
    followed.data()
    if not followed.watched:
        there = "is no folder of a run" if not folder.is_dir() else f"has no {NAME}"
        more = [] if run is None else ["--out", folder]
        if folder.is_dir() and (folder / CHECKPOINT).is_file():
            how = f"go on with it by {command('train', '--resume', *more, '--watch')}"
        else:
            how = f"train one by {command('train', *more, '--watch')}"
        raise ConfigError(f"watch: {folder} {there}, in which a run keeps its history; {how}")
    from ..watch.page import live, replay

    if html is not None:
        if port is not None:
            raise ConfigError("port: a page in a file has none; leave --port or --html out")
        if Path(html).suffix.lower() != ".html":
            raise ConfigError(f"html: expected a file name that ends in .html, got {html!r}")
        try:
            written = write_bytes(html, replay(followed).encode())
        except OSError as error:
            raise ConfigError(f"html: cannot write {html}: {cause(error)}") from None
        print(f"page     {one_line(written)}")
        if open:
            _open(written.resolve().as_uri())
        return 0
    from ..watch.server import Server

    server = Server(followed, live, port or 0)
    with Stop(words="") as stop:  # there is no step, and nothing to save
        with stop.at_once():
            server.start()
        print(f"watch it learn: {server.address}\n(Ctrl-C ends it)", flush=True)
        if open:
            _open(server.address)
        while not stop:
            time.sleep(0.1)
    server.close()
    return 0 if stop.signal == 2 else 128 + int(stop.signal or 0)


def _folder(run: str | None) -> Path:
    found = latest() if run is None else Path(run)
    return found.parent if found.is_file() else found


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        warn(f"there is no browser to open; the page is at {address}")


def watcher_of(folder: Path, every: int | None, port: int | None) -> Watcher:
    """What watches a run of ``train --watch``: with its page, or without where this machine has no
    127.0.0.1 to serve it at.

    Raises:
        ConfigError: the port that was asked for cannot be had.
    """
    from ..watch.page import live
    from ..watch.server import Server

    try:
        server = Server(Followed(folder), live, port or 0)
    except ConfigError as error:
        if port:
            raise
        warn(f"watch: {error}; the history is kept, {command('watch', folder)} shows it later")
        return Watcher(every)
    return Watcher(every, server, lambda line: print(line, flush=True))
