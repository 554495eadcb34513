"""A failure played over a cluster that is read for it, with the log end offsets of replicas that may lead uncleanly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kreplica.health.impact.whatif import FailedPartition, FailureCase, PlayedFailure, play_failure
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.monitoring.waiting.stop_gate import FACETS

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.errors import ExitCode


@dataclass(frozen=True, slots=True)
class FailureOutcome:
    """Outcome of a failure that was played over a cluster.

    Args:
        reading: The cluster as read.
        played: The failure, played.
    """

    reading: Reading
    played: PlayedFailure

    @property
    def exit_code(self) -> ExitCode:
        """1 where anything gets worse, 5 where nothing does as far as is known, but not all is."""
        return self.played.exit_code

    @property
    def rows(self) -> list[FailedPartition]:
        """The partitions that are affected."""
        return self.played.rows

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and the facts that are not known."""
        return [*self.reading.warnings(), *self.played.missing[len(self.played.snapshot.gaps) :]]


def whatif_fail(handle: ClusterHandle, case: FailureCase) -> FailureOutcome:
    """Reads a cluster and plays a failure over it; nothing is done to the cluster.

    Args:
        handle: The cluster.
        case: The failure.

    Raises:
        UsageError: What shall fail is not there, or cannot be found in this source.
        ValueError: Nothing fails and nothing changes.
    """
    if case.empty:
        raise ValueError("nothing fails and nothing changes")
    reading = read_clusters((handle,), FACETS)
    played = play_failure(reading.snapshots[0], case)
    asked = played.to_ask()
    if handle.bootstrap_servers is None or not asked:
        return FailureOutcome(reading, played)
    from kreplica.sources.kafka.offsets import read_positions

    positions, silent = read_positions(handle, played.snapshot, asked)
    return FailureOutcome(reading, played.measured(positions, silent))
