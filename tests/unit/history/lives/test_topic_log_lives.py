"""The life of a topic where metadata logs tell it: as its partitions' lives, and as the log's state at each border."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from suite.second_python import first_on_each

from kreplica import lives_in
from kreplica.formats.metadata_log.files import Replay, find_metadata
from kreplica.formats.metadata_log.files import history as records_of
from kreplica.history.ingest import Candidate, ingest
from kreplica.history.lives.rows import PartitionStretch, Row, TopicStretch
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import taken_ms_of
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.kraft import read_kraft_metadata
from kreplica.sources.dumps.kraft_log import log_slices
from kreplica.system.stores.storage import LocalStorage

HOME = Path(__file__).parents[3] / "golden/kafka-4.3.1/killed-all/broker-1/data/__cluster_metadata-0"
END = read_kraft_metadata(str(HOME))


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A history of the log alone."""
    slices, _ = log_slices(find_metadata(str(HOME)))
    ingest([Candidate(END.cluster_id, "prod", Incoming.of_log(one)) for one in slices], LocalStorage(tmp_path))
    return tmp_path


def written() -> list[tuple[int, int]]:
    """Time and offset of each record of the log."""
    replay, found = Replay(), []
    for entry, _ in records_of(find_metadata(str(HOME)), replay, None):
        found.append((replay.image.timestamp or 0, entry.offset))
    return found


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def topic_life(history: Path, topic: str) -> list[TopicStretch]:
    rows: list[Row] = lives_in(history, topic).rows
    return [row for row in rows if isinstance(row, TopicStretch)]


def partition_of(snapshot: ClusterSnapshot, topic: str) -> list[dict[str, Any]]:
    return [row for row in snapshot.partitions.rows() if row["topic"] == topic]


TOPICS = sorted({str(row["topic"]) for row in END.partitions.rows()})[:3]


@pytest.mark.parametrize("topic", first_on_each(TOPICS, first=1))
def test_a_topic_changes_when_its_partitions_do_and_is_what_the_log_holds_then(logged: Path, topic: str) -> None:
    records = written()
    times = [time for time, _ in records]
    found = topic_life(logged, topic)
    borders: set[str] = set()
    for row in partition_of(END, topic):
        life = lives_in(logged, topic, row["partition"]).rows
        borders.update(one.valid_from for one in life if isinstance(one, PartitionStretch))
    assert {one.valid_from for one in found} == borders
    assert len(found) > 2
    for one, after in zip(found, [*found[1:], None], strict=True):
        offset = records[bisect_right(times, milliseconds(one.valid_from)) - 1][1] + 1
        rows = partition_of(read_kraft_metadata(str(HOME), offset), topic)
        assert (one.kind.value, one.snapshots) == ("state" if rows else "absent", 0)
        assert one.valid_to == (None if after is None else after.valid_from)
        if rows:
            behind = sum(len(row["isr"]) < len(row["replicas"]) for row in rows)
            assert (one.partitions, one.under_replicated) == (len(rows), behind)
            assert one.offline == sum(row["leader"] < 0 for row in rows)


def test_snapshots_tell_what_no_log_does(logged: Path, snapshot_with: Any) -> None:
    """One inside the time of the log counts for nothing; one after it does, and a null of the log is no change."""
    topic = "inventory"
    before = topic_life(logged, topic)
    last = partition_of(END, topic)
    assert {row["unclean_leader_election"] for row in last} == {None}
    stale = [{**row, "leader": 9, "replicas": [9], "isr": [9]} for row in last]
    known = [{**row, "unclean_leader_election": False} for row in last]
    first = datetime.fromtimestamp(written()[0][0] / 1000, UTC)
    inside = first + (END.taken_at - first) / 2
    for number, (rows, moment) in enumerate([(stale, inside), (known, END.taken_at + timedelta(seconds=1))]):
        one = snapshot_with(rows, [], taken_at=moment, source="kafka", cluster_id=END.cluster_id)
        incoming = Incoming(taken_ms_of(one), f"{number}", lambda one=one: one, f"{number}")  # type: ignore[misc]
        ingest([Candidate(END.cluster_id, "prod", incoming)], LocalStorage(logged))
    after = [row for row in topic_life(logged, topic) if row.kind.value != "pause"]
    assert after[:-1] == before[:-1]
    assert (after[-1].valid_from, after[-1].valid_to) == (before[-1].valid_from, None)
    assert after[-1].snapshots == 1
    assert after[-1].last_seen == (END.taken_at + timedelta(seconds=1)).isoformat()
