"""Index files and producer snapshots of real brokers against Kafka's dump; zeros, cuts, any byte wrong."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, numbers

from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import SmallFile, read_small_file
from kreplica.formats.log_directory.indexes import decode_offset_index, decode_time_index, decode_transaction_index
from kreplica.formats.log_directory.producer_snapshot import decode_producer_snapshot
from kreplica.formats.logs.index_rows import index_rows, is_index_file

HOME = GOLDEN / "kafka-4.3.1"
COPIES = ("clean", "killed-all")
NAMES = {
    ".index": {"offset": "offset", "position": "position"},
    ".timeindex": {"timestamp": "timestamp", "offset": "offset"},
    ".txnindex": {
        "producer_id": "producerId",
        "first_offset": "firstOffset",
        "last_offset": "lastOffset",
        "last_stable_offset": "lastStableOffset",
    },
    ".snapshot": {
        "producer_id": "producerId",
        "producer_epoch": "producerEpoch",
        "coordinator_epoch": "coordinatorEpoch",
        "last_sequence": "lastSequence",
        "last_offset": "lastOffset",
        "offset_delta": "offsetDelta",
    },
}
"""Our field and Kafka's word for it."""

FILES = [
    (copy, file, tuple(lines))
    for copy in COPIES
    for file, lines in dumped(HOME / f"dump-{copy}" / "broker-1" / "indexes.txt").items()
    if (HOME / copy / "broker-1" / file).exists()
]


def test_there_is_enough_to_compare() -> None:
    endings = [Path(file).suffix for _, file, lines in FILES if lines]
    assert {ending: endings.count(ending) > 4 for ending in NAMES} == dict.fromkeys(NAMES, True)


@pytest.mark.parametrize(("copy", "file", "lines"), FILES, ids=[f"{copy}-{file}" for copy, file, _ in FILES])
def test_every_entry_is_what_kafka_printed(copy: str, file: str, lines: tuple[str, ...]) -> None:
    path = HOME / copy / "broker-1" / file
    damage: list[Damage] = []
    rows = list(index_rows(path.name, read_small_file(path), file, damage))
    assert damage == []
    names = NAMES[path.suffix]
    told = [
        numbers(line, *names.values())
        for line in lines
        if line.startswith(("offset:", "timestamp:", "version:", "producer"))
    ]
    # Of a preallocated index without an entry Kafka's tool prints the zeros as the base offset.
    zeros = {".index": (int(path.stem), 0), ".timeindex": (0, int(path.stem))}.get(path.suffix)
    found = [tuple(getattr(row, name) for name in names) for row in rows]
    assert found == [entry for entry in told if entry != zeros]


@pytest.mark.parametrize(
    ("content", "offsets", "reasons"),
    [
        (b"", [], []),
        (bytes(80), [], []),
        (struct.pack(">iiii", 5, 100, 9, 200) + bytes(16), [15, 19], []),
        (struct.pack(">iiii", 5, 100, 9, 200) + b"abc", [15, 19], ["an entry cut off"]),
        (struct.pack(">iiiiii", 5, 100, 0, 0, 9, 200), [15, 19], ["zeros between entries"]),
        (struct.pack(">iiii", 9, 100, 5, 200), [19, 15], ["the offset goes back"]),
        (struct.pack(">iiii", 5, 300, 9, 200), [15, 19], ["the position goes back"]),
    ],
)
def test_offset_indexes(content: bytes, offsets: list[int], reasons: list[str]) -> None:
    found = decode_offset_index(content, 10, "f")
    assert found.offsets.tolist() == offsets
    assert [each.reason for each in found.damage] == reasons


def test_time_indexes_go_forward() -> None:
    found = decode_time_index(struct.pack(">qiqi", 9000, 5, 8000, 9), 10, "f")
    assert (found.timestamps.tolist(), found.offsets.tolist()) == ([9000, 8000], [15, 19])
    assert found.damage == (Damage("f", 12, "the timestamp goes back", 0, "at least 9000", "8000"),)


def test_aborted_transactions_of_other_versions_are_left_out() -> None:
    entry = struct.Struct(">hqqqq")
    found = decode_transaction_index(
        entry.pack(0, 7, 1, 2, 3) + entry.pack(1, 8, 4, 5, 6) + entry.pack(0, 9, 5, 4, 6), "f"
    )
    assert found.producer_ids.tolist() == [7, 9]
    assert [(each.position, each.reason, each.skipped) for each in found.damage] == [
        (34, "unknown version of an aborted transaction", 34),
        (68, "a transaction that ends before it begins", 0),
    ]


SNAPSHOT = (HOME / "clean/broker-1/data/payments-2/00000000000000000018.snapshot").read_bytes()


@pytest.mark.parametrize(
    ("content", "entries", "reasons"),
    [
        (SNAPSHOT, 1, []),
        (b"", 0, ["cut off"]),
        (b"\0\x02" + SNAPSHOT[2:], 0, ["unknown version"]),
        (SNAPSHOT[:-1], 0, ["the CRC does not fit", "the count of producers is wrong"]),
        (
            SNAPSHOT[:6] + b"\x7f\xff\xff\xff" + SNAPSHOT[10:],
            1,
            ["the CRC does not fit", "the count of producers is wrong"],
        ),
        (
            SNAPSHOT[:6] + b"\xff\xff\xff\xff" + SNAPSHOT[10:],
            0,
            ["the CRC does not fit", "the count of producers is wrong"],
        ),
    ],
)
def test_producer_snapshots(content: bytes, entries: int, reasons: list[str]) -> None:
    found = decode_producer_snapshot(content, "f")
    assert len(found.entries) == entries
    assert [each.reason for each in found.damage] == reasons


@given(st.integers(0, len(SNAPSHOT) - 1), st.integers(1, 255))
def test_any_flipped_byte_of_a_snapshot_is_seen(position: int, mask: int) -> None:
    content = bytearray(SNAPSHOT)
    content[position] ^= mask
    assert decode_producer_snapshot(bytes(content), "f").damage


@given(st.binary(max_size=200), st.sampled_from(list(NAMES)))
def test_random_bytes_end_in_rows_or_damage(content: bytes, ending: str) -> None:
    damage: list[Damage] = []
    rows = list(index_rows(f"{3:020}{ending}", SmallFile(content), "f", damage))
    assert len(rows) <= len(content) // 8
    assert all(0 <= each.position <= len(content) and 0 <= each.skipped <= len(content) for each in damage)


def test_names() -> None:
    assert is_index_file("00000000000000000018.snapshot")
    assert not is_index_file("00000000000000000018-0000000001.checkpoint")
    assert not is_index_file("00000000000000000018.log")
    with pytest.raises(ValueError, match="neither an index"):
        next(index_rows("x.log", SmallFile(b""), "f", []))
