"""Judgement of a cluster as it has to be, in plain Python row by row, written from Kafka's sources and the definitions.

None of kreplica's expressions is used. Where a fact is not known, every value it could have is tried: what comes out
the same in all of these worlds is known, the rest is None.

Sources: org.apache.kafka.tools.TopicCommand (isReassignmentInProgress, getReplicationFactor, isUnderReplicated,
isUnderMinIsr, isAtMinIsrPartitions, hasUnavailablePartitions), kafka.cluster.Partition (isUnderReplicated,
isUnderMinIsr, effectiveMinIsr), KafkaController.checkAndTriggerAutoLeaderRebalance, PartitionChangeBuilder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

Row = Mapping[str, Any]
Brokers = Sequence[Row]

ANY_BROKER = [*range(6), 9]


def replication_factor(row: Row) -> int:
    adding, removing = row["adding"] or [], row["removing"] or []
    in_progress = any(replica in [*removing, *adding] for replica in row["replicas"])
    return len(row["replicas"]) - len(adding) if in_progress else len(row["replicas"])


def missing(row: Row) -> list[int]:
    return [broker for broker in dict.fromkeys(row["replicas"]) if broker not in row["isr"]]


def is_under_replicated(row: Row) -> bool:
    return replication_factor(row) - len(row["isr"]) > 0


def _certain(row: Row, leader: int, minimum: int, live: set[int], changing: bool) -> dict[str, bool]:
    """The predicates whose facts may be unknown, in a world where all is known."""
    has_leader, in_sync = leader != -1, len(row["isr"])
    return {
        # What is not known of a reassignment does not change the replication factor: Kafka's tool does the same.
        "under_replicated_metric": has_leader and is_under_replicated(row),
        "under_min_isr": not has_leader or in_sync < minimum,
        "at_min_isr": in_sync == minimum,
        "offline": not has_leader,
        "unavailable": not has_leader or leader not in live,
        "reassigning": changing,
    }


def _worlds(row: Row, brokers: Brokers) -> Iterator[dict[str, bool]]:
    """The predicates in every way in which the unknown facts may be filled in."""
    leaders = [row["leader"]] if row["leader"] is not None else [-1, *row["replicas"], *ANY_BROKER]
    minima = [row["min_isr"]] if row["min_isr"] is not None else list(range(7))
    changes = [[bool(row[name])] if row[name] is not None else [False, True] for name in ("adding", "removing")]
    for leader, minimum, adds, removes in product(leaders, minima, *changes):
        for live in _live_sets(row, leader, brokers):
            yield _certain(row, leader, minimum, live, adds or removes)


def _live_sets(row: Row, leader: int, brokers: Brokers) -> Iterator[set[int]]:
    """Sets of live brokers, different only in the leader: nothing else matters to a partition."""
    states = [item["alive"] for item in brokers if item["broker"] == leader]
    alive = states[0] if states else False if brokers else None
    if row["leader"] is None:
        alive = None  # a leader that is not known is not looked up
    if alive is not True:
        yield set()
    if alive is not False:
        yield {leader}


def predicates(row: Row, brokers: Brokers) -> dict[str, bool | None]:
    """Every predicate of one partition; None where the facts do not tell."""
    worlds = list(_worlds(row, brokers))
    found: dict[str, bool | None] = {}
    for name in worlds[0]:
        answers = {world[name] for world in worlds}
        found[name] = answers.pop() if len(answers) == 1 else None
    return {
        **found,
        "under_replicated": is_under_replicated(row),
        "under_replicated_before_2_5": len(row["isr"]) < len(row["replicas"]),
        "under_min_isr_broker": _under_min_isr_broker(row),
        "masked": _masked(row),
        "non_preferred": _non_preferred(row),
    }


def _under_min_isr_broker(row: Row) -> bool | None:
    """Only a leader counts; without min.insync.replicas nothing is said of a partition that may have one."""
    leader, minimum = row["leader"], row["min_isr"]
    if leader == -1:
        return False
    if minimum is None:
        return None
    short = len(row["isr"]) < min(minimum, len(row["replicas"]))
    return None if short and leader is None else short


def _masked(row: Row) -> bool | None:
    """Original replica out of the ISR, hidden by an adding replica inside it."""
    if is_under_replicated(row) or not missing(row):
        return False
    if row["adding"] is None:
        return None
    original = [broker for broker in row["replicas"] if broker not in row["adding"]]
    out = any(broker not in row["isr"] for broker in original)
    hidden_by = any(broker in row["isr"] for broker in row["adding"])
    if not (out and hidden_by):
        return False
    moving = any(broker in row["replicas"] for broker in [*row["adding"], *(row["removing"] or [])])
    return True if moving else None if row["removing"] is None else False


def _non_preferred(row: Row) -> bool | None:
    if row["leader"] is None or not row["replicas"]:
        return None
    return row["leader"] != row["replicas"][0]


def racks_of(row: Row, brokers: Brokers) -> int | None:
    racks = {item["broker"]: item["rack"] for item in brokers}
    found = [racks.get(broker) for broker in row["replicas"]]
    return None if None in found else len(set(found))


def possible_racks(row: Row, brokers: Brokers) -> int | None:
    racks = [item["rack"] for item in brokers]
    return None if not racks or None in racks else min(len(set(racks)), replication_factor(row))


def cause(broker: int, row: Row, brokers: Brokers, log_dirs: Sequence[Row]) -> str | None:
    """Why a missing replica is missing, as far as one snapshot proves it."""
    registered = {item["broker"]: item for item in brokers}
    if broker in registered and registered[broker]["fenced"]:
        return "broker-fenced"
    if broker in registered and registered[broker]["alive"] is False:
        return "broker-gone"
    if registered and broker not in registered:
        return "broker-gone"
    if broker in (row["offline_replicas"] or []):
        broken = any(item["broker"] == broker and item["error"] for item in log_dirs)
        return "log-directory-offline" if broken else "replica-offline"
    return "reassignment" if broker in (row["adding"] or []) else None
