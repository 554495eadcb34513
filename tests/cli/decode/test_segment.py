"""kreplica decode segment on segments of real brokers, beside what Kafka's DumpLogSegments printed of them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from log_files.dump_log import DumpedFile, dumped_files

from kreplica.formats.segments.rows import BatchRows

GOLDEN = Path(__file__).parents[2] / "golden"
FOLDER = GOLDEN / "kafka-4.3.1" / "clean" / "broker-1"
SEGMENT = "00000000000000000000.log"


def dumped(version: str, topic: str) -> DumpedFile:
    files = dumped_files(GOLDEN / version / "dump-clean" / "broker-1" / "user-data.txt")
    return next(file for file in files if file.path.split("/")[1] == topic)


@pytest.mark.parametrize(
    ("version", "topic"), [("kafka-4.3.1", "payments-0"), ("kafka-3.9.2", "clicks-0"), ("kafka-4.3.1", "codec-zstd-0")]
)
def test_batches_and_records_are_those_that_kafka_prints(kreplica: Any, version: str, topic: str) -> None:
    expected = dumped(version, topic)
    path = GOLDEN / version / "clean" / "broker-1" / expected.path
    ended = kreplica("decode", "segment", path, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert document["schema"] == "kreplica/decode-segment/v1"
    assert len(document["batches"]) == len(expected.batches)
    for row, batch in zip(document["batches"], expected.batches, strict=True):
        numbers = ("base_offset", "last_offset", "count", "leader_epoch", "position", "size", "crc", "max_timestamp")
        assert {name: row[name] for name in numbers} == {name: int(batch.fields[name]) for name in numbers}
        assert (row["codec"], row["valid"]) == (batch.fields["codec"], True)
        assert (str(row["transactional"]), str(row["control"])) == (
            batch.fields["transactional"].capitalize(),
            batch.fields["control"].capitalize(),
        )
    records = kreplica("decode", "segment", path, "--records", "-o", "json").document["records"]
    printed = [(batch.fields, record) for batch in expected.batches for record in batch.records]
    assert len(records) == len(printed) == document["summary"]["records"]
    for row, (batch, record) in zip(records, printed, strict=True):
        assert (row["offset"], row["timestamp"]) == (int(str(record["offset"])), int(str(record["timestamp"])))
        if batch["control"] == "false":
            key = "" if row["key"] is None else f" key: {row['key']}"
            assert str(record["rest"]) == key + f" payload: {row['value']}"
            assert ",".join(header["key"] for header in row["headers"]) == record["headers"]


def test_old_messages_leave_null_what_they_do_not_have(kreplica: Any) -> None:
    expected = dumped("kafka-3.9.2-ibp-0.10.0", "returns-m0-gzip-0")
    path = GOLDEN / "kafka-3.9.2-ibp-0.10.0" / "clean" / "broker-1" / expected.path
    rows = kreplica("decode", "segment", path, "-o", "json").document["batches"]
    assert [(row["magic"], row["codec"], row["last_offset"]) for row in rows] == [
        (0, "gzip", int(batch.fields["last_offset"])) for batch in expected.batches
    ]
    assert {row[name] for row in rows for name in ("base_offset", "count", "leader_epoch", "max_timestamp")} == {None}


def test_a_whole_log_directory(kreplica: Any, process: Any) -> None:
    document = kreplica("decode", "segment", FOLDER, "-o", "json").document
    assert document["summary"]["files"] == len(list(FOLDER.rglob("0*.log")))
    assert len({row["file"] for row in document["batches"]}) == document["summary"]["files"]
    table = list(csv.DictReader(io.StringIO(kreplica("decode", "segment", FOLDER, "-o", "csv").out)))
    assert [row["crc"] for row in table] == [str(row["crc"]) for row in document["batches"]]
    lines = kreplica("decode", "segment", FOLDER, "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == document["batches"]
    out, _ = process("decode", "segment", FOLDER, "-o", "parquet").communicate(timeout=60)
    assert pq.read_table(io.BytesIO(out)).to_pylist() == document["batches"]


def test_a_cut_segment_on_standard_input() -> None:
    command = [sys.executable, "-c", "from commands.start import main; main()", "decode", "segment", "-"]
    content = (FOLDER / "data" / "orders-1" / SEGMENT).read_bytes()[:3000]
    done = subprocess.run(command, input=content, capture_output=True, timeout=60, check=False)
    assert done.returncode == 1
    assert b"DAMAGED 1 damaged place, 268 bytes left out; 7 batches, 25 records in 1 segment\n" in done.stdout
    assert (
        b"batch cut off by the end of the file, expected 527 bytes, found 268 bytes; 268 bytes skipped" in done.stderr
    )


def test_a_damaged_batch_is_shown_as_not_valid(kreplica: Any, tmp_path: Path) -> None:
    content = bytearray((FOLDER / "data" / "orders-1" / SEGMENT).read_bytes())
    content[100] ^= 4
    path = tmp_path / "damaged"
    path.write_bytes(content)
    ended = kreplica("decode", "segment", path)
    assert ended.code == 1
    assert [line.split()[-1] for line in ended.out.splitlines()[1:3]] == ["no", "yes"]


def test_a_preallocated_tail_is_told(kreplica: Any, tmp_path: Path) -> None:
    path = tmp_path / "preallocated"
    path.write_bytes((FOLDER / "data" / "orders-1" / SEGMENT).read_bytes() + bytes(5000))
    ended = kreplica("decode", "segment", path)
    assert ended.code == 0
    assert ended.out.endswith("means    5000 bytes preallocated and not written yet\n")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere", "error: cannot read nowhere; there is no such file or directory; "),
        (".", "error: no segments in .; no file there is named as a segment, "),
    ],
)
def test_nothing_to_read(kreplica: Any, tmp_path: Path, monkeypatch: Any, path: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kreplica("decode", "segment", path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(said)


def test_rows_are_a_sequence_like_any_other(kreplica: Any) -> None:
    from kreplica.formats.file_bytes import FileBytes
    from kreplica.formats.segments.windows import read_windows

    parts = []
    for name in ("orders-1", "orders-3"):
        with FileBytes.open(FOLDER / "data" / name / SEGMENT) as source:
            parts += [(name, window.batches) for window in read_windows(source, 1500)]
    rows = BatchRows(parts)
    everything = list(rows)
    assert [rows[index] for index in range(len(rows))] == everything
    assert (rows[-1], rows[3:9], rows[5:], len(rows)) == (
        everything[-1],
        everything[3:9],
        everything[5:],
        len(everything),
    )
    assert {row["file"] for row in everything} == {"orders-1", "orders-3"}
    with pytest.raises(IndexError):
        rows[len(rows)]


def test_records_are_the_same_in_every_form(kreplica: Any, process: Any) -> None:
    folder = FOLDER / "data" / "orders-1"
    rows = kreplica("decode", "segment", folder, "--records", "-o", "json").document["records"]
    assert rows
    lines = kreplica("decode", "segment", folder, "--records", "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = list(csv.DictReader(io.StringIO(kreplica("decode", "segment", folder, "--records", "-o", "csv").out)))
    assert [(row["key"] or None, row["value"] or None, int(row["offset"])) for row in table] == [
        (row["key"], row["value"], row["offset"]) for row in rows
    ]
    out, _ = process("decode", "segment", folder, "--records", "-o", "parquet").communicate(timeout=60)
    held = pq.read_table(io.BytesIO(out)).to_pylist()
    assert [{**row, "headers": json.loads(row["headers"])} for row in held] == rows
    assert any(row["headers"] for row in rows)
