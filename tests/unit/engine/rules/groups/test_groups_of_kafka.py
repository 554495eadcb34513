"""Heartbeats and commits of KIP-848's members, and values of auto.offset.reset: as Kafka's own classes take them."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.groups.group_epochs import validate_heartbeat_epoch
from kreplica.engine.rules.groups.offset_commit import commit_to_consumer_group
from kreplica.engine.rules.groups.offset_reset import BY_DURATION, reset_policy
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version


def partitions(word: str) -> int:
    return 0 if word == "none" else sum(1 << int(one) for one in word.split(","))


def heartbeat(words: list[str], version: Version) -> str:
    sent, epoch, previous = map(int, words[:3])
    owned = None if words[3] == "-" else partitions(words[3])
    assigned = partitions(words[4])
    return validate_heartbeat_epoch(sent, epoch, previous, owned, assigned, version.members_rejoin).name


def commit(words: list[str], version: Version) -> str:
    members, sender, epoch, sent, transactional, since = words
    assigned = int(since) if since != "-" and version.assignment_epochs else None
    present = int(epoch) if sender == "m" else None
    named = sender != "-"
    return commit_to_consumer_group(
        int(members), present, int(sent), transactional == "true", False, assigned, named
    ).name


def answer(expected: str, words: list[str]) -> str:
    """A transaction's commit is answered otherwise: OffsetMetadataManager.validateTransactionalOffsetCommit."""
    return "ILLEGAL_GENERATION" if expected == "STALE_MEMBER_EPOCH" and words[4] == "true" else expected


@pytest.mark.parametrize(("release", "lines"), answers("consumer-groups.txt"))
def test_a_member_is_answered_as_by_kafka(release: str, lines: list[str]) -> None:
    """GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid, ConsumerGroup.validateOffsetCommit."""
    version, seen = version_named(release), set()
    for line in lines:
        (what, *words), expected = line.partition(" | ")[0].split(), line.partition(" | ")[2]
        if what == "begins":
            assert version.groups_begin_at_epoch == int(expected)
        else:
            told = (heartbeat if what == "heartbeat" else commit)(words, version)
            assert told == answer(expected, words), line
        seen.add((what, expected == "NONE"))
    assert {(what, taken) for what in ("heartbeat", "commit") for taken in (False, True)} < seen


@pytest.mark.parametrize(("release", "lines"), answers("resets.txt"))
def test_a_consumer_takes_the_policies_of_kafka(release: str, lines: list[str]) -> None:
    """ConsumerConfig's validator, AutoOffsetResetStrategy.fromString."""
    version = version_named(release)
    for line in lines:
        value, _, expected = line.partition(" | ")
        policy = reset_policy(value)
        if policy is not None and policy.name == BY_DURATION and not version.resets_by_duration:
            policy = None
        told = "refused" if policy is None else str(policy.duration_ms) if policy.name == BY_DURATION else "taken"
        assert told == expected, line
