"""Files of running and killed brokers, against what the brokers themselves and Kafka's tools answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from kreplica import ClusterHandle, Facet, read_snapshot
from kreplica.sandbox import Sandbox
from kreplica.sources.dumps.kraft import read_kraft_metadata

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

FIELDS = ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "elr", "offline_replicas")


def kreplica(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "kreplica", *map(str, arguments), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def answered(sandbox: Sandbox) -> list[dict[str, object]]:
    live = read_snapshot(ClusterHandle(name="live", bootstrap_servers=sandbox.live_bootstrap_servers()), Facet.HEALTH)
    return [{name: row[name] for name in FIELDS} for row in live.partitions.rows()]


def replayed(log: Path) -> list[dict[str, object]]:
    return [{name: row[name] for name in FIELDS} for row in read_kraft_metadata(str(log)).partitions.rows()]


def metadata_logs(sandbox: Sandbox) -> dict[int, Path]:
    """The metadata log of each node, by the node that its quorum-state's directory belongs to."""
    found = sorted(sandbox.folder.glob("**/__cluster_metadata-0"))
    homes = {_node_id(path.parent / "meta.properties"): path for path in found}
    assert set(homes) == set(sandbox.broker_ids)
    return homes


def _node_id(path: Path) -> int:
    pairs = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return int(pairs["node.id"])


def leave_open(sandbox: Sandbox, topic: str) -> None:
    """A transaction that is neither committed nor aborted."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": sandbox.bootstrap_servers,
            "transactional.id": "left-open",
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"held back", partition=1)
    assert producer.flush(60) == 0


def test_files_say_what_the_cluster_says(kraft_cluster: Sandbox) -> None:
    sandbox = kraft_cluster
    sandbox.create_topic("written", assignment=[[3, 1, 2], [1, 2, 3]])
    leave_open(sandbox, "written")
    logs = metadata_logs(sandbox)
    for log in logs.values():
        until(lambda log=log: replayed(log) == answered(sandbox), f"{log} to say it")  # type: ignore[misc]

    told = sandbox.tool("transactions", "describe", "--transactional-id", "left-open").splitlines()[-1].split()
    _, document = kreplica("decode", "transactions", sandbox.folder, "--transactional-id", "left-open")
    (row,) = document["transactions"]
    assert [str(row[name]) for name in ("producer_id", "producer_epoch", "state", "timeout_ms")] == told[2:6]
    assert row["partitions"] == [{"topic": "written", "partition": 1, "first_offset": 0}]
    assert (str(row["start_timestamp"]), row["overdue"]) == (told[6], False)

    sandbox.kill(3)
    sandbox.wait_for_isr("written", 0, [1, 2])
    sandbox.wait_for_isr("written", 1, [1, 2])
    for node in (1, 2):
        until(lambda node=node: replayed(logs[node]) == answered(sandbox), f"{node} to say it")  # type: ignore[misc]
    code, history = kreplica("decode", "metadata", logs[1], "--who-led", "written-0")
    assert code == 0
    assert history["changes"][0]["leader"] == 3
    assert history["changes"][-1]["leader"] in (1, 2)
    code, document = kreplica("describe", "--dump", logs[1], "--under-replicated", "--topic", "written")
    assert (code, len(document["partitions"])) == (1, 2)

    code, document = kreplica("decode", "checkpoints", logs[3].parent)
    (home,) = document["summary"]["log_dirs"]
    assert (code, home["node_id"], home["clean_shutdown"]) == (0, 3, False)
    sandbox.start_broker(3)
    sandbox.wait_for_healthy()
    # A follower hears of the high watermark by its next fetch, and writes it down every five seconds.
    until(lambda: checkpoints(logs[3])[1]["written", 1]["high_watermark"] == 1, "the high watermark to be written")
    sandbox.shut_down(3)
    home, rows = checkpoints(logs[3])
    assert home["clean_shutdown"] is True
    assert (rows["written", 1]["high_watermark"], rows["written", 1]["recovery_point"]) == (1, 1)


def checkpoints(log: Path) -> tuple[dict[str, Any], dict[tuple[str, int], dict[str, Any]]]:
    """What the checkpoints of the log directory say: of itself, and of each partition."""
    _, document = kreplica("decode", "checkpoints", log.parent)
    (home,) = document["summary"]["log_dirs"]
    return home, {(each["topic"], each["partition"]): each for each in document["checkpoints"]}
