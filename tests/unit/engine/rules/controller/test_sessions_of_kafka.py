"""Sessions of brokers at a KRaft controller: equal to what BrokerHeartbeatManager of several releases says."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.broker_registration import session_stands
from kreplica.engine.versions.supported import version_named

SESSION, STEP = 9_000, 1_000


@pytest.mark.parametrize(("release", "lines"), answers("sessions.txt"))
def test_a_session_stands_where_kafka_says_so(release: str, lines: list[str]) -> None:
    """hasValidSession, after each heartbeat (live, fenced), clean stop, or silence of a session."""
    kept = version_named(release if release.startswith("4") else f"{release}-kraft").fenced_keep_sessions
    seen = set()
    for line in lines:
        now = contact = 0
        fenced = True
        for word in line.split():
            heard, _, expected = word.partition(":")
            now += STEP
            if heard == "gone":
                now += SESSION + 1
            else:
                contact, fenced = now, heard != "live"
            found = session_stands(fenced, now, contact, SESSION, kept)
            assert found is (expected == "true"), line
            seen.add((heard, found))
    assert {("live", True), ("gone", False), ("stop", kept)} <= seen
