"""Options that are given more than once: lists are joined, options of one value are refused.

An option of a list that is typed as one text, its values separated by commas, says so by its metavar, which ends with
``,…``: repeated values are added. Any other option of one value is refused when it is repeated: the parser
would keep the last value, and a gate would answer for another topic or another cluster than it was asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import typer.core

from kreplica.errors import UsageError

LIST_MARK = ",…"


def joins_repeats(option: Any) -> bool:
    """True if repeated values are joined, separated by commas."""
    return bool(option.metavar) and option.metavar.endswith(LIST_MARK) and not option.multiple


class RepeatAwareCommand(typer.core.TyperCommand):
    """A command that takes repeated options as above."""

    def make_parser(self, ctx: Any) -> Any:
        """The parser of this command, which gives one value for each option that is typed as one text."""
        parser: Any = super().make_parser(ctx)
        joined: list[Any] = [option for option in self.params if getattr(option, "opts", ()) and joins_repeats(option)]
        for option in joined:
            parser.add_option(option, option.opts, option.name, action="append")
        parse = parser.parse_args

        def parse_args(args: Sequence[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
            values, rest, order = parse(args=list(args))
            if not ctx.resilient_parsing:
                _refuse_repeats(order, ctx)
            found = {option.name: values[option.name] for option in joined if option.name in values}
            return values | {name: ",".join(each) for name, each in found.items()}, rest, order

        parser.parse_args = parse_args
        return parser


def _refuse_repeats(order: Sequence[Any], ctx: Any) -> None:
    for option, times in Counter(order).items():
        if times > 1 and not _may_repeat(option):
            why = "they exclude one another" if option.secondary_opts else "it takes one value"
            flags = "/".join((option.opts[0], *option.secondary_opts))
            raise UsageError(f"{flags} is given {times} times", why, f"give it once; see {ctx.command_path} --help")


def _may_repeat(option: Any) -> bool:
    """True for lists, and for a bare flag, which only says the same again."""
    bare = getattr(option, "is_flag", True) and not option.secondary_opts
    return bare or option.multiple or joins_repeats(option)
