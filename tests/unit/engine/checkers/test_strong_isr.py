"""Strong ISR on traces written by hand, and on runs of an engine without the rule that it guards."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
from suite.second_python import first_on_each

from kreplica.engine import Event, Judge, Trace, cluster, observe, version_named
from kreplica.engine.checkers.invariants import Invariant
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.fault_plan import At, Crash, Cut, ElectPreferred, Step
from kreplica.engine.fuzzing.setups import random_run
from kreplica.engine.setup import SECOND, PartitionStart, ProducerSetup, TopicSetup, sends
from kreplica.engine.trace import KINDS, Kind, Record

ONE, TWO, THREE = "broker-1", "broker-2", "broker-3"
P = "t-0"
M1, M2 = Record(0, "m1"), Record(0, "m2")


MENDED = {"positions_outlive_leaders": False, "known_state_ends_pending": False}
"""A Kafka that does not overlook what followers lack."""


def judge(*events: tuple[object, ...], version: str = "4.1", unclean: bool = False, mended: bool = False) -> Outcome:
    setup = cluster(3, TopicSetup("t", ((1, 2, 3),), {"unclean.leader.election.enable": unclean}))
    trace = Trace()
    rules = version_named(version)
    folds = Judge(setup, replace(rules, **MENDED) if mended else rules, trace)
    for time, (kind, node, *values) in zip(count(0, 1000), events, strict=False):
        assert len(values) == len(KINDS[str(kind)].fields), kind
        trace.emit(time, str(kind), str(node), tuple(values))
    return folds.outcome(1_000_000)


def decided(isr: tuple[int, ...], elr: tuple[int, ...] = (), leader: int = 1) -> tuple[object, ...]:
    return (Kind.PARTITION_CHANGED, "controller-3001", P, leader, 0, isr, elr, 0, "", "")


def written(isr: tuple[int, ...]) -> tuple[object, ...]:
    return (Kind.ZNODE_WRITTEN, "zookeeper", "/brokers/partitions/t-0", (1, 1, 0, isr), 0)


def append(node: str, base: int, role: str, *records: Record) -> tuple[object, ...]:
    return (Kind.APPENDED, node, P, base, base + len(records), records, role)


def mark(node: str, offset: int, role: str = "leader") -> tuple[object, ...]:
    return (Kind.HIGH_WATERMARK, node, P, offset, role)


LED = (Kind.BECAME_LEADER, ONE, P, 0, (1, 2, 3), 0)
ON_ALL = (append(ONE, 0, "leader", M1, M2), append(TWO, 0, "follower", M1, M2), append(THREE, 0, "follower", M1, M2))
ON_TWO = (append(ONE, 0, "leader", M1, M2), append(TWO, 0, "follower", M1, M2), append(THREE, 0, "follower", M1))


def lacking(outcome: Outcome) -> list[tuple[str, int]]:
    """At which node which offset is missing."""
    assert {found.invariant for found in outcome.findings} <= {Invariant.STRONG_ISR}
    return [(found.node, found.offset) for found in outcome.findings]


def overlooked(outcome: Outcome) -> list[tuple[str, int]]:
    """The same of what Kafka's own code does."""
    return [(found.node, found.offset) for found in outcome.known]


def position(follower: int, end: int) -> tuple[object, ...]:
    return (Kind.FOLLOWER_POSITION, ONE, P, follower, end)


@pytest.mark.parametrize(("version", "isr"), [("4.1", decided((1, 2, 3))), ("3.9", written((1, 2, 3)))])
def test_a_high_watermark_that_a_member_has_not_reached(version: str, isr: tuple[object, ...]) -> None:
    assert lacking(judge(isr, LED, *ON_ALL, mark(ONE, 2), version=version)) == []
    assert lacking(judge(isr, LED, *ON_TWO, mark(ONE, 1), version=version)) == []
    assert lacking(judge(isr, LED, *ON_TWO, mark(ONE, 1), mark(ONE, 2), version=version)) == [(THREE, 1)]


def test_a_member_that_holds_something_else() -> None:
    other = append(THREE, 1, "follower", Record(1, "m3"))
    assert lacking(judge(decided((1, 2, 3)), LED, *ON_TWO, other, mark(ONE, 2))) == [(THREE, 1)]


def test_joining_without_what_is_committed() -> None:
    events = decided((1, 2)), LED, *ON_TWO, mark(ONE, 2)
    assert lacking(judge(*events)) == []
    assert lacking(judge(*events, decided((1, 2, 3)))) == [(THREE, 1)]
    assert lacking(judge(*events, append(THREE, 1, "follower", M2), decided((1, 2, 3)))) == []


def test_the_elr_counts_where_the_isr_is_empty() -> None:
    events = decided((1, 2)), LED, *ON_TWO, mark(ONE, 2)
    assert lacking(judge(*events, decided((1,), (2, 3)))) == []
    assert lacking(judge(*events, decided((), (1, 2), -1))) == []
    assert lacking(judge(*events, decided((), (2, 3), -1))) == [(THREE, 1)]


def test_a_member_that_cuts_what_is_committed() -> None:
    events = decided((1, 2)), LED, *ON_ALL, mark(ONE, 2)
    assert lacking(judge(*events, (Kind.TRUNCATED, THREE, P, 2, 1, ""))) == []
    assert lacking(judge(*events, (Kind.TRUNCATED, TWO, P, 2, 1, ""))) == [(TWO, 1)]


def test_a_recovery_without_what_is_committed() -> None:
    events = decided((1, 2, 3)), LED, *ON_ALL, mark(ONE, 2)
    recovered = (Kind.RECOVERED, TWO, P, 1, 1, 1)
    assert lacking(judge(*events, (Kind.CRASHED, TWO, False), (Kind.STARTED, TWO), recovered)) == [(TWO, 1)]


def test_nothing_is_promised_of_disks_that_lost_records() -> None:
    events = decided((1, 2, 3)), LED, *ON_ALL, mark(ONE, 2)
    power = (Kind.CRASHED, TWO, True), (Kind.STARTED, TWO), (Kind.RECOVERED, TWO, P, 1, 1, 1)
    disk = (Kind.CRASHED, TWO, False), (Kind.DISK_LOST, TWO), (Kind.STARTED, TWO)
    for lost in (power, disk):
        assert lacking(judge(*events, *lost, append(ONE, 2, "leader", Record(0, "m3")))) == []
        again = decided((1, 3)), decided((1, 2, 3))
        assert [node for node, _ in lacking(judge(*events, *lost, *again))] == [TWO]


def test_nothing_is_promised_with_unclean_elections() -> None:
    events = decided((1, 2)), LED, *ON_TWO, mark(ONE, 2)
    uncleanly = decided((3,), (), 3)
    asked = (Kind.FAULT, "plan", "elect-unclean", P)
    assert lacking(judge(*events, uncleanly)) == [(THREE, 1)]
    assert lacking(judge(*events, uncleanly, unclean=True)) == []
    assert lacking(judge(*events, asked, uncleanly)) == []


@pytest.mark.parametrize("version", first_on_each(["2.1", "3.9", "4.1"]))
def test_a_random_run_is_checked_and_holds(version: str) -> None:
    rules = version_named(version)
    setup, plan = random_run(3, rules)
    seen: list[Event] = []
    outcome, seen = observe(setup, plan, rules, 3)
    kinds = {event.kind for event in seen}
    assert {Kind.HIGH_WATERMARK, Kind.ZNODE_WRITTEN if version < "4" else Kind.PARTITION_CHANGED} <= kinds
    assert outcome.findings == ()


ELSEWHERE = ((Kind.BECAME_LEADER, THREE, P, 1, (1, 2, 3), 1), (Kind.TRUNCATED, TWO, P, 2, 1, ""))
"""Broker 3 leads without the second record, and broker 2 cuts it."""
AGAIN = (Kind.BECAME_LEADER, ONE, P, 2, (1, 2), 2)


def test_a_leader_that_has_not_heard_of_another_overlooks_what_was_cut() -> None:
    events = decided((1, 2)), LED, *ON_TWO, mark(ONE, 1), *ELSEWHERE, AGAIN
    found = judge(*events, mark(ONE, 2))
    assert (lacking(found), overlooked(found)) == ([], [(TWO, 1)])
    assert lacking(judge(*events, mark(ONE, 2), mended=True)) == [(TWO, 1)]


def test_a_leader_that_resigned_or_heard_of_positions_overlooks_nothing() -> None:
    before = decided((1, 2)), LED, *ON_TWO, mark(ONE, 1)
    for heard in ((Kind.RESIGNED, ONE, P, 0), (Kind.CRASHED, ONE, False)):
        assert lacking(judge(*before, heard, *ELSEWHERE, AGAIN, mark(ONE, 2))) == [(TWO, 1)]
    assert lacking(judge(*before, *ELSEWHERE, position(2, 1), AGAIN, mark(ONE, 2))) == [(TWO, 1)]
    assert lacking(judge(*before, ELSEWHERE[1], AGAIN, mark(ONE, 2))) == [(TWO, 1)], "nobody else led"
    cut_again = (Kind.TRUNCATED, TWO, P, 2, 1, "")
    caught_up = AGAIN, mark(ONE, 2), append(TWO, 1, "follower", M2), position(2, 2)
    assert lacking(judge(*before, *ELSEWHERE, *caught_up, cut_again)) == [(TWO, 1)]


def test_a_leader_that_forgot_a_pending_isr_overlooks_the_new_member() -> None:
    forgets = (Kind.ISR_FORGOTTEN, ONE, P, (1, 2, 3), (1, 2))
    before, joined = (decided((1, 2)), LED, *ON_TWO, mark(ONE, 1)), (mark(ONE, 2), decided((1, 2, 3)))
    found = judge(*before, forgets, *joined)
    assert (lacking(found), overlooked(found)) == ([], [(THREE, 1)])
    assert lacking(judge(*before, forgets, *joined, mended=True)) == [(THREE, 1)]
    assert lacking(judge(*before, *joined)) == [(THREE, 1)]


@pytest.mark.parametrize("version", ["2.1", "3.9"])
def test_kafka_counts_a_position_from_before_leaders_it_missed(version: str) -> None:
    """Broker 2 is not told that broker 3 leads, and leads again once broker 3 and the controller are gone."""
    values = [f"m{number}" for number in range(12)]
    setup = cluster(
        4,
        TopicSetup("t", ((3, 2, 4),), starts={0: PartitionStart(2, (3, 2, 4))}),
        clients=(ProducerSetup("producer", sends(P, *values, start=SECOND, every=SECOND), {"acks": -1}),),
        duration=40 * SECOND,
    ).with_settings({"auto.leader.rebalance.enable": False})
    steps = {
        10.5: (Cut(TWO, THREE, 3 * SECOND, True), Cut(ONE, TWO, 30 * SECOND, True)),
        11.2: (ElectPreferred(P),),
        12.0: (Crash(ONE), Crash(THREE)),
    }
    plan = tuple(Step(At(int(time * SECOND)), action) for time, actions in steps.items() for action in actions)
    rules = version_named(version)
    played, _ = observe(setup, plan, rules)
    assert (lacking(played), overlooked(played)) == ([], [("broker-4", 10)])
    mended, _ = observe(setup, plan, replace(rules, **MENDED))
    assert (lacking(mended), overlooked(mended)) == ([], [])
