"""kreplica: replication of Apache Kafka clusters, seen, explained and steered.

The public interface of the library::

    import kreplica

    snapshot = kreplica.read_snapshot(kreplica.ClusterHandle(name="sample", dump="sample"))
    for finding in kreplica.find(snapshot):
        print(finding.severity.word, finding.rule, finding.message)

Names are loaded when they are first used, so that ``import kreplica`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kreplica.version import __version__ as __version__

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle as ClusterHandle
    from kreplica.config.resolve import resolve_handles as resolve_handles
    from kreplica.errors import KreplicaError as KreplicaError
    from kreplica.health.findings import Finding as Finding
    from kreplica.health.findings import find as find
    from kreplica.health.listing import count_all as count_all
    from kreplica.health.listing import partition_rows as partition_rows
    from kreplica.model.evaluate import Evaluator as Evaluator
    from kreplica.model.predicates import PREDICATES as PREDICATES
    from kreplica.model.selection import select as select
    from kreplica.model.snapshot import ClusterSnapshot as ClusterSnapshot
    from kreplica.planner.preferred_leaders import plan_elections as plan_elections
    from kreplica.sources import Facet as Facet
    from kreplica.sources import read_snapshot as read_snapshot
    from kreplica.store.writing import write_snapshot as write_snapshot


_HOMES = {
    "ClusterHandle": "kreplica.config.handle",
    "ClusterSnapshot": "kreplica.model.snapshot",
    "Evaluator": "kreplica.model.evaluate",
    "Facet": "kreplica.sources",
    "Finding": "kreplica.health.findings",
    "KreplicaError": "kreplica.errors",
    "PREDICATES": "kreplica.model.predicates",
    "count_all": "kreplica.health.listing",
    "find": "kreplica.health.findings",
    "partition_rows": "kreplica.health.listing",
    "plan_elections": "kreplica.planner.preferred_leaders",
    "read_snapshot": "kreplica.sources",
    "resolve_handles": "kreplica.config.resolve",
    "select": "kreplica.model.selection",
    "write_snapshot": "kreplica.store.writing",
}
"""Public names and the modules they live in."""

__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'kreplica' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
