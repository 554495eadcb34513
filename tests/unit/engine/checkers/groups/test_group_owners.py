"""Partitions that two members of a group have at the same time."""

from __future__ import annotations

import pytest

from kreplica.engine.checkers.groups.owners import owned_twice
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.trace import Event, Kind

COORDINATOR = "broker-3"
MODERN, CLASSIC = "group_epochs.reconcile", "assignors.range_assignor"


def known(*names: str, group: str = "billing") -> Event:
    members = tuple(f"{name}.1" for name in names)
    return Event(0, Kind.GROUP_CHANGED, COORDINATOR, (group, "Stable", 2, members, "", ""))


def assigned(node: str, *partitions: str, generation: int = 2, group: str = "billing", rule: str = MODERN) -> Event:
    return Event(0, Kind.ASSIGNED, node, (group, generation, partitions, rule))


def refused(node: str) -> Event:
    answer = (COORDINATOR, 0, "ConsumerGroupHeartbeat answer", (ErrorCode.FENCED_MEMBER_EPOCH, 0, ()))
    return Event(0, Kind.MESSAGE, node, answer)


BOTH = known("a", "b")
FIRST = assigned("a", "orders-0", "orders-1")


def test_a_partition_of_two_members_is_found_once() -> None:
    again = assigned("b", "orders-1", generation=3)
    assert owned_twice([BOTH, FIRST, again, again]) == ("orders-1",)


@pytest.mark.parametrize(
    "between",
    [
        [known("b")],
        [assigned("a", "orders-0", generation=3)],
        [refused("a")],
        [Event(0, Kind.CRASHED, "a", (False,))],
        [Event(0, Kind.STOPPED, "a", ())],
    ],
    ids=["no member any more", "given up", "fenced", "crashed", "stopped"],
)
def test_who_has_lost_or_given_up_a_partition_does_not_have_it(between: list[Event]) -> None:
    assert owned_twice([BOTH, FIRST, *between, assigned("b", "orders-1", generation=3)]) == ()


def test_another_group_may_read_the_same_partition() -> None:
    other = [known("b", group="other"), assigned("b", "orders-1", group="other")]
    assert owned_twice([known("a"), FIRST, *other]) == ()


@pytest.mark.parametrize(("generation", "twice"), [(2, ("orders-1",)), (3, ())])
def test_in_the_classic_protocol_a_later_generation_has_everything_given_up(
    generation: int, twice: tuple[str, ...]
) -> None:
    first = assigned("a", "orders-1", rule=CLASSIC)
    assert owned_twice([BOTH, first, assigned("b", "orders-1", generation=generation, rule=CLASSIC)]) == twice
