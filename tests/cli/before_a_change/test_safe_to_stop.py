"""kreplica safe-to-stop and kreplica wait on dumps: verdicts, exit codes, what is accepted, what is missing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.model.snapshot import ClusterSnapshot, utc_now
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
PLACE = re.compile(r"Topic: (\S+)\s+Partition: (\d+)")


def listed(folder: Path, name: str) -> set[tuple[str, int]]:
    found = PLACE.findall((folder / f"topics-{name}.txt").read_text())
    return {(topic, int(number)) for topic, number in found}


@pytest.mark.parametrize("cluster", ["kafka-4.3.1", "kafka-3.9.2"])
def test_before_a_kill_it_is_told_what_kafka_listed_after_it(kreplica: Any, cluster: str) -> None:
    before, after = GOLDEN / cluster / "1-healthy", GOLDEN / cluster / "2-broker-killed"
    ended = kreplica("safe-to-stop", "3", "--dump", before / "topics-describe.txt", "-o", "json")
    rows = ended.document["partitions"]
    told = {effect: {(row["topic"], row["partition"]) for row in rows if row["effect"] == effect} for effect in EFFECTS}
    known = listed(before, "describe")
    assert told["unavailable"] == listed(after, "unavailable-partitions") & known
    assert told["last_in_sync"] == told["unavailable"]
    short = listed(before, "under-min-isr-partitions") | told["under_min_isr"] | told["unavailable"]
    assert short == listed(after, "under-min-isr-partitions") & known
    assert ended.code == 1


EFFECTS = ("under_min_isr", "unavailable", "last_in_sync")
BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]


def dump(folder: Path, *rows: dict[str, Any], **facts: Any) -> Path:
    snapshot = snapshot_of(rows, BROKERS, **{"source": "kafka", "taken_at": utc_now(), **facts})
    write_snapshot(snapshot, folder)
    return folder


def test_safe(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(min_isr=1), partition(number=1))
    ended = kreplica("safe-to-stop", "2", "--rack", "r2", "--dump", path)
    assert (ended.code, ended.err) == (0, "")
    words = "SAFE broker 2 can be stopped: 2 partitions there keep a leader in sync and min ISR\n"
    assert ended.ageless.startswith(words)
    assert "\ncluster  test (cluster-id), 2 partitions, kafka at " in ended.out
    assert "instead" not in ended.out
    assert "margin   1 partition would be exactly at min ISR" in ended.out
    assert ended.out.endswith("next     kreplica wait --for in-sync --broker 2 --bootstrap-server HOST:PORT\n")
    summary = kreplica("safe-to-stop", "2", "--dump", path, "-o", "json").document["summary"]
    assert summary == {
        "verdict": "safe",
        "brokers": [2],
        "down_already": [],
        "partitions": 2,
        "effects": {"under_min_isr": 0, "unavailable": 0, "last_in_sync": 0, "quorum_lost": 0},
        "accepted": {},
        "at_min_isr_after": 1,
        "quorum": None,
        "reads_apart": None,
        "changed": [],
        "complete": True,
    }


def test_unsafe_and_what_can_be_stopped_instead(kreplica: Any, tmp_path: Path) -> None:
    path = dump(
        tmp_path / "dump",
        partition("one", replicas=[1], isr=[1], min_isr=1),
        partition("pairs", replicas=[1, 2], isr=[1, 2], min_isr=1),
    )
    ended = kreplica("safe-to-stop", "1", "--dump", path)
    assert ended.code == 1
    words = "UNSAFE stopping broker 1 leaves 1 partition without a leader (no reads, no writes)\n"
    assert ended.ageless.startswith(words)
    assert "against  1 partition without a leader (no reads, no writes); one replica only: one 0\n" in ended.out
    assert "instead  brokers 2, 3 could be stopped now, by this one read\n" in ended.out
    assert f"next     kreplica safe-to-stop 1 --dump {path} --accept rf-one\n" in ended.out

    both = kreplica("safe-to-stop", "1", "2", "--dump", path)
    assert (both.code, "instead" in both.out) == (1, False)

    accepted = kreplica("safe-to-stop", "1", "--dump", path, "--accept", "rf-one")
    assert accepted.code == 0
    assert "accepted 1 partition without a leader (no reads, no writes); one replica only: one 0\n" in accepted.out
    rows = kreplica("safe-to-stop", "1", "--dump", path, "--accept-topic", "o.e", "-o", "json").document["partitions"]
    assert [(row["effect"], row["accepted"]) for row in rows] == [("unavailable", "topic"), ("last_in_sync", "topic")]


def test_incomplete_is_never_safe(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "hidden", partition(), gaps=(hidden(3),))
    ended = kreplica("safe-to-stop", "1", "--dump", path)
    assert ended.code == 5
    words = "INCOMPLETE nothing read speaks against stopping broker 1, but not all is known\n"
    assert ended.ageless.startswith(words)
    assert "missing  3 topics are hidden [from you]\n" in ended.out
    path = dump(tmp_path / "no-quorum", partition(), features={"metadata.version": 25})
    ended = kreplica("safe-to-stop", "1", "--dump", path)
    assert (ended.code, "the controller quorum is not known" in ended.out) == (5, True)
    ended = kreplica("safe-to-stop", "3", "--dump", "sample")
    words = "INCOMPLETE down already: broker 3; stopping changes nothing, but not all is known"
    assert (ended.code, ended.out.startswith(words)) == (5, True)
    path = dump(tmp_path / "both", partition(min_isr=3), gaps=(hidden(3),))
    assert kreplica("safe-to-stop", "1", "--dump", path).code == 1


def quorum(snapshot: ClusterSnapshot, folder: Path) -> Path:
    rows = [
        {"node": node, "voter": True, "leader": node == 1, "last_fetch_ms": 1_800_000_000_000} for node in (1, 11, 12)
    ]
    write_snapshot(replace(snapshot, quorum=Table.from_rows(QUORUM, rows)), folder)
    return folder


def test_controllers_that_are_no_brokers_can_be_asked_about(kreplica: Any, tmp_path: Path) -> None:
    path = quorum(snapshot_of([partition()], BROKERS, source="kafka", taken_at=utc_now()), tmp_path / "dump")
    assert kreplica("safe-to-stop", "11", "--dump", path).code == 0
    ended = kreplica("safe-to-stop", "11", "12", "--dump", path)
    assert ended.code == 1
    assert ended.out.startswith("UNSAFE stopping brokers 11, 12 leaves the controller quorum without its majority")
    (row,) = kreplica("safe-to-stop", "11", "12", "--dump", path, "-o", "json").document["partitions"]
    assert (row["topic"], row["partition"], row["effect"]) == (None, None, "quorum_lost")


BAD = {
    "none": ([], "no broker is named; give ids, or --rack"),
    "unknown": (["7"], "no broker 7; known are 1, 2, 3"),
    "rack": (["--rack", "nowhere"], "no rack nowhere; known are r1, r2, r3"),
    "no number": (["three"], "BROKER 'three' is no broker id; "),
    "settle": (["1", "--settle", "soon"], "--settle soon is no length of time; "),
    "wait": (["1", "--wait", "20m"], "--wait does not go with a dump; "),
    "accept": (["1", "--accept", "all"], "invalid value for '--accept'"),
    "topics": (["1", "--accept-topic", "("], "'(' is not a regular expression"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(kreplica: Any, words: list[str], message: str) -> None:
    ended = kreplica("safe-to-stop", *words, "--dump", "sample")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"error: {message}")


def test_wait_reached(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), partition(number=1, replicas=[2, 3], isr=[2], leader=2))
    assert kreplica("wait", "--for", "in-sync", "--broker", "2", "--broker", "1", "--dump", path).code == 0
    ended = kreplica("wait", "--for", "in-sync", "--broker", "2", "--dump", path)
    assert re.fullmatch(r"REACHED broker 2 up, every replica there in sync\n", ended.ageless)
    ended = kreplica("wait", "--for", "in-sync", "--broker", "3", "--dump", path)
    assert ended.code == 1
    assert re.match(r"NOT YET 1 partition not in sync\nleft     orders 1\n", ended.ageless)
    assert kreplica("wait", "--for", "no-under-replicated", "--dump", path).code == 1
    assert kreplica("wait", "--for", "no-under-replicated", "--broker", "1", "--dump", path).code == 0


def test_wait_needs_the_broker_to_be_up(kreplica: Any, tmp_path: Path) -> None:
    document = kreplica("wait", "--for", "in-sync", "--broker", "3", "--dump", "sample", "-o", "json").document
    assert document["summary"]["not_up"] == [3]
    assert document["summary"]["left"] == len(document["partitions"]) == 141
    path = dump(tmp_path / "dump", partition(replicas=[1, 2], isr=[1, 2]))  # ZooKeeper forgets who is down
    ended = kreplica("wait", "--for", "in-sync", "--broker", "9", "--dump", path)
    assert (ended.code, "broker 9 not up" in ended.out) == (1, True)


def test_wait_never_ends_well_on_incomplete_data(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), gaps=(hidden(2),))
    ended = kreplica("wait", "--for", "no-under-replicated", "--dump", path)
    assert (ended.code, ended.out.startswith("INCOMPLETE no partition ")) == (5, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing option '--for'"),
        (["--for", "peace"], "invalid value for '--for'"),
        (["--for", "in-sync"], "--for in-sync needs a broker; "),
        (["--for", "in-sync", "--broker", "9"], "no broker 9; known are 1, 2, 3"),
        (["--for", "no-under-replicated", "--timeout", "x"], "--timeout x is no length of time; "),
    ],
)
def test_wait_refuses_bad_input(kreplica: Any, words: list[str], message: str) -> None:
    ended = kreplica("wait", *words, "--dump", "sample")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"error: {message}")
