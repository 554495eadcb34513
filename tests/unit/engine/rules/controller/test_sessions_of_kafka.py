"""Sessions of brokers at a KRaft controller: equal to what BrokerHeartbeatManager of several releases says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from releases.kafka_classes import answers

from kreplica.engine.rules.controller.broker_registration import (
    FENCED,
    UNFENCED,
    FencedFirst,
    session_stands,
    tracker_place,
)
from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.simulator.kraft.brokers import KraftBrokers
from kreplica.engine.simulator.kraft.quorum import Registration
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import Version

SESSION, STEP = 9_000, 1_000
GROWN = 12
"""Number of brokers from which on a table has grown: those with the same place are then in another order."""


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


@pytest.mark.parametrize(("release", "lines"), answers("expiries.txt"))
def test_silent_brokers_are_fenced_in_the_order_in_which_kafka_fences_them(release: str, lines: list[str]) -> None:
    """findOneStaleBroker, or since 4.0 maybeRemoveExpired; brokers stand in the order in which they were heard of."""
    played = Silent(version_of(release))
    in_time = 0
    for line in lines:
        heard, now, expected = (part.split() for part in line.split("|"))
        played.brokers.registered.clear()
        played.brokers.contacts.clear()
        for broker, epoch, contact in (map(int, word.split(":")) for word in heard):
            played.brokers.registered[broker] = Registration(broker, epoch, 1, UNFENCED, 0)
            played.brokers.contacts[broker] = int(contact)
        played.now, fenced = int(now[0]), []
        while (one := played.brokers._stale()) is not None:
            fenced.append(str(one.broker))
            played.brokers.registered[one.broker] = one._replace(state=FENCED)
        if len(heard) >= GROWN and played.cluster.version.fenced_first is not FencedFirst.LONGEST_SILENT:
            known = tuple(played.brokers.registered.values())
            place = dict(zip((str(one.broker) for one in known), played.brokers._places(known), strict=True))
            assert [place[one] for one in fenced] == [place[one] for one in expected], line
            fenced.sort(key=expected.index)
        assert fenced == expected, line
        in_time += fenced == [word.split(":")[0] for word in heard][: len(fenced)]
    assert (in_time == len(lines)) is (played.cluster.version.fenced_first is FencedFirst.LONGEST_SILENT)


@pytest.mark.parametrize(("release", "lines"), answers("activations.txt"))
def test_sessions_at_a_controller_that_takes_over(release: str, lines: list[str]) -> None:
    """ClusterControlManager.activate, with fenced and other brokers."""
    played = Silent(version_of(release))
    for line in lines:
        words = [word.split(":") for word in line.split()]
        states = [FENCED if state == "fenced" else UNFENCED for state, _ in words]
        played.brokers.registered = {
            broker: Registration(broker, 1, 1, state, 0) for broker, state in enumerate(states)
        }
        played.brokers.begin(1)
        found = [played.brokers._has_session(one) for one in played.brokers.registered.values()]
        assert found == [expected == "true" for _, expected in words], line
    assert len(lines) > 10


def version_of(release: str) -> Version:
    return version_named(release if release.startswith("4") else f"{release}-kraft")


class Silent:
    """A controller whose brokers send nothing, at a time that is set: in the unit of the session."""

    def __init__(self, version: Version) -> None:
        self.now = 1_000
        self.cluster: Any = SimpleNamespace(version=version, clock=self, integer=lambda _: SESSION / MICROSECONDS)
        self.brokers = KraftBrokers(self)  # type: ignore[arg-type]

    def after(self, *_: Any) -> None: ...


@pytest.mark.parametrize(("entries", "last"), [(11, 15), (12, 31), (23, 31), (24, 63), (47, 63), (48, 127)])
def test_the_table_of_brokers_doubles_once_it_is_three_quarters_full(entries: int, last: int) -> None:
    """ConcurrentHashMap.addCount: it grows with the entry that reaches sizeCtl, n - n / 4. The hash is 255."""
    assert tracker_place(0, 255, entries, FencedFirst.BY_RECORD_HASH) == last
