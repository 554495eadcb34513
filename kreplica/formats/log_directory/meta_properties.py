"""meta.properties of a log directory and partition.metadata of a partition's directory: a key and a value a line.

    #                                          version: 0
    #Sat Nov 21 07:01:32 UTC 2026              topic_id: 30zth3UaSnG3EiysTaRZSA
    broker.id=1
    version=0
    cluster.id=cBMf6SHmQsyCTHxhqk8gNg

meta.properties is a Java properties file: version 0 (ZooKeeper mode) has broker.id and cluster.id, version 1 (KRaft)
node.id, cluster.id and, from 3.7 on, directory.id. partition.metadata is written since 2.8 and has version 0.
Kafka: org.apache.kafka.metadata.properties.MetaProperties, org.apache.kafka.storage.internals.checkpoint.
PartitionMetadataFile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.checkpoint_text import MAX_INT32, lines_of, number

META_PROPERTIES: Final = "meta.properties"
PARTITION_METADATA: Final = "partition.metadata"

_PROPERTY = re.compile(r"\s*(?P<key>[A-Za-z0-9._-]+)\s*[=:]\s*(?P<value>\S.*?)\s*")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_META_VERSIONS = ("0", "1")


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The node and cluster of a log directory.

    Args:
        version: 0 in ZooKeeper mode, 1 in KRaft; None if the file does not say.
        node_id: broker.id or node.id.
        cluster_id: cluster.id.
        directory_id: directory.id (KIP-858), None before 3.7.
        damage: What could not be read.
    """

    version: int | None
    node_id: int | None
    cluster_id: str | None
    directory_id: str | None
    damage: tuple[Damage, ...]


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The topic of a partition's directory; ``topic_id`` in Kafka's base64 form, None if unreadable."""

    topic_id: str | None
    damage: tuple[Damage, ...]


def decode_meta_properties(content: bytes, file: str) -> MetaProperties:
    """Decodes meta.properties.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    found, damage = _pairs(content, file)
    if found.get("version") not in _META_VERSIONS:
        damage.append(Damage(file, 0, "unknown version", 0, "0 or 1", found.get("version", "none")))
    key = "node.id" if "node.id" in found else "broker.id"
    node_id = number(found.get(key, ""), MAX_INT32)
    if key in found and node_id is None:
        damage.append(Damage(file, 0, f"{key} is no number", 0, "", found[key]))
    return MetaProperties(
        version=number(found.get("version", ""), MAX_INT32),
        node_id=node_id,
        cluster_id=found.get("cluster.id"),
        directory_id=found.get("directory.id"),
        damage=tuple(damage),
    )


def decode_partition_metadata(content: bytes, file: str) -> PartitionMetadata:
    """Decodes partition.metadata.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    found, damage = _pairs(content, file)
    if found.get("version") != "0":
        damage.append(Damage(file, 0, "unknown version", 0, "0", found.get("version", "none")))
    topic_id = found.get("topic_id", "")
    if not _TOPIC_ID.fullmatch(topic_id):
        damage.append(Damage(file, 0, "no topic id", 0, "22 characters of base64", topic_id or "none"))
        return PartitionMetadata(None, tuple(damage))
    return PartitionMetadata(topic_id, tuple(damage))


def _pairs(content: bytes, file: str) -> tuple[dict[str, str], list[Damage]]:
    found: dict[str, str] = {}
    damage: list[Damage] = []
    for line in lines_of(content):
        pair = _PROPERTY.fullmatch(line.text)
        if pair is not None:
            found[pair["key"]] = pair["value"]
        elif line.text.strip() and not line.text.lstrip().startswith(("#", "!")):
            damage.append(
                Damage(file, line.position, "neither a key with a value nor a remark", line.size, "", line.shown)
            )
    return found, damage
