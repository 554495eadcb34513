"""kreplica decode offsets on the log directories of real brokers: forms, copies, what is missing, damage."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from log_files.flipped_bits import flip
from log_files.record_batches import PlainRecord, batch_bytes

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
BROKER = GOLDEN / "clean" / "broker-1"
DESCRIBED = GOLDEN / "5-elected" / "groups-describe.txt"
BILLING = "data/__consumer_offsets-9"
"""Partition of the group billing."""


def described(group: str) -> list[tuple[str, str, str, str]]:
    """Group, topic, partition and offset, as kafka-consumer-groups said before the broker stopped."""
    lines = re.findall(r"^(\S+) +(\S+) +(\d+) +(\d+) ", DESCRIBED.read_text(encoding="utf-8"), re.M)
    return [line for line in lines if line[0] == group]


def test_json_is_what_the_broker_said(kreplica: Any) -> None:
    ended = kreplica("decode", "offsets", BROKER, "-o", "json")
    document = ended.document
    assert list(document) == ["schema", "clusters", "offsets", "summary", "warnings"]
    assert document["schema"] == "kreplica/decode-offsets/v1"
    rows = [row for row in document["offsets"] if row["group"] == "billing"]
    assert [(row["group"], row["topic"], str(row["partition"]), str(row["offset"])) for row in rows] == described(
        "billing"
    )
    assert ended.code == 5
    summary = document["summary"]
    assert (summary["partitions_found"], summary["partitions"], summary["groups"]) == (11, 50, 8)
    assert ended.err == "warning: 11 of 50 partitions found; groups in the rest cannot be known\n"


def test_nothing_is_missing_where_the_groups_partition_is_there(kreplica: Any) -> None:
    ended = kreplica("decode", "offsets", BROKER, "--group", "billing", "-o", "reset-csv")
    assert (ended.code, ended.err) == (0, "")
    assert list(csv.reader(io.StringIO(ended.out))) == [list(row[1:]) for row in described("billing")]
    assert kreplica("decode", "offsets", BROKER / "data2", "--group", "billing").code == 5
    assert kreplica("decode", "offsets", BROKER, "--group", "bill.*").code == 5


def test_several_groups_in_one_file_for_kafka_consumer_groups(kreplica: Any) -> None:
    out = kreplica("decode", "offsets", BROKER, "--group", "billing|hand-commit", "-o", "reset-csv").out
    expected = [list(row) for name in ("billing", "hand-commit") for row in described(name)]
    assert list(csv.reader(io.StringIO(out))) == expected


def test_a_group_that_kafka_consumer_groups_cannot_read_is_refused(kreplica: Any, tmp_path: Path) -> None:
    """Its --from-file of 4.3.1 fails as a whole on a quoted line break: Missing closing quote for value."""
    key = b"\0\1\0\3a\nb\0\6orders" + struct.pack(">i", 0)
    value = struct.pack(">hqihq", 3, 5, -1, 0, 1_600_000_000_000)
    segment = tmp_path / "copy.log"
    segment.write_bytes(batch_bytes([PlainRecord(0, 0, key, value)]))
    ended = kreplica("decode", "offsets", segment, "-o", "reset-csv")
    assert (ended.code, ended.out) == (2, "")
    assert "error: the group 'a\\nb' has a line break in its name; kafka-consumer-groups reads a row" in ended.err
    ended = kreplica("decode", "offsets", segment, BROKER / BILLING, "--group", ".*", "-o", "reset-csv")
    assert list(csv.reader(io.StringIO(ended.out))) == [list(row[1:]) for row in described("billing")]


def test_the_forms_of_kafkas_tools(kreplica: Any) -> None:
    """Layouts as those tools print them; the values are of DumpLogSegments."""
    asked = ("decode", "offsets", BROKER, "--group", "retained-v1|hand-commit", "--topic", "trimmed|orders")
    old = kreplica(*asked, "-o", "kafka-1.0").out.splitlines()
    lead = "[retained-v1,trimmed,0]::"
    dumped = (GOLDEN / "dump-clean" / "broker-1" / "consumer-offsets.txt").read_text(encoding="utf-8")
    commits = re.findall(r'"group":"retained-v1".*"commitTimestamp":(\d+),"expireTimestamp":(\d+)', dumped)
    times = f"CommitTime {commits[-1][0]},ExpirationTime {commits[-1][1]}"
    assert [line for line in old if line.startswith(lead)] == [f"{lead}[OffsetMetadata[90,v2-retention],{times}]"]
    new = kreplica(*asked, "-o", "kafka-2").out.splitlines()
    rest = f"metadata=v2-retention, commitTimestamp={commits[-1][0]}, expireTimestamp=Some({commits[-1][1]}))"
    assert f"{lead}OffsetAndMetadata(offset=90, leaderEpoch=Optional.empty, {rest}" in new
    newest = [json.loads(line) for line in kreplica(*asked, "-o", "kafka-4").out.splitlines()]
    keys = re.findall(r'key: \{"type":"1","data":(\{.*?\})\} payload: \{"version":"4","data":(\{.*?\})\}', dumped)
    last = {json.loads(key)["partition"]: json.loads(value) for key, value in keys if '"hand-commit"' in key}
    found = {each["key"]["data"]["partition"]: each for each in newest if each["key"]["data"]["group"] == "hand-commit"}
    assert {number: each["value"]["data"] for number, each in found.items()} == last
    assert {json.dumps(each["key"]["type"]) + str(each["value"]["version"]) for each in found.values()} == {"14"}


def test_the_line_of_old_consoles(kreplica: Any) -> None:
    out = kreplica("decode", "offsets", BROKER, "--group", "billing", "-o", "kafka-1.0").out
    form = r"\[billing,orders,\d\]::\[OffsetMetadata\[\d+,NO_METADATA\],CommitTime \d{13},ExpirationTime -1\]"
    assert all(re.fullmatch(form, line) for line in out.splitlines())


def test_csv_and_parquet_have_the_same_rows(kreplica: Any, process: Any) -> None:
    rows = kreplica("decode", "offsets", BROKER, "-o", "json").document["offsets"]
    table = list(csv.DictReader(io.StringIO(kreplica("decode", "offsets", BROKER, "-o", "csv").out)))
    assert [(row["group"], int(row["offset"])) for row in table] == [(row["group"], row["offset"]) for row in rows]
    out, _ = process("decode", "offsets", BROKER, "-o", "parquet").communicate(timeout=60)
    assert pq.read_table(io.BytesIO(out)).to_pylist() == rows


def test_the_screen_leads_to_a_verdict(kreplica: Any) -> None:
    out = kreplica("decode", "offsets", BROKER).out
    assert out.splitlines()[0].split() == ["GROUP", "TOPIC", "PARTITION", "OFFSET", "COMMITTED", "METADATA"]
    assert "INCOMPLETE 44 offsets of 8 groups; 11 of 50 partitions found; groups in the rest cannot be known\n" in out
    out = kreplica("decode", "offsets", BROKER, "--group", "billing").out
    assert "OK 6 offsets of 1 group; found where these groups live: partition 9 of 50\n" in out


def test_damage_is_told_and_the_rest_is_read(kreplica: Any, tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-9"
    shutil.copytree(BROKER / BILLING, folder)
    segment = folder / "00000000000000000000.log"
    flip(segment, 200)
    ended = kreplica("decode", "offsets", folder, "--group", "billing")
    assert ended.code == 1
    assert re.match(
        rf"warning: {segment}, byte \d+: wrong checksum, expected 0x\w+, found 0x\w+; \d+ bytes skipped\n", ended.err
    )
    assert "DAMAGED 1 damaged place, " in ended.out
    assert "billing" in ended.out


def test_offsets_past_their_expiration_are_counted(kreplica: Any) -> None:
    """The group retained-v1 committed with a retention of its own, which Kafka's dump shows as expireTimestamp."""
    dumped = (GOLDEN / "dump-clean" / "broker-1" / "consumer-offsets.txt").read_text(encoding="utf-8")
    expires = max(map(int, re.findall(r'"group":"retained-v1".*"expireTimestamp":(\d+)', dumped)))
    asked = ("decode", "offsets", BROKER, "--group", "retained-v1")
    for moment, expired in ((expires - 1000, 0), (expires + 1000, 1)):
        at = datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        document = kreplica(*asked, "--as-of-time", at, "-o", "json").document
        assert document["summary"]["expired"] == expired
        assert ("expired: 1 past" in kreplica(*asked, "--as-of-time", at).out) == bool(expired)


def test_as_of_an_offset_and_a_time(kreplica: Any) -> None:
    folder = BROKER / BILLING
    whole = kreplica("decode", "offsets", folder, "-o", "json").document["offsets"]
    early = kreplica("decode", "offsets", folder, "--as-of-offset", 12, "-o", "json").document["offsets"]
    assert all(row["record_offset"] < 12 for row in early)
    assert early != whole
    first = min(row["record_offset"] for row in early)
    assert kreplica("decode", "offsets", folder, "--as-of-offset", 0, "-o", "json").document["offsets"] == []
    told = kreplica("decode", "offsets", folder, "--as-of-offset", first + 1, "-o", "json").document["offsets"]
    assert first in [row["record_offset"] for row in told]
    late = kreplica("decode", "offsets", folder, "--as-of-time", "2100-01-01", "-o", "json").document["offsets"]
    assert late == whole
    assert kreplica("decode", "offsets", folder, "--as-of-time", "2001-01-01", "-o", "json").document["offsets"] == []


@pytest.mark.parametrize(("version", "form", "count"), [("4.3.1", "kafka-4", 5), ("3.9.2", "kafka-2", 5)])
def test_the_lines_are_those_of_kafkas_console(kreplica: Any, version: str, form: str, count: int) -> None:
    """Every offset that is committed, as the console consumer printed the record; none that was deleted or aborted."""
    folder = GOLDEN.parent / "console-offsets" / version
    console = (folder / "console.txt").read_text(encoding="utf-8")
    ended = kreplica("decode", "offsets", folder, "-o", form)
    assert ended.code == 5
    starts = r"(?=^\[[a-z-]+,)" if form == "kafka-2" else r'(?=^\{"key")'
    printed = [line.rstrip("\n") for line in re.split(starts, ended.out, flags=re.M) if line]
    assert [console.count(line) for line in printed] == [1] * count
    deleted = re.findall(
        r"\[(to-delete),[^]]*\]::NULL" if form == "kafka-2" else r'"(to-delete)".{30,50}"value":null', console
    )
    assert len(deleted) == 2
    assert "to-delete" not in ended.out
    aborted = next(
        line for line in re.split(r"\n|(?=\{\"key)", console) if "tx-group" in line and re.search(r"offset\W+9,", line)
    )
    assert aborted not in ended.out
    assert "tx-group" in ended.out


def test_a_wrong_number_of_partitions_is_noticed(kreplica: Any) -> None:
    """The broker of 3.9.2 had five: as many as fit, and with them the answer lacks only what was not copied."""
    folder = GOLDEN.parent / "console-offsets" / "3.9.2"
    ended = kreplica("decode", "offsets", folder, "-o", "json")
    assert ended.code == 5
    assert ended.document["summary"]["partitions_doubt"].endswith("give the number by --partitions; 5 would fit")
    assert "4 partitions found, of how many is not known" in kreplica("decode", "offsets", folder).out
    ended = kreplica("decode", "offsets", folder, "--partitions", "5", "-o", "json")
    assert ended.document["summary"]["partitions_doubt"] is None
    assert ended.document["summary"]["partitions_missing"] == [1]


def test_a_segment_on_standard_input() -> None:
    command = [sys.executable, "-c", "from commands.start import main; main()", "decode", "offsets", "-", "-o", "json"]
    content = (BROKER / BILLING / "00000000000000000000.log").read_bytes()
    done = subprocess.run(command, input=content, capture_output=True, timeout=60, check=False)
    assert done.returncode == 5
    document = json.loads(done.stdout)
    assert {row["group"] for row in document["offsets"]} == {"billing"}
    assert b"which of the 50 partitions this is, is not known" in done.stderr


STARTED_AHEAD = """
import atexit, sys
from commands import start
from kreplica.formats.consumer_offsets import logs
from kreplica.system import processes
logs.STRETCH_BYTES = logs.LEAST_STRETCH_BYTES = 1 << 8
logs.processors = lambda: 2
begin = logs.start_ahead
logs.start_ahead = lambda modules: (begin(modules), print("started", file=sys.stderr))
atexit.register(lambda: print("waiting:", len(processes._ahead), file=sys.stderr))
start.main()
"""


@pytest.mark.parametrize(("more", "waiting"), [([], 0), (["--as-of-offset", "x"], 1)], ids=["decoded", "refused"])
def test_a_process_started_ahead_changes_no_answer(kreplica: Any, more: list[str], waiting: int) -> None:
    arguments = ["decode", "offsets", str(BROKER / BILLING), "-o", "csv", *more]
    command = [sys.executable, "-c", STARTED_AHEAD, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    expected = kreplica(*arguments)
    assert (done.returncode, done.stdout) == (expected.code, expected.out)
    assert done.stderr == f"started\n{expected.err}waiting: {waiting}\n"


def test_a_segment_from_a_pipe(kreplica: Any, tmp_path: Path) -> None:
    """As ``<(zcat segment.gz)`` of a shell names it: it has no size, and can be read once."""
    pipe, content = tmp_path / "pipe", (BROKER / BILLING / "00000000000000000000.log").read_bytes()
    os.mkfifo(pipe)
    for words in (["offsets"], ["offsets", "--events"], ["segment", "--records"]):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(pipe.write_bytes, content)
            ended = kreplica("decode", words[0], pipe, *words[1:], "-o", "csv")
        assert "billing" in ended.out, words


def test_a_directory_of_another_topic_tells_no_partition(kreplica: Any) -> None:
    segment = BROKER / "data" / "orders-0" / "00000000000000000000.log"
    ended = kreplica("decode", "offsets", segment, "--group", "polygenelubricants")
    assert (ended.code, kreplica("decode", "offsets", "--partition-of", "polygenelubricants").out) == (5, "0\n")
    assert "which of the 50 partitions this is, is not known" in ended.out
    assert "warning: 22 records of types that are not known: 27440\n" in ended.err  # 0x6b30, "k0", as in "k0-17"


@pytest.mark.parametrize(
    ("group", "partitions", "expected"),
    [("console-consumer-49366", 50, 19), ("my-group", 50, 12), ("polygenelubricants", 50, 0), ("my-group", 1, 0)],
)
def test_partition_of(kreplica: Any, group: str, partitions: int, expected: int) -> None:
    """Java hashes a string over its UTF-16 code units; the hash of the third is the smallest integer."""
    ended = kreplica("decode", "offsets", "--partition-of", group, "--partitions", partitions)
    assert (ended.code, ended.out) == (0, f"{expected}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "error: no files are named; kreplica decode offsets /var/lib/kafka/data\n"),
        (["nowhere"], "error: cannot read nowhere; there is no such file or directory; "),
        ([BROKER / "data/orders-0"], "no directory there is named __consumer_offsets-N and holds a segment"),
        ([BROKER, "--group", "("], "error: '(' is not a regular expression; "),
        (
            [BROKER, "--as-of-offset", "3"],
            "error: --as-of-offset is for one log; offsets of one log say nothing of another",
        ),
        ([BROKER, "--as-of-time", "soon"], "error: --as-of-time soon is no moment; "),
        ([BROKER, "--as-of-time", "1d", "--as-of-offset", "3"], "name two moments; leave out one of them\n"),
        ([BROKER, "--partition-of", "g"], "error: --partition-of reads no files; "),
        ([BROKER, "-o", "kafka-3"], "kafka-3"),
    ],
)
def test_what_cannot_be_done_is_one_line(kreplica: Any, words: list[object], said: str) -> None:
    ended = kreplica("decode", "offsets", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_events_are_the_records_that_kafka_prints(kreplica: Any) -> None:
    dumped = (GOLDEN / "dump-clean" / "broker-1" / "consumer-offsets.txt").read_text(encoding="utf-8")
    printed = re.findall(r'offset: (\d+) .* key: \{"type":"(\d+)".*?\} payload: (.*)$', dumped, re.M)
    document = kreplica("decode", "offsets", BROKER, "--events", "-o", "json").document
    assert document["schema"] == "kreplica/decode-offsets-events/v1"
    rows = document["events"]
    assert len(rows) == len(printed) == document["summary"]["events"]
    assert sorted((row["record_offset"], row["tombstone"]) for row in rows) == sorted(
        (int(offset), value == "<DELETE>") for offset, _, value in printed
    )
    ended = kreplica("decode", "offsets", BROKER, "--events", "--group", "billing", "-o", "jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert [json.loads(line) for line in ended.out.splitlines()] == [row for row in rows if row["group"] == "billing"]
    assert "OK " in kreplica("decode", "offsets", BROKER, "--events", "--group", "billing").out
    refused = kreplica("decode", "offsets", BROKER, "--events", "-o", "kafka-4")
    assert (refused.code, refused.err.startswith("error: -o kafka-4 prints a state; ")) == (2, True)


def test_events_are_the_same_in_every_form(kreplica: Any, process: Any, tmp_path: Path) -> None:
    shutil.copytree(BROKER / BILLING, tmp_path / "__consumer_offsets-9")
    rows = kreplica("decode", "offsets", tmp_path, "--events", "-o", "json").document["events"]
    assert {row["type"] for row in rows} == {"OffsetCommit", "GroupMetadata"}
    lines = kreplica("decode", "offsets", tmp_path, "--events", "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == rows
    flat = [{name: as_cell(value) for name, value in row.items()} for row in rows]
    text = kreplica("decode", "offsets", tmp_path, "--events", "-o", "csv").out
    assert list(csv.DictReader(io.StringIO(text))) == flat
    out, _ = process("decode", "offsets", tmp_path, "--events", "-o", "parquet").communicate(timeout=60)
    held = pq.read_table(io.BytesIO(out)).to_pylist()
    assert [{name: as_cell(value) for name, value in row.items()} for row in held] == flat


def as_cell(value: object) -> str:
    """A value as CSV has it; objects as JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else "" if value is None else str(value)


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_events_of_a_part_of_the_topic_are_incomplete(kreplica: Any, tmp_path: Path, form: str) -> None:
    """Kafka makes 50 partitions of it (offsets.topic.num.partitions)."""
    ended = kreplica("decode", "offsets", BROKER, "--events", "-o", form)
    assert ended.code == 5
    there = len(list(BROKER.glob("data*/__consumer_offsets-*")))
    assert f"{there} of 50 partitions found" in ended.err
    if form == "table":
        assert re.search(r"^INCOMPLETE \d+ events; ", ended.out, re.M)
    shutil.copytree(BROKER / BILLING, tmp_path / "__consumer_offsets-0")
    ended = kreplica("decode", "offsets", tmp_path, "--events", "--partitions", "1", "-o", form)
    assert (ended.code, ended.err) == (0, "")


def test_damage_among_events(kreplica: Any, tmp_path: Path) -> None:
    folder = tmp_path / "__consumer_offsets-9"
    shutil.copytree(BROKER / BILLING, folder)
    segment = folder / "00000000000000000000.log"
    flip(segment, 200)
    for form in ("jsonl", "table"):
        ended = kreplica("decode", "offsets", folder, "--events", "--group", "billing", "-o", form)
        assert ended.code == 1
        assert "wrong checksum" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--against", "a", "--bootstrap-server", "b:1"],
            "error: --against and --bootstrap-server exclude each other; ",
        ),
        (["--against", "nobody"], "nobody"),
        (["--timeout", "3"], "error: --timeout belongs to a cluster, and none is named; add --against CONTEXT"),
        (["--config", "x.toml"], "error: --config belongs to a cluster, and none is named; add --against CONTEXT"),
        (
            ["--bootstrap-server", "b:1", "-o", "reset-csv"],
            "error: -o reset-csv has no place for what a cluster says; ",
        ),
        (["--bootstrap-server", "b:1", "--events"], "error: --events has no place for what a cluster says; "),
    ],
)
def test_what_cannot_be_compared_with_a_cluster(kreplica: Any, words: list[str], said: str) -> None:
    ended = kreplica("decode", "offsets", BROKER, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_cluster_that_does_not_answer(kreplica: Any) -> None:
    ended = kreplica("decode", "offsets", BROKER, "--bootstrap-server", "127.0.0.1:1", "--timeout", "3")
    assert (ended.code, ended.out) == (3, "")
    assert "127.0.0.1:1" in ended.err
