"""A leader that is told a state that it knows, as Kafka's own leaders take it."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.alter_partition import maximal_isr, stays_pending
from kreplica.engine.rules.replication.replica_set import without
from kreplica.engine.versions.supported import version_named

EPOCHS = {"known": 7, "older": 6}


def brokers(text: str) -> int:
    return sum(1 << int(broker) for broker in text.split(",") if text != "-")


@pytest.mark.parametrize(("release", "lines"), answers("known-states.txt"))
def test_a_known_state_ends_the_wait_in_kraft_alone(release: str, lines: list[str]) -> None:
    """ReplicaManager.becomeLeaderOrFollower leaves states of its own epoch out, applyLocalLeadersDelta does not."""
    ended = set()
    for line in lines:
        mode, isr, asked, told, before, _, after = line.split()
        version = version_named(f"{release}-kraft" if mode == "kraft" else release)
        known, change = brokers(isr), brokers(asked.removeprefix("none").lstrip("+-") or "-")
        pending = known | change if asked.startswith("+") else without(known, change)
        waits = pending != known
        assert maximal_isr(known, pending, waits) == brokers(before), line
        stays = stays_pending(waits, 7, EPOCHS[told], version.known_state_ends_pending)
        if EPOCHS[told] < 7:
            stays = waits
        assert maximal_isr(known, pending, stays) == brokers(after), line
        ended |= {mode for _ in after if before != after}
    assert ended == {"kraft"}
