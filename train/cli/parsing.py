"""What all commands ask of their arguments: each flag once, and paths that can be ones."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from ..config import ConfigError
from ..given.paths import given_path
from ..given.words import shortened


class Command(TyperCommand):
    """A command that refuses two different values for one flag: one of them would be ignored."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, as the base class does.

        Raises:
            ConfigError: a flag that takes one value has several.
        """
        every = _Every(type(self.make_parser(ctx))(ctx))
        for parameter in self.get_params(ctx):
            parameter.add_to_parser(every, ctx)  # type: ignore[arg-type]
        given = every.parser.parse_args(args=list(args))[0]
        for option in every.options:
            values = given.get(option.name) or []
            if option.multiple or len(set(values)) < 2:
                continue
            if option.is_flag:
                raise ConfigError(f"{option.opts[0]} and {option.secondary_opts[0]} are both given")
            times = "twice" if len(values) == 2 else f"{len(values)} times"
            found = shortened(", ".join(values))
            raise ConfigError(f"{option.opts[0]} is given {times} ({found})")
        return super().parse_args(ctx, args)


class _Every:
    """Stands in for a parser while options are added to it: each then collects all its values."""

    def __init__(self, parser: Any):
        self.parser = parser
        self.options: list[Any] = []

    def add_option(self, obj: Any, action: str, **rest: Any) -> None:
        self.options.append(obj)
        self.parser.add_option(obj=obj, action=action.replace("store", "append"), **rest)

    def add_argument(self, **rest: Any) -> None:
        self.parser.add_argument(**rest)


def path(param: typer.CallbackParam, value: str | None) -> str | None:
    """The callback of every argument that is a path; see :func:`given_path`.

    Raises:
        ConfigError: it can be none.
    """
    try:
        return None if value is None else given_path(value)
    except ValueError as error:
        raise ConfigError(f"{param.name}: {error}") from None


def paths(param: typer.CallbackParam, values: list[str] | None) -> list[str] | None:
    """The same for an argument that is several paths."""
    return None if values is None else [str(path(param, value)) for value in values]
