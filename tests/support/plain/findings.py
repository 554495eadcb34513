"""Rules that a cluster breaks, in plain Python: the findings that kreplica.health.findings has to have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plain.reference import Brokers, Row, missing, possible_racks, predicates, racks_of, replication_factor

Found = tuple[str, str, str | None, int | None, int | None]
"""Rule, severity, topic, partition, broker."""


def findings(rows: Sequence[Row], brokers: Brokers) -> list[Found]:
    found = [item for row in rows for item in _of_partition(row, brokers)]
    found += [item for topic in {row["topic"] for row in rows} for item in _of_topic(topic, rows)]
    found += _imbalance(rows)
    severities = ["critical", "warning", "info"]
    return sorted(
        found, key=lambda item: (severities.index(item[1]), item[0], item[2] or "", _or(item[3], -1), _or(item[4], -1))
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _of_partition(row: Row, brokers: Brokers) -> Iterator[Found]:
    judged = predicates(row, brokers)
    place = (row["topic"], row["partition"], None)
    if judged["offline"]:
        yield "offline", "critical", *place
    if judged["under_min_isr"]:
        acks_all_fails = judged["under_min_isr_broker"] or judged["offline"]
        yield "under-min-isr", "critical" if acks_all_fails else "warning", *place
    if judged["under_replicated"]:
        yield "under-replicated", "warning", *place
    if judged["masked"]:
        yield "masked-under-replicated", "warning", *place
    if judged["at_min_isr"]:
        yield "at-min-isr", "warning" if judged["under_replicated"] else "info", *place
    used, possible = racks_of(row, brokers), possible_racks(row, brokers)
    if used is not None and possible is not None and used < possible:
        yield "rack-violation", "warning", *place


def _of_topic(topic: str, rows: Sequence[Row]) -> Iterator[Found]:
    mine = [row for row in rows if row["topic"] == topic]
    factors = [replication_factor(row) for row in mine]
    broken: dict[str, Callable[[Row], Any]] = {
        "rf-one": lambda row: replication_factor(row) == 1,
        "min-isr-equals-rf": lambda row: replication_factor(row) > 1 and row["min_isr"] == replication_factor(row),
        "min-isr-above-rf": lambda row: row["min_isr"] is not None and row["min_isr"] > replication_factor(row),
        "unclean-enabled": lambda row: row["unclean_leader_election"],
    }
    for rule, is_broken in broken.items():
        if any(is_broken(row) for row in mine):
            yield rule, "warning", topic, None, None
    if len(set(factors)) > 1:
        yield "mixed-rf", "info", topic, None, None


def _imbalance(rows: Sequence[Row]) -> Iterator[Found]:
    """KafkaController: ratio above 10 percent, strictly; without leadership information only in the denominator."""
    for broker in {row["replicas"][0] for row in rows if row["replicas"]}:
        preferred = [row for row in rows if row["replicas"] and row["replicas"][0] == broker]
        elsewhere = [row for row in preferred if row["leader"] is not None and row["leader"] != broker]
        if len(elsewhere) / len(preferred) > 0.1:
            yield "leader-imbalance", "warning", None, None, broker


def evidence_of_partition(row: Row) -> dict[str, Any]:
    """Facts that any finding of a partition may show, by name."""
    return {
        "in_sync": len(row["isr"]),
        "replication_factor": replication_factor(row),
        "missing": missing(row),
        "adding": row["adding"],
        "min_isr": row["min_isr"],
        "leader": row["leader"],
        "replicas": row["replicas"],
        "isr": row["isr"],
        "offline_replicas": row["offline_replicas"],
    }
