"""Consumers that read from followers: whom a leader names, when, and when they go back, as by Kafka's own classes."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.follower_reads import (
    goes_to_leader,
    preferred_read_replica,
    readable_replicas,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER, everybody
from kreplica.engine.versions.supported import version_named

LEADER = 0
OTHERS = {"REPLICA_NOT_AVAILABLE": 9, "KAFKA_STORAGE_ERROR": 56}
"""Errors that no rule of the engine gives."""


@pytest.mark.parametrize(("release", "lines"), answers("preferred-replicas.txt"))
def test_a_leader_names_the_follower_that_kafkas_leader_names(release: str, lines: list[str]) -> None:
    """ReplicaManager.findPreferredReadReplica: brokers 1, 2, 3, of which 1 leads, in another rack."""
    in_sync_only, seen = version_named(release).reads_in_sync_only, set()
    for line in lines:
        isr, starts, ends, offset, _, expected = line.split()
        in_sync = sum(1 << int(broker) - 1 for broker in isr.split(","))
        log_starts, log_ends = (0, *map(int, starts.split(":"))), tuple(map(int, ends.split(":")))
        candidates = in_sync if in_sync_only else everybody(3)
        readable = readable_replicas(candidates, LEADER, int(offset), log_starts, log_ends)
        found = preferred_read_replica(readable, LEADER, 0b110, log_ends, (0, 50, 50), (1, 2, 3))
        assert ("-" if found == NO_LEADER else str(found + 1)) == expected, line
        seen.add(expected)
    assert seen == {"-", "2", "3"}


@pytest.mark.parametrize(("release", "lines"), answers("redirects.txt"))
def test_a_consumer_is_sent_away_when_kafkas_broker_sends_it(release: str, lines: list[str]) -> None:
    """ReplicaManager.fetchMessages: with a preferred replica, and bytes to read."""
    for line in lines:
        redirected, size, _, expected = line.split()
        at_once = int(size) > 0 or (redirected == "true" and version_named(release).redirects_at_once)
        assert at_once is (expected == "true"), line


@pytest.mark.parametrize(("release", "lines"), answers("consumer-errors.txt"))
def test_an_error_leads_to_the_leader_where_kafkas_consumer_goes_there(release: str, lines: list[str]) -> None:
    """Fetcher.initializeCompletedFetch, FetchCollector.handleInitializeErrors."""
    leads = version_named(release).errors_lead_to_leader
    for line in lines:
        error, _, expected = line.split()
        code = OTHERS[error] if error in OTHERS else ErrorCode[error]
        assert goes_to_leader(True, code, leads) is (expected == "true"), line
