"""Minutes without writes or reads: planted histories with bounds worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters.generated import partition
from histories import logs as history_logs
from histories.folders import moment
from histories.logs import Log, some, taken_in
from histories.observations import HOUR, MARCH
from planted.histories import BROKERS, at, keep, taken

from kreplica.errors import ExitCode, UsageError
from kreplica.fleet.availability.slo import Downtime, OutagesBy, Standing, outages_in
from kreplica.history.coding import Coder
from kreplica.history.folding import Runs
from kreplica.history.months.log_steps import LogChanges
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.history.tables import LOG_TABLES
from kreplica.model.snapshot import Gap
from kreplica.store.selection import Wanted

FENCED = [{**one, "alive": one["broker"] not in (2, 3), "fenced": one["broker"] in (2, 3)} for one in BROKERS]
ALONE, LEADERLESS = {"isr": [1]}, {"isr": [1], "leader": -1}
HOURS = range(11)


def history(root: Path, bad: dict[str, Any], when: Sequence[float], hours: Sequence[float] = HOURS) -> Path:
    return keep(
        root,
        [
            taken(hour, partition(**(bad if hour in when else {})), brokers=FENCED if hour in when else BROKERS)
            for hour in hours
        ],
    )


def only(root: Path, objective: float = 99.95, by: OutagesBy = OutagesBy.TOPIC) -> Downtime:
    (row,) = outages_in(root, objective, by).rows
    return row


def bounds(row: Downtime) -> tuple[float, float, float, float]:
    """In hours."""
    minutes = (row.writes_least_minutes, row.writes_most_minutes, row.reads_least_minutes, row.reads_most_minutes)
    return tuple(round(one / 60, 3) for one in minutes)  # type: ignore[return-value]


def test_from_the_first_to_the_last_that_shows_it_at_least_and_between_the_good_ones_at_most(tmp_path: Path) -> None:
    found = outages_in(history(tmp_path, ALONE, (3, 4, 5)))
    (row,) = found.rows
    assert bounds(row) == (2, 4, 0, 0)
    assert (row.topic, row.standing, row.partitions, row.outages) == ("orders", Standing.MISSED, 1, 1)
    assert (row.first_at, row.last_at, row.lasts) == (at(3), at(5), False)
    assert row.causes == ["broker-fenced 2,3"]
    # Five of ten thousand parts of ten hours.
    assert (row.budget_minutes, row.left_most_minutes, row.left_least_minutes) == (0.3, 0.3 - 120, 0.3 - 240)
    assert (row.known_minutes, found.exit_code) == (600, ExitCode.FINDINGS)


def test_without_a_leader_there_are_no_reads_either(tmp_path: Path) -> None:
    assert bounds(only(history(tmp_path, LEADERLESS, (3, 4)))) == (1, 3, 1, 3)


def test_a_leader_that_is_no_live_broker_serves_nobody(tmp_path: Path) -> None:
    """The partitions stay as they are: the brokers alone change."""
    dead = [{**one, "alive": one["broker"] != 1} for one in BROKERS]
    some = [taken(hour, partition(), brokers=dead if hour in (3, 4) else BROKERS) for hour in HOURS]
    assert bounds(only(keep(tmp_path, some))) == (1, 3, 1, 3)


def test_one_bad_snapshot_is_nothing_to_two_intervals(tmp_path: Path) -> None:
    root = history(tmp_path, ALONE, (3,))
    assert bounds(only(root)) == (0, 2, 0, 0)
    for objective, standing, code in (
        (99.95, Standing.UNSURE, ExitCode.INCOMPLETE),
        (79, Standing.MET, ExitCode.OK),
        (81, Standing.UNSURE, ExitCode.INCOMPLETE),
    ):
        found = outages_in(root, objective)
        assert ([row.standing for row in found.rows], found.exit_code) == ([standing], code)


def test_one_snapshot_is_no_time_to_judge_by(tmp_path: Path) -> None:
    row = only(keep(tmp_path, [taken(0, partition(**ALONE))]))
    assert (bounds(row), row.standing, row.lasts, row.known_minutes) == ((0, 0, 0, 0), Standing.UNSURE, True, 0)


def test_what_begins_and_ends_outside_is_bounded_by_the_first_and_the_newest(tmp_path: Path) -> None:
    row = only(history(tmp_path / "first", ALONE, (0, 1)))
    assert (bounds(row), row.lasts) == ((1, 2, 0, 0), False)
    row = only(history(tmp_path / "last", ALONE, (9, 10)))
    assert (bounds(row), row.lasts) == ((1, 2, 0, 0), True)


def test_the_time_of_a_pause_is_neither(tmp_path: Path) -> None:
    root = history(tmp_path, ALONE, (2, 3, 20), (0, 1, 2, 3, 20, 21, 22))
    row = only(root)
    # From 1 to 3 and from 20 to 21 at most; the 17 hours between are not known.
    assert (bounds(row), row.outages, row.known_minutes) == ((1, 3, 0, 0), 2, 5 * 60)
    assert outages_in(root).clusters[0].paused_ms == 17 * HOUR


def test_a_topic_that_went_in_a_pause_lengthens_nothing(tmp_path: Path) -> None:
    other = partition("other")
    some = [taken(hour, other, *([partition(**ALONE)] if hour in (2, 3) else [])) for hour in (0, 1, 2, 3, 20, 21)]
    row = only(keep(tmp_path, some))
    # It was not there at 1, and whether it was after 3 nobody knows.
    assert bounds(row) == (1, 2, 0, 0)


def test_until_a_whole_snapshot_lacks_it(tmp_path: Path) -> None:
    other, torn = partition("other"), (Gap("torn-read", "changed meanwhile", 1),)
    some = [taken(hour, other, *([partition(**ALONE)] if hour in (2, 3) else [])) for hour in (0, 1, 2, 3)]
    some += [taken(4, other, gaps=torn), taken(5, other), taken(6, other)]
    assert bounds(only(keep(tmp_path, some))) == (1, 4, 0, 0)


@pytest.mark.parametrize(("fourth", "expected"), [(ALONE, (2, 4, 0, 0)), ({}, (0, 3, 0, 0))])
def test_a_snapshot_that_does_not_know_neither_begins_nor_ends_it(
    tmp_path: Path, fourth: dict[str, Any], expected: tuple[float, ...]
) -> None:
    """Short at 2, not known at 3, then short or fine at 4."""
    states: list[dict[str, Any]] = [{}, {}, ALONE, {"leader": None}, fourth, {}, {}]
    some = [taken(hour, partition(**state), partition(number=1)) for hour, state in enumerate(states)]
    found = outages_in(keep(tmp_path, some))
    (row,) = found.rows
    assert (bounds(row), row.outages) == (expected, 1)
    assert found.warnings == ["prod: the leader of 1 partition was not known all the time"]


def test_what_was_not_known_before_may_have_been_so(tmp_path: Path) -> None:
    states: list[dict[str, Any]] = [{"leader": None}, {"leader": None}, ALONE, {}]
    some = [taken(hour, partition(**state), partition(number=1)) for hour, state in enumerate(states)]
    assert bounds(only(keep(tmp_path, some))) == (0, 3, 0, 0)


def test_any_partition_counts_and_both_at_once_count_once(tmp_path: Path) -> None:
    some = [
        taken(hour, partition(**(ALONE if 2 <= hour <= 4 else {})), partition(number=1, **(ALONE if hour == 5 else {})))
        for hour in HOURS
    ]
    row = only(keep(tmp_path, some))
    # 0 from 2 to 4, at most from 1 to 5; 1 at 5, at most from 4 to 6.
    assert (bounds(row), row.partitions, row.outages) == ((2, 5, 0, 0), 2, 1)


def test_times_with_a_good_moment_between_them_are_two(tmp_path: Path) -> None:
    some = [
        taken(hour, partition(**(ALONE if hour == 2 else {})), partition(number=1, **(ALONE if hour == 4 else {})))
        for hour in HOURS
    ]
    row = only(keep(tmp_path, some))
    # 0 at 2, at most from 1 to 3; 1 at 4, at most from 3 to 5. At 3 both take writes.
    assert (bounds(row), row.partitions, row.outages) == ((0, 4, 0, 0), 2, 2)


def test_of_several_causes_the_first_kind_counts(tmp_path: Path) -> None:
    fenced = [{**one, "alive": one["broker"] != 2, "fenced": one["broker"] == 2} for one in BROKERS]
    bad = partition(isr=[1], offline_replicas=[3])
    some = [taken(hour, *([bad] if hour == 2 else [partition()]), brokers=fenced) for hour in range(5)]
    assert only(keep(tmp_path, some)).causes == ["broker-fenced 2"]


def test_the_last_in_sync_on_a_broker_that_is_gone_is_the_cause(tmp_path: Path) -> None:
    """No replica is missing in the ISR, which keeps its last member."""
    dead = [{**one, "alive": one["broker"] != 1} for one in BROKERS]
    alone = {"replicas": [1], "isr": [1]}
    some = [
        taken(hour, partition(**alone, **({"leader": -1} if hour == 2 else {})), brokers=dead if hour == 2 else BROKERS)
        for hour in range(5)
    ]
    assert only(keep(tmp_path, some)).causes == ["broker-gone 1"]


def test_by_cluster_and_by_cause(tmp_path: Path) -> None:
    dead = [{**one, "alive": one["broker"] != 2, "fenced": one["broker"] == 2} for one in BROKERS]
    some = []
    for hour in HOURS:
        orders = partition(**(ALONE if hour == 2 else {}))
        clicks = partition("clicks", isr=[1] if hour == 6 else [1, 2], replicas=[1, 2])
        some.append(taken(hour, orders, clicks, brokers=FENCED if hour == 2 else dead if hour == 6 else BROKERS))
    root = keep(tmp_path, some)
    row = only(root, by=OutagesBy.CLUSTER)
    assert (bounds(row), row.topic, row.outages, row.partitions) == ((0, 4, 0, 0), None, 2, 2)
    assert row.causes == ["broker-fenced 2", "broker-fenced 2,3"]
    rows = outages_in(root, by=OutagesBy.CAUSE).rows
    assert [(one.causes, bounds(one)) for one in rows] == [
        (["broker-fenced 2"], (0, 2, 0, 0)),
        (["broker-fenced 2,3"], (0, 2, 0, 0)),
    ]


@pytest.fixture
def led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[dict[tuple[str, int], int]]], Downtime]:
    """The answer about a history of a metadata log alone in April: who leads each partition, second by second."""

    def full(key: Any, leader: int | None) -> dict[str, Any]:
        known = partition(*key, leader=leader)
        return {field.name: known.get(field.name) for field in history_logs.PARTITIONS.of.fields}

    monkeypatch.setattr(history_logs, "row", full)

    def answer(states: list[dict[tuple[str, int], int]]) -> Downtime:
        keep(tmp_path, [taken(hour, *(partition(*key) for key in states[0])) for hour in (3, 5, 6)])
        one = Log(states, [*[0, 4, 5, 6, 9][: len(states) - 1], 9]).slice(0, len(states) - 1)
        brokers = [{name: broker.get(name) for name in LOG_TABLES[1].of.names} for broker in BROKERS]
        told = LogChanges(*some(LOG_TABLES[1].of, [(0, row) for row in brokers]), *some(LOG_TABLES[1].of, []))
        taken_in(tmp_path, [replace(one, changes={**one.changes, "brokers": told})])
        return only(tmp_path)

    return answer


def test_a_metadata_log_tells_to_the_record(led: Callable[[list[dict[tuple[str, int], int]]], Downtime]) -> None:
    """No leader from the second to the third second of April."""
    orders = ("orders", 0)
    row = led([{orders: 1}, {orders: -1}, {orders: 1}, {orders: 1}])
    assert (row.writes_least_minutes, row.writes_most_minutes) == (round(1 / 60, 3), round(1 / 60, 3))
    assert (row.reads_least_minutes, row.reads_most_minutes) == (round(1 / 60, 3), round(1 / 60, 3))


def test_times_that_follow_without_a_good_moment_are_one(
    led: Callable[[list[dict[tuple[str, int], int]]], Downtime],
) -> None:
    """The one partition has its leader again with the record after which the other has none."""
    both = ("orders", 0), ("orders", 1)
    leaders = [(1, 1), (-1, 1), (1, -1), (1, 1), (1, 1)]
    row = led([dict(zip(both, some, strict=True)) for some in leaders])
    assert (row.partitions, row.outages) == (2, 1)
    assert row.writes_least_minutes == row.writes_most_minutes == round(2 / 60, 3)


def test_a_history_that_shows_no_outage_has_no_row(tmp_path: Path) -> None:
    found = outages_in(history(tmp_path, ALONE, ()))
    assert (found.rows, found.exit_code) == ([], ExitCode.OK)


def test_the_time_that_is_wanted_bounds_it(tmp_path: Path) -> None:
    root = history(tmp_path, ALONE, (3, 4, 5))
    (row,) = outages_in(root, wanted=Wanted(since=moment(MARCH + 4 * HOUR))).rows
    assert (bounds(row), row.known_minutes) == ((1, 2, 0, 0), 360)
    assert outages_in(root, wanted=Wanted(since=moment(MARCH + 6 * HOUR))).rows == []


@pytest.mark.parametrize("objective", [0, 100, -1, float("nan")])
def test_an_objective_is_a_percentage(tmp_path: Path, objective: float) -> None:
    with pytest.raises(UsageError, match="objective"):
        outages_in(tmp_path, objective)


def test_moments_at_which_outages_begin_share_their_month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    runs = HistoryMonth.runs

    def counted(self: HistoryMonth, coder: Coder, some: KeyFilter | None = None) -> Runs:
        opened.append(coder.table.name)
        return runs(self, coder, some)

    monkeypatch.setattr(HistoryMonth, "runs", counted)
    quarters = [quarter / 4 for quarter in range(16)]  # all in one month
    assert only(history(tmp_path / "one", ALONE, (0.5,), quarters)).outages == 1
    once = len(opened)
    assert only(history(tmp_path / "three", ALONE, (0.5, 1.5, 2.5), quarters)).outages == 3
    assert len(opened) == 2 * once
