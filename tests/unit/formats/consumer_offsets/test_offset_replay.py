"""Committed offsets of real and of made-up logs, beside Kafka's tools and a plain replay."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from log_files.dump_log import dumped_files
from log_files.record_batches import PlainRecord, batch_bytes

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.formats.consumer_offsets import latest
from kreplica.formats.consumer_offsets import logs as offset_logs
from kreplica.formats.consumer_offsets import replay as offset_replay
from kreplica.formats.consumer_offsets.commits import key_types
from kreplica.formats.consumer_offsets.events import event_table
from kreplica.formats.consumer_offsets.latest import last_of_each_key
from kreplica.formats.consumer_offsets.logs import Replayed, replay_logs
from kreplica.formats.consumer_offsets.records import decode_group_record
from kreplica.formats.consumer_offsets.replay import OffsetReplay
from kreplica.formats.consumer_offsets.rows import CommittedOffset, commit_value, committed_offsets
from kreplica.formats.file_bytes import BufferBytes, ByteSource, FileBytes
from kreplica.formats.logs.partition_logs import find_logs
from kreplica.formats.schema import SchemaError
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows

GOLDEN = Path(__file__).parents[3] / "golden"
VERSIONS = {
    "kafka-4.3.1": "5-elected",
    "kafka-3.9.2": "5-elected",
    "kafka-3.9.2-ibp-1.1": "3-broker-back",
    "kafka-3.9.2-ibp-0.10.0": "3-broker-back",
}
_DATA = re.compile(r'key: (?P<key>\{"type".*?\}) payload: (?P<value>\{.*\}|<DELETE>)$')
_GROUP = re.compile(r"^(?P<group>\S+) +(?P<topic>\S+) +(?P<partition>\d+) +(?P<offset>\d+) ", re.M)


def printed_commits(version: str) -> Iterator[tuple[str, int, dict[str, object], dict[str, object] | None]]:
    """File, record offset, key and value (None: deleted) of each commit record, as Kafka's tool printed them."""
    for dumped in dumped_files(GOLDEN / version / "dump-clean" / "broker-1" / "consumer-offsets.txt"):
        for batch in dumped.batches:
            for record in batch.records:
                match = _DATA.search(str(record["rest"]))
                if match and (key := json.loads(match["key"]))["type"] == "1":
                    value = None if match["value"] == "<DELETE>" else json.loads(match["value"])
                    yield dumped.path, int(str(record["offset"])), key["data"], value


def decoded_commits(path: Path) -> dict[int, CommittedOffset | None]:
    """Every commit record of a segment, decoded one by one; None for a tombstone."""
    found: dict[int, CommittedOffset | None] = {}
    with FileBytes.open(path) as source:
        for window in read_windows(source):
            for records in decode_records(window):
                control = window.batches.control[records.batch]
                for index in np.flatnonzero((key_types(records) <= 1) & (key_types(records) >= 0) & ~control):
                    replay = OffsetReplay()
                    one = records.take(np.array([index]))
                    replay._latest.add(offset_replay._slices(one, np.array([True])))
                    rows = committed_offsets(Replayed(replay), path)
                    found[int(one.offset[0])] = rows[0] if rows else None
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_commit_has_the_values_that_kafka_prints(version: str) -> None:
    expected: dict[str, dict[int, object]] = {}
    for path, offset, key, value in printed_commits(version):
        expected.setdefault(path, {})[offset] = value and (key, value)
    assert expected
    for path, commits in expected.items():
        found = decoded_commits(GOLDEN / version / "clean" / "broker-1" / path)
        assert list(found) == list(commits)
        for offset, row in found.items():
            told = row and (
                {"group": row.group, "topic": row.topic, "partition": row.partition},
                {"version": str(row.version), "data": commit_value(row)},
            )
            assert told == commits[offset]


def event_rows(source: ByteSource) -> tuple[dict[int, dict[str, object]], int]:
    """Events by record offset, and how many records could not be read."""
    rows: dict[int, dict[str, object]] = {}
    unreadable = 0
    for window in read_windows(source):
        for records in decode_records(window):
            table, damage = event_table(records, "file", None)
            unreadable += len(damage)
            rows |= {int(str(row["record_offset"])): row for row in table.rows()}
    return rows, unreadable


_FIELDS = {
    "offset": "offset",
    "leader_epoch": "leaderEpoch",
    "metadata": "metadata",
    "commit_timestamp": "commitTimestamp",
    "expire_timestamp": "expireTimestamp",
    "topic_id": "topicId",
}
"""Columns of events, and what Kafka calls them."""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_commit_is_an_event_with_the_values_that_kafka_prints(version: str) -> None:
    expected: dict[str, dict[int, dict[str, object]]] = {}
    for path, offset, key, value in printed_commits(version):
        data: dict[str, object] = {} if value is None else value["data"]  # type: ignore[assignment]
        fields = {name: None if data.get(word) == -1 else data.get(word) for name, word in _FIELDS.items()}
        expected.setdefault(path, {})[offset] = {**key, **fields, "tombstone": value is None}
    for path, commits in expected.items():
        with FileBytes.open(GOLDEN / version / "clean" / "broker-1" / path) as source:
            rows, unreadable = event_rows(source)
        found = {offset: row for offset, row in rows.items() if row["type"] == "OffsetCommit"}
        names = next(iter(commits.values()))
        assert {offset: {name: row[name] for name in names} for offset, row in found.items()} == commits
        assert unreadable == 0


def described(path: Path) -> dict[tuple[str, str, int], int]:
    """What kafka-consumer-groups --describe said before the brokers stopped."""
    text = path.read_text(encoding="utf-8")
    return {
        (match["group"], match["topic"], int(match["partition"])): int(match["offset"])
        for match in _GROUP.finditer(text)
    }


def replayed(folder: Path, as_of: AsOf | None = None) -> dict[tuple[str, str, int], int]:
    logs = find_logs([str(folder)], "__consumer_offsets")
    rows = [
        row
        for log, result in zip(logs, replay_logs([log.segments for log in logs], as_of), strict=True)
        for row in committed_offsets(result, log.directory)
    ]
    assert not any(row.pending for row in rows)
    return {(row.group, row.topic, row.partition): row.offset for row in rows}


@pytest.mark.parametrize(("version", "state"), VERSIONS.items())
def test_the_state_is_what_the_broker_said_before_it_stopped(version: str, state: str) -> None:
    expected = described(GOLDEN / version / state / "groups-describe.txt")
    assert expected
    assert replayed(GOLDEN / version / "clean" / "broker-1") == expected


def key_bytes(group: str, topic: str, partition: int) -> bytes:
    texts = [text.encode() for text in (group, topic)]
    return b"\0\1" + b"".join(struct.pack(">h", len(text)) + text for text in texts) + struct.pack(">i", partition)


def value_bytes(offset: int, version: int = 3) -> bytes:
    epoch = struct.pack(">i", 5) if version >= 3 else b""
    metadata = b"\x03ok" if version == 4 else b"\0\2ok"
    tail = {1: struct.pack(">q", 99), 4: b"\1\0\x10" + bytes(range(16))}.get(version, b"")
    return struct.pack(">hq", version, offset) + epoch + metadata + struct.pack(">q", 1000 + offset) + tail


def marker(commit: bool) -> PlainRecord:
    return PlainRecord(0, 0, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))


def replay_of(content: bytes, window_bytes: int = 300, as_of: AsOf | None = None) -> OffsetReplay:
    replay = OffsetReplay(as_of)
    for window in read_windows(BufferBytes(content), window_bytes):
        for records in decode_records(window):
            replay.add(records)
    return replay


def state_of(replay: OffsetReplay) -> tuple[dict[bytes, int], set[tuple[int, bytes, int]]]:
    """Offset of the record that counts of each key that has a value; producer, key and record of each pending one."""
    applied = replay.applied()
    alive = applied.take(applied.value_length >= 0)
    pending = replay.pending()
    places = zip(pending.producer_id.tolist(), pending.keys(), pending.record_offset.tolist(), strict=True)
    return dict(zip(alive.keys(), alive.record_offset.tolist(), strict=True)), set(places)


STEPS = st.lists(
    st.tuples(st.sampled_from(["plain", "pending", "remove", "commit", "abort"]), st.integers(0, 4), st.integers(0, 2)),
    max_size=60,
)


def log_of(steps: list[tuple[str, int, int]]) -> bytes:
    content = b""
    for at, (kind, key, producer) in enumerate(steps):
        if kind in ("commit", "abort"):
            content += batch_bytes(
                [marker(kind == "commit")], base_offset=at, attributes=0x30, producer=(producer, 0, -1)
            )
            continue
        value = None if kind == "remove" else value_bytes(at)
        record = PlainRecord(0, 0, key_bytes("g" * (key * 20), "t", key), value)
        transactional = {"attributes": 0x10, "producer": (producer, 0, 0)} if kind == "pending" else {}
        content += batch_bytes([record], base_offset=at, **transactional)  # type: ignore[arg-type]
    return content


def plainly(steps: list[tuple[str, int, int]]) -> tuple[dict[bytes, int], set[tuple[int, bytes, int]]]:
    """The same, step by step, as OffsetMetadataManager does it."""
    state: dict[bytes, int] = {}
    waiting: dict[int, dict[bytes, int]] = {}
    for at, (kind, number, producer) in enumerate(steps):
        key = key_bytes("g" * (number * 20), "t", number)
        if kind == "plain":
            state[key] = at
        elif kind == "remove":
            state.pop(key, None)
            for some in waiting.values():
                some.pop(key, None)
        elif kind == "pending":
            waiting.setdefault(producer, {})[key] = at
        else:
            for pending, place in waiting.pop(producer, {}).items():
                if kind == "commit" and place > state.get(pending, -1):
                    state[pending] = place
    return state, {(producer, key, at) for producer, some in waiting.items() for key, at in some.items()}


@examples(2)
@given(STEPS, st.sampled_from([80, 500, 1 << 20]))
def test_a_replay_is_what_a_coordinator_does_step_by_step(steps: list[tuple[str, int, int]], window_bytes: int) -> None:
    assert state_of(replay_of(log_of(steps), window_bytes)) == plainly(steps)


@examples(1)
@given(STEPS, STEPS)
def test_stretches_put_together_are_the_whole(
    first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    whole = log_of([*first, *second])
    begin = len(log_of(first))
    left, right = replay_of(whole[:begin]), replay_of(whole[begin:])
    left.add_stretch(right)
    assert state_of(left) == plainly([*first, *second])
    assert left.types == replay_of(whole).types


@given(STEPS, st.integers(0, 60))
def test_as_of_an_offset(steps: list[tuple[str, int, int]], as_of: int) -> None:
    assert state_of(replay_of(log_of(steps), as_of=AsOf(offset=as_of))) == plainly(steps[:as_of])


def test_as_of_a_time() -> None:
    batches = [
        batch_bytes(
            [PlainRecord(0, 0, key_bytes("g", "t", 0), value_bytes(at))], base_offset=at, base_timestamp=100 * at
        )
        for at in range(4)
    ]
    ((_, at),) = state_of(replay_of(b"".join(batches), as_of=AsOf(timestamp=250)))[0].items()
    assert at == 2


def test_state_does_not_grow_with_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest, "HELD_BYTES", 10_000)
    record = PlainRecord(0, 0, key_bytes("g", "t", 0), value_bytes(1))
    content = b"".join(batch_bytes([record], base_offset=at) for at in range(5000))
    replay = replay_of(content, window_bytes=4000)
    assert replay._latest.held_bytes() < 20_000
    assert replay.applied().record_offset.tolist() == [4999]


@given(st.lists(st.binary(max_size=40), max_size=120))
def test_the_last_of_each_key(keys: list[bytes]) -> None:
    keys = [*keys, *keys[::3]]
    length = np.array([len(key) for key in keys], np.int64)
    start = np.cumsum(length) - length
    data = np.frombuffer(b"".join(keys), np.uint8)
    expected = sorted({key: index for index, key in enumerate(keys)}.values())
    assert last_of_each_key(data, start, length).tolist() == expected


def test_keys_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from kreplica.formats.consumer_offsets import latest as latest_keys

    monkeypatch.setattr(latest_keys, "_multipliers", lambda count: np.zeros(count, np.uint64))
    test_the_last_of_each_key.hypothesis.inner_test([b"aa", b"bb", b"aa", b"cc"])  # type: ignore[attr-defined]


def test_long_keys() -> None:
    keys = [b"x" * 300, b"y" * 300, b"x" * 300, b"y"]
    data = np.frombuffer(b"".join(keys), np.uint8)
    length = np.array([300, 300, 300, 1])
    assert last_of_each_key(data, np.cumsum(length) - length, length).tolist() == [1, 2, 3]


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_versions_of_the_value(version: int) -> None:
    content = batch_bytes([PlainRecord(0, 0, key_bytes("group", "topic", 7), value_bytes(42, version))])
    (row,) = committed_offsets(Replayed(replay_of(content)), Path())
    assert (row.group, row.topic, row.partition, row.offset, row.metadata) == ("group", "topic", 7, 42, "ok")
    assert (row.commit_timestamp, row.version) == (1042, version)
    assert row.leader_epoch == (5 if version >= 3 else None)
    assert row.expire_timestamp == (99 if version == 1 else None)
    assert row.topic_id == ("AAECAwQFBgcICQoLDA0ODw" if version == 4 else None)


@examples(3)
@given(st.integers(0, 4), st.data())
def test_damaged_keys_and_values_are_told(version: int, data: st.DataObject) -> None:
    key, value = key_bytes("g", "t", 0), value_bytes(3, version)
    cut = data.draw(st.integers(0, len(value) - 1))
    wrong = data.draw(st.sampled_from(["value", "longer", "key"]))
    record = {
        "value": PlainRecord(0, 0, key, value[:cut]),
        "longer": PlainRecord(0, 0, key, value + b"\0"),
        "key": PlainRecord(0, 0, key + b"\0", value),
    }[wrong]
    result = Replayed(replay_of(batch_bytes([record])))
    assert committed_offsets(result, Path("dir")) == []
    assert result.damage.places == 1
    assert "no commit of a known version" in result.damage.kept[0].reason


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_key_and_value_end(key: bytes, value: bytes) -> None:
    committed_offsets(Replayed(replay_of(batch_bytes([PlainRecord(0, 0, b"\0\1" + key, value)]))), Path())


@examples(0.6)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.booleans(), st.integers(0, 40)), max_size=30))
def test_events_in_bulk_are_those_read_one_by_one(made: list[tuple[int, int, bool, int]]) -> None:
    """Commits of every version among groups, tombstones and bytes that are cut off."""
    plain = []
    for number, version, removed, cut in made:
        key = key_bytes("g" * (number * 20), "t", number) if number < 6 else b"\0\2\0\1g"
        value = None if removed else value_bytes(number, version)
        plain.append(PlainRecord(len(plain), 0, key, value if value is None or cut > 20 else value[:cut]))
    together, unreadable = event_rows(BufferBytes(batch_bytes(plain)))
    alone = [event_rows(BufferBytes(batch_bytes([record], last_offset_delta=99))) for record in plain]
    assert together == {offset: row for rows, _ in alone for offset, row in rows.items()}
    assert unreadable == sum(each for _, each in alone)
    for record in plain:
        assert (record.offset_delta in together) == readable(record)


def readable(record: PlainRecord) -> bool:
    try:
        decode_group_record(record.key or b"", record.value)
    except SchemaError:
        return False
    return True


def test_segments_are_replayed_by_several_processes_as_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [
        batch_bytes([PlainRecord(0, 0, key_bytes("g", "t", at % 7), value_bytes(at))], base_offset=at)
        for at in range(900)
    ]
    segment = tmp_path / f"{0:020d}.log"
    segment.write_bytes(b"".join(batches))
    (alone,) = replay_logs([[segment]])
    monkeypatch.setattr(offset_logs, "STRETCH_BYTES", 10_000)
    monkeypatch.setattr(offset_logs, "LEAST_STRETCH_BYTES", 5_000)
    monkeypatch.setattr(offset_logs, "processors", lambda: 3)
    assert len(list(offset_logs._stretches([segment]))) > 6
    (shared,) = replay_logs([[segment]])
    assert state_of(shared.replay) == state_of(alone.replay)
    assert (shared.records, shared.batches, shared.read_bytes) == (alone.records, alone.batches, alone.read_bytes)
    assert (shared.records, shared.damage.places) == (900, 0)


@pytest.mark.parametrize(
    ("as_of", "counted"), [(None, 900), (AsOf(offset=700), 700), (AsOf(timestamp=1_600_000_000_000), 801)]
)
def test_groups_are_kept_beside_the_offsets(
    as_of: AsOf | None, counted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from windows that are taken whole, as those of commits mostly are, and from stretches of a segment."""
    records = [
        PlainRecord(0, int(at > 800), *([key_bytes("g", "t", at % 7), value_bytes(at)] if at % 5 else group_record(at)))
        for at in range(900)
    ]
    segment = tmp_path / f"{0:020d}.log"
    segment.write_bytes(b"".join(batch_bytes([record], base_offset=at) for at, record in enumerate(records)))
    monkeypatch.setattr(offset_logs, "STRETCH_BYTES", 10_000)
    monkeypatch.setattr(offset_logs, "LEAST_STRETCH_BYTES", 5_000)
    monkeypatch.setattr(offset_logs, "processors", lambda: 2)
    expected = {record.key: (at, record.value) for at, record in enumerate(records[:counted]) if not at % 5}
    assert {value is None for _, value in expected.values()} == {True, False}
    (found,) = replay_logs([[segment]], as_of, groups=True)
    assert found.groups is not None
    assert found.groups.last == expected
    assert state_of(found.replay) == state_of(replay_logs([[segment]], as_of)[0].replay)


def group_record(at: int) -> tuple[bytes, bytes | None]:
    return b"\0\2\0\1" + b"gh"[at % 2 :][:1], None if at % 2 else struct.pack(">q", at)


@given(st.integers(0, 1 << 34), st.integers(1, 64))
def test_stretches_of_a_file_are_shares_of_what_is_left(size: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offset_logs, "processors", lambda: count)
        begins = offset_logs._begins(size)
    lengths = [end - begin for begin, end in pairwise([*begins, size])]
    assert (begins[0], sum(lengths)) == (0, size)
    assert lengths[:-1] == sorted(lengths[:-1], reverse=True)
    if len(lengths) > 1:
        assert min(lengths) >= offset_logs.LEAST_STRETCH_BYTES
        assert lengths[-1] < 2 * offset_logs.LEAST_STRETCH_BYTES
    else:
        assert count == 1 or size < 2 * offset_logs.STRETCH_BYTES


def test_where_groups_live() -> None:
    """Values of DEFINITIONS: Java's hash over UTF-16, of which the smallest integer has no absolute value."""
    names = {"console-consumer-49366": 19, "my-group": 12, "polygenelubricants": 0}
    assert {name: coordinator_partition(name) for name in names} == names


@pytest.mark.parametrize("version", VERSIONS)
def test_groups_of_real_brokers_live_where_they_should(version: str) -> None:
    for path, _, key, _ in printed_commits(version):
        assert Path(path).parts[1] == f"__consumer_offsets-{coordinator_partition(str(key['group']))}"
