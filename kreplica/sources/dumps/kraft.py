"""A snapshot from the metadata log of a KRaft node: the decisions of its controller as of any offset.

What the log does not hold stays null: brokers' own settings and Kafka's defaults, sizes, offsets, how far each node had
fetched. Its last records may not have been committed: a node that was not the leader may have to drop them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from kreplica.errors import InputError
from kreplica.formats.metadata_log.directories import UNASSIGNED, is_online
from kreplica.formats.metadata_log.files import Replay, find_metadata, state_at
from kreplica.formats.metadata_log.image import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    BrokerState,
    MetadataImage,
    PartitionState,
    Topic,
)
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, QUORUM
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import are, counted
from kreplica.sources.zookeeper.settings import Settings
from kreplica.system.redaction import is_secret_name

SOURCE: Final = "kraft-metadata"
LARGEST_OFFSET: Final = 2**63 - 1
"""The next one after it is none."""


def read_kraft_metadata(path: str, offset: int | None = None) -> ClusterSnapshot:
    """Reads a cluster from the metadata log of one of its nodes.

    Args:
        path: ``__cluster_metadata-0``, a log directory with it, one of its checkpoints or segments.
        offset: State as of this offset, the next one to be written; None for the end.

    Raises:
        InputError: There is no such log, or it does not hold that offset.
    """
    files = find_metadata(path)
    replay = state_at(files, offset)
    if replay.image.timestamp is None:
        raise InputError(path, "", "not a single record of it can be read")
    return snapshot_of_metadata(replay, name=path, cluster_id=files.cluster_id)


def snapshot_of_metadata(replay: Replay, *, name: str, cluster_id: str | None) -> ClusterSnapshot:
    """The snapshot that a replayed log amounts to."""
    image = replay.image
    settings = settings_of(image)
    return ClusterSnapshot(
        cluster_id=cluster_id,
        name=name,
        taken_at=moment(image.timestamp or 0),
        source=SOURCE,
        partitions=Table.from_rows(PARTITIONS, _partition_rows(image, settings)),
        brokers=Table.from_rows(BROKERS, (broker_row(each, image.brokers[each]) for each in image.brokers)),
        configs=Table.from_rows(CONFIGS, settings.rows),
        quorum=Table.from_rows(
            QUORUM, ({"node": node, "voter": True, "leader": node == image.leader} for node in image.voters)
        ),
        controller=image.leader,
        features=dict(image.features),
        gaps=tuple(_gaps(replay)),
        notes=tuple(notes_of_image(image)),
        metadata_offset=image.next_offset if image.next_offset <= LARGEST_OFFSET else None,
    )


def moment(timestamp: int) -> datetime:
    """The time of ms since the epoch; the largest or smallest date that Python can hold where it is beyond."""
    seconds, milliseconds = divmod(min(max(timestamp, 0), 253_402_300_799_999), 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)


def _partition_rows(image: MetadataImage, settings: Settings) -> Iterator[dict[str, object]]:
    for topic in image.topics.values():
        for number, state in topic.partitions.items():
            yield partition_row(image, settings, topic, number, state)


def partition_row(
    image: MetadataImage, settings: Settings, topic: Topic, number: int, state: PartitionState
) -> dict[str, object]:
    """The row of a partition in that state."""
    min_isr, unclean = settings.health(topic.name, state.leader)
    return {
        "topic": topic.name,
        "partition": number,
        "topic_id": topic.id,
        "internal": topic.name in INTERNAL_TOPICS,
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "partition_epoch": state.partition_epoch,
        "replicas": state.replicas,
        "isr": state.isr,
        "elr": state.elr,
        "last_known_elr": state.last_known_elr,
        "adding": state.adding,
        "removing": state.removing,
        "offline_replicas": _offline(image, state),
        "recovery_state": state.recovery_state,
        "min_isr": min_isr,
        "unclean_leader_election": unclean,
    }


def _offline(image: MetadataImage, state: PartitionState) -> list[int]:
    """Replicas on a broker that is fenced or gone, or in a directory that is not online.

    Kafka: org.apache.kafka.metadata.KRaftMetadataCache.getOfflineReplicas, DirectoryId.isOnline.
    """
    directories = state.directories or [UNASSIGNED] * len(state.replicas)
    placed = dict(zip(state.replicas, directories, strict=False))
    return [replica for replica in state.replicas if not _online(image.brokers.get(replica), placed.get(replica))]


def _online(broker: BrokerState | None, directory: str | None) -> bool:
    return broker is not None and not broker.fenced and is_online(broker, directory)


def broker_row(broker: int, state: BrokerState) -> dict[str, object]:
    """The row of a broker in that state."""
    return {
        "broker": broker,
        "host": state.host,
        "port": state.port,
        "rack": state.rack,
        "alive": not state.fenced,
        "fenced": state.fenced,
        "cordoned": _cordoned(state),
        "down_since_ms": state.down_since,
    }


def _cordoned(state: BrokerState) -> bool | None:
    """True if every log directory of a broker is cordoned; None where the log does not tell."""
    if state.cordoned is None:
        return None
    return bool(state.directories) and set(state.directories) <= set(state.cordoned)


def settings_of(image: MetadataImage) -> Settings:
    """The settings in a metadata log."""
    found = Settings()
    for (kind, entity), settings in image.configs.items():
        put_settings(found, kind, entity, settings)
        rows = (setting_row(kind, entity, name, value) for name, value in settings.items())
        found.rows.extend(row for row in rows if row is not None)
    return found


def put_settings(found: Settings, kind: int, entity: str, settings: Mapping[str, str]) -> None:
    """Takes the settings of a topic, a broker or all brokers in place of those that it had; no rows."""
    if kind == TOPIC_RESOURCE:
        found.topics[entity] = settings
    elif kind == BROKER_RESOURCE and entity:
        found.brokers[entity] = settings
    elif kind == BROKER_RESOURCE:
        found.defaults.clear()
        found.defaults.update(settings)


def setting_row(kind: int, entity: str, name: str, value: str | None) -> dict[str, object] | None:
    """The row of a setting, None for one of neither a topic nor brokers; None as its value is that of no setting."""
    if kind not in (TOPIC_RESOURCE, BROKER_RESOURCE):
        return None
    of_broker = ("broker", "broker-dynamic") if entity else ("broker-default", "cluster-dynamic")
    entity_type, origin = ("topic", "topic") if kind == TOPIC_RESOURCE else of_broker
    shown = None if is_secret_name(name) else value
    return {"entity_type": entity_type, "entity": entity, "name": name, "value": shown, "origin": origin}


def shown_settings(image: MetadataImage) -> dict[tuple[str, str], str]:
    """Settings as they may be shown, by entity (``topic orders``, ``broker 1``, ``all brokers``) and name."""
    kinds = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", 32: "client metrics", 64: "group"}
    return {
        (
            "all brokers" if (kind, entity) == (BROKER_RESOURCE, "") else f"{kinds.get(kind, kind)} {entity}",
            name,
        ): "(hidden)" if is_secret_name(name) else value
        for (kind, entity), settings in image.configs.items()
        for name, value in settings.items()
    }


def _gaps(replay: Replay) -> Iterator[Gap]:
    if replay.damage:
        count = len(replay.damage)
        first = replay.damage[0]
        yield Gap("torn-read", f"{counted(count, 'damaged place')} in the metadata log, the first: {first}", count)
    yield from gaps_of_image(replay.image)


def gaps_of_image(image: MetadataImage) -> Iterator[Gap]:
    """Gap for the records that could not be applied."""
    if image.unplaced:
        count = image.unplaced
        records = f"{counted(count, 'record')} {are(count)}"
        yield Gap("torn-read", f"{records} about topics or brokers that no record before made", count)


def notes_of_image(image: MetadataImage) -> Iterator[str]:
    """Remarks on records of unknown types and of a transaction that had not ended."""
    if image.unknown:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(image.unknown.items()))
        yield f"records of types that this version does not know were passed over: {kinds}"
    if image.pending is not None:
        yield f"a transaction of {counted(len(image.pending), 'metadata record')} had not ended: none of them holds"
