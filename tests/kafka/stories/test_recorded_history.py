"""Findings of audit about a cluster that was recorded while this test did things to it equal what was done.

The cluster is real; the clock of its snapshots runs ``FASTER`` than ours: a broker that is down for half a minute was
down for half an hour, longer than a restart takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from real_clusters.moves import connection_to, start_move
from real_clusters.views import wait_for_leaders, wait_for_replicas
from waiting import until

import kreplica
from kreplica.errors import KreplicaError
from kreplica.fleet.finding import Certainty
from kreplica.fleet.incidents.fleet import FoundIncidents
from kreplica.fleet.incidents.rows import IncidentRow
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.table import Table
from kreplica.sandbox import Mode, Sandbox
from kreplica.sources import Facet

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

FASTER = 60
"""Seconds on the clock of the snapshots for one of ours: a restart, 30 min at most by the docs, takes 30 s at most."""
FAST_FAULTS = {"replica.lag.time.max.ms": "4000", "broker.session.timeout.ms": "4000"}
LONGER_THAN_A_RESTART = 32.0
MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Did:
    """One thing that was done: when we began it, and when every broker knew it, by the clock of the snapshots."""

    what: str
    begun: datetime
    known: datetime


class Recording:
    """Takes snapshots of a sandbox one after the other, in a thread, and keeps what was done to it."""

    def __init__(self, sandbox: Sandbox, dumps: Path) -> None:
        self.handle = kreplica.ClusterHandle("recorded", bootstrap_servers=sandbox.bootstrap_servers, timeout=10)
        self.dumps = dumps
        self.done: list[Did] = []
        self.snapshots = 0
        self._begin = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._record)

    def now(self) -> datetime:
        return MARCH + timedelta(seconds=(time.monotonic() - self._begin) * FASTER)

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """What is done in the block is known to all behind it; two snapshots are taken of that."""
        begun = self.now()
        yield
        self.done.append(Did(what, begun, self.now()))
        self.see()

    def see(self, snapshots: int = 2) -> None:
        """Waits for snapshots that begin from now on."""
        wanted = self.snapshots + 1 + snapshots  # one may be under way
        until(lambda: self.snapshots >= wanted or not self._thread.is_alive(), "snapshots")

    def __enter__(self) -> Recording:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _record(self) -> None:
        while not self._over.is_set():
            asked = self.now()
            try:
                snapshot = kreplica.read_snapshot(self.handle, Facet.HEALTH | Facet.TOPIC_CONFIGS)
            except KreplicaError:
                continue  # the broker that was asked is the one that has just gone
            kreplica.write_snapshot(replace(with_room(snapshot), taken_at=asked), self.dumps)
            self.snapshots += 1
            self._over.wait(0.5)


def with_room(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot with volumes that are half full, however full the one of this machine is."""
    rows = [{**row, "usable_bytes": row["total_bytes"] // 2} for row in snapshot.log_dirs.rows()]
    return replace(snapshot, log_dirs=Table.from_rows(snapshot.log_dirs.schema, rows))


@pytest.mark.timeout(600)
def test_what_is_told_is_what_was_done(sandbox_factory: object, tmp_path: Path) -> None:
    assert callable(sandbox_factory)
    sandbox: Sandbox = sandbox_factory(
        name="recorded", mode=Mode.KRAFT, controllers=1, racks=("a", "b", "c"), broker_settings=FAST_FAULTS
    )
    sandbox.create_topic("orders", assignment=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], configs={"min.insync.replicas": "2"})
    sandbox.create_topic("pairs", assignment=[[1, 2]], configs={"min.insync.replicas": "1"})
    unclean = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    sandbox.create_topic("loose", assignment=[[1, 2]], configs=unclean)
    with Recording(sandbox, tmp_path / "dumps") as recording:
        recording.see()
        do_all(sandbox, recording)
    kreplica.ingest_dumps([tmp_path / "dumps"], tmp_path / "history")
    compared(kreplica.incidents_in(tmp_path / "history"), {one.what: one for one in recording.done})
    (moved,) = [
        stretch
        for stretch in kreplica.lives_in(tmp_path / "history", "pairs", 0).rows
        if "replicas 1,2 -> 1,3" in str(stretch.changed)
    ]
    assert_within(moved.valid_from, next(one for one in recording.done if one.what == "moved"))


def do_all(sandbox: Sandbox, recording: Recording) -> None:
    with recording.of("killed"):
        sandbox.kill(2)
        sandbox.wait_for_brokers(gone=[2])
        sandbox.wait_for_isr("orders", 0, {1, 3})
    time.sleep(LONGER_THAN_A_RESTART)
    with recording.of("back"):
        sandbox.start_broker(2)
        sandbox.wait_for_healthy()
    with recording.of("rolled"):
        for broker in sandbox.broker_ids:
            sandbox.shut_down(broker)
            sandbox.wait_for_brokers(gone=[broker])
            recording.see()
            sandbox.start_broker(broker)
            sandbox.wait_for_healthy()
            recording.see()
    with recording.of("moved"):
        start_move(connection_to(sandbox, 1), "pairs", 0, [1, 3])
        wait_for_replicas(sandbox, "pairs", [[1, 3]])
    with recording.of("lowered"):
        alter = ("--alter", "--entity-type", "topics", "--entity-name", "orders")
        sandbox.tool("configs", *alter, "--add-config", "min.insync.replicas=1")
    with recording.of("second killed"):
        sandbox.kill(2)
        sandbox.wait_for_brokers(gone=[2])
        sandbox.wait_for_isr("loose", 0, {1})
    with recording.of("leader killed"):
        sandbox.kill(1)
        sandbox.wait_for_brokers(gone=[1])
        wait_for_leaders(sandbox, "loose", [-1])
    with recording.of("elected uncleanly"):
        sandbox.start_broker(2)
        wait_for_leaders(sandbox, "loose", [2])
    with recording.of("all back"):
        sandbox.start_broker(1)
        sandbox.wait_for_healthy()


def compared(found: FoundIncidents, done: dict[str, Did]) -> None:
    rows = sorted(found.rows, key=lambda row: row.valid_from)
    told = {(row.kind, row.key): row for row in rows if row.kind != "broker-down"}
    first, second, third = (row for row in rows if row.kind == "broker-down")
    assert [row.key for row in (first, second, third)] == ["broker 2", "broker 2", "broker 1"]
    assert_began_and_ended(first, done["killed"], done["back"])
    assert_began_and_ended(second, done["second killed"], done["elected uncleanly"])
    assert_began_and_ended(third, done["leader killed"], done["all back"])
    roll = told.pop(("rolling-restart", "brokers 1, 2, 3"))
    assert roll.planned
    assert roll.evidence["order"] == [1, 2, 3]
    assert done["rolled"].begun < moment(roll.valid_from) < moment(roll.valid_to) < done["moved"].begun
    findings = {(one.rule, one.topic): one for incident in found.incidents for one in incident.findings}
    unclean = findings["unclean-election", "loose"]
    assert unclean.certainty in (Certainty.PROVED, Certainty.LIKELY)
    assert_within(unclean.valid_from_ms, done["elected uncleanly"])
    lowered = findings["min-isr-lowered", "orders"]
    assert_within(lowered.valid_from_ms, done["lowered"])
    told.pop(("no-snapshot", "cluster"), None)  # where the broker that was asked had just gone, a read takes long
    told.pop(("reassignment", "1 partition"), None)  # where a snapshot was taken while it went on
    assert set(told) == {("setting", "min.insync.replicas 2 -> 1 of orders")}
    assert not [one for one in found.left_over if one.rule != "leader-imbalance"]


def assert_began_and_ended(row: IncidentRow, began: Did, ended: Did) -> None:
    """It lies between what was seen before it was done and what was seen behind it."""
    assert row.begun_after is not None
    assert row.valid_to is not None
    assert moment(row.begun_after) <= began.known, (row, began)
    assert began.begun <= moment(row.valid_from), (row, began)
    assert moment(row.last_seen) <= ended.known, (row, ended)
    assert ended.begun <= moment(row.valid_to), (row, ended)


def assert_within(at: str | int, did: Did) -> None:
    """It is first told by a snapshot that began when it was being done, or soon after it."""
    told = moment(at)
    assert did.begun <= told <= did.known + timedelta(seconds=20 * FASTER), (told, did)


def moment(at: str | int | None) -> datetime:
    assert at is not None
    return datetime.fromisoformat(at) if isinstance(at, str) else datetime.fromtimestamp(at / 1000, UTC)
