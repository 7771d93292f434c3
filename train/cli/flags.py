"""Flags of the command line made from the fields of :class:`TrainConfig`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import fields
from typing import Annotated, Any, Optional

import typer

from ..config import MODEL_FIELDS, TASK_FIELDS, TrainConfig, value_type


def panel(name: str) -> str:
    """The heading of ``--help`` under which a setting stands."""
    names = [f.name for f in fields(TrainConfig)]
    if name in ("task", "encoding", *TASK_FIELDS):
        return "Task"
    if name == "model" or name in MODEL_FIELDS:
        return "Model"
    return "Training" if names.index("steps") <= names.index(name) <= names.index("seed") else "Run"


def with_settings(
    command: Callable[..., Any], names: Collection[str] | None = None
) -> Callable[..., Any]:
    """Give a command one flag for each field of TrainConfig, in place of its ``**settings``.

    A flag that is not given arrives as None, so that the TOML file and the defaults can decide.

    Args:
        command: a function with ``**settings``.
        names: the fields to have flags for; None for all.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    params = [p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD]
    for f in fields(TrainConfig):
        if names is not None and f.name not in names:
            continue
        kind, optional = value_type(f.name)
        flag = "--" + f.name.replace("_", "-")
        usual = f.metadata["default"]
        shown = "" if optional or usual is None else f" (default: {usual})"
        text = f.metadata["help"] + shown
        option = typer.Option(
            f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
            help=text,
            show_default=False,
            rich_help_panel=panel(f.name),
        )
        params.append(
            inspect.Parameter(
                f.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[Optional[list[str] if kind is tuple else kind], option],  # noqa: UP045
            )
        )
    command.__signature__ = inspect.Signature(params)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in params}
    return command
