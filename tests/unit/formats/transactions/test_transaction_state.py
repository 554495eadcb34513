"""`__transaction_state`: real records against Kafka's dump, both versions by round trip, any bytes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, numbers
from log_files.metadata_writer import message

from kreplica.formats.file_bytes import BufferBytes
from kreplica.formats.schema import SchemaError
from kreplica.formats.segments.as_of import AsOf
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows
from kreplica.formats.transactions.records import (
    VALUE,
    Findings,
    TransactionRecord,
    TransactionReplay,
    decode_transaction_key,
    decode_transaction_value,
    transaction_events,
)

NODE = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
DUMPED = dumped(GOLDEN / "kafka-4.3.1" / "dump-killed-all" / "broker-1" / "transaction-state.txt")
PAYLOAD = re.compile(r"key: (\{.*?\}\}) payload: (.*)$")


def events(name: str, as_of: AsOf) -> list[TransactionRecord]:
    found = Findings(name)
    told = [
        record
        for window in read_windows(BufferBytes((NODE / name).read_bytes(), name))
        for records in decode_records(window)
        for record in transaction_events(as_of.select(records), found)
    ]
    assert (found.damage.places, found.unknown) == (0, 0)
    return told


@pytest.mark.parametrize("name", DUMPED)
def test_every_record_is_what_kafka_printed(name: str) -> None:
    lines = [line for line in DUMPED[name] if line.startswith("|")]
    found = events(name, AsOf())
    assert len(found) == len(lines) > 0
    for record, line in zip(found, lines, strict=True):
        key, value = PAYLOAD.search(line).groups()  # type: ignore[union-attr]
        assert (record.offset, record.timestamp) == numbers(line, "offset", "CreateTime")
        assert record.transactional_id == json.loads(key)["data"]["transactionalId"]
        told = json.loads(value)
        assert str(record.version) == told["version"]
        defaults = {field.name: field.default for field in VALUE if field.tag is not None}
        assert record.data == defaults | told["data"]


def replayed(name: str, as_of: AsOf) -> dict[str, TransactionRecord]:
    replay = TransactionReplay()
    for window in read_windows(BufferBytes((NODE / name).read_bytes(), name)):
        for records in decode_records(window):
            replay.add(as_of.select(records))
    return {record.transactional_id: record for record in replay.state(Findings(name))}


@pytest.mark.parametrize("name", DUMPED)
def test_the_state_at_any_offset_is_the_last_event_of_each_id(name: str) -> None:
    every = events(name, AsOf())
    for following in range(every[-1].offset + 2):
        expected = {record.transactional_id: record for record in every if record.offset < following}
        assert replayed(name, AsOf(offset=following)) == expected
    moment = every[len(every) // 2].timestamp
    expected = {record.transactional_id: record for record in every if record.timestamp <= moment}
    assert replayed(name, AsOf(timestamp=moment)) == expected


INT64 = st.integers(-(2**63), 2**63 - 1)
PARTITIONS = st.none() | st.lists(
    st.fixed_dictionaries(
        {"topic": st.text(max_size=9), "partitionIds": st.lists(st.integers(0, 2**31 - 1), max_size=3)}
    ),
    max_size=3,
)


@given(st.data(), st.integers(0, 1))
def test_what_is_written_by_the_schema_is_read(data: st.DataObject, version: int) -> None:
    sizes: dict[str, st.SearchStrategy[Any]] = {
        "int64": INT64,
        "int32": st.integers(-(2**31), 2**31 - 1),
        "int16": st.integers(-(2**15), 2**15 - 1),
        "int8": st.integers(-128, 127),
    }
    written = {
        field.name: field.default
        if field.since > version
        else data.draw(PARTITIONS if field.name == "transactionPartitions" else sizes[str(field.kind)])
        for field in VALUE
    }
    content = version.to_bytes(2, "big") + message(VALUE, version, written, flexible=version > 0)
    assert decode_transaction_value(content) == (version, written)
    with pytest.raises(SchemaError, match="1 bytes behind the value"):
        decode_transaction_value(content + b"x")


def test_unknown_versions_are_no_damage() -> None:
    assert decode_transaction_key(b"\0\x05anything") is None
    assert decode_transaction_value(b"\0\x09anything") == (9, None)
    record = TransactionRecord(1, 2, "x", None, 9)
    assert (record.state, record.partitions) == ("unknown", [])
    assert TransactionRecord(1, 2, "x", None, None).state == "Dead"


@given(st.binary(max_size=80), st.integers(0, 1))
def test_random_bytes_are_a_value_or_a_fault(content: bytes, version: int) -> None:
    for decode in (decode_transaction_key, decode_transaction_value):
        for given_ in (content, version.to_bytes(2, "big") + content):
            try:
                decode(given_)
            except SchemaError as error:
                position = error.position
            else:
                position = 0
            assert 0 <= position <= len(given_)
