"""Options of gates before a stop: one cluster, what may be down meanwhile, the time between two reads."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.options.common import checked_pattern
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


SETTLE = "10s"


class Accept(StrEnum):
    """Harms that can be accepted."""

    rf_one = "rf-one"


AcceptOption = Annotated[
    list[Accept] | None, typer.Option("--accept", help="rf-one: partitions of one replica may be down meanwhile.")
]
AcceptTopicOption = Annotated[
    str | None,
    typer.Option(
        "--accept-topic", metavar="REGEX,…", callback=checked_pattern, help="Ignore topics whose whole name matches."
    ),
]
"""Options that name partitions that may be down while a broker is stopped; safe-to-stop and roll plan take both."""


def one_cluster(handles: Sequence[ClusterHandle], why: str) -> ClusterHandle:
    """The only cluster that is named.

    Raises:
        UsageError: Several are named.
    """
    if len(handles) != 1:
        raise UsageError(f"{len(handles)} clusters are named", ", ".join(handle.name for handle in handles), why)
    return handles[0]
