"""Ids of incidents: four digits of the cluster, so that it alone is judged to find one, and eight of all the rest."""

from __future__ import annotations

import glob
import hashlib

from kreplica.history.months.layout import is_cluster_folder
from kreplica.history.selection import months_of, newest_manifest
from kreplica.store.layout import path_segment
from kreplica.system.guard import attempt
from kreplica.system.stores.storage import Storage

OF_CLUSTER, OF_REST = 4, 8
"""Hexadecimal digits."""


def id_of(cluster: str, kind: str, key: str, valid_from_ms: int) -> str:
    """Name of an incident that stays the same however often the history is read.

    Args:
        cluster: The cluster's label.
        kind: Its kind.
        key: Name of what it concerns.
        valid_from_ms: The first moment that shows it.
    """
    words = "\0".join((cluster, kind, key, str(valid_from_ms)))
    return _digits(path_segment(cluster), OF_CLUSTER) + _digits(words, OF_REST)


def clusters_that_may_have(incident: str, storage: Storage) -> tuple[str, ...] | None:
    """Patterns for the few clusters of a history that an id may be of; None where that cannot be told.

    Args:
        incident: The id, or the beginning of it.
        storage: The history.
    """
    beginning, found = incident[:OF_CLUSTER], []
    for folder in filter(is_cluster_folder, storage.names("")):
        if _digits(folder.partition("=")[2], OF_CLUSTER).startswith(beginning):
            label = attempt(lambda folder=folder: _label_of(storage, folder))  # type: ignore[misc]
            if not isinstance(label, str):
                return None  # a damaged month is told by whoever reads it
            found.append(glob.escape(label))
    return tuple(found)


def _label_of(storage: Storage, folder: str) -> str | None:
    """The label of a cluster: a long one was cut to make the name of its folder, and stands in manifests alone."""
    manifests = (newest_manifest(storage, f"{folder}/month={month}") for month in reversed(months_of(storage, folder)))
    return next((one.cluster for one in manifests if one is not None), None)


def _digits(text: str, count: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:count]
