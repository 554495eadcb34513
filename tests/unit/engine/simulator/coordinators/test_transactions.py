"""Transactions as they are played: whole or not at all, over crashes and changes of leader."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.checkers.transactions import transaction_outcomes
from kreplica.engine.fault_plan import At, Crash, Cut, Plan, Start, Step, When
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.fetching import READ_TO_HIGH_WATERMARK, READ_TO_LAST_STABLE_OFFSET
from kreplica.engine.rules.transactions.transaction_append import verification_answer
from kreplica.engine.settings import Value
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    ProducerSetup,
    ReaderSetup,
    Send,
    Setup,
    TopicSetup,
    Transaction,
    TransactionalSetup,
    TransformSetup,
    cluster,
    sends,
)
from kreplica.engine.simulator import simulate
from kreplica.engine.simulator.broker.reads import ConsumerGiven
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError
from kreplica.scenarios.setups import OFFSETS, transaction_state

VERSIONS = ["0.11", "2.5", "3.9-kraft", "4.0", "4.1"]


def transactions(count: int, commit: bool = True) -> tuple[Transaction, ...]:
    """Each of two records, one in either partition."""
    return tuple(
        Transaction(
            tuple(
                Send(2 * SECOND + number * SECOND + place * 100 * MILLISECOND, f"t{number}{name}", f"{name}-0")
                for place, name in enumerate("ab")
            ),
            commit=commit,
        )
        for number in range(count)
    )


def setup(*plans: tuple[Transaction, ...], duration: int = 60) -> Setup:
    return cluster(
        3,
        TopicSetup("a", ((1, 2, 3),), {"min.insync.replicas": 2}),
        TopicSetup("b", ((2, 3, 1),), {"min.insync.replicas": 2}),
        transaction_state(3, 1, 2),
        clients=(
            *(
                TransactionalSetup(f"app{place}", plan, {"transactional.id": f"id{place}"})
                for place, plan in enumerate(plans)
            ),
            ReaderSetup("reader", ("a-0", "b-0"), settings={"isolation.level": "read_committed"}),
        ),
        settings={"request.timeout.ms": 2000, "linger.ms": 0},
        duration=duration * SECOND,
    )


def play(one: Setup, plan: Plan, version: str, seed: int = 0) -> list[Event]:
    trace = Trace()
    simulate(one, plan, version_named(version), seed, trace)
    return trace.events


def read(events: list[Event]) -> list[object]:
    return [fields_of(event)["value"] for event in events if event.kind == Kind.CONSUMED]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_committed_is_read_and_what_is_aborted_is_not(version: str) -> None:
    events = play(setup((*transactions(2), *transactions(3, commit=False)[2:]), duration=10), (), version)
    outcomes = transaction_outcomes(events)
    assert outcomes.committed == ("app0 1", "app0 2")
    assert outcomes.aborted == ("app0 3",)
    assert sorted(map(str, read(events))) == ["t0a", "t0b", "t1a", "t1b"]
    assert outcomes.torn == outcomes.broken == outcomes.hanging == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_read_before_the_end_of_its_transaction(version: str) -> None:
    events = play(setup(transactions(1), duration=10), (), version)
    kinds = [event.kind for event in events if event.kind in (Kind.TRANSACTION_STATE, Kind.CONSUMED)]
    states = [fields_of(event)["state"] for event in events if event.kind == Kind.TRANSACTION_STATE]
    assert states[-3:] == ["ongoing", "prepare_commit", "complete_commit"] or states[-2:] == [
        "prepare_commit",
        "complete_commit",
    ]
    assert kinds.index(Kind.CONSUMED) > kinds.index(Kind.TRANSACTION_STATE)


@pytest.mark.parametrize("version", ["0.11", "4.1"])
def test_the_epoch_rises_with_every_transaction_of_version_2_only(version: str) -> None:
    events = play(setup(transactions(3), duration=10), (), version)
    epochs = [fields_of(event)["producer_epoch"] for event in events if event.kind == Kind.PRODUCER_ID]
    assert epochs == ([0] if version == "0.11" else [0, 1, 2, 3])


@pytest.mark.parametrize("version", ["0.11", "4.1"])
def test_a_marker_finds_the_next_leader(version: str) -> None:
    """The leader of a-0 is gone when its marker comes: the coordinator tries again until the new one has it."""
    decided = When(kind=Kind.TRANSACTION_STATE, fields={"state": "prepare_commit"})
    events = play(setup(transactions(1)), (Step(decided, Crash("broker-1")),), version)
    assert sorted(map(str, read(events))) == ["t0a", "t0b"]
    assert transaction_outcomes(events).hanging == ()


@pytest.mark.one_python
def test_a_transactional_id_that_nobody_uses_is_forgotten() -> None:
    """It is looked for every hour; the tombstone stands in the log, as logs show it."""
    one = setup(transactions(1), duration=3700).with_settings(
        {"transactional.id.expiration.ms": 600_000, "replica.fetch.wait.max.ms": 20_000}
    )
    simulation = build(one, version_named("4.1"), 0, trace := Trace())
    play_plan(simulation, ())
    assert [fields_of(event) for event in trace.events if event.kind == Kind.TRANSACTION_FORGOTTEN] == [
        {"transactional_id": "id0"}
    ]
    log = simulation.brokers[3].replicas["__transaction_state-0"].log
    assert [str(record.value) for record in log.records[-2:]] == ["id0 complete_commit 1/1", "id0 forgotten"]


def test_a_coordinator_that_was_replaced_cannot_end_a_transaction() -> None:
    simulation = build(setup(transactions(1), duration=10), version_named("4.1"), 0, Trace())
    play_plan(simulation, ())
    leader = simulation.brokers[1]
    answers: list[ErrorCode] = []
    known = leader.replicas["a-0"].producers.state(1)
    there = TransactionCoordinator.of(leader)
    there.write_marker("a-0", 1, known.epoch, known.coordinator_epoch - 1, True, answers.append)
    there.write_marker("a-0", 1, known.epoch - 1, known.coordinator_epoch, True, answers.append)
    assert answers == [ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH]


def test_what_a_reader_of_committed_records_may_read_ends_before_an_open_transaction() -> None:
    """auto.offset.reset=latest leads there: Partition.fetchOffsetForTimestamp answers the last stable offset."""
    begun = Transaction((Send(2 * SECOND, "t", "a-0"),), end=30 * SECOND)
    simulation = build(setup((begun,), duration=10), version_named("4.1"), 0, Trace())
    play_plan(simulation, ())
    told: list[ConsumerGiven] = []
    for isolation in (READ_TO_LAST_STABLE_OFFSET, READ_TO_HIGH_WATERMARK):
        simulation.brokers[1].reads.for_consumer("a-0", 99, isolation, 10, 0, told.append)
    assert [(one.error, one.high_watermark, one.readable_end) for one in told] == [
        (ErrorCode.OFFSET_OUT_OF_RANGE, 1, 0),
        (ErrorCode.OFFSET_OUT_OF_RANGE, 1, 1),
    ]


BROKERS = st.sampled_from(["broker-1", "broker-2", "broker-3"])
TIMES = st.integers(1500, 7000).map(lambda ms: ms * MILLISECOND)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """One broker after the other crashes and comes back; links are cut for a while."""
    steps: list[Step] = []
    at = draw(TIMES)
    for _ in range(draw(st.integers(0, 2))):
        broker = draw(BROKERS)
        steps += [Step(At(at), Crash(broker)), Step(At(at + 15 * SECOND), Start(broker))]
        at += 30 * SECOND
    for _ in range(draw(st.integers(0, 2))):
        source, target = draw(st.sampled_from(["app0", "app1"])), draw(BROKERS)
        duration = draw(st.integers(1, 4000)) * MILLISECOND
        steps.append(Step(At(draw(TIMES)), Cut(source, target, duration, one_way=draw(st.booleans()))))
    return tuple(steps)


@examples(0.2)
@given(st.sampled_from(["2.5", "3.9-kraft", "4.1"]), plans())
def test_transactions_are_whole_or_not_at_all_whatever_happens(version: str, plan: Plan) -> None:
    events = play(setup(transactions(4), transactions(6)[4:], duration=110), plan, version)
    outcomes = transaction_outcomes(events)
    assert outcomes.torn == ()
    assert outcomes.broken == ()
    assert outcomes.hanging == ()
    assert len(outcomes.committed) + len(outcomes.aborted) + len(outcomes.unknown) == 6
    assert len(read(events)) == len(set(read(events)))


def transforming(others: dict[str, Value]) -> Setup:
    """Eight records, an application that makes results of them in transactions, and a reader of the results."""
    values = [f"m{number}" for number in range(8)]
    return cluster(
        3,
        TopicSetup("in", ((1, 2, 3),), {"min.insync.replicas": 2}),
        TopicSetup("out", ((2, 3, 1),), {"min.insync.replicas": 2}),
        transaction_state(3, 1, 2),
        OFFSETS,
        clients=(
            ProducerSetup("shop", sends("in-0", *values, start=SECOND, every=600 * MILLISECOND)),
            TransformSetup("worker", "in-0", "out-0", "g", {"transactional.id": "w"}, 0, 3, 200 * MILLISECOND),
            ReaderSetup("reader", ("out-0",)),
        ),
        settings={
            "linger.ms": 0,
            "request.timeout.ms": 2000,
            "enable.idempotence": True,
            "isolation.level": "read_committed",
            **others,
        },
        duration=100 * SECOND,
    )


def results(events: list[Event]) -> list[str]:
    """What the reader has read, sorted."""
    return sorted(
        str(fields_of(event)["value"]) for event in events if event.kind == Kind.CONSUMED and event.node == "reader"
    )


@st.composite
def crashes_of_everything(draw: st.DrawFn) -> Plan:
    """The application crashes and comes back, and so does a broker."""
    nodes = [*draw(st.lists(st.sampled_from(["worker"]), max_size=2)), *draw(st.lists(BROKERS, max_size=1))]
    steps: list[Step] = []
    for place, node in enumerate(nodes):
        at = draw(TIMES) + place * 8 * SECOND
        steps += [Step(At(at), Crash(node)), Step(At(at + draw(st.integers(1, 6)) * SECOND), Start(node))]
    return tuple(steps)


@examples(0.2)
@given(st.sampled_from(["0.11", "2.5", "3.9-kraft", "4.1"]), crashes_of_everything())
def test_every_record_is_transformed_exactly_once_whoever_crashes(version: str, plan: Plan) -> None:
    assert results(play(transforming({}), plan, version)) == [f"m{number}-done" for number in range(8)]


def test_an_aborted_batch_is_read_and_transformed_again() -> None:
    """The application cannot reach the leader of its results for longer than delivery.timeout.ms."""
    one = transforming({"delivery.timeout.ms": 3000})
    events = play(one, (Step(At(3 * SECOND), Cut("worker", "broker-2", 6 * SECOND)),), "4.1")
    outcomes = [fields_of(event)["outcome"] for event in events if event.kind == Kind.TRANSACTION_ENDED]
    assert "aborted" in outcomes
    assert results(events) == [f"m{number}-done" for number in range(8)]


def test_what_a_producer_is_told_where_its_partition_was_not_verified() -> None:
    assert verification_answer(ErrorCode.PRODUCER_FENCED, False) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert verification_answer(ErrorCode.CONCURRENT_TRANSACTIONS, False) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert verification_answer(ErrorCode.CONCURRENT_TRANSACTIONS, True) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert verification_answer(ErrorCode.NOT_COORDINATOR, True) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert verification_answer(ErrorCode.TRANSACTION_ABORTABLE, False) is ErrorCode.TRANSACTION_ABORTABLE


def test_a_transactional_producer_needs_the_topic_and_an_id_and_a_version() -> None:
    good = setup(transactions(1))
    with pytest.raises(UsageError, match="is transactional"):
        play(good, (), "0.10")
    topics = tuple(topic for topic in good.topics if not topic.name.startswith("__"))
    with pytest.raises(UsageError, match="is transactional"):
        play(Setup(good.brokers, topics, good.clients), (), "4.1")
    alone = (ProducerSetup("writer", settings={"transactional.id": "x"}),)
    with pytest.raises(UsageError, match="it sends outside transactions"):
        play(Setup(good.brokers, good.topics, alone), (), "4.1")
    with pytest.raises(UsageError, match=r"needs enable\.idempotence=true"):
        play(good.with_settings({"enable.idempotence": False}), (), "4.1")
    nameless = (TransactionalSetup("app", (), {}),)
    with pytest.raises(UsageError, match=r"has no transactional\.id"):
        play(Setup(good.brokers, good.topics, nameless), (), "4.1")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transaction_in_which_nothing_was_sent_ends_without_the_coordinator(version: str) -> None:
    """TransactionManager.nextRequest sends no EndTxn then: the coordinator would refuse it."""
    plan = (
        Transaction((), end=4 * SECOND),
        Transaction((), end=5 * SECOND, commit=False),
        Transaction(sends("a-0", "t", start=6 * SECOND)),
    )
    trace = Trace()
    simulate(setup(plan, duration=15), (), version_named(version), 1, trace)
    ended = [fields_of(event)["outcome"] for event in trace.events if event.kind == Kind.TRANSACTION_ENDED]
    assert ended == ["committed", "aborted", "committed"]
    assert not [event for event in trace.events if event.kind in {Kind.PRODUCER_FENCED, Kind.TRANSACTION_REFUSED}]
