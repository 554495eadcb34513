"""Kafka's timers that decide when a step has its effect: their documented bounds, by the brokers' own settings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

TICK = 1.0
"""Seconds between ZooKeeper's looks at sessions: tickTime of the sandbox."""
HEARTBEAT = 2.0
"""broker.heartbeat.interval.ms, which the rows leave at its default."""


class Timer(StrEnum):
    """Timers."""

    NONE = ""
    """None: the effect comes as soon as requests have gone to and fro."""
    LAG = "lag"
    """replica.lag.time.max.ms; a leader looks at it twice in that time (ReplicaManager, isr-expiration)."""
    SESSION = "session"
    """A broker's session: counted from its last heartbeat (KRaft), or its last ping, one in each third of it
    (ZooKeeper)."""


def bounds(timer: Timer, server_settings: Mapping[str, str]) -> tuple[float, float]:
    """The least and the greatest number of seconds until a timer is over; (0, 0) where there is none."""
    if timer is Timer.LAG:
        lag = _seconds(server_settings, "replica.lag.time.max.ms")
        return lag, 1.5 * lag
    if timer is Timer.NONE:
        return 0.0, 0.0
    if "zookeeper.connect" in server_settings:
        session = _seconds(server_settings, "zookeeper.session.timeout.ms")
        return session * 2 / 3, session + TICK
    session = _seconds(server_settings, "broker.session.timeout.ms")
    return session - HEARTBEAT, session + HEARTBEAT


def _seconds(server_settings: Mapping[str, str], name: str) -> float:
    return int(server_settings[name]) / 1000
