"""An audit of a history against one of the snapshots that it was made of, and against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from clusters.generated import hidden, partition, snapshot_of
from examples import examples
from histories.logs import slice_of
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from msgspec import structs
from plain.spans import expected_spans, identity, repeated, told

from kreplica.errors import InputError, UsageError
from kreplica.health.listing import count_all
from kreplica.health.rules import ALL_RULES as RULES
from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import digest_of_snapshot
from kreplica.history.selection import choose
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.store.selection import Wanted
from kreplica.store.writing import write_snapshot
from kreplica.system.stores.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.audit import Audit

pytestmark = pytest.mark.spark

ALL_RULES = frozenset(rule.name for rule in RULES)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def taken_in(snapshots: Iterable[ClusterSnapshot], folder: Path) -> LocalStorage:
    """A history of these snapshots."""
    storage = LocalStorage(folder)
    ingest([candidate(snapshot) for snapshot in snapshots], storage)
    return storage


def candidate(snapshot: ClusterSnapshot) -> Candidate:
    taken_ms = round(snapshot.taken_at.timestamp() * 1000)
    incoming = Incoming(taken_ms, digest_of_snapshot(snapshot), lambda: snapshot, "a snapshot")
    return Candidate(snapshot.cluster_id, snapshot.name, incoming)


def audit_of(spark: SparkSession, storage: LocalStorage, rules: frozenset[str] = ALL_RULES, **facts: Any) -> Audit:
    from analyzers.audit import Audit
    from analyzers.reading.histories import read_history
    from analyzers.reading.sources import Sources

    wanted = facts.pop("wanted", Wanted())
    return Audit(read_history(spark, storage, Sources(choose(storage, wanted, logs=True))), rules, **facts)


def rows_of(audit: Audit) -> list[dict[str, Any]]:
    time = "taken_at" if "taken_at" in audit.columns else "valid_from"
    return sorted(map(structs.asdict, audit.findings()), key=lambda row: identity(row, time))


def check_counts(audit: Audit, snapshots: Sequence[ClusterSnapshot]) -> None:
    counts = [(row.cluster, row.taken_at, row.counts, row.unknown) for row in audit.counts()]
    assert counts == [(item.label, item.taken_at, *counts_of(item)) for item in snapshots]


def counts_of(snapshot: ClusterSnapshot) -> tuple[dict[str, int], dict[str, int]]:
    every = count_all(Evaluator(snapshot))
    size = {"partitions": len(snapshot.partitions), "topics": snapshot.topic_count}
    size["brokers"] = len(snapshot.brokers)
    unknown = {count.predicate.name: count.unknown for count in every if count.unknown}
    return {**size, **{count.predicate.name: count.true for count in every}}, unknown


@pytest.mark.timeout(900)
@settings(examples(0.02), phases=[Phase.generate])
@given(seed=st.integers(0, 2**32 - 1))
def test_spans_and_counts_are_those_of_the_snapshots(
    spark: SparkSession,
    generated: Callable[..., list[ClusterSnapshot]],
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
) -> None:
    source = Random(seed)
    snapshots = repeated(generated(source, 10), source, 6)
    audit = audit_of(spark, taken_in(source.sample(snapshots, len(snapshots)), tmp_path_factory.mktemp("history")))
    expected = expected_spans(snapshots)
    assert rows_of(audit) == sorted(expected, key=lambda row: identity(row, "valid_from"))
    check_counts(audit, snapshots)


HELD = ("topic-1", "min.insync.replicas")


def logs_of(
    snapshots: Sequence[ClusterSnapshot], source: Random, clusters: Iterable[str]
) -> dict[str, list[list[ClusterSnapshot]]]:
    """Metadata logs of some clusters: up to two of each, of states that come anew within minutes."""
    found: dict[str, list[list[ClusterSnapshot]]] = {}
    configs = [{"entity_type": "topic", "entity": HELD[0], "name": HELD[1], "value": "2", "origin": "topic"}]
    begin = snapshots[0].taken_at
    for cluster in clusters:
        at = timedelta(0)
        for _ in range(source.choice((1, 2))):
            states: list[ClusterSnapshot] = []
            at += timedelta(hours=source.choice((0, 1, 2.5, 9)), seconds=1)
            for _ in range(source.choice((1, 3, 6))):
                one = source.choice(states[-1:] + list(snapshots))
                known = {
                    "cluster_id": cluster,
                    "source": "kraft-metadata",
                    "configs": Table.from_rows(CONFIGS, configs),
                }
                states.append(replace(one, taken_at=begin + at, **known))  # type: ignore[arg-type]
                at += timedelta(minutes=source.choice((1, 20, 59)), seconds=source.choice((0, 59)))
            found.setdefault(cluster, []).append(states)
    return found


@pytest.mark.timeout(900)
@settings(examples(0.02), phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32 - 1), clusters=st.just(6))
# A log that knows of no broker, but of partitions that one leads: whether it lives is unknown.
@example(seed=205928, clusters=3)
def test_where_a_metadata_log_tells_of_the_time_spans_are_those_of_its_records(
    spark: SparkSession,
    generated: Callable[..., list[ClusterSnapshot]],
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    clusters: int,
) -> None:
    source = Random(seed)
    states = generated(source, 5 * clusters // 3)
    snapshots = repeated(states, source, clusters)
    with_logs = [f"cluster-{number}" for number in range(2 * clusters // 3)]
    logs = logs_of([replace(one, taken_at=snapshots[0].taken_at) for one in states], source, with_logs)
    storage = taken_in(snapshots, tmp_path_factory.mktemp("history"))
    for cluster, some in logs.items():
        ingest([Candidate(cluster, "generated", Incoming.of_log(slice_of(log))) for log in some], storage)
    audit = audit_of(spark, storage)
    expected = expected_spans(snapshots, logs, {HELD})
    assert {row["exact"] for row in expected} == {False, True}
    assert rows_of(audit) == sorted(expected, key=lambda row: identity(row, "valid_from"))
    shown = []
    for label, group in groupby(snapshots, key=lambda snapshot: snapshot.label):
        known = [(one, log, counts_of(one)) for one, log in told(list(group), logs.get(label, ()), {HELD})]
        for before, now, after in zip([None, *known], known, [*known[1:], None], strict=False):
            log = now[1]
            ends = before is None or after is None or before[1] != log or after[1] != log
            shown += [now[0]] if log is None or ends or before is None or before[2] != now[2] else []
    check_counts(audit, shown)


def test_the_packaged_fleet_is_judged_alike_as_dumps_and_as_a_history(
    spark: SparkSession, root: Path, tmp_path: Path
) -> None:
    from analyzers.audit import Audit
    from analyzers.reading.frames import read_fleet
    from kreplica.store.selection import select_snapshots

    fleet = root / "kreplica" / "data" / "fleet"
    storage = LocalStorage(tmp_path / "history")
    ingest(stored_snapshots([fleet])[0], storage)
    kept = audit_of(spark, storage)
    dumps = Audit(read_fleet(spark, select_snapshots([fleet], Wanted()).snapshots), ALL_RULES)
    assert kept.counts() == dumps.counts() != []
    assert rows_of(kept) == rows_of(dumps) != []
    assert kept.warnings() == dumps.warnings() == []


@pytest.mark.parametrize(("flapping", "rows"), [(3, [(0, 0), (1, 1), (2, 3), (4, 4)]), (9, [(0, 4)])])
def test_a_run_is_cut_where_a_broker_changes_that_it_names(
    spark: SparkSession, tmp_path: Path, flapping: int, rows: list[tuple[int, int]]
) -> None:
    from analyzers.reading.histories import read_history
    from analyzers.reading.sources import Sources

    states = (True, False, True, True, False)
    storage = taken_in(
        (
            snapshot_of(
                [partition()],
                [{"broker": broker, "alive": broker != flapping or alive} for broker in (1, 2, 3, 9)],
                taken_at=NOON + timedelta(hours=hour),
            )
            for hour, alive in enumerate(states)
        ),
        tmp_path,
    )
    for every_broker in (False, True):
        fleet = read_history(spark, storage, Sources(choose(storage)), every_broker=every_broker)
        found = sorted((first, last) for first, last in fleet.rows.select("first", "last").collect())
        assert found == (sorted([(0, 0), (1, 1), (2, 3), (4, 4)]) if every_broker else rows)


OFFLINE, LED = {"leader": -1, "isr": [1]}, {"leader": 1}


def planted() -> list[ClusterSnapshot]:
    """Clusters that each show one thing about time, hour by hour."""
    found = []

    def see(cluster: str, hour: float, rows: list[dict[str, Any]], **facts: Any) -> None:
        moment = NOON + timedelta(hours=hour)
        known = {"cluster_id": cluster, "name": cluster, "source": "kafka", "taken_at": moment}
        found.append(snapshot_of(rows, [{"broker": 1, "alive": True}], **{**known, **facts}))

    for hour in (0, 1, 2, 14, 15):
        see("pause", hour, [partition(**(LED if hour in (0, 15) else OFFLINE))])
    for hour, facts in enumerate((OFFLINE, {"leader": None}, OFFLINE, LED)):
        see("unknown", hour, [partition(**facts)])
    for hour, rows in enumerate(([partition(**OFFLINE)], [], [partition(**OFFLINE)], [])):
        see("hidden", hour, rows, gaps=(hidden(1),) if hour == 1 else ())
    for hour, rows in enumerate(([partition(**OFFLINE)], [], [partition(leader=None)], [], [partition(**LED)])):
        see("gone-twice", hour, rows)
    for hour, topic_id in enumerate("aabb"):
        see("renewed", hour, [partition(**OFFLINE, topic_id=topic_id)])
    for hour, facts in ((0, LED), (1, OFFLINE), (1, {**OFFLINE, "isr": []}), (2, LED)):
        see("one-instant", hour, [partition(**facts)])
    for hour, epoch in enumerate((5, 9, 7, 9)):
        see("clock", hour, [partition(**LED, topic_id="a", leader_epoch=epoch)])
    return found


def hours(row: dict[str, Any]) -> tuple[object, ...]:
    times = [row[name] and datetime.fromisoformat(row[name]) for name in ("valid_from", "last_seen", "valid_to")]
    told = [time and (time - NOON) / timedelta(hours=1) for time in times]
    return row["cluster"], *told, row["snapshots"], row["in_newest"]


PLANTED = [
    ("gone-twice", 0.0, 0.0, 1.0, 1, False),
    ("hidden", 0.0, 2.0, 3.0, 2, False),
    ("one-instant", 1.0, 1.0, 2.0, 2, False),
    ("pause", 1.0, 2.0, None, 2, False),
    ("pause", 14.0, 14.0, 15.0, 1, False),
    ("renewed", 0.0, 1.0, 2.0, 2, False),
    ("renewed", 2.0, 3.0, None, 2, True),
    ("unknown", 0.0, 2.0, 3.0, 2, False),
]


def logged(cluster: str, *states: tuple[float, dict[str, Any]], **facts: Any) -> list[ClusterSnapshot]:
    """The states of a log, so many hours after noon."""
    known = {"cluster_id": cluster, "name": cluster, "source": "kraft-metadata", **facts}
    brokers = [{"broker": 1, "alive": True}]
    return [
        snapshot_of([partition(**state)], brokers, taken_at=NOON + timedelta(hours=hour), **known)
        for hour, state in states
    ]


SECOND = 1 / 3600
UNSET = {"min_isr": None, "unclean_leader_election": None}


def planted_logs() -> tuple[list[ClusterSnapshot], dict[str, list[list[ClusterSnapshot]]]]:
    """Snapshots and metadata logs that each show one thing about time."""
    found = []

    def see(cluster: str, hour: float, **facts: Any) -> None:
        known = {"cluster_id": cluster, "name": cluster, "source": "kafka", "taken_at": NOON + timedelta(hours=hour)}
        found.append(snapshot_of([partition(**facts)], [{"broker": 1, "alive": True}], **known))

    for hour, facts in enumerate((LED, LED, OFFLINE, LED, LED, OFFLINE, LED)):
        see("between", hour, **facts)
    see("reaching", 0, **OFFLINE)
    for hour in (0, 1, 2, 20, 21):
        see("no-pause", hour, **OFFLINE)
        see("two-logs", hour, **OFFLINE)
    for hour in (0, 1, 2):
        see("hole", hour, **LED)
        see("ends-later", hour, **LED)
    for cluster in ("in-files", "held"):
        see(cluster, 0, leader=1, isr=[1, 2], min_isr=2)
        see(cluster, 1, leader=1, isr=[1], min_isr=1)
        see(cluster, 3, leader=1, isr=[1, 2], min_isr=2)
    held = Table.from_rows(
        CONFIGS, [{"entity_type": "topic", "entity": "orders", "name": HELD[1], "value": "2", "origin": "topic"}]
    )
    one, two = {"leader": 1, "isr": [1], **UNSET}, {"leader": 1, "isr": [1, 2], **UNSET}
    shrunk = ((0.5, two), (0.7, one), (0.8, two), (1.2, one), (2, one))
    logs = {
        "between": [
            logged("between", (1.5, LED), (2.2, OFFLINE), (2.2 + 7 * SECOND, LED), (4, OFFLINE), (4.5, OFFLINE))
        ],
        "reaching": [logged("reaching", (1, OFFLINE), (1.5, LED), (2, LED))],
        "no-pause": [logged("no-pause", (2.5, OFFLINE), (19, OFFLINE))],
        "two-logs": [logged("two-logs", (2, OFFLINE), (3, OFFLINE)), logged("two-logs", (18, OFFLINE), (22, OFFLINE))],
        "ends-later": [logged("ends-later", (0.5, LED), (1.2, OFFLINE), (1.5, OFFLINE))],
        "hole": [logged("hole", (0.5, OFFLINE), (1, OFFLINE)), logged("hole", (1.5, OFFLINE), (2, OFFLINE))],
        "in-files": [logged("in-files", *shrunk)],
        "held": [logged("held", *shrunk, configs=held)],
    }
    return found, logs


def rounded(*row: object) -> tuple[object, ...]:
    return tuple(round(cell, 5) if isinstance(cell, float) else cell for cell in row)


PLANTED_LOGS = [
    # A snapshot inside the time of a log counts for nothing; what lasted seconds between two of them is told.
    ("between", 2.2, 2.2 + 7 * SECOND, 2.2 + 7 * SECOND, 0, False, True, 0.0),
    ("between", 4.0, 5.0, 6.0, 1, False, False, 0.5),
    ("reaching", 0.0, 1.5, 1.5, 1, False, False, 1.0),
    ("no-pause", 0.0, 21.0, None, 5, True, False, 1.0),
    ("ends-later", 1.2, 1.5, 2.0, 0, False, False, 0.0),
    ("hole", 0.5, 2.0, None, 0, True, False, 0.5),
    ("two-logs", 0.0, 3.0, None, 2, False, False, 1.0),
    ("two-logs", 18.0, 22.0, None, 0, True, True, 0.0),
]
PLANTED_SETTINGS = [("in-files", 0.7, 0.8, 0.8, 0, False, True, 0.0)]


def test_what_is_planted_about_metadata_logs_is_told_rightly(spark: SparkSession, tmp_path: Path) -> None:
    snapshots, logs = planted_logs()
    storage = taken_in(snapshots, tmp_path)
    for cluster, some in logs.items():
        ingest([Candidate(cluster, cluster, Incoming.of_log(slice_of(log))) for log in some], storage)
    audit = audit_of(spark, storage, frozenset({"offline", "under-min-isr"}))
    found: dict[str, list[tuple[object, ...]]] = {"offline": [], "under-min-isr": []}
    for row in rows_of(audit):
        if not (row["rule"] == "under-min-isr" and row["evidence"]["leader"] == -1):
            found[row["rule"]].append(rounded(*hours(row), row["exact"], row["longest_interval_ms"] / 3_600_000))
    assert found["offline"] == sorted(rounded(*row) for row in PLANTED_LOGS)
    assert found["under-min-isr"] == PLANTED_SETTINGS


@pytest.mark.parametrize("kept", ["dumps", "history"])
def test_what_is_planted_about_time_is_told_rightly(
    spark: SparkSession, in_spark: Callable[..., Any], tmp_path: Path, kept: str
) -> None:
    from analyzers.audit import Audit

    snapshots, rules = planted(), frozenset({"offline"})
    taken = kept == "history"
    audit = audit_of(spark, taken_in(snapshots, tmp_path), rules) if taken else Audit(in_spark(snapshots), rules)
    assert sorted(map(hours, rows_of(audit)), key=str) == sorted(PLANTED, key=str)
    (line,) = audit.warnings()
    assert line.startswith("clock: leader epochs of 1 topic go back in the snapshot of 2026-03-01T14:00:00+00:00")
    rows = [row for row in rows_of(audit) if row["cluster"] == "pause"]
    assert [row["longest_interval_ms"] for row in rows] == [3_600_000, 0]


def test_what_a_topic_showed_on_both_sides_of_a_pause_is_two_spans(
    spark: SparkSession, in_spark: Callable[..., Any], tmp_path: Path
) -> None:
    from analyzers.audit import Audit

    rows = [partition(**LED), partition(**LED, partition=1, replicas=[1, 2])]
    facts = {"cluster_id": "pause", "name": "pause", "source": "kafka"}
    moments = [NOON + timedelta(hours=hour) for hour in (0, 1, 2, 14, 15)]
    snapshots = [snapshot_of(rows, [{"broker": 1, "alive": True}], **facts, taken_at=moment) for moment in moments]
    rules = frozenset({"mixed-rf"})
    told = [("pause", 0.0, 2.0, None, 3, False), ("pause", 14.0, 15.0, None, 2, True)]
    for audit in (audit_of(spark, taken_in(snapshots, tmp_path), rules), Audit(in_spark(snapshots), rules)):
        assert list(map(hours, rows_of(audit))) == told


def test_frames_of_pandas_have_real_types(spark: SparkSession, tmp_path: Path) -> None:
    audit = audit_of(spark, taken_in(planted(), tmp_path), frozenset({"offline"}))
    findings, counts = audit.findings_pandas(), audit.counts_pandas()
    assert str(findings["valid_to"].dtype) == "datetime64[us, UTC]"
    assert findings["valid_to"].isna().sum() == 2
    types = {name: str(findings[name].dtype) for name in ("cluster", "severity", "partition", "broker", "in_newest")}
    category = {"cluster": "category", "severity": "category"}
    assert types == {**category, "partition": "Int32", "broker": "Int32", "in_newest": "boolean"}
    assert findings["broker"].isna().all()
    assert next(iter(findings["evidence"]))["replicas"] == [1, 2, 3]
    assert findings["severity"].max() == "critical"
    assert len(findings) == len(PLANTED)
    assert str(counts["offline"].dtype) == "Int64"
    assert counts.groupby("cluster", observed=True)["offline"].sum()["pause"] == 3


def test_only_what_is_wanted_of_a_history_is_judged(spark: SparkSession, tmp_path: Path) -> None:
    storage = taken_in(planted(), tmp_path)
    wanted = Wanted(("pause",), NOON + timedelta(hours=2), NOON + timedelta(hours=14))
    audit = audit_of(spark, storage, frozenset({"offline"}), wanted=wanted, per_snapshot=True)
    found = [(row["cluster"], row["taken_at"][:13]) for row in rows_of(audit)]
    assert found == [("pause", "2026-03-01T14"), ("pause", "2026-03-02T02")]


def test_a_history_is_known_by_its_layout_and_stands_alone(tmp_path: Path) -> None:
    from analyzers.fleet_audit import HistorySelection, select_fleet

    snapshots = planted()
    taken_in(snapshots, tmp_path / "history")
    write_snapshot(snapshots[0], tmp_path / "dumps")
    selection = select_fleet([tmp_path / "history"])
    assert isinstance(selection, HistorySelection)
    assert len(selection.snapshots) == len(snapshots)
    with pytest.raises(UsageError, match=r"a history is audited alone.*dumps is named beside it"):
        select_fleet([tmp_path / "dumps", tmp_path / "history"])
    with pytest.raises(UsageError, match="none of 7 months of clusters is wanted"):
        select_fleet([tmp_path / "history"], Wanted(("nobody",)))


def test_a_time_of_which_logs_alone_tell_is_audited_but_not_by_snapshot(tmp_path: Path) -> None:
    from analyzers.fleet_audit import run_audit, select_fleet
    from analyzers.rules.criteria import criteria_of

    snapshots, logs = planted_logs()
    storage = taken_in(snapshots, tmp_path)
    ingest([Candidate("between", "between", Incoming.of_log(slice_of(logs["between"][0])))], storage)
    selection = select_fleet([tmp_path], Wanted(("between",), NOON + timedelta(hours=2.1), NOON + timedelta(hours=2.9)))
    assert selection.snapshots == ()
    session: Any = None
    with pytest.raises(UsageError, match=r"no snapshot is wanted.*leave out --per-snapshot"):
        run_audit(session, selection, criteria_of({"offline"}), per_snapshot=True)


def test_a_damaged_month_is_named_and_left_out(tmp_path: Path) -> None:
    from analyzers.fleet_audit import Audited, select_fleet

    taken_in(planted(), tmp_path)
    (manifest,) = (tmp_path / "cluster=pause").rglob("manifests/*.json")
    manifest.write_text("{")
    selection = select_fleet([tmp_path])
    assert {one.cluster for one in selection.snapshots} == {
        "hidden",
        "gone-twice",
        "one-instant",
        "renewed",
        "unknown",
        "clock",
    }
    first, second = Audited(selection, None, [], []).warnings[:2]  # type: ignore[arg-type]
    assert first.startswith(f"{manifest}: damaged: ")
    assert second == "1 month of a cluster left out because of damaged files"
    with pytest.raises(InputError):
        select_fleet([tmp_path], strict=True)
