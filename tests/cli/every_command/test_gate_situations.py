"""Exit codes of the gates on dumps and where nobody answers, row by row of the table in docs/gates.md."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clusters.gate_situations import GATES, ON_DUMPS
from clusters.generated import hidden, partition, snapshot_of

from kreplica.model.snapshot import ClusterSnapshot, Gap, utc_now
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.store.writing import write_snapshot

BROKERS = [{"broker": broker, "alive": True, "rack": f"r{broker}"} for broker in (1, 2, 3)]
HEALTHY = [partition(), partition(number=1, replicas=[2, 3, 1], isr=[2, 3, 1], leader=2)]
LEADERLESS = partition("single", replicas=[1], isr=[1], leader=-1, min_isr=1)
NOW = utc_now()
"""When this file was read; a dump is written as of when its test runs."""
SILENT = Gap("silent-brokers", "broker 3 did not answer within 10 s", 1)
TEXT = """\
Topic: orders\tTopicId: PL_pUVrcRZ6xxe-QmvUVHQ\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3
"""
KCAT = {
    "originating_broker": {"id": 1, "name": "localhost:9092/1"},
    "brokers": [{"id": broker, "name": f"localhost:909{broker}"} for broker in (1, 2, 3)],
    "topics": [
        {
            "topic": "orders",
            "partitions": [
                {"partition": 0, "leader": 1, "replicas": [{"id": 1}, {"id": 2}], "isrs": [{"id": 1}, {"id": 2}]}
            ],
        }
    ],
}


def cluster(*rows: dict[str, Any], **facts: Any) -> ClusterSnapshot:
    return snapshot_of(rows or HEALTHY, BROKERS, **{"source": "zookeeper", "taken_at": NOW, **facts})


def write_dump(snapshot: ClusterSnapshot, path: Path) -> None:
    """As old as the snapshot says, counted from now: a run of all tests takes longer than a dump is young."""
    write_snapshot(replace(snapshot, taken_at=snapshot.taken_at + (utc_now() - NOW)), path)


def with_voters(last_fetch: dict[int, int]) -> ClusterSnapshot:
    """In KRaft mode; of each voter when it has last fetched, in ms."""
    rows = [{"node": node, "voter": True, "leader": node == 11, "last_fetch_ms": at} for node, at in last_fetch.items()]
    return replace(cluster(source="kafka"), quorum=Table.from_rows(QUORUM, rows))


DAY = timedelta(days=1)
SNAPSHOTS: dict[str, tuple[ClusterSnapshot, tuple[str, ...]]] = {
    "healthy": (cluster(), ()),
    "old": (cluster(taken_at=NOW - DAY), ()),
    "old-limit": (cluster(taken_at=NOW - DAY), ("--max-age", "1h")),
    "old-taken": (cluster(taken_at=NOW - DAY), ("--max-age", "2d")),
    "future": (cluster(taken_at=NOW + DAY), ()),
    "empty": (snapshot_of([], BROKERS, source="zookeeper", taken_at=NOW), ()),
    "no-such-topic": (cluster(), ("--topic", "no-such")),
    "only-internal": (cluster(partition("__consumer_offsets", internal=True)), ("--exclude-internal",)),
    "hidden": (cluster(gaps=(hidden(2),)), ()),
    "silent": (cluster(gaps=(SILENT,)), ()),
    "no-min-isr": (cluster(partition(min_isr=None)), ()),
    "leaderless": (cluster(*HEALTHY, LEADERLESS), ()),
    "under-replicated": (cluster(partition(isr=[1, 2])), ()),
    "under-min-isr": (cluster(partition(isr=[1])), ()),
    "leaderless-hidden": (cluster(LEADERLESS, gaps=(hidden(2),)), ()),
    "quorum-lost": (with_voters({11: 60_000, 12: 1_000, 13: 1_000}), ()),
    "quorum-not-known": (cluster(source="kafka", features={"metadata.version": 25}), ()),
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan for the cluster of these dumps."""
    from commands.main import run

    folder = tmp_path_factory.mktemp("plan")
    write_dump(cluster(), folder / "dump")
    path = folder / "roll.json"
    assert run(["roll", "plan", "--dump", str(folder / "dump"), "--out", str(path)]) == 0
    return path


def words_of(gate: str, plan: Path) -> list[str]:
    return [*GATES[gate], *([str(plan)] if gate == "roll next" else [])]


def codes_of(
    kreplica: Any,
    name: str,
    plan: Path,
    *connection_options: str | Path,
    timed: Callable[[str], tuple[str, ...]] = lambda _: (),
) -> dict[str, int]:
    asked = ON_DUMPS[name].by_gate()
    return {gate: kreplica(*words_of(gate, plan), *connection_options, *timed(gate)).code for gate in asked}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot(kreplica: Any, name: str, plan: Path, tmp_path: Path) -> None:
    snapshot, options = SNAPSHOTS[name]
    write_dump(snapshot, tmp_path / "dump")
    assert codes_of(kreplica, name, plan, "--dump", tmp_path / "dump", *options) == ON_DUMPS[name].by_gate()


def test_a_dump_tells_its_age_and_one_of_the_future_is_a_warning(kreplica: Any, tmp_path: Path) -> None:
    for name in ("old", "future"):
        write_dump(SNAPSHOTS[name][0], tmp_path / name)
    old = kreplica("describe", "--offline", "--dump", tmp_path / "old", "-o", "json")
    assert old.document["clusters"][0]["age_seconds"] == pytest.approx(DAY.total_seconds(), abs=600)
    assert old.err == ""
    assert re.search(
        r"; the dump is 1 d( \d+ min| \d+ s)? old$", kreplica("check", "--dump", tmp_path / "old").out, re.M
    )
    future = kreplica("describe", "--offline", "--dump", tmp_path / "future")
    assert re.fullmatch(
        r"warning: the dump is of (1 d|23 h 59 min) in the future: one of the clocks is wrong\n", future.err
    )


@pytest.mark.parametrize(
    ("name", "content"), [("no-brokers", TEXT), ("kcat", json.dumps(KCAT)), ("damaged", "Topic: or")]
)
def test_a_file(kreplica: Any, name: str, content: str, plan: Path, tmp_path: Path) -> None:
    (tmp_path / "dump").write_text(content)
    assert codes_of(kreplica, name, plan, "--dump", tmp_path / "dump") == ON_DUMPS[name].by_gate()


def in_a_second(gate: str) -> tuple[str, ...]:
    """No more than a second for a read, and for the whole of wait."""
    return ("--timeout", "1s") if gate.startswith("wait") else ("--timeout", "1")


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Somebody listens there, and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield int(listening.getsockname()[1])


def test_nobody_listens(kreplica: Any, plan: Path, closed_port: int) -> None:
    server = f"127.0.0.1:{closed_port}"
    found = codes_of(kreplica, "refused", plan, "--bootstrap-server", server, timed=in_a_second)
    assert found == ON_DUMPS["refused"].by_gate()
    found = codes_of(kreplica, "zookeeper-refused", plan, "--zookeeper", server, timed=in_a_second)
    assert found == ON_DUMPS["zookeeper-refused"].by_gate()


def test_nobody_answers(kreplica: Any, plan: Path, silent_port: int) -> None:
    began = time.monotonic()
    found = codes_of(kreplica, "hangs", plan, "--bootstrap-server", f"127.0.0.1:{silent_port}", timed=in_a_second)
    assert found == ON_DUMPS["hangs"].by_gate()
    assert time.monotonic() - began < 3 * len(GATES), "each was given a second"


@pytest.mark.parametrize("gate", GATES)
def test_interrupted(process: Any, plan: Path, silent_port: int, gate: str) -> None:
    command = [*words_of(gate, plan), "--bootstrap-server", f"127.0.0.1:{silent_port}"]
    started: subprocess.Popen[bytes] = process(*command)
    _wait_until_it_connects(started, silent_port)
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert started.returncode == ON_DUMPS["interrupted"].by_gate()[gate]
    assert (out, err.splitlines()[-1:]) == (b"", [b"interrupted"])


def _wait_until_it_connects(started: subprocess.Popen[bytes], port: int) -> None:
    """Until the kernel has a connection of somebody to the port."""
    peer = f"0100007F:{port:04X} 01"
    deadline = time.monotonic() + 60
    while peer not in Path("/proc/net/tcp").read_text():
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
