"""kreplica roll plan and roll next on dumps: waves, bounds, what is in no wave, the steps of a restart, drift."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import hidden, partition, snapshot_of

from kreplica.config.handle import ClusterHandle
from kreplica.monitoring import clusters
from kreplica.store.writing import write_snapshot

HEALTHY = [
    partition("orders", 0, leader=1),
    partition("orders", 1, replicas=[2, 3, 4], isr=[2, 3, 4], leader=2),
    partition("orders", 2, replicas=[3, 4, 1], isr=[3, 4, 1], leader=3),
]


def dump(folder: Path, rows: list[dict[str, Any]], down: tuple[int, ...] = (), **facts: Any) -> Path:
    brokers = [{"broker": one, "alive": one not in down, "rack": f"r{one % 2}"} for one in (1, 2, 3, 4)]
    known = {"source": "zookeeper", "controller": 1, **facts}
    write_snapshot(snapshot_of([{"leader_epoch": 5, **row} for row in rows], brokers, **known), folder)
    return folder


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    return dump(tmp_path / "healthy", HEALTHY)


@pytest.fixture
def ask_next(kreplica: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks for the next wave of a cluster that is as a dump says: `roll next` takes no dump itself."""
    real = clusters.read_snapshot

    def ask(plan: Path | str, folder: Path | str, *words: str) -> Any:
        played = ClusterHandle("played:9092", dump=str(folder))
        read = lambda _handle, facets: replace(real(played, facets), name="played:9092", dumped=False)  # noqa: E731
        monkeypatch.setattr(clusters, "read_snapshot", read)
        connection_options = ("--bootstrap-server", "played:9092", "--settle", "0")
        ended = kreplica("roll", "next", plan, *connection_options, *words)
        monkeypatch.setattr(clusters, "read_snapshot", real)
        return ended

    return ask


@pytest.fixture
def planned(kreplica: Any, healthy: Path, tmp_path: Path) -> Path:
    path = tmp_path / "roll.json"
    assert kreplica("roll", "plan", "--out", path, "--dump", healthy).code == 0
    return path


def test_a_plan(kreplica: Any, healthy: Path, tmp_path: Path) -> None:
    """Any two of the four brokers share a partition with min.insync.replicas 2 of 3."""
    ended = kreplica("roll", "plan", "--dump", healthy)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("PLANNED 4 nodes restart in 4 waves, no plan has fewer\n")
    assert "bound    4 waves at least: no two of nodes 1, 2, 3, 4 may be down together\n" in ended.out
    assert "         4  node 1 (rack r1), with the active controller\n" in ended.out
    assert ended.out.endswith(f"next     kreplica roll plan --dump {healthy} --out roll.json\n")
    loose = dump(tmp_path / "loose", [row | {"min_isr": 1} for row in HEALTHY])
    document = kreplica("roll", "plan", "--dump", loose, "-o", "json").document
    assert document["schema"] == "kreplica/roll-plan/v1"
    summary = document["summary"]
    assert (len(summary["waves"]), summary["proven"], summary["verdict"]) == (2, True, "complete")
    assert summary["bound"]["kind"] == "limit"
    assert [row["node"] for row in document["nodes"] if row["active_controller"]] == [1]
    assert document["nodes"][-1]["wave"] == 2
    capped = kreplica("roll", "plan", "--dump", loose, "--max-per-wave", "1", "-o", "json").document["summary"]
    assert (len(capped["waves"]), capped["bound"]["kind"]) == (4, "most-in-wave")


def test_one_rack_at_a_time(kreplica: Any, tmp_path: Path) -> None:
    """Brokers 1 and 3 are in one rack, 2 and 4 in the other; without the option 1 and 2 may restart together."""
    alone = dump(tmp_path / "alone", [partition("t", 0, replicas=[1], isr=[1], leader=1, min_isr=1)])
    words = ("roll", "plan", "--dump", alone, "--accept", "rf-one", "-o", "json")
    (wave,) = kreplica(*words).document["summary"]["waves"]
    assert sorted(wave) == [1, 2, 3, 4]
    waves = kreplica(*words, "--one-rack-at-a-time").document["summary"]["waves"]
    assert sorted(sorted(wave) for wave in waves) == [[1, 3], [2, 4]]


def test_what_can_never_restart_and_what_is_accepted(kreplica: Any, tmp_path: Path) -> None:
    rows = [*HEALTHY, partition("single", 0, replicas=[4], isr=[4], leader=4, min_isr=1)]
    path = dump(tmp_path / "dump", rows)
    ended = kreplica("roll", "plan", "--dump", path)
    assert ended.code == 1
    assert ended.out.startswith(
        "PARTIAL 3 nodes restart in 3 waves, no plan has fewer; 1 node can never restart without"
    )
    assert "never    node 4: single-0: one replica only\n" in ended.out
    assert (
        "help     single replica: add one by a reassignment, or accept the downtime with --accept rf-one" in ended.out
    )
    accepted = kreplica("roll", "plan", "--accept", "rf-one", "--dump", path)
    assert (accepted.code, accepted.out.splitlines()[0][:12]) == (0, "PLANNED 4 no")
    assert " --accept rf-one --out roll.json" in accepted.out
    assert kreplica("roll", "plan", "--accept-topic", "single", "--dump", path).code == 0


def test_a_broker_that_is_down_blocks_others_and_they_can_restart_once_it_is_back(
    kreplica: Any, tmp_path: Path
) -> None:
    rows = [row | {"isr": [one for one in row["isr"] if one != 4]} for row in HEALTHY]
    single = partition("single", 0, replicas=[1], isr=[1], leader=1, min_isr=1)
    path = dump(tmp_path / "dump", [*rows, single], down=(4,))
    ended = kreplica("roll", "plan", "--dump", path)
    assert ended.code == 1
    assert ended.out.startswith(
        "PARTIAL 1 node can never restart without harm; 2 nodes cannot restart now; 1 node already down\n"
    )
    assert "never    node 1: single-0: one replica only\n" in ended.out
    assert "blocked  node 2: orders-1: out of sync already: broker 4\n" in ended.out
    assert "         node 3: orders-1 and 1 more: out of sync already: broker 4\n" in ended.out
    document = kreplica("roll", "plan", "--dump", path, "--accept", "rf-one", "-o", "json").document
    summary = document["summary"]
    assert (summary["never"], summary["blocked"], summary["down"]) == ([], [1, 2, 3], [4])
    assert {row["node"]: row["state"] for row in document["nodes"]} == dict.fromkeys([1, 2, 3], "blocked") | {4: "down"}
    back = dump(tmp_path / "back", HEALTHY)
    assert kreplica("roll", "plan", "--dump", back, "-o", "json").document["summary"]["blocked"] == []


def test_the_sample_waits_for_broker_3(kreplica: Any) -> None:
    ended = kreplica("roll", "plan", "--dump", "sample")
    assert ended.code == 1
    assert ended.out.startswith("PARTIAL 2 nodes can never restart without harm; 1 node already down\n")
    assert ended.out.endswith("next     kreplica wait --for in-sync --broker 3 --bootstrap-server HOST:PORT\n")


def test_the_end_of_a_plan_that_leaves_nodes_out(kreplica: Any, ask_next: Any, tmp_path: Path) -> None:
    plan = tmp_path / "roll.json"
    assert kreplica("roll", "plan", "--dump", "sample", "--out", plan).code == 1
    ended = ask_next(plan, "sample")
    assert (ended.code, ended.out.splitlines()[0]) == (1, "PARTIAL 0 waves of 0 done; nodes 1, 2 are in no wave")
    assert "single-copy-1: one replica only" in ended.out
    assert ended.out.endswith("next     kreplica roll plan --bootstrap-server played:9092\n")
    assert ask_next(plan, "sample", "-o", "json").document["summary"]["verdict"] == "partial"


def test_what_is_missing(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("roll", "plan", "--dump", dump(tmp_path / "dump", HEALTHY, gaps=(hidden(2),)))
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE 4 nodes restart in 4 waves, no plan has fewer, but not all could be read")


def test_what_is_not_known_is_incomplete(kreplica: Any, tmp_path: Path) -> None:
    """Nothing is missing of what the source should tell, but it does not tell min.insync.replicas, or the quorum."""
    unset = dump(tmp_path / "unset", [HEALTHY[0] | {"min_isr": None}, *HEALTHY[1:]])
    no_quorum = dump(tmp_path / "quorum", HEALTHY, source="kafka", features={"metadata.version": 25})
    for folder, why in (
        (unset, "warning: min.insync.replicas or the leader of 1 partition on these brokers is not known"),
        (no_quorum, "warning: the controller quorum is not known"),
    ):
        ended = kreplica("roll", "plan", "--dump", folder)
        assert ended.code == 5
        assert ended.out.startswith("INCOMPLETE 4 nodes restart in ")
        assert why in ended.err
        summary = kreplica("roll", "plan", "--dump", folder, "-o", "json").document["summary"]
        assert (summary["verdict"], summary["complete"]) == ("incomplete", False)


def test_a_node_that_is_down_is_a_finding_though_it_holds_nobody_up(kreplica: Any, tmp_path: Path) -> None:
    path = dump(tmp_path / "dump", HEALTHY[:1], down=(4,))
    ended = kreplica("roll", "plan", "--dump", path)
    assert ended.code == 1
    assert ended.out.startswith("PARTIAL 3 nodes restart in 3 waves, no plan has fewer; 1 node already down\n")
    summary = kreplica("roll", "plan", "--dump", path, "-o", "json").document["summary"]
    assert (summary["verdict"], summary["never"], summary["blocked"], summary["down"]) == ("partial", [], [], [4])
    assert kreplica("roll", "plan", "--broker", "1,2,3", "--dump", path).code == 0


def test_a_roll_from_beginning_to_end(ask_next: Any, planned: Path, tmp_path: Path) -> None:
    waves = json.loads(planned.read_text())["waves"]
    assert waves == [[2], [3], [4], [1]]

    def ask(folder: Path, *words: str) -> tuple[int, str, list[tuple[int, str]]]:
        ended = ask_next(planned, folder, "-o", "json", *words)
        rows = [(row["node"], row["state"]) for row in ended.document["nodes"]]
        return ended.code, ended.document["summary"]["verdict"], rows

    start = tmp_path / "healthy"
    assert ask(start) == (0, "next", [(2, "restart")])
    assert ask(start) == (0, "next", [(2, "restart")]), "it still leads in the same epoch"
    without = [
        partition("orders", 0, isr=[1, 3]),
        partition("orders", 1, replicas=[2, 3, 4], isr=[3, 4], leader=3, leader_epoch=6),
        HEALTHY[2],
    ]
    assert ask(dump(tmp_path / "gone", without, down=(2,))) == (1, "wait", [(2, "down")])
    assert ask(dump(tmp_path / "behind", without)) == (1, "wait", [(2, "catching-up")])
    moved = [HEALTHY[0], HEALTHY[1] | {"leader": 3, "leader_epoch": 6}, HEALTHY[2]]
    assert ask(dump(tmp_path / "back", moved)) == (0, "next", [(3, "restart")])
    moved = [HEALTHY[0], HEALTHY[1] | {"leader_epoch": 7}, HEALTHY[2] | {"leader": 1, "leader_epoch": 6}]
    third = dump(tmp_path / "third", moved)
    assert ask(third) == (0, "next", [(4, "restart")])
    assert ask(third) == (1, "wait", [(4, "not-told")]), "it led nothing: nothing shows whether it was restarted"
    assert ask(third, "--done") == (0, "next", [(1, "restart")])
    moved = [HEALTHY[0] | {"leader_epoch": 6, "leader": 2}, *moved[1:2], HEALTHY[2] | {"leader_epoch": 7}]
    last = dump(tmp_path / "last", moved)
    assert ask(last) == (0, "finished", [])
    assert ask(last) == (0, "finished", [])
    events = [json.loads(line)["event"] for line in (tmp_path / "roll.json.journal").read_text().splitlines()]
    assert events == ["named", "named", "down", "done", "named", "done", "named", "done", "named", "done"]


def test_not_now(ask_next: Any, planned: Path, tmp_path: Path) -> None:
    """Somebody else's trouble: replica 4 is out of sync, so 2 would take the partition under min ISR."""
    folder = dump(tmp_path / "later", [HEALTHY[0], HEALTHY[1] | {"isr": [2, 3]}, HEALTHY[2]])
    ended = ask_next(planned, folder)
    assert ended.code == 1
    assert ended.out.startswith("UNSAFE not now: stopping node 2 (wave 1 of 4) would do harm\n")
    assert "against  1 partition: under_min_isr, out of sync already: broker 4: orders 1\n" in ended.out
    assert json.loads(planned.read_text())["waves"][0] == [2]


def test_on_the_screen(ask_next: Any, planned: Path, tmp_path: Path) -> None:
    ended = ask_next(planned, tmp_path / "healthy")
    assert ended.out.startswith("NEXT restart node 2 (wave 1 of 4): nothing read speaks against it\n")
    again = f"kreplica roll next {planned} --bootstrap-server played:9092"
    assert ended.out.endswith(f"next     restart it, then: {again}\n")
    rows = [HEALTHY[0] | {"isr": [1, 3]}, HEALTHY[1] | {"isr": [3, 4], "leader": 3, "leader_epoch": 6}, HEALTHY[2]]
    ended = ask_next(planned, dump(tmp_path / "behind", rows))
    assert ended.out.startswith("WAIT wave 1 of 4 is not done: node 2 back, not in sync yet\n")
    assert "left     2 partitions with a replica there out of sync: orders 0,1\n" in ended.out


def test_what_is_refused(kreplica: Any, ask_next: Any, planned: Path, healthy: Path, tmp_path: Path) -> None:
    other = dump(tmp_path / "other", HEALTHY, cluster_id="other")
    ended = ask_next(planned, other)
    assert (ended.code, ended.out) == (4, "")
    assert "the plan is of another cluster; it is of cluster-id, this one is other" in ended.err
    again = kreplica("roll", "plan", "--out", planned, "--dump", healthy)
    assert (again.code, "is there already" in again.err) == (2, True)
    assert ask_next(planned, healthy).code == 0
    begun = kreplica("roll", "plan", "--out", planned, "--dump", healthy)
    assert "a plan of that name was begun; give --force" in begun.err
    assert kreplica("roll", "plan", "--out", planned, "--force", "--dump", healthy).code == 0
    assert len(list(tmp_path.glob("roll.json.journal.*"))) == 1
    for old in ("-", healthy):
        ended = kreplica("roll", "next", planned, "--dump", old)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: roll next takes no dump; what may restart next is asked of the cluster")
    assert "not JSON" in ask_next(__file__, healthy).err
    assert "no broker 9" in kreplica("roll", "plan", "--broker", "9", "--dump", healthy).err
    text = Path(__file__).parents[2] / "golden/kafka-4.3.1/1-healthy/topics-describe.txt"
    ended = kreplica("roll", "plan", "--out", tmp_path / "x.json", "--dump", text)
    assert "does not tell the id of its cluster" in ended.err
