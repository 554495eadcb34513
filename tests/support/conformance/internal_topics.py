"""The coordinators' topics as a cluster has them when a row begins, by the row's numbers."""

from __future__ import annotations

from itertools import count

from real_clusters.coordinators import GROUP, TRANSACTION, coordinator_of

from conformance.script import Row
from conformance.sweep import Cast
from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.engine.setup import PartitionStart, TopicSetup
from kreplica.model.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kreplica.model.settings import MIN_ISR
from kreplica.sandbox import Sandbox

GROUP_LEADER = 2
"""The row's broker that coordinates its group, unless the topic has no partition that it leads."""


def internal_topics(sandbox: Sandbox, cast: Cast, row: Row) -> list[TopicSetup]:
    """The topics that the row needs, that of groups last; one that is missing is made."""
    found = []
    if row.transacts:
        found.append(_topic(sandbox, cast, TRANSACTIONS_TOPIC, TRANSACTION, {MIN_ISR: 2}))
    if row.commits:
        found.append(_topic(sandbox, cast, OFFSETS_TOPIC, GROUP, {}))
    return found


def group_led_by(broker: int, topic: str, offsets: TopicSetup) -> str:
    """A name for the group of a topic's readers that the broker coordinates.

    Args:
        broker: As the row numbers it.
        topic: The row's.
        offsets: The topic of groups: with the leaders that it has now.
    """
    led = {number for number, start in offsets.starts.items() if start.leader == broker}
    names = (f"{topic}-{number}" for number in count())
    return next(name for name in names if not led or coordinator_partition(name, len(offsets.assignment)) in led)


def _topic(sandbox: Sandbox, cast: Cast, name: str, kind: int, settings: dict[str, int]) -> TopicSetup:
    metadata = sandbox.metadata()
    if metadata is None or name not in metadata.topics:
        coordinator_of(sandbox, "first", kind)
        sandbox.wait_for_healthy()
        metadata = sandbox.metadata()
    assert metadata is not None
    found = metadata.topics[name].partitions
    assignment = tuple(tuple(map(cast.number, found[number].replicas)) for number in sorted(found))
    starts = {
        number: PartitionStart(cast.number(one.leader), tuple(map(cast.number, one.isrs)))
        for number, one in found.items()
    }
    return TopicSetup(name, assignment, dict(settings), starts)
