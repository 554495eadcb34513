"""Liveness on traces written by hand, and on runs of an engine without the rule that it guards."""

from __future__ import annotations

from itertools import chain

import pytest

from kreplica.engine import SECOND, Judge, Setup, Trace, Version, cluster, observe, version_named
from kreplica.engine.checkers.invariants import Invariant
from kreplica.engine.checkers.liveness import recovery_bound
from kreplica.engine.checkers.outcome import Outcome
from kreplica.engine.fault_plan import (
    At,
    BreakConnection,
    Crash,
    Cut,
    DirectoryFailure,
    Plan,
    RefuseRequest,
    Start,
    Step,
)
from kreplica.engine.plans.text import detail_of, name_of
from kreplica.engine.setup import ProducerSetup, TopicSetup, sends
from kreplica.engine.simulator.broker import leadership
from kreplica.engine.trace import KINDS, Kind, Record

ONE, TWO, THREE = "broker-1", "broker-2", "broker-3"
P = "t-0"
KRAFT = version_named("4.1")
QUICK = {"replica.lag.time.max.ms": 1000, "request.timeout.ms": 1000, "broker.session.timeout.ms": 1000, "acks": -1}
TOPIC = TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 2})
SETUP = cluster(3, TOPIC, clients=(ProducerSetup("writer"),), settings=QUICK, duration=120 * SECOND)
BOUND = recovery_bound({**KRAFT.defaults, **QUICK}, KRAFT)

STAYS, ISR, WRITES = Invariant.STAYS_UNAVAILABLE, Invariant.ISR_DOES_NOT_SETTLE, Invariant.WRITES_NOT_TAKEN


def judge(*events: tuple[object, ...], plan: Plan = (), setup: Setup = SETUP, version: Version = KRAFT) -> Outcome:
    """Plays (time in seconds, kind, node, *values)."""
    trace = Trace()
    folds = Judge(setup, version, trace, plan)
    for time, kind, node, *values in events:
        assert len(values) == len(KINDS[str(kind)].fields), kind
        trace.emit(int(str(time)) * SECOND, str(kind), str(node), tuple(values))
    return folds.outcome(setup.duration)


def decided(time: int, leader: int, isr: tuple[int, ...]) -> tuple[object, ...]:
    return (time, Kind.PARTITION_CHANGED, "controller-3001", P, leader, 0, isr, (), 0, "", "")


def crashed(time: int, node: str) -> tuple[tuple[object, ...], ...]:
    return (time, Kind.FAULT, "plan", "crash", node), (time, Kind.CRASHED, node, False)


LED = (0, Kind.BECAME_LEADER, ONE, P, 0, (1, 2, 3), 0)
BEGUN = decided(0, 1, (1, 2, 3)), LED
EARLY, LATE = 5, 119


def test_the_bound_is_the_sum_of_the_timers() -> None:
    # 10 s for metadata, 1 s session, 2 s and 1 s of the quorum, 30 s + 1 s + 0.5 s to fetch again, 1.5 s lag, 1 s + 1 s
    assert BOUND == (10 + 1 + 2 + 1 + 30 + 1 + 0.5 + 1.5 + 1 + 1) * SECOND


def broken(*events: tuple[object, ...], plan: Plan = (), version: Version = KRAFT) -> list[Invariant]:
    return [found.invariant for found in judge(*events, plan=plan, version=version).findings]


def test_a_partition_that_nobody_leads_although_a_member_of_its_isr_is_there() -> None:
    gone = crashed(EARLY, ONE)
    assert broken(*BEGUN) == []
    assert broken(*BEGUN, *gone, decided(EARLY, -1, (1,))) == []  # the last in sync is down: rightly so
    assert broken(*BEGUN, *gone, decided(EARLY, -1, (1, 2))) == [STAYS]
    assert broken(*BEGUN, *gone, decided(EARLY, 1, (1, 2, 3))) == [STAYS]
    assert broken(*BEGUN, *crashed(LATE, ONE), decided(LATE, -1, (1, 2))) == []  # too early to say


def test_an_isr_that_keeps_who_is_gone_or_lacks_who_is_back() -> None:
    gone = crashed(EARLY, THREE)
    assert broken(*BEGUN, *gone) == [ISR]
    assert broken(*BEGUN, *gone, decided(EARLY, 1, (1, 2))) == []
    assert broken(*BEGUN, *gone, decided(EARLY, 1, (1, 2)), (EARLY + 1, Kind.STARTED, THREE)) == [ISR]


@pytest.mark.parametrize(("version", "missed"), [("2.1", True), ("2.2", False)])
def test_a_broker_that_was_away_briefly_is_missed_up_to_2_1(version: str, missed: bool) -> None:
    """KafkaController.BrokerChange compares ids alone: the new process is told of no partition (KIP-380)."""
    rules = version_named(version)

    def written(isr: tuple[int, ...], leader: int = 1) -> tuple[object, ...]:
        return (0, Kind.ZNODE_WRITTEN, "zookeeper", "/brokers/partitions/t-0", (1, leader, 0, isr), 0)

    def found(*events: tuple[object, ...], isr: tuple[int, ...] = (1, 2), leader: int = 1) -> list[Invariant]:
        return broken(written(isr, leader), LED, *events, version=rules)

    follower = *crashed(EARLY, THREE), (EARLY, Kind.STARTED, THREE)
    leader = *crashed(EARLY, ONE), (EARLY, Kind.STARTED, ONE)
    assert found(*follower) == ([] if missed else [ISR])
    assert found(*leader, isr=(1, 2, 3)) == ([] if missed else [STAYS])
    for heard in ((6, Kind.BROKER_UNFENCED, TWO, 3, ""), (6, Kind.CONTROLLER_ELECTED, TWO, 2, "")):
        assert found(*follower, heard) == [ISR]
    more = (6, Kind.APPENDED, ONE, P, 0, 1, (Record(0, "m1"),), "leader")
    assert found(*follower, isr=(1, 2, 3)) == []
    assert found(*follower, more, isr=(1, 2, 3)) == ([ISR, WRITES] if missed else [WRITES])  # it fetches no more
    assert found(*follower, *crashed(EARLY, ONE)) == [STAYS]  # the others are judged


def test_a_member_that_is_cut_off_may_stay_while_it_holds_everything() -> None:
    cut = Cut(THREE, ONE, 200 * SECOND)
    plan = (Step(At(time=EARLY * SECOND), cut),)
    fault = (EARLY, Kind.FAULT, "plan", "cut", "between broker-3 and broker-1 for 200000 ms")
    record = Record(0, "m1")
    more = (EARLY + 1, Kind.APPENDED, ONE, P, 0, 1, (record,), "leader"), (EARLY + 1, *_mark(ONE, 1)[1:])
    assert broken(*BEGUN, fault, plan=plan) == []
    assert set(broken(*BEGUN, fault, *more[:1], plan=plan)) == {ISR, WRITES}
    assert broken(*BEGUN, fault, decided(EARLY, 1, (1, 2)), *_both(record), plan=plan) == []


def _mark(node: str, offset: int) -> tuple[object, ...]:
    return (EARLY + 2, Kind.HIGH_WATERMARK, node, P, offset, "leader")


def _both(record: Record) -> tuple[tuple[object, ...], ...]:
    return (
        (EARLY + 1, Kind.APPENDED, ONE, P, 0, 1, (record,), "leader"),
        *((EARLY + 1, Kind.APPENDED, node, P, 0, 1, (record,), "follower") for node in (TWO, THREE)),
        _mark(ONE, 1),
    )


def test_a_failed_directory_stays_away() -> None:
    failure = (Step(At(time=EARLY * SECOND), DirectoryFailure(THREE, (P,))),)
    follows = (0, Kind.BECAME_FOLLOWER, THREE, P, 0, 1)
    fault = (EARLY, Kind.FAULT, "plan", "directory-failure", "of broker-3, with t-0")
    assert broken(*BEGUN, follows, fault, plan=failure) == [ISR]
    assert broken(*BEGUN, follows, fault, decided(EARLY, 1, (1, 2)), plan=failure) == []


def test_what_is_sent_later_is_acknowledged() -> None:
    sent = (100, Kind.SENT, "writer", P, "m1", -1)
    told = (101, Kind.ACKNOWLEDGED, "writer", P, "m1", 0, -1)
    below = decided(EARLY, 1, (1,))
    assert broken(*BEGUN, sent) == [WRITES]
    assert broken(*BEGUN, (*sent[:-1], 0)) == []  # acks=0
    assert broken(*BEGUN, (LATE, *sent[1:])) == []
    assert broken(*BEGUN, *_both(Record(0, "m1")), sent, told) == []
    assert WRITES not in broken(*BEGUN, *crashed(EARLY, TWO), *crashed(EARLY, THREE), below, sent)


@pytest.mark.parametrize(("source", "judged"), [("writer", []), ("*", []), ("another", [WRITES])])
def test_what_a_client_sends_whose_requests_are_refused_is_not_judged(source: str, judged: list[Invariant]) -> None:
    """The plan does not tell when those requests come: the next one may be the one of 100 s."""
    refusal = RefuseRequest(source, ONE, "Produce", "NOT_ENOUGH_REPLICAS")
    told = (EARLY, Kind.FAULT, "plan", name_of(refusal), detail_of(refusal))
    assert broken(*BEGUN, told, (100, Kind.SENT, "writer", P, "m", -1), plan=(Step(At(0), refusal),)) == judged


@pytest.mark.parametrize(("delay", "judged"), [(0, [WRITES]), (60 * SECOND, [])])
def test_a_connection_that_breaks_is_over_when_its_last_request_has_arrived(
    delay: int, judged: list[Invariant]
) -> None:
    broke = BreakConnection(ONE, TWO, delay)
    told = (30, Kind.FAULT, "plan", name_of(broke), detail_of(broke))
    assert broken(*BEGUN, told, (100, Kind.SENT, "writer", P, "m", -1), plan=(Step(At(0), broke),)) == judged


def test_what_is_sent_before_everything_has_settled_may_be_given_up() -> None:
    away = (*crashed(50, THREE), (51, Kind.STARTED, THREE))
    settled = 51 + BOUND // SECOND + 1
    assert 120 - BOUND // SECOND < 80 < settled < 117
    assert broken(*BEGUN, *away, (80, Kind.SENT, "writer", P, "m1", -1)) == []
    assert broken(*BEGUN, *away, (settled, Kind.SENT, "writer", P, "m1", -1)) == [WRITES]


def test_a_leader_that_waits_for_metadata_in_zookeeper_mode_waits_for_an_election() -> None:
    """Partition.handleAlterPartitionError; a LeaderAndIsr request of the same leader epoch is ignored."""
    rule = "alter_partition.leader_reaction"
    refused = (EARLY, Kind.ISR_REFUSED, ONE, P, (1, 2), "INVALID_UPDATE_VERSION", rule)
    other = (*refused[:-2], "FENCED_LEADER_EPOCH", rule)
    written = (0, Kind.ZNODE_WRITTEN, "zookeeper", "/brokers/partitions/t-0", (1, 1, 0, (1, 2)), 1)
    begun = (written, LED)

    def found(*events: tuple[object, ...], version: str = "3.7") -> list[Invariant]:
        outcome = judge(*events, setup=with_sessions, version=version_named(version))
        return [one.invariant for one in outcome.findings]

    with_sessions = SETUP.with_settings({"zookeeper.session.timeout.ms": 1000})
    assert found(*begun) == [ISR]
    assert found(*begun, refused) == []
    assert found(*begun, other) == [ISR]
    assert found(*begun, refused, (EARLY + 1, *LED[1:])) == [ISR]  # elected again, in a higher epoch
    assert found(*begun, (EARLY, Kind.ISR_REFUSED, TWO, *refused[3:])) == [ISR]
    assert found(decided(0, 1, (1, 2)), LED, refused, version="4.1") == [ISR]  # KRaft tells every change


@pytest.mark.parametrize("version", ["2.1", "3.9", "3.9-kraft", "4.1"])
def test_an_isr_that_never_shrinks_is_no_safe_run(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower is cut off from the leader for good, and keeps its session: only the leader can take it out."""
    rules = version_named(version)
    settings = {**QUICK, "broker.heartbeat.interval.ms": 200, "replica.socket.timeout.ms": 1000, "retries": 1000}
    bound = recovery_bound({**rules.defaults, **settings}, rules)
    duration = bound + 20 * SECOND
    values = chain(sends(P, "m1", start=SECOND), sends(P, "m2", start=6 * SECOND), sends(P, "m3", start=duration // 2))
    late = sends(P, "m4", start=bound + 10 * SECOND)
    writer = ProducerSetup("writer", (*values, *late))
    setup = cluster(4, TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 2}), settings=settings, clients=(writer,))
    setup = Setup(setup.brokers, setup.topics, setup.clients, setup.settings, 3, duration)
    cuts = [Step(At(time=5 * SECOND), Cut(THREE, other, duration)) for other in (ONE, TWO, "broker-4")]
    plan = (Step(At(time=3 * SECOND), Crash("broker-4")), Step(At(time=4 * SECOND), Start("broker-4")), *cuts)
    whole, _ = observe(setup, plan, rules)
    assert whole.findings == ()
    assert whole.measures.isr_changes > 0
    monkeypatch.setattr(leadership.lag, "in_sync_by_time", lambda isr, *_: isr)
    stuck, _ = observe(setup, plan, rules)
    assert {found.invariant for found in stuck.findings} == {ISR, WRITES}
    assert stuck.histories.lost == ()
