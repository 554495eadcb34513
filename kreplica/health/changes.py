"""What changed in a cluster between two reads of it."""

from __future__ import annotations

from collections.abc import Iterator

from kreplica.health.quorum import quorum_leader
from kreplica.model.snapshot import ClusterSnapshot

State = tuple[object, ...]


def changes_between(before: ClusterSnapshot, after: ClusterSnapshot) -> tuple[str, ...]:
    """What is different, one clause each; empty if the partitions and brokers are as they were."""
    return (*_brokers(before, after), *_partitions(before, after), *_quorum(before, after))


def _brokers(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = _alive(before), _alive(after)
    for broker in sorted(was - now):
        yield f"broker {broker} went down"
    for broker in sorted(now - was):
        yield f"broker {broker} came up"


def _alive(snapshot: ClusterSnapshot) -> set[int]:
    brokers = snapshot.brokers["broker"].to_list()
    return {broker for broker in brokers if isinstance(broker, int) and snapshot.is_alive(broker)}


def _partitions(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = _states(before), _states(after)
    both = was.keys() & now.keys()
    counts = {
        "partitions are gone": len(was.keys() - now.keys()),
        "partitions are new": len(now.keys() - was.keys()),
        "partitions have another leader": sum(was[key][0] != now[key][0] for key in both),
        "partitions have another ISR": sum(was[key][1] != now[key][1] for key in both),
        "partitions have other replicas": sum(was[key][2] != now[key][2] for key in both),
    }
    for words, count in counts.items():
        if count:
            yield f"{count} {words}"


def _states(snapshot: ClusterSnapshot) -> dict[State, State]:
    """Leader, ISR as a set, and replicas, by topic and partition."""
    names = ("topic", "partition", "leader", "isr", "replicas")
    columns = zip(*(snapshot.partitions[name].to_list() for name in names), strict=True)
    return {(topic, number): (leader, frozenset(isr), replicas) for topic, number, leader, isr, replicas in columns}


def _quorum(before: ClusterSnapshot, after: ClusterSnapshot) -> Iterator[str]:
    was, now = quorum_leader(before), quorum_leader(after)
    if was is not None and now is not None and was != now:
        yield f"the active controller was {was} and is {now}"
