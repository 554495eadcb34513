"""Harm that losses would have done: planted histories with answers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition
from histories import logs as history_logs
from histories.folders import moment
from histories.logs import Log, taken_in
from histories.observations import HOUR, MARCH
from planted.histories import BROKERS, at, keep, taken

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.fleet.availability.resilience import Exposure, LossCounts, Resilience, resilience_in
from kreplica.fleet.availability.timeline import Timeline, timelines_of
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage


def by_loss(found: Resilience) -> dict[str, Exposure]:
    return {f"{row.kind} {row.lost}": row for row in found.rows}


def percents(row: Exposure) -> tuple[float, float, float]:
    return tuple(round(one, 1) for one in (row.loses_percent, row.reads_percent, row.writes_percent))  # type: ignore[return-value]


FINE, SHORT, ALONE = {}, {"isr": [1, 2]}, {"isr": [1]}  # type: ignore[var-annotated]


def ten_hours(**facts: Any) -> list[ClusterSnapshot]:
    """Hourly over a month's end: three hours of which orders-0 lacks 3, then three of which 1 alone holds orders-1."""
    found = []
    for hour in range(11):
        states = (SHORT, FINE) if 4 <= hour < 7 else (FINE, ALONE) if hour >= 7 else (FINE, FINE)
        rows = [partition(number=number, **state, **facts) for number, state in enumerate(states)]
        found.append(taken(hour, *rows))
    return found


def test_shares_of_time_the_worst_and_since_when(tmp_path: Path) -> None:
    found = resilience_in(keep(tmp_path, ten_hours()))
    rows = by_loss(found)
    assert set(rows) == {"broker 1", "broker 2", "broker 3", "broker 4", "rack r1", "rack r2", "rack r3"}
    # 1: from 4 on orders-0 would have kept 2 alone; from 7 on nobody could have led orders-1.
    one = rows["broker 1"]
    assert (percents(one), one.loses_most, one.reads_most, one.writes_most) == ((0, 30, 60), 0, 1, 1)
    assert (one.worst_at, one.since, one.writes_now, one.known_seconds) == (at(7), at(4), 1, 36_000)
    two = rows["broker 2"]
    assert (percents(two), two.writes_most, two.worst_at, two.since) == ((0, 0, 30), 1, at(4), None)
    assert not rows["broker 3"].harms
    assert not rows["broker 4"].harms
    assert percents(rows["rack r1"]) == percents(one)
    assert [f"{row.kind} {row.lost}" for row in found.rows[:3]] == ["broker 1", "rack r1", "broker 2"]
    assert (found.exit_code, found.warnings) == (ExitCode.FINDINGS, [])


def test_where_no_loss_does_harm_no_count_ever_changes(tmp_path: Path) -> None:
    keep(tmp_path, [taken(hour, partition()) for hour in (0, 1)])
    (months,) = timelines_of(LocalStorage(tmp_path), Wanted()).by_cluster().values()
    counts = LossCounts(Timeline(months))
    assert [len(counts.steps(number).begins) for number in range(len(counts.losses))] == [0] * 7


def test_an_unclean_election_loses_records_and_stops_no_reads(tmp_path: Path) -> None:
    rows = by_loss(resilience_in(keep(tmp_path, ten_hours(unclean_leader_election=True))))
    one = rows["broker 1"]
    assert (percents(one), one.loses_most, one.reads_most) == ((30, 0, 30), 1, 0)
    assert one.worst_at == at(7)


def test_a_rack_takes_all_of_its_brokers_along(tmp_path: Path) -> None:
    spread = partition(replicas=[1, 3, 4], isr=[1, 3, 4], min_isr=2)
    rows = by_loss(resilience_in(keep(tmp_path, [taken(0, spread), taken(4, spread)])))
    assert {name for name, row in rows.items() if row.harms} == {"rack r3"}
    assert (rows["rack r3"].writes_most, rows["rack r3"].since) == (1, at(0))


def test_a_rack_is_what_its_brokers_say_at_the_time(tmp_path: Path) -> None:
    spread = partition(replicas=[1, 3, 4], isr=[1, 3, 4], min_isr=2)
    moved = [{**one, "rack": "r4"} if one["broker"] == 4 else one for one in BROKERS]
    some = [taken(hour, spread, brokers=BROKERS if hour < 3 else moved) for hour in (0, 1, 2, 3, 4)]
    row = by_loss(resilience_in(keep(tmp_path, some)))["rack r3"]
    assert (percents(row), row.since) == ((0, 0, 75), None)


def test_a_pause_is_longer_than_three_times_the_usual_hour(tmp_path: Path) -> None:
    some = [taken(hour, partition(**SHORT)) for hour in (0, 1, 4, 5)]
    assert by_loss(resilience_in(keep(tmp_path, some)))["broker 1"].known_seconds == 5 * 3600


def test_a_metadata_log_tells_of_time_before_the_first_snapshot(tmp_path: Path) -> None:
    keep(tmp_path, [taken(hour, partition()) for hour in (5, 6)])
    taken_in(tmp_path, [Log([{}, {("orders", 0): 1}, {("orders", 0): 1}], [0, 4, 5]).slice(0, 2)])
    assert by_loss(resilience_in(tmp_path))["broker 3"].known_seconds == 2 * 3600


def test_time_of_a_pause_is_not_known_and_breaks_since(tmp_path: Path) -> None:
    rows = [partition(**SHORT)]
    some = [taken(hour, *([partition()] if hour < 2 else rows)) for hour in (0, 1, 2, 3, 20, 21)]
    found = resilience_in(keep(tmp_path, some))
    one = by_loss(found)["broker 1"]
    assert (one.known_seconds, percents(one), one.since) == (4 * 3600, (0, 0, 50), at(20))
    assert (found.clusters[0].paused_ms, found.clusters[0].snapshots) == (17 * HOUR, 6)


def test_a_single_snapshot_tells_its_moment(tmp_path: Path) -> None:
    one = by_loss(resilience_in(keep(tmp_path, [taken(0, partition(**SHORT))])))["broker 1"]
    assert (percents(one), one.writes_now, one.since, one.known_seconds) == ((0, 0, 100), 1, at(0), 0)


def test_a_dead_broker_is_gone_already(tmp_path: Path) -> None:
    dead = [{**one, "alive": one["broker"] != 3} for one in BROKERS]
    some = [taken(hour, partition(**SHORT), brokers=dead) for hour in (0, 1)]
    rows = by_loss(resilience_in(keep(tmp_path, some)))
    assert {name for name, row in rows.items() if row.harms} == {"broker 1", "broker 2", "rack r1", "rack r2"}


def test_what_is_not_known_is_told_and_is_no_clean_answer(tmp_path: Path) -> None:
    some = [taken(hour, partition(min_isr=None)) for hour in (0, 1)]
    found = resilience_in(keep(tmp_path, some))
    assert found.exit_code is ExitCode.INCOMPLETE
    assert found.warnings == ["prod: min.insync.replicas of 1 partition was not known all the time"]
    assert resilience_in(keep(tmp_path / "fine", [taken(0, partition())])).exit_code is ExitCode.OK


def test_a_partial_snapshot_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    torn = (Gap("torn-read", "changed meanwhile", 1),)
    some = [
        taken(0, partition(**SHORT), partition(number=1)),
        taken(1, partition(number=1), gaps=torn),
        taken(5, partition(number=1), gaps=torn),  # April: orders-0 stands in March alone
        taken(6, partition(number=1)),
        taken(8, partition(number=1)),
    ]
    row = by_loss(resilience_in(keep(tmp_path, some)))["broker 2"]
    assert (percents(row), row.since) == ((0, 0, 75), None)


def test_several_clusters_by_several_processes_are_the_same(tmp_path: Path) -> None:
    for number in range(4):
        keep(
            tmp_path, [taken(hour, partition(**SHORT), name=f"c{number}") for hour in range(number + 2)], f"Zk{number}"
        )
    alone, together = resilience_in(tmp_path), resilience_in(tmp_path, processes=2)
    assert alone.rows == together.rows
    assert len(alone.clusters) == 4
    some = resilience_in(tmp_path, Wanted(("c1",), since=moment(MARCH + HOUR)))
    assert {(row.cluster, row.known_seconds) for row in some.rows} == {("Zk1", 3600)}


def test_settings_that_no_log_holds_are_those_of_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log tells four seconds of April. Until the snapshot at 5 h min.insync.replicas is 3, by files of brokers."""

    def full(key: Any, leader: int | None) -> dict[str, Any]:
        known = partition(*key, leader=leader, min_isr=None, unclean_leader_election=None)
        return {field.name: known.get(field.name) for field in history_logs.PARTITIONS.of.fields}

    monkeypatch.setattr(history_logs, "row", full)
    keep(tmp_path, [taken(hour, partition(min_isr=3 if hour < 5 else 2)) for hour in (3, 5, 6)])
    log = Log([{}, {("orders", 0): 1}, {("orders", 0): 2}, {("orders", 0): 2}], [0, 4, 5, 9])
    taken_in(tmp_path, [log.slice(0, 3)])
    row = by_loss(resilience_in(tmp_path))["broker 3"]
    # Two of the three hours but for the first second of the log, before whose end there was no partition.
    assert row.writes_percent == round((2 * 3600 - 1) / (3 * 3600) * 100, 3)


def test_a_history_that_is_damaged_or_holds_nothing_wanted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no history is there"):
        resilience_in(tmp_path)
    keep(tmp_path, [taken(0, partition())])
    with pytest.raises(UsageError, match="no snapshot that is wanted"):
        resilience_in(tmp_path, Wanted(("other",)))
