"""Settings by which a controller moves leadership back to preferred leaders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kreplica.model.snapshot import ClusterSnapshot, MetadataMode

AUTO_REBALANCE = "auto.leader.rebalance.enable"
PERCENTAGE = "leader.imbalance.per.broker.percentage"
INTERVAL_SECONDS = "leader.imbalance.check.interval.seconds"
DEFAULTS = {AUTO_REBALANCE: "true", PERCENTAGE: "10", INTERVAL_SECONDS: "300"}
"""Kafka's defaults, unchanged since 0.8.2."""

BALANCE_SETTINGS = tuple(DEFAULTS)
NOT_READ = "not read"


@dataclass(frozen=True, slots=True)
class Balancing:
    """The settings and where each comes from; a percentage counts in ZooKeeper mode only.

    Args:
        enabled: auto.leader.rebalance.enable.
        percentage: leader.imbalance.per.broker.percentage.
        interval_seconds: leader.imbalance.check.interval.seconds.
        origins: By setting: as in the configs table, ``not read`` where Kafka's default is assumed.
        disagreeing: Settings in which brokers differ, where it is not known whose counts.
    """

    enabled: bool
    percentage: int
    interval_seconds: int
    origins: dict[str, str]
    disagreeing: tuple[str, ...]


def balancing_of(snapshot: ClusterSnapshot) -> Balancing:
    """The settings that the controller decides by, as far as the snapshot has them.

    In ZooKeeper mode those of the broker that is the controller. In KRaft those of the brokers: controllers are not
    asked for theirs, and a cluster has one set of them as a rule.
    """
    by_broker: dict[str, dict[str, tuple[str, str]]] = {}
    for row in snapshot.configs.rows():
        name, value = row["name"], row["value"]
        if row["entity_type"] == "broker" and name in DEFAULTS and isinstance(value, str):
            by_broker.setdefault(str(row["entity"]), {})[str(name)] = (value, str(row["origin"]))
    deciding = str(snapshot.controller)
    if snapshot.mode is MetadataMode.ZOOKEEPER and deciding in by_broker:
        by_broker = {deciding: by_broker[deciding]}
    chosen = {name: _chosen(name, by_broker.values()) for name in BALANCE_SETTINGS}
    return Balancing(
        enabled=chosen[AUTO_REBALANCE][0].lower() == "true",
        percentage=int(chosen[PERCENTAGE][0]),
        interval_seconds=int(chosen[INTERVAL_SECONDS][0]),
        origins={name: origin for name, (_, origin) in chosen.items()},
        disagreeing=tuple(name for name in BALANCE_SETTINGS if len(_values(name, by_broker.values())) > 1),
    )


def _values(name: str, settings: Iterable[dict[str, tuple[str, str]]]) -> set[str]:
    return {some[name][0] for some in settings if name in some}


def _chosen(name: str, settings: Iterable[dict[str, tuple[str, str]]]) -> tuple[str, str]:
    """Value and origin: the first broker's, Kafka's default where none is known."""
    return next((some[name] for some in settings if name in some), (DEFAULTS[name], NOT_READ))
