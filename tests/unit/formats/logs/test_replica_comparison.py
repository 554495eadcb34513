"""Copies of a partition on several disks: logs that were written to differ, and those of real brokers."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.log_directories import LOG_START, REPLICATION, batch, write_checkpoint, write_meta, write_partition
from log_files.record_batches import PlainRecord, batch_bytes, record_bytes

from kreplica.formats.file_bytes import BufferBytes
from kreplica.formats.logs.copies import compare_copies, copy_of, first_difference, partitions_of
from kreplica.formats.logs.log_range import LogContents, read_segment
from kreplica.formats.logs.replicas import find_folders
from kreplica.formats.segments.batches import Codec

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka-4.3.1"


def rows(*homes: Path) -> list[dict[str, object]]:
    _, folders = find_folders([str(home) for home in homes])
    (found,) = partitions_of(folders).values()
    copies = [copy_of(folder.read()) for folder in found]
    return [to_builtins(row) for row in compare_copies(copies)]


def home_of(
    folder: Path, node: int, batches: Sequence[bytes], epochs: Sequence[tuple[int, int]], watermark: int
) -> Path:
    home = folder / f"broker-{node}"
    write_partition(home, batches, epochs=epochs)
    write_meta(home, node=node, directory=f"d{node}")
    write_checkpoint(home, REPLICATION, watermark)
    return home


def test_scenario_2_of_kip_101(tmp_path: Path) -> None:
    """A has m1 and m2 and knows that both were committed; B lost m2, led, and wrote m3 in its place."""
    one = home_of(tmp_path, 1, [batch(0, 0, b"m1"), batch(1, 0, b"m2")], [(0, 0)], 2)
    two = home_of(tmp_path, 2, [batch(0, 0, b"m1"), batch(1, 1, b"m3")], [(0, 0), (1, 1)], 1)
    follower, leader = rows(one, two)
    assert (leader["leads"], leader["differs_at"], leader["cut_by_leader_epoch"]) == (True, None, None)
    assert follower["differs_at"] == 1
    assert (follower["truncation_by_high_watermark"], follower["cut_by_high_watermark"]) == (2, 0)
    assert (follower["truncation_by_leader_epoch"], follower["cut_by_leader_epoch"]) == (1, 1)
    assert (follower["only_here_from"], follower["only_here"]) == (1, 1)
    assert (leader["only_here_from"], leader["only_here"], leader["only_here_above"]) == (None, 0, 1)  # it knows of 1


def test_what_was_committed_and_is_cut(tmp_path: Path) -> None:
    """After an unclean election; the third's high watermark covers records of the first that it has, too."""
    old = [batch(at, 0, b"old") for at in range(6)]
    one = home_of(tmp_path, 1, old, [(0, 0)], 3)
    two = home_of(tmp_path, 2, [*old[:2], *(batch(at, 1, b"new") for at in range(2, 9))], [(0, 0), (1, 2)], 8)
    three = home_of(tmp_path, 3, old[:5], [(0, 0)], 5)
    found = rows(one, two, three)
    assert [(row["cut_by_leader_epoch"], row["cut_committed"]) for row in found] == [(4, 3), (None, None), (3, 3)]


def test_without_leader_epochs_a_longer_log_does_not_hide_what_was_committed(tmp_path: Path) -> None:
    """A leader of inter.broker.protocol.version 0.10 was killed above its high watermark: Kafka 3.9.2 truncated it
    there when it came back, though its log was longer than that of its successors, who had a higher one."""
    common, old = [batch(0, -1, b"m1")], [batch(at, -1, b"old") for at in range(1, 6)]
    one = home_of(tmp_path, 1, [*common, *old], [], 1)
    two = home_of(tmp_path, 2, [*common, batch(1, -1, b"new"), batch(2, -1, b"new")], [], 3)
    killed, leader = rows(one, two)
    assert (killed["leads"], leader["leads"], killed["differs_at"]) == (False, True, 1)
    assert (killed["truncation_by_leader_epoch"], killed["cut_by_leader_epoch"], killed["cut_committed"]) == (1, 5, 0)
    write_checkpoint(two, REPLICATION, 1)  # nothing was committed since: the longest is all that is known
    assert [row["leads"] for row in rows(one, two)] == [True, False]


def test_scenario_1_of_kip_101(tmp_path: Path) -> None:
    """A has both messages but has not heard of the second's commit: cutting at its high watermark would lose it."""
    batches = [batch(0, 0, b"m1"), batch(1, 0, b"m2")]
    follower = rows(home_of(tmp_path, 1, batches, [(0, 0)], 1), home_of(tmp_path, 2, batches, [(0, 0)], 2))[1]
    assert follower["leads"] is False
    short = rows(home_of(tmp_path, 1, batches, [(0, 0)], 2), home_of(tmp_path, 2, batches, [(0, 0)], 1))[1]
    assert (short["cut_by_high_watermark"], short["cut_by_leader_epoch"]) == (1, 0)
    assert (short["differs_at"], short["only_here"]) == (None, 0)


def test_what_one_disk_alone_has(tmp_path: Path) -> None:
    long = [batch(offset, 0) for offset in range(5)]
    homes = [home_of(tmp_path, node, long[:count], [(0, 0)], 4) for node, count in ((1, 5), (2, 2), (3, 3))]
    found = rows(*homes)
    told = [(row["leads"], row["only_here_from"], row["only_here"], row["only_here_above"]) for row in found]
    assert told == [(True, 3, 1, 1), (False, None, 0, 0), (False, None, 0, 0)]  # offset 4: above the high watermark
    one, two = (home_of(tmp_path, node, long[:count], [(0, 0)], 1) for node, count in ((4, 5), (5, 2)))
    assert [(row["only_here_from"], row["only_here"], row["only_here_above"]) for row in rows(one, two)] == [
        (None, 0, 3),
        (None, 0, 0),
    ]


def test_deleted_records_are_not_missed(tmp_path: Path) -> None:
    batches = [batch(offset, 0) for offset in range(5)]
    one = home_of(tmp_path, 1, batches, [(0, 0)], 5)
    write_partition(tmp_path / "broker-2", batches[3:], epochs=[(0, 3)], base=3)
    write_checkpoint(tmp_path / "broker-2", LOG_START, 4)
    assert [(row["differs_at"], row["only_here"]) for row in rows(one, tmp_path / "broker-2")] == [(None, 0)] * 2


def log(folder: Path, *batches: bytes) -> LogContents:
    path = folder / f"{0:020d}.log"
    folder.mkdir(exist_ok=True)
    path.write_bytes(b"".join(batches))
    return LogContents((read_segment(BufferBytes(b"".join(batches), str(path)), path),))


def test_compacted_and_recompressed_copies_are_the_same(tmp_path: Path) -> None:
    records = [PlainRecord(index, index, b"k%d" % index, b"v") for index in range(4)]
    whole = batch_bytes(records)
    compacted = batch_bytes([records[1], records[3]], last_offset_delta=3)
    packed = gzip.compress(b"".join(map(record_bytes, records)))
    zipped = batch_bytes(records, attributes=Codec.gzip, content=packed)
    changed = batch_bytes([records[1], PlainRecord(3, 3, b"k3", b"w")], last_offset_delta=3)
    copies = [log(tmp_path / str(number), each) for number, each in enumerate((whole, compacted, zipped, changed))]
    assert [first_difference(copies[0], copy) for copy in copies] == [None, None, None, 3]
    assert first_difference(copies[3], copies[2]) == 3
    assert first_difference(copies[0], copies[3], log_start=4) is None


Written = list[tuple[int, int]]
"""Epoch and value of each record."""


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=6), st.data())
def test_the_first_difference_is_that_of_a_plain_look(
    tmp_path_factory: object, shared: Written, data: st.DataObject
) -> None:
    tails = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=4)
    both = [[*shared, *data.draw(tails)] for _ in range(2)]
    folder = Path(tmp_path_factory.mktemp("logs"))  # type: ignore[attr-defined]
    left, right = (
        log(folder / str(number), *(batch(at, epoch, b"%d" % value) for at, (epoch, value) in enumerate(written)))
        for number, written in enumerate(both)
    )
    plain = next((at for at, (one, two) in enumerate(zip(*both, strict=False)) if one != two), None)
    assert first_difference(left, right) == first_difference(right, left) == plain


def test_copies_of_real_killed_brokers() -> None:
    """Broker 3 was killed long before the others; what it has is the beginning of what they have."""
    homes = [GOLDEN / "killed-all/broker-1", GOLDEN / "killed-all/broker-2", GOLDEN / "killed-one/broker-3"]
    _, folders = find_folders([str(home) for home in homes])
    found = {
        (place.topic, place.partition): compare_copies([copy_of(folder.read()) for folder in copies])
        for place, copies in partitions_of(folders).items()
        if len(copies) > 1
    }
    assert {("orders", 0), ("orders", 5), ("payments", 2), ("inventory", 0)} <= set(found)
    for copies in found.values():
        assert {row.differs_at for row in copies} == {None}
        assert {row.cut_by_leader_epoch for row in copies} <= {None, 0}
        assert sum(bool(row.leads) for row in copies) == 1
    # what kafka-get-offsets said: 14 in 1-healthy, before broker 3 was killed, 29 in 6-before-kill
    assert [(row.node_id, row.end_offset) for row in found["orders", 0]] == [(1, 29), (2, 29), (3, 14)]
