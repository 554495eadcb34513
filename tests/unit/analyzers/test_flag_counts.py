"""Counts of a fleet's flags by arrays, against counts made row by row; nothing of Spark runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from analyzers.judging.findings import EPOCHS, NUMBER, Judged, conditions_of
from analyzers.judging.flag_counts import FlagCounts
from analyzers.judging.flags import FLAGS, MOST, Flags
from analyzers.judging.judge import _where_counts_change
from analyzers.reading.frames import FIRST, LAST
from analyzers.reading.timeline import Observation, Timeline
from kreplica.health.rules import GROUP_RULES
from kreplica.model.predicates import expressions as ex
from kreplica.model.predicates.expressions import Expression
from kreplica.model.predicates.partitions import PREDICATES

JUDGED = Judged(frozenset({"offline", "under-min-isr", "under-replicated"}))
CLUSTERS = (0, 0, 0, 0, 1, 2, 2, 2, 2, 2)
"""The cluster of each observation."""
STATES = {"true": 1, "unknown": 2, "false": 0}
"""Of a condition, by its two bits."""


@dataclass(frozen=True)
class Row:
    """Partitions from one observation to another that have the same flags; without states: topics."""

    first: int
    last: int
    count: int
    states: dict[Expression, str] | None = None
    epochs: int | None = None
    known: int = 0

    def at(self, place: int) -> bool:
        return self.first <= place <= self.last


def rows_of(random: Random) -> list[Row]:
    found = []
    for _ in range(30):
        some = [place for place, cluster in enumerate(CLUSTERS) if cluster == random.randrange(3)]
        first, last = sorted(random.choices(some or [4], k=2))
        states = {one: random.choice(("true", "unknown", "false", "false")) for one in JUDGED.flags.conditions}
        known = random.randrange(3)
        epochs = random.randrange(40) if known else None
        found.append(Row(first, last, random.randrange(1, 5), states, epochs, known))
        found.append(Row(first, last, random.randrange(1, 5)))
    return found


def flags_of(row: Row) -> int | None:
    """The number of a row: two bits for each condition, in their order."""
    if row.states is None:
        return None
    places = {condition: at for at, condition in enumerate(JUDGED.flags.conditions)}
    return sum(STATES[state] << 2 * places[one] for one, state in row.states.items())


def counted(rows: list[Row], *clusters: int) -> FlagCounts:
    flags = [flags_of(row) for row in rows]
    of_partitions = {EPOCHS: [row.epochs for row in rows], "known": [row.known for row in rows]}
    values = {FIRST: [row.first for row in rows], LAST: [row.last for row in rows], FLAGS: flags, **of_partitions}
    table = pa.table({name: pa.array(some, pa.int64()) for name, some in values.items()})
    table = table.append_column(NUMBER, pa.array([row.count for row in rows], pa.int64()))
    return FlagCounts(JUDGED, np.array(clusters or CLUSTERS, np.int64), table)


def clusters_where(rows: list[Row], holds: Callable[[dict[Expression, str]], bool]) -> set[int]:
    return {CLUSTERS[row.first] for row in rows if row.states is not None and holds(row.states)}


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_the_sums_of_the_rows_that_are_there(seed: int) -> None:
    rows = rows_of(Random(seed))
    found = counted(rows).counts()
    partitions = [row for row in rows if row.states is not None]
    for place in range(len(CLUSTERS)):
        here = [row for row in partitions if row.at(place)]
        assert found["partitions"][place] == sum(row.count for row in here)
        assert found["topics"][place] == sum(row.count for row in rows if row.states is None and row.at(place))
        for predicate in PREDICATES:
            for name, state in ((predicate.name, "true"), (f"unknown_{predicate.name}", "unknown")):
                expected = sum(row.count for row in here if row.states and row.states[predicate.expression] == state)
                assert found[name][place] == expected, (name, place)


@pytest.mark.parametrize("seed", range(5))
def test_doubtful_are_clusters_with_a_broken_rule_that_is_not_known_everywhere(seed: int) -> None:
    rows = rows_of(Random(seed))[:6]
    for partial in ([], [1], [0, 2]):
        expected = set()
        for rule in JUDGED.by_partition:
            broken = clusters_where(rows, lambda states, rule=rule: states[rule.when] == "true")  # type: ignore[misc]
            unknown = clusters_where(rows, lambda states, rule=rule: states[rule.when] == "unknown")  # type: ignore[misc]
            expected |= broken & (unknown | set(partial))
        assert counted(rows).doubtful(partial) == expected
    several = [predicate.expression for predicate in PREDICATES[:2]]
    unknown = clusters_where(rows, lambda states: any(states[one] == "unknown" for one in several))
    assert counted(rows).unknown_of(several) == unknown


def partitions_at(place: int, epochs: int | None) -> Row:
    return Row(place, place, 1, {}, epochs, 0 if epochs is None else 1)


@pytest.mark.parametrize(
    ("epochs", "back"),
    [
        ([5, 5, 6], []),
        ([5, 4, 6], [0]),
        ([5, None, 6], []),
        ([None, 3, 2], [0]),
    ],
    ids=["growing", "smaller", "not-known-between", "smaller-at-the-end"],
)
def test_leader_epochs_go_back_where_their_sum_is_smaller_and_both_are_known(
    epochs: list[int | None], back: list[int]
) -> None:
    rows = [partitions_at(place, one) for place, one in enumerate(epochs)]
    assert counted(rows, 0, 0, 0).going_back() == back


def test_leader_epochs_are_compared_within_a_cluster_over_observations_that_tell_of_partitions() -> None:
    of_two = [partitions_at(0, 9), partitions_at(1, 3), partitions_at(3, 2)]
    assert counted(of_two, 0, 1, 1, 1).going_back() == [1]
    assert counted(of_two[:2], 0, 1, 1, 1).going_back() == []
    both = [*of_two, partitions_at(4, 8), partitions_at(5, 7)]
    assert counted(both, 0, 1, 1, 1, 2, 2).going_back() == [1, 2]


def test_each_condition_has_two_bits_of_its_own() -> None:
    one, two, three = (ex.Column(name) for name in ("one", "two", "three"))
    flags = Flags([one, two, one, three])
    assert list(flags.conditions) == [one, two, three]
    assert [flags.true_bits(some) for some in (one, two, three)] == [0b1, 0b100, 0b10000]
    assert [flags.unknown_bits(some) for some in (one, two, three)] == [0b10, 0b1000, 0b100000]
    assert flags.true_bits(one, three, one) == 0b10001
    many = [ex.Column(f"column-{number}") for number in range(MOST + 1)]
    assert Flags(many[:-1]).unknown_bits(many[-2]) == 2**61
    with pytest.raises(AssertionError, match="32 conditions do not fit"):
        Flags(many)


def test_all_conditions_that_rules_need_have_a_place_once() -> None:
    every = Judged(frozenset(rule.name for rule in GROUP_RULES) | JUDGED.rules)
    wanted = [predicate.expression for predicate in PREDICATES]
    for rule in every.by_partition:
        wanted += [rule.when, *([] if rule.escalates is None else [rule.escalates])]
    for group_rule in GROUP_RULES:
        wanted += conditions_of(group_rule)
    assert set(every.flags.conditions) == set(wanted)
    assert len(list(every.flags.conditions)) == len(set(wanted))
    told = [rule.name for rule in (*every.by_topic, *(rule for some in every.by_broker.values() for rule in some))]
    assert sorted(told) == sorted(rule.name for rule in GROUP_RULES)
    assert all(len({rule.key for rule in some}) == 1 for some in every.by_broker.values())


def observed(cluster: str, minute: int, log: int | None) -> Observation:
    taken_at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=minute)
    return Observation(cluster, cluster, cluster, "kafka", taken_at, f"{minute}", True, log=log)


def test_a_moment_of_a_log_is_told_where_a_count_changes_or_the_log_begins_or_ends() -> None:
    moments = [("a", None, 1), ("a", None, 1), ("a", 0, 1), ("a", 0, 1), ("a", 0, 1), ("a", 0, 2), ("a", 0, 2)]
    moments += [
        ("a", 1, 2),
        ("a", 1, 2),
        ("a", 1, 2),
        ("a", None, 2),
        ("b", 0, 2),
        ("b", 0, 2),
        ("b", 0, 2),
        ("c", 0, 2),
    ]
    timeline = Timeline(observed(cluster, minute, log) for minute, (cluster, log, _) in enumerate(moments))
    counts = {"topics": np.ones(len(moments), np.int64), "offline": np.array([one[2] for one in moments], np.int64)}
    told = _where_counts_change(timeline.places, counts)
    left_out = [3, 4, 8, 12]
    assert np.flatnonzero(~told).tolist() == left_out
