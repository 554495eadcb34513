"""Followers and what leaders know of them: equal to what Kafka's own classes of old releases say in random cases."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import pytest

from kreplica.engine.rules.replication.fetching import (
    out_of_range_end,
    out_of_range_halts,
    updates_follower_fetch_state,
)
from kreplica.engine.rules.replication.follower_lag import last_caught_up_after_fetch
from kreplica.engine.rules.replication.leader_and_isr import keeps_positions, makes_follower
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.versions.supported import version_named

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes"


def by_release(name: str) -> list[tuple[str, list[str]]]:
    """The lines of a file, for each release that printed some."""
    lines = [line.partition(" | ") for line in (GOLDEN / name).read_text().splitlines()]
    return [(release, [told for *_, told in group]) for release, group in groupby(lines, key=lambda line: line[0])]


@pytest.mark.parametrize(("release", "lines"), by_release("followers.txt"))
def test_whoever_begins_to_follow_anew_does_so_in_kafka(release: str, lines: list[str]) -> None:
    """Partition.makeFollower: leader, epoch and answer, one after the other from the start of a broker on."""
    followed_on = version_named(release).epochs_followed_on
    answers = []
    for line in lines:
        told = [word.split(":") for word in line.split()]
        known = [(str(NO_LEADER), "-1", ""), *told]
        for (leader_before, before, _), (leader, epoch, expected) in pairwise(known):
            found = makes_follower(int(leader), int(leader_before), int(epoch), int(before), followed_on)
            assert found is (expected == "true"), line
            answers.append(found)
    assert {True, False} == set(answers)


def test_positions_are_kept_by_whoever_has_not_heard_of_another_leader() -> None:
    """Partition.makeLeader: isNewLeader is asked, not how many leader epochs were missed."""
    assert keeps_positions(6, 3, outlive_leaders=True)
    assert not keeps_positions(6, 3, outlive_leaders=False)
    assert keeps_positions(4, 3, outlive_leaders=False)


@pytest.mark.parametrize(("release", "lines"), by_release("out-of-range.txt"))
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
        done = "keep" if new_end == end else f"begin {new_start}" if new_start >= 0 else f"cut {new_end}"
        assert f"{done} {new_end}" == expected, line
    assert any(line.endswith("ends") for line in lines) is needs_unclean


@pytest.mark.parametrize(("release", "lines"), by_release("follower-positions.txt"))
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


@pytest.mark.parametrize(("release", "lines"), by_release("fetch-states.txt"))
def test_positions_are_noted_of_the_answers_of_which_kafka_notes_them(release: str, lines: list[str]) -> None:
    """ReplicaManager.updateFollowerFetchState: with an error, with a diverging epoch, whether it is noted."""
    noted = version_named(release).diverging_position_noted
    for line in lines:
        refused, diverging, _, expected = line.split()
        assert updates_follower_fetch_state(refused == "true", diverging == "true", noted) is (expected == "true")
    assert len(lines) == 4
