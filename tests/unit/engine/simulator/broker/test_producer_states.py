"""A replica's producers: what was kept with every append is what the log says, however it came about."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.fault_plan import At, Crash, Cut, PowerLoss, Start, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator.broker.log import ProducerStates
from kreplica.engine.simulator.broker.replica import Replica
from kreplica.engine.simulator.plan_player import play_plan
from kreplica.engine.simulator.world import build
from kreplica.engine.trace import ABORT, COMMIT, DATA, Kind, Record, Trace
from kreplica.engine.versions.supported import version_named
from kreplica.errors import UsageError


def batch(producer: int, epoch: int, first: int, size: int, transactional: bool = False) -> list[Record]:
    return [
        Record(0, "v", producer, epoch, first + place, DATA, transactional, batch_sequence=first)
        for place in range(size)
    ]


@st.composite
def logs(draw: st.DrawFn) -> list[list[Record]]:
    """Appends of two producers, one of them with transactions."""
    following = {1: 0, 2: 0}
    appends = []
    for producer, size, kind in draw(
        st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(1, 3), st.sampled_from([DATA, DATA, COMMIT, ABORT])))
    ):
        if kind == DATA:
            appends.append(batch(producer, 0, following[producer], size, producer == 2))
            following[producer] += size
        elif producer == 2:
            appends.append([Record(0, 7, 2, 0, kind=kind, transactional=True)])
    return appends


def fed(appends: list[list[Record]]) -> ProducerStates:
    states, base = ProducerStates(5), 0
    for records in appends:
        states.appended(base, records, 0)
        base += len(records)
    return states


@given(logs(), st.data())
def test_a_follower_knows_what_the_leader_knows_however_it_fetches(
    appends: list[list[Record]], data: st.DataObject
) -> None:
    records = [record for append in appends for record in append]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(records)))) | {0, len(records)})
    follower = fed([records[begin:end] for begin, end in pairwise(cuts)])
    leader = fed(appends)
    assert follower.states == leader.states
    assert follower.index == leader.index


@given(logs(), st.data())
def test_after_a_truncation_it_knows_what_is_left(appends: list[list[Record]], data: st.DataObject) -> None:
    kept = data.draw(st.integers(0, len(appends)))
    records = [record for append in appends[:kept] for record in append]
    cut = fed(appends)
    cut.rebuild(0, records, 0)
    assert cut.states == fed(appends[:kept]).states
    assert cut.stable_offset(len(records), 0) == fed(appends[:kept]).stable_offset(len(records), 0)


def test_after_a_clean_stop_only_the_last_batch_is_remembered() -> None:
    appends = [batch(1, 0, first, 1) for first in range(3)]
    states = fed(appends)
    states.snapshot(3)
    states.rebuild(0, [record for append in appends for record in append], 0)
    assert [first for first, _, _ in states.state(1).batches] == [2]
    states.rebuild(0, appends[0], 0)  # cut below the snapshot: from the log again
    assert [first for first, _, _ in states.state(1).batches] == [0]


@pytest.mark.parametrize("version", ["1.1", "3.9", "4.1"])
def test_a_new_leader_knows_a_batch_that_the_old_one_appended(version: str) -> None:
    """The leader crashes once the followers have the batch, before it answers: the retry is a duplicate there."""
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 1}),
        clients=(ProducerSetup("writer", sends("t-0", "m1", start=2 * SECOND)),),
        settings={"enable.idempotence": True, "linger.ms": 0, "request.timeout.ms": 1000},
        duration=40 * SECOND,
    )
    trace = Trace()
    crash = Step(At(2 * SECOND + 1200), Crash("broker-1"))
    simulation = build(setup, version_named(version), 1, trace)
    play_plan(simulation, (crash, Step(At(30 * SECOND), Start("broker-1"))))
    told = [event for event in trace.events if event.kind in (Kind.DUPLICATE, Kind.ACKNOWLEDGED)]
    assert [event.kind for event in told] == [Kind.DUPLICATE, Kind.ACKNOWLEDGED]
    assert told[0].node != "broker-1"
    assert {len(broker.replicas["t-0"].log.records) for broker in simulation.brokers.values()} == {1}
    assert (
        len({repr(broker.replicas["t-0"].producers.states[1].batches) for broker in simulation.brokers.values()}) == 1
    )


def test_a_transaction_is_decided_once_its_marker_is_replicated() -> None:
    states = fed([batch(1, 0, 0, 2, transactional=True), [Record(0, 7, 1, 0, kind=COMMIT, transactional=True)]])
    assert states.stable_offset(1, 0) == 0
    assert states.stable_offset(2, 0) == 0  # the marker at 2 may still be lost
    assert states.stable_offset(3, 0) == 3


def test_offsets_that_a_group_coordinator_writes_open_a_transaction_too() -> None:
    states = fed([[Record(0, "offset", 1, 0, transactional=True)]])
    assert states.state(1).transaction_start == 0
    assert states.stable_offset(1, 0) == 0


def test_a_leader_that_was_cut_off_forgets_what_it_cuts() -> None:
    """broker-1 appends what nobody copies, is replaced, and truncates: it knows of the producer what the others do."""
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 1}),
        clients=(ProducerSetup("writer", sends("t-0", "m1", "m2", "m3", start=2 * SECOND, every=2 * SECOND)),),
        settings={"enable.idempotence": True, "linger.ms": 0, "request.timeout.ms": 1000},
        duration=60 * SECOND,
    )
    others = ("broker-2", "broker-3", "controller-3001", "controller-3002", "controller-3003")
    trace = Trace()
    simulation = build(setup, version_named("3.9-kraft"), 1, trace)
    named = [name for name in others if name in simulation.nodes]
    play_plan(simulation, tuple(Step(At(3 * SECOND), Cut("broker-1", name, 25 * SECOND)) for name in named))
    assert [event for event in trace.events if event.kind == Kind.TRUNCATED], "broker-1 had nothing to cut"
    assert len({repr(known(broker.replicas["t-0"])) for broker in simulation.brokers.values()}) == 1


def test_after_a_power_loss_a_broker_knows_what_its_disk_says() -> None:
    """The two followers lose what they had not flushed; nobody writes any more."""
    setup = cluster(
        3,
        TopicSetup("t", ((1, 2, 3),), {"min.insync.replicas": 2}),
        clients=(ProducerSetup("writer", sends("t-0", "m1", "m2", start=2 * SECOND, every=SECOND)),),
        settings={"enable.idempotence": True, "linger.ms": 0},
        duration=8 * SECOND,
    )
    simulation = build(setup, version_named("4.1"), 1, Trace())
    play_plan(
        simulation,
        (
            Step(At(5 * SECOND), PowerLoss(("broker-1", "broker-2", "broker-3"))),
            Step(At(6 * SECOND), Start("broker-2")),
        ),
    )
    replica = simulation.brokers[2].replicas["t-0"]
    assert replica.log.end == 0
    assert known(replica) == {}


def known(replica: Replica) -> dict[int, tuple[object, ...]]:
    """What a replica knows of producers, times left out."""
    return {number: (state.epoch, state.batches) for number, state in replica.producers.states.items()}


def test_a_setting_that_does_not_go_with_idempotence_is_refused() -> None:
    setup = cluster(
        1,
        TopicSetup("t", ((1,),)),
        clients=(ProducerSetup("writer", settings={"enable.idempotence": True, "acks": 1}),),
        duration=MILLISECOND,
    )
    with pytest.raises(UsageError, match="acks=1 does not go with an idempotent producer"):
        build(setup, version_named("4.1"), 1, Trace())
