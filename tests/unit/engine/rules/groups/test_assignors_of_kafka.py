"""Partitions that Kafka's own assignors of 4.3.1 give to members, and those that the rules give."""

from __future__ import annotations

from pathlib import Path

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.groups.assignors import (
    Assignment,
    TopicPartition,
    cooperative_adjustment,
    range_assignor,
    round_robin_assignor,
    sticky_assignor,
    uniform_assignor,
)
from kreplica.engine.versions.supported import version_named

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes" / "assignors.txt"


def lines_of(assignor: str) -> list[list[str]]:
    lines = [line.split("|")[1:] for line in GOLDEN.read_text().splitlines() if line.startswith(f"{assignor} ")]
    assert len(lines) >= 50
    return lines


def counts(text: str) -> dict[str, int]:
    return {word[0]: int(word[1:]) for word in text.split()}


def held(text: str) -> Assignment:
    found: dict[str, tuple[TopicPartition, ...]] = {}
    for word in text.split():
        member, partitions = word.split(":")
        found[member] = tuple((one[0], int(one[1:])) for one in partitions.split(",") if one)
    return found


def in_order(assignment: Assignment) -> Assignment:
    return {member: tuple(sorted(partitions)) for member, partitions in assignment.items()}


@pytest.mark.parametrize(("name", "assignor"), [("range", range_assignor), ("roundrobin", round_robin_assignor)])
def test_who_remembers_nothing(name: str, assignor: object) -> None:
    assert callable(assignor)
    for partitions, members, _, expected in lines_of(name):
        words = [word.split(":") for word in members.split()]
        subscriptions = {word[0]: tuple(word[1]) for word in words}
        instances = {word[0]: word[2] for word in words if len(word) > 2}
        found = assignor(subscriptions, counts(partitions), instances)
        assert in_order(found) == held(expected), (partitions, members)


@pytest.mark.parametrize(("name", "assignor"), [("sticky", sticky_assignor), ("uniform", uniform_assignor)])
def test_who_lets_members_keep_what_they_have(name: str, assignor: object) -> None:
    assert callable(assignor)
    for partitions, _, owned, expected in lines_of(name):
        assert in_order(assignor(held(owned), counts(partitions))) == held(expected), (partitions, owned)


@pytest.mark.parametrize(("release", "lines"), answers("uniform.txt"))
def test_who_keeps_one_more_than_others_changed_in_4_0_1(release: str, lines: list[str]) -> None:
    """UniformHomogeneousAssignmentBuilder, KAFKA-18688."""
    more_stays = version_named(release).more_stays
    for line in lines:
        _, partitions, _, owned, expected = line.split("|")
        found = uniform_assignor(held(owned), counts(partitions), more_stays)
        assert in_order(found) == held(expected), line


def test_nobody_gets_what_another_still_has() -> None:
    for partitions, _, owned, expected in lines_of("cooperative-sticky"):
        found = cooperative_adjustment(held(owned), sticky_assignor(held(owned), counts(partitions)))
        assert in_order(found) == held(expected), (partitions, owned)
