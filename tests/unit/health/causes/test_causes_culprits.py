"""The smallest set of causes against a plain way to find it: replica by replica, by sets, nothing gathered."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from clusters.generated import partition, snapshot_of
from planted.faults import FAULTS, Planted

from kreplica.health.causes import Explanation, explain
from kreplica.health.causes.cause import KINDS, UNKNOWN, CauseKind
from kreplica.health.causes.lag_rules import slow_follower, slow_leader
from kreplica.health.causes.set_cover import smallest_covers
from kreplica.health.causes.smallest_set import Key, _Merger, find_culprits
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot

Counted = dict[Key, tuple[int, int, bool]]
Left = list[tuple[int, frozenset[frozenset[Key]]]]


def plainly(why: Explanation) -> tuple[Counted, Left]:
    """Partitions, failing ones and certainty of each culprit; partitions and choices of each open question."""
    merger, missing = _Merger(why), why.missing
    keys = {
        place: frozenset(merger.keys(place))
        for place in range(len(missing))
        if why.affected[missing.rows[place]] and not missing.adding[place]
    }
    known = {place: bool(why.found.codes[place] != UNKNOWN) for place in keys}
    names = list(dict.fromkeys(key for place in sorted(keys) for key in sorted(keys[place], key=repr)))
    covers = [
        [frozenset(names[number] for number in choice) for choice in cover.choices]
        for cover in smallest_covers(frozenset(map(names.index, some)) for some in keys.values() if some)
    ]

    def explains(key: Key) -> list[int]:
        return [place for place, some in keys.items() if key in some]

    settled = {
        key
        for choices in covers
        for key in frozenset.intersection(*choices)
        if key.kind == "broker-gone" or any(known[place] for place in explains(key))
    }
    counted: Counted = {}
    for key in settled:
        rows = {int(missing.rows[place]) for place in explains(key)}
        counted[key] = (len(rows), sum(bool(why.failing[row]) for row in rows), any(map(known.get, explains(key))))
    left: Left = []
    for choices in covers:
        causes = frozenset[Key]().union(*choices)
        rows = {int(missing.rows[place]) for place, some in keys.items() if some & causes and not some & settled}
        if rows:
            left.append((len(rows), frozenset(choice - settled for choice in choices)))
    rows = {int(missing.rows[place]) for place, some in keys.items() if not some}
    return counted, left + ([(len(rows), frozenset())] if rows else [])


def held_against(why: Explanation) -> None:
    verdict = find_culprits(why, np.flatnonzero(why.affected))
    counted = {one.key: (one.partitions, one.failing, one.certain) for one in verdict.culprits}
    left = [(one.partitions, frozenset(map(frozenset, one.choices))) for one in verdict.open]
    plain, plain_left = plainly(why)
    assert counted == plain
    assert Counter(left) == Counter(plain_left)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(4))
def test_planted_faults_with_noise_are_explained_as_they_are_plainly(fault: str, seed: int) -> None:
    planted = Planted(seed=seed, topics=4)
    FAULTS[fault](planted)
    planted.noise(seed * 3)
    held_against(explain(Evaluator(planted.snapshot())))


def with_dead(brokers: int, dead: int, partitions: int, seed: int) -> ClusterSnapshot:
    """Brokers that are gone, here and there a replica out of sync beside them, racks that are gone as a whole."""
    choose = random.Random(seed)
    gone = set(choose.sample(range(brokers), dead))
    rows = []
    for number in range(partitions):
        replicas = choose.sample(range(brokers), 3)
        isr = [broker for broker in replicas if broker not in gone and choose.random() < 0.95]
        where = {"topic": f"topic-{number // 100}", "partition": number % 100, "adding": [], "removing": [], "elr": []}
        state = {"leader": isr[0] if isr else -1, "replicas": replicas, "isr": isr or replicas[:1], "min_isr": 2}
        rows.append({**where, **state, "offline_replicas": [broker for broker in replicas if broker in gone]})
    alive = [
        {"broker": broker, "rack": f"rack-{broker // 2}", "alive": broker not in gone, "fenced": False}
        for broker in range(brokers)
    ]
    return snapshot_of(rows, alive)


@pytest.mark.parametrize("seed", range(10))
def test_many_dead_brokers_are_explained_as_they_are_plainly(seed: int) -> None:
    held_against(explain(Evaluator(with_dead(brokers=20, dead=2 * seed % 15, partitions=400, seed=seed))))


@pytest.mark.one_python
def test_time_grows_with_the_partitions_and_not_with_the_dead_brokers_too() -> None:
    def seconds(dead: int) -> float:
        why = explain(Evaluator(with_dead(brokers=600, dead=dead, partitions=12_000, seed=1)))
        rows = np.flatnonzero(why.affected)
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            find_culprits(why, rows)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(240) < 3 * seconds(30), "eight times as many dead brokers took five times as long once"


def culprits(*rows: dict[str, Any], gone: tuple[int, ...] = ()) -> list[tuple[str, int | None, int]]:
    """Kind, broker and partitions of the culprits of a cluster of brokers 1 to 5."""
    alive = [{"broker": broker, "alive": broker not in gone, "fenced": False} for broker in range(1, 6)]
    why = explain(Evaluator(snapshot_of(rows, alive)))
    verdict = find_culprits(why, np.arange(len(rows)))
    return [(one.key.kind, one.key.broker, one.partitions) for one in verdict.culprits]


def test_a_replica_that_is_being_added_explains_only_what_is_not_under_replicated() -> None:
    """Whether a partition is under-replicated is decided by its originals (Partition.isUnderReplicated, KIP-455)."""
    moving = partition("moving", replicas=[1, 2, 4], isr=[1, 2], adding=[4], removing=[])
    assert culprits(moving) == [("reassignment", 4, 1)]
    broken = partition("broken", replicas=[1, 2, 3, 4], isr=[1, 2], adding=[4], removing=[])
    assert culprits(broken, gone=(3,)) == [("broker-gone", 3, 1)]
    assert culprits(moving, broken, gone=(3,)) == [("broker-gone", 3, 1), ("reassignment", 4, 1)]


def test_a_gap_that_two_are_to_blame_for_is_given_to_neither() -> None:
    """Leader 1 holds up two followers that keep up elsewhere, follower 2 is behind both leaders it has.

    Of the copies of 2 under 1 it cannot be told who is slow; each of the two is found by what it does to others.
    """
    under_one = [([1, 2], True)] * 18 + [([1, 3], number < 1) for number in range(20)]
    under_four = [([4, 2], number < 1) for number in range(18)] + [([4, 3], False)] * 10
    rows = [
        partition("t", number, leader=replicas[0], replicas=replicas, isr=replicas[:1] if out else replicas)
        for number, (replicas, out) in enumerate([*under_one, *under_four])
    ]
    alive = [{"broker": broker, "alive": True, "fenced": False} for broker in range(1, 5)]
    why = explain(Evaluator(snapshot_of(rows, alive)))
    lags = why.found.lags
    assert lags is not None
    assert (slow_leader(lags).tolist(), slow_follower(lags).tolist()) == (
        [True, False, False, False],
        [False, True, False, False],
    )
    found = {
        (int(leader), int(broker)): None if code == UNKNOWN else KINDS[code]
        for leader, broker, code in zip(why.missing.leaders, why.missing.brokers, why.found.codes, strict=True)
    }
    assert found == {(1, 2): None, (1, 3): CauseKind.SLOW_LEADER, (4, 2): CauseKind.SLOW_FOLLOWER}
