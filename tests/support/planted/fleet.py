"""A fleet by a seed: clusters with trouble planted at some hour, each with its answers, and others that are healthy.

All clusters are looked at for the last time at the same hour. In each of them records are written, a group commits and
a disk fills slowly, as in any cluster. An answer is worked out where the trouble is planted, from the hour of it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from histories.clusters import PlantedCluster

from kreplica.fleet.rules import no_snapshot
from kreplica.fleet.rules.brokers import controller_changes, disk_filling, skewed_brokers, vanished_broker
from kreplica.fleet.rules.groups import dead_group, group_offsets_back, group_stopped
from kreplica.fleet.rules.settings import cluster_drift, config_drift, setting_changed
from kreplica.fleet.rules.topics import (
    isr_flapping,
    leader_epoch_churn,
    min_isr_lowered,
    orphaned_throttle,
    replication_factor_lowered,
    stuck_reassignment,
    unclean_election,
    vanished_topic,
)
from kreplica.model.snapshot import Gap
from planted.incidents import start, stop

GIB = 2**30
DAYS = 9
END = 4 + 24 * DAYS
"""Hour of the newest snapshots: a midnight, as the first ones are taken at 20:00."""
HOURS = 40
"""Hours that clusters with a snapshot an hour are looked at."""
Times = tuple[float | None, float, float, float | None]
"""Hours: begun after, valid from, last seen, valid to."""


@dataclass(frozen=True)
class Answer:
    """A finding that has to come out: its rule, its times, and what it is about."""

    rule: str
    times: Times
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    group: str | None = None


@dataclass
class LivingCluster(PlantedCluster):
    """A cluster in which life goes on from snapshot to snapshot."""

    controller: int = 0
    lag: int = 5
    commits: bool = True
    members: str = "Stable"
    fills: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for broker in (0, 1, 2):
            self.set("broker", str(broker), "num.io.threads", "8", "broker-static")
        for key in self.partitions:
            self.change(*key, high_watermark=10_000)

    def look(self, times: int = 1, every: float = 1.0, **facts: Any) -> None:
        """Takes snapshots; before each of them records are written and a group commits."""
        for _ in range(times):
            for (topic, number), row in self.partitions.items():
                row["high_watermark"] += 10
                if topic == "orders" and self.commits:
                    self.groups["billing", topic, number] = {"offset": row["high_watermark"] - self.lag}
            for row in self.groups.values():
                row["state"] = self.members
            for broker in (0, 1, 2) if self.fills else ():
                left = round((900 - 0.5 * self.now) * GIB)  # full in 60 days or more
                self.log_dirs[broker, "/data"] = {"total_bytes": 1000 * GIB, "usable_bytes": left}
            self.snapshot(every=every, controller=self.controller, **facts)

    def event(self, rule: str, **about: Any) -> Answer:
        """Answer for what happens now, an hour after the last snapshot."""
        return Answer(rule, (self.now - 1, self.now, self.now, self.now), **about)

    def lasts(self, rule: str, **about: Any) -> Answer:
        """Answer for what begins now, an hour after the last snapshot, and goes on."""
        return Answer(rule, (self.now - 1, self.now, END, None), **about)


Plant = Callable[[LivingCluster, Random], Sequence[Answer]]
"""Changes a cluster at the hour of its trouble; more snapshots follow up to the end."""


def _unclean(cluster: LivingCluster, _: Random) -> list[Answer]:
    cluster.change("orders", 0, isr=[0], leader_epoch=6, partition_epoch=10)
    cluster.look()
    told = cluster.event(unclean_election.NAME, topic="orders", partition=0)
    cluster.change("orders", 0, leader=1, isr=[1], leader_epoch=7, partition_epoch=11)
    cluster.look()
    cluster.change("orders", 0, leader=0, isr=[0, 1, 2], leader_epoch=8, partition_epoch=15)
    return [told]


def _topic_gone(cluster: LivingCluster, _: Random) -> list[Answer]:
    for key in [key for key in cluster.partitions if key[0] == "audit"]:
        del cluster.partitions[key]
    return [cluster.lasts(vanished_topic.NAME, topic="audit")]


def _broker_gone(cluster: LivingCluster, source: Random, brokers: Sequence[int] = (0, 1, 2)) -> list[Answer]:
    broker, at = source.choice(brokers), cluster.now
    stop(cluster, broker)
    cluster.look(5)
    start(cluster, broker)
    cluster.look()
    cluster.brokers[broker]["alive"] = False  # and restarted once more
    cluster.look()
    cluster.brokers[broker]["alive"] = True
    return [Answer(vanished_broker.NAME, (at - 1, at, at + 4, at + 5), broker=broker)]


def _factor(cluster: LivingCluster, source: Random) -> list[Answer]:
    number = source.randrange(3)
    kept = cluster.partitions["orders", number]["replicas"][:2]
    cluster.change("orders", number, replicas=kept, isr=kept)
    return [cluster.lasts(replication_factor_lowered.NAME, topic="orders")]


def _min_isr(cluster: LivingCluster, _: Random) -> list[Answer]:
    for number in range(3):
        cluster.change("orders", number, min_isr=1)
    return [cluster.lasts(min_isr_lowered.NAME, topic="orders")]


def _min_isr_for_a_while(cluster: LivingCluster, source: Random) -> list[Answer]:
    at, lasts = cluster.now, source.randrange(1, 9)
    cluster.change("orders", 1, min_isr=1)
    cluster.look(lasts)
    cluster.change("orders", 1, min_isr=2)
    return [Answer(min_isr_lowered.NAME, (at - 1, at, at + lasts - 1, at + lasts), topic="orders")]


def _stuck(cluster: LivingCluster, _: Random) -> list[Answer]:
    cluster.change("orders", 0, replicas=[3, 0, 1, 2], adding=[3], removing=[2])
    return [cluster.lasts(stuck_reassignment.NAME, topic="orders", partition=0)]


def _retention(cluster: LivingCluster, _: Random) -> list[Answer]:
    cluster.set("topic", "orders", "retention.ms", "1000")
    return [cluster.event(setting_changed.NAME, topic="orders")]


def _throttle(cluster: LivingCluster, _: Random) -> list[Answer]:
    cluster.set("topic", "orders", "follower.replication.throttled.replicas", "0:1,0:2")
    return [cluster.lasts(orphaned_throttle.NAME, topic="orders")]


def _flaps(cluster: LivingCluster, source: Random) -> list[Answer]:
    broker, at = source.choice((1, 2)), cluster.now  # followers of orders-0
    for _ in range(3):
        cluster.change("orders", 0, isr=[one for one in (0, 1, 2) if one != broker])
        cluster.look()
        cluster.change("orders", 0, isr=[0, 1, 2])
        cluster.look()
    over = at + 4 + 25  # the first snapshot more than a day after the third time
    return [Answer(isr_flapping.NAME, (at - 1, at, at + 4, over if over <= END else None), broker=broker)]


def _churns(cluster: LivingCluster, source: Random) -> list[Answer]:
    at, number = cluster.now, source.randrange(3)
    cluster.change("orders", number, leader_epoch=5 + source.randrange(10, 30))
    return [Answer(leader_epoch_churn.NAME, (at - 1, at, at, at + 25), topic="orders")]


def _drifts(cluster: LivingCluster, _: Random) -> list[Answer]:
    """A broker joins that is set otherwise: no setting has changed, and it is too early for it to have replicas."""
    cluster.look(int(END - 20 - cluster.now))
    cluster.brokers[3] = {**cluster.brokers[0], "host": "host3"}
    cluster.set("broker", "3", "num.io.threads", "16", "broker-static")
    return [cluster.lasts(config_drift.NAME)]


def _controllers(cluster: LivingCluster, _: Random) -> list[Answer]:
    told = []
    for cluster.controller in (1, 2, 0, 1):
        told.append(cluster.event(controller_changes.NAME, broker=cluster.controller))
        cluster.look()
    return told


def _leads_all(cluster: LivingCluster, source: Random) -> list[Answer]:
    broker = source.randrange(3)
    for key, row in cluster.partitions.items():
        cluster.change(*key, leader=broker, leader_epoch=row["leader_epoch"] + (row["leader"] != broker))
    return [cluster.lasts(skewed_brokers.NAME, broker=broker)]


def _new_and_empty(cluster: LivingCluster, _: Random) -> list[Answer]:
    """Five replicas on each of three brokers and none on the fourth; the first of the fullest is named."""
    cluster.brokers[3] = {**cluster.brokers[0], "host": "host3"}
    cluster.set("broker", "3", "num.io.threads", "8", "broker-static")
    return [cluster.lasts(skewed_brokers.NAME, broker=0)]


def _pause(cluster: LivingCluster, source: Random) -> list[Answer]:
    last = cluster.now - 1
    cluster.now += source.randrange(4, 9)
    return [Answer(no_snapshot.NAME, (last, last, cluster.now, cluster.now))]


def _silence(cluster: LivingCluster, source: Random) -> list[Answer]:
    last = END - source.randrange(4, 9)
    cluster.look(int(last - cluster.now + 1))
    cluster.now = END + 1  # nobody looks any more
    return [Answer(no_snapshot.NAME, (last, last, END, None))]


def _gone_in_a_pause(cluster: LivingCluster, source: Random) -> list[Answer]:
    last = cluster.now - 1
    pause, gone = _pause(cluster, source)[0], _topic_gone(cluster, source)[0]
    return [pause, Answer(gone.rule, (last, cluster.now, END, None), topic=gone.topic)]


def _gone_behind_gaps(cluster: LivingCluster, source: Random) -> list[Answer]:
    last = cluster.now - 1
    (gone,) = _topic_gone(cluster, source)
    cluster.look(2, gaps=(Gap("torn-read", "changed meanwhile", 1),))
    return [Answer(gone.rule, (last, cluster.now, END, None), topic=gone.topic)]


def _lowered_behind_a_source_that_does_not_know(cluster: LivingCluster, source: Random) -> list[Answer]:
    last = cluster.now - 1
    for key in cluster.partitions:
        cluster.change(*key, min_isr=None)
    cluster.look(2)
    for key in cluster.partitions:
        cluster.change(*key, min_isr=2)
    (less,) = _min_isr(cluster, source)
    return [Answer(less.rule, (last, cluster.now, END, None), topic=less.topic)]


def _three_at_once(cluster: LivingCluster, source: Random) -> list[Answer]:
    return [*_topic_gone(cluster, source), *_min_isr(cluster, source), *_throttle(cluster, source)]


def _one_after_the_other(cluster: LivingCluster, source: Random) -> list[Answer]:
    """A leader is down, then a follower comes and goes: it is another broker, so that each has its own begin."""
    first = _broker_gone(cluster, source, (0,))
    cluster.look(3)
    return [*first, *_flaps(cluster, source)]


HOURLY: dict[str, Plant] = {
    "an unclean election": _unclean,
    "a topic is deleted": _topic_gone,
    "a broker is down for five hours": _broker_gone,
    "a partition of two replicas": _factor,
    "min.insync.replicas 1": _min_isr,
    "min.insync.replicas 1 for some hours": _min_isr_for_a_while,
    "a reassignment that does not end": _stuck,
    "a setting that changed": _retention,
    "a throttle that was forgotten": _throttle,
    "a follower that comes and goes": _flaps,
    "elections without end": _churns,
    "a broker that is set otherwise": _drifts,
    "a controller that moves": _controllers,
    "a broker that leads all": _leads_all,
    "a broker without replicas": _new_and_empty,
    "nobody looks for some hours": _pause,
    "nobody looks any more": _silence,
    "a topic is deleted while nobody looks": _gone_in_a_pause,
    "a topic is deleted behind gaps": _gone_behind_gaps,
    "min.insync.replicas 1 behind a source that does not tell it": _lowered_behind_a_source_that_does_not_know,
    "three troubles at once": _three_at_once,
    "two troubles one after the other": _one_after_the_other,
}
"""Trouble in clusters with a snapshot an hour."""


def _filling(label: str, source: Random, days: float) -> tuple[LivingCluster, list[Answer]]:
    """A disk that is full in some days, on a straight line from the first snapshot to the last."""
    cluster, broker, a_day = _hourly(label), source.randrange(3), source.randrange(24, 96)
    cluster.fills = False
    first = cluster.now
    while cluster.now <= END:
        left = a_day * (days + (END - cluster.now) / 24)
        cluster.log_dirs[broker, "/data"] = {"total_bytes": 9000 * GIB, "usable_bytes": round(left * GIB)}
        cluster.look()
    return cluster, [Answer(disk_filling.NAME, (None, first, END, None), broker=broker)]


def _daily(label: str, source: Random, kind: str) -> tuple[LivingCluster, list[Answer]]:
    """A snapshot at each midnight; a group stops, goes back, loses its members, or goes on."""
    cluster = LivingCluster(label, now=4)
    days = source.randrange(1, 3) if kind == dead_group.NAME else source.randrange(3, 7)
    cluster.look(days, every=24)
    last, now, about = cluster.now - 24, cluster.now, {"group": "billing", "topic": "orders"}
    stopped = Answer(group_stopped.NAME, (None, last, END, None), **about)  # type: ignore[arg-type]
    if kind == group_stopped.NAME:
        cluster.commits, told = False, [stopped]
    elif kind == group_offsets_back.NAME:
        cluster.lag, told = 2_000, [Answer(group_offsets_back.NAME, (last, now, now, now), **about)]  # type: ignore[arg-type]
    elif kind == dead_group.NAME:
        cluster.commits, cluster.members = False, "Empty"
        told = [Answer(dead_group.NAME, (last, now, END, None), group="billing"), stopped]
    else:
        told = []
    while cluster.now <= END:
        cluster.look(every=24)
    return cluster, told


GROUP = ("alike 1", "alike 2", "left behind")
"""Clusters in which one thing is set alike, until it is changed in one of them."""


def _of_group(label: str, source: Random) -> tuple[LivingCluster, list[Answer]]:
    cluster, told = _hourly(label), list[Answer]()
    cluster.set("topic", "orders", "retention.ms", "1000")
    cluster.look(source.randrange(3, 9))
    if label == GROUP[-1]:
        cluster.set("topic", "orders", "retention.ms", "2000")
        told.append(cluster.event(setting_changed.NAME, topic="orders"))
        told.append(cluster.lasts(cluster_drift.NAME, topic="orders"))
    while cluster.now <= END:
        cluster.look()
    return cluster, told


def _hourly(label: str) -> LivingCluster:
    return LivingCluster(label, now=END - HOURS + 1)


def _cluster(label: str, source: Random, plant: Plant) -> tuple[LivingCluster, list[Answer]]:
    cluster = _hourly(label)
    cluster.look(source.randrange(3, 9))
    told = list(plant(cluster, source))
    while cluster.now <= END:
        cluster.look()
    return cluster, told


def _restarts(cluster: LivingCluster, _: Random) -> list[Answer]:
    """A rolling restart: each broker leaves the in-sync replicas, and leads again when it is back."""
    for broker in (0, 1, 2):
        before = {key: dict(row) for key, row in cluster.partitions.items()}
        for key, row in before.items():
            led = (broker + 1) % 3 if row["leader"] == broker else row["leader"]
            left = [one for one in row["replicas"] if one != broker]
            epoch = row["leader_epoch"] + (led != row["leader"])
            cluster.change(*key, isr=left, leader=led, leader_epoch=epoch, partition_epoch=row["partition_epoch"] + 1)
        cluster.brokers[broker]["alive"] = False
        cluster.look()
        cluster.brokers[broker]["alive"] = True
        for key, row in before.items():
            epoch = cluster.partitions[key]["leader_epoch"] + (row["leader"] == broker)
            again = {"isr": row["isr"], "leader": row["leader"], "leader_epoch": epoch}
            cluster.change(*key, **again, partition_epoch=row["partition_epoch"] + 3)
        cluster.look()
    return []


def _nothing(_: LivingCluster, __: Random) -> list[Answer]:
    return []


def planted_fleet(seed: int) -> dict[str, tuple[LivingCluster, list[Answer]]]:
    """Clusters by label, each with what has to be found in it: one for each trouble."""
    source = Random(seed)
    fleet = {name: _cluster(name, source, plant) for name, plant in HOURLY.items()}
    for days in (1.5, 5, 13):
        name = f"a disk is full in {days} days"
        fleet[name] = _filling(name, source, days)
    for kind in (group_stopped.NAME, group_offsets_back.NAME, dead_group.NAME):
        fleet[kind] = _daily(kind, source, kind)
    for name in GROUP:
        fleet[name] = _of_group(name, source)
    return fleet


def healthy_fleet(seed: int) -> list[LivingCluster]:
    """Clusters in which nothing is wrong: quiet ones, rolling restarts, a disk that is full in three weeks."""
    source = Random(seed)
    found = [_cluster(f"quiet {number}", source, _nothing) for number in range(2)]
    found += [_cluster(f"restarts {number}", source, _restarts) for number in range(4)]
    found += [_daily(f"daily {number}", source, "") for number in range(2)]
    found.append(_filling("fills slowly", source, 21))
    return [cluster for cluster, _ in found]
