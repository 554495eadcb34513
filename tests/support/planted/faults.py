"""Clusters with a fault planted in them: what brokers would report if just that were wrong, with noise around it.

A healthy cluster is laid out first; a fault then takes replicas out of ISRs, as brokers would, and says which cause
each of these has. Noise takes out a few others, of which nothing may be claimed but what is true of them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from clusters.generated import snapshot_of

from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table

Place = tuple[str, int]
Truth = dict[tuple[Place, int], str]
"""Cause that keeps a replica (a place and a broker) out, as kind and the brokers it stands on: ``slow-leader 5``."""


MOST_AT_ONE = 2
"""Troubles of one leader or one follower that are noise: more of them look like, and are, a fault of that broker."""


@dataclass
class Planted:
    """A cluster while a fault is being planted."""

    seed: int
    broker_count: int = 9
    racks: int = 3
    topics: int = 12
    partitions_each: int = 36
    partitions: dict[Place, dict[str, Any]] = field(default_factory=dict)
    brokers: dict[int, dict[str, Any]] = field(default_factory=dict)
    log_dirs: list[dict[str, Any]] = field(default_factory=list)
    settings: list[tuple[str, str, str]] = field(default_factory=list)
    truth: Truth = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        for broker in range(1, self.broker_count + 1):
            rack = "abcdefgh"[(broker - 1) % self.racks]
            self.brokers[broker] = {"broker": broker, "rack": rack, "alive": True, "fenced": False}
        for topic in range(self.topics):
            for number in range(self.partitions_each):
                replicas = self.random.sample(range(1, self.broker_count + 1), 3)
                self.partitions[f"topic-{topic:02d}", number] = {
                    "topic": f"topic-{topic:02d}",
                    "partition": number,
                    "leader": replicas[0],
                    "replicas": replicas,
                    "isr": list(replicas),
                    "adding": [],
                    "removing": [],
                    "elr": [],
                    "offline_replicas": [],
                    "min_isr": 2,
                }

    @property
    def busy(self) -> list[Place]:
        """Partitions that are written to: half of the topics."""
        return [place for place in self.partitions if int(place[0][-2:]) % 2 == 0]

    def copies(self, leader: int | None = None, follower: int | None = None) -> list[tuple[Place, int]]:
        """Followers' copies in busy partitions, of one leader, one follower, or both."""
        return [
            (place, broker)
            for place in self.busy
            for broker in self.partitions[place]["replicas"]
            if broker != self.partitions[place]["leader"]
            and (leader is None or self.partitions[place]["leader"] == leader)
            and (follower is None or broker == follower)
        ]

    def lose(self, place: Place, broker: int, truth: str) -> None:
        """Takes one replica out of its ISR; the first thing that does is the truth."""
        partition = self.partitions[place]
        if broker in partition["isr"]:
            partition["isr"].remove(broker)
        self.truth.setdefault((place, broker), truth)

    def take_away(self, broker: int, truth: str) -> None:
        """A broker out of every ISR, its partitions led by others; those left without anybody have no leader."""
        for place, partition in self.partitions.items():
            if broker not in partition["replicas"]:
                continue
            others = [other for other in partition["isr"] if other != broker]
            if not others:
                partition["elr"] = [broker]
            self.lose(place, broker, truth)
            if partition["leader"] == broker:
                partition["leader"] = others[0] if others else -1

    def noise(self, count: int) -> None:
        """A few replicas out for reasons of their own, not led by and not on a broker that the fault stands on."""
        named = (truth.split() for truth in self.truth.values() if not truth.startswith("throttle"))
        faulty = {int(word) for words in named for word in words if word.isdecimal()}
        faulty |= {int(entity) for entity, _, _ in self.settings if entity.isdecimal()}
        quiet = [
            (place, broker)
            for place, broker in self.copies()
            if broker not in faulty and self.partitions[place]["leader"] not in faulty
        ]
        troubled: Counter[tuple[str, int]] = Counter()
        for place, broker in self.random.sample(quiet, min(count, len(quiet))):
            ends = ("leader", self.partitions[place]["leader"]), ("follower", broker)
            if broker in self.partitions[place]["isr"] and all(troubled[end] < MOST_AT_ONE for end in ends):
                troubled.update(ends)
                self.lose(place, broker, "noise")

    def snapshot(self) -> ClusterSnapshot:
        rows = [
            {"entity_type": "broker" if entity.isdecimal() else "topic", "entity": entity, "name": name, "value": value}
            | {"origin": "topic"}
            for entity, name, value in self.settings
        ]
        configs = Table.from_rows(CONFIGS, rows)
        return snapshot_of(self.partitions.values(), self.brokers.values(), self.log_dirs, configs=configs)


def broker_gone(planted: Planted) -> None:
    planted.take_away(3, "broker-gone 3")
    del planted.brokers[3]


def broker_fenced(planted: Planted) -> None:
    planted.take_away(3, "broker-fenced 3")
    planted.brokers[3] |= {"alive": False, "fenced": True}


def rack_fenced(planted: Planted) -> None:
    for broker in (2, 5, 8):
        planted.take_away(broker, f"broker-fenced {broker}")
        planted.brokers[broker] |= {"alive": False, "fenced": True}


def directory_offline(planted: Planted) -> None:
    planted.log_dirs += [
        {"broker": 4, "path": "/data/1"},
        {"broker": 4, "path": "/data/2", "error": "KAFKA_STORAGE_ERROR"},
    ]
    for place, partition in planted.partitions.items():
        if 4 in partition["replicas"] and planted.random.random() < 0.5:
            partition["offline_replicas"] = [4]
            if partition["leader"] == 4:
                partition["leader"] = next(broker for broker in partition["isr"] if broker != 4)
            planted.lose(place, 4, "log-directory-offline 4")


def replica_offline(planted: Planted) -> None:
    directory_offline(planted)
    planted.log_dirs.clear()
    planted.truth = dict.fromkeys(planted.truth, "replica-offline 4")


def reassignment(planted: Planted) -> None:
    for place in planted.busy[:20]:
        partition = planted.partitions[place]
        target = next(broker for broker in planted.brokers if broker not in partition["replicas"])
        partition["replicas"], partition["adding"] = [*partition["replicas"], target], [target]
        planted.truth[place, target] = f"reassignment {target}"


def slow_leader(planted: Planted) -> None:
    for place, broker in planted.copies(leader=5):
        if planted.random.random() < 0.8:
            planted.lose(place, broker, "slow-leader 5")


def paused_leader(planted: Planted) -> None:
    for place, broker in planted.copies(leader=5):
        planted.lose(place, broker, "slow-leader 5")


def slow_follower(planted: Planted) -> None:
    for place, broker in planted.copies(follower=6):
        if planted.random.random() < 0.8:
            planted.lose(place, broker, "slow-follower 6")


def stopped_follower(planted: Planted) -> None:
    for place, broker in planted.copies(follower=6):
        planted.lose(place, broker, "slow-follower 6")


def slow_broker(planted: Planted) -> None:
    paused_leader(planted)
    for place, broker in planted.copies(follower=5):
        planted.lose(place, broker, "slow-follower 5")


def one_pair(planted: Planted) -> None:
    for place, broker in planted.copies(leader=7, follower=8):
        planted.lose(place, broker, "leader-to-follower 7 8")


def restarted(planted: Planted) -> None:
    planted.take_away(2, "broker-out 2")


def throttle_followers(planted: Planted) -> None:
    planted.settings += [
        ("topic-04", "follower.replication.throttled.replicas", "*"),
        ("9", "follower.replication.throttled.rate", "1000"),
    ]
    for place, broker in planted.copies(follower=9):
        if place[0] == "topic-04":
            planted.lose(place, broker, "throttle 9")


def throttle_leaders(planted: Planted) -> None:
    listed = ",".join(f"{number}:1" for number in range(planted.partitions_each))
    planted.settings += [
        ("topic-04", "leader.replication.throttled.replicas", listed),
        ("1", "leader.replication.throttled.rate", "1000"),
    ]
    for place, broker in planted.copies(leader=1):
        if place[0] == "topic-04":
            planted.lose(place, broker, f"throttle {broker}")


def slow_follower_with_a_throttle_left_behind(planted: Planted) -> None:
    planted.settings += [
        ("topic-04", "follower.replication.throttled.replicas", "*"),
        ("6", "follower.replication.throttled.rate", "1000000000"),
    ]
    slow_follower(planted)
    if {place[0] for place, _ in planted.truth} == {"topic-04"}:  # out where it is listed alone: it looks just so
        planted.truth = dict.fromkeys(planted.truth, "throttle 6")


def throttle_without_a_rate(planted: Planted) -> None:
    planted.settings.append(("topic-04", "follower.replication.throttled.replicas", "*"))
    slow_follower(planted)


def hot_partitions(planted: Planted) -> None:
    """Two partitions of one leader that no follower keeps up with: neither leader, pair nor follower is slow."""
    led = [place for place in planted.busy if planted.partitions[place]["leader"] == 5][:2]
    for place, broker in planted.copies(leader=5):
        if place in led:
            planted.lose(place, broker, "too busy")


def slow_way_between_racks(planted: Planted) -> None:
    """Followers in rack b are behind leaders in rack a, and only these."""
    for place, broker in planted.copies():
        leader = planted.partitions[place]["leader"]
        if (planted.brokers[leader]["rack"], planted.brokers[broker]["rack"]) == ("a", "b"):
            planted.lose(place, broker, "way between racks")


def slow_way_to_a_small_rack(planted: Planted) -> None:
    """Brokers 2 and 4 stand in a rack of their own, and are behind every leader outside of it."""
    for broker, state in planted.brokers.items():
        state["rack"] = "small" if broker in (2, 4) else "large"
    for place, broker in planted.copies():
        if broker in (2, 4) and planted.partitions[place]["leader"] not in (2, 4):
            planted.lose(place, broker, "way to the small rack")


def hot_topic(planted: Planted) -> None:
    """A topic that one broker leads and no follower keeps up with, while other topics have troubles of their own."""
    for place, partition in planted.partitions.items():
        if place[0] == "topic-00":
            followers = [broker for broker in partition["replicas"] if broker != 5][:2]
            partition.update(leader=5, replicas=[5, *followers], isr=[5, *followers])
            for broker in followers:
                planted.lose(place, broker, "too busy")
    for topic in range(2, planted.topics, 2):
        place = f"topic-{topic:02d}", 0
        planted.lose(place, planted.partitions[place]["replicas"][1], "trouble of its own")


def everything_slow(planted: Planted) -> None:
    """More is written than any broker can copy."""
    for place, broker in planted.copies():
        if planted.random.random() < 0.8:
            planted.lose(place, broker, "overload")


def gone_and_slow(planted: Planted) -> None:
    broker_fenced(planted)
    for place, broker in planted.copies(leader=5):
        planted.lose(place, broker, "slow-leader 5")


def two_slow_leaders(planted: Planted) -> None:
    for leader in (4, 5):
        for place, broker in planted.copies(leader=leader):
            planted.lose(place, broker, f"slow-leader {leader}")


def last_in_sync_gone(planted: Planted) -> None:
    """Broker 6 was slow and out of some ISRs, and then broker 3 went: what only 3 had has no leader."""
    for place in planted.busy:
        partition = planted.partitions[place]
        if 3 in partition["replicas"][:1]:
            for broker in partition["replicas"][1:]:
                planted.lose(place, broker, "no-leader 3")
    broker_fenced(planted)


FAULTS = {
    function.__name__: function
    for function in (
        broker_gone,
        broker_fenced,
        rack_fenced,
        directory_offline,
        replica_offline,
        reassignment,
        slow_leader,
        paused_leader,
        slow_follower,
        stopped_follower,
        slow_broker,
        one_pair,
        restarted,
        throttle_followers,
        throttle_leaders,
        slow_follower_with_a_throttle_left_behind,
        throttle_without_a_rate,
        hot_partitions,
        slow_way_between_racks,
        slow_way_to_a_small_rack,
        hot_topic,
        everything_slow,
        gone_and_slow,
        two_slow_leaders,
        last_in_sync_gone,
    )
}
