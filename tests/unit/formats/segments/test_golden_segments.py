"""Every batch and record of real segments, beside what Kafka's DumpLogSegments printed of the same files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from log_files.dump_log import DumpedFile, dumped_files

from kreplica.formats.file_bytes import FileBytes
from kreplica.formats.segments.batches import BatchColumns, Codec
from kreplica.formats.segments.columns import RecordColumns
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.windows import BatchWindow, read_windows

GOLDEN = Path(__file__).parents[3] / "golden"
OUTPUTS = sorted(GOLDEN.glob("*/dump-clean/broker-1/*-*.txt"))
NUMBERS = ("position", "size", "magic", "last_offset", "crc", "max_timestamp")
NUMBERS_OF_V2 = ("base_offset", "count", "base_sequence", "producer_id", "producer_epoch", "leader_epoch")
WORDS = {"none", "gzip", "snappy", "lz4", "zstd"}


def windows_of(path: Path, window_bytes: int = 1 << 20) -> list[BatchWindow]:
    with FileBytes.open(path) as source:
        return list(read_windows(source, window_bytes))


def records_of(windows: list[BatchWindow]) -> list[tuple[RecordColumns, int]]:
    return [(some, index) for window in windows for some in decode_records(window) for index in range(len(some))]


def segments() -> list[tuple[Path, DumpedFile, Path]]:
    return [
        (output, dumped, output.parents[2] / "clean" / output.parent.name / dumped.path)
        for output in OUTPUTS
        if output.stem in ("consumer-offsets", "transaction-state", "user-data")
        for dumped in dumped_files(output)
    ]


def named(value: object) -> str:
    return f"{value.parts[-4]}-{value.stem}" if isinstance(value, Path) and value.suffix == ".txt" else ""


@pytest.mark.parametrize("output", sorted({output for output, _, _ in segments()}), ids=named)
def test_batches_are_those_that_kafka_prints(output: Path) -> None:
    for _, dumped, path in (entry for entry in segments() if entry[0] == output):
        windows = windows_of(path)
        assert not any(window.damage for window in windows)
        batches = BatchColumns.concatenate([window.batches for window in windows])
        assert len(batches) == len(dumped.batches)
        for index, expected in enumerate(dumped.batches):
            check_batch(batches, index, expected.fields)


def check_batch(batches: BatchColumns, index: int, expected: dict[str, str]) -> None:
    v2 = "count" in expected
    for name in (*NUMBERS, *(NUMBERS_OF_V2 if v2 else ())):
        assert int(getattr(batches, name)[index]) == int(expected[name]), (name, expected)
    assert Codec(int(batches.codec[index])).name == expected["codec"]
    assert str(bool(batches.valid[index])).lower() == expected["valid"]
    if v2:
        assert str(bool(batches.transactional[index])).lower() == expected["transactional"]
        assert str(bool(batches.control[index])).lower() == expected["control"]
        horizon = re.search(r"\d+", expected["delete_horizon"])
        assert bool(batches.has_delete_horizon[index]) == (horizon is not None)
        assert horizon is None or int(horizon[0]) == int(batches.base_timestamp[index])


@pytest.mark.parametrize("output", sorted({output for output, _, _ in segments()}), ids=named)
def test_records_are_those_that_kafka_prints(output: Path) -> None:
    for _, dumped, path in (entry for entry in segments() if entry[0] == output):
        found = records_of(windows_of(path, window_bytes=777))
        expected = [(batch.fields, record) for batch in dumped.batches for record in batch.records]
        assert len(found) == len(expected)
        for (some, index), (batch, record) in zip(found, expected, strict=True):
            assert not some.damage
            check_record(some, index, batch, record, shows_data=output.stem == "user-data")


def check_record(
    some: RecordColumns, index: int, batch: dict[str, str], expected: dict[str, str | None], *, shows_data: bool
) -> None:
    columns = {"offset": some.offset, "timestamp": some.timestamp}
    columns |= {"key_size": some.key_length, "value_size": some.value_length}
    for name, values in columns.items():
        assert int(values[index]) == int(str(expected[name])), (name, expected)
    if expected["sequence"] is not None and batch["control"] == "false":
        assert int(some.sequence[index]) == int(expected["sequence"])
        assert ",".join(key.decode() for key, _ in some.headers(index)) == expected["headers"]
    if shows_data and batch.get("control") != "true":
        key, value = some.key(index), some.value(index)
        printed = "" if key is None else f" key: {key.decode()}"
        printed += "" if value is None else f" payload: {value.decode()}"
        assert str(expected["rest"]).endswith(printed)


def test_the_golden_files_show_every_kind() -> None:
    """What the two tests above would not notice were it missing."""
    fields = [batch.fields for _, dumped, _ in segments() for batch in dumped.batches]
    records = [record for _, dumped, _ in segments() for batch in dumped.batches for record in batch.records]
    assert {batch["magic"] for batch in fields} == {"0", "1", "2"}
    assert {(batch["magic"], batch["codec"]) for batch in fields} >= {("2", codec) for codec in WORDS}
    assert {(batch["magic"], batch["codec"]) for batch in fields} >= {
        (magic, codec) for magic in "01" for codec in WORDS - {"zstd"}
    }
    v2 = [batch for batch in fields if "count" in batch]
    assert any(batch["delete_horizon"] != "OptionalLong.empty" for batch in v2)
    assert any(batch["control"] == "true" for batch in v2)
    assert any(int(batch["last_offset"]) - int(batch["base_offset"]) >= int(batch["count"]) > 0 for batch in v2)
    assert any(record["headers"] for record in records)
    assert any(record["value_size"] == "-1" for record in records)
