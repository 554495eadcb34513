"""Help in sections: commands by what they are for, options with the command's own first, examples at the end.

typer writes one flat list of each. Shared options (``commands.shared.options.common``) name their section by
``rich_help_panel``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer.core

OUTPUT = "Output and exit code"
CONNECTION = "Cluster to read"
LONGEST = 100
"""Characters of a command's line of help at most; longer ones are cut by typer."""
_LAST = (OUTPUT, CONNECTION)
_TYPE = re.compile(r" <(?:list\[)?([^\[\]]+)\]?>$")
"""The type that typer writes behind a name: ``<str>``, ``<list[str]>``, ``<table|json>``."""
_UNBOUNDED = re.compile(r"(?<![-\d])(\d+)<=x<=2147483647")


def examples(*lines: str) -> str:
    """The epilog of a command: whole command lines, which tests run or parse."""
    return "\n".join(lines)


class SectionedCommand(typer.core.TyperCommand):
    """A command whose help has its own options first, those that most commands share after them, then examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each kind of option."""
        sections: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_section(parameter), []).append(_in_words(*record))
        own = [title for title in sections if title not in ("Arguments", "Options", *_LAST)]
        for title in ("Arguments", *own, "Options", *_LAST):
            write_section(formatter, title, sections.get(title, ()))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Writes the examples, a line each, never wrapped: they are to be copied."""
        if self.epilog:
            formatter.write("\n".join(["", "Examples:", *(f"  {line}" for line in self.epilog.splitlines()), ""]))


def _in_words(name: str, text: str) -> tuple[str, str]:
    """A row of the help without Python's types behind the name, and without bounds that are only those of 32 bits.

    Choices stay, as they are to be typed.
    """
    found = _TYPE.search(name)
    if found is not None:
        name = name[: found.start()] + (f" {found[1]}" if "|" in found[1] else "")
    return name, _UNBOUNDED.sub(r"x>=\1", text)


def _section(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    own = OUTPUT if "--help" in parameter.opts else "Options"
    return getattr(parameter, "rich_help_panel", None) or own


class SectionedGroup(typer.core.TyperGroup):
    """The program, whose help lists its commands by what they are for."""

    sections: Mapping[str, Sequence[str]] = {}
    """Names of commands by title."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each title; a group of one command says nothing of others."""
        widest = max(map(len, self.commands), default=0)
        for title, names in self.sections.items():
            found = [(name.ljust(widest), self.get_command(ctx, name)) for name in names]
            records = [(name, command.get_short_help_str(LONGEST)) for name, command in found if command is not None]
            write_section(formatter, title, records)


def write_section(formatter: Any, title: str, records: Iterable[Any]) -> None:
    """Writes a section of the help; nothing if it has no records."""
    rows = list(records)
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
