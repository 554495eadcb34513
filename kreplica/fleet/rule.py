"""A fleet rule: a plain function over one cluster's history, with its name and its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.health.rules import Severity
from kreplica.model.tables.schema import TableSchema


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts that a history does not hold.

    Args:
        now_ms: The moment that the fleet is judged at, milliseconds since the epoch.
        expect_every_ms: A snapshot is due so often; None for the interval that each cluster kept.
        groups: Groups of clusters that are to be alike, each with the ids or names of its clusters.
    """

    now_ms: int
    expect_every_ms: int | None = None
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)


Find: TypeAlias = Callable[[ClusterHistory, Circumstances], Iterator[FleetFinding]]


@dataclass(frozen=True, slots=True)
class FleetRule:
    """A rule over time.

    Args:
        name: Fixed name.
        severity: Of a finding, unless ``worst`` says more.
        tables: Tables of the history that it reads.
        means: What a finding means, one clause.
        do: What to do about it, one clause.
        find: Gives the findings in one cluster; None for a rule that compares clusters with each other.
        worst: Of the gravest findings, where these are graver.
    """

    name: str
    severity: Severity
    tables: tuple[TableSchema, ...]
    means: str
    do: str
    find: Find | None
    worst: Severity | None = None
