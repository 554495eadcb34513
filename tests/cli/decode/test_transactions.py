"""kreplica decode transactions on the disk of a killed broker, against what Kafka's tools told before the kill."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from log_files.flipped_bits import flip

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN, dumped, end_offsets, numbers
from log_files.log_directories import batch, write_meta, write_partition
from log_files.record_batches import PlainRecord, batch_bytes

HOME = GOLDEN / "kafka-4.3.1"
NODE = HOME / "killed-all" / "broker-1"
LEFT_OPEN = NODE / "data" / "__transaction_state-47"
TOLD = (HOME / "6-before-kill" / "transactions-list.txt").read_text()


def test_states_are_those_that_kafka_listed(kreplica: Any) -> None:
    ended = kreplica("decode", "transactions", NODE, "-o", "json")
    assert ended.code == 1
    document = ended.document
    assert list(document) == ["schema", "clusters", "transactions", "summary", "warnings"]
    assert document["schema"] == "kreplica/decode-transactions/v1"
    listed = {line.split()[0]: line.split()[2:] for line in TOLD.splitlines()[1:] if line.strip()}
    found = {row["transactional_id"]: [str(row["producer_id"]), row["state"]] for row in document["transactions"]}
    assert found == listed
    assert [log["partition"] for log in document["summary"]["logs"]] == [0, 17, 20, 47]
    assert ended.err == (
        "warning: 4 of 50 partitions of __transaction_state found; transactional ids in the rest cannot be known\n"
    )


def test_an_open_transaction_says_what_it_holds_back(kreplica: Any) -> None:
    """Its first offset is that of the first batch of its producer in Kafka's dump of the partition."""
    ended = kreplica("decode", "transactions", NODE, "--transactional-id", "tx-left-open", "-o", "json")
    assert (ended.code, ended.err) == (1, "")  # its partition is there: nothing that was asked for is missing
    (row,) = ended.document["transactions"]
    lines = dumped(HOME / "dump-clean" / "broker-1" / "user-batches.txt")["data2/payments-1/00000000000000000000.log"]
    first = min(numbers(line, "baseOffset")[0] for line in lines if f"producerId: {row['producer_id']} " in line)
    assert row["partitions"] == [{"topic": "payments", "partition": 1, "first_offset": first}]
    described = (HOME / "5-elected" / "transactions-describe-tx-left-open.txt").read_text().splitlines()[1].split()
    assert row["start_timestamp"] == int(described[6])
    assert (row["timeout_ms"], row["overdue"]) == (int(described[5]), True)
    assert row["age_ms"] > row["timeout_ms"]
    text = kreplica("decode", "transactions", NODE, "--open").out
    assert re.search(
        r"^OVERDUE 2 of 2 open transactions older than the timeout; 2 transactional ids in 4 of 50", text, re.M
    )
    assert f"payments-1 from offset {first}, by tx-left-open: read_committed consumers wait there" in text


def test_a_transaction_begins_behind_the_last_marker(kreplica: Any) -> None:
    """All transactions before the last start of the brokers had ended: this one begins at the end offset of then."""
    ends = {(topic, number): offset for topic, number, offset in end_offsets(HOME / "5-elected" / "offsets-latest.txt")}
    document = kreplica("decode", "transactions", NODE, "--transactional-id", "tx-pay-1", "-o", "json").document
    assert document["transactions"][0]["partitions"] == [
        {"topic": "payments", "partition": 0, "first_offset": ends["payments", 0]}
    ]


def test_as_of_a_moment(kreplica: Any) -> None:
    """Shortly after it began, the transaction was open and not overdue."""
    ended = kreplica("decode", "transactions", LEFT_OPEN, "--as-of-time", "2026-11-21T07:02:40", "-o", "json")
    (row,) = ended.document["transactions"]
    assert (row["state"], row["overdue"]) == ("Ongoing", False)
    assert 0 < row["age_ms"] < 5000
    early = kreplica("decode", "transactions", LEFT_OPEN, "--as-of-offset", "1", "-o", "json").document["transactions"]
    assert [(row["state"], row["age_ms"], row["partitions"]) for row in early] == [("Empty", None, [])]


def test_open_transactions_that_are_not_overdue_in_one_word(kreplica: Any) -> None:
    """Of all ids there may be others in partitions that are not there; of one that is named there are not."""
    asked = ("decode", "transactions", LEFT_OPEN, "--as-of-time", "2026-11-21T07:02:40")
    said = "1 open transaction, none older than its timeout; 1 transactional id in 1 of 50 partitions of"
    for words, verdict in (((), "INCOMPLETE"), (("--transactional-id", "tx-left-open"), "OPEN")):
        assert f"\n{verdict} {said} __transaction_state\n" in kreplica(*asked, *words).out


def test_events_are_every_record(kreplica: Any) -> None:
    document = kreplica("decode", "transactions", LEFT_OPEN, "--events", "-o", "json").document
    assert [(row["record_offset"], row["state"], row["coordinator_partition"]) for row in document["transactions"]] == [
        (0, "Empty", 47),
        (1, "Ongoing", 47),
    ]
    assert document["summary"]["states"] == {"Empty": 1, "Ongoing": 1}


def test_a_record_of_an_open_transaction_is_not_overdue(kreplica: Any) -> None:
    """What had begun by it has ended since, but for the two transactions that the state tells of."""
    document = kreplica("decode", "transactions", NODE, "--events", "-o", "json").document
    rows = document["transactions"]
    assert sum(row["state"] == "Ongoing" for row in rows) > 2
    assert {(row["age_ms"], row["overdue"]) for row in rows} == {(None, None)}
    assert (document["summary"]["open"], document["summary"]["overdue"]) == (None, None)


def test_events_are_printed_in_every_form(kreplica: Any, process: Any) -> None:
    """Each form has the rows and the fields of JSON."""
    asked = ("decode", "transactions", NODE, "--events", "-o")
    rows = kreplica(*asked, "json").document["transactions"]
    assert [json.loads(line) for line in kreplica(*asked, "jsonl").out.splitlines()] == rows
    flat = list(csv.DictReader(io.StringIO(kreplica(*asked, "csv").out)))
    assert [json.loads(row["partitions"] or "[]") for row in flat] == [row["partitions"] for row in rows]
    out, _ = process(*asked, "parquet").communicate(timeout=60)
    assert pq.read_table(io.BytesIO(out))["record_offset"].to_pylist() == [row["record_offset"] for row in rows]
    lines = kreplica(*asked, "table").out.splitlines()
    places = [",".join(f"{each['topic']}-{each['partition']}" for each in row["partitions"]) or "-" for row in rows]
    assert [line.split()[-1] for line in lines[1 : len(rows) + 1]] == places
    assert lines[len(rows) + 1] == f"INCOMPLETE {len(rows)} records in 4 of 50 partitions of __transaction_state"


def test_events_of_an_id_that_was_forgotten(kreplica: Any, tmp_path: Path) -> None:
    """Its tombstone is a record, too; an id that no record tells of is refused before a row is printed."""
    home = tmp_path / "__transaction_state-0"
    home.mkdir()
    key = b"\0\0" + b"\0\4gone"
    (home / f"{0:020}.log").write_bytes(batch_bytes([PlainRecord(0, 0, key, None)]))
    asked = ("decode", "transactions", tmp_path, "--partitions", 1, "--events", "-o", "csv")
    ended = kreplica(*asked, "--transactional-id", "gone")
    assert (ended.code, ended.out.splitlines()[1].split(",")[:4]) == (0, ["gone", "", "", "Dead"])
    ended = kreplica(*asked, "--transactional-id", "nope")
    assert (ended.code, ended.out) == (2, "")
    assert "no transactional id nope; the files tell of 1 other;" in ended.err


def test_of_several_copies_the_one_a_leader_would_come_from_counts(kreplica: Any, tmp_path: Path) -> None:
    short = tmp_path / "other-broker" / "__transaction_state-17"
    shutil.copytree(NODE / "data" / "__transaction_state-17", short)
    segment = short / "00000000000000000000.log"
    lines = dumped(HOME / "dump-killed-all" / "broker-1" / "transaction-state.txt")
    batches = [
        line for line in lines["data/__transaction_state-17/00000000000000000000.log"] if line.startswith("base")
    ]
    (cut,) = numbers(batches[-1], "position")
    segment.write_bytes(segment.read_bytes()[:cut])
    for paths in ([short, NODE], [NODE, short]):
        document = kreplica("decode", "transactions", *paths, "-o", "json").document
        assert len(document["transactions"]) == 4
        assert document["summary"]["other_copies"] == [{"directory": str(short), "partition": 17}]
        assert f"{short} is another copy of partition 17, not read" in document["warnings"]


def test_disks_of_two_clusters_are_no_copies(kreplica: Any, tmp_path: Path) -> None:
    """Not those of the coordinators' topic, nor a log in which one of their transactions might stand."""
    east, west = tmp_path / "east", tmp_path / "west"
    shutil.copytree(NODE / "data" / "__transaction_state-17", east / "__transaction_state-17")
    shutil.copytree(NODE / "data" / "payments-2", west / "payments-2")
    for home, cluster in ((east, "c1"), (west, "c2")):
        write_meta(home, cluster=cluster)
    ended = kreplica("decode", "transactions", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"error: logs of 2 clusters; c1 in {east}, c2 in {west}; name those of one\n"


def test_segments_are_read_from_standard_input_too(process: Any) -> None:
    with (LEFT_OPEN / "00000000000000000000.log").open("rb") as stream:
        ended = process("decode", "transactions", "-", "-o", "csv", stdin=stream)
        out, _ = ended.communicate(timeout=60)
    assert ended.returncode == 1
    assert out.decode().splitlines()[1].startswith("tx-left-open,3,0,Ongoing,880000,")


def test_parquet_has_typed_columns(process: Any) -> None:
    out, _ = process("decode", "transactions", NODE, "-o", "parquet").communicate(timeout=60)
    table = pq.read_table(io.BytesIO(out))
    assert str(table.schema.field("producer_id").type) == "int64"
    assert table.num_rows == 4


def test_damage_is_told_and_the_rest_is_read(kreplica: Any, tmp_path: Path) -> None:
    home = tmp_path / "__transaction_state-17"
    shutil.copytree(NODE / "data" / "__transaction_state-17", home)
    segment = home / "00000000000000000000.log"
    flip(segment, 200, 4)
    ended = kreplica("decode", "transactions", home, "-o", "json")
    assert ended.code == 1
    (damage,) = ended.document["summary"]["damage"]
    assert damage["file"] == str(segment)
    assert damage["position"] <= 200 < damage["position"] + damage["skipped"]
    assert [row["transactional_id"] for row in ended.document["transactions"]] == ["tx-pay-1"]
    assert "DAMAGED 1 damaged place in these files" in kreplica("decode", "transactions", home).out


def test_all_partitions_found_is_exit_0(kreplica: Any, tmp_path: Path) -> None:
    stopped = HOME / "clean" / "broker-1" / "data" / "__transaction_state-17"
    shutil.copytree(stopped, tmp_path / "__transaction_state-0")
    ended = kreplica("decode", "transactions", tmp_path, "--partitions", "1")
    assert (ended.code, ended.err) == (0, "")


def test_an_overdue_transaction_is_a_finding_found_all_or_not(kreplica: Any, tmp_path: Path) -> None:
    shutil.copytree(NODE / "data" / "__transaction_state-17", tmp_path / "__transaction_state-0")
    for partitions in ("1", "2"):
        assert kreplica("decode", "transactions", tmp_path, "--partitions", partitions).code == 1


def test_a_report_ends_with_0_whatever_it_finds_but_not_where_something_is_missing(
    kreplica: Any, forgotten: Path, tmp_path: Path
) -> None:
    shutil.copytree(NODE / "data" / "__transaction_state-17", tmp_path / "all" / "__transaction_state-0")
    for words in (
        (tmp_path / "all", "--partitions", "1"),
        (forgotten, "--hanging"),
    ):
        assert kreplica("decode", "transactions", *words).code == 1
        assert kreplica("decode", "transactions", *words, "--exit-zero").code == 0
    assert kreplica("decode", "transactions", NODE, "--hanging", "--exit-zero").code == 5
    damaged = tmp_path / "all" / "__transaction_state-0" / f"{0:020}.log"
    damaged.write_bytes(damaged.read_bytes()[:-20] + bytes(20))
    for more in ((), ("--events",)):
        words = (tmp_path / "all", "--partitions", "1", *more)
        assert kreplica("decode", "transactions", *words).code == 1
        assert kreplica("decode", "transactions", *words, "--exit-zero").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-file"], "error: cannot read no-such-file; there is no such file or directory"),
        ([str(Path(__file__).parent)], "error: no transactions in "),
        (
            [str(NODE), "--as-of-offset", "3"],
            "error: --as-of-offset needs one partition; each partition counts its own",
        ),
        (
            [str(NODE), "--transactional-id", "nope"],
            "error: no transactional id nope; the files tell of 4 others; nope lives in partition 4 of 50, ",
        ),
        (
            [str(NODE), "--as-of-time", "2h", "--as-of-offset", "1"],
            "error: --as-of-offset and --as-of-time name two moments; leave out one of them",
        ),
        ([str(NODE), "--as-of-time", "soon"], "error: --as-of-time soon is no moment"),
    ],
)
def test_bad_input_is_one_line(
    kreplica: Any, words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kreplica("decode", "transactions", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1


def test_a_segment_on_standard_input_tells_no_partition(process: Any) -> None:
    ended = process("decode", "transactions", "-", stdin=subprocess.PIPE)
    out, err = ended.communicate((LEFT_OPEN / f"{0:020}.log").read_bytes(), timeout=60)
    assert ended.returncode == 1
    assert b"1 transactional id in one of 50 partitions of __transaction_state" in out
    assert b"which of the 50 partitions of __transaction_state this is, is not known" in err


def test_what_cannot_be_known_is_not_called_ok(kreplica: Any, tmp_path: Path) -> None:
    copy = tmp_path / "restored-17"
    shutil.copytree(NODE / "data" / "__transaction_state-17", copy)
    for path, place in ((NODE / "data" / "__transaction_state-17", "1 of 50"), (copy / f"{0:020}.log", "one of 50")):
        ended = kreplica("decode", "transactions", path, "--as-of-offset", "0")
        assert (
            ended.out
            == f"INCOMPLETE no open transaction; 0 transactional ids in {place} partitions of __transaction_state\n"
        )
        assert ended.code == 5


@pytest.fixture
def forgotten(tmp_path: Path) -> Path:
    """The disk of the killed broker, but the coordinator has only the first record of tx-left-open: Empty."""
    copy = tmp_path / "broker"
    shutil.copytree(NODE, copy)
    log = copy / "data" / LEFT_OPEN.name / f"{0:020}.log"
    content = log.read_bytes()
    log.write_bytes(content[: 12 + int.from_bytes(content[8:12], "big")])
    return copy


def test_a_transaction_that_its_coordinator_forgot_hangs(kreplica: Any, forgotten: Path) -> None:
    """Offset, producer and epoch are those that Kafka's tool told of the open transaction."""
    asked = ("decode", "transactions", forgotten, "--hanging")
    ended = kreplica(*asked, "-o", "json")
    assert ended.code == 1
    (row,) = ended.document["transactions"]
    (first,) = kreplica("decode", "transactions", NODE, "--transactional-id", "tx-left-open", "-o", "json").document[
        "transactions"
    ]
    assert (first["state"], row["state"]) == ("Ongoing", "Empty")
    same = ("transactional_id", "producer_id", "producer_epoch", "partitions", "timeout_ms")
    assert {name: row[name] for name in same} == {name: first[name] for name in same}
    assert row["overdue"] is True
    shown = kreplica(*asked)
    assert "HANGING 1 transaction that no coordinator will end; 7 partitions looked through\n" in shown.out
    assert shown.out.endswith("abort --topic payments --partition 1 --start-offset 27\n")


def test_what_hangs_is_known_only_with_the_coordinators_partition(kreplica: Any, forgotten: Path) -> None:
    shutil.rmtree(forgotten / "data" / LEFT_OPEN.name)
    ended = kreplica("decode", "transactions", forgotten, "--hanging", "-o", "json")
    assert ended.code == 5
    assert [
        (row["transactional_id"], row["producer_id"], row["state"], row["overdue"])
        for row in ended.document["transactions"]
    ] == [(None, 3, "unknown", None)]


def test_damage_is_the_verdict_where_nothing_hangs_for_certain(kreplica: Any, tmp_path: Path) -> None:
    shutil.copytree(NODE, tmp_path / "broker")
    segment = tmp_path / "broker" / "data" / "__transaction_state-17" / f"{0:020}.log"
    flip(segment, 200)
    ended = kreplica("decode", "transactions", tmp_path / "broker", "--hanging")
    assert ended.code == 1
    assert ended.out.startswith("DAMAGED 1 damaged place in these files; 7 partitions looked through\n")


def test_a_transaction_that_hangs_for_certain_counts_behind_one_that_may(kreplica: Any, forgotten: Path) -> None:
    """Of producer 999 no coordinator's partition tells, and 46 of 50 are not here; archive comes before payments."""
    unknown = batch(0, 0, attributes=0x10, producer=(999, 0, 0))
    write_partition(forgotten / "data", [unknown], place="archive-0")
    ended = kreplica("decode", "transactions", forgotten, "--hanging", "-o", "json")
    rows = ended.document["transactions"]
    assert [(row["partitions"][0]["topic"], row["overdue"]) for row in rows] == [("archive", None), ("payments", True)]
    assert ended.code == 1
    assert (
        "HANGING 1 transaction that no coordinator will end; "
        in kreplica("decode", "transactions", forgotten, "--hanging").out
    )


def test_nothing_hangs_that_a_coordinator_will_end(kreplica: Any) -> None:
    ended = kreplica("decode", "transactions", NODE, "--hanging", "--partitions", "50")
    assert (ended.code, ended.out) == (5, "INCOMPLETE no transaction hangs; 7 partitions looked through\n")
    refused = kreplica("decode", "transactions", NODE, "--hanging", "--open")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_segments_that_a_pattern_matches_are_read_where_no_directory_says_otherwise(
    kreplica: Any, tmp_path: Path
) -> None:
    shutil.copy(LEFT_OPEN / f"{0:020}.log", tmp_path)
    ended = kreplica("decode", "transactions", tmp_path / "0*.log", "-o", "csv")
    assert (ended.code, "tx-left-open" in ended.out) == (1, True)
    other = kreplica("decode", "transactions", LEFT_OPEN.parent / "orders-*" / "0*.log")
    assert (other.code, other.out) == (2, "")
    assert other.err.startswith("error: no transactions in ")
