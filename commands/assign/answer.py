"""The answer of assign: the partitions, and the shares of the brokers."""

from __future__ import annotations

import shlex

from msgspec import to_builtins

from commands.shared.printing.output import Answer, cluster_object
from kreplica.monitoring.placement import AssignedTopic
from kreplica.planner.topic_placement import PlacedPartition


def answer(found: AssignedTopic) -> Answer[PlacedPartition]:
    """The answer: a row for each partition."""
    return Answer(
        command="assign",
        rows_name="partitions",
        columns=PlacedPartition,
        rows=found.rows,
        clusters=[cluster_object(snapshot) for snapshot in found.reading.snapshots],
        summary={
            "algorithm": found.placement.algorithm.value,
            "seed": found.placement.seed,
            "replica_assignment": replica_assignment(found),
            "brokers": [to_builtins(share) for share in found.placement.brokers],
        },
        warnings=[*found.reading.warnings(), *found.missing],
    )


def replica_assignment(found: AssignedTopic) -> str:
    """The replicas as ``kafka-topics --replica-assignment`` takes them: ``1:2,2:3``."""
    return ",".join(":".join(map(str, one.replicas)) for one in found.rows)


def creation(found: AssignedTopic, topic: str) -> str:
    """The command of Kafka's tools that creates the topic with these replicas."""
    name = shlex.quote(topic)
    assignment = replica_assignment(found)
    return f"kafka-topics.sh --bootstrap-server HOST:PORT --create --topic {name} --replica-assignment {assignment}"
