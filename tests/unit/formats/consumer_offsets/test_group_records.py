"""Every record of real __consumer_offsets logs, beside what Kafka's DumpLogSegments printed."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest
from fuzzing.targets import decoded_or_refused
from hypothesis import given
from hypothesis import strategies as st
from log_files.dump_log import dumped_files

from kreplica.formats.consumer_offsets.records import decode_group_record
from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.schema import SchemaError
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import read_windows

GOLDEN = Path(__file__).parents[3] / "golden"
_PRINTED = re.compile(r'key: (?P<key>\{"type".*?\}) payload: (?P<value>\{.*\}|<DELETE>)$')


@pytest.mark.parametrize("version", ["kafka-4.3.1", "kafka-3.9.2", "kafka-3.9.2-ibp-1.1", "kafka-3.9.2-ibp-0.10.0"])
def test_every_record_has_the_values_that_kafka_prints(version: str) -> None:
    types = checked(GOLDEN / version / "dump-clean" / "broker-1" / "consumer-offsets.txt", version + "/clean/broker-1")
    assert types >= {"OffsetCommit", "GroupMetadata"}
    assert len(types) == (13 if version == "kafka-4.3.1" else 2)


def test_every_record_of_streams_groups_has_the_values_that_kafka_prints() -> None:
    types = checked(GOLDEN / "streams-groups" / "dump.txt", "streams-groups")
    assert len({name for name in types if name.startswith("Streams")}) == 6


def checked(dump: Path, folder: str) -> set[str]:
    """Holds the records of the files that were dumped against the dump; gives their types."""
    types = set()
    for dumped in dumped_files(dump):
        with FileBytes.open(GOLDEN / folder / dumped.path) as source:
            found = [
                (records.key(index), records.value(index))
                for window in read_windows(source)
                for records in decode_records(window)
                for index in range(len(records))
            ]
        printed = [record for batch in dumped.batches for record in batch.records]
        for (key, value), record in zip(found, printed, strict=True):
            if match := _PRINTED.search(str(record["rest"])):
                types.add(check(key or b"", value, match["key"], match["value"]))
    return types


def check(key: bytes, value: bytes | None, printed_key: str, printed_value: str) -> str:
    record = decode_group_record(key, value)
    assert {"type": str(record.number), "data": record.key} == json.loads(printed_key)
    if record.tombstone:
        assert printed_value == "<DELETE>"
    else:
        assert {"version": str(record.version), "data": record.value} == json.loads(printed_value)
    return record.type


@pytest.mark.parametrize(("number", "name"), [(99, "TYPE_99"), (-1, "TYPE_-1")])
def test_unknown_types_are_named(number: int, name: str) -> None:
    record = decode_group_record(struct.pack(">h", number) + b"anything", b"\0\0anything")
    assert (record.type, record.number, record.key, record.value, record.version) == (name, number, None, None, 0)


def test_a_regular_expression_of_a_group() -> None:
    """What kafka-dump-log of 4.3.1 with --offsets-decoder prints of these bytes."""
    value = b"\0\0" + b"\3\7orders\3ab" + struct.pack(">qq", 5, 1700000000000) + b"\0"
    record = decode_group_record(b"\0\x10\0\3app\0\4or.*", value)
    assert (record.type, record.key) == (
        "ConsumerGroupRegularExpression",
        {"groupId": "app", "regularExpression": "or.*"},
    )
    assert record.value == {"topics": ["orders", "ab"], "version": 5, "timestamp": 1700000000000}


@pytest.mark.parametrize(
    ("number", "name", "member"),
    [
        (17, "StreamsGroupMetadata", False),
        (19, "StreamsGroupMemberMetadata", True),
        (20, "StreamsGroupTargetAssignmentMetadata", False),
        (21, "StreamsGroupTargetAssignmentMember", True),
        (22, "StreamsGroupCurrentMemberAssignment", True),
        (23, "StreamsGroupTopology", False),
    ],
)
def test_records_of_streams_groups_are_known_by_type_and_key(number: int, name: str, member: bool) -> None:
    """CoordinatorRecordType of 4.3.1, and the keys that its kafka-dump-log prints of these bytes."""
    record = decode_group_record(struct.pack(">h", number) + b"\0\3app" + b"\0\2m1" * member, b"\0\0whatever")
    assert (record.type, record.version, record.value) == (name, 0, None)
    assert record.key == {"groupId": "app"} | ({"memberId": "m1"} if member else {})


def test_an_unknown_version_keeps_its_key() -> None:
    record = decode_group_record(b"\0\2\0\1g", b"\0\x09rest")
    assert (record.key, record.version, record.value, record.tombstone) == ({"group": "g"}, 9, None, False)


@pytest.mark.parametrize(
    ("number", "newest"),
    # HIGHEST_SUPPORTED_VERSION of the classes that Kafka 4.3.1 generates, such as OffsetCommitValue
    [(0, 4), (1, 4), (2, 4), *((number, 0) for number in (*range(3, 17), 19, 20, 21, 22, 23))],
)
def test_values_are_read_up_to_the_newest_version_of_kafka(number: int, newest: int) -> None:
    """An unknown version keeps the key; one that is known and cut off is damage, but for early streams groups."""
    strings = {0: 2, 1: 2, 5: 2, 7: 2, 8: 2, 10: 2, 13: 2, 14: 2, 16: 2, 19: 2, 21: 2, 22: 2}.get(number, 1)
    content = struct.pack(">h", number) + b"\0\1g" * strings + (bytes(4) if number < 2 else b"")
    after = decode_group_record(content, struct.pack(">h", newest + 1))
    assert (after.version, after.value, after.tombstone) == (newest + 1, None, False)
    if number < 17:
        with pytest.raises(SchemaError):
            decode_group_record(content, struct.pack(">h", newest))


def test_a_member_of_the_classic_protocol_in_a_new_group() -> None:
    """A tagged structure that is there: marker 1, then its fields; laid out by hand from the schema."""
    structure = struct.pack(">i", 7000) + b"\x02" + b"\x06range" + b"\x03ab" + b"\0" + b"\0"
    tagged = b"\1" + b"\0" + bytes([1 + len(structure)]) + b"\1" + structure
    value = b"\0\0" + b"\0\0" + b"\2c" + b"\2h" + b"\1" + b"\0" + struct.pack(">i", 5) + b"\0" + tagged
    record = decode_group_record(b"\0\5\0\1g\0\1m", value)
    assert record.value is not None
    member = record.value["classicMemberMetadata"]
    assert (member["sessionTimeoutMs"], member["supportedProtocols"][0]["name"]) == (7000, "range")


@given(st.integers(0, 24), st.binary(max_size=60), st.integers(0, 4), st.none() | st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused(number: int, key: bytes, version: int, value: bytes | None) -> None:
    versioned = None if value is None else struct.pack(">h", version) + value
    decoded_or_refused(SchemaError, decode_group_record, struct.pack(">h", number) + key, versioned)
