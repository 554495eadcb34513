"""Options that say which clusters, and which time, of many snapshots or of a history are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.cluster_groups import ClusterGroupOption, clusters_of, groups_of

if TYPE_CHECKING:
    from kreplica.store.selection import Wanted

HistoryArgument = Annotated[
    str,
    typer.Argument(
        metavar="HISTORY",
        show_default=False,
        help="The history of kreplica audit ingest, a path or s3://BUCKET/PREFIX.",
    ),
]
ClusterOption = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="PATTERN", help="Only clusters whose id or name matches; may be repeated."),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only snapshots from then on: 2026-03-01T12:00, or 7d ago."),
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only snapshots up to then, told in the same way.")
]


@dataclass(frozen=True, slots=True)
class WantedOptions:
    """Options of the clusters and the time that are asked about."""

    cluster: ClusterOption = None
    cluster_group: ClusterGroupOption = None
    since: SinceOption = None
    until: UntilOption = None

    def wanted(self) -> Wanted:
        """The clusters, those of the groups among them, and the time.

        Raises:
            UsageError: A text is no time, or no time is from the one to the other.
            ConfigurationError: There is no contexts file, or no context is in such a group.
        """
        return wanted_of(clusters_of(self.cluster, self.cluster_group), self.since, self.until)

    def groups(self) -> Mapping[str, frozenset[str]]:
        """Names of the contexts in each group.

        Raises:
            ConfigurationError: There is no contexts file, or no context is in such a group.
        """
        return groups_of(self.cluster_group)


def wanted_of(clusters: Sequence[str], since: str | None, until: str | None) -> Wanted:
    """The clusters and the time that options name.

    Raises:
        UsageError: A text is no time, or no time is from the one to the other.
    """
    from commands.shared.values import parse_moment
    from kreplica.errors import UsageError
    from kreplica.store.selection import Wanted

    first = None if since is None else parse_moment(since, "--since")
    last = None if until is None else parse_moment(until, "--until")
    if first is not None and last is not None and first > last:
        raise UsageError(f"--since {since} is later than --until {until}", fix="no time is between them; swap the two")
    return Wanted(tuple(clusters), first, last)
