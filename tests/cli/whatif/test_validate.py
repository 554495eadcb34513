"""kreplica whatif validate as a user runs it."""

from __future__ import annotations

import gzip
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, numbers

NODE = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1"
DATA = NODE / "data"
PRINTED = dumped(GOLDEN / "kafka-4.3.1" / "dump-killed-all" / "broker-1" / "cluster-metadata.txt.gz")
SEGMENT = "00000000000000000000.log"
LOG = DATA / "__cluster_metadata-0" / SEGMENT
RECORDS = PRINTED["data/__cluster_metadata-0/00000000000000000000.log"]
REMOVED = 4
"""Partitions of the two topics that were deleted."""


def printed(*words: str) -> int:
    """How many records of Kafka's dump of the log hold all these words."""
    return sum(line.startswith("|") and all(word in line for word in words) for line in RECORDS)


def test_every_change_of_a_real_log_is_explained(kreplica: Any) -> None:
    """As many as Kafka's own tool prints of it, and every checkpoint of the directory holds what they make."""
    ended = kreplica("whatif", "validate", DATA, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    summary = ended.document["summary"]
    created, changed = printed('"PARTITION_RECORD"'), printed('"PARTITION_CHANGE_RECORD"')
    assert summary["explained"] == created + changed + REMOVED == len(ended.document["changes"])
    assert (summary["verdict"], summary["refused"], summary["kafka_version"]) == ("valid", 0, "4.3")
    assert summary["checkpoints"] == len(list(DATA.glob("*/*[1-9]-*.checkpoint")))
    assert summary["rules"]["directory-assigned"] == printed('"PARTITION_CHANGE_RECORD"', '"directories"') - 4, (
        "four of them are steps of two reassignments"
    )


def test_the_screen_says_the_verdict_first(kreplica: Any) -> None:
    ended = kreplica("whatif", "validate", DATA)
    assert ended.out.startswith("VALID 1481 changes in offsets 0 to 2455 explained by 11 rules; 4 checkpoints hold")
    assert "421  broker-stops" in ended.out
    assert "next" not in ended.out


def test_a_log_without_records_or_changes_is_told_as_such(kreplica: Any, tmp_path: Path) -> None:
    """The records of the first 3,385 bytes are about settings and brokers: Kafka's dump has no partition there."""
    segment = tmp_path / SEGMENT
    segment.touch()
    assert kreplica("whatif", "validate", segment).out.startswith("VALID 0 changes in no records\n")
    segment.write_bytes(bytes(range(1, 101)))
    unread = kreplica("whatif", "validate", segment)
    assert (unread.code, unread.out.splitlines()[0]) == (
        5,
        "INCOMPLETE 0 changes in no records; part of the log could not be read",
    )
    segment.write_bytes(LOG.read_bytes()[:3385])
    assert kreplica("whatif", "validate", segment).out.startswith("VALID 0 changes in offsets 0 to 32\n")


def test_the_rules_of_another_release_refuse_it(kreplica: Any) -> None:
    """Before 4.0 a restarted broker left no ISR when it registered: those records are refused then."""
    ended = kreplica("whatif", "validate", DATA, "--kafka-version", "3.9-kraft", "-o", "json")
    assert ended.code == 1
    refused = [row for row in ended.document["changes"] if row["refused"] is not None]
    assert refused
    assert {row["rule"] for row in refused} == {None}
    screen = kreplica("whatif", "validate", DATA, "--kafka-version", "3.9-kraft").out
    assert screen.startswith(f"REFUSED {len(refused)} faults, the first at offset {refused[0]['offset']}")


def test_a_log_without_one_batch_is_refused_where_it_is_missing(kreplica: Any, tmp_path: Path) -> None:
    home = tmp_path / "__cluster_metadata-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(without_batch(LOG.read_bytes(), 675))
    ended = kreplica("whatif", "validate", tmp_path, "-o", "json")
    assert ended.code == 1
    first = next(row for row in ended.document["changes"] if row["refused"] is not None)
    assert "offset 675 expected: records between are missing" in first["refused"]


def without_batch(content: bytes, base_offset: int) -> bytes:
    """A segment without the batch that begins with an offset: base offset int64, length int32, the rest."""
    place, kept = 0, b""
    while place < len(content):
        offset, length = struct.unpack_from(">qi", content, place)
        batch = content[place : place + 12 + length]
        kept += b"" if offset == base_offset else batch
        place += len(batch)
    assert len(kept) < len(content), "a batch begins there"
    return kept


def test_a_broker_that_is_fenced_before_its_session_can_be_over_is_refused(kreplica: Any) -> None:
    """Broker 3 is unfenced 158 s before it is killed and fenced: it would have had to be silent for longer."""
    ended = kreplica("whatif", "validate", DATA, "--set", "broker.session.timeout.ms=200000", "-o", "json")
    assert ended.code == 1
    refused = [row["refused"] for row in ended.document["changes"] if row["refused"] is not None]
    record, told = "BROKER_REGISTRATION_CHANGE_RECORD", "broker.session.timeout.ms=200000 is not over"
    assert refused == [f"{record}: broker 3 in touch, is fenced 158281 ms later: {told}"]
    shortest = {"ms": 158281, "offset": 818, "change": "broker 3 in touch, is fenced"}
    assert ended.document["summary"]["shortest"] == {"broker.session.timeout.ms": shortest}


def test_timers_of_the_cluster_explain_its_log(kreplica: Any) -> None:
    timers = ("--set", "broker.session.timeout.ms=9000", "--set", "replica.lag.time.max.ms=10000")
    assert kreplica("whatif", "validate", DATA, *timers).out.startswith("VALID 1481 changes")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nosuch"], "nosuch"),
        ([str(DATA), "--set", "acks=1"], "acks is no timer of a metadata log"),
        ([str(GOLDEN / "kcat")], "no __cluster_metadata-0"),
        ([str(DATA), "--kafka-version", "9.x"], "no version of Kafka that the engine knows"),
    ],
)
def test_what_cannot_be_judged_is_said(kreplica: Any, words: list[str], told: str) -> None:
    ended = kreplica("whatif", "validate", *words)
    assert ended.code == 2
    assert told in ended.err


def test_a_damaged_log_is_judged_as_far_as_it_goes(kreplica: Any, tmp_path: Path) -> None:
    """A batch whose checksum does not fit is left out; what is behind it is judged, and the gap is named."""
    home = tmp_path / "__cluster_metadata-0"
    home.mkdir()
    content = bytearray(LOG.read_bytes())
    content[60_000] ^= 1
    batches = (numbers(line, "position", "size") for line in RECORDS if line.startswith("baseOffset"))
    (damaged,) = (at for at, size in batches if at <= 60_000 < at + size)
    (home / SEGMENT).write_bytes(content)
    ended = kreplica("whatif", "validate", tmp_path, "-o", "json")
    assert ended.code == 1
    (warning,) = ended.document["warnings"]
    assert f"{SEGMENT}, byte {damaged}: wrong checksum" in warning
    assert ended.document["summary"]["explained"] > 1000


def test_a_log_cut_anywhere_is_valid_up_to_there(kreplica: Any, tmp_path: Path) -> None:
    """A node that died has a prefix: whole batches are judged, the rest is damage."""
    home = tmp_path / "__cluster_metadata-0"
    home.mkdir()
    content = LOG.read_bytes()
    for end in (0, 100, 50_001):
        (home / SEGMENT).write_bytes(content[:end])
        ended = kreplica("whatif", "validate", tmp_path, "-o", "json")
        assert ended.code in (0, 5), ended.err
        assert ended.document["summary"]["refused"] == 0


@pytest.fixture
def zookeeper(tmp_path: Path) -> Path:
    """The transaction logs of a ZooKeeper server, as they lie in its dataLogDir."""
    home = tmp_path / "version-2"
    home.mkdir()
    for file in (GOLDEN / "kafka-3.9.2" / "zookeeper-txlog").glob("*.gz"):
        (home / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
    return tmp_path


def test_zookeeper_s_transaction_logs_are_judged(kreplica: Any, zookeeper: Path) -> None:
    for path in (zookeeper, zookeeper / "version-2"):
        ended = kreplica("whatif", "validate", path, "-o", "json")
        assert (ended.code, ended.err) == (0, "")
        assert ended.document["summary"]["explained"] == 729
        assert ended.document["clusters"][0]["cluster_id"] == "cBMf6SHmQsyCTHxhqk8gNg"


def test_timers_are_not_judged_in_zookeeper_s_logs(kreplica: Any, zookeeper: Path) -> None:
    ended = kreplica("whatif", "validate", zookeeper, "--set", "replica.lag.time.max.ms=10000")
    assert ended.code == 2
    assert "timers are not judged in ZooKeeper's transaction logs" in ended.err


def test_logs_of_zookeeper_with_one_file_missing_are_refused(kreplica: Any, zookeeper: Path) -> None:
    (zookeeper / "version-2" / "log.116").unlink()
    ended = kreplica("whatif", "validate", zookeeper)
    assert ended.code == 1
    assert ended.out.startswith("REFUSED")
    assert "zxid 0x116 expected: transactions are missing" in ended.out
