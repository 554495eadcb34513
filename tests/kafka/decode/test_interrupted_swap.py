"""A broker ended while compaction was putting segments in the place of others: what it makes of that is foretold."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kreplica.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPIC, NODE, RECORDS = "swapped", 2, 8
ENDINGS = (".log", ".index", ".timeindex")


@pytest.fixture(params=["kraft_cluster", "zookeeper_cluster"])
def cluster(request: pytest.FixtureRequest) -> Sandbox:
    sandbox: Sandbox = request.getfixturevalue(request.param)
    sandbox.create_topic(TOPIC, assignment=[[NODE]] * len(CRASHES), configs={"segment.ms": "1000"})
    return sandbox


def write(sandbox: Sandbox) -> None:
    """A segment for each record: they are ten seconds apart, as they say."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "linger.ms": 0})
    begin = int(time.time() * 1000) - 10_000 * RECORDS
    for number in range(RECORDS):
        for partition in range(len(CRASHES)):
            producer.produce(TOPIC, f"value {number}", partition=partition, timestamp=begin + 10_000 * number)
        assert producer.flush(60) == 0


def read(sandbox: Sandbox, partition: int) -> list[int]:
    """The offsets that the broker gives."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": sandbox.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0)])
    found: list[int] = []
    deadline = time.monotonic() + 60
    while (not found or found[-1] < RECORDS - 1) and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.offset())
    consumer.close()
    return found


def name(offset: int, ending: str = ".log") -> str:
    return f"{offset:020d}{ending}"


def write_swap(folder: Path) -> None:
    """Offsets 2 to 4 in one segment, 3 compacted away; its indexes are empty."""
    (folder / name(2, ".log.swap")).write_bytes((folder / name(2)).read_bytes() + (folder / name(4)).read_bytes())
    for ending in (".index.swap", ".timeindex.swap"):
        (folder / name(2, ending)).write_bytes(b"")


def before_the_old_ones_go(folder: Path) -> None:
    write_swap(folder)


def before_swap_is_taken_away(folder: Path) -> None:
    write_swap(folder)
    for offset in (2, 3, 4):
        for ending in ENDINGS:
            (folder / name(offset, ending)).rename(folder / name(offset, ending + ".deleted"))


def before_all_is_clean(folder: Path) -> None:
    """As when a segment is split (KAFKA-6264): the second part is whole, the first is not."""
    (folder / name(3, ".log.cleaned")).write_bytes(b"half of it")
    (folder / name(5, ".log.swap")).write_bytes((folder / name(5)).read_bytes()[:-1])


CRASHES: list[Callable[[Path], None]] = [before_the_old_ones_go, before_swap_is_taken_away, before_all_is_clean]


def kreplica(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "kreplica", *map(str, arguments), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_segments_and_records_are_those_that_the_broker_has_again(cluster: Sandbox) -> None:
    write(cluster)
    cluster.shut_down(NODE)
    (first,) = cluster.folder.glob(f"**/{TOPIC}-0")
    folders = [first.with_name(f"{TOPIC}-{number}") for number in range(len(CRASHES))]
    for crash, folder in zip(CRASHES, folders, strict=True):
        assert len(list(folder.glob("*.log"))) == RECORDS
        crash(folder)
    foretold = [kreplica("decode", "segment", folder)["batches"] for folder in folders]
    kreplica("decode", "check", *folders)

    cluster.start_broker(NODE)
    cluster.wait_for_healthy()
    for partition, (folder, batches) in enumerate(zip(folders, foretold, strict=True)):
        segments = sorted({Path(row["file"]).name.removesuffix(".swap") for row in batches})
        assert segments == sorted(path.name for path in folder.glob("*.log"))
        assert [row["base_offset"] for row in batches] == read(cluster, partition)
    assert [len(batches) for batches in foretold] == [RECORDS - 1, RECORDS - 1, RECORDS]
