"""Paths of a history's files, below its root.

    cluster=Zk5…/month=2026-11/manifests/00000007.json      the newest number counts, and names the files of the month
    cluster=Zk5…/month=2026-11/observations/whole-….parquet  a row for each snapshot
    cluster=Zk5…/month=2026-11/partitions/open-….parquet     runs that nothing has ended yet
    cluster=Zk5…/month=2026-11/partitions/closed-….parquet   runs that have ended
    cluster=Zk5…/month=2026-11/partitions/unknown-….parquet  what observations inside runs did not know
    cluster=Zk5…/month=2026-11/partitions/samples-….parquet  offsets, once a day
    cluster=Zk5…/month=2026-11/metadata_log/whole-….parquet  steps of metadata logs
    cluster=Zk5…/month=2026-11/exact_partitions/whole-….parquet  what metadata logs said; also exact_brokers, …
    cluster=Zk5…/month=2026-11/brokers/…, configs, groups, log_dirs, quorum, replicas: the same

Data files are named by the SHA-256 of their content.
"""

from __future__ import annotations

import hashlib
import re

from kreplica.store.layout import path_segment

MANIFESTS = "manifests"
OBSERVATIONS = "observations"
WHOLE, OPEN, CLOSED, UNKNOWN_CELLS, SAMPLES = "whole", "open", "closed", "unknown", "samples"
"""Parts of a table; observations have one only."""

_MANIFEST = re.compile(r"(?P<number>\d{8})\.json")
_MONTH = re.compile(r"month=(?P<month>\d{4}-(?:0[1-9]|1[0-2]))")
_DATA = re.compile(r"(?:whole|open|closed|unknown|samples)-[0-9a-f]{24}\.parquet")
_CLUSTER = "cluster="


def month_folder(cluster: str, month: str) -> str:
    """Folder of a cluster's month."""
    return f"{_CLUSTER}{path_segment(cluster)}/month={month}"


def is_cluster_folder(name: str) -> bool:
    """True if a cluster's files may be in a folder of that name."""
    return name.startswith(_CLUSTER)


def parse_month(name: str) -> str | None:
    """The month of a folder's name, None if it is of none."""
    match = _MONTH.fullmatch(name)
    return match["month"] if match else None


def manifest_path(folder: str, number: int) -> str:
    """Path of a manifest."""
    return f"{folder}/{MANIFESTS}/{number:08}.json"


def parse_number(name: str) -> int | None:
    """The number of a manifest's file name, None if it is no such name."""
    match = _MANIFEST.fullmatch(name)
    return int(match["number"]) if match else None


def data_path(folder: str, table: str, part: str, content: bytes) -> str:
    """Path of a data file."""
    return f"{folder}/{table}/{part}-{hashlib.sha256(content).hexdigest()[:24]}.parquet"


def is_data_file(folder: str, table: str, path: str) -> bool:
    """True if that can be the path of a table's file in the folder of a month."""
    begin = f"{folder}/{table}/"
    return path.startswith(begin) and _DATA.fullmatch(path.removeprefix(begin)) is not None
