"""The question that whatif fail answers, and the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.engine.projection.changes import Changes


COLUMNS = (
    "topic",
    "partition",
    "restarting",
    "effect",
    "already",
    "leader",
    "leader_after",
    "replicas",
    "isr",
    "isr_after",
    "elr",
    "elr_after",
    "last_known_elr_after",
    "min_isr",
    "unclean",
    "candidates",
)


@dataclass(frozen=True, slots=True)
class Question:
    """The failure to play, as given.

    Args:
        brokers, racks, disks: Named by id, by rack, as BROKER:PATH.
        controller: Whether the active controller's node fails.
        rolling: Whether brokers restart in turn instead.
        min_isr, unclean, elr: Settings changed before the failure; None leaves the current ones.
        topics, exclude_internal: Selection of partitions.
    """

    brokers: tuple[int, ...]
    racks: tuple[str, ...]
    disks: tuple[tuple[int, str], ...]
    controller: bool
    rolling: bool
    min_isr: int | None
    unclean: bool | None
    elr: bool | None
    topics: str | None
    exclude_internal: bool

    @property
    def changes(self) -> Changes:
        """The changed settings."""
        from kreplica.engine.projection.changes import Changes

        return Changes(self.min_isr, self.unclean, self.elr)
