"""Which subcommands of a group are built: each costs a few milliseconds, which every start of the program would pay."""

from __future__ import annotations

from collections.abc import Sequence


def wanted(subcommands: Sequence[str], below: str | None) -> Sequence[str]:
    """The subcommands to build.

    Args:
        subcommands: Those there are.
        below: The word behind the group's name: where it names a subcommand, that one is enough. None where there is
            no such word; empty where only the group's own help is wanted, which takes none of them.
    """
    if below == "":
        return ()
    return [below] if below is not None and below in subcommands else subcommands
