"""Rows of an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct, defstruct

from kreplica.health.findings import Finding
from kreplica.health.rules import Severity
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.tables.rows import Int32, Meaning, meaning_of

CLUSTER = "cluster id, or name where the id is not known"


class SpanFinding(Struct, frozen=True):
    """A finding in an unbroken run of snapshots of a cluster."""

    cluster: Annotated[str, Meaning(CLUSTER)]
    valid_from: Annotated[
        str,
        Meaning("time of the first snapshot of an unbroken run of snapshots that show it", label="FROM", drop=2),
    ]
    last_seen: Annotated[str, Meaning("time of the last one", drop=3)]
    valid_to: Annotated[
        str | None, Meaning("time of the first later snapshot that says otherwise, null if none does", screen=False)
    ]
    snapshots: Annotated[int, Meaning("how many snapshots of the run show it; others in between do not know")]
    longest_interval_ms: Annotated[int, Meaning("longest time between two snapshots of the run", screen=False)]
    in_newest: Annotated[bool, Meaning("whether the newest snapshot of the cluster that can tell shows it")]
    rule: Annotated[str, meaning_of(Finding, "rule")]
    severity: Annotated[Severity, meaning_of(Finding, "severity")]
    topic: Annotated[str | None, meaning_of(Finding, "topic")]
    partition: Annotated[Int32 | None, meaning_of(Finding, "partition")]
    broker: Annotated[Int32 | None, meaning_of(Finding, "broker")]
    message: Annotated[str, meaning_of(Finding, "message")]
    evidence: Annotated[Mapping[str, object], meaning_of(Finding, "evidence")]
    exact: Annotated[bool, Meaning("told by a metadata log: times are those of records, and it held between", drop=1)]


class SnapshotFinding(Struct, frozen=True):
    """A finding in one snapshot of a cluster."""

    cluster: Annotated[str, Meaning(CLUSTER)]
    taken_at: Annotated[str, Meaning("time of the snapshot", drop=2)]
    in_newest: Annotated[bool, Meaning("whether the snapshot is the newest of the cluster")]
    rule: Annotated[str, meaning_of(Finding, "rule")]
    severity: Annotated[Severity, meaning_of(Finding, "severity")]
    topic: Annotated[str | None, meaning_of(Finding, "topic")]
    partition: Annotated[Int32 | None, meaning_of(Finding, "partition")]
    broker: Annotated[Int32 | None, meaning_of(Finding, "broker")]
    message: Annotated[str, meaning_of(Finding, "message")]
    evidence: Annotated[Mapping[str, object], meaning_of(Finding, "evidence")]


_COUNTED = {
    "topics": "number of topics",
    "brokers": "number of brokers",
    "partitions": "number of partitions",
    **{predicate.name: f"partitions of which this is true: {predicate.meaning}" for predicate in PREDICATES},
}

if TYPE_CHECKING:
    SnapshotCountsRow: Any
else:
    SnapshotCountsRow = defstruct(
        "SnapshotCountsRow",
        [
            ("cluster", Annotated[str, Meaning(CLUSTER)]),
            ("taken_at", Annotated[str, Meaning("time of the snapshot")]),
            *((name, Annotated[int, Meaning(text)]) for name, text in _COUNTED.items()),
            ("unknown", Annotated[Mapping[str, int], Meaning("partitions of which a predicate is not known, by name")]),
        ],
        frozen=True,
    )
"""The counts of one snapshot: a field for each predicate."""
