"""Whose logs these are: the cluster of a log directory, the topic of a partition's directory, by files in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kreplica.errors import UsageError
from kreplica.formats.file_bytes import read_small_file
from kreplica.formats.key_value_text import (
    META_PROPERTIES,
    PARTITION_METADATA,
    decode_meta_properties,
    decode_partition_metadata,
)
from kreplica.formats.log_directory import parse_partition_directory


def cluster_id_of(home: Path) -> str | None:
    """The cluster id in the meta.properties of a log directory; None if it does not tell.

    Raises:
        InputError: The file is there and cannot be read.
    """
    path = home / META_PROPERTIES
    return decode_meta_properties(read_small_file(path).content, str(path)).cluster_id if path.is_file() else None


def topic_id_of(directory: Path) -> str | None:
    """The topic id in the partition.metadata of a partition's directory, which Kafka writes since 2.8; None without.

    Raises:
        InputError: The file is there and cannot be read.
    """
    path = directory / PARTITION_METADATA
    return decode_partition_metadata(read_small_file(path).content, str(path)).topic_id if path.is_file() else None


def topic_names(homes: Iterable[Path]) -> dict[str, str]:
    """Names of topics by their id, as far as partition directories of these log directories tell them (KIP-516).

    Raises:
        InputError: A file is there and cannot be read.
    """
    found: dict[str, str] = {}
    for path in sorted(path for home in set(homes) for path in home.glob(f"*/{PARTITION_METADATA}")):
        place = parse_partition_directory(path.parent.name)
        if place is not None and place.state == "current" and (topic_id := topic_id_of(path.parent)) is not None:
            found[topic_id] = place.topic
    return found


def require_one_cluster(homes: Iterable[Path], what: str = "logs") -> None:
    """Log directories whose logs are taken for copies of each other are of one cluster; those that tell none count not.

    Args:
        homes: The log directories.
        what: What they hold, for the message.

    Raises:
        UsageError: They are of several clusters: a partition of the same name is another one in each.
        InputError: A meta.properties cannot be read.
    """
    found: dict[str, list[Path]] = {}
    for home in sorted(set(homes)):
        if (cluster := cluster_id_of(home)) is not None:
            found.setdefault(cluster, []).append(home)
    if len(found) > 1:
        raise UsageError(f"{what} of {len(found)} clusters", _told(found), "name those of one")


def _told(found: Mapping[str, list[Path]]) -> str:
    return ", ".join(
        f"{cluster} in {homes[0]}" + (f" and {len(homes) - 1} more" if len(homes) > 1 else "")
        for cluster, homes in found.items()
    )
