"""A metadata log as a history takes it in, against Kafka's own dump of it and the state at each offset."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from base64 import b64encode
from collections import defaultdict
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories.folders import contents, newest_files
from log_files.dump_log import DumpedBatch, dumped_files
from log_files.metadata_writer import message
from log_files.record_batches import PlainRecord, batch_bytes
from log_files.varints import unsigned

from kreplica import ingest_dumps, lives_in
from kreplica.formats.metadata_log.files import find_metadata
from kreplica.formats.metadata_log.records import RECORD_TYPES
from kreplica.history.lives.rows import PartitionStretch
from kreplica.history.months.log_steps import LogSlice, StepKind
from kreplica.history.tables import LOG_TABLES
from kreplica.model.tables.table import Table
from kreplica.sources.dumps import kraft_log
from kreplica.sources.dumps.kraft import read_kraft_metadata
from kreplica.sources.dumps.kraft_log import log_slices

GOLDEN = Path(__file__).parents[3] / "golden/kafka-4.3.1"
HOME = GOLDEN / "killed-all/broker-1/data/__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"
State = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> list[DumpedBatch]:
    """Batches of the log as Kafka's DumpLogSegments printed them."""
    text = tmp_path_factory.mktemp("dump") / "dump.txt"
    text.write_bytes(gzip.decompress((GOLDEN / "dump-killed-all/broker-1/cluster-metadata.txt.gz").read_bytes()))
    (batches,) = [file.batches for file in dumped_files(text) if file.path.endswith(SEGMENT)]
    return batches


def payload(record: dict[str, str | None]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(str(record["rest"]).partition("payload: ")[2] or "{}")
    return found


def changing(batch: DumpedBatch) -> bool:
    kinds = {payload(record).get("type") for record in batch.records}
    return batch.fields["control"] == "false" and kinds != {"NO_OP_RECORD"}


def rows_of(table: Table, columns: list[str], keys: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[key] for key in keys): {name: row[name] for name in columns} for row in table.rows()}


def states(one: LogSlice) -> list[State]:
    """The state after each step."""
    now: State = {table.name: {} for table in LOG_TABLES}
    found = []
    for number, step in enumerate(one.steps):
        for table in LOG_TABLES:
            changes = one.changes[table.name]
            columns = [field.name for field in (*table.key_fields, *table.value_fields)]
            rows = rows_of(changes.rows.take((changes.rows_of == number).nonzero()[0]), columns, table.keys)
            gone = rows_of(changes.gone.take((changes.gone_of == number).nonzero()[0]), [], table.keys)
            before = {} if step.kind is StepKind.state else now[table.name]
            now[table.name] = {key: row for key, row in before.items() if key not in gone} | rows
        found.append({name: dict(rows) for name, rows in now.items()})
    return found


@pytest.mark.one_python
def test_the_state_at_each_step_is_that_at_its_offset_and_nothing_changes_between(dumped: list[DumpedBatch]) -> None:
    (found,), stopped = log_slices(find_metadata(str(HOME)))
    assert stopped is None
    known = states(found)
    offsets = [step.offset for step in found.steps]
    borders = {int(batch.fields[name]) + more for batch in dumped if changing(batch) for name, more in BORDERS}
    assert len(borders) > 50
    assert borders >= {step.offset for step in found.steps if step.kind is StepKind.record}
    for offset in sorted(borders):
        last = max((place for place, at in enumerate(offsets) if at <= offset), default=None)
        snapshot = read_kraft_metadata(str(HOME), offset)
        for table in LOG_TABLES if last is not None else ():
            columns = [field.name for field in (*table.key_fields, *table.value_fields)]
            assert known[last][table.name] == rows_of(snapshot.table(table.of), columns, table.keys), (
                offset,
                table.name,
            )


BORDERS = (("base_offset", 0), ("last_offset", 1))


def exact_partitions(root: Path) -> list[dict[str, Any]]:
    (path,) = newest_files(root)["exact_partitions whole"]
    rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["first_observation"]))


def test_borders_are_the_times_of_the_records_that_kafka_prints(dumped: list[DumpedBatch], tmp_path: Path) -> None:
    names: dict[str, str] = {}
    expected: dict[tuple[str, int], set[int]] = defaultdict(set)
    for batch in dumped:
        for record in batch.records:
            told = payload(record)
            if told.get("type") == "TOPIC_RECORD":
                names[told["data"]["topicId"]] = told["data"]["name"]
            elif told.get("type") in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
                key = names[told["data"]["topicId"]], told["data"]["partitionId"]
                expected[key].add(int(str(record["timestamp"])))
    ingest_dumps([HOME], tmp_path)
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    epochs: dict[tuple[str, int], tuple[str, int]] = {}
    for row in exact_partitions(tmp_path):
        key = row["topic"], row["partition"]
        epoch = row["topic_id"], row["partition_epoch"]
        if epochs.get(key) != epoch:  # the others are brokers that came and went, and settings
            found[key].add(round(row["valid_from"].timestamp() * 1000))
        epochs[key] = epoch
    assert len(expected) > 20
    assert found == expected


def test_an_ingest_counts_a_log_by_its_months_and_tells_when_it_begins(
    dumped: list[DumpedBatch], tmp_path: Path
) -> None:
    (row,) = ingest_dumps([HOME], tmp_path).rows
    assert (row.added, row.log_months, row.known) == (1, 1, 0)
    written = [int(str(record["timestamp"])) for batch in dumped for record in batch.records]
    told = [datetime.fromisoformat(text).timestamp() * 1000 for text in (row.first_taken_at, row.last_taken_at)]
    assert [round(one) for one in told] == [written[0], written[-1]]
    (again,) = ingest_dumps([HOME], tmp_path).rows
    assert (again.added, again.log_months, again.known) == (0, 0, 2)


def cut(folder: Path, begin: int = 0, end: int | None = None, *, without: int | None = None) -> Path:
    """A copy of the log from a batch with this offset on, up to a byte; one batch may be left out."""
    home = folder / "__cluster_metadata-0"
    home.mkdir(parents=True)
    shutil.copy(HOME.parent / "meta.properties", folder)
    content = (HOME / SEGMENT).read_bytes()[:end]
    kept, position = b"", 0
    while position + 12 <= len(content):
        offset, length = struct.unpack_from(">qi", content, position)
        batch = content[position : position + 12 + length]
        kept += batch if offset >= begin and offset != without else b""
        position += 12 + length
    (home / f"{begin:020}.log").write_bytes(kept)
    for checkpoint in HOME.glob(f"{begin:020}-*.checkpoint") if begin else ():
        shutil.copy(checkpoint, home)
    return folder


def borders(root: Path) -> list[tuple[object, ...]]:
    times = ("valid_from", "valid_to", "exact")
    return [
        (row["topic"], row["partition"], str(row["isr"]), *(row[name] for name in times))
        for row in exact_partitions(root)
    ]


@pytest.mark.one_python
def test_parts_of_a_log_make_the_whole_of_it_in_any_order(tmp_path: Path) -> None:
    ingest_dumps([HOME], tmp_path / "whole")
    whole = borders(tmp_path / "whole")
    size = (HOME / SEGMENT).stat().st_size
    # One that was being copied while it was written, and one whose beginning was deleted after a checkpoint.
    begin, rest = cut(tmp_path / "begin", end=size * 2 // 3 + 5), cut(tmp_path / "rest", 819)
    every = []
    for number, order in enumerate(permutations([begin, rest])):
        root = tmp_path / f"history {number}"
        for part in order:
            ingest_dumps([part], root)
        assert borders(root) == whole
        every.append({name: content for name, content in contents(root).items() if "exact" in name or "_log" in name})
    assert every[0] == every[1]
    alone = tmp_path / "alone"
    ingest_dumps([rest], alone)
    cut_off = [row for row in borders(alone) if row not in whole]
    assert cut_off
    assert not any(row[-1] for row in cut_off)


def test_what_comes_after_a_missing_record_is_not_taken(dumped: list[DumpedBatch], tmp_path: Path) -> None:
    missing = next(int(batch.fields["base_offset"]) for batch in dumped[400:] if changing(batch))
    (found,), stopped = log_slices(find_metadata(str(cut(tmp_path / "log", without=missing))))
    assert stopped is not None
    assert f"record {missing} is missing" in stopped
    assert found.steps[-1].offset == missing
    ingested = ingest_dumps([tmp_path / "log"], tmp_path / "history")
    assert (ingested.unread, ingested.exit_code) == (1, 5)
    assert f"record {missing} is missing" in ingested.warnings[0]


def record(kind_name: str, **data: Any) -> bytes:
    key, kind = next((key, kind) for key, kind in RECORD_TYPES.items() if kind.name == kind_name)
    defaults = {field.name: None if field.nullable else field.default for field in kind.fields}
    return unsigned(1) + unsigned(key) + unsigned(0) + message(kind.fields, 0, {**defaults, **data})


TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"
NOVEMBER_30 = 1_796_083_190_000
"""Ten seconds before December begins."""


def log_over_months(tmp_path: Path) -> Path:
    partition = {"partitionId": 0, "topicId": TOPIC}
    lists = {"removingReplicas": [], "addingReplicas": []}
    first = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
    created = record("PARTITION_RECORD", **partition, **lists, **first, leaderRecoveryState=0)
    steps = [
        (0, [record("TOPIC_RECORD", name="orders", topicId=TOPIC), created]),
        (5, [record("PARTITION_CHANGE_RECORD", **partition, leader=2, leaderRecoveryState=-1)]),
        (60, [record("PARTITION_CHANGE_RECORD", **partition, isr=[2], leader=-2, leaderRecoveryState=-1)]),
        (90 * 86_400, [record("NO_OP_RECORD")]),
    ]
    home = tmp_path / "log" / "__cluster_metadata-0"
    home.mkdir(parents=True)
    content, offset = b"", 0
    for seconds, values in steps:
        records = [PlainRecord(place, 0, None, value) for place, value in enumerate(values)]
        content += batch_bytes(records, base_offset=offset, base_timestamp=NOVEMBER_30 + seconds * 1000)
        offset += len(values)
    (home / SEGMENT).write_bytes(content)
    return home


def test_a_record_with_the_largest_offset_is_named_and_not_taken(tmp_path: Path) -> None:
    """After it would come an offset that is no long of Java."""
    last = 2**63 - 1
    home = tmp_path / "log" / "__cluster_metadata-0"
    home.mkdir(parents=True)
    shutil.copy(HOME / f"{1279:020}-0000000001.checkpoint", home / f"{last:020}-0000000001.checkpoint")
    records = [PlainRecord(0, 0, None, record("NO_OP_RECORD"))]
    (home / f"{last:020}.log").write_bytes(batch_bytes(records, base_offset=last, base_timestamp=NOVEMBER_30))
    ingested = ingest_dumps([tmp_path / "log"], tmp_path / "history")
    assert (ingested.unread, ingested.exit_code) == (1, 5)
    assert f"record {last} has the largest offset that Kafka can write" in ingested.warnings[0]


def test_a_log_is_cut_where_months_begin(tmp_path: Path) -> None:
    home = log_over_months(tmp_path)
    slices, stopped = log_slices(find_metadata(str(home)))
    assert stopped is None
    kinds = [
        [(step.kind.value, step.offset, (step.taken_ms - NOVEMBER_30) / 1000) for step in one.steps] for one in slices
    ]
    january, february = 10 + 31 * 86_400, 10 + 62 * 86_400
    assert kinds == [
        [("state", 0, 0), ("record", 2, 0), ("record", 3, 5), ("read", 3, 9.999)],
        [("state", 3, 10), ("record", 4, 60), ("read", 4, january - 0.001)],
        [("state", 4, january), ("read", 4, february - 0.001)],
        [("state", 4, february), ("read", 5, 90 * 86_400)],
    ]
    leaders = [[row["leader"], row["isr"]] for row in states(slices[1])[0]["partitions"].values()]
    assert leaders == [[2, [1, 2]]]


def test_a_life_by_a_log_goes_on_where_months_begin(tmp_path: Path) -> None:
    ingest_dumps([log_over_months(tmp_path)], tmp_path / "history", cluster="Zk5")
    rows = lives_in(tmp_path / "history", "orders", 0).rows
    at = [str(datetime.fromtimestamp(NOVEMBER_30 / 1000 + seconds, UTC).isoformat()) for seconds in (0, 5, 60)]
    told = [(row.valid_from, row.valid_to, row.leader, row.exact) for row in rows if isinstance(row, PartitionStretch)]
    assert told == [(at[0], at[1], 1, True), (at[1], at[2], 2, True), (at[2], None, 2, True)]


def setting(kind: int, entity: str, name: str, value: str | None) -> bytes:
    return record("CONFIG_RECORD", resourceType=kind, resourceName=entity, name=name, value=value)


def log_of(home: Path, steps: list[list[bytes]]) -> Path:
    """A log whose batches come a second apart."""
    home.mkdir(parents=True)
    content, offset = b"", 0
    for seconds, values in enumerate(steps):
        records = [PlainRecord(place, 0, None, value) for place, value in enumerate(values)]
        content += batch_bytes(records, base_offset=offset, base_timestamp=MARCH_1 + seconds * 1000)
        offset += len(values)
    (home / SEGMENT).write_bytes(content)
    return home


MARCH_1 = 1_772_323_200_000


def topic_with_settings(number: int) -> list[list[bytes]]:
    """A topic, then its settings one by one."""
    topic_id = b64encode(bytes(14) + number.to_bytes(2, "big"), b"-_").decode().rstrip("=")
    lists: dict[str, Any] = {"removingReplicas": [], "addingReplicas": [], "replicas": [1, 2], "isr": [1, 2]}
    numbers = {"leader": 1 + number % 2, "leaderEpoch": 0, "partitionEpoch": 0, "leaderRecoveryState": 0}
    made = record("PARTITION_RECORD", partitionId=0, topicId=topic_id, **lists, **numbers)
    name = f"topic-{number}"
    return [
        [record("TOPIC_RECORD", name=name, topicId=topic_id), made],
        [setting(2, name, "min.insync.replicas", "2")],
        [setting(2, name, "retention.ms", "1000")],
    ]


def test_settings_of_every_kind_are_at_each_step_what_they_are_at_its_offset(tmp_path: Path) -> None:
    topics = [step for number in (1, 2, 3) for step in topic_with_settings(number)]
    removed = b64encode(bytes(14) + (2).to_bytes(2, "big"), b"-_").decode().rstrip("=")
    others = [
        [setting(4, "", "min.insync.replicas", "3")],
        [setting(4, "", "unclean.leader.election.enable", "true")],
        [setting(4, "1", "min.insync.replicas", "4")],
        [setting(2, "topic-1", "min.insync.replicas", None)],
        [setting(4, "1", "min.insync.replicas", None)],
        [record("REMOVE_TOPIC_RECORD", topicId=removed)],
        [setting(4, "", "min.insync.replicas", None)],
        [setting(64, "a-group", "consumer.session.timeout.ms", "1")],
        *topic_with_settings(4),
    ]
    home = log_of(tmp_path / "__cluster_metadata-0", [*topics, *others])
    (found,), stopped = log_slices(find_metadata(str(home)))
    assert stopped is None
    every = list(zip(found.steps, states(found), strict=True))
    assert len(every) > 15
    for step, state in every[1:]:
        snapshot = read_kraft_metadata(str(home), step.offset)
        for table in LOG_TABLES:
            columns = [field.name for field in (*table.key_fields, *table.value_fields)]
            assert state[table.name] == rows_of(snapshot.table(table.of), columns, table.keys), (step, table.name)


def test_twice_as_many_settings_are_twice_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {"rows": 0}
    row, put = kraft_log.partition_row, kraft_log._Rows.put

    def counting_row(*words: Any) -> Any:
        counted["rows"] += 1
        return row(*words)

    def counting_put(self: Any, *words: Any) -> Any:
        counted["rows"] += 1
        return put(self, *words)

    monkeypatch.setattr(kraft_log, "partition_row", counting_row)
    monkeypatch.setattr(kraft_log._Rows, "put", counting_put)
    work = []
    for topics in (50, 100):
        counted["rows"] = 0
        steps = [step for number in range(topics) for step in topic_with_settings(number)]
        log_slices(find_metadata(str(log_of(tmp_path / f"{topics}" / "__cluster_metadata-0", steps))))
        work.append(counted["rows"])
    # A partition made and one of its settings changed, each a row that is made and put; two settings.
    assert work == [50 * (2 + 2 + 2), 100 * (2 + 2 + 2)]
