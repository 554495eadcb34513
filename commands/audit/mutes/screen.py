"""Mutes on the screen: one that was made or ended, and all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commands.shared.printing.screen import print_lines, print_rows, utc
from kreplica.fleet.muting import MuteRow, options_of

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.config.mutes import Mute
    from kreplica.fleet.muting import Mutes

_CELLS: Mapping[str, Callable[[Any], object]] = dict.fromkeys(
    ("until", "muted_at"), lambda text: utc(datetime.fromisoformat(text))
)


def show_muted(found: Mutes, console: Console) -> None:
    """Prints what was muted."""
    print_lines(console, "muted", (f"{_words(one)} until {utc(one.until)}" for one in found.mutes))
    print_lines(console, "file", [str(found.path)])
    print_lines(console, "next", _unmute(found), whole=True)


def show_unmuted(found: Mutes, console: Console) -> None:
    """Prints what is muted no more."""
    print_lines(console, "unmuted", (_words(one) for one in found.mutes))
    print_lines(console, "file", [str(found.path)])


def show_list(found: Mutes, console: Console) -> None:
    """Prints the mutes of the file."""
    if not found.mutes:
        print_lines(console, "mutes", [f"none in {found.path}"])
        return
    print_rows(console, MuteRow, found.rows, cells=_CELLS)
    print_lines(console, "file", [str(found.path)])


def _words(mute: Mute) -> str:
    topics = "" if mute.topic is None else f" of topics {mute.topic}"
    most = "" if mute.at_most is None else f", {mute.at_most} {_things(mute.rule)} at once at most"
    return f"{mute.rule}{topics} in {'every cluster' if mute.cluster is None else f'clusters {mute.cluster}'}{most}"


def _things(rule: str) -> str:
    """The noun for what is muted."""
    from kreplica.fleet.incidents.incident import MUTABLE_KINDS  # brings numpy with it

    return "incidents" if rule in MUTABLE_KINDS else "findings"


def _unmute(found: Mutes) -> Iterator[str]:
    for one in found.mutes:
        yield f"kreplica audit unmute {one.rule} {options_of(one)}".rstrip()
