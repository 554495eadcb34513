"""kreplica history: lives of partitions, topics and brokers, with what was not known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import snapshot_of

from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.system.stores.storage import LocalStorage

BEGIN = datetime(2026, 3, 31, 20, tzinfo=UTC)
"""April begins four hours later."""
DESCRIBED = sorted((Path(__file__).parents[2] / "golden/kafka-4.3.1").glob("[1-6]-*/topics-describe.txt"))
KAFKA_4 = "i0iQ6TlnRRmrapXchcJ1Uw"


def partition(topic: str, number: int, leader: int | None = 1, isr: Sequence[int] = (1, 2), **more: Any) -> Any:
    return {"topic": topic, "partition": number, "replicas": [1, 2], "isr": list(isr), "leader": leader, **more}


def taken(hours: float, rows: Sequence[Any], brokers: Sequence[Any] = (), **facts: Any) -> ClusterSnapshot:
    configs = Table.from_rows(CONFIGS, facts.pop("configs", []))
    own = {"taken_at": BEGIN + timedelta(hours=hours), "source": "kafka", "configs": configs}
    return snapshot_of(rows, brokers, **{**own, **facts})


def keep(root: Path, cluster: str, some: Sequence[ClusterSnapshot]) -> Path:
    candidates = []
    for number, one in enumerate(some):
        incoming = Incoming(round(one.taken_at.timestamp() * 1000), f"{number}", lambda one=one: one, f"{number}")  # type: ignore[misc]
        candidates.append(Candidate(cluster, one.name, incoming))
    ingest(candidates, LocalStorage(root))
    return root


def at(hours: float) -> str:
    return (BEGIN + timedelta(hours=hours)).isoformat()


def times(rows: Sequence[Any], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in ("kind", "valid_from", "last_seen", "valid_to", *names)) for row in rows]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A topic that loses a follower over a month's end, is hidden, deleted and created anew; then a pause."""
    first = partition("orders", 0, topic_id="A")
    hidden = (Gap("hidden-topics", "some are hidden", 1),)
    lost, anew = {**first, "isr": [1]}, partition("orders", 0, topic_id="B", leader=2)
    every = [partition("orders-0", 0), partition("other", 0)]
    return keep(
        tmp_path / "kept",
        "Zk5",
        [
            taken(0, [first, *every], name="prod"),
            taken(3, [lost, *every], name="prod"),
            taken(4, [lost, *every], name="prod"),
            taken(5, every, name="prod", gaps=hidden),
            taken(6, [lost, *every], name="prod"),
            taken(7, every, name="prod"),
            taken(8, [anew, *every], name="prod"),
            taken(20, [anew, *every], name="prod"),
        ],
    )


def test_the_life_of_a_partition(kreplica: Any, kept: Path) -> None:
    ended = kreplica("history", "orders", "--partition", "0", "--in", str(kept), "-o", "json")
    assert ended.code == 0
    assert times(ended.document["stretches"], "isr", "changed", "snapshots") == [
        ("state", at(0), at(0), at(3), [1, 2], "", 1),
        ("state", at(3), at(6), at(7), [1], "isr 1,2 -> 1", 3),
        ("unknown", at(5), at(5), at(6), None, "", 1),
        ("absent", at(7), at(7), at(8), None, "", 1),
        ("state", at(8), at(20), None, [1, 2], "created anew: another topic id; leader 1 -> 2; isr 1 -> 1,2", 2),
        ("pause", at(8), None, at(20), None, "", 0),
    ]
    assert [row["topic_id"] for row in ended.document["stretches"]] == ["A", "A", None, None, "B", None]
    summary = ended.document["summary"]
    assert (summary["of"], summary["snapshots"], summary["newest_taken_at"]) == ("orders-0", 8, at(20))
    age = (datetime.now(UTC) - BEGIN - timedelta(hours=20)).total_seconds()
    assert abs(summary["age_seconds"] - age) < 60


def test_the_life_on_the_screen_ends_with_the_age_of_the_newest_snapshot(kreplica: Any, kept: Path) -> None:
    ended = kreplica("history", "other-0", "--in", str(kept))
    lines = ended.out.splitlines()
    assert lines[0] == "OK other-0: 1 state in 8 snapshots"
    assert lines[1] == "cluster  prod (Zk5), 8 snapshots"
    assert lines[3].split() == ["state", *_screen(0), *_screen(20), "-", "1", "-", "1,2", "1,2", "8"]
    assert lines[-1].startswith("newest   2026-04-01 16:00:00 UTC, ")
    assert lines[-1].endswith(" old")


def test_an_isr_without_a_member_is_told_from_one_that_is_not_known(kreplica: Any, tmp_path: Path) -> None:
    empty = partition("orders", 0, leader=-1, isr=())
    ended = kreplica("history", "orders-0", "--in", str(keep(tmp_path / "kept", "Zk5", [taken(0, [empty])])))
    told = ["-", "none", "-", "none", "1,2", "1"]
    assert ended.out.splitlines()[3].split() == ["state", *_screen(0), *_screen(0), *told]


def _screen(hours: float) -> list[str]:
    return (BEGIN + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M:%S UTC").split()


def test_rows_of_a_metadata_log_are_marked_where_there_are_any(kreplica: Any, kept: Path, tmp_path: Path) -> None:
    log = DESCRIBED[0].parents[1] / "killed-all/broker-1/data/__cluster_metadata-0"
    taken_in = kreplica("audit", "ingest", str(log), "--into", str(tmp_path / "logged"))
    assert taken_in.out.startswith(
        f"OK 1 snapshot of 1 cluster added to {tmp_path / 'logged'}, 1 month of metadata logs\n"
    )
    lines = kreplica("history", "orders-2", "--in", str(tmp_path / "logged")).out.splitlines()
    assert lines[0] == "OK orders-2: 12 states in 1 snapshot and metadata logs"
    assert lines[2].split()[-1] == "EXACT"
    assert {line.split()[-1] for line in lines if line.startswith(("state", "absent"))} == {"yes"}
    of_snapshots = kreplica("history", "other-0", "--in", str(kept))
    assert "EXACT" not in of_snapshots.out
    rows = kreplica("history", "other-0", "--in", str(kept), "-o", "json").document["stretches"]
    assert {row["exact"] for row in rows} == {False}


def test_a_name_that_is_a_topic_is_no_partition(kreplica: Any, kept: Path) -> None:
    ended = kreplica("history", "orders-0", "--in", str(kept), "-o", "json")
    assert [row["topic"] for row in ended.document["topic_stretches"]] == ["orders-0", "orders-0"]
    assert ended.document["warnings"] == ["orders-0 is a topic; partition 0 of orders is told by orders --partition 0"]
    assert kreplica("history", "other-0", "--in", str(kept), "-o", "json").document["summary"]["of"] == "other-0"
    lone = kreplica(
        "history", "lone-1", "--in", str(keep(kept, "Zk6", [taken(0, [partition("lone-1", 0)])])), "-o", "json"
    )
    assert lone.document["warnings"] == []


def test_only_snapshots_of_the_time_that_is_asked_for_count(kreplica: Any, kept: Path) -> None:
    line = ["history", "orders", "--partition", "0", "--in", str(kept), "-o", "json"]
    ended = kreplica(*line, "--since", "2026-03-31T23:30", "--until", "2026-04-01T01:00")
    assert times(ended.document["stretches"]) == [
        ("state", at(4), at(4), None),
        ("unknown", at(5), at(5), None),
    ]
    nothing = kreplica(*line, "--since", "2026-05-01")
    assert (nothing.code, "holds no snapshot that is wanted" in nothing.err) == (2, True)
    nowhere = kreplica(*line, "--since", "2026-04-01T03:00", "--until", "2026-04-01T03:30")
    assert (nowhere.code, "no snapshot that was looked at has orders-0" in nowhere.err) == (2, True)


def test_the_life_of_a_topic_counts_its_partitions(kreplica: Any, tmp_path: Path) -> None:
    two = [partition("t", 0, min_isr=2), partition("t", 1, min_isr=2)]
    ill = [{**two[0], "leader": -1, "isr": [1]}, two[1]]
    more = [*two, partition("t", 2, min_isr=1)]
    anew = [{**row, "topic_id": "B"} for row in two]
    old = [{**row, "topic_id": "A"} for row in more]
    some = [taken(0, two), taken(1, ill), taken(2, ill), taken(3, two), taken(4, old), taken(5, anew), taken(6, [])]
    keep(tmp_path, "Zk5", [*some, taken(7, two)])
    ended = kreplica("history", "t", "--in", str(tmp_path), "-o", "json")
    counts = ("partitions", "offline", "under_replicated", "under_min_isr", "changed", "snapshots")
    assert times(ended.document["topic_stretches"], *counts) == [
        ("state", at(0), at(0), at(1), 2, 0, 0, 0, "", 1),
        ("state", at(1), at(2), at(3), 2, 1, 1, 1, "leader of 1 partition; isr of 1 partition", 2),
        ("state", at(3), at(3), at(4), 2, 0, 0, 0, "leader of 1 partition; isr of 1 partition", 1),
        ("state", at(4), at(4), at(5), 3, 0, 0, 0, "1 partition new", 1),
        ("state", at(5), at(5), at(6), 2, 0, 0, 0, "created anew: another topic id; 1 partition gone", 1),
        ("absent", at(6), at(6), at(7), None, None, None, None, "2 partitions gone", 1),
        ("state", at(7), at(7), None, 2, 0, 0, 0, "2 partitions back", 1),
    ]


def setting(name: str, value: str) -> Any:
    return {"entity_type": "broker", "entity": "1", "name": name, "value": value, "origin": "broker-static"}


def test_the_life_of_a_broker(kreplica: Any, tmp_path: Path) -> None:
    alive = [{"broker": 1, "alive": True, "rack": "a"}, {"broker": 2, "alive": True, "rack": "b"}]
    down = [{**alive[0], "alive": False}, alive[1]]
    led = [partition("t", number, leader) for number, leader in enumerate((1, 1, 2))]
    moved = [partition("t", number, 2) for number in range(3)]
    before, after = [setting("a", "1"), setting("b", "2")], [setting("a", "3"), setting("c", "4")]
    keep(
        tmp_path,
        "Zk5",
        [
            taken(0, led, alive, configs=before),
            taken(1, moved, down, configs=[{**setting("d", "5"), "entity": "2"}]),
            taken(2, moved, alive, configs=after),
            taken(5, led, alive, configs=after),
        ],
    )
    ended = kreplica("history", "--broker", "1", "--in", str(tmp_path), "-o", "json")
    rows = ended.document["broker_stretches"]
    assert times(rows, "alive", "gained", "lost", "changed") == [
        ("state", at(0), at(0), at(1), True, 0, 0, ""),
        ("state", at(1), at(1), at(2), False, 0, 2, "alive yes -> no"),
        ("state", at(2), at(5), None, True, 2, 0, "alive no -> yes"),
        ("settings", at(2), at(2), None, None, None, None, "a 1 -> 3; b 2 -> not set; c not set -> 4"),
    ]
    assert ended.document["summary"]["of"] == "broker 1"
    other = kreplica("history", "--broker", "2", "--in", str(tmp_path), "-o", "json").document["broker_stretches"]
    assert [(row["gained"], row["lost"]) for row in other] == [(2, 2)]
    none = kreplica("history", "--broker", "9", "--in", str(tmp_path))
    assert (none.code, "tells of a broker 9" in none.err) == (2, True)


def test_what_a_snapshot_does_not_know_of_a_topic_changes_nothing(kreplica: Any, tmp_path: Path) -> None:
    hidden = {"gaps": (Gap("hidden-topics", "some are hidden", 1),)}
    two, leaderless = [partition("t", 0), partition("t", 1)], [partition("t", 0, None), partition("t", 1)]
    some = [taken(0, two), taken(1, two[:1], **hidden), taken(2, leaderless), taken(3, [], **hidden)]
    keep(tmp_path, "Zk5", [*some, taken(4, [partition("t", 0, 2), two[1]]), taken(5, two[1:])])
    ended = kreplica("history", "t", "--in", str(tmp_path), "-o", "json")
    assert times(ended.document["topic_stretches"], "partitions", "changed", "snapshots") == [
        ("state", at(0), at(2), at(3), 2, "", 3),
        ("unknown", at(3), at(3), at(4), None, "", 1),
        ("state", at(4), at(4), at(5), 2, "leader of 1 partition", 1),
        ("state", at(5), at(5), None, 1, "1 partition gone", 1),
    ]


def test_settings_that_a_snapshot_does_not_know_are_as_before(kreplica: Any, tmp_path: Path) -> None:
    silent = {"gaps": (Gap("silent-brokers", "some did not answer", 1),)}
    brokers, a, b = [{"broker": 1, "alive": True}], setting("a", "1"), setting("b", "2")
    other = {**setting("c", "3"), "entity": "2"}
    some = [
        taken(0, [], brokers, configs=[a, b, other]),
        taken(1, [], brokers, configs=[a, other], **silent),
        taken(2, [], brokers, configs=[other], **silent),
        taken(3, [], brokers),
        taken(4, [], brokers, configs=[{**a, "value": "9"}, b, other]),
        taken(5, [], brokers, configs=[{**a, "value": "9"}, b, {**setting("b", "7"), "entity_type": "topic"}]),
    ]
    ended = kreplica("history", "--broker", "1", "--in", str(keep(tmp_path, "Zk5", some)), "-o", "json")
    rows = ended.document["broker_stretches"]
    assert times(rows, "changed") == [
        ("state", at(0), at(5), None, ""),
        ("settings", at(4), at(4), None, "a 1 -> 9"),
    ]


def test_leaderships_before_the_time_that_is_asked_for_do_not_count(kreplica: Any, tmp_path: Path) -> None:
    brokers = [{"broker": 1, "alive": True}]
    some = [taken(hour, [partition("t", 0, leader)], brokers) for hour, leader in enumerate((1, 2, 2, 1, 2))]
    line = ["history", "--broker", "1", "--in", str(keep(tmp_path, "Zk5", some)), "-o", "json"]
    for since, until, counts in (("22:00", "23:30", (1, 0)), ("20:00", "22:30", (0, 1)), ("21:00", "22:30", (0, 0))):
        ended = kreplica(*line, "--since", f"2026-03-31T{since}", "--until", f"2026-03-31T{until}")
        (row,) = ended.document["broker_stretches"]
        assert (row["gained"], row["lost"]) == counts


def test_several_clusters_are_told_apart(kreplica: Any, tmp_path: Path) -> None:
    for cluster in ("Zk5", "Zk6"):
        keep(tmp_path, cluster, [taken(0, [partition("t", 0)], name=f"prod-{cluster}")])
    keep(tmp_path, "Zk7", [taken(0, [partition("other", 0)], name="prod-Zk7")])
    ended = kreplica("history", "t", "--in", str(tmp_path), "-o", "json")
    assert [row["cluster"] for row in ended.document["topic_stretches"]] == ["Zk5", "Zk6"]
    one = kreplica("history", "t", "--in", str(tmp_path), "--cluster", "prod-Zk6", "-o", "json")
    assert [cluster["cluster"] for cluster in one.document["clusters"]] == ["Zk6"]
    assert "cluster" not in one.document["topic_stretches"][0]
    assert kreplica("history", "t", "--in", str(tmp_path)).out.count("cluster  prod-Zk") == 2


def test_without_a_topic_the_clusters(kreplica: Any, kept: Path) -> None:
    ended = kreplica("history", "--in", str(kept), "-o", "json")
    assert ended.document["periods"] == [
        {
            "cluster": "Zk5",
            "name": "prod",
            "snapshots": 8,
            "valid_from": at(0),
            "last_seen": at(20),
            "pauses": 1,
            "longest_pause_seconds": 12 * 3600,
        }
    ]
    assert "12 h" in kreplica("history", "--in", str(kept)).out


def test_a_damaged_month_is_named_and_makes_the_answer_incomplete(kreplica: Any, kept: Path) -> None:
    (manifest,) = kept.glob("*/month=2026-03/manifests/*.json")
    manifest.write_bytes(manifest.read_bytes()[:-9])
    ended = kreplica("history", "orders", "--in", str(kept))
    assert (ended.code, ended.out.splitlines()[0].split()[0]) == (5, "INCOMPLETE")
    assert "1 month left out" in ended.out
    assert str(manifest) in ended.err
    for damaged in kept.glob("*/*/manifests/*.json"):
        damaged.write_text("{}")
    nothing = kreplica("history", "orders", "--in", str(kept))
    assert (nothing.code, nothing.out) == (2, "")
    assert "not a manifest of a history" in nothing.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["order"], "no topic order in the snapshots that were looked at; did you mean orders"),
        (["orders-7"], "no snapshot that was looked at has orders-7"),
        (["orders-7", "--partition", "2"], "no topic orders-7 in the snapshots that were looked at"),
        (["orders", "--partition", "7"], "no snapshot that was looked at has orders-7"),
        (["orders", "--broker", "1"], "a topic and --broker have lives of their own"),
        (["--partition", "1"], "--partition is of a topic"),
        (["orders", "--cluster", "none"], "and --cluster; kreplica history --in"),
        (["orders", "--since", "soon"], "--since soon is no moment"),
        (["orders", "--until", "soon"], "--until soon is no moment"),
        (["--since", "2026-03-02", "--until", "2026-03-01"], "--since 2026-03-02 is later than --until 2026-03-01"),
        (["--consumer-group", "g"], "none of them tells consumer groups; kreplica snapshot --with groups reads them"),
    ],
)
def test_what_is_not_there_is_said(kreplica: Any, kept: Path, words: list[str], reason: str) -> None:
    ended = kreplica("history", *words, "--in", str(kept))
    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err


def test_a_partition_without_a_leader_has_none(kreplica: Any, tmp_path: Path) -> None:
    keep(tmp_path, "Zk5", [taken(0, [partition("a", 0)]), taken(1, [partition("a", 0, leader=-1, isr=())])])
    lines = kreplica("history", "a-0", "--in", str(tmp_path)).out.splitlines()
    assert " none " in lines[4]
    assert "leader 1 -> none; isr 1,2 -> none" in lines[4]
    rows = kreplica("history", "a-0", "--in", str(tmp_path), "-o", "json").document["stretches"]
    assert [row["leader"] for row in rows] == [1, -1]


def test_a_folder_that_is_no_history_is_refused(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("history", "orders", "--in", str(tmp_path))
    assert (ended.code, "no history is there" in ended.err) == (2, True)


def test_the_packaged_fleet(kreplica: Any, tmp_path: Path) -> None:
    """States of orders-2 are those that Kafka's own tool printed of the same moments, one after the other."""
    kreplica("audit", "ingest", "sample", "--into", str(tmp_path))
    ended = kreplica("history", "orders-2", "--in", str(tmp_path), "--cluster", KAFKA_4, "-o", "json")
    lines = [re.search(r"orders\tPartition: 2\tLeader: (\d+).*Isr: (\S+)", path.read_text()) for path in DESCRIBED]
    printed = [(int(line[1]), [int(one) for one in line[2].split(",")]) for line in lines if line]
    assert len(printed) == 6
    states = [one for one, _ in groupby(printed)]
    assert [(row["leader"], row["isr"]) for row in ended.document["stretches"]] == states
    assert len(states) == 4


def test_a_history_is_named_as_other_commands_name_it(kreplica: Any, kept: Path) -> None:
    named = [kreplica("history", "orders-0", option, str(kept), "-o", "json") for option in ("--in", "--dump")]
    assert named[0].document == named[1].document
    assert named[0].code == 0
