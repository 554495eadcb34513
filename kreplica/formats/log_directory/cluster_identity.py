"""Identity of logs: the cluster of a log directory, the topic of a partition's directory, by files in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kreplica.errors import UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import read_found_file
from kreplica.formats.find_files import is_there
from kreplica.formats.log_directory.listing import parse_partition_directory
from kreplica.formats.log_directory.meta_properties import (
    META_PROPERTIES,
    PARTITION_METADATA,
    decode_meta_properties,
    decode_partition_metadata,
)


def cluster_id_of(home: Path, damage: list[Damage]) -> str | None:
    """The cluster id in the meta.properties of a log directory; None if it has none.

    Args:
        home: The log directory.
        damage: Takes the reason, if the file is there.
    """
    path = home / META_PROPERTIES
    if not is_there(path):
        return None
    read = read_found_file(path)
    decoded = decode_meta_properties(read.content, str(path))
    if decoded.cluster_id is None:
        _note(read.unreadable or decoded.damage, damage)
    return decoded.cluster_id


def topic_id_of(directory: Path, damage: list[Damage]) -> str | None:
    """The topic id in the partition.metadata of a partition's directory, which Kafka writes since 2.8; None without.

    Args:
        directory: The partition's.
        damage: Takes the reason, if the file is there.
    """
    path = directory / PARTITION_METADATA
    if not is_there(path):
        return None
    read = read_found_file(path)
    decoded = decode_partition_metadata(read.content, str(path))
    if decoded.topic_id is None:
        _note(read.unreadable or decoded.damage, damage)
    return decoded.topic_id


def _note(found: Iterable[Damage], damage: list[Damage]) -> None:
    """Adds each place once, however often its file is read."""
    damage += [each for each in found if each not in damage]


def topic_names(homes: Iterable[Path], damage: list[Damage]) -> dict[str, str]:
    """Names of topics by their id, as far as partition directories of these log directories have them (KIP-516).

    Args:
        homes: The log directories.
        damage: Takes the files that do not have one.
    """
    found: dict[str, str] = {}
    for path in sorted(path for home in set(homes) for path in home.glob(f"*/{PARTITION_METADATA}")):
        place = parse_partition_directory(path.parent.name)
        if place is None or place.state != "current":
            continue
        if (topic_id := topic_id_of(path.parent, damage)) is not None:
            found[topic_id] = place.topic
    return found


def require_one_cluster(homes: Iterable[Path], damage: list[Damage], what: str = "logs") -> None:
    """Requires that log directories whose logs are compared are of one cluster; those without an id are ignored.

    Args:
        homes: The log directories.
        damage: Takes the files that do not have one.
        what: Name of their contents, for the message.

    Raises:
        UsageError: They are of several clusters: a partition of the same name is another one in each.
    """
    refuse_several_clusters({home: cluster_id_of(home, damage) for home in set(homes)}, what)


def refuse_several_clusters(clusters: Mapping[Path, str | None], what: str = "logs") -> None:
    """As ``require_one_cluster``, where the cluster of each log directory is known.

    Raises:
        UsageError: They are of several clusters.
    """
    found: dict[str, list[Path]] = {}
    for home, cluster in sorted(clusters.items()):
        if cluster is not None:
            found.setdefault(cluster, []).append(home)
    if len(found) > 1:
        raise UsageError(f"{what} of {len(found)} clusters", _told(found), "name those of one")


def _told(found: Mapping[str, list[Path]]) -> str:
    return ", ".join(
        f"{cluster} in {homes[0]}" + (f" and {len(homes) - 1} more" if len(homes) > 1 else "")
        for cluster, homes in found.items()
    )
