"""Options for a past state of an internal topic: as of an offset, or as of a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options.common import LARGEST_OFFSET
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.formats.segments.as_of import AsOf

AsOfOffsetOption = Annotated[
    int | None,
    typer.Option(
        "--as-of-offset",
        min=0,
        max=LARGEST_OFFSET,
        metavar="OFFSET",
        help="State of one partition when this offset was next to be written.",
    ),
]
AsOfTimeOption = Annotated[
    str | None,
    typer.Option(
        "--as-of-time", metavar="TIME", help="State then, that time included: 2026-03-01T12:00 (UTC), or 2h for ago."
    ),
]


def parse_as_of(offset: int | None, time: str | None) -> AsOf | None:
    """The offset or time up to which logs are replayed; None for their end.

    Raises:
        UsageError: Both are given, or the time is no time.
    """
    from commands.shared.values import milliseconds_of, parse_moment
    from kreplica.formats.segments.as_of import AsOf

    if offset is not None and time is not None:
        raise UsageError("--as-of-offset and --as-of-time name two moments", fix="leave out one of them")
    if time is None:
        return None if offset is None else AsOf(offset)
    return AsOf(timestamp=milliseconds_of(parse_moment(time, "--as-of-time")))
