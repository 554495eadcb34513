"""kreplica whatif fail on dumps: what real brokers recorded after a kill, verdicts, forms, what cannot be played."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

GOLDEN = Path(__file__).parents[2] / "golden"
LINE = re.compile(
    r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: \S+\s+Isr: ?(\S*)"
    r"(?:\s+Elr: ?(\S*)\s+LastKnownElr: ?(\S*))?"
)
BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]


def dump(folder: Path, *rows: dict[str, Any], **facts: Any) -> Path:
    numbered = [{**row, "partition": number} for number, row in enumerate(rows)]
    known = {"source": "zookeeper", "controller": 2, **facts}
    write_snapshot(snapshot_of(numbered, BROKERS, **known), folder)
    return folder


def recorded(cluster: str, state: str) -> dict[tuple[str, int], tuple[int | None, set[int], set[int]]]:
    """Leader, ISR and ELR by Kafka's own tool."""
    text = (GOLDEN / cluster / state / "topics-describe.txt").read_text().partition("\n[stderr]\n")[0]
    return {
        (topic, int(number)): (None if leader == "none" else int(leader), ids(isr), ids(elr))
        for topic, number, leader, isr, elr, _ in LINE.findall(text)
    }


def ids(text: str) -> set[int]:
    return {int(one) for one in text.split(",") if one.isdigit()}


@pytest.mark.parametrize("cluster", ["kafka-4.3.1", "kafka-3.9.2"])
def test_a_recorded_kill_came_as_it_is_played(kreplica: Any, cluster: str) -> None:
    """Both clusters were recorded before and after broker 3 was killed; 4.3.1 keeps ELRs."""
    before, after = recorded(cluster, "1-healthy"), recorded(cluster, "2-broker-killed")
    path = GOLDEN / cluster / "1-healthy" / "topics-describe.txt"
    features = ["--elr", "on"] if cluster == "kafka-4.3.1" else []
    ended = kreplica("whatif", "fail", "--broker", "3", "--dump", path, "-o", "json", *features)
    assert ended.code == 1
    rows = {(row["topic"], row["partition"]): row for row in ended.document["partitions"]}
    moved = {key for key in before if key in after and before[key] != after[key]}
    assert {key for key in rows if key in after and not rows[key]["already"]} >= moved
    for key in moved:
        found = (rows[key]["leader_after"], set(rows[key]["isr_after"]), set(rows[key]["elr_after"] or ()))
        assert found == after[key], key


def test_the_sample_with_rack_r1(kreplica: Any) -> None:
    """Broker 3 is down already, so with broker 1 two of three voters are: nobody elects any more."""
    ended = kreplica("whatif", "fail", "--rack", "r1", "--dump", "sample")
    assert ended.code == 1
    assert ended.out.startswith(
        "HARM failing broker 1 leaves no controller (no elections, no ISR changes), 77 partitions"
    )
    assert "control  1 of 3 voters left, 2 needed (voter 3 already down): no leader of the quorum" in ended.out
    assert "\n1       r1    no     77       0\n" in ended.out
    listed = kreplica("describe", "--all", "--dump", "sample", "-o", "json").document["partitions"]
    document = kreplica("whatif", "fail", "--rack", "r1", "--dump", "sample", "-o", "json").document
    led = {(row["topic"], row["partition"]) for row in listed if row["leader"] == 1}
    down = {(row["topic"], row["partition"]) for row in document["partitions"] if row["effect"] == "unavailable"}
    assert down == led
    assert document["summary"]["quorum"] == {
        "voters": [1, 2, 3], "down": [3], "stopping": [1], "needed": 2, "up_after": 1
    }  # fmt: skip


def test_no_harm(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), partition(leader=2))
    ended = kreplica("whatif", "fail", "--broker", "1", "--dump", path)
    assert (ended.code, ended.err) == (0, "")
    first, *_, last = ended.out.splitlines()
    assert first.startswith("NO HARM failing broker 1: 2 partitions with a new leader or a smaller ISR, none loses")
    assert "moves    1 partition with a new leader: orders 0" in ended.out
    assert "shrinks  1 partition with the same leader and a smaller ISR: orders 1" in ended.out
    assert last == f"next     kreplica safe-to-stop 1 --dump {path}"


def test_json(kreplica: Any, tmp_path: Path) -> None:
    rows = [partition(), partition(isr=[1], min_isr=1, unclean_leader_election=True, end_offset=9)]
    document = kreplica(
        "whatif", "fail", "--broker", "1,3", "--min-isr", "1", "--dump", dump(tmp_path / "dump", *rows), "-o", "json"
    ).document
    assert document["schema"] == "kreplica/whatif-fail/v1"
    facts = ("effect", "leader", "leader_after", "isr_after", "min_isr", "unclean")
    assert [[row[name] for name in facts] for row in document["partitions"]] == [
        ["new_leader", 1, 2, [2], 1, False],
        ["unclean_leader", 1, 2, [2], 1, True],
    ]
    assert document["partitions"][1]["candidates"] == [
        {"broker": 2, "elected": True, "end_offset": None, "lost_from": None, "lost_to": None}
    ]
    summary = document["summary"]
    assert (summary["verdict"], summary["brokers"], summary["controller"]) == ("harm", [1, 3], 2)
    assert summary["changes"] == {"min_isr": 1, "unclean": None, "elr": None}
    assert {name: count for name, count in summary["effects"].items() if count} == {
        "new_leader": 1, "unclean_leader": 1
    }  # fmt: skip
    assert [one["after"] for one in summary["leaders"]] == [0, 2, 0]


def test_the_controller_of_zookeeper_mode(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(leader=2))
    ended = kreplica("whatif", "fail", "--controller", "--dump", path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("NO HARM failing broker 2: 1 partition")
    assert (
        "control  broker 2 is the controller: another takes over once its session with ZooKeeper expires" in ended.out
    )


def test_a_rolling_restart(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), partition(replicas=[3], isr=[3], leader=3, min_isr=1))
    ended = kreplica("whatif", "fail", "--rolling-restart", "--dump", path)
    assert ended.code == 1
    assert ended.out.startswith(
        "HARM restarting brokers 1, 3, 2 in turn leaves, at one time or another, 1 partition without a leader"
    )
    assert (
        "down     while broker 3 restarts: 1 partition without a leader (no reads, no writes): orders 1\n" in ended.out
    )
    assert "control  broker 2 is the controller: it closes its session with ZooKeeper as it shuts down" in ended.out
    rows = kreplica("whatif", "fail", "--rolling-restart", "--dump", path, "-o", "jsonl").out.splitlines()
    assert [json.loads(row)["restarting"] for row in rows] == [1, 3, 3, 2]
    fine = kreplica("whatif", "fail", "--rolling-restart", "--broker", "1", "--dump", path)
    assert fine.code == 0


def test_the_active_controller_of_kraft_resigns_when_it_restarts_and_is_missed_when_it_crashes(
    kreplica: Any, tmp_path: Path
) -> None:
    snapshot = snapshot_of([partition(number=0)], BROKERS, source="kafka")
    rows = [{"node": node, "voter": True, "leader": node == 1, "last_fetch_ms": 9_000} for node in (1, 2, 3)]
    write_snapshot(replace(snapshot, quorum=Table.from_rows(QUORUM, rows)), tmp_path)
    crash = kreplica("whatif", "fail", "--controller", "--dump", tmp_path).out
    assert "2 of 3 voters left, 2 needed: the active controller goes, the voters elect another in 2 to 3 s" in crash
    restart = kreplica("whatif", "fail", "--rolling-restart", "--broker", "1", "--dump", tmp_path).out
    assert "the active controller resigns as it shuts down, and the voters elect another at once" in restart


def test_what_is_missing_makes_it_incomplete(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), gaps=(hidden(2),))
    ended = kreplica("whatif", "fail", "--broker", "1", "--dump", path)
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE failing broker 1: 1 partition with a new leader")
    assert "missing  2 topics are hidden" in ended.out
    text = GOLDEN / "kafka-4.3.1" / "1-healthy" / "topics-describe.txt"
    ended = kreplica("whatif", "fail", "--broker", "1", "--topic", "orders", "--dump", text)
    assert ended.code == 5
    assert "warning: the controller quorum is not known" in ended.err
    assert "warning: whether eligible leader replicas (KIP-966) are on is not known" in ended.err
    ended = kreplica("whatif", "fail", "--broker", "1", "--topic", "orders", "--elr", "on", "--dump", text)
    assert "eligible leader replicas" not in ended.err


def test_a_disk_of_the_sample(kreplica: Any) -> None:
    disk = "1:/srv/kafka/broker-1/data"
    document = kreplica("whatif", "fail", "--disk", disk, "--dump", "sample", "-o", "json").document
    both = kreplica("whatif", "fail", "--disk", disk, "--disk", f"{disk}2", "--dump", "sample", "-o", "json").document
    assert document["summary"]["disks"] == [{"broker": 1, "path": "/srv/kafka/broker-1/data"}]
    assert document["summary"]["brokers"] == []
    assert both["summary"]["brokers"] == [1], "a broker stops when its last log directory fails"
    assert 0 < len(document["partitions"]) < len(both["partitions"])
    assert all(1 in row["replicas"] for row in document["partitions"])


def test_a_change_that_helps(kreplica: Any) -> None:
    """Kafka's own tool lists these three under min ISR, and two more that have no leader."""
    ended = kreplica("whatif", "fail", "--min-isr", "1", "--dump", "sample")
    verdict = (
        "0 partitions with a new leader or a smaller ISR, none loses records or is out of use; 3 partitions better off"
    )
    assert (ended.code, ended.out.splitlines()[0]) == (0, f"NO HARM min.insync.replicas=1 for every topic: {verdict}")
    assert (
        "mends    3 partitions no longer under min ISR (read-only for acks=all): audit.log 0,1; two-copies 0"
        in ended.out
    )
    document = kreplica("whatif", "fail", "--min-isr", "1", "--dump", "sample", "-o", "json").document
    assert document["summary"]["mended"] == {"unavailable": 0, "under_min_isr": 3}
    in_turn = kreplica(
        "whatif", "fail", "--min-isr", "1", "--rolling-restart", "--dump", "sample", "-o", "json"
    ).document
    assert in_turn["summary"]["mended"] == {"unavailable": 0, "under_min_isr": 0}


def test_a_change_alone(kreplica: Any, tmp_path: Path) -> None:
    """A third copy becomes needed: two in sync are too few then, unless there are only two (Partition.effectiveMinIsr).

    What has no leader, and one replica alive out of sync, gets that one where unclean elections become possible.
    """
    rows = [partition(), partition(isr=[1, 2]), partition(replicas=[1, 2], isr=[1, 2])]
    rows.append(partition(replicas=[4, 3, 2], isr=[4], leader=-1))
    down = {"broker": 4, "alive": False, "rack": "r4"}
    numbered = [{**row, "partition": number} for number, row in enumerate(rows)]
    write_snapshot(snapshot_of(numbered, [*BROKERS, down], source="zookeeper", controller=2), tmp_path)
    path = tmp_path
    ended = kreplica("whatif", "fail", "--min-isr", "3", "--dump", path, "-o", "json")
    assert ended.code == 1
    assert [(row["partition"], row["effect"]) for row in ended.document["partitions"]] == [(1, "under_min_isr")]
    ended = kreplica("whatif", "fail", "--unclean", "true", "--dump", path, "-o", "json")
    (row,) = ended.document["partitions"]
    assert (ended.code, row["partition"], row["effect"], row["leader_after"]) == (1, 3, "unclean_leader", 3)
    shown = kreplica("whatif", "fail", "--min-isr", "3", "--dump", path).out
    assert shown.startswith("HARM min.insync.replicas=3 for every topic leaves 1 partition under min ISR")


REFUSED = {
    "nothing": ([], "nothing fails and nothing changes; name it: --broker, --rack, --disk"),
    "broker": (["--broker", "9"], "no broker 9; known are 1, 2, 3"),
    "no id": (["--broker", "1,x"], "--broker 'x' is no broker id"),
    "rack": (["--rack", "nowhere"], "no rack nowhere; known are r1, r2, r3"),
    "disk": (["--disk", "1:/x"], "broker 1 has no log directory /x; known are /srv/kafka/broker-1/data"),
    "no disk": (["--disk", "/x"], "--disk '/x' names no log directory"),
    "rolling disk": (["--rolling-restart", "--disk", "1:/x"], "--rolling-restart is of brokers"),
    "topic": (["--broker", "1", "--topic", "nothing"], "no topic matches 'nothing'"),
    "min isr": (["--broker", "1", "--min-isr", "0"], "--min-isr"),
}


@pytest.mark.parametrize(("words", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_played(kreplica: Any, words: list[str], expected: str) -> None:
    ended = kreplica("whatif", "fail", *words, "--dump", "sample")
    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err


def test_nobody_is_left_to_restart(kreplica: Any, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    down = [{**broker, "alive": False} for broker in BROKERS]
    write_snapshot(snapshot_of([partition(leader=-1)], down, source="zookeeper"), folder)
    ended = kreplica("whatif", "fail", "--rolling-restart", "--dump", folder)
    assert (ended.code, ended.out) == (2, "")
    assert "no broker can restart; none is known to be up" in ended.err
    named = kreplica("whatif", "fail", "--rolling-restart", "--broker", "1", "--dump", folder)
    assert (named.code, named.out.partition("\n")[0]) == (0, "NO HARM down already: broker 1; nothing changes")


def test_elrs_are_of_kraft(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", partition(), controller=None)
    assert (
        "eligible leader replicas are KRaft's"
        in kreplica("whatif", "fail", "--broker", "1", "--elr", "on", "--dump", path).err
    )
    assert "the active controller is not known" in kreplica("whatif", "fail", "--controller", "--dump", path).err
