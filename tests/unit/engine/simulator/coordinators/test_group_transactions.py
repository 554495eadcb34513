"""Read, process, write in transactions: exactly once, whatever crashes or stands still."""

from __future__ import annotations

from collections import Counter

from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.fault_plan import At, Crash, Pause, Start, Step, When
from kreplica.engine.setup import (
    MILLISECOND,
    SECOND,
    Application,
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    TopicSetup,
    cluster,
    sends,
)
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Event, Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.model.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

VALUES = [f"m{number}" for number in range(12)]


def play(plan: tuple[Step, ...], version: str, protocol: str = "classic", transactional: bool = True) -> list[Event]:
    application = Application(processing=100 * MILLISECOND, writes_to="out-0", transactional=transactional)
    named = {
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6_000,
        "transaction.timeout.ms": 10_000,
        "isolation.level": "read_committed",
        "group.protocol": protocol,
    }
    setup = cluster(
        3,
        TopicSetup("in", ((1, 2, 3), (2, 3, 1))),
        TopicSetup("out", ((2, 3, 1),)),
        TopicSetup(OFFSETS_TOPIC, ((3, 1, 2),)),
        TopicSetup(TRANSACTIONS_TOPIC, ((1, 2, 3),)),
        clients=(
            ProducerSetup(
                "producer",
                tuple(
                    send
                    for number, value in enumerate(VALUES)
                    for send in sends(f"in-{number % 2}", value, start=(5 + number) * SECOND)
                ),
                {"enable.idempotence": True},
            ),
            ConsumerSetup("a", ("in",), settings=named, application=application),
            ConsumerSetup("b", ("in",), start=SECOND, settings=named, application=application),
            ReaderSetup("audit", ("out-0",), settings={"isolation.level": "read_committed"}),
        ),
        settings={"min.insync.replicas": 2, "group.consumer.session.timeout.ms": 6_000},
        duration=220 * SECOND,
    )
    trace = Trace()
    simulate(setup, plan, version_named(version), 1, trace)
    return trace.events


def results(events: list[Event]) -> Counter[str]:
    return Counter(fields_of(e)["value"] for e in events if e.kind == Kind.CONSUMED and e.node == "audit")


def expected(events: list[Event]) -> Counter[str]:
    told = {fields_of(e)["value"] for e in events if e.kind == Kind.ACKNOWLEDGED and e.node == "producer"}
    return Counter({f"{value}-out": 1 for value in told})


def test_without_faults_every_result_is_there_once() -> None:
    events = play((), "4.1")
    assert results(events) == expected(events) == Counter(f"{value}-out" for value in VALUES)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Step, ...]:
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 3))):
        node = draw(st.sampled_from(["a", "b", "broker-1", "broker-2", "broker-3"]))
        time = draw(st.integers(3_000, 20_000)) * MILLISECOND
        if draw(st.booleans()):
            steps += [Step(At(time), Crash(node)), Step(At(time + 15 * SECOND), Start(node))]
        else:
            steps.append(Step(At(time), Pause(node, draw(st.integers(1, 20)) * SECOND)))
    return tuple(steps)


@examples(0.12)
@given(plans(), st.sampled_from([("3.9-kraft", "classic"), ("4.1", "classic"), ("4.1", "consumer")]))
def test_whatever_fails_no_result_is_there_twice_or_missing(plan: tuple[Step, ...], world: tuple[str, str]) -> None:
    events = play(plan, *world)
    found, due = results(events), expected(events)
    assert due, "nothing was acknowledged"
    assert not [value for value, count in found.items() if count > 1]
    assert set(found) <= {f"{value}-out" for value in VALUES}
    failed = {e.node for e in events if e.kind == Kind.CLIENT_FAILED}
    if failed < {"a", "b"}:  # a process that was fenced ends, as its application would have to
        assert set(due) <= set(found)


def test_without_transactions_a_crash_writes_results_twice() -> None:
    """The test above is not blind: the same crash, when a result is in the log and nobody has committed its offset."""
    written = When(Kind.APPENDED, fields={"partition": "out-0", "base_offset": 4, "role": "leader"})
    plan = tuple(Step(written, Crash(node)) for node in "ab") + tuple(
        Step(At(25 * SECOND), Start(node)) for node in "ab"
    )
    found = {way: max(results(play(plan, "4.1", transactional=way)).values()) for way in (False, True)}
    assert found == {False: 2, True: 1}
