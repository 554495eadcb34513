"""A snapshot of one's own cluster as a scenario: its brokers, partitions, settings and features, with a writer.

Facts that the snapshot does not hold are reported, and played as Kafka's defaults. Logs begin empty: a snapshot does
not hold records that the cluster has written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kreplica.engine.settings import SETTINGS, Scope, Value, parse
from kreplica.engine.setup import (
    FIRST_CONTROLLER,
    KAFKAS_OWN,
    MILLISECOND,
    SECOND,
    BrokerSetup,
    PartitionStart,
    ProducerSetup,
    ReaderSetup,
    Send,
    Setup,
    TopicSetup,
)
from kreplica.engine.versions.features import FEATURES, OLDEST_METADATA, feature_levels
from kreplica.engine.versions.supported import version_named
from kreplica.engine.versions.version import ControllerKind, Version
from kreplica.errors import UsageError
from kreplica.model.metadata_versions import metadata_version_level, metadata_version_name
from kreplica.model.selection import select
from kreplica.model.settings import METADATA_VERSION, MIN_ISR, UNCLEAN
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.wording.words import are, counted
from kreplica.scenarios import OWN_CLUSTER
from kreplica.scenarios.scenario import Scenario

MOST_PARTITIONS = 20
"""Most partitions that are played: a run plays every fetch of every replica."""

WRITES = (5 * SECOND, 60 * SECOND, 2 * SECOND)
"""Times of the writer's first and last record to each partition, and between two records."""

DURATION = 120 * SECOND
_PROTOCOL = "inter.broker.protocol.version"


@dataclass(frozen=True, slots=True)
class OwnCluster:
    """A cluster that can be played.

    Args:
        scenario: Without faults, except for nodes that are down already.
        version: Kafka's version that is played, as ``--kafka-version`` takes it.
        remarks: Differences from the real cluster, and what is left out.
        unknown: Facts that the outcome depends on and the snapshot does not hold.
    """

    scenario: Scenario
    version: str
    remarks: tuple[str, ...]
    unknown: tuple[str, ...]


def own_cluster(
    snapshot: ClusterSnapshot,
    topics: str | None = None,
    kafka_version: str | None = None,
    most: int = MOST_PARTITIONS,
) -> OwnCluster:
    """The scenario of a snapshot.

    Args:
        snapshot: One cluster.
        topics: Regular expression over whole names of topics, of which Kafka's own are not played; all if None.
        kafka_version: Version whose rules apply, with the features of a new cluster; if None that of the brokers, as
            far as the snapshot has it, and its features.
        most: Most partitions that are played.

    Raises:
        UsageError: No topic matches, there is none, or Kafka's version has to be named.
    """
    asked = [row for row in select(snapshot, topics=topics).partitions.rows() if row["replicas"]]
    rows = [row for row in asked if row["internal"] is not True and not str(row["topic"]).startswith(KAFKAS_OWN)]
    if not rows:
        why = f"Kafka's own topics begin with {KAFKAS_OWN}, and are written by coordinators" if asked else ""
        raise UsageError(f"{snapshot.name} has no partition to play", why, "name topics: --topic REGEX")
    played = _first_of_each_topic(rows, most)
    remarks = _left_out(snapshot, rows, played, len(asked) - len(rows))
    return cluster_to_play(snapshot, played, kafka_version, tuple(remarks))


def cluster_to_play(
    snapshot: ClusterSnapshot,
    played: Sequence[Mapping[str, object]],
    kafka_version: str | None = None,
    left_out: Sequence[str] = (),
) -> OwnCluster:
    """The scenario of some partitions of a snapshot.

    Args:
        snapshot: One cluster.
        played: Rows of its partitions.
        kafka_version: As of ``own_cluster``.
        left_out: Remarks on the partitions that are not played.

    Raises:
        UsageError: Kafka's version has to be named.
    """
    name, told = _version_of(snapshot) if kafka_version is None else (kafka_version, ())
    if name is None:
        raise UsageError(f"{snapshot.name} does not tell Kafka's version", "", "name it: --kafka-version 3.9")
    version = version_named(name)
    kraft = version.controller is ControllerKind.KRAFT
    features = {} if kafka_version is not None or not kraft else _features(snapshot, version)
    brokers, shared, odd = _brokers(snapshot, played)
    setup = Setup(
        brokers=brokers,
        topics=_topics(snapshot, played, version.elr),
        clients=(_writer(played), ReaderSetup("reader", tuple(map(_name, played)))),
        settings={**shared, **features},
        controllers=_voters(snapshot) if kraft else 3,
        duration=DURATION,
        down=(*_down_brokers(snapshot, brokers), *(_down_controllers(snapshot) if kraft else ())),
    )
    remarks = (*told, *left_out, *odd, *_other_remarks(snapshot, played, setup))
    unknown = (*_unknown_settings(played), *_unknown_elr(snapshot, kafka_version, version))
    return OwnCluster(_scenario(snapshot, setup), name, remarks, (*(gap.message for gap in snapshot.gaps), *unknown))


def _scenario(snapshot: ClusterSnapshot, setup: Setup) -> Scenario:
    return Scenario(
        name=OWN_CLUSTER,
        title=f"{snapshot.name} as it was at {snapshot.taken_at:%Y-%m-%d %H:%M:%S} UTC",
        why="""The brokers, partitions and settings of a snapshot, with one producer that writes to every partition with
            acks=all, and a reader. Logs begin empty. What was down stays down unless the plan starts it.""",
        source=f"a snapshot by {snapshot.source}",
        setup=setup,
        plan=(),
        cases=(),
    )


def _name(row: Mapping[str, object]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _ids(value: object) -> tuple[int, ...]:
    assert isinstance(value, list | tuple), value
    return tuple(int(one) for one in value)


# -- which partitions


def _first_of_each_topic(rows: Sequence[Mapping[str, object]], most: int) -> list[Mapping[str, object]]:
    """At most ``most``: the first of every topic, then the second, and so on; in the order of the snapshot."""
    seen: Counter[object] = Counter()
    ranked = []
    for place, row in enumerate(rows):
        ranked.append((seen[row["topic"]], place))
        seen[row["topic"]] += 1
    return [rows[place] for place in sorted(place for _, place in sorted(ranked)[:most])]


def _left_out(
    snapshot: ClusterSnapshot,
    asked: Sequence[Mapping[str, object]],
    played: Sequence[Mapping[str, object]],
    own: int,
) -> Iterator[str]:
    if len(played) < len(asked):
        some = f"{len(played)} of {counted(len(asked), 'partition')} {are(len(played))} played"
        yield f"{some}, no more at once; --topic names others"
    for number, told in ((len(snapshot.partitions) - own - len(asked), "other topics"), (own, "Kafka's own topics")):
        if number:
            yield f"{counted(number, 'partition')} of {told} {are(number)} left out"
    moving = sum(bool(row["adding"] or row["removing"]) for row in played)
    if moving:
        yield f"the reassignments of {counted(moving, 'partition')} are not played: replicas stay as they are"


# -- version and features


def known_version(snapshot: ClusterSnapshot) -> str | None:
    """Kafka's version, as far as a snapshot has it."""
    return _version_of(snapshot)[0]


def _version_of(snapshot: ClusterSnapshot) -> tuple[str | None, tuple[str, ...]]:
    """The brokers' version, and how it is known where no broker reports it."""
    mode = "-kraft" if snapshot.mode is MetadataMode.KRAFT else ""
    versions = {str(one) for one in snapshot.brokers["version"].to_list() if one}
    if versions:
        oldest = min(versions, key=lambda text: version_named(_release(text, mode)).number)
        several = f"brokers run {', '.join(sorted(versions))}: {oldest} is played"
        return _release(oldest, mode), (several,) if len(versions) > 1 else ()
    level = snapshot.features.get(METADATA_VERSION)
    named = None if level is None else metadata_version_name(level)
    if named is not None:
        release = _release(named, mode)
        return release, (f"brokers' version is not known: {release} is played, that of {METADATA_VERSION} {named}",)
    protocols = {row["value"] for row in snapshot.configs.rows() if row["name"] == _PROTOCOL and row["value"]}
    if len(protocols) == 1:
        (protocol,) = protocols
        release = _release(str(protocol), mode)
        return release, (f"brokers' version is not known: {release} is played, that of {_PROTOCOL}",)
    return None, ()


def _release(text: str, mode: str) -> str:
    """``3.9-kraft`` of 3.9.2 or 3.9-IV0; 4.x has one mode alone."""
    release = ".".join(text.partition("-")[0].split(".")[: 2 if not text.startswith("0.") else 3])
    return f"{release}{mode}" if version_named(release).number < (4,) else release


def _features(snapshot: ClusterSnapshot, version: Version) -> dict[str, Value]:
    """The levels of features; what is not finalized is at 0, as Kafka takes it."""
    if not snapshot.features:
        return {}
    levels: dict[str, Value] = {
        name: snapshot.features.get(name, 0) for name, feature in FEATURES.items() if feature.since <= version.number
    }
    metadata = snapshot.features.get(METADATA_VERSION)
    oldest = metadata_version_level(OLDEST_METADATA) or 0
    if metadata is not None and oldest <= metadata <= feature_levels(version)[METADATA_VERSION]:
        levels[METADATA_VERSION] = metadata_version_name(metadata) or str(metadata)
    return levels


def _unknown_elr(snapshot: ClusterSnapshot, kafka_version: str | None, version: Version) -> tuple[str, ...]:
    if version.number < (4,) or snapshot.features:
        return ()
    assert kafka_version is not None, "only features and brokers tell a version"
    state = "on" if version.elr else "off"
    new = f"those of a new cluster of {kafka_version} are played, eligible leader replicas {state}"
    return (f"features are not known: {new}",)


# -- brokers, controllers


def _brokers(
    snapshot: ClusterSnapshot, played: Iterable[Mapping[str, object]]
) -> tuple[tuple[BrokerSetup, ...], dict[str, Value], list[str]]:
    """The brokers, the settings that all of them have, and remarks on values that cannot be played."""
    ids = sorted({*_listed_brokers(snapshot), *(broker for row in played for broker in _ids(row["replicas"]))})
    own: dict[int, dict[str, Value]] = {broker: {} for broker in ids}
    odd: list[str] = []
    for row in snapshot.configs.rows():
        setting = SETTINGS.get(str(row["name"]))
        if row["entity_type"] != "broker" or row["value"] is None or setting is None:
            continue
        if setting.scope is Scope.BROKER and str(row["entity"]).isdecimal() and int(str(row["entity"])) in own:
            try:
                own[int(str(row["entity"]))][setting.name] = parse(setting.name, str(row["value"]))
            except UsageError as error:
                odd.append(f"broker {row['entity']}: {error}")
    known = [settings for settings in own.values() if settings]
    first = known[0] if known else {}
    shared = {name: value for name, value in first.items() if all(one.get(name) == value for one in known)}
    brokers = tuple(
        BrokerSetup(
            broker,
            snapshot.racks.get(broker, ""),
            {name: value for name, value in own[broker].items() if name not in shared},
        )
        for broker in ids
    )
    return brokers, shared, odd


def _listed_brokers(snapshot: ClusterSnapshot) -> set[int]:
    return {broker for broker in snapshot.brokers["broker"].to_list() if isinstance(broker, int)}


def _down_brokers(snapshot: ClusterSnapshot, brokers: Iterable[BrokerSetup]) -> tuple[str, ...]:
    return tuple(f"broker-{broker.id}" for broker in brokers if snapshot.is_alive(broker.id) is False)


def _voters(snapshot: ClusterSnapshot) -> int:
    return sum(bool(row["voter"]) for row in snapshot.quorum.rows()) or 3


def _down_controllers(snapshot: ClusterSnapshot) -> tuple[str, ...]:
    """As many controllers as there are voters that are brokers which are down."""
    voters = [int(str(row["node"])) for row in snapshot.quorum.rows() if row["voter"]]
    listed = _listed_brokers(snapshot)
    places = [place for place, node in enumerate(voters) if node in listed and snapshot.is_alive(node) is False]
    return tuple(f"controller-{FIRST_CONTROLLER + place}" for place in places)


def _other_remarks(snapshot: ClusterSnapshot, played: Sequence[Mapping[str, object]], setup: Setup) -> Iterator[str]:
    if setup.down:
        yield f"down from the beginning: {', '.join(setup.down)}"
    if not any(row["entity_type"] == "broker" for row in snapshot.configs.rows()):
        yield "brokers' settings are not known: Kafka's defaults are played"
    if any(snapshot.is_alive(broker.id) is None for broker in setup.brokers):
        yield "which brokers are up is not known: all are played as up"
    led = {int(str(row["leader"])) for row in played if row["leader"] is not None and int(str(row["leader"])) >= 0}
    gone = sorted(broker for broker in led if f"broker-{broker}" in setup.down)
    if gone:
        yield f"leaders that are down: {', '.join(map(str, gone))}"


# -- topics


def _topics(snapshot: ClusterSnapshot, played: Sequence[Mapping[str, object]], elr: bool) -> tuple[TopicSetup, ...]:
    settings = _topic_settings(snapshot)
    topics: dict[str, list[Mapping[str, object]]] = {}
    for row in played:
        topics.setdefault(str(row["topic"]), []).append(row)
    return tuple(_topic(name, rows, settings.get(name, {}), elr) for name, rows in topics.items())


def _topic(name: str, rows: Sequence[Mapping[str, object]], settings: Mapping[str, Value], elr: bool) -> TopicSetup:
    by_number = {int(str(row["partition"])): row for row in rows}
    numbers = range(max(by_number) + 1)
    own = dict(settings)
    for setting, column in ((MIN_ISR, "min_isr"), (UNCLEAN, "unclean_leader_election")):
        value = rows[0][column]
        if isinstance(value, int | bool):
            own[setting] = value
    return TopicSetup(
        name,
        tuple(_ids(by_number[number]["replicas"]) if number in by_number else () for number in numbers),
        own,
        {number: _start(row, elr) for number, row in by_number.items()},
    )


def _start(row: Mapping[str, object], elr: bool) -> PartitionStart:
    isr, leader = _ids(row["isr"]), row["leader"]
    return PartitionStart(
        leader=(*isr, -1)[0] if leader is None else int(str(leader)),
        isr=isr,
        elr=_ids(row["elr"] or ()) if elr else (),
    )


def _topic_settings(snapshot: ClusterSnapshot) -> dict[str, dict[str, Value]]:
    found: dict[str, dict[str, Value]] = {}
    for row in snapshot.configs.rows():
        setting = SETTINGS.get(str(row["name"]))
        if row["entity_type"] == "topic" and row["value"] is not None and setting and setting.scope is Scope.TOPIC:
            found.setdefault(str(row["entity"]), {})[setting.name] = parse(setting.name, str(row["value"]))
    return found


def _unknown_settings(played: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Settings that decide on writes and losses, where the snapshot does not have them."""
    led_by = sum(row["leader"] is None for row in played)
    if led_by:
        yield f"who leads is not known, of {led_by} of the partitions played: the first in sync is played"
    for setting, column in ((MIN_ISR, "min_isr"), (UNCLEAN, "unclean_leader_election")):
        topics = {str(row["topic"]) for row in played if row[column] is None}
        if topics:
            told = f"{setting} is not known, of {len(topics)} of the topics played"
            yield f"{told}: Kafka's default is played, --set {setting}=… plays another"


# -- clients


def _writer(played: Sequence[Mapping[str, object]]) -> ProducerSetup:
    """One producer that writes to every partition in turn."""
    begin, end, every = WRITES
    sends = [
        Send(begin + number * every + place * MILLISECOND, f"{_name(row)}:{number + 1}", _name(row))
        for number in range((end - begin) // every)
        for place, row in enumerate(played)
    ]
    return ProducerSetup("writer", tuple(sends), {"acks": -1})
