"""Troubles planted into a cluster that is snapshotted by the hour, as Kafka's controller would leave its metadata."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from histories.clusters import PlantedCluster, chosen_of
from histories.observations import HOUR, MARCH

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.incidents.finding import Told, incidents_of
from kreplica.fleet.incidents.incident import Incident
from kreplica.fleet.judging import judge_cluster, newest_ms
from kreplica.fleet.rule import Circumstances


def told_of(cluster: PlantedCluster) -> Told:
    """The incidents in a cluster's history, at the time of its newest snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = chosen_of(Path(folder), [cluster])
        history = ClusterHistory(chosen.months)
        return incidents_of(history, judge_cluster(history, Circumstances(newest_ms(chosen))))


def times_of(one: Incident) -> tuple[float | None, float, float, float | None]:
    """The times of an incident, in hours: begun after, valid from, last seen, valid to."""
    first, *others = (one.begun_after_ms, one.valid_from_ms, one.last_seen_ms, one.valid_to_ms)
    found = [None if time is None else (time - MARCH) / HOUR for time in (first, *others)]
    return found[0], found[1], found[2], found[3]  # type: ignore[return-value]


def larger(brokers: int = 6, racks: int = 3, partitions: int = 6) -> PlantedCluster:
    """A cluster of more brokers, spread over racks in turn; each partition has three replicas in three racks."""
    cluster = PlantedCluster()
    cluster.partitions.clear()
    for broker in range(brokers):
        cluster.brokers[broker] = {"host": f"host{broker}", "port": 9092, "rack": f"r{broker % racks}", "alive": True}
    for number in range(partitions):
        replicas = [(number + at) % brokers for at in range(3)]
        cluster.add("orders", number, replicas=replicas, isr=replicas, leader=replicas[0])
    return cluster


def stop(cluster: PlantedCluster, *brokers: int) -> None:
    """Stops brokers: they leave the ISRs, but for the last replica in sync, and leaderships go to the next in sync."""
    for broker in brokers:
        cluster.brokers[broker]["alive"] = False
    for (topic, number), row in cluster.partitions.items():
        left = [one for one in row["isr"] if one not in brokers]
        isr = left or row["isr"][-1:]
        leader = row["leader"] if row["leader"] not in brokers else next(iter(left), -1)
        if (isr, leader) != (row["isr"], row["leader"]):
            epochs = {name: row[name] + 1 for name in ("leader_epoch", "partition_epoch")}
            cluster.change(topic, number, isr=isr, leader=leader, **epochs)


def start(cluster: PlantedCluster, *brokers: int, preferred: bool = True) -> None:
    """Starts brokers, which catch up; leaderships go back to them if ``preferred``."""
    for broker in brokers:
        cluster.brokers[broker]["alive"] = True
    for (topic, number), row in cluster.partitions.items():
        isr = [one for one in row["replicas"] if one in row["isr"] or one in brokers]
        wanted = row["replicas"][0] if preferred and row["replicas"][0] in isr else row["leader"]
        leader = wanted if wanted >= 0 else isr[0]
        joined, led = isr != row["isr"], leader != row["leader"]  # each is a change of its own, with a partition epoch
        epochs = {"leader_epoch": row["leader_epoch"] + led, "partition_epoch": row["partition_epoch"] + joined + led}
        cluster.change(topic, number, isr=isr, leader=leader, **epochs)


def restart(cluster: PlantedCluster, brokers: Sequence[int], every: float = 0.25, version: str | None = None) -> None:
    """Restarts brokers one after the other, with a snapshot while each is down and one when it is back."""
    for broker in brokers:
        stop(cluster, broker)
        cluster.snapshot(every=every)
        start(cluster, broker)
        if version is not None:
            cluster.brokers[broker]["version"] = version
        cluster.snapshot(every=every)
