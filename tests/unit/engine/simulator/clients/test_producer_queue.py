"""A producer's queue while nobody leads: every batch is given up when it is too old, however many there are."""

from __future__ import annotations

import pytest

from kreplica.engine.fault_plan import At, Crash, RefuseRequest, Step
from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named

MANY = 3000
"""More than Python's stack would hold as calls."""


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize("in_flight", [1, 5])
def test_more_batches_than_a_stack_holds_expire(idempotent: bool, in_flight: int) -> None:
    values = [f"m{number}" for number in range(MANY)]
    settings = {
        "enable.idempotence": idempotent,
        "max.in.flight.requests.per.connection": in_flight,
        "delivery.timeout.ms": 2000,
        "request.timeout.ms": 1000,
        "linger.ms": 0,
        "batch.records": 1,
    }
    producer = ProducerSetup("producer", sends("t-0", *values, start=SECOND - 50 * MILLISECOND, every=100), settings)
    setup = cluster(3, TopicSetup("t", ((1,),)), clients=(producer,), duration=10 * SECOND)
    trace = Trace()
    simulate(setup, (Step(At(SECOND), Crash("broker-1")),), version_named("4.1"), 1, trace)
    told = {
        kind: [fields_of(event)["value"] for event in trace.events if event.kind == kind]
        for kind in (Kind.ACKNOWLEDGED, Kind.SEND_FAILED)
    }
    assert len(told[Kind.SEND_FAILED]) > MANY / 2
    ended = told[Kind.ACKNOWLEDGED] + told[Kind.SEND_FAILED]
    if in_flight == 1:
        assert ended == values
    assert sorted(ended) == sorted(values)


def test_what_is_sent_again_goes_first_and_waits_for_its_backoff() -> None:
    """As in RecordAccumulator.drain: a batch in backoff is first in the queue, and holds the others back."""
    settings = {"enable.idempotence": False, "retry.backoff.ms": 1000, "linger.ms": 0}
    producer = ProducerSetup("producer", sends("t-0", "m1", "m2", start=SECOND, every=300 * MILLISECOND), settings)
    setup = cluster(3, TopicSetup("t", ((1,),)), clients=(producer,), duration=10 * SECOND)
    trace = Trace()
    refused = Step(At(1), RefuseRequest("producer", "broker-1", "Produce", "NOT_ENOUGH_REPLICAS"))
    simulate(setup, (refused,), version_named("4.1"), 1, trace)
    written = [(event.time, event.values[3][0].value) for event in trace.events if event.kind == Kind.APPENDED]
    assert [value for _, value in written] == ["m1", "m2"]
    assert written[0][0] > 2 * SECOND
