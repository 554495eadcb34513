"""Differences between two snapshots of one cluster, and which of them is newer.

Only facts that both know are compared; what one cannot know is counted, never taken for a difference. The newer side
is found by Kafka's own epochs: a partition's leader epoch, which only ever grows, then its partition epoch (the
version of its state znode in ZooKeeper mode).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Struct

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.wording.words import ids

EPOCHS = ("leader_epoch", "partition_epoch")
IN_ORDER = ("leader", "leader_epoch", "partition_epoch", "replicas", "recovery_state")
SETS = ("isr", "elr", "last_known_elr", "adding", "removing", "offline_replicas")
"""Lists whose order has no meaning: sources order them differently."""

COMPARED = (*IN_ORDER, *SETS)
"""Fields of a partition; settings are left out, since sources read them at other times and places."""

BROKER_FIELDS = ("alive", "fenced", "rack")
_ZOOKEEPER = frozenset({"zookeeper", "znode-json"})
Values: TypeAlias = tuple[str | None, str | None]
_WORDS = {"leader_epoch": "leader epoch", "partition_epoch": "partition epoch"}


class Side(StrEnum):
    """One of the two."""

    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> Side:
        """The other one."""
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


class Difference(Struct, frozen=True):
    """One fact on which two sources do not agree."""

    topic: Annotated[str | None, Meaning("topic, null where it is about a broker or the cluster")]
    partition: Annotated[Int32 | None, Meaning("partition, null where it is about a topic, a broker or the cluster")]
    broker: Annotated[Int32 | None, Meaning("broker, null where it is about something else")]
    field: Annotated[
        str,
        Meaning(
            "the fact that differs: a field of describe or of the brokers, controller, controller_epoch, or exists"
        ),
    ]
    left: Annotated[
        str | None, Meaning("its value on the left side, as text; null where that side does not have the thing")
    ]
    right: Annotated[str | None, Meaning("its value on the right side")]
    newer: Annotated[
        Side | None, Meaning("left or right: the side with the higher epoch; null where no epoch tells", drop=2)
    ]
    lasting: Annotated[
        bool | None,
        Meaning(
            "whether both readings had these values; false while they keep changing, null after a single reading",
            drop=1,
        ),
    ]
    meaning: Annotated[str, Meaning("what it may mean", fold=True)]

    @property
    def key(self) -> tuple[str | None, int | None, int | None, str]:
        """Subject of the difference."""
        return self.topic, self.partition, self.broker, self.field


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison.

    Args:
        differences: Cluster first, then brokers, then partitions.
        partitions: Number of partitions that both have.
        brokers: Number of brokers that both have.
        unknown: By field, number of partitions or brokers for which one side cannot know it.
    """

    differences: tuple[Difference, ...]
    partitions: int
    brokers: int
    unknown: Mapping[str, int]


def compare(left: ClusterSnapshot, right: ClusterSnapshot) -> Comparison:
    """Compares two snapshots of one cluster.

    Raises:
        UsageError: They are of different clusters.
    """
    if left.cluster_id and right.cluster_id and left.cluster_id != right.cluster_id:
        raise UsageError(
            "these are two clusters",
            f"{left.name} is {left.cluster_id}, {right.name} is {right.cluster_id}",
            "compare sources of one cluster",
        )
    unknown: Counter[str] = Counter()
    brokers = _Brokers(left, right, unknown)
    partitions = _Partitions(left, right, unknown)
    differences = (*_cluster(left, right), *brokers.differences(), *partitions.differences())
    counts = {field: count for field, count in unknown.items() if count}
    return Comparison(differences, len(partitions.common), len(brokers.common), counts)


def _difference(
    field: str,
    values: Values,
    meaning: str,
    *,
    topic: str | None = None,
    partition: int | None = None,
    broker: int | None = None,
    newer: Side | None = None,
) -> Difference:
    return Difference(topic, partition, broker, field, *values, newer, None, meaning)


def _cluster(left: ClusterSnapshot, right: ClusterSnapshot) -> Iterator[Difference]:
    epochs = left.controller_epoch, right.controller_epoch
    newer = _higher(*epochs)
    if newer is not None:
        meaning = f"the {newer.other} side does not know of the newest controller"
        yield _difference("controller_epoch", (str(epochs[0]), str(epochs[1])), meaning, newer=newer)
    if _know_controller(left, right) and left.controller != right.controller:
        values = _text(left.controller), _text(right.controller)
        meaning = "the controller has moved, or one side has not heard of it"
        yield _difference("controller", values, meaning, newer=newer)


def _know_controller(left: ClusterSnapshot, right: ClusterSnapshot) -> bool:
    """True if both know the controller: in KRaft mode Metadata names any broker, which forwards requests."""
    facts = [one.source in _ZOOKEEPER or _of_zookeeper_brokers(one) for one in (left, right)]
    named = [one.controller is not None for one in (left, right)]
    return any(facts) and all(fact or name for fact, name in zip(facts, named, strict=True))


def _of_zookeeper_brokers(snapshot: ClusterSnapshot) -> bool:
    return snapshot.source == "kafka" and "metadata.version" not in snapshot.features


class _Brokers:
    """The brokers of both sides, by id."""

    def __init__(self, left: ClusterSnapshot, right: ClusterSnapshot, unknown: Counter[str]) -> None:
        self._left, self._right = _by_id(left), _by_id(right)
        self._unknown = unknown
        self.common = [broker for broker in self._left if broker in self._right]

    def differences(self) -> Iterator[Difference]:
        """Those of brokers."""
        for broker in sorted({*self._left, *self._right}):
            left, right = self._left.get(broker), self._right.get(broker)
            if left is None or right is None:
                yield from self._absent(broker, left, right)
                continue
            for field in BROKER_FIELDS:
                values = left[field], right[field]
                if _differ(field, *values, self._unknown):
                    meaning = "the sides were asked at different moments, or one has not heard of the change"
                    yield _difference(field, (_text(values[0]), _text(values[1])), meaning, broker=broker)

    def _absent(
        self, broker: int, left: Mapping[str, object] | None, right: Mapping[str, object] | None
    ) -> Iterator[Difference]:
        # Sources soon drop a dead broker without replicas: only a live one counts as missing.
        known = left if left is not None else right
        if known is not None and known["alive"] is True:
            side = Side.LEFT if left is not None else Side.RIGHT
            values: Values = ("alive", None) if side is Side.LEFT else (None, "alive")
            meaning = f"alive on the {side}, and not there on the {side.other}"
            yield _difference("exists", values, meaning, broker=broker)


def _by_id(snapshot: ClusterSnapshot) -> dict[int, Mapping[str, object]]:
    ids: list[int] = snapshot.brokers["broker"].to_list()  # type: ignore[assignment]
    return dict(zip(ids, snapshot.brokers.rows(), strict=True))


class _Partitions:
    """The partitions of both sides, by topic and index."""

    def __init__(self, left: ClusterSnapshot, right: ClusterSnapshot, unknown: Counter[str]) -> None:
        self._left, self._right = (_Rows(one) for one in (left, right))
        self._unknown = unknown
        self.common = [key for key in self._left.rows if key in self._right.rows]

    def differences(self) -> Iterator[Difference]:
        """Those of topics, then those of partitions, in the order of both."""
        anew = set()
        for topic in sorted({*self._left.topic_ids, *self._right.topic_ids}):
            ids = self._left.topic_ids.get(topic), self._right.topic_ids.get(topic)
            if None not in ids and ids[0] != ids[1]:
                anew.add(topic)
                meaning = "the topic was deleted and made anew, and one side still has the old one"
                yield _difference("topic_id", ids, meaning, topic=topic)
        yield from self._missing()
        for key in sorted(self.common):
            if key[0] not in anew:
                yield from self._of(key, self._left.rows[key], self._right.rows[key])

    def _missing(self) -> Iterator[Difference]:
        sides = ((Side.LEFT, self._left, self._right), (Side.RIGHT, self._right, self._left))
        for side, here, there in sides:
            for topic, partition in sorted(key for key in here.rows if key not in there.rows):
                what = "partition" if topic in there.topic_ids else "topic"
                meaning = f"the {side.other} side has no such {what}: made or deleted meanwhile, or hidden from it"
                values: Values = ("yes", None) if side is Side.LEFT else (None, "yes")
                yield _difference("exists", values, meaning, topic=topic, partition=partition)

    def _of(self, key: tuple[str, int], left: int, right: int) -> Iterator[Difference]:
        values = {field: (self._left.value(field, left), self._right.value(field, right)) for field in COMPARED}
        differing = [field for field in COMPARED if _differ(field, *values[field], self._unknown)]
        if not differing:
            return
        epochs = {field: values[field] for field in EPOCHS if field in differing}
        newer = next((_higher(*pair) for pair in epochs.values()), None)
        for field in differing:
            meaning = _meaning(field, newer, epochs, same_epoch=_same_epoch(values))
            texts = _text(values[field][0], field), _text(values[field][1], field)
            yield _difference(field, texts, meaning, topic=key[0], partition=key[1], newer=newer)


class _Rows:
    """Columns of one side as Python values, and the row of each partition."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        table = snapshot.partitions
        self._columns = {field: table[field].to_list() for field in COMPARED}
        topics = [str(topic) for topic in table["topic"].to_list()]
        numbers: list[int] = table["partition"].to_list()  # type: ignore[assignment]
        self.rows = {key: row for row, key in enumerate(zip(topics, numbers, strict=True))}
        self.topic_ids: dict[str, str | None] = dict(zip(topics, table["topic_id"].to_list(), strict=True))  # type: ignore[arg-type]

    def value(self, field: str, row: int) -> object:
        """One fact, None if not known."""
        return self._columns[field][row]


def _differ(field: str, left: object, right: object, unknown: Counter[str]) -> bool:
    if left is None or right is None:
        unknown[field] += left is not right
        return False
    if field in SETS:
        return set(_list(left)) != set(_list(right))
    return left != right


def _list(value: object) -> Iterable[object]:
    assert isinstance(value, list), "a list field holds lists"
    return value


def _higher(left: object, right: object) -> Side | None:
    if not isinstance(left, int) or not isinstance(right, int) or left == right:
        return None
    return Side.LEFT if left > right else Side.RIGHT


def _same_epoch(values: Mapping[str, tuple[object, object]]) -> bool:
    left, right = values["leader_epoch"]
    return left is not None and left == right


def _meaning(field: str, newer: Side | None, epochs: Mapping[str, tuple[object, object]], *, same_epoch: bool) -> str:
    if newer is not None:
        name, (left, right) = next(iter(epochs.items()))
        low, high = (left, right) if newer is Side.RIGHT else (right, left)
        return f"the {newer.other} side is stale: {_WORDS[name]} {low} there, {high} on the {newer}"
    if field == "leader" and same_epoch:
        return "two leaders in one leader epoch: one side is wrong, or the other is no view of this cluster"
    if field in ("replicas", "adding", "removing"):
        return "a reassignment that one side does not know of yet, or no longer"
    if field == "isr" and same_epoch:
        return "the ISR changed within one leader epoch; no epoch tells which side is newer"
    return "no epoch tells which side is newer"


def _text(value: object, field: str = "") -> str | None:
    if value is None:
        return None
    if isinstance(value, list):
        return ids(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if field == "leader" and value == -1 else str(value)
