"""Replicas that a file names: the log directories that it chooses held against the cluster, and what can be proven.

Who wrote the file knows what for; kreplica does not. So its plan has values and legal targets that can be checked, and
no bound: nothing says how few moves another one would take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kreplica.execution.moves.plans.change import ReplicaChange
from kreplica.model.wording.words import listed
from kreplica.planner.reassignment.certificates.certificate import Bound, BoundKind, Certificate, Quantity

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory

PartitionKey = tuple[str, int]
Places = Mapping[tuple[PartitionKey, int], str]
"""Log directory by partition and broker."""


def refused_directories(snapshot: ClusterSnapshot, places: Places) -> dict[PartitionKey, str]:
    """Partitions with a new replica in a log directory that its broker does not have, or that is offline, with why.

    Of brokers that tell no log directories none is refused; a replica that its broker has already is judged as a change
    of its directory.
    """
    table = snapshot.log_dirs
    names = ("broker", "path", "error")
    told: dict[int, dict[str, object]] = {}
    for broker, path, error in zip(*(table[name].to_list() for name in names), strict=True):
        told.setdefault(int(str(broker)), {})[str(path)] = error
    found: dict[PartitionKey, str] = {}
    for (key, broker), path in places.items():
        row = snapshot.find_row(*key)
        here = row is not None and broker in (snapshot.lists("replicas")[row] or ())
        reason = "" if here or broker not in told else _closed(told[broker], broker, path)
        if reason:
            found.setdefault(key, reason)
    return found


def _closed(paths: Mapping[str, object], broker: int, path: str) -> str:
    if path not in paths:
        return f"broker {broker} has no log directory {path}, but {listed(sorted(paths), 3)}"
    error = paths[path]
    return f"log directory {path} of broker {broker} is not online ({error})" if error is not None else ""


def named_certificate(changes: Sequence[ReplicaChange], within: Sequence[ChangedDirectory] = ()) -> Certificate:
    """Values of changes that a file names, without any proof.

    Args:
        changes: Changes of replicas.
        within: Replicas that change their log directory and not their broker.
    """
    moves = sum(len(change.adding) for change in changes)
    copied = sum(change.total_bytes for change in changes)
    values = ((Quantity.MOVES, moves), (Quantity.BYTES, copied))
    return Certificate(
        topics=tuple(sorted({*(change.topic for change in changes), *(one.topic for one in within)})),
        replication_factor=None,
        rack_aware=False,
        receivers=tuple(sorted({broker for change in changes for broker in change.adding})),
        emptied=(),
        staying=(),
        lower={},
        upper={},
        totals=(),
        stuck=(),
        bounds=tuple(Bound(quantity, value, 0, BoundKind.NOTHING, 1, {}) for quantity, value in values),
        named=True,
    )
