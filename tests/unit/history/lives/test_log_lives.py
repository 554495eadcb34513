"""Lives by metadata logs: the times and states of their records, beside snapshots that reach outside their time."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from histories.folders import candidate, moment
from histories.logs import APRIL, KEYS, LED, Log, taken_in
from histories.observations import HOUR, MARCH, observed
from log_files.dump_log import DumpedBatch, dumped_files
from suite.second_python import first_on_each

from kreplica import ingest_dumps, lives_in
from kreplica.errors import UsageError
from kreplica.history.ingest import Candidate, ingest, time_text
from kreplica.history.lives.rows import BrokerStretch, PartitionStretch
from kreplica.history.model import Observation
from kreplica.history.months.month import Incoming
from kreplica.history.months.observations import taken_ms_of
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from kreplica.sources.dumps.kraft import read_kraft_metadata
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

GOLDEN = Path(__file__).parents[3] / "golden/kafka-4.3.1"
HOME = GOLDEN / "killed-all/broker-1/data/__cluster_metadata-0"
ORDERS = KEYS[0]
EVERYTHING = Wanted()


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> list[DumpedBatch]:
    """Batches of the log as Kafka's DumpLogSegments printed them."""
    text = tmp_path_factory.mktemp("dump") / "dump.txt"
    text.write_bytes(gzip.decompress((GOLDEN / "dump-killed-all/broker-1/cluster-metadata.txt.gz").read_bytes()))
    (batches,) = [file.batches for file in dumped_files(text) if file.path.endswith("00000000000000000000.log")]
    return batches


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of the log, and of the snapshot of its end that comes with it."""
    root = tmp_path_factory.mktemp("history")
    ingest_dumps([HOME], root)
    return root


def records(dumped: Sequence[DumpedBatch], *types: str) -> list[tuple[int, dict[str, Any]]]:
    """Times and contents of the records of some types, as Kafka printed them."""
    found = []
    for batch in dumped:
        for record in batch.records:
            told = json.loads(str(record["rest"]).partition("payload: ")[2] or "{}")
            if told.get("type") in types:
                found.append((int(str(record["timestamp"])), told["data"]))
    return found


def partition_life(root: Path, topic: str, partition: int, wanted: Wanted = EVERYTHING) -> list[PartitionStretch]:
    rows = lives_in(root, topic, partition, wanted=wanted).rows
    return [row for row in rows if isinstance(row, PartitionStretch)]


def broker_life(root: Path, broker: int) -> list[BrokerStretch]:
    return [row for row in lives_in(root, broker=broker).rows if isinstance(row, BrokerStretch)]


@pytest.mark.parametrize(
    ("topic", "partition"), first_on_each([("orders", 2), ("inventory", 0), ("__consumer_offsets", 7)], 1)
)
def test_a_partition_is_at_each_moment_what_the_log_says_at_its_offset(
    dumped: list[DumpedBatch], logged: Path, topic: str, partition: int
) -> None:
    rows = partition_life(logged, topic, partition)
    topic_ids = {data["topicId"] for _, data in records(dumped, "TOPIC_RECORD") if data["name"] == topic}
    written = {
        at
        for at, data in records(dumped, "PARTITION_RECORD", "PARTITION_CHANGE_RECORD")
        if data["topicId"] in topic_ids and data["partitionId"] == partition
    }
    assert len(written) > 5
    assert written <= {round(1000 * _seconds(row.valid_from)) for row in rows}
    assert [row.kind.value for row in rows] == ["absent"] + ["state"] * (len(rows) - 1)
    assert all(row.exact for row in rows)
    assert [row.valid_to for row in rows] == [*(row.valid_from for row in rows[1:]), None]
    assert [row.last_seen for row in rows[:-1]] == [row.valid_to for row in rows[:-1]]
    times = [int(str(record["timestamp"])) for batch in dumped for record in batch.records]
    offsets = [int(str(record["offset"])) for batch in dumped for record in batch.records]
    for row in rows[1:]:
        offset = offsets[bisect_right(times, round(1000 * _seconds(row.valid_from))) - 1] + 1
        (then,) = [
            one
            for one in read_kraft_metadata(str(HOME), offset).partitions.rows()
            if (one["topic"], one["partition"]) == (topic, partition)
        ]
        for name in ("leader", "leader_epoch", "isr", "replicas", "topic_id"):
            value = getattr(row, name)
            assert (list(value) if isinstance(value, tuple) else value) == then[name], (row.valid_from, name)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_broker_is_fenced_and_set_otherwise_when_its_records_were_written(
    dumped: list[DumpedBatch], logged: Path
) -> None:
    rows = broker_life(logged, 2)
    assert all(row.exact for row in rows)
    fenced = [
        (at, data["fenced"] in (True, 1))
        for at, data in records(dumped, "REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD")
        if data["brokerId"] == 2 and data.get("fenced") is not None
    ]
    changes = [next(some) for _, some in groupby(fenced, key=lambda one: one[1])]
    assert len(changes) == 4
    states = [(row.valid_from, row.fenced, row.alive) for row in rows if row.kind.value == "state"]
    told = [next(some) for _, some in groupby(states, key=lambda one: one[1])]
    assert told == [(time_text(at), state, not state) for at, state in changes]
    settings = [(row.valid_from, row.changed) for row in rows if row.kind.value == "settings"]
    set_at = [
        at for at, data in records(dumped, "CONFIG_RECORD") if (data["resourceType"], data["resourceName"]) == (4, "2")
    ]
    assert [at for at, _ in settings] == [time_text(at) for at in sorted(set(set_at))]
    assert settings[1][1] == "; ".join(
        f"{side}.replication.throttled.rate 3000 -> 50000000" for side in ("follower", "leader")
    )


def test_leaderships_of_a_broker_are_those_of_the_log(dumped: list[DumpedBatch], logged: Path) -> None:
    gained = lost = 0
    leaders: dict[tuple[str, int], int] = {}
    every = records(dumped, "PARTITION_RECORD", "PARTITION_CHANGE_RECORD")
    for _, some in groupby(every, key=lambda one: one[0]):  # what one append time changes is one change
        told = [((data["topicId"], data["partitionId"]), data.get("leader")) for _, data in some]
        after = {key: leader for key, leader in told if leader not in (None, -2)}
        for key, leader in after.items():
            before = leaders.get(key)
            gained += before not in (None, leader) and leader == 2
            lost += before == 2 != leader
        leaders |= after
    states = [row for row in broker_life(logged, 2) if row.kind.value == "state"]
    assert gained > 5
    assert (sum(row.gained or 0 for row in states), sum(row.lost or 0 for row in states)) == (gained, lost)


def at(seconds: float) -> str:
    return time_text(APRIL + round(seconds * 1000))


def seen(seconds: float, leader: int | None = None, *, whole: bool = True) -> Observation:
    """A snapshot so many seconds after April begins; 7 is the leader that 1 stands for."""
    rows = {} if leader is None else {ORDERS: {"leader": leader}}
    return observed((APRIL - MARCH) / HOUR + seconds / 3600, rows, whole=whole)


def kept(root: Path, *snapshots: Observation) -> Path:
    ingest([candidate(one) for one in snapshots], LocalStorage(root))
    return root


def told(rows: Sequence[PartitionStretch]) -> list[tuple[Any, ...]]:
    names = ("valid_from", "last_seen", "valid_to", "leader", "snapshots", "exact")
    return [(row.kind.value, *(getattr(row, name) for name in names)) for row in rows]


LED_ROWS = [
    ("absent", at(0), at(1), at(1), None, 0, True),
    ("state", at(1), at(2), at(2), 1, 0, True),
    ("state", at(2), at(3), at(3), 2, 0, True),
    ("absent", at(3), at(3), None, None, 0, True),
]


def test_rows_of_snapshots_stay_where_they_reach_outside_the_time_of_a_log(tmp_path: Path) -> None:
    taken_in(tmp_path, [LED.slice(0, 3)])
    kept(tmp_path, seen(-3600, 0), seen(0.5), seen(1.5, 1), seen(2.5, whole=False), seen(3600, 1))
    assert told(partition_life(tmp_path, *ORDERS)) == [
        ("state", at(-3600), at(-3600), at(0.5), 0, 1, False),
        *LED_ROWS[:2],
        ("state", at(1.5), at(3600), None, 7, 2, False),
        *LED_ROWS[2:],
    ]


def test_what_a_log_tells_is_neither_a_pause_nor_unknown(tmp_path: Path) -> None:
    still = Log([{ORDERS: 7}] * 10, range(10))
    taken_in(tmp_path / "pause", [still.slice(5, 8)])
    kept(tmp_path / "pause", *(seen(seconds, 1) for seconds in (0, 1, 2, 3, 20, 21)))
    pauses = [row for row in told(partition_life(tmp_path / "pause", *ORDERS)) if row[0] == "pause"]
    assert pauses == [("pause", at(8), None, at(20), None, 0, False)]
    taken_in(tmp_path / "begins", [still.slice(7, 8)])
    begins = told(partition_life(kept(tmp_path / "begins", *(seen(second, 1) for second in (0, 1, 2, 3))), *ORDERS))
    assert [row for row in begins if row[0] == "pause"] == [("pause", at(3), None, at(7), None, 0, False)]
    taken_in(tmp_path / "unknown", [still.slice(2, 4)])
    some = [seen(0, 1), *(seen(seconds, whole=False) for seconds in (1, 3, 6)), seen(7, 1)]
    unknown = told(partition_life(kept(tmp_path / "unknown", *some), *ORDERS))
    assert [row for row in unknown if row[0] == "unknown"] == [
        ("unknown", at(1), at(1), at(2), None, 1, False),
        ("unknown", at(6), at(6), at(7), None, 1, False),
    ]
    hidden = [seen(0, 1), *(observed(4 + second / 3600, {ORDERS: {}, KEYS[1]: {}}) for second in (1, 3)), seen(7, 1)]
    taken_in(tmp_path / "lacking", [still.slice(2, 4)])
    lacking = partition_life(kept(tmp_path / "lacking", *hidden), *ORDERS)
    assert [(row.valid_from, row.valid_to, row.changed) for row in lacking if row.kind.value == "unknown"] == [
        (at(1), at(2), "not told: leader")
    ]


def test_a_log_without_snapshots_is_a_life_within_the_time_that_is_asked_for(tmp_path: Path) -> None:
    taken_in(tmp_path, [LED.slice(0, 3)])
    assert told(partition_life(tmp_path, *ORDERS)) == LED_ROWS
    lives = lives_in(tmp_path, *ORDERS)
    assert [(one.cluster, one.name, one.snapshots) for one in lives.clusters] == [("Zk5", "Zk5", 0)]
    assert (lives.clusters[0].since_ms, lives.clusters[0].newest_ms) == (APRIL, APRIL + 3000)
    some = Wanted((), moment(APRIL + 1500), moment(APRIL + 2500))
    assert told(partition_life(tmp_path, *ORDERS, some)) == [
        ("state", at(1.5), at(2), at(2), 1, 0, True),
        ("state", at(2), at(2.5), None, 2, 0, True),
    ]
    with pytest.raises(UsageError, match="no snapshot that is wanted"):
        lives_in(tmp_path, *ORDERS, wanted=Wanted((), moment(APRIL + 3001)))


def test_where_records_are_missing_nothing_is_exact(tmp_path: Path) -> None:
    taken_in(tmp_path, [LED.slice(0, 1), LED.slice(2, 3)])
    assert told(partition_life(tmp_path, *ORDERS)) == [
        LED_ROWS[0],
        ("state", at(1), at(1), at(2), 1, 0, False),
        *LED_ROWS[2:],
    ]


def test_settings_that_no_log_holds_are_told_by_snapshots(tmp_path: Path, snapshot_with: Any) -> None:
    ingest_dumps([HOME], tmp_path)
    cluster = read_kraft_metadata(str(HOME)).cluster_id
    end = read_kraft_metadata(str(HOME)).taken_at
    for minutes, rate, directory in ((3, "1", "/a"), (2, "2", "/b")):
        own = {"follower.replication.throttled.rate": rate, "log.dirs": directory}
        rows = [
            {"entity_type": "broker", "entity": "2", "name": name, "value": value, "origin": "broker-static"}
            for name, value in own.items()
        ]
        taken_at = end - timedelta(minutes=minutes)
        configs = Table.from_rows(CONFIGS, rows)
        one = snapshot_with([], [], taken_at=taken_at, source="kafka", cluster_id=cluster, configs=configs)
        incoming = Incoming(taken_ms_of(one), f"{minutes}", lambda one=one: one, f"{minutes}")  # type: ignore[misc]
        ingest([Candidate(cluster, "prod", incoming)], LocalStorage(tmp_path))
    rows = [row for row in broker_life(tmp_path, 2) if row.kind.value == "settings"]
    assert [row.exact for row in rows].count(True) == 3
    assert [row.changed for row in rows if not row.exact] == ["log.dirs /a -> /b"]
