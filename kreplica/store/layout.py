"""Paths of the files of a dump directory, and the parsing of their names.

    DIR/partitions/date=2026-11-21/cluster=Zk5…/20261121T080712.345Z-1f0c9a7e52b4.parquet
    DIR/brokers/…, configs, groups, log_dirs, replicas, quorum: the same
    DIR/manifests/20261121T080712.345Z-Zk5…-1f0c9a7e52b4.json
    DIR/.writing-1f0c9a7e52b4/   files of a snapshot that is being written; readers do not look there

A snapshot exists when its manifest is there. Names let readers find the newest snapshot of a cluster without opening
all manifests; what a snapshot is stands in its manifest.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote, unquote

from kreplica.system.stores.locations import Place, is_directory

MANIFESTS = "manifests"
STAGING_PREFIX = ".writing-"
_LONGEST_SEGMENT = 100
_MANIFEST_NAME = re.compile(
    r"(?P<taken_at>\d{8}T\d{6}\.\d{3}Z)-(?P<cluster>[A-Za-z0-9._%-]+)-(?P<random>[0-9a-f]{12})\.json", re.ASCII
)
_MANIFEST_NAMES = re.compile(r"(?:\d{8}T\d{6}\.\d{3}Z-[A-Za-z0-9._%-]{19,}+(?<=-[0-9a-f]{12}\.json)\n)*+", re.ASCII)
is_manifest_name = _MANIFEST_NAME.fullmatch
"""Match of a manifest's file name, None if it is no such name."""
_CLUSTER_PART = slice(21, -18)
_CUT = re.compile(r".{81,83}-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SnapshotName:
    """Parts that the names of one snapshot's files are made of.

    Args:
        taken_at: UTC.
        cluster: The cluster's label as a path segment.
        random: Twelve hexadecimal digits that keep snapshots of one cluster at one moment apart.
    """

    taken_at: datetime
    cluster: str
    random: str

    @classmethod
    def new(cls, taken_at: datetime, label: str) -> SnapshotName:
        """A name that no other snapshot has."""
        return cls(taken_at.astimezone(UTC), path_segment(label), secrets.token_hex(6))

    @property
    def staging(self) -> str:
        """Folder of the files while they are written."""
        return f"{STAGING_PREFIX}{self.random}"

    @property
    def manifest(self) -> str:
        """Path of the manifest inside the dump directory."""
        return f"{MANIFESTS}/{_stamp(self.taken_at)}-{self.cluster}-{self.random}.json"

    def data_file(self, table: str) -> str:
        """Path of a table's file inside the dump directory."""
        date = self.taken_at.date().isoformat()
        return f"{table}/date={date}/cluster={self.cluster}/{_stamp(self.taken_at)}-{self.random}.parquet"


@dataclass(frozen=True, slots=True)
class Entry:
    """A manifest in a dump directory, as far as its name identifies it."""

    path: Place
    taken_at: datetime
    cluster: str


def may_hold_snapshots(directory: Path) -> bool:
    """True if a folder has manifests, or may not be looked into: reading it tells why."""
    try:
        return is_directory(directory / MANIFESTS)
    except PermissionError:
        return True


def path_segment(label: str) -> str:
    """A cluster's id or name as part of a path: all but ``[A-Za-z0-9._-]`` percent-encoded; cut and hashed if long."""
    if not label:
        return "unnamed"
    encoded = quote(label.encode("utf-8", "surrogateescape"), safe="").replace("~", "%7E")
    if len(encoded) <= _LONGEST_SEGMENT:
        return encoded
    digest = hashlib.sha256(encoded.encode()).hexdigest()[:16]
    return re.sub(r"%[0-9A-F]?$", "", encoded[: _LONGEST_SEGMENT - 17]) + "-" + digest


def parse_manifest_name(path: Place) -> Entry | None:
    """Parses the file name of a manifest; None if it is no such name."""
    match = _MANIFEST_NAME.fullmatch(path.name)
    if match is None:
        return None
    try:
        taken_at = datetime.strptime(match["taken_at"], "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        return None
    return Entry(path, taken_at, match["cluster"])


def own_names(names: Sequence[str]) -> Sequence[str]:
    """Those of some file names that are names of manifests, in their order.

    They are looked at all at once: 24,000 take 7 ms, one after the other 12.
    """
    lines = "\n".join([*names, ""])
    if lines.count("\n") == len(names) and _MANIFEST_NAMES.fullmatch(lines):
        return names
    return list(filter(is_manifest_name, names))


def cluster_in(name: str) -> str:
    """The cluster's part of the file name of a manifest."""
    return name[_CLUSTER_PART]


def clusters_in(names: Sequence[str]) -> Sequence[str]:
    """The cluster's part of each of many file names of manifests."""
    return list(map(itemgetter(_CLUSTER_PART), names))


def label_in(segment: str) -> str | None:
    """The label that a path segment was made of; None where that cannot be told, because it was cut."""
    if _CUT.fullmatch(segment):
        return None
    return "" if segment == "unnamed" else unquote(segment, errors="surrogateescape")


def names_between(names: Sequence[str], since: datetime | None, until: datetime | None) -> Sequence[str]:
    """Those of the file names of manifests, in their order, whose moments are in a span, to the millisecond."""
    first, end = borders(since, until)
    return names[bisect_left(names, first) : bisect_left(names, end) if end else len(names)]


def borders(since: datetime | None, until: datetime | None) -> tuple[str, str]:
    """The text that names of manifests in a span do not sort before, and that which they sort before; empty if none."""
    after = "."  # sorts behind the hyphen that follows a moment
    first = "" if since is None else _stamp(since.astimezone(UTC))
    return first, "" if until is None else _stamp(until.astimezone(UTC)) + after


def _stamp(moment: datetime) -> str:
    """ISO 8601 without colons, which some file systems refuse; sorts as time does."""
    return moment.isoformat(timespec="milliseconds").replace("-", "").replace(":", "").removesuffix("+0000") + "Z"
