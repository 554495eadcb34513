"""The words of the command line as plain values, for completion and for the generated reference.

Read from the application itself, so that neither can name something that the program lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, get_args

import typer

from commands.shared.repeats import joins_repeats


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument.

    Args:
        flags: ``("--output", "-o")``; empty for an argument.
        metavar: What stands for the value in the help; empty for an option that takes none.
        choices: The possible values, where they are few and fixed.
        help: Its help text.
        default: The default as the user would write it; empty if there is none worth saying.
        required: Whether it must be given.
        several: Whether it may be given more than once.
    """

    flags: tuple[str, ...]
    metavar: str
    choices: tuple[str, ...]
    help: str
    default: str
    required: bool
    several: bool

    @property
    def takes_value(self) -> bool:
        """True if a value follows as the next word."""
        return bool(self.metavar)


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group that has commands below it."""

    path: tuple[str, ...]
    help: str
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    commands: tuple[Command, ...]
    passes_on: bool
    """True if the words after its arguments are for another program."""
    examples: tuple[str, ...]
    """Whole command lines of its help."""

    @property
    def name(self) -> str:
        """The last word of its path."""
        return self.path[-1]

    @property
    def runs(self) -> bool:
        """True if it does something itself: a command, or a group that is one, too."""
        return not self.commands or bool(self.arguments)

    @property
    def brief(self) -> str:
        """The first sentence of the help."""
        first = " ".join(self.help.split("\n\n")[0].split())
        return first.partition(". ")[0].rstrip(".")

    def find(self, name: str) -> Command | None:
        """The command of that name right below this one."""
        return next((command for command in self.commands if command.name == name), None)

    def walk(self) -> Iterator[Command]:
        """This command and all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def command_tree(app: typer.Typer) -> Command:
    """The whole application, named ``kreplica``."""
    return _command(typer.main.get_command(app), ("kreplica",))


def _command(built: Any, path: tuple[str, ...]) -> Command:
    parameters = [(parameter, _parameter(parameter)) for parameter in built.params if not parameter.hidden]
    below: dict[str, Any] = dict(getattr(built, "commands", {}))
    if built.name in below:  # the group's own command, which stands in its place (commands.shared.groups)
        own = _command(below.pop(built.name), path)
        return replace(own, commands=tuple(_command(child, (*path, name)) for name, child in below.items()))
    return Command(
        path=path,
        help=built.help or "",
        options=tuple(ours for theirs, ours in parameters if ours.flags),
        arguments=tuple(ours for theirs, ours in parameters if not ours.flags),
        commands=tuple(_command(child, (*path, name)) for name, child in below.items() if not child.hidden),
        passes_on=built.context_settings.get("allow_interspersed_args") is False,
        examples=tuple((built.epilog or "").splitlines()),
    )


def _parameter(built: Any) -> Parameter:
    flags = tuple(flag for flag in (*built.opts, *built.secondary_opts) if flag.startswith("-"))
    choices = _choices(built.type_descriptor.annotation)
    bare = getattr(built, "is_flag", False)
    return Parameter(
        flags=flags,
        metavar="" if bare else built.metavar or "|".join(choices) or built.name.upper(),
        choices=choices,
        help=built.help or "",
        default=_default(built),
        required=bool(built.required),
        several=built.nargs == -1 or bool(built.multiple) or joins_repeats(built),
    )


def _default(built: Any) -> str:
    value = built.default
    if isinstance(value, bool):
        return str(built.opts[0]) if value else ""
    return "" if value is None or callable(value) else str(value.value if isinstance(value, Enum) else value)


def _choices(annotation: Any) -> tuple[str, ...]:
    kind = next(iter(get_args(annotation)), annotation)
    return tuple(str(member.value) for member in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
