"""Rules over time and incidents where a metadata log tells: as if somebody had looked after every record.

What they find by a log, with a snapshot at its begin and one at its end alone, is what they find by a snapshot of each
state; and a finding in the time of a log has exact borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, hours, ingest_into
from histories.logs import slice_of
from planted.incidents import start, stop, times_of

from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import Certainty, FleetFinding
from kreplica.fleet.incidents.fleet import incidents_in
from kreplica.fleet.judging import judge_cluster, newest_ms
from kreplica.fleet.rule import Circumstances
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.months.month import Incoming
from kreplica.history.selection import choose
from kreplica.system.stores.storage import LocalStorage

NEVER = 10**12
"""A snapshot is due so seldom that none is missing."""


def flaps(cluster: PlantedCluster) -> None:
    for _ in range(3):
        cluster.change("orders", 0, isr=[0, 1])
        cluster.snapshot()
        cluster.change("orders", 0, isr=[0, 1, 2])
        cluster.snapshot()


def churns(cluster: PlantedCluster) -> None:
    for epoch in (9, 12, 16):
        cluster.change("orders", 0, leader_epoch=epoch)
        cluster.snapshot()


def lowers(cluster: PlantedCluster) -> None:
    for partition in range(2):
        cluster.change("audit", partition, min_isr=1)
    cluster.snapshot()
    cluster.change("orders", 1, replicas=[1, 2], isr=[1, 2])
    cluster.snapshot(2)
    for partition in range(2):
        cluster.change("audit", partition, min_isr=2)


def moves(cluster: PlantedCluster) -> None:
    cluster.change("orders", 2, replicas=[2, 0, 1, 3], adding=[3], removing=[1])
    cluster.snapshot(26)
    cluster.change("orders", 2, replicas=[2, 0, 3], isr=[2, 0, 3], adding=[], removing=[])


def vanishes(cluster: PlantedCluster) -> None:
    gone = [cluster.partitions.pop(("audit", number)) for number in range(2)]
    cluster.brokers[2]["alive"] = False
    cluster.snapshot(2)
    cluster.brokers[2]["alive"] = True
    for number, row in enumerate(gone):
        cluster.partitions["audit", number] = {**row, "topic_id": "another"}


def sets(cluster: PlantedCluster) -> None:
    cluster.set("topic", "orders", "retention.ms", "1")
    cluster.set("broker", "1", "log.cleaner.threads", "4", "broker")
    cluster.snapshot(3)
    cluster.set("topic", "orders", "retention.ms", "2")
    cluster.set("broker", "1", "log.cleaner.threads", "1", "broker")
    cluster.set("topic", "orders", "leader.replication.throttled.replicas", "0:1")
    cluster.snapshot(3)
    cluster.set("topic", "orders", "leader.replication.throttled.replicas", None)


def loses(cluster: PlantedCluster) -> None:
    cluster.change("orders", 0, leader=-1, isr=[0], leader_epoch=6, partition_epoch=10)
    cluster.snapshot()
    cluster.change("orders", 0, leader=1, isr=[1], leader_epoch=7, partition_epoch=11)


RULES = {
    "isr-flapping": flaps,
    "leader-epoch-churn": churns,
    "min-isr-lowered": lowers,
    "replication-factor-lowered": lowers,
    "stuck-reassignment": moves,
    "vanished-topic": vanishes,
    "vanished-broker": vanishes,
    "setting-changed": sets,
    "config-drift": sets,
    "orphaned-throttle": sets,
    "unclean-election": loses,
}


@pytest.fixture
def cluster() -> PlantedCluster:
    found = PlantedCluster()
    for broker in range(3):
        found.set("broker", str(broker), "log.cleaner.threads", "1", "broker")
    found.snapshot(6)  # over the end of the month
    return found


def told(folder: Path, cluster: PlantedCluster, seen: Sequence[int], logged: slice | None) -> list[FleetFinding]:
    """Findings by the snapshots of these numbers, and by a log of some states."""
    states, storage = cluster.taken, LocalStorage(folder)
    cluster.taken = [states[number] for number in seen]
    ingest_into(storage, [cluster])
    cluster.taken = states
    if logged is not None:
        ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(slice_of(states[logged])))], storage)
    chosen = choose(storage, logs=True)
    return judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen), NEVER))


def what(one: FleetFinding) -> tuple[object, ...]:
    """What a finding is about, and when it began and was over; of what is over a day later this is not a record's."""
    ended = None if one.rule in OVER_A_DAY_LATER else one.valid_to_ms
    return one.rule, one.key, one.severity, one.certainty, one.valid_from_ms, ended


OVER_A_DAY_LATER = {"isr-flapping": 10 + 24, "leader-epoch-churn": 8 + 24}
"""Hour of the end, by rule: a day after the last event."""

FIRST = ("isr-flapping", "stuck-reassignment")
ONE_PYTHON = [pytest.mark.one_python]


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=[] if rule in FIRST else ONE_PYTHON) for rule in RULES])
def test_a_log_tells_what_a_snapshot_of_each_state_would(rule: str, cluster: PlantedCluster, tmp_path: Path) -> None:
    RULES[rule](cluster)
    cluster.snapshot(26)
    every = told(tmp_path / "every", cluster, range(len(cluster.taken)), None)
    assert rule in {one.rule for one in every}
    found = told(tmp_path / "log", cluster, [0, len(cluster.taken) - 1], slice(None))
    assert sorted(map(what, found), key=str) == sorted(map(what, every), key=str)
    for one in found:
        assert (one.exact, one.snapshots, one.longest_interval_ms) == (True, 0, 0)
        assert one.begun_after_ms == one.valid_from_ms
        assert one.last_seen_ms == one.valid_to_ms or one.valid_to_ms is None
        if one.rule in OVER_A_DAY_LATER:
            assert (hours(one)[3], one.in_newest) == (OVER_A_DAY_LATER[one.rule], False)


def test_what_lies_outside_the_time_of_a_log_has_the_bounds_of_snapshots(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    sets(cluster)  # hours 6 to 11, the throttle is gone from 12 on
    cluster.snapshot(3)
    found = told(tmp_path, cluster, [0, 3, 14], slice(5, 10))
    changes = [(hours(one), one.exact) for one in found if one.evidence.get("setting") == "retention.ms"]
    assert changes == [((6, 6, 6, 6), True), ((9, 9, 9, 9), True)]
    (throttle,) = [one for one in found if one.rule == "orphaned-throttle"] or [None]
    assert throttle is None  # of an hour of it at most is known
    (drift,) = [one for one in found if one.rule == "config-drift"]
    assert (hours(drift), drift.exact, drift.snapshots) == ((6, 6, 9, 9), True, 0)
    found = told(tmp_path / "shorter", cluster, [0, 3, 10, 14], slice(7, 10))
    (drift,) = [one for one in found if one.rule == "config-drift"]
    assert (hours(drift), drift.exact) == ((3, 7, 9, 9), False)


def test_what_no_log_holds_is_as_it_was_told_before(cluster: PlantedCluster, tmp_path: Path) -> None:
    """min.insync.replicas may stand in the files of brokers: a log has null for it then."""
    for row in cluster.partitions.values():
        row["min_isr"] = None
    stop(cluster, 2)
    cluster.snapshot(3)
    start(cluster, 2)
    cluster.snapshot(2)
    log = slice_of(cluster.taken[6:10])
    for state in cluster.taken[:6]:
        assert {row["min_isr"] for row in state.partitions.rows()} == {2}
    for row in cluster.partitions.values():
        row["min_isr"] = 1
    cluster.snapshot(2)
    states, cluster.taken = cluster.taken, [*cluster.taken[:4], *cluster.taken[11:]]
    ingest_into(LocalStorage(tmp_path), [cluster])
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(log))], LocalStorage(tmp_path))
    cluster.taken = states
    chosen = choose(LocalStorage(tmp_path), logs=True)
    found = judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen), NEVER), ["min-isr-lowered"])
    assert [(one.topic, hours(one)) for one in found] == [
        ("audit", (3, 11, 12, None)),
        ("orders", (3, 11, 12, None)),
    ]
    (down,) = [one for one in incidents_in(str(tmp_path)).incidents if one.kind == "broker-down"]
    assert down.by_rule["at-min-isr"] == 5


def test_an_incident_that_no_snapshot_saw_is_told_with_exact_borders(cluster: PlantedCluster, tmp_path: Path) -> None:
    stop(cluster, 2)
    cluster.snapshot(4)
    start(cluster, 2)
    cluster.snapshot(4)
    states, cluster.taken = cluster.taken, [cluster.taken[0], cluster.taken[-1]]
    ingest_into(LocalStorage(tmp_path), [cluster])
    assert [one.kind for one in incidents_in(str(tmp_path)).incidents] == []
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(slice_of(states)))], LocalStorage(tmp_path))
    (down,) = incidents_in(str(tmp_path)).incidents
    assert (down.kind, down.key, times_of(down)) == ("broker-down", "broker 2", (6, 6, 10, 10))
    assert down.by_rule == {"at-min-isr": 5, "leader-imbalance": 1, "under-replicated": 5, "vanished-broker": 1}
    assert {one.exact for one in (down, *down.findings)} == {True}


def test_an_incident_is_exact_only_where_the_log_tells_all_of_it_and_tells_of_such_things(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    cluster.log_dirs[0, "/data"] = {"error": None}
    cluster.snapshot()
    stop(cluster, 2)
    cluster.log_dirs[0, "/data"] = {"error": "KafkaStorageException"}
    cluster.snapshot(4)
    start(cluster, 2)
    cluster.log_dirs[0, "/data"] = {"error": None}
    cluster.snapshot(3)
    for number, logged in enumerate((slice(None), slice(0, 9), slice(8, None))):
        storage = LocalStorage(tmp_path / str(number))
        ingest_into(storage, [cluster])
        log = slice_of(cluster.taken[logged])
        ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(log))], storage)
        told = {one.kind: one.exact for one in incidents_in(storage).incidents}
        assert told == {"broker-down": number == 0, "log-directory-offline": False}
    rows = {row.kind: row.exact for row in incidents_in(LocalStorage(tmp_path / "0")).rows}
    assert rows == {"broker-down": True, "log-directory-offline": False}


def test_brokers_that_are_restarted_within_a_minute_each_are_a_rolling_restart(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    for broker in range(3):
        stop(cluster, broker)
        cluster.snapshot(every=0.004)  # seconds: only a log sees it
        start(cluster, broker)
        cluster.snapshot(every=0.004)
    cluster.snapshot(4)
    states, cluster.taken = cluster.taken, [*cluster.taken[:6], cluster.taken[-1]]
    ingest_into(LocalStorage(tmp_path), [cluster])
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(slice_of(states)))], LocalStorage(tmp_path))
    (one,) = [one for one in incidents_in(str(tmp_path)).incidents if one.kind != "no-snapshot"]
    assert (one.kind, one.brokers, one.is_planned) == ("rolling-restart", (0, 1, 2), True)
    assert times_of(one) == (6, 6, 6.02, 6.02)


@pytest.mark.parametrize(("minutes", "told"), [(30, False), (30.1, True)])
def test_a_broker_that_a_log_saw_restart_did_not_vanish(
    cluster: PlantedCluster, tmp_path: Path, minutes: float, *, told: bool
) -> None:
    row = cluster.brokers.pop(2)  # unregistered
    cluster.snapshot(every=minutes / 120)
    cluster.brokers[2] = {**row, "alive": False}  # registered anew, and still fenced
    cluster.snapshot(every=minutes / 120)
    cluster.brokers[2]["alive"] = True
    cluster.snapshot(2)
    log = slice_of(cluster.taken)
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(log))], LocalStorage(tmp_path))
    chosen = choose(LocalStorage(tmp_path), logs=True)
    found = judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen), NEVER), ["vanished-broker"])
    assert [(one.broker, one.exact) for one in found] == ([(2, True)] if told else [])


def test_a_cluster_of_which_a_log_alone_tells_is_judged(cluster: PlantedCluster, tmp_path: Path) -> None:
    lowers(cluster)
    cluster.snapshot(3)
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(slice_of(cluster.taken)))], LocalStorage(tmp_path))
    chosen = choose(LocalStorage(tmp_path), logs=True)
    found = judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen)))
    assert [(one.rule, one.topic, hours(one)) for one in found] == [
        ("min-isr-lowered", "audit", (6, 6, 9, 9)),
        ("replication-factor-lowered", "orders", (7, 7, 11, None)),
    ]
    assert incidents_in(str(tmp_path)).snapshots == 0


def test_a_controller_that_moved_between_two_snapshots_is_told_by_the_log(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    for hour in range(3):
        cluster.change("orders", 0, partition_epoch=10 + hour)  # so that there is a record
        cluster.snapshot(controller=0)
    log = slice_of(cluster.taken)
    steps = [replace(step, controller=0 if step.taken_ms < log.steps[2].taken_ms else 2) for step in log.steps]
    states, cluster.taken = cluster.taken, [cluster.taken[0]]
    ingest_into(LocalStorage(tmp_path), [cluster])
    ingest([Candidate(cluster.label, cluster.name, Incoming.of_log(replace(log, steps=steps)))], LocalStorage(tmp_path))
    chosen = choose(LocalStorage(tmp_path), logs=True)
    (one,) = judge_cluster(ClusterHistory(chosen.months), Circumstances(newest_ms(chosen), NEVER))
    assert (one.rule, one.broker, hours(one), one.exact) == ("controller-changes", 2, (7, 7, 7, 7), True)
    told = incidents_in(str(tmp_path))
    assert told.names == {"c1": "prod"}  # by its only snapshot, of the month before
    (moved,) = told.incidents
    assert (moved.kind, moved.key, times_of(moved)[:2]) == ("controller-moved", "from 0 to 2", (7, 7))
    assert len(states) == 9


def test_an_unclean_election_is_proved_by_its_own_sign_where_there_is_one(
    cluster: PlantedCluster, tmp_path: Path
) -> None:
    loses(cluster)
    cluster.snapshot()
    found = told(tmp_path, cluster, [0], slice(0, len(cluster.taken)))
    (one,) = (one for one in found if one.rule == "unclean-election")
    assert (one.certainty, one.evidence["proof"]) == (Certainty.PROVED, "partition-epoch")
