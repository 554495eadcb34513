"""A cluster as it was where a metadata log tells of the moment: the state at the log's offset then."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kreplica import ingest_dumps, lives_in
from kreplica.formats.metadata_log.files import Replay, find_metadata, history
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.lives.rows import ClusterPeriod
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import taken_ms_of
from kreplica.history.reading import open_history
from kreplica.history.tables import LOG_TABLES
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.sources.dumps.kraft import read_kraft_metadata
from kreplica.sources.dumps.kraft_log import log_slices
from kreplica.system.stores.storage import LocalStorage

HOME = Path(__file__).parents[3] / "golden/kafka-4.3.1/killed-all/broker-1/data/__cluster_metadata-0"


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A history of the log, and of the snapshot of its end that comes with it."""
    ingest_dumps([HOME], tmp_path)
    return tmp_path


def written() -> list[tuple[int, int]]:
    """Time and offset of each record of the log."""
    replay = Replay()
    return [(replay.image.timestamp or 0, entry.offset) for entry, _ in history(find_metadata(str(HOME)), replay, None)]


def at(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def plain(snapshot: ClusterSnapshot) -> dict[str, list[dict[str, object]]]:
    """What a log tells of a cluster, without columns that a history leaves out."""
    return {
        table.name: [row | dict.fromkeys(table.measured) for row in snapshot.table(table.of).sorted().rows()]
        for table in LOG_TABLES
    }


def test_before_the_first_snapshot_the_log_tells_the_state_at_its_offset(logged: Path) -> None:
    records = written()
    times = [time for time, _ in records]
    for time in times[30::250]:
        offset = records[bisect_right(times, time) - 1][1] + 1
        expected = read_kraft_metadata(str(HOME), offset)
        then = open_history(logged).as_of(expected.cluster_id, at(time))
        assert plain(then) == plain(expected), offset
        assert (then.controller, then.features) == (expected.controller, expected.features)
        assert (then.cluster_id, then.source, then.taken_at) == (expected.cluster_id, "kraft-metadata", at(time))
        (note,) = then.notes
        assert note.startswith("partitions, brokers and settings are those of the metadata log then, offset ")
        assert int(note.split()[-1]) <= offset


def test_what_the_log_does_not_tell_is_as_snapshots_told_it(logged: Path, snapshot_with: Any) -> None:
    records = written()
    time = records[len(records) // 2][0]
    offset = records[bisect_right([one for one, _ in records], time) - 1][1] + 1
    expected = read_kraft_metadata(str(HOME), offset)

    def setting(kind: str, entity: str, name: str, value: str) -> dict[str, object]:
        return {"entity_type": kind, "entity": entity, "name": name, "value": value, "origin": "broker-static"}

    kept = [setting("broker", "2", "log.dirs", "/a"), setting("topic", "inventory", "flush.ms", "5")]
    stale = [setting("topic", "inventory", "cleanup.policy", "delete"), setting("topic", "gone", "flush.ms", "5")]
    partition = {"partition": 0, "replicas": [9], "isr": [9], "leader": 9, "unclean_leader_election": True}
    before = snapshot_with(
        [{"topic": "inventory", **partition}, {"topic": "gone", **partition}],
        [{"broker": 2, "alive": False, "version": "4.3.1"}, {"broker": 9, "alive": True}],
        taken_at=at(time - 1000),
        source="kafka",
        cluster_id=expected.cluster_id,
        configs=Table.from_rows(CONFIGS, [*kept, *stale]),
    )
    incoming = Incoming(taken_ms_of(before), "before", lambda: before, "before")
    ingest([Candidate(before.cluster_id, "prod", incoming)], LocalStorage(logged))
    then = open_history(logged).as_of(before.cluster_id, at(time))
    told = plain(expected)
    for row in told["partitions"]:
        if (row["topic"], row["partition"]) == ("inventory", 0):
            assert row["unclean_leader_election"] is None
            row["unclean_leader_election"] = True
    told["configs"] = sorted([*told["configs"], *kept], key=lambda row: [str(row[name]) for name in CONFIGS.sort])
    assert plain(then) == told
    assert {row["broker"]: row["version"] for row in then.brokers.rows()} == {1: None, 2: "4.3.1", 3: None}
    assert (then.source, then.taken_at, len(then.notes)) == ("kafka", at(time - 1000), 2)
    assert then.gaps == ()


def test_after_the_end_of_the_log_snapshots_alone_count(logged: Path) -> None:
    end = read_kraft_metadata(str(HOME))
    then = open_history(logged).as_of(end.cluster_id, end.taken_at + timedelta(seconds=5))
    assert not any("metadata log" in note for note in then.notes)
    assert plain(then)["partitions"] == plain(end)["partitions"]


def test_rows_that_the_log_tells_are_not_those_of_earlier_snapshots(logged: Path, snapshot_with: Any) -> None:
    cluster = read_kraft_metadata(str(HOME)).cluster_id
    records = written()
    time = records[len(records) // 2][0]
    gap = Gap("torn-read", "changed meanwhile", 1)
    partition = {"topic": "inventory", "partition": 0, "replicas": [9], "isr": [9], "leader": 9}
    for seconds, rows, gaps in ((2, [partition], ()), (1, [], (gap,))):
        taken_at = at(time - seconds * 1000)
        one = snapshot_with(rows, [], taken_at=taken_at, source="kafka", cluster_id=cluster, gaps=gaps)
        incoming = Incoming(taken_ms_of(one), f"{seconds}", lambda one=one: one, f"{seconds}")  # type: ignore[misc]
        ingest([Candidate(cluster, "prod", incoming)], LocalStorage(logged))
    assert open_history(logged).as_of(cluster, at(time)).gaps == (gap,)


def of_log_alone(root: Path, cluster: str | None) -> None:
    """Takes in the log without the snapshot of its end."""
    slices, _ = log_slices(find_metadata(str(HOME)))
    ingest([Candidate(cluster, "prod", Incoming.of_log(one)) for one in slices], LocalStorage(root))


def taken_at(root: Path, snapshot_with: Any, cluster: str | None, moment: datetime) -> None:
    """Takes in a snapshot of a cluster of other partitions, whose brokers tell their version."""
    partition = {"topic": "old", "partition": 0, "replicas": [9], "isr": [9], "leader": 9}
    brokers = [{"broker": 2, "alive": True, "version": "4.3.1"}]
    one = snapshot_with([partition], brokers, taken_at=moment, source="kafka", cluster_id=cluster)
    incoming = Incoming(taken_ms_of(one), f"{moment}", lambda: one, "a snapshot")
    ingest([Candidate(cluster, "prod", incoming)], LocalStorage(root))


def test_without_a_moment_a_log_that_goes_on_after_the_newest_snapshot_tells(
    tmp_path: Path, snapshot_with: Any
) -> None:
    end = read_kraft_metadata(str(HOME))
    of_log_alone(tmp_path, end.cluster_id)
    alone = open_history(tmp_path).as_of(end.cluster_id)
    assert plain(alone) == plain(end)
    assert (alone.name, alone.taken_at, alone.as_of) == (end.cluster_id, end.taken_at, None)
    taken_at(tmp_path, snapshot_with, end.cluster_id, end.taken_at - timedelta(seconds=20))
    then = open_history(tmp_path).as_of(end.cluster_id)
    assert plain(then)["partitions"] == plain(end)["partitions"]
    assert {row["broker"]: row["version"] for row in then.brokers.rows()} == {1: None, 2: "4.3.1", 3: None}
    assert (then.name, then.as_of, then.controller) == ("test", None, end.controller)
    (note,) = then.notes
    assert note.startswith("partitions, brokers and settings are those of the metadata log at its end, ")
    assert end.taken_at.isoformat() in note


def test_without_a_moment_a_snapshot_after_the_end_of_the_log_counts_alone(tmp_path: Path, snapshot_with: Any) -> None:
    end = read_kraft_metadata(str(HOME))
    of_log_alone(tmp_path, end.cluster_id)
    taken_at(tmp_path, snapshot_with, end.cluster_id, end.taken_at + timedelta(seconds=1))
    then = open_history(tmp_path).as_of(end.cluster_id)
    assert [row["topic"] for row in then.partitions.rows()] == ["old"]
    assert then.notes == ()


def test_the_list_of_clusters_has_the_time_that_logs_tell(tmp_path: Path, snapshot_with: Any) -> None:
    end = read_kraft_metadata(str(HOME))
    first = written()[0][0]
    of_log_alone(tmp_path, end.cluster_id)
    (alone,) = lives_in(tmp_path).rows
    assert isinstance(alone, ClusterPeriod)
    assert (alone.snapshots, alone.valid_from, alone.last_seen) == (0, at(first).isoformat(), end.taken_at.isoformat())
    assert (alone.pauses, alone.longest_pause_seconds) == (0, None)
    later = end.taken_at + timedelta(days=1)
    taken_at(tmp_path, snapshot_with, end.cluster_id, later)
    (both,) = lives_in(tmp_path).rows
    assert isinstance(both, ClusterPeriod)
    assert (both.snapshots, both.valid_from, both.last_seen) == (1, at(first).isoformat(), later.isoformat())
