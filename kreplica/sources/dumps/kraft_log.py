"""The metadata log of a KRaft node as a history takes it in: what its records change, step by step, month by month.

Records of one append time make one step: a batch, or several of one millisecond. Reading ends where an offset is
missing or a record is about something that no record made: what comes after is not known to be all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
import numpy as np

from kreplica.formats.metadata_log.files import MetadataFiles, Replay, earliest, history, state_at
from kreplica.formats.metadata_log.image import TOPIC_RESOURCE, MetadataImage, PartitionChange, PartitionState, Topic
from kreplica.formats.metadata_log.log import MetadataEntry, checkpoint_epoch
from kreplica.history.model import month_of
from kreplica.history.months.log_steps import LogChanges, LogSlice, LogStep, StepKind
from kreplica.history.tables import LOG_TABLES, HistoryTable
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.tables.columns import column_from_values
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS, Field, TableSchema
from kreplica.model.tables.table import Table
from kreplica.sources.dumps.kraft import (
    LARGEST_OFFSET,
    broker_row,
    partition_row,
    put_settings,
    setting_row,
    settings_of,
)
from kreplica.sources.zookeeper.settings import Settings

Key: TypeAlias = tuple[Any, ...]
Row: TypeAlias = Mapping[str, Any]

_BROKER_IDS = {
    "REGISTER_BROKER_RECORD": "brokerId",
    "UNREGISTER_BROKER_RECORD": "brokerId",
    "BROKER_REGISTRATION_CHANGE_RECORD": "brokerId",
    "FENCE_BROKER_RECORD": "id",
    "UNFENCE_BROKER_RECORD": "id",
}


def log_slices(files: MetadataFiles) -> tuple[list[LogSlice], str | None]:
    """Reads all that a metadata log says, and tells why it was not read to its end, if so.

    Raises:
        InputError: The log cannot be read, or does not go on where its checkpoint ends.
    """
    reader = _Reader(files)
    return list(reader.slices()), reader.stopped


@dataclass(slots=True)
class _Rows:
    """Rows of one table: as they are, and as those that were touched were before the step."""

    current: dict[Key, Row] = field(default_factory=dict)
    before: dict[Key, Row | None] = field(default_factory=dict)

    def put(self, key: Key, row: Row | None) -> None:
        now = self.current.get(key)
        if row == now:
            return
        self.before.setdefault(key, now)
        if row is None:
            del self.current[key]
        else:
            self.current[key] = row

    def put_all(self, rows: Mapping[Key, Row]) -> None:
        for key in [*self.current.keys() - rows.keys(), *rows]:
            self.put(key, rows.get(key))

    def changes(self) -> tuple[list[Row], list[Key]]:
        """Rows that the step made what they are, and keys that it took away; the next step begins."""
        rows, gone = [], []
        for key, before in self.before.items():
            now = self.current.get(key)
            if now is None and before is not None:
                gone.append(key)
            elif now is not None and now != before:
                rows.append(now)
        self.before.clear()
        return rows, gone


class _Slice:
    """Steps of one month, until they are complete."""

    def __init__(self) -> None:
        self.steps: list[LogStep] = []
        self._rows: dict[str, list[tuple[int, Row]]] = {table.name: [] for table in LOG_TABLES}
        self._gone: dict[str, list[tuple[int, Key]]] = {table.name: [] for table in LOG_TABLES}

    def add(self, step: LogStep, rows: Mapping[str, Iterable[Row]], gone: Mapping[str, Iterable[Key]]) -> None:
        number = len(self.steps)
        self.steps.append(step)
        for name, some in rows.items():
            self._rows[name] += [(number, row) for row in some]
        for name, keys in gone.items():
            self._gone[name] += [(number, key) for key in keys]

    def made(self, name: str) -> LogSlice:
        return LogSlice(self.steps, {table.name: self._changes(table) for table in LOG_TABLES}, name)

    def _changes(self, table: HistoryTable) -> LogChanges:
        rows, gone = self._rows[table.name], self._gone[table.name]
        keys = [dict(zip(table.keys, key, strict=True)) for _, key in gone]
        return LogChanges(
            rows=_in_order(table.of.name, table.of.fields, [row for _, row in rows]),
            rows_of=np.array([number for number, _ in rows], np.int64),
            gone=_in_order(table.of.name, table.key_fields, keys),
            gone_of=np.array([number for number, _ in gone], np.int64),
        )


def _in_order(name: str, fields: tuple[Field, ...], rows: list[Any]) -> Table:
    """A table of these rows as they come."""
    columns = {field.name: column_from_values(field.kind, [row.get(field.name) for row in rows]) for field in fields}
    return Table(TableSchema(name, fields, ()), columns)


class _Reader:
    def __init__(self, files: MetadataFiles) -> None:
        self._files = files
        self._partitions, self._brokers, self._configs = _Rows(), _Rows(), _Rows()
        self._tables = {PARTITIONS.name: self._partitions, BROKERS.name: self._brokers, CONFIGS.name: self._configs}
        self._settings = Settings()
        self._ids: dict[str, str] = {}
        """Id of each topic by its name."""
        self._names: dict[str, str] = {}
        """Name of each topic by its id."""
        self._slice = _Slice()
        self._offset = self._epoch = self._taken_ms = 0
        self._controller: int | None = None
        self._features = "{}"
        self._since = 0
        self.stopped: str | None = None

    def slices(self) -> Iterator[LogSlice]:
        base = earliest(self._files)
        replay = Replay()
        begun = False
        if base is not None:
            image = state_at(self._files, base[0]).image
            self._offset, self._epoch, self._taken_ms = base[0], checkpoint_epoch(base[1].name), image.timestamp or 0
            self._note(image)
            self._put_everything(image)
            self._begin()
            begun = True
        for entry, made in history(self._files, replay, base):
            image = replay.image
            if entry.offset != self._offset:
                self.stopped = f"record {self._offset} is missing, the next one is {entry.offset}"
                break
            if entry.offset == LARGEST_OFFSET:
                self.stopped = f"record {entry.offset} has the largest offset that Kafka can write: none comes after it"
                break
            if image.unplaced:
                self.stopped = f"record {entry.offset} is about something that no record before made"
                break
            taken_ms = image.timestamp or 0
            if not begun:
                self._taken_ms, begun = taken_ms, True
                self._begin()
            if taken_ms > self._taken_ms:
                self._end_step()
                yield from self._months_until(taken_ms)
            self._take(entry, made, image)
            self._offset, self._epoch, self._taken_ms = entry.offset + 1, entry.leader_epoch, taken_ms
            self._note(image)
        if self.stopped is None and replay.damage:
            self.stopped = str(replay.damage[0])
        if begun:
            self._end_step()
            yield self._ended()

    def _note(self, image: MetadataImage) -> None:
        self._controller = image.leader
        self._features = msgspec.json.encode(dict(sorted(image.features.items()))).decode()

    def _step(self, kind: StepKind, taken_ms: int, since: int | None = None) -> LogStep:
        return LogStep(self._offset, kind, self._epoch, taken_ms, since, self._controller, self._features)

    def _begin(self, taken_ms: int | None = None) -> None:
        """Begins a slice by all that holds."""
        self._slice, self._since = _Slice(), self._offset
        for rows in self._tables.values():
            rows.changes()
        every = {name: rows.current.values() for name, rows in self._tables.items()}
        self._slice.add(self._step(StepKind.state, self._taken_ms if taken_ms is None else taken_ms), every, {})

    def _end_step(self) -> None:
        changes = {name: rows.changes() for name, rows in self._tables.items()}
        if any(rows or gone for rows, gone in changes.values()):
            rows = {name: some for name, (some, _) in changes.items()}
            gone = {name: some for name, (_, some) in changes.items()}
            self._slice.add(self._step(StepKind.record, self._taken_ms), rows, gone)

    def _ended(self, taken_ms: int | None = None) -> LogSlice:
        moment = self._taken_ms if taken_ms is None else taken_ms
        self._slice.add(self._step(StepKind.read, moment, self._since), {}, {})
        return self._slice.made(str(self._files.home))

    def _months_until(self, taken_ms: int) -> Iterator[LogSlice]:
        """Cuts where months begin: each month knows by itself what held in it."""
        while month_of(self._taken_ms) != month_of(taken_ms):
            begin = _next_month(self._taken_ms)
            yield self._ended(begin - 1)
            self._taken_ms = begin
            self._begin()

    def _take(self, entry: MetadataEntry, made: list[PartitionChange], image: MetadataImage) -> None:
        kind, data = entry.record.type, entry.record.data or {}
        if image.pending is not None:
            return
        if kind == "END_TRANSACTION_RECORD":
            self._put_everything(image)
            return
        if kind == "TOPIC_RECORD":
            self._name_topic(data["topicId"], data["name"])
        for change in made:
            key = change.topic, change.partition
            topic = image.topics.get(change.topic_id)
            if change.after is None or topic is None:
                self._partitions.put(key, None)
            else:
                self._put_partition(image, topic, change.partition, change.after)
        if kind in _BROKER_IDS:
            self._put_broker(image, data[_BROKER_IDS[kind]])
        elif kind == "CONFIG_RECORD":
            self._put_setting(image, data["resourceType"], data["resourceName"], data["name"])
        elif kind == "REMOVE_TOPIC_RECORD":
            self._remove_topic(data["topicId"])

    def _put_partition(self, image: MetadataImage, topic: Topic, number: int, state: PartitionState) -> None:
        self._partitions.put((topic.name, number), partition_row(image, self._settings, topic, number, state))

    def _put_broker(self, image: MetadataImage, broker: int) -> None:
        """A broker, and its replicas, which may be offline now."""
        state = image.brokers.get(broker)
        self._brokers.put((broker,), None if state is None else broker_row(broker, state))
        self._put_partitions(image, lambda _, partition: broker in partition.replicas)

    def _put_partitions(self, image: MetadataImage, wanted: Callable[[Topic, PartitionState], bool]) -> None:
        for topic in image.topics.values():
            for number, partition in topic.partitions.items():
                if wanted(topic, partition):
                    self._put_partition(image, topic, number, partition)

    def _name_topic(self, topic_id: str, name: str) -> None:
        self._ids[name], self._names[topic_id] = topic_id, name

    def _put_setting(self, image: MetadataImage, kind: int, entity: str, name: str) -> None:
        """One setting, and the partitions that it counts for: a log may hold as many of them as topics."""
        settings = image.configs[kind, entity]
        put_settings(self._settings, kind, entity, settings)
        row = setting_row(kind, entity, name, settings.get(name))
        if row is None:
            return
        self._configs.put((row["entity_type"], row["entity"], row["name"]), row if name in settings else None)
        if name not in (MIN_ISR, UNCLEAN):
            return
        if kind != TOPIC_RESOURCE:
            self._put_partitions(image, lambda _, __: True)
        elif (topic := image.topics.get(self._ids.get(entity, ""))) is not None:
            for number, partition in topic.partitions.items():
                self._put_partition(image, topic, number, partition)

    def _remove_topic(self, topic_id: str) -> None:
        """Takes away the settings of a topic that is no more."""
        topic = self._names.pop(topic_id, None)
        if topic is not None:
            for name in self._settings.topics.pop(topic, {}):
                self._configs.put(("topic", topic, name), None)

    def _put_settings(self, image: MetadataImage) -> None:
        self._settings = settings_of(image)
        rows = self._settings.rows
        self._configs.put_all({(row["entity_type"], row["entity"], row["name"]): row for row in rows})

    def _put_everything(self, image: MetadataImage) -> None:
        for topic in image.topics.values():
            self._name_topic(topic.id, topic.name)
        self._put_settings(image)
        self._brokers.put_all({(each,): broker_row(each, image.brokers[each]) for each in image.brokers})
        self._partitions.put_all(
            {
                (topic.name, number): partition_row(image, self._settings, topic, number, state)
                for topic in image.topics.values()
                for number, state in topic.partitions.items()
            }
        )


def _next_month(taken_ms: int) -> int:
    now = datetime.fromtimestamp(taken_ms / 1000, UTC)
    first = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
    return round(first.timestamp() * 1000)
