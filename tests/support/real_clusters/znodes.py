"""Znodes written by tests, below a chroot of their own in a real ZooKeeper."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient

EMPTY_CLUSTER: Mapping[str, object] = {
    "/brokers/ids": None,
    "/brokers/topics": None,
    "/admin/delete_topics": None,
    "/controller": {"version": 1, "brokerid": 1, "timestamp": "0"},
    "/controller_epoch": 4,
    "/cluster/id": {"version": "1", "id": "written-by-a-test"},
}
"""Znodes of every cluster."""


@contextmanager
def writer(connect: str, **options: Any) -> Iterator[KazooClient]:
    """A kazoo client that may write."""
    client = KazooClient(hosts=connect, **options)
    client.start(timeout=30)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def encoded(value: object) -> bytes:
    """A value as a znode holds it: bytes as they are, None as nothing, everything else as JSON."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else json.dumps(value, separators=(",", ":")).encode()


def write_tree(client: KazooClient, tree: Mapping[str, object]) -> None:
    """Creates znodes with all their parents, many under way at once."""
    paths = dict.fromkeys(path[:end] for path in sorted(tree) for end in _ends(path))
    waiting: deque[Any] = deque()
    for path in paths:
        waiting.append(client.create_async(path, encoded(tree.get(path))))
        if len(waiting) > 1000:
            waiting.popleft().get()
    for result in waiting:
        result.get()


def _ends(path: str) -> list[int]:
    return [*(number for number, letter in enumerate(path) if letter == "/" and number), len(path)]


def state(leader: int, isr: list[int], epoch: int = 0) -> dict[str, object]:
    """A partition state as Kafka writes it."""
    return {"controller_epoch": 4, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": isr}
