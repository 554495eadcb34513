"""Records of the metadata log: all of a real one against Kafka's dump, every type by round trip, any byte wrong."""

from __future__ import annotations

import json
import re
import string
import sys
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, numbers
from log_files.metadata_writer import message
from log_files.varints import unsigned

from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import BufferBytes
from kreplica.formats.logs.partition_logs import segment_offset
from kreplica.formats.metadata_log.log import MetadataEntry, checkpoint_epoch, checkpoint_offset, metadata_entries
from kreplica.formats.metadata_log.records import RECORD_TYPES, MetadataRecord, decode_metadata_record
from kreplica.formats.schema import Array, Field, SchemaError, message_reader, read_unsigned, uuid_text
from kreplica.formats.segments.control_records import decode_control_record

NODE = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
PRINTED = GOLDEN / "kafka-4.3.1" / "dump-killed-all" / "broker-1"
DUMPED = dumped(PRINTED / "cluster-metadata.txt.gz") | dumped(PRINTED / "bootstrap.txt")
SCHEMAS = {known.name: known for known in RECORD_TYPES.values()}
PAYLOAD = re.compile(r"headerKeys: \[\] (?:payload: |\w+:? )(\{.*\})$")


def entries(name: str) -> list[MetadataEntry]:
    damage: list[Damage] = []
    found = list(metadata_entries(BufferBytes((NODE / name).read_bytes(), name), damage))
    assert damage == []
    return found


def same(told: Any, decoded: Any) -> bool:
    """Whether a value is what Kafka told; fields that Kafka leaves out are of later versions, and null here."""
    if isinstance(told, dict):
        absent = set(decoded) - set(told)
        return all(same(value, decoded[name]) for name, value in told.items()) and all(
            decoded[name] is None for name in absent
        )
    if isinstance(told, list):
        return len(told) == len(decoded) and all(map(same, told, decoded))
    return bool(told == decoded)


@pytest.mark.parametrize("name", DUMPED)
def test_every_record_is_what_kafka_printed(name: str) -> None:
    lines = [line for line in DUMPED[name] if line.startswith("|")]
    found = entries(name)
    assert len(found) == len(lines) > 0
    for entry, line in zip(found, lines, strict=True):
        assert (entry.offset, entry.timestamp) == numbers(line, "offset", "CreateTime")
        told = json.loads(PAYLOAD.search(line)[1])  # type: ignore[index]
        assert entry.record.data is not None
        if isinstance(entry.record, MetadataRecord):
            assert (entry.record.type, entry.record.version) == (told["type"], told["version"])
            defaults = {field.name: field.default for field in SCHEMAS[entry.record.type].fields}
            told = defaults | told["data"]
        assert same(told, entry.record.data), line


def test_the_names_of_the_files() -> None:
    assert segment_offset("00000000000000000819.log") == 819
    assert checkpoint_offset("00000000000000000819-0000000001.checkpoint") == 819
    assert checkpoint_epoch("00000000000000000819-0000000001.checkpoint") == 1
    assert checkpoint_epoch("00000000000000000042-0000012345.checkpoint") == 12345
    assert (checkpoint_offset("bootstrap.checkpoint"), checkpoint_epoch("bootstrap.checkpoint")) == (0, 0)
    for name in ("a-bootstrap.checkpoint", "00000000000000000819.index", "819.log", "00000000000000000819.checkpoint"):
        assert segment_offset(name) is checkpoint_offset(name) is None


def test_the_newest_versions_are_those_of_kafka() -> None:
    """HIGHEST_SUPPORTED_VERSION of org.apache.kafka.common.metadata, Kafka 4.3.1: 0 but for these."""
    newer = {
        "REGISTER_BROKER_RECORD": 4,
        "PARTITION_RECORD": 2,
        "PARTITION_CHANGE_RECORD": 2,
        "BROKER_REGISTRATION_CHANGE_RECORD": 3,
    }
    assert {known.name: known.newest for known in RECORD_TYPES.values()} == dict.fromkeys(SCHEMAS, 0) | newer
    for key, known in RECORD_TYPES.items():
        later = decode_metadata_record(bytes([1, key, known.newest + 1]))
        assert later == MetadataRecord(known.name, known.newest + 1, None)
        if known.fields:
            with pytest.raises(SchemaError):
                decode_metadata_record(bytes([1, key, known.newest]))


# every type of every version

TEXT = st.text(alphabet=string.printable + "äω", max_size=12)
UUIDS = st.binary(min_size=16, max_size=16).map(uuid_text)
SIZES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def values(kind: Any, version: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, Array):
        return st.lists(values(kind.of, version), max_size=3)
    if isinstance(kind, tuple):
        return messages(kind, version)
    if kind in SIZES:
        return st.integers(-(2 ** (SIZES[kind] - 1)), 2 ** (SIZES[kind] - 1) - 1)
    return {
        "uint16": st.integers(0, 65535),
        "float64": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "uuid": UUIDS,
        "string": TEXT,
        "bytes": st.binary(max_size=12),
    }[kind]


def messages(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    def of(field: Field) -> st.SearchStrategy[Any]:
        if field.since > version:
            return st.just(field.default)
        found = values(field.kind, version)
        if field.tag is not None:
            found |= st.just(field.default)
        return found | st.none() if field.nullable else found

    return st.fixed_dictionaries({field.name: of(field) for field in fields})


VERSIONS = [(key, version) for key, known in RECORD_TYPES.items() for version in range(known.newest + 1)]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
@examples(0.25)
@given(data=st.data())
def test_what_is_written_by_the_schema_is_read(key: int, version: int, data: st.DataObject) -> None:
    known = RECORD_TYPES[key]
    written = data.draw(messages(known.fields, version))
    content = unsigned(1) + unsigned(key) + unsigned(version) + message(known.fields, version, written)
    assert decode_metadata_record(content) == MetadataRecord(known.name, version, written)


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.integers(-9, 9), min_size=2), st.booleans(), st.none() | TEXT)
def test_messages_that_are_not_flexible(numbers_: dict[str, int], flexible: bool, text: str | None) -> None:
    fields = (
        Field("a", "int32"),
        Field("text", "string", nullable=True),
        Field("list", Array((Field("b", "int64"), Field("inner", Array("string")))), nullable=True),
    )
    told = {"a": numbers_["a"], "text": text, "list": [{"b": numbers_["b"], "inner": [text or "x"]}]}
    content = message(fields, 0, told, flexible=flexible)
    assert message_reader(fields, 0, flexible=flexible)(content + b"more", 0) == (told, len(content))


def test_unknown_types_and_versions_are_given_as_they_are() -> None:
    assert decode_metadata_record(b"\x01\x63\x02rest") == MetadataRecord("TYPE_99", 2, None)
    assert decode_metadata_record(b"\x01\x05\x03rest") == MetadataRecord("PARTITION_CHANGE_RECORD", 3, None)
    assert decode_control_record(b"\0\0\0\x09", b"").type == "CONTROL_9"
    assert decode_control_record(b"\0\0\0\x02", b"\0\x07").data is None


def test_unknown_tagged_fields_are_passed_over() -> None:
    content = b"\x01\x17\x00" + unsigned(2) + unsigned(7) + unsigned(3) + b"abc" + unsigned(0) + unsigned(3) + b"\x03hi"
    assert decode_metadata_record(content) == MetadataRecord("BEGIN_TRANSACTION_RECORD", 0, {"name": "hi"})


@pytest.mark.parametrize(
    ("content", "reason", "position"),
    [
        (b"", "cut off in a number of variable length", 0),
        (b"\x02\x05\x00", "frame version 2, not 1", 0),
        (b"\x01\x09\x00abc", "cut off in a uuid", 3),
        (b"\x01\x14\x00\x00!", "1 bytes behind the record", 4),
        (b"\x01\x14\x00\x7f", "127 tagged fields in 0 bytes", 4),
        (b"\x01\x0c\x00\x00", "a string of -1 bytes in 0", 3),
        (b"\x01\x0c\x00\x7fabc", "a string of 126 bytes in 3", 3),
        (b"\x01\x0c\x00\x02\xff\x00\x01\x00", "a string that is no UTF-8", 4),
        (b"\x01\xff\xff\xff\xff\xff\x01", "a number of variable length with more than five bytes", 1),
        (b"\x01\x17\x00\x01\x00\x05\x03hi!!", "the tagged field name takes 3 bytes, not 5", 6),
        (b"\x01\x17\x00\x01\x00\x7f\x03hi", "a tagged field of 127 bytes in 3", 6),
    ],
)
def test_what_does_not_fit_says_where(content: bytes, reason: str, position: int) -> None:
    with pytest.raises(SchemaError) as found:
        decode_metadata_record(content)
    assert (found.value.reason, found.value.position) == (reason, position)


def test_a_count_beyond_the_bytes_takes_no_memory() -> None:
    huge = b"\x01\x03\x00" + bytes(20) + unsigned(2**31)
    with pytest.raises(SchemaError, match="an array of 2147483647 elements in 0 bytes"):
        decode_metadata_record(huge)


def fault_position(decode: Any, *content: bytes) -> int:
    """Where a decoder says the bytes are wrong; 0 where it takes them."""
    try:
        decode(*content)
    except SchemaError as error:
        return error.position
    return 0


@given(st.binary(max_size=60), st.sampled_from(sorted(RECORD_TYPES)), st.integers(0, 5))
def test_random_bytes_are_a_record_or_a_fault(content: bytes, key: int, version: int) -> None:
    for value in (content, bytes([1, key, version]) + content):
        assert 0 <= fault_position(decode_metadata_record, value) <= len(value)


@given(st.binary(max_size=40), st.integers(-1, 7))
def test_random_control_records(content: bytes, kind: int) -> None:
    key = b"\0\0" + kind.to_bytes(2, "big", signed=True)
    assert 0 <= fault_position(decode_control_record, key, b"\0\0" + content) <= len(content) + 2


def test_numbers_of_variable_length() -> None:
    for number in (0, 1, 127, 128, 300, 2**31, 2**35 - 1):
        assert read_unsigned(unsigned(number) + b"x", 0) == (number, len(unsigned(number)))


LOG = (NODE / "data/__cluster_metadata-0/00000000000000000000.log").read_bytes()[:30_000]


@examples(0.5)
@given(st.integers(0, len(LOG) - 1), st.integers(1, 255))
def test_a_flipped_byte_costs_one_batch(position: int, mask: int) -> None:
    """The batch's checksum shows it; every record of every other batch is read."""
    content = bytearray(LOG)
    content[position] ^= mask
    damage: list[Damage] = []
    found = {entry.offset: entry for entry in metadata_entries(BufferBytes(bytes(content), "f"), damage)}
    whole: dict[int, MetadataEntry] = {entry.offset: entry for entry in metadata_entries(BufferBytes(LOG, "f"), [])}
    assert damage
    changed = {offset for offset in whole if found.get(offset) != whole[offset]}
    assert len(changed) <= 150
    assert all(found[offset] == whole[offset] for offset in set(whole) - changed)
    assert len(found) >= len(whole) - len(changed)
