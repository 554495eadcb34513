"""The index of ELRs that a simulated controller keeps while it replays its log (``rules.controller.elr_index``)."""

from __future__ import annotations

from kreplica.engine.rules.controller.elr_index import Entries, listed, unlisted
from kreplica.engine.simulator.broker.partition_state import PartitionState


class ElrIndex:
    """Partitions by broker: ``entries`` has their numbers by broker and topic."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[tuple[int, str], Entries] = {}

    def follow(self, before: PartitionState | None, after: PartitionState) -> None:
        """Takes over a record of a partition; ``before`` is None where it is new."""
        topic, _, number = after.partition.rpartition("-")
        old = set() if before is None else {*before.members(before.elr)}
        new = {*after.members(after.elr)}
        for broker in old ^ new:
            change = listed if broker in new else unlisted
            self.entries[broker, topic] = change(self.entries.get((broker, topic), ()), int(number))

    def partitions_of(self, broker: int) -> tuple[str, ...]:
        """Names of the partitions that are listed for a broker, each as often as it is."""
        found = ((topic, entries) for (other, topic), entries in self.entries.items() if other == broker)
        return tuple(f"{topic}-{number}" for topic, entries in found for number in entries)
