"""Controllers in either mode: what Kafka's own classes write, begin, end and elect, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.balance import zookeeper_balances
from kreplica.engine.rules.controller.reassignment import (
    completes,
    zookeeper_merged,
    zookeeper_missing,
)
from kreplica.engine.rules.replication.log_directory import broker_stops
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

Brokers = tuple[int, ...]


def brokers(word: str) -> Brokers:
    return () if word == "-" else tuple(map(int, word.split(",")))


def mask(some: Brokers) -> int:
    return sum(1 << broker for broker in some)


def in_mode(release: str, mode: str) -> Version:
    return version_named(release if mode == "zookeeper" else f"{release}-kraft")


@pytest.mark.parametrize(("release", "lines"), answers("failovers.txt"))
def test_a_new_controller_takes_out_of_isrs_whom_kafkas_takes_out(release: str, lines: list[str]) -> None:
    """ReplicaStateMachine.startup: replicas that change to OfflineReplica."""
    for line in lines:
        replicas, live, _, expected = line.split()
        gone = set(brokers(replicas)) - set(brokers(live))
        found = gone if version_named(release).failover_cleans_isrs else set()
        assert found == set(brokers(expected)), line
    assert any(line.endswith("-") for line in lines)


@pytest.mark.parametrize(("release", "lines"), answers("controller-writes.txt"))
def test_writes_of_a_controller_are_checked_where_kafka_has_them_checked(release: str, lines: list[str]) -> None:
    """KafkaZkClient.retryRequestsUntilConnected: the version of /controller_epoch that ZooKeeper compares."""
    checked = "/controller_epoch 7" if version_named(release).controller_epoch_checked else "-"
    assert {line.partition(" | ")[2] for line in lines} == {checked}


@pytest.mark.parametrize(("release", "lines"), answers("log-directories.txt"))
def test_a_failed_log_directory_is_told_to_whom_kafkas_broker_tells_it(release: str, lines: list[str]) -> None:
    """ReplicaManager.handleLogDirFailure: another directory is left, and the metadata log is there."""
    for line in lines:
        mode, _, ends, told = line.split()
        version = in_mode(release, mode)
        assert broker_stops(1, 2, version.failed_directories_tolerated, False) is (ends == "halts"), line
        assert version.failed_directories_told is (told != "nobody"), line


@pytest.mark.parametrize(("release", "lines"), answers("move-begins.txt"))
def test_a_move_begins_where_kafkas_controller_begins_it(release: str, lines: list[str]) -> None:
    """KafkaController.initiateReassignReplicasForTopicPartition, replicasAreValid, validateReplicas."""
    seen = set()
    for line in lines:
        replicas, target, live, stopping, _, expected = line.split()
        usable = tuple(broker for broker in brokers(live) if broker not in brokers(stopping))
        adding = zookeeper_merged(brokers(replicas), (), brokers(target))[1]
        missing = zookeeper_missing(brokers(target), adding, usable, version_named(release).moves_must_live)
        assert (not missing) is (expected == "true"), line
        seen.add(expected)
    assert "true" in seen


@pytest.mark.parametrize(("release", "lines"), answers("move-ends.txt"))
def test_a_move_ends_where_kafkas_controller_ends_it(release: str, lines: list[str]) -> None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment, KafkaController.isReassignmentComplete."""
    for line in lines:
        mode, *words = line.partition(" | ")[0].split()
        replicas, adding, removing, isr = map(brokers, words)
        awaited = in_mode(release, mode).moves_wait_for
        found = completes(mask(replicas), mask(adding), mask(removing), mask(isr), awaited)
        assert str(found).lower() == line.partition(" | ")[2], line


@pytest.mark.parametrize(("release", "lines"), answers("balances.txt"))
def test_preferred_leaders_are_elected_by_themselves_where_kafka_does_it(release: str, lines: list[str]) -> None:
    """KafkaController.checkAndTriggerAutoLeaderRebalance: another partition is moved; the preferred one is alive."""
    while_moving = version_named(release).balances_while_moving
    for line in lines:
        moving, alive, _, expected = line.split()
        found = zookeeper_balances(1, 1, 10) and alive == "true" and (moving == "false" or while_moving)
        assert str(found).lower() == expected, line
