"""A run's page, as it goes or to be replayed."""

from __future__ import annotations

from typing import Any

from ...pages.page import page
from ..given.words import shortened
from .follow import Followed

#: milliseconds between two questions of a page for what is new
EVERY = 1500


def live(data: dict[str, Any]) -> str:
    """The page that asks its server for what is new, every :data:`EVERY` milliseconds."""
    return page("watch", _title(data), {**data, "every": EVERY})


def replay(followed: Followed) -> str:
    """The page with all of a run, which asks nobody."""
    data = followed.data()
    return page("watch", _title(data), {**data, "every": None})


def _title(data: dict[str, Any]) -> str:
    run = data["run"]
    about = f"{run.get('model', '')}, task {run.get('task', '')}"
    return shortened(f"Watch it learn: {about}, run {run.get('name', '')}")
