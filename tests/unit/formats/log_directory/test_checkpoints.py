"""Checkpoint files of real brokers against what Kafka's tools said of the same logs; damaged ones line by line."""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, end_offsets, numbers

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.leader_epoch_checkpoint import decode_leader_epoch_checkpoint
from kreplica.formats.log_directory.offset_checkpoint import (
    CLEANER,
    LOG_START,
    RECOVERY_POINT,
    REPLICATION,
    decode_offset_checkpoint,
)

CLEAN = GOLDEN / "kafka-4.3.1" / "clean" / "broker-1"
KILLED = GOLDEN / "kafka-4.3.1" / "killed-one" / "broker-3" / "data"
OLD = GOLDEN / "kafka-3.9.2-ibp-1.1" / "clean" / "broker-1" / "data"
ELECTED = GOLDEN / "kafka-4.3.1" / "5-elected"
GOOD = b"0\n3\norders 0 77\naudit.log 1 29\n__consumer_offsets 12 9223372036854775807\n"


def offsets(path: Path) -> dict[tuple[str, int], int]:
    checkpoint = decode_offset_checkpoint(path.read_bytes(), path.name)
    assert checkpoint.damage == ()
    assert len(checkpoint.topics) == len(checkpoint.partitions) == len(checkpoint.offsets)
    return checkpoint.by_partition()


@pytest.mark.parametrize("name", [REPLICATION, RECOVERY_POINT])
@pytest.mark.parametrize(
    ("directories", "told"),
    [
        ([CLEAN / "data", CLEAN / "data2"], ELECTED / "offsets-latest.txt"),
        ([OLD], GOLDEN / "kafka-3.9.2-ibp-1.1" / "3-broker-back" / "offsets-latest.txt"),
    ],
    ids=["4.3.1", "3.9.2"],
)
def test_a_clean_stop_leaves_the_end_offsets(name: str, directories: list[Path], told: Path) -> None:
    """Brokers flush their logs before they stop, so both checkpoints are the log end that Kafka's tool told before.

    Stopping itself still writes to the logs of coordinators.
    """
    ends = {(topic, partition): offset for topic, partition, offset in end_offsets(told)}
    found = {key: value for directory in directories for key, value in offsets(directory / name).items()}
    users = {key: value for key, value in found.items() if not key[0].startswith("__")}
    assert len(users) >= 12
    assert users == {key: ends[key] for key in users}


def test_the_log_start_is_the_earliest_offset() -> None:
    starts = {
        (topic, partition): offset
        for topic, partition, offset in end_offsets(ELECTED / "offsets-earliest.txt")
        if offset
    }
    assert offsets(CLEAN / "data" / LOG_START) == starts == {("trimmed", 0): 77}


def test_the_cleaner_stands_at_the_last_segment() -> None:
    """The active segment is never cleaned: its name is where the cleaner has to stop (segments by Kafka's dump)."""
    segments = [
        file for file in dumped(GOLDEN / "kafka-4.3.1/dump-clean/broker-1/user-batches.txt") if "inventory" in file
    ]
    last = {re.search(r"inventory-(\d)", file)[1]: int(Path(file).stem) for file in sorted(segments)}  # type: ignore[index]
    assert offsets(CLEAN / "data" / CLEANER) == {("inventory", int(number)): base for number, base in last.items()}


def test_a_killed_broker_left_its_checkpoints_behind_its_logs() -> None:
    recovery, watermarks = offsets(KILLED / RECOVERY_POINT), offsets(KILLED / REPLICATION)
    assert recovery.keys() == watermarks.keys()
    assert all(point <= watermarks[key] for key, point in recovery.items())
    assert recovery["orders", 0] == 0 < watermarks["orders", 0]


def test_leader_epochs_begin_where_their_first_batch_does() -> None:
    compared = 0
    for file, lines in dumped(GOLDEN / "kafka-4.3.1/dump-clean/broker-1/user-batches.txt").items():
        directory = CLEAN / Path(file).parent
        if directory.name.startswith(("inventory", "trimmed")):  # compacted, cut at the front: first batches are gone
            continue
        batches = [numbers(line, "partitionLeaderEpoch", "baseOffset") for line in lines if line.startswith("base")]
        first = [(epoch, next(some)[1]) for epoch, some in groupby(batches, key=lambda batch: batch[0])]
        path = directory / "leader-epoch-checkpoint"
        found = decode_leader_epoch_checkpoint(path.read_bytes(), str(path))
        assert found.damage == ()
        assert found.pairs()[: len(first)] == first
        compared += len(first)
    assert compared >= 18


def test_each_wrong_line_is_told_and_the_others_are_read() -> None:
    content = b"0\n3\norders 0 77\norders x 5\nor\xffders 1 5\naudit.log 1 -3\n 1 2\ntwo words 1 2\naudit.log 1 29"
    found = decode_offset_checkpoint(content, "f")
    assert found.by_partition() == {("orders", 0): 77, ("audit.log", 1): 29}
    assert [(each.position, each.skipped) for each in found.damage[:5]] == [
        (16, 11),
        (27, 12),
        (39, 15),
        (54, 5),
        (59, 14),
    ]
    assert {each.reason for each in found.damage[:5]} == {"not an entry"}
    assert found.damage[5:] == (Damage("f", 2, "the count of entries is wrong", 0, "3", "7 lines"),)


@pytest.mark.parametrize(
    ("content", "reason", "entries"),
    [
        (b"0\n", "cut off: no version and count", 0),
        (b"7\n1\norders 0 1\n", "unknown version", 0),
        (b"x\n1\norders 0 1\n", "no version", 1),
        (b"0\nx\norders 0 1\n", "no count of entries", 1),
        (b"0\n1\norders 0 1", "", 1),
        (b"0\r\n1\r\norders 0 1\r\n", "", 1),
        (b"", "", 0),
        (b"0\n0\n", "", 0),
        (b"0\n1\norders 2147483648 1\n", "not an entry", 0),
        (b"0\n1\norders 0 9223372036854775808\n", "not an entry", 0),
        ("0\n1\norders ٣ 1\n".encode(), "not an entry", 0),
        (b"0\n2\norders 0 1\norders 0 2\n", "orders-0 is there twice; the last one counts", 1),
    ],
)
def test_the_frame(content: bytes, reason: str, entries: int) -> None:
    found = decode_offset_checkpoint(content, "f")
    assert len(found.topics) == entries
    assert [each.reason for each in found.damage][:1] == ([reason] if reason else [])


def test_of_a_partition_that_is_there_twice_the_last_entry_counts() -> None:
    """CheckpointFile reads line by line into a map: what comes later takes the place of what was there."""
    content = b"0\n4\norders 0 7\nother 1 5\norders 0 2\norders 1 9\n"
    found = decode_offset_checkpoint(content, "f")
    assert found.by_partition() == {("orders", 0): 2, ("other", 1): 5, ("orders", 1): 9}
    second = content.index(b"orders 0 2")
    places = dict(zip(zip(found.topics, found.partitions.tolist(), strict=True), found.positions, strict=True))
    assert places["orders", 0] == second
    (damage,) = found.damage
    assert (damage.position, damage.skipped) == (second, 0)


def test_epochs_that_do_not_grow_are_told_and_kept() -> None:
    found = decode_leader_epoch_checkpoint(b"0\n3\n0 0\n3 150\n2 160\n", "f")
    assert found.pairs() == [(0, 0), (3, 150), (2, 160)]
    assert found.damage == (Damage("f", 14, "epochs that do not grow", 0, "more than epoch 3 from 150", "2 from 160"),)
    assert decode_leader_epoch_checkpoint(b"0\n2\n0 5\n1 5\n", "f").damage != ()


@given(
    st.dictionaries(
        st.tuples(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1)),
        st.integers(0, 2**63 - 1),
        max_size=8,
    )
)
def test_what_is_written_is_read(entries: dict[tuple[str, int], int]) -> None:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in entries.items()]
    found = decode_offset_checkpoint(f"0\n{len(entries)}\n{''.join(lines)}".encode(), "f")
    assert found.by_partition() == entries
    assert found.damage == ()


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_flipped_byte_costs_one_line_at_most(position: int, mask: int) -> None:
    content = bytearray(GOOD)
    content[position] ^= mask
    found = decode_offset_checkpoint(bytes(content), "f")
    good = decode_offset_checkpoint(GOOD, "f").by_partition()
    if not any(each.reason == "unknown version" for each in found.damage):
        assert len(good.items() & found.by_partition().items()) >= 1
    assert all(0 <= each.position < len(GOOD) for each in found.damage)


@given(st.binary(max_size=200))
def test_random_bytes_end_in_damage(content: bytes) -> None:
    for found in (decode_offset_checkpoint(content, "f"), decode_leader_epoch_checkpoint(content, "f")):
        assert sum(each.skipped for each in found.damage) <= len(content)
