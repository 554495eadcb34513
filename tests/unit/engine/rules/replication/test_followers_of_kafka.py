"""Followers and what leaders know of them: equal to what Kafka's own classes of old releases say in random cases."""

from __future__ import annotations

from itertools import pairwise

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.replication.fetching import (
    out_of_range_end,
    out_of_range_halts,
    position_after_error,
    processes_partition_data,
    updates_follower_fetch_state,
)
from kreplica.engine.rules.replication.follower_lag import last_caught_up_after_fetch
from kreplica.engine.rules.replication.leader_and_isr import keeps_positions, makes_follower, takes_leader
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.versions.supported import version_named

NOTED = 7


def number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


@pytest.mark.parametrize(("release", "lines"), answers("followers.txt"))
def test_whoever_begins_to_follow_anew_does_so_in_kafka(release: str, lines: list[str]) -> None:
    """Partition.makeFollower: leader, epoch and answer, one after the other from the start of a broker on."""
    followed_on = version_named(release).epochs_followed_on
    found_all = set()
    for line in lines:
        told = [word.split(":") for word in line.split()]
        known = [(str(NO_LEADER), "-1", ""), *told]
        for (leader_before, before, _), (leader, epoch, expected) in pairwise(known):
            found = makes_follower(int(leader), int(leader_before), int(epoch), int(before), followed_on)
            assert found is (expected == "true"), line
            found_all.add(found)
    assert found_all == {True, False}


def test_positions_are_kept_by_whoever_has_not_heard_of_another_leader() -> None:
    """Partition.makeLeader: isNewLeader is asked, not how many leader epochs were missed."""
    assert keeps_positions(6, 3, outlive_leaders=True)
    assert not keeps_positions(6, 3, outlive_leaders=False)
    assert keeps_positions(4, 3, outlive_leaders=False)


@pytest.mark.parametrize(("release", "lines"), answers("out-of-range.txt"))
def test_an_offset_out_of_range_leads_to_what_kafkas_fetcher_does(release: str, lines: list[str]) -> None:
    """ReplicaFetcherThread.handleOffsetOutOfRange, AbstractFetcherThread.fetchOffsetAndTruncate."""
    needs_unclean = version_named(release).truncation_needs_unclean
    for line in lines:
        asked, _, expected = line.partition(" | ")
        end, start, leader_end = (int(word) for word in asked.split()[:3])
        if out_of_range_halts(end, leader_end, asked.endswith("true"), needs_unclean):
            assert expected == "ends", line
            continue
        new_end, new_start = out_of_range_end(end, start, leader_end)
        if start <= end <= leader_end and number(release) < (0, 9, 0, 1):
            new_end = new_start = start  # no leader says that of itself with the error
        cut = "keep" if new_end == end else f"cut {new_end}"
        done = f"begin {new_start}" if new_start >= 0 else cut
        assert f"{done} {new_end}" == expected, line
    assert any(line.endswith("ends") for line in lines) is needs_unclean


@pytest.mark.parametrize(("release", "lines"), answers("broker-ends.txt"))
def test_a_broker_that_may_not_truncate_ends_as_kafkas_does(release: str, lines: list[str]) -> None:
    """Runtime.halt; System.exit in the fetcher itself, which the shutdown waits for; FatalExitError."""
    version = version_named(release)
    told = "halts" if not version.halts_by_exit else "exits" if version.exit_hangs else "throws"
    assert lines == [f"ends {told}"]


@pytest.mark.parametrize(("release", "lines"), answers("old-followers.txt"))
def test_a_leader_that_is_not_alive_is_taken_where_kafka_takes_it(release: str, lines: list[str]) -> None:
    """ReplicaManager.makeFollowers."""
    ignored = version_named(release).dead_leaders_ignored
    for line in lines:
        alive, _, expected = line.split()
        assert takes_leader(alive == "true", ignored) is (expected == "true"), line


@pytest.mark.parametrize(("release", "lines"), answers("failed-fetches.txt"))
def test_a_fetch_that_fails_leaves_the_position_that_kafkas_broker_has(release: str, lines: list[str]) -> None:
    """KafkaApis.maybeUpdatePartitionHw, before the read; recordFollowerLogEndOffsets, after it: a fetch at offset 4."""
    version = version_named(release)
    before = 4 if version.position_before_read else NOTED
    assert lines == [str(position_after_error(before, version.errors_forget_position))]


@pytest.mark.parametrize(("release", "lines"), answers("isr-reports.txt"))
def test_the_controller_is_to_hear_of_an_isr_where_kafkas_leader_notes_it(release: str, lines: list[str]) -> None:
    """Partition.updateIsr, ReplicaManager.recordIsrChange."""
    assert lines == [str(version_named(release).isr_notification).lower()]


@pytest.mark.parametrize(("release", "lines"), answers("old-leaders.txt"))
def test_positions_outlive_other_leaders_where_they_do_in_kafka(release: str, lines: list[str]) -> None:
    """Partition.makeLeader: who led last, as the broker knows, and the position that it has of its follower then."""
    version, kept = version_named(release), False
    for line in lines:
        position, led = -1, False
        for word in line.split():
            what, *values = word.split(":")
            if what == "fetch":
                position = int(values[0])
            if what == "lead":
                if not (led and version.positions_outlive_leaders):
                    position = -1
                kept = kept or position >= 0
                assert position == int(values[1]), line
            led = led if what == "fetch" else what == "lead"
    assert kept is version.positions_outlive_leaders


@pytest.mark.parametrize(("release", "lines"), answers("follower-positions.txt"))
def test_a_follower_has_caught_up_when_kafkas_replica_says_so(release: str, lines: list[str]) -> None:
    """Replica.updateLogReadResult, updateFetchState, updateFetchStateOrThrow: offset, leader's end, time, answer."""
    looks_back = version_named(release).waits_for_joining
    for line in lines:
        caught_up = end_before = time_before = 0
        for word in line.split():
            offset, end, time, expected = map(int, word.split(":"))
            caught_up = last_caught_up_after_fetch(caught_up, offset, end, end_before, time_before, time, looks_back)
            assert caught_up == expected, line
            end_before, time_before = end, time


@pytest.mark.parametrize(("release", "lines"), answers("fetch-states.txt"))
def test_positions_are_noted_of_the_answers_of_which_kafka_notes_them(release: str, lines: list[str]) -> None:
    """ReplicaManager.updateFollowerFetchState: with an error, with a diverging epoch; which position it notes."""
    version = version_named(release)
    for line in lines:
        refused, diverging, _, expected = line.split()
        noted = updates_follower_fetch_state(refused == "true", diverging == "true", version.diverging_position_noted)
        position = 4 if noted else NOTED
        if refused == "true":
            position = position_after_error(position, version.errors_forget_position)
        assert (str(position) if position != NOTED else "-") == expected, line
    assert len(lines) in (2, 4)


@pytest.mark.parametrize(("release", "lines"), answers("fetchers.txt"))
def test_a_follower_does_with_an_answer_what_kafkas_fetcher_does(release: str, lines: list[str]) -> None:
    """AbstractFetcherThread.processFetchRequest: records and watermark, and the cut where the logs diverge."""
    version = version_named(release)
    for line in lines:
        diverging, _, *expected = line.split()
        told = diverging == "true" and version.truncate_on_fetch
        takes = processes_partition_data(told, version.watermark_before_cut)
        assert [word for word, done in (("takes", takes), ("cuts", told)) if done] == expected, line
