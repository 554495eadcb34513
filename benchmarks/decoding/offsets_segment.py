"""Has a real broker write a segment of __consumer_offsets: a sandbox, and clients that commit as fast as it answers.

The broker has one partition of that topic and rolls no earlier than asked; 60 groups commit the offsets of 8 topics by
OffsetCommit requests of version 7, many of them in flight at once. A segment shorter than asked is filled by repeating
its batches, byte for byte but for their base offsets, which no checksum covers.
"""

from __future__ import annotations

import random
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

GROUPS, TOPICS, LEAST_PARTITIONS, MOST_PARTITIONS = 60, 8, 9, 18
ROOM = 64 << 20
"""Bytes above the size, so that the broker does not roll the segment while the last requests are answered."""
IN_FLIGHT = 64
"""Requests in flight at once on each connection."""
CONNECTIONS = 4
PATIENCE = 60.0
"""Seconds to wait for one answer."""
OFFSET_COMMIT, FIND_COORDINATOR, VERSION = 8, 10, 7

_PARTITION = struct.Struct(">iqih")
_SIZE = struct.Struct(">i")
_NOT_YET = {14, 15, 16}
"""Errors while a coordinator still loads its partition, or has none."""
_BATCH = struct.Struct(">qi")


def write_segment(path: Path, mebibytes: int, real_mebibytes: int = 100, seed: int = 7) -> str:
    """Writes the segment.

    Args:
        path: The file.
        mebibytes: Its size.
        real_mebibytes: Size of the part that the broker writes; the rest is repetition.
        seed: Seed of the random partition counts and of the order of commits.

    Returns:
        A sentence on how the segment was made.
    """
    real = min(mebibytes, real_mebibytes)
    with tempfile.TemporaryDirectory(prefix="kreplica-bench-") as folder:
        content, requests, seconds, version = _real_segment(Path(folder), real << 20, random.Random(seed))
    times = repeat(content, mebibytes << 20, path)
    said = f"{requests:,} OffsetCommit requests to a sandbox broker of Kafka {version} in {seconds:.0f} s"
    return said + (f", its {len(content):,} bytes {times:.1f} times over" if times > 1 else "")


def repeat(content: bytes, size: int, path: Path) -> float:
    """Writes whole batches up to a size, offsets going on where the content repeats; returns the number of repeats."""
    places = list(_batches(content))
    last_base, at = _BATCH.unpack_from(content, places[-1][0])[0], places[-1][0]
    round_offsets = last_base + _SIZE.unpack_from(content, at + 23)[0] + 1
    written, number = 0, 0
    with path.open("wb") as file:
        while written < size:
            copy = bytearray(content)
            for begin, end in places:
                base = _BATCH.unpack_from(content, begin)[0] + number * round_offsets
                struct.pack_into(">q", copy, begin, base)
                if written + end > size:
                    file.write(copy[:begin])
                    return (written + begin) / len(content)
            file.write(copy)
            written, number = written + len(content), number + 1
    return written / len(content)


def _batches(content: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position + 17 <= len(content):
        length = _BATCH.unpack_from(content, position)[1]
        if length <= 0 or position + 12 + length > len(content):
            return
        yield position, position + 12 + length
        position += 12 + length


def _real_segment(folder: Path, size: int, chance: random.Random) -> tuple[bytes, int, float, str]:
    """Returns the batches that a broker wrote, the number of requests, the seconds they took, and Kafka's version."""
    from kreplica.sandbox import SandboxSettings, start

    partitions = [chance.randint(LEAST_PARTITIONS, MOST_PARTITIONS) for _ in range(TOPICS)]
    settings = SandboxSettings(name="commits", brokers=1, heap_mib=512, broker_settings=_one_long_log(size))
    with start(settings, folder) as sandbox:
        for number, count in enumerate(partitions):
            sandbox.create_topic(_topic(number), partitions=count, replication_factor=1)
        address = sandbox.bootstrap_servers.rsplit(":", 1)
        clients = [_Client((address[0], int(address[1]))) for _ in range(CONNECTIONS)]
        clients[0].wait_for_coordinator()
        log = next(folder.glob("commits/**/__consumer_offsets-0")) / f"{0:020d}.log"
        began, requests = time.monotonic(), 0
        while log.stat().st_size < size:
            for client in clients:
                client.send(_commits(chance.randrange(GROUPS), chance.choice(list(enumerate(partitions))), requests))
                requests += 1
        for client in clients:
            client.close()
        seconds, version = time.monotonic() - began, sandbox.kafka_version
        content = log.read_bytes()
    end = max(end for _, end in _batches(content) if end <= size)
    return content[:end], requests, seconds, version


def _one_long_log(size: int) -> dict[str, str]:
    return {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": str(size + ROOM),
        "log.cleaner.min.compaction.lag.ms": str(7 * 86_400_000),
        "log.index.size.max.bytes": str(10 << 20),
    }


def _topic(number: int) -> str:
    return f"events.{number}.region-{number % 7}"


def _commits(group: int, topic: tuple[int, int], number: int) -> bytes:
    """The body of a request that commits one topic's partitions."""
    place, count = topic
    head = _text(f"console-consumer-{49366 + group}") + _SIZE.pack(-1) + _text("") + struct.pack(">h", -1)
    rows = b"".join(_PARTITION.pack(partition, number * 100 + partition, 0, 0) for partition in range(count))
    return head + _SIZE.pack(1) + _text(_topic(place)) + _SIZE.pack(count) + rows


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


class _Client:
    """A connection that waits for an answer only when many requests are in flight."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, PATIENCE)
        self._answers = self._socket.makefile("rb")
        self._waiting = 0

    def send(self, body: bytes) -> None:
        """Sends an OffsetCommit request."""
        if self._waiting == IN_FLIGHT:
            self._answer()
        self._request(OFFSET_COMMIT, VERSION, body)
        self._waiting += 1

    def wait_for_coordinator(self) -> None:
        """Asks for the coordinator of the first group until there is one: only then the topic exists."""
        ends = time.monotonic() + PATIENCE
        error = -1
        while error:
            self._request(FIND_COORDINATOR, 1, _text("console-consumer-49366") + b"\0")
            error = struct.unpack_from(">h", self._read(), 8)[0]
            if error and time.monotonic() > ends:
                raise SystemExit(f"no coordinator: Kafka's error {error}")
            time.sleep(0.2)

    def close(self) -> None:
        """Waits for all answers."""
        while self._waiting:
            self._answer()
        self._socket.close()

    def _request(self, key: int, version: int, body: bytes) -> None:
        head = struct.pack(">hhi", key, version, 0) + _text("commits")
        self._socket.sendall(_SIZE.pack(len(head) + len(body)) + head + body)

    def _answer(self) -> None:
        """Reads an answer; it says of each partition an error, the first of which counts here."""
        content = self._read()
        name_length = struct.unpack_from(">h", content, 12)[0]
        error = struct.unpack_from(">h", content, 14 + name_length + 8)[0]
        if error and error not in _NOT_YET:
            raise SystemExit(f"a commit failed with Kafka's error {error}")
        self._waiting -= 1

    def _read(self) -> bytes:
        return self._answers.read(_SIZE.unpack(self._answers.read(4))[0])
