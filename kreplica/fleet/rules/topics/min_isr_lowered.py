"""Values of min.insync.replicas that were lowered: records count as written with fewer replicas."""

from __future__ import annotations

from collections.abc import Iterator

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.rule import Circumstances, FleetRule
from kreplica.fleet.rules.topics.lowering import lowered
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import PARTITIONS

NAME = "min-isr-lowered"


def find(history: ClusterHistory, _: Circumstances) -> Iterator[FleetFinding]:
    """Topics with a smaller min.insync.replicas than before."""
    table = history.partitions
    if len(table):
        yield from lowered(history, table, "min_isr", table.integers("min_isr"), NAME, "min.insync.replicas")


RULE = FleetRule(
    NAME,
    Severity.WARNING,
    (PARTITIONS,),
    "records count as written when fewer replicas have them",
    "set it again, unless it was meant; look for a change of the brokers' default where several topics have it",
    find,
)
