"""Replication throttles: their settings, and the replicas that a list names (KIP-73).

A throttle is made of two parts that do nothing alone: a list of replicas, a setting of the topic, and a rate, a setting
of the broker. Each exists for leaders, which then send less, and for followers, which then fetch less. A listed replica
that is in sync is not throttled; a listed one that is out of sync is, for any reason it is out of sync
(ReplicaManager.shouldLeaderThrottle, AbstractFetcherThread.shouldFollowerThrottle).
"""

from __future__ import annotations

from dataclasses import dataclass

LEADER_LIST = "leader.replication.throttled.replicas"
FOLLOWER_LIST = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"

THROTTLE_LISTS = (LEADER_LIST, FOLLOWER_LIST)
"""Settings of topics."""

THROTTLE_RATES = (LEADER_RATE, FOLLOWER_RATE)
"""Settings of brokers, in bytes a second."""

DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Setting of brokers: the rate of moves between log directories of one broker; it needs no list (KIP-113)."""

NO_LIMIT = 2**63 - 1
"""The rate of a broker without a throttle (QuotaConfig.QUOTA_BYTES_PER_SECOND_DEFAULT)."""


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """The replicas of one topic that a list names.

    Args:
        every: All of them (``*``).
        replicas: Partition and broker of those named one by one.
    """

    every: bool
    replicas: frozenset[tuple[int, int]]

    def __bool__(self) -> bool:
        return self.every or bool(self.replicas)

    def __contains__(self, replica: tuple[int, int]) -> bool:
        return self.every or replica in self.replicas


def parse_throttle_list(value: str | None) -> ThrottledReplicas:
    """Reads a list: ``*`` for every replica, otherwise ``partition:broker`` separated by commas; empty names none.

    Entries that are no pair of numbers are left out, as a dump may hold anything; Kafka itself takes none
    (ThrottledReplicaListValidator).
    """
    text = (value or "").strip()
    if text == "*":
        return ThrottledReplicas(True, frozenset())
    pairs = (entry.strip().partition(":") for entry in text.split(","))
    found = {(int(number), int(broker)) for number, _, broker in pairs if number.isdecimal() and broker.isdecimal()}
    return ThrottledReplicas(False, frozenset(found))


def parse_throttle_rate(value: str | None) -> int | None:
    """Reads a rate in bytes a second; None where no limit is set."""
    if value is None or not value.strip().isdecimal():
        return None
    rate = int(value)
    return None if rate >= NO_LIMIT else rate
