"""ISRs that a controller with ZooKeeper writes when a replica goes offline: equal to those of Kafka's own classes."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.broker_failure import zookeeper_remove_from_isr_until_1_0
from kreplica.engine.rules.controller.isr import zookeeper_remove_from_isr
from kreplica.engine.rules.replication.replica_set import NO_LEADER, contains
from kreplica.engine.versions.supported import version_named


def members(text: str) -> int:
    """A set of brokers, by bits."""
    return sum(1 << int(broker) for broker in text.split(",") if broker)


@pytest.mark.parametrize(("release", "lines"), answers("isr-removals.txt"))
def test_a_replica_that_goes_offline_leaves_the_isr_as_in_kafka(release: str, lines: list[str]) -> None:
    """KafkaController.removeReplicaFromIsr up to 0.11, ReplicaStateMachine.doRemoveReplicasFromIsr since 1.1."""
    keeps, emptied = version_named(release).keeps_last_in_sync, False
    for line in lines:
        asked, _, expected = line.partition(" | ")
        leader, in_sync, gone, unclean = asked.split()
        isr, replica = members(in_sync), int(gone)
        if not contains(isr, replica):
            assert expected == "-", line
            continue
        if keeps:
            found = zookeeper_remove_from_isr(replica, int(leader), isr)
        else:
            found = zookeeper_remove_from_isr_until_1_0(replica, int(leader), isr, unclean == "true")
        new_leader, _, new_isr = expected.partition(" ")
        assert found == (NO_LEADER if new_leader == "-1" else int(new_leader), members(new_isr)), line
        emptied = emptied or not members(new_isr)
    assert emptied is not keeps
