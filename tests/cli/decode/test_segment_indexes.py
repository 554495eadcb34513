"""kreplica decode segment --index and --timeindex on real brokers' files, beside what Kafka's tool printed of them."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from log_files.flipped_bits import flip
from log_files.kafka_dumps import GOLDEN, dumped, numbers
from log_files.log_directories import batch, close, write_checkpoint, write_partition

HOME = GOLDEN / "kafka-4.3.1" / "clean" / "broker-1"
DUMP = GOLDEN / "kafka-4.3.1" / "dump-clean" / "broker-1" / "indexes.txt"
FIRST = f"{0:020}"


def test_every_entry_of_a_real_broker_leads_to_a_batch(kreplica: Any) -> None:
    """Kafka's tool lists the same entries, and says of none that it does not match the log."""
    ended = kreplica("decode", "segment", HOME, "--index", "--timeindex", "-o", "json")
    document = ended.document
    assert document["schema"] == "kreplica/decode-segment-indexes/v1"
    found: dict[str, list[tuple[int, int]]] = {}
    for row in document["entries"]:
        value = row["position"] if row["kind"] == "offset" else row["timestamp"]
        found.setdefault(str(Path(row["file"]).relative_to(HOME)), []).append((row["offset"], value))
        assert row["valid"] is True
        assert row["batch_base_offset"] <= row["offset"] <= row["batch_last_offset"]
        assert row["kind"] == "offset" or row["batch_max_timestamp"] == row["timestamp"]
    assert found == {file: told for file, lines in dumped(DUMP).items() if (told := _told(file, lines))}
    assert sum(map(len, found.values())) == document["summary"]["entries"] > 70
    # empty indexes were not copied: told, and no answer that a gate may trust
    absent = [path for path in HOME.rglob("0*.log") if not path.with_suffix(".index").exists()]
    assert sorted(document["summary"]["absent"]) == sorted(str(path.with_suffix(".index")) for path in absent)
    assert (ended.code, document["summary"]["wrong"]) == (5, 0)
    assert ended.err.count("\n") == 11
    assert f"{len(absent) - 10} more" in ended.err


def _told(file: str, lines: list[str]) -> list[tuple[int, int]]:
    path = HOME / file
    if path.suffix not in (".index", ".timeindex") or not path.exists() or not path.with_suffix(".log").exists():
        return []
    assert not any("ismatch" in line or "out of order" in line for line in lines)
    name = "position" if path.suffix == ".index" else "timestamp"
    told = [numbers(line, "offset", name) for line in lines if line.startswith(("offset:", "timestamp:"))]
    return [(offset, value) for offset, value in told if value]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a real partition with both indexes."""
    copy = tmp_path / "orders-2"
    shutil.copytree(HOME / "data2" / "orders-2", copy)
    return copy


def test_indexes_that_wait_for_their_segments_swap_are_its_own(kreplica: Any, folder: Path) -> None:
    """A broker was killed between the renames of a compaction, at one time or a little later."""
    words = ("decode", "segment", folder, "--index", "--timeindex", "-o", "json")
    told = kreplica(*words).document
    for ending in (".index", ".timeindex", ".log"):
        (folder / f"{FIRST}{ending}").rename(folder / f"{FIRST}{ending}.swap")
    assert _without_swap(kreplica(*words).document) == told
    (folder / f"{FIRST}.log.swap").rename(folder / f"{FIRST}.log")
    assert _without_swap(kreplica(*words).document) == told


def _without_swap(document: dict[str, Any]) -> dict[str, Any]:
    assert all(row["file"].endswith(".swap") for row in document["entries"])
    entries = [{**row, "file": row["file"].removesuffix(".swap")} for row in document["entries"]]
    return {**document, "entries": entries}


def test_a_wrong_entry_is_a_finding(kreplica: Any, folder: Path) -> None:
    index = folder / f"{FIRST}.index"
    flip(index, 15)
    ended = kreplica("decode", "segment", folder, "--index", "-o", "json")
    first, second = ended.document["entries"]
    assert (ended.code, first["valid"], second["valid"], second["batch_base_offset"]) == (1, True, False, None)
    assert (second["message"], second["byte"], second["found"]) == ("leads to no batch", 8, "byte 8282")
    assert kreplica("decode", "segment", folder, "--timeindex").code == 0
    shown = kreplica("decode", "segment", folder / f"{FIRST}.log", "--index")
    assert "WRONG 1 entry at odds with the log; 2 entries in 1 index\n" in shown.out
    assert f"{index}, byte 8: leads to no batch" in shown.out
    (finding,) = (
        each
        for each in kreplica("decode", "check", folder, "-o", "json").document["findings"]
        if each["rule"] == "offset-index"
    )
    assert (finding["position"], finding["expected"], finding["found"]) == (8, second["expected"], second["found"])


def test_the_timestamp_of_an_entry_is_that_of_its_batch(kreplica: Any, folder: Path) -> None:
    index = folder / f"{FIRST}.timeindex"
    flip(index, 7)
    ended = kreplica("decode", "segment", folder, "--timeindex", "-o", "json")
    assert ended.code == 1
    assert [row["valid"] for row in ended.document["entries"]] == [False, True, True]
    assert ended.document["entries"][0]["message"] == "not the timestamp of its batch"


def test_zeros_between_entries_are_damage_and_the_rest_is_judged(kreplica: Any, folder: Path) -> None:
    index = folder / f"{FIRST}.index"
    content = index.read_bytes()
    index.write_bytes(content[:8] + bytes(8) + content[8:])
    ended = kreplica("decode", "segment", folder, "--index", "-o", "json")
    assert (ended.code, ended.document["summary"]["damaged_places"]) == (1, 1)
    assert [(row["byte"], row["valid"]) for row in ended.document["entries"]] == [(0, True), (16, True)]


def test_what_a_crash_left_behind_the_log_is_not_judged(kreplica: Any, tmp_path: Path) -> None:
    """A broker that did not stop in order makes the index of its last segment anew when it starts."""
    batches = [batch(0, 0), batch(1, 0)]
    entries = struct.pack(">ii", 1, len(batches[0])) + struct.pack(">ii", 9, sum(map(len, batches))) + bytes(80)
    folder = write_partition(tmp_path, batches, files={f"{FIRST}.index": entries})
    lone = kreplica("decode", "segment", folder, "--index", "-o", "json")
    assert (lone.code, [row["valid"] for row in lone.document["entries"]]) == (1, [True, False])
    write_checkpoint(tmp_path, "recovery-point-offset-checkpoint", 0)
    killed = kreplica("decode", "segment", folder, "--index", "-o", "json")
    assert (killed.code, [row["valid"] for row in killed.document["entries"]]) == (0, [True, None])
    close(tmp_path)
    assert kreplica("decode", "segment", folder, "--index").code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-", "--index"), "standard input"),
        (("SEGMENT", "--index", "--records"), "--records and an index are two answers"),
        (("COPY", "--timeindex"), "no .timeindex beside"),
        (("NAMELESS", "--index"), "its name is not the offset"),
        (("INDEX", "--index"), "is an offset index; its name tells; kreplica decode indexes reads it"),
    ],
)
def test_what_cannot_be_answered(
    kreplica: Any, folder: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    segment, copy = folder / f"{FIRST}.log", tmp_path / f"{FIRST}.log"
    shutil.copy(segment, copy)
    shutil.copy(segment, tmp_path / "copy.log")
    named = {
        "SEGMENT": segment,
        "COPY": copy,
        "NAMELESS": tmp_path / "copy.log",
        "INDEX": segment.with_suffix(".index"),
    }
    ended = kreplica("decode", "segment", *(named.get(word, word) for word in arguments))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
