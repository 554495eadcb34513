"""kreplica decode offsets --against: committed offsets compared with the logs of a live cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands.shared.printing.output import Row, cluster_object
from kreplica.errors import UsageError
from kreplica.health.offset_range import OffsetRange, Standing

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.monitoring.offsets import ComparedOffsets


_MEANINGS = {
    Standing.below_start: "below start: records there are deleted; the group goes on where auto.offset.reset says",
    Standing.above_end: "above end: the log is shorter than what the group has read; records are lost, or it is another"
    " cluster",
    Standing.no_such_partition: "no such partition: the topic was deleted, or it is another cluster",
}


@dataclass(frozen=True, slots=True)
class WayIn:
    """The options that name the cluster to compare with, as given."""

    against: str | None
    bootstrap_server: str | None
    command_config: str | None
    config: str | None
    timeout: float | None

    def handle(self) -> ClusterHandle:
        """The cluster.

        Raises:
            UsageError: Two ways in are named, or several clusters.
            ConfigurationError: The contexts file or the properties cannot be used.
        """
        from kreplica.config.ways_in import resolve_handles

        if not (self.against or self.bootstrap_server or self.command_config):
            option = "--config" if self.config is not None else "--timeout"
            fix = "add --against CONTEXT or --bootstrap-server HOST:PORT"
            raise UsageError(f"{option} belongs to a cluster, and none is named", fix=fix)
        others = [
            name for name in ("bootstrap_server", "command_config") if self.against and getattr(self, name) is not None
        ]
        if others:
            option = f"--{others[0].replace('_', '-')}"
            raise UsageError(f"--against and {option} exclude each other", "", "give one of them")
        handles = resolve_handles(
            bootstrap_server=self.bootstrap_server,
            command_config=self.command_config,
            contexts=[self.against] if self.against else (),
            config_path=self.config,
            timeout=self.timeout,
            environ=os.environ,
        )
        if len(handles) > 1:
            names = ", ".join(handle.name for handle in handles)
            why = f"{self.against} matches {names}"
            raise UsageError("offsets are compared with one cluster", why, "name one context")
        return handles[0]


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison of the rows with the cluster, for the answer."""

    found: ComparedOffsets

    @property
    def ranges(self) -> Sequence[OffsetRange]:
        """Range of the log for each row, in their order."""
        return self.found.ranges

    @property
    def outside(self) -> int:
        """Number of rows outside the range of their log."""
        return self.found.outside

    @property
    def unknown(self) -> int:
        """Number of rows whose log's range the cluster did not report."""
        return self.found.unknown

    def counts(self) -> dict[Standing, int]:
        """Number of rows by standing."""
        return self.found.counts

    def warnings(self) -> list[str]:
        """Warnings of the reading, and the number of ranges that the cluster did not report."""
        left_out = f"the cluster did not tell the range of {self.unknown} of {len(self.ranges)} offsets"
        return [*self.found.reading.warnings(), *([left_out] if self.unknown else [])]

    def clusters(self) -> list[dict[str, object]]:
        """The ``clusters`` of the answer."""
        return [cluster_object(snapshot) for snapshot in self.found.reading.snapshots]

    def summary(self) -> Row:
        """Counts by standing, all of them."""
        counts = self.counts()
        return {"standings": {**{standing.value: counts.get(standing, 0) for standing in Standing}}}

    def meanings(self) -> list[str]:
        """Consequences for the groups, in words."""
        return [_MEANINGS[standing] for standing in self.counts() if standing in _MEANINGS]
