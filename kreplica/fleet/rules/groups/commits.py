"""Commits: samples of what consumer groups had committed, by group and topic."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from kreplica.fleet.cluster import ClusterHistory
from kreplica.model.tables.schema import GROUPS


@dataclass(slots=True)
class Commits:
    """Samples of what a group had committed of one partition, in order: observation and offset."""

    at: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


def commits(history: ClusterHistory) -> dict[tuple[str, str], dict[int, Commits]]:
    """Commits by group and topic, and by partition."""
    samples = history.samples(GROUPS)
    rows = samples.known("offset").tolist()
    columns = [samples.rows[name].to_list() for name in ("group", "topic", "partition", "offset")]
    found: dict[tuple[str, str], dict[int, Commits]] = defaultdict(lambda: defaultdict(Commits))
    for row in rows:
        group, topic, partition, offset = (column[row] for column in columns)
        one = found[str(group), str(topic)][int(partition)]
        one.at.append(int(samples.numbers[row]))
        one.offsets.append(int(offset))
    return found
