"""kreplica disks on a real cluster: sizes, a copy within a broker, growth, a stray, a directory that fails."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from answers.in_process import answered

from kreplica.sandbox import Mode, Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RECORDS, RECORD_BYTES = 1000, 1000

ANY_USABLE = ("--min-usable", "0")
"""However full the volume of the machine is that runs the test."""


def kreplica(*arguments: str | Path) -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "-m", "kreplica", *map(str, arguments), "-o", "json", "--timeout", "30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def disks(sandbox: Sandbox, *options: str | Path) -> tuple[int, dict[str, Any]]:
    words = ["disks", "--bootstrap-server", sandbox.bootstrap_servers, "--timeout", "30", *map(str, options)]
    return answered(*words)


def kafkas(sandbox: Sandbox) -> dict[tuple[int, str], dict[str, int]]:
    """Sizes as kafka-log-dirs says: by broker and directory, then by replica."""
    output = sandbox.tool("log-dirs", "--describe")
    document = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return {
        (broker["broker"], directory["logDir"]): {one["partition"]: one["size"] for one in directory["partitions"]}
        for broker in document["brokers"]
        for directory in broker["logDirs"]
    }


def produce(sandbox: Sandbox, topic: str) -> None:
    from confluent_kafka import Producer

    # A throttle holds between batches: one large batch would be copied at once.
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "acks": "all", "batch.size": 10_000})
    refused: list[object] = []
    for _ in range(RECORDS):
        producer.produce(topic, b"x" * RECORD_BYTES, partition=0, on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(60) == 0
    assert set(refused) == {None}


def reassign(sandbox: Sandbox, partition: dict[str, Any]) -> None:
    file = sandbox.folder / "reassign.json"
    file.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    sandbox.tool("reassign-partitions", "--reassignment-json-file", str(file), "--execute")


def rows_by_dir(document: dict[str, Any]) -> dict[tuple[int, str], dict[str, Any]]:
    return {(row["broker"], row["path"]): row for row in document["log_dirs"]}


def test_the_disks_of_two_brokers(sandbox_factory: Any, tmp_path: Path) -> None:
    settings = {"replica.lag.time.max.ms": "6000", "replica.fetch.max.bytes": "10000", "log.retention.ms": "7200000"}
    with sandbox_factory(name="disks", mode=Mode.ZOOKEEPER, brokers=2, log_dirs=2, broker_settings=settings) as sandbox:
        sandbox.create_topic("orders", assignment=[[1, 2], [2, 1]], configs={"retention.bytes": "-1"})
        sandbox.create_topic("wanderer", assignment=[[1, 2]])
        throttle = "replica.alter.log.dirs.io.max.bytes.per.second=1000"  # takes hold long before the copy begins
        sandbox.tool("configs", "--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", throttle)
        produce(sandbox, "wanderer")
        assert kreplica("snapshot", "--bootstrap-server", sandbox.bootstrap_servers, "--out", tmp_path)[0] == 0
        before = kafkas(sandbox)
        produce(sandbox, "orders")
        sizes_growth_and_retention(sandbox, before, tmp_path)
        a_copy_within_a_broker(sandbox)
        a_stray_left_by_a_move_away_from_a_dead_broker(sandbox)
        a_directory_that_fails(sandbox)


def sizes_growth_and_retention(sandbox: Sandbox, before: dict[tuple[int, str], dict[str, int]], dumps: Path) -> None:
    code, document = disks(sandbox, "--since", dumps, "--top", "1", "--exit-zero")
    now, rows = kafkas(sandbox), rows_by_dir(document)
    assert code == 0
    assert {key: row["kafka_bytes"] for key, row in rows.items()} == {
        key: sum(sizes.values()) for key, sizes in now.items()
    }
    assert {key: row["replicas"] for key, row in rows.items()} == {key: len(sizes) for key, sizes in now.items()}
    assert {key: row["kafka_growth_bytes"] for key, row in rows.items()} == {
        key: sum(sizes.values()) - sum(before[key].values()) for key, sizes in now.items()
    }
    assert sum(row["kafka_growth_bytes"] for row in rows.values()) > 2 * RECORDS * RECORD_BYTES
    disk = shutil.disk_usage(sandbox.folder)
    for row in rows.values():
        assert row["total_bytes"] == disk.total
        assert abs(row["usable_bytes"] - disk.free) < disk.total / 10
        check_forecast(row, document)
    assert document["summary"]["volumes"] == 1
    (largest,) = document["summary"]["largest"]
    assert (largest["topic"], largest["partition"], largest["brokers"]) == ("orders", 0, [1, 2])
    assert largest["all_bytes"] == sum(sizes.get("orders-0", 0) for sizes in now.values())
    assert largest["retention"] == {
        "cleanup.policy": {"value": "delete", "origin": "default"},
        "retention.ms": {"value": "7200000", "origin": "broker-static"},
        "retention.bytes": {"value": "-1", "origin": "topic"},
        "remote.storage.enable": {"value": "false", "origin": "default"},
        "local.retention.ms": {"value": "-2", "origin": "default"},
        "local.retention.bytes": {"value": "-2", "origin": "default"},
    }


def check_forecast(row: dict[str, Any], document: dict[str, Any]) -> None:
    """Other programs write to and free this machine's disk, too: either way the number follows from the facts."""
    taken = datetime.fromisoformat(document["clusters"][0]["taken_at"])
    days = (taken - datetime.fromisoformat(row["since"])).total_seconds() / 86400
    if row["filled_bytes"] > 0:
        assert row["days_until_full"] == pytest.approx(row["usable_bytes"] / (row["filled_bytes"] / days), abs=0.001)
    else:
        assert (row["trend"], row["days_until_full"]) == ("not growing", None)


def a_copy_within_a_broker(sandbox: Sandbox) -> None:
    here = next(path for (broker, path), sizes in kafkas(sandbox).items() if broker == 1 and "wanderer-0" in sizes)
    there = next(path for broker, path in kafkas(sandbox) if broker == 1 and path != here)
    move = {"topic": "wanderer", "partition": 0, "replicas": [1, 2], "log_dirs": [there, "any"]}
    reassign(sandbox, move)
    _, document = disks(sandbox)
    (future,) = document["summary"]["futures"]
    named = ("topic", "partition", "broker", "from_dir", "to_dir")
    assert tuple(future[name] for name in named) == ("wanderer", 0, 1, here, there)
    assert 0 <= future["bytes"] < future["of_bytes"]
    assert 0 < future["lag"] <= RECORDS
    assert rows_by_dir(document)[1, there]["futures"] == 1
    assert document["summary"]["strays"] == []


def a_stray_left_by_a_move_away_from_a_dead_broker(sandbox: Sandbox) -> None:
    left = next(
        (path, sizes) for (broker, path), sizes in kafkas(sandbox).items() if broker == 2 and "orders-0" in sizes
    )
    sandbox.kill(2)
    sandbox.wait_for_brokers(gone=[2])
    servers = sandbox.live_bootstrap_servers()
    code, document, said = kreplica("disks", "--bootstrap-server", servers, *ANY_USABLE)
    assert code == 5
    assert document["summary"]["brokers_not_known"] == [2]
    assert "log directories of broker 2 are not known" in said
    reassign(sandbox, {"topic": "orders", "partition": 0, "replicas": [1]})
    sandbox.start_broker(2)
    code, document = disks(sandbox, *ANY_USABLE)
    (stray,) = document["summary"]["strays"]
    place = {"topic": "orders", "partition": 0, "broker": 2, "log_dir": left[0], "bytes": left[1]["orders-0"]}
    assert stray == {**place, "reason": "not assigned to this broker"}
    assert rows_by_dir(document)[2, left[0]]["strays"] == 1
    assert code == 0


def a_directory_that_fails(sandbox: Sandbox) -> None:
    """Until the broker itself finds out, when it next writes its high watermarks, its answer is another error."""
    (broker, path) = max(kafkas(sandbox))
    Path(path).rename(f"{path}-gone")
    deadline = time.monotonic() + 60
    found = disks(sandbox, *ANY_USABLE)
    while rows_by_dir(found[1])[broker, path]["error"] != "KAFKA_STORAGE_ERROR" and time.monotonic() < deadline:
        time.sleep(1)
        found = disks(sandbox, *ANY_USABLE)
    code, document = found
    rows = rows_by_dir(document)
    assert code == 1
    assert [key for key, row in rows.items() if row["error"] is not None] == [(broker, path)]
    assert rows[broker, path]["error"] == "KAFKA_STORAGE_ERROR"
    assert rows[broker, path]["kafka_bytes"] is None
    assert document["summary"]["offline"] == 1
    assert disks(sandbox)[0] == 1, "OFFLINE, without a limit too"
    assert disks(sandbox, "--exit-zero")[0] == 0
