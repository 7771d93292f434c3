"""The command line ``tinytensor``: one file for each of its commands, joined in ``app.py``."""

from .app import main, run

__all__ = ["main", "run"]
