"""Rules on identity: topic ids, cluster ids, and the small files of a log directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kreplica.formats.damage import Damage, outside
from kreplica.formats.file_bytes import FoundBytes
from kreplica.formats.find_files import is_there
from kreplica.formats.log_directory.listing import LogDirectory
from kreplica.formats.log_directory.meta_properties import META_PROPERTIES, PARTITION_METADATA
from kreplica.formats.logs.replicas import Finding, ReplicaFiles
from kreplica.formats.metadata_log.image import MetadataImage
from kreplica.formats.metadata_log.log import metadata_entries
from kreplica.formats.registry import BOOTSTRAP_CHECKPOINT
from kreplica.model.internal_topics import METADATA_TOPIC
from kreplica.model.settings import METADATA_VERSION


def small_files(homes: Sequence[LogDirectory]) -> Iterator[Finding]:
    """Checkpoints, meta.properties, partition.metadata and the like are what Kafka writes."""
    for home in homes:
        for each in home.damage:
            yield Finding.of_damage("small-files", each)


def bootstrap_checkpoint(homes: Sequence[LogDirectory]) -> Iterator[Finding]:
    """A KRaft node's bootstrap.checkpoint can be read and has a level of metadata.version: no node starts without.

    org.apache.kafka.metadata.bootstrap: BootstrapDirectory, BootstrapMetadata.fromRecords.
    """
    for home in homes:
        path = home.path / BOOTSTRAP_CHECKPOINT
        for each in _bootstrap_damage(path) if is_there(path) else ():
            yield Finding.of_damage("bootstrap-checkpoint", each)


def _bootstrap_damage(path: Path) -> list[Damage]:
    damage: list[Damage] = []
    image = MetadataImage()
    with FoundBytes.open(path) as source:
        for entry in metadata_entries(source, damage):
            image.apply(entry)
        damage = [*source.unreadable(), *outside(damage, source.unreadable())]
    if not damage and METADATA_VERSION not in image.features:
        reason, expected = "it holds no level of the feature", f"a level of {METADATA_VERSION}"
        damage.append(Damage(str(path), 0, reason, 0, expected, "none"))
    return damage


def meta_properties(homes: Sequence[LogDirectory]) -> Iterator[Finding]:
    """The log directories are of one cluster, and no two have the same directory id (KIP-858).

    kafka.server: BrokerMetadataCheckpoint, MetaPropertiesEnsemble.
    """
    known = [(home, home.meta) for home in homes if home.meta is not None]
    clusters = Counter(meta.cluster_id for _, meta in known if meta.cluster_id is not None)
    common = clusters.most_common(1)[0][0] if clusters else None
    seen: dict[str, LogDirectory] = {}
    for home, meta in known:
        file = str(home.path / META_PROPERTIES)
        if meta.cluster_id != common:
            message, found = "of another cluster than the others", meta.cluster_id or "none"
            yield Finding("meta-properties", file, 0, None, None, message, f"cluster.id {common}", found)
        if meta.directory_id is not None and (first := seen.setdefault(meta.directory_id, home)) is not home:
            message, expected = f"the directory id of {first.path} too", "a directory.id of its own"
            yield Finding("meta-properties", file, 0, None, None, message, expected, meta.directory_id)


def topic_ids(replicas: Sequence[ReplicaFiles], by_metadata: Mapping[str, str]) -> Iterator[Finding]:
    """A partition's directory is of the topic that the metadata knows by that name, or else of one topic with others.

    A topic that was deleted and created anew while a broker was down has another id: its old directory is not to be
    used (KIP-516). Directories that wait for their deletion are left out.

    Args:
        replicas: The directories.
        by_metadata: Topic id by name; empty if no metadata log is at hand.
    """
    known = [replica for replica in replicas if replica.place.state == "current"]
    topic_ids = {id(each): each.topic_id for each in known}
    expected = {**_most_frequent(known, topic_ids), **by_metadata}
    for replica in known:
        topic, found = replica.place.topic, topic_ids.get(id(replica))
        if found is None or topic == METADATA_TOPIC or found == expected.get(topic, found):
            continue
        source = "the metadata log" if topic in by_metadata else "most of the other directories"
        file, message = str(replica.path / PARTITION_METADATA), f"another topic of that name than in {source}"
        yield replica.finding("topic-id", file, 0, message, expected[topic], found)


def _most_frequent(replicas: Sequence[ReplicaFiles], topic_ids: Mapping[int, str | None]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    for replica in replicas:
        if (found := topic_ids.get(id(replica))) is not None:
            counts.setdefault(replica.place.topic, Counter())[found] += 1
    return {topic: counter.most_common(1)[0][0] for topic, counter in counts.items()}
