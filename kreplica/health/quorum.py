"""The KRaft metadata quorum and its majority, now and without some of its voters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from kreplica.model.snapshot import ClusterSnapshot, MetadataMode

SILENT_MS = 5000
"""A voter fetches from the leader twice a second; one that has not for this long, by the leader's clock, is down.
After 2 s without an answer (controller.quorum.fetch.timeout.ms) a voter calls an election itself."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """The voters of the metadata quorum.

    Args:
        voters: Node ids, in order.
        down: Those that have not fetched for SILENT_MS, or never.
        stopping: Those that are to be stopped.
    """

    voters: tuple[int, ...]
    down: tuple[int, ...]
    stopping: tuple[int, ...]

    @property
    def needed(self) -> int:
        """Number of voters that have to be up: a majority of all voters."""
        return len(self.voters) // 2 + 1

    @property
    def up(self) -> int:
        """Number of voters that are up now."""
        return len(self.voters) - len(self.down)

    @property
    def up_after(self) -> int:
        """Number of voters that stay up."""
        return len(set(self.voters) - set(self.down) - set(self.stopping))

    @property
    def lost(self) -> bool:
        """True if the majority is gone afterwards: no election, no ISR change, no new topic from then on."""
        return self.up_after < self.needed

    def as_row(self) -> dict[str, object]:
        """The form of the summary."""
        return {
            "voters": list(self.voters),
            "down": list(self.down),
            "stopping": list(self.stopping),
            "needed": self.needed,
            "up_after": self.up_after,
        }


def quorum_without(snapshot: ClusterSnapshot, nodes: Collection[int]) -> Quorum | None:
    """The quorum when these nodes stop; None where it cannot be known, or the cluster has ZooKeeper instead.

    Brokers that are no voters do not count, voters that are no brokers do.
    """
    rows = [row for row in snapshot.quorum.rows() if row["voter"]]
    fetched = {row["node"]: row["last_fetch_ms"] for row in rows}
    times = [time for time in fetched.values() if isinstance(time, int)]
    if snapshot.mode is MetadataMode.ZOOKEEPER or not times:
        return None
    late = max(times) - SILENT_MS
    voters = tuple(node for node in fetched if isinstance(node, int))
    return Quorum(
        voters,
        down=tuple(node for node in voters if not isinstance(fetched[node], int) or fetched[node] < late),  # type: ignore[operator]
        stopping=tuple(node for node in voters if node in nodes),
    )


def quorum_leader(snapshot: ClusterSnapshot) -> int | None:
    """The leader of the metadata quorum, which is the active controller of KRaft; None where not known."""
    found = next((row["node"] for row in snapshot.quorum.rows() if row["leader"]), None)
    return found if isinstance(found, int) else None


def active_controller(snapshot: ClusterSnapshot) -> int | None:
    """The node that elects leaders, None where not known: with KRaft, Metadata names any broker as the controller."""
    return snapshot.controller if snapshot.mode is MetadataMode.ZOOKEEPER else quorum_leader(snapshot)
