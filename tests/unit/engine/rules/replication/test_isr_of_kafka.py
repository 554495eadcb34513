"""Followers that join the ISR, and that lag: equal to what Kafka's own class says, release by release."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.follower_lag import is_caught_up, may_join_isr
from kreplica.engine.rules.replication.replica_set import only
from kreplica.engine.versions.supported import version_named

LEADER, FOLLOWER = 0, 1
RELEASES = answers("in-sync.txt")


def numbers(line: str) -> tuple[list[int], bool, bool]:
    """Numbers of a case, whether the follower joins, whether it lags."""
    *told, joins, lags = line.split()
    return [int(number) for number in told], joins == "true", lags == "true"


@pytest.mark.parametrize(("release", "lines"), RELEASES, ids=[release for release, _ in RELEASES])
def test_a_follower_joins_where_kafkas_partition_takes_it(release: str, lines: list[str]) -> None:
    """Partition.maybeExpandIsr up to 2.1, isFollowerAtHighwatermark, isFollowerInSync: with its epoch since 2.0.1."""
    at_epoch_start, seen = version_named(release).join_at_epoch_start, set[bool]()
    for line in lines:
        (end, _, high_watermark, start, *_), joins, _ = numbers(line)
        everyone = only(LEADER) | only(FOLLOWER)
        found = may_join_isr(FOLLOWER, only(LEADER), everyone, end, high_watermark, start, at_epoch_start)
        assert found is joins, line
        seen.add(joins)
    assert seen == {True, False}
    assert len(lines) == 60


@pytest.mark.parametrize(("release", "lines"), RELEASES, ids=[release for release, _ in RELEASES])
def test_a_follower_lags_where_kafkas_partition_says_so(release: str, lines: list[str]) -> None:
    """Partition.getOutOfSyncReplicas up to 2.1, isFollowerOutOfSync: not with the leader's end since 2.1."""
    end_suffices, seen = version_named(release).end_suffices, set[bool]()
    for line in lines:
        (end, leader_end, _, _, caught_up, now, lag), _, lags = numbers(line)
        assert is_caught_up(end, leader_end, caught_up, now, lag, end_suffices) is not lags, line
        seen.add(lags)
    assert seen == {True, False}


def test_the_releases_differ_where_the_rules_do() -> None:
    """KAFKA-7128 is between 2.0.0 and 2.0.1, KAFKA-7152 between 2.0.1 and 2.1.1."""
    told = dict(RELEASES)
    joins = {release: [numbers(line)[1] for line in lines] for release, lines in told.items()}
    lags = {release: [numbers(line)[2] for line in lines] for release, lines in told.items()}
    assert joins["0.10.2.2"] == joins["2.0.0"] != joins["2.0.1"] == joins["2.1.1"] == joins["2.8.0"] == joins["4.3.1"]
    assert lags["0.10.2.2"] == lags["2.0.1"] != lags["2.1.1"] == lags["2.8.0"] == lags["4.3.1"]
