"""Rules on the files of a log directory: each finds what it is for, and nothing that a kill leaves behind."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from log_files.flipped_bits import flip

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.log_directories import (
    CLEANER,
    LOG_START,
    RECOVERY_POINT,
    REPLICATION,
    batch,
    close,
    find_replicas,
    marker,
    producer_snapshot,
    write_checkpoint,
    write_meta,
    write_partition,
)

from kreplica.formats.checks.rules import RULES, check_all
from kreplica.formats.logs.replicas import Finding

GOLDEN = Path(__file__).parents[3] / "golden"
COPIES = sorted(path for state in ("clean", "killed-one", "killed-all") for path in GOLDEN.glob(f"kafka-*/{state}"))
FIRST = f"{0:020d}"
BATCHES = [batch(0, 0, records=3), batch(3, 0, records=2), batch(5, 2)]
EPOCHS = ((0, 0), (2, 5))
STAMP = 1_600_000_000_000


def findings(*paths: Path, metadata: Mapping[str, str] | None = None) -> list[Finding]:
    homes, replicas = find_replicas([str(path) for path in paths])
    return check_all(homes, replicas, metadata or {})


def told(*paths: Path) -> list[tuple[str, int]]:
    return [(each.rule, each.position) for each in findings(*paths)]


@pytest.mark.parametrize("copy", COPIES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_brokers_stopped_or_killed_have_no_findings(copy: Path) -> None:
    homes, replicas = find_replicas([str(copy)])
    assert homes
    assert replicas
    assert [replica for replica in replicas if replica.log.segments]
    assert check_all(homes, replicas, {}) == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_partition(tmp_path, BATCHES, epochs=EPOCHS)
    write_meta(tmp_path)
    return tmp_path


def test_a_log_directory_may_have_the_name_of_a_partition(tmp_path: Path) -> None:
    write_partition(tmp_path / "data-1", BATCHES, epochs=EPOCHS)
    write_meta(tmp_path / "data-1")
    write_checkpoint(tmp_path / "data-1", REPLICATION, 6)
    homes, replicas = find_replicas([str(tmp_path)])
    assert [home.path for home in homes] == [tmp_path / "data-1"]
    assert [(each.path.name, each.checkpoint(REPLICATION)) for each in replicas] == [("orders-0", (4, 6))]


def test_a_damaged_bootstrap_checkpoint(home: Path) -> None:
    """Its batches are at bytes 0, 83 and 336, as DumpLogSegments prints; without the second one it names no feature."""
    content = (GOLDEN / "kafka-4.3.1/killed-all/broker-1/data/bootstrap.checkpoint").read_bytes()
    path = home / "bootstrap.checkpoint"
    path.write_bytes(content)
    assert told(home) == []
    path.write_bytes(content[:83] + content[336:])
    (found,) = findings(home)
    assert (found.rule, found.expected, found.found) == ("bootstrap-checkpoint", "a level of metadata.version", "none")
    path.write_bytes(content)
    flip(path, 100)
    assert told(home) == [("bootstrap-checkpoint", 83)]


def test_damage_of_a_log_and_of_small_files(home: Path) -> None:
    path = home / "orders-0" / f"{FIRST}.log"
    flip(path, -1)
    write_checkpoint(home, REPLICATION, 5, place="orders zero")
    at = sum(map(len, BATCHES[:2]))
    assert told(home) == [("small-files", 4), ("log-damage", at)]
    path.write_bytes(b"".join(BATCHES) + bytes(500))  # allocated ahead
    assert [rule for rule, _ in told(home)] == ["small-files"]


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([batch(0, 0, records=3), batch(3, 0)], []),
        ([batch(0, 0, records=3), batch(7, 0)], []),  # compacted between
        ([batch(0, 0, records=3), batch(2, 0)], ["batch-order"]),
        ([batch(0, 1), batch(1, 0)], ["batch-order"]),
        ([batch(0, 9), batch(1, 0), batch(2, 0)], ["batch-order"]),  # the one step back, not each that follows it
    ],
)
def test_batches_go_forward(tmp_path: Path, batches: list[bytes], expected: list[str]) -> None:
    write_partition(tmp_path, batches, epochs=None)
    found = findings(tmp_path)
    assert [each.rule for each in found] == expected
    assert all(each.position == len(batches[0]) for each in found)


def test_segments_do_not_overlap(tmp_path: Path) -> None:
    write_partition(tmp_path, [batch(0, 0, records=3)])
    write_partition(tmp_path, [batch(3, 0)], base=3)
    assert told(tmp_path) == []
    write_partition(tmp_path, [batch(2, 0)], base=2)
    (tmp_path / "orders-0" / f"{3:020d}.log").unlink()
    (found,) = findings(tmp_path)
    assert (found.rule, found.expected, found.found) == ("batch-order", "offset 3 or later", "2")


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        (((0, 0), (2, 5)), []),
        (((0, 0), (1, 5), (2, 5)), ["small-files"]),  # two epochs at one offset
        (((0, 0), (2, 5), (3, 6)), []),  # a leader that wrote nothing yet
        (((0, 0), (2, 4)), ["leader-epochs"]),
        (((0, 0), (3, 5)), ["leader-epochs"]),
        (((0, 0),), ["leader-epochs"]),
        (((1, 4), (2, 5)), ["leader-epochs"]),
        (((2, 5),), []),  # records before were deleted
        (((2, 9),), ["leader-epochs"]),  # where no log can begin
        ((), ["leader-epochs"]),
        (None, []),
    ],
)
def test_leader_epochs_are_those_of_the_batches(
    tmp_path: Path, epochs: tuple[tuple[int, int], ...] | None, expected: list[str]
) -> None:
    write_partition(tmp_path, BATCHES, epochs=epochs)
    assert list(dict.fromkeys(each.rule for each in findings(tmp_path)))[:1] == expected


def test_a_wrong_epoch_is_told_where_its_line_stands(tmp_path: Path) -> None:
    write_partition(tmp_path, BATCHES, epochs=((0, 0), (3, 5)))
    (found,) = findings(tmp_path)
    assert (found.position, found.expected, found.found) == (8, "epoch 2 at that offset", "epoch 3")
    assert found.message == (
        f"offset 5 was written under another leader epoch ({FIRST}.log, byte {sum(map(len, BATCHES[:2]))})"
    )


def test_epochs_of_deleted_records_are_gone(home: Path) -> None:
    """At once, while the log start is written to its file every minute and when a broker stops: kafka-delete-records
    and a kill leave the one without the other (seen of Kafka 4.3.1)."""
    write_partition(home, BATCHES, epochs=((0, 4), (2, 5)))
    assert told(home) == []
    write_checkpoint(home, LOG_START, 2)
    assert told(home) == []
    close(home)
    assert [rule for rule, _ in told(home)] == ["leader-epochs"]
    write_checkpoint(home, LOG_START, 4)
    assert told(home) == []


@pytest.mark.parametrize("stopped", [False, True])
def test_a_metadata_log_begins_with_its_snapshot(tmp_path: Path, stopped: bool) -> None:
    """In the midst of a segment, of Kafka 4.3.1; no checkpoint of the directory tells where."""
    write_partition(tmp_path, BATCHES, place="__cluster_metadata-0", epochs=((0, 4), (2, 5)))
    write_meta(tmp_path)
    if stopped:
        close(tmp_path)
    assert told(tmp_path) == []
    write_partition(tmp_path, BATCHES, place="__cluster_metadata-0", epochs=((0, 4), (3, 5)))
    assert [rule for rule, _ in told(tmp_path)] == ["leader-epochs"]


def test_an_epoch_behind_the_end_is_normal_after_a_kill_only(home: Path) -> None:
    write_partition(home, BATCHES, epochs=(*EPOCHS, (4, 9)))
    assert told(home) == []
    close(home)
    assert told(home) == [("leader-epochs", 12)]


@pytest.mark.parametrize(
    ("name", "rule", "fine", "fine_after_a_kill", "never"),
    [
        (REPLICATION, "high-watermark", (0, 3, 6), (), (7,)),
        (RECOVERY_POINT, "recovery-point", (6,), (0, 3), (7,)),
        (LOG_START, "log-start", (0, 5, 6), (), (7,)),
        (CLEANER, "cleaner-offset", (0, 6), (7,), ()),
    ],
)
def test_checkpoints_lie_within_the_log(
    home: Path, name: str, rule: str, fine: tuple[int, ...], fine_after_a_kill: tuple[int, ...], never: tuple[int, ...]
) -> None:
    def verdicts() -> dict[int, list[tuple[str, int]]]:
        found = {}
        for offset in (*fine, *fine_after_a_kill, *never):
            write_checkpoint(home, name, offset)
            found[offset] = told(home)
        return found

    wrong = [(rule, 4)]
    assert verdicts() == {offset: wrong if offset in never else [] for offset in (*fine, *fine_after_a_kill, *never)}
    close(home)
    assert verdicts() == {offset: [] if offset in fine else wrong for offset in (*fine, *fine_after_a_kill, *never)}


def test_a_checkpoint_before_the_log_start_is_normal_after_a_kill_only(tmp_path: Path) -> None:
    """But a log start: what is before the first segment may stand in remote storage (KIP-405)."""
    write_partition(tmp_path, [batch(5, 0)], base=5, epochs=((0, 5),))
    for name in (REPLICATION, LOG_START, RECOVERY_POINT):
        write_checkpoint(tmp_path, name, 3)
    assert told(tmp_path) == []
    close(tmp_path)
    assert [rule for rule, _ in told(tmp_path)] == ["high-watermark", "recovery-point"]


@pytest.mark.parametrize(
    ("entry", "closed", "expected"),
    [
        ((4, 1), False, []),
        ((5, 2), False, []),
        ((4, 0), False, []),  # of the first batch of what was appended at once
        ((2, 1), False, ["leads behind its offset"]),
        ((4, "+1"), False, ["leads to no batch"]),
        ((9, 2), False, []),  # the log was cut by a crash
        ((9, 2), True, ["behind the end of the segment"]),
    ],
)
def test_an_offset_index_leads_to_batches(
    home: Path, entry: tuple[int, int | str], closed: bool, expected: list[str]
) -> None:
    starts = [0, len(BATCHES[0]), len(BATCHES[0]) + len(BATCHES[1])]
    position = starts[1] + 1 if isinstance(entry[1], str) else starts[entry[1]]
    content = struct.pack(">ii", 1, 0) + struct.pack(">ii", entry[0], position)
    (home / "orders-0" / f"{FIRST}.index").write_bytes(content + bytes(80))
    if closed:
        close(home)
    found = findings(home)
    assert [(each.rule, each.message, each.position) for each in found] == [
        ("offset-index", message, 8) for message in expected
    ]


@pytest.mark.parametrize(
    ("timestamp", "offset", "expected"),
    [(STAMP + 2, 2, []), (STAMP + 1, 4, []), (STAMP + 1, 2, ["time-index"]), (STAMP, 5, []), (STAMP, 8, [])],
)
def test_a_time_index_has_timestamps_of_batches(home: Path, timestamp: int, offset: int, expected: list[str]) -> None:
    (home / "orders-0" / f"{FIRST}.timeindex").write_bytes(struct.pack(">qi", timestamp, offset) + bytes(24))
    assert [each.rule for each in findings(home)] == expected
    if offset == 8:
        close(home)
        assert [each.rule for each in findings(home)] == ["time-index"]


@pytest.mark.parametrize(
    ("index", "entries"),
    [
        ("index", [(1, 0), (5, 3)]),  # no batch begins there
        ("index", [(1, 0), (5, 200), (4, 100)]),  # older than the entry that was written over the one before
        ("timeindex", [(STAMP + 9, 5)]),
        ("timeindex", [(STAMP + 9, 5), (STAMP, 5)]),
    ],
)
def test_entries_of_records_that_a_follower_cut_stay_in_an_index(
    home: Path, index: str, entries: list[tuple[int, int]]
) -> None:
    """Until the broker stops in order. Seen of Kafka 4.3.1: cut to 547, where its new leader began, killed at 598, its
    index led to 595 at a byte within a batch."""
    form = ">ii" if index == "index" else ">qi"
    content = b"".join(struct.pack(form, *entry) for entry in entries)
    (home / "orders-0" / f"{FIRST}.{index}").write_bytes(content + bytes(struct.calcsize(form) * 5))
    assert told(home) == []
    close(home)
    assert {each.rule for each in findings(home)} == {"offset-index" if index == "index" else "time-index"}
    (home / ".kafka_cleanshutdown").unlink()
    write_partition(home, [*BATCHES[:2], batch(5, 0)], epochs=((0, 0),))  # under one leader nothing is cut
    assert told(home) != []


@pytest.mark.parametrize("torn", [True, False])
@pytest.mark.parametrize("index", ["index", "timeindex"])
def test_an_entry_that_is_half_written(tmp_path: Path, index: str, torn: bool) -> None:
    """A broker writes an entry's two numbers one after the other: seen of a running Kafka 4.3.1."""
    batches = [batch(0, 0, records=3), batch(3, 0, records=2), batch(5, 0)]
    form, entries = (
        (">ii", [(4, len(batches[0])), (5, 0)]) if index == "index" else (">qi", [(STAMP, 5), (STAMP + 7, 0)])
    )
    entries += [] if torn else [entries[0]]
    content = b"".join(struct.pack(form, *entry) for entry in entries)
    write_partition(tmp_path, batches, files={f"{FIRST}.{index}": content + bytes(struct.calcsize(form))})
    assert bool(told(tmp_path)) is not torn
    close(tmp_path)
    assert told(tmp_path) != []


@pytest.mark.parametrize(
    ("stable", "right"), [(2, True), (3, True), (4, False), (5, True), (6, False), (7, False), (8, True), (9, False)]
)
def test_a_followers_last_stable_offset_may_be_behind_the_marker(tmp_path: Path, stable: int, right: bool) -> None:
    """Of what it appended at once: another producer's transaction in there is open already (seen of Kafka 4.3.1)."""
    batches = [batch(0, 0, attributes=0x10, producer=(7, 0, 0)), marker(1, 0, 7, abort=True), batch(2, 0)]
    batches += [batch(3, 0, records=2, attributes=0x10, producer=(8, 0, 0))]  # offset 5 was compacted away
    batches += [batch(6, 0, attributes=0x10, producer=(7, 0, 1)), marker(7, 0, 8, abort=False)]
    batches += [batch(8, 0, attributes=0x10, producer=(9, 0, 0))]
    write_partition(tmp_path, batches, files={f"{FIRST}.txnindex": struct.pack(">hqqqq", 0, 7, 0, 1, stable)})
    close(tmp_path)
    assert told(tmp_path) == ([] if right else [("transaction-index", 0)])


def test_the_transaction_index_has_the_abort_markers(tmp_path: Path) -> None:
    data = batch(0, 0, attributes=0x10, producer=(7, 0, 0))
    batches = [data, marker(1, 0, 7, abort=True), batch(2, 0, attributes=0x10, producer=(7, 0, 1))]
    batches += [marker(3, 0, 7, abort=False), marker(4, 0, 8, abort=True)]  # the last without data
    entry = struct.pack(">hqqqq", 0, 7, 0, 1, 0)
    folder = write_partition(tmp_path, batches, files={f"{FIRST}.txnindex": entry})
    close(tmp_path)
    assert told(tmp_path) == []
    for first, stable, expected in ((0, 2, []), (1, 0, ["first offset 0"]), (0, 3, ["last stable offset 2"])):
        (folder / f"{FIRST}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 7, first, 1, stable))
        assert [each.expected.partition(",")[0] for each in findings(tmp_path)] == expected
    wrong = struct.pack(">hqqqq", 0, 7, 0, 3, 0)
    (folder / f"{FIRST}.txnindex").write_bytes(entry + wrong)
    (found,) = findings(tmp_path)
    assert (found.rule, found.position) == ("transaction-index", 34)
    assert found.expected == f"an abort marker of producer 7 at offset 3 of {FIRST}.log"
    (folder / f"{FIRST}.txnindex").unlink()
    (found,) = findings(tmp_path)
    assert (found.file, found.position) == (str(folder / f"{FIRST}.log"), len(data))
    (tmp_path / ".kafka_cleanshutdown").unlink()  # made anew by the recovery after a kill
    assert told(tmp_path) == []


@pytest.mark.parametrize("there", [False, True])
def test_a_producers_last_batch_may_be_compacted_away(tmp_path: Path, there: bool) -> None:
    """The transaction was aborted by a marker of the next epoch, and cleaned with a delete.retention.ms of 1 s: Kafka
    4.3.1 left the batch before it as the last of that epoch."""
    batches = [batch(0, 0, producer=(9, 0, 0), attributes=0x10), marker(1, 0, 9, abort=False)]
    batches += [batch(2, 0)] if there else []
    files = {f"{4:020d}.snapshot": producer_snapshot((9, 0, 0, 2))}
    write_partition(tmp_path, [*batches, batch(3, 0)], files=files)
    assert [rule for rule, _ in told(tmp_path)] == ["producer-state"] * there
    write_partition(tmp_path, batches)  # the next segment is empty yet
    assert [rule for rule, _ in told(tmp_path)] == ["producer-state"] * there


def test_producer_snapshots(tmp_path: Path) -> None:
    batches = [batch(0, 0, records=2, producer=(7, 1, 10)), batch(2, 0, records=3, producer=(7, 1, 12))]
    folder = write_partition(tmp_path, batches)
    path = folder / f"{5:020d}.snapshot"
    path.write_bytes(producer_snapshot((7, 1, 14, 4), (9, 0, 3, 2)))  # of 9 nothing is left in the log
    assert told(tmp_path) == []
    path.write_bytes(producer_snapshot((7, 1, 13, 3)))
    found = findings(tmp_path)
    assert [(each.rule, each.position, each.expected, each.found) for each in found] == [
        ("producer-state", 20, "14", "13"),
        ("producer-state", 24, "4", "3"),
    ]
    path.write_bytes(producer_snapshot((7, 1, 14, 4))[:-1] + b"\0")
    assert told(tmp_path) == [("producer-snapshot", 2)]
    path.unlink()
    (folder / f"{9:020d}.snapshot").write_bytes(producer_snapshot())
    assert told(tmp_path) == []
    close(tmp_path)
    assert told(tmp_path) == [("producer-snapshot", 0)]


def test_identity_of_directories(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("a", "b", "c")]
    for node, home in enumerate(homes):
        write_partition(home, [batch(0, 0)], files={"partition.metadata": metadata("30zth3UaSnG3EiysTaRZSA")})
        write_meta(home, node=node, directory=f"d{node}")
    assert told(*homes) == []
    write_meta(homes[1], node=1, directory="d0")
    write_meta(homes[2], node=2, cluster="other", directory="d2")
    assert [each.message for each in findings(*homes)] == [
        f"the directory id of {homes[0]} too",
        "of another cluster than the others",
    ]


def metadata(topic_id: str) -> bytes:
    return f"version: 0\ntopic_id: {topic_id}".encode()


def test_topic_ids(tmp_path: Path) -> None:
    one, other = "30zth3UaSnG3EiysTaRZSA", "NCtw5HUaSnG3EiysTaRZSA"
    for number, topic_id in enumerate((one, one, other)):
        place, files = f"orders-{number}", {"partition.metadata": metadata(topic_id)}
        write_partition(tmp_path, [batch(0, 0)], place=place, files=files)
    (found,) = findings(tmp_path)
    assert (found.rule, found.partition, found.expected, found.found) == ("topic-id", 2, one, other)
    by_metadata = findings(tmp_path, metadata={"orders": other})
    assert [(each.partition, each.expected) for each in by_metadata] == [(0, other), (1, other)]
    shutil.move(tmp_path / "orders-2", tmp_path / "orders-2.0123456789abcdef0123456789abcdef-delete")
    assert findings(tmp_path) == []


def test_a_partition_named_alone_is_judged_with_its_checkpoints(home: Path) -> None:
    write_checkpoint(home, REPLICATION, 9)
    assert told(home / "orders-0") == [("high-watermark", 4)]


def test_every_rule_is_in_the_table() -> None:
    assert len(set(RULES)) == len(RULES) == 17
