"""Consume, transform, produce: when each record is sent, and what its transaction holds."""

from __future__ import annotations

from typing import Any

from kreplica.engine.setup import MILLISECOND, SECOND, ProducerSetup, TopicSetup, TransformSetup, cluster, sends
from kreplica.engine.simulator import simulate
from kreplica.engine.trace import Kind, Trace, fields_of
from kreplica.engine.versions.supported import version_named
from kreplica.scenarios.setups import OFFSETS, transaction_state

TAKES = 200 * MILLISECOND


def played(*values: str, at_once: int) -> list[tuple[int, str, dict[str, Any]]]:
    """Time, kind and fields of what the application did with records that were there before it."""
    setup = cluster(
        3,
        TopicSetup("in", ((1, 2, 3),)),
        TopicSetup("out", ((2, 3, 1),)),
        transaction_state(3, 1, 2),
        OFFSETS,
        clients=(
            ProducerSetup("shop", sends("in-0", *values, start=SECOND, every=MILLISECOND)),
            TransformSetup("worker", "in-0", "out-0", "g", {"transactional.id": "w"}, 5 * SECOND, at_once, TAKES),
        ),
        settings={"linger.ms": 0, "isolation.level": "read_committed"},
        duration=30 * SECOND,
    )
    trace = Trace()
    simulate(setup, (), version_named("4.1"), 1, trace)
    return [(e.time, e.kind, dict(fields_of(e))) for e in trace.events if e.node == "worker"]


def test_records_are_sent_one_after_the_other_each_after_its_time() -> None:
    events = played("a", "b", "c", at_once=10)
    consumed = [time for time, kind, _ in events if kind == Kind.CONSUMED]
    sent = {fields["value"]: time for time, kind, fields in events if kind == Kind.SENT}
    assert len(set(consumed)) == 1
    assert {value: time - consumed[0] for value, time in sent.items()} == {
        "a-done": TAKES,
        "b-done": 2 * TAKES,
        "c-done": 3 * TAKES,
    }


def test_no_more_records_than_wanted_are_in_a_transaction() -> None:
    events = played("a", "b", "c", at_once=2)
    assert [fields["outcome"] for _, kind, fields in events if kind == Kind.TRANSACTION_ENDED] == ["committed"] * 2
