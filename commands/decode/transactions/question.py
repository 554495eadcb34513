"""The question that decode transactions answers, and the columns of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreplica.formats.segments.as_of import Until
    from kreplica.formats.transactions.records import TransactionRecord


COLUMNS = (
    "transactional_id",
    "producer_id",
    "producer_epoch",
    "state",
    "timeout_ms",
    "partitions",
    "start_timestamp",
    "last_update_timestamp",
    "age_ms",
    "overdue",
    "client_transaction_version",
    "previous_producer_id",
    "next_producer_id",
    "next_producer_epoch",
    "coordinator_partition",
    "record_offset",
    "record_timestamp",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Options that choose transactions.

    Args:
        until: Offset or time up to which the logs are replayed.
        ids: Transactional ids; all if there are none.
        only_open: Only ids with an open transaction.
        partitions: Number of partitions of the topic.
        now: Time for ages, in ms since the epoch.
    """

    until: Until
    ids: frozenset[str]
    only_open: bool
    partitions: int
    now: int

    def wants(self, record: TransactionRecord) -> bool:
        """True if the record gets a row."""
        from kreplica.formats.transactions.records import OPEN

        return (not self.ids or record.transactional_id in self.ids) and (not self.only_open or record.state in OPEN)

    @property
    def needed(self) -> frozenset[int]:
        """The partitions that the answer needs: all, unless ids are asked for."""
        from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition

        homes = frozenset(coordinator_partition(name, self.partitions) for name in self.ids)
        return homes or frozenset(range(self.partitions))
