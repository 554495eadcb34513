"""Maximal ISR and high watermark of a leader: equal to what Kafka's own class says, release by release."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.alter_partition import maximal_isr
from kreplica.engine.rules.replication.follower_lag import is_caught_up
from kreplica.engine.rules.replication.high_watermark import (
    effective_min_isr,
    high_watermark_stands_still,
    leader_high_watermark,
    replicas_that_hold_it,
)
from kreplica.engine.rules.replication.replica_set import everybody, members, only, without
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

RELEASES = answers("high-watermarks.txt")
LEADER, REPLICAS = 0, 4


class Case(NamedTuple):
    """One line: sets of replicas by place, the leader first; and what Kafka's class made of it."""

    isr: int
    asked: int
    ends: list[int]
    caught_up: list[int]
    now: int
    lag: int
    live: int
    min_isr: int
    high_watermark: int
    maximal: int
    answer: int


def places(brokers: str) -> int:
    """Brokers 1, 2, ... as places; a hyphen where there is none."""
    return 0 if brokers == "-" else sum(only(int(broker) - 1) for broker in brokers.split(","))


def case(line: str) -> Case:
    """What a line says."""
    isr, asked, ends, caught_up, now, lag, live, min_isr, high_watermark, maximal, answer = line.split()
    change = places(asked[1:]) if asked != "none" else 0
    return Case(
        places(isr),
        without(places(isr), change) if asked[0] == "-" else places(isr) | change,
        [int(end) for end in ends.split(":")],
        [int(now), *map(int, caught_up.split(":"))],
        int(now),
        int(lag),
        only(LEADER) | places(live),
        int(min_isr),
        int(high_watermark),
        places(maximal),
        int(answer),
    )


def maximal_of(version: Version, told: Case) -> int:
    """The maximal ISR by the engine's rules; before AlterPartition a leader asks nobody."""
    return maximal_isr(told.isr, told.asked, version.alter_partition and told.asked != told.isr)


def high_watermark_of(version: Version, told: Case) -> int:
    """The high watermark by the engine's rules, as Leadership.advance asks them."""
    min_isr = effective_min_isr(told.min_isr, REPLICAS)
    if version.freeze_below_min_isr and high_watermark_stands_still(told.isr, min_isr):
        return told.high_watermark
    end = told.ends[LEADER]
    caught_up = sum(
        only(place)
        for place in members(everybody(REPLICAS))
        if version.waits_for_joining
        and is_caught_up(told.ends[place], end, told.caught_up[place], told.now, told.lag, version.end_suffices)
    )
    eligible = told.live if version.waits_only_for_eligible else everybody(REPLICAS)
    holding = replicas_that_hold_it(everybody(REPLICAS), LEADER, maximal_of(version, told), caught_up, eligible)
    return leader_high_watermark(told.high_watermark, told.ends, holding)


@pytest.mark.parametrize(("release", "lines"), RELEASES, ids=[release for release, _ in RELEASES])
def test_the_maximal_isr_and_the_high_watermark_are_those_of_kafkas_partition(release: str, lines: list[str]) -> None:
    """IsrState and PartitionState.maximalIsr, Partition.maybeIncrementLeaderHW."""
    version, moved = version_named(release), set[bool]()
    for line in lines:
        told = case(line)
        assert maximal_of(version, told) == told.maximal, line
        assert high_watermark_of(version, told) == told.answer, line
        moved.add(told.answer > told.high_watermark)
    assert moved == {True, False}
    assert len(lines) == 80


@pytest.mark.parametrize(
    ("release", "rule", "other"),
    [
        ("0.10.2.2", "waits_for_joining", False),
        ("2.0.0", "alter_partition", True),
        ("2.7.0", "alter_partition", False),
        ("3.3.2", "waits_only_for_eligible", True),
        ("3.9.2", "waits_only_for_eligible", False),
        ("3.3.2", "freeze_below_min_isr", True),
        ("4.3.1", "freeze_below_min_isr", False),
    ],
)
def test_a_rule_of_another_release_disagrees_with_kafkas_class(release: str, rule: str, other: bool) -> None:
    """Each rule that a release changed shows in the cases: KAFKA-4485, KIP-497, KAFKA-15021, KAFKA-15583."""
    wrong = replace(version_named(release), **{rule: other})
    cases = [case(line) for line in dict(RELEASES)[release]]
    assert any(high_watermark_of(wrong, told) != told.answer for told in cases)
