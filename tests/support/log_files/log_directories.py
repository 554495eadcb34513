"""Writes log directories of a broker as tests want them: segments of given batches, and the files beside them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from crc32c import crc32c

from kreplica.formats.log_directory.listing import LogDirectory
from kreplica.formats.logs.replicas import ReplicaFiles, find_folders
from log_files.record_batches import PlainRecord, batch_bytes

REPLICATION, RECOVERY_POINT = "replication-offset-checkpoint", "recovery-point-offset-checkpoint"
LOG_START, CLEANER = "log-start-offset-checkpoint", "cleaner-offset-checkpoint"


def find_replicas(paths: Sequence[str]) -> tuple[list[LogDirectory], list[ReplicaFiles]]:
    """Every log directory and replica below the paths, all of them read."""
    homes, folders = find_folders(paths)
    return homes, [folder.read() for folder in folders]


def batch(offset: int, epoch: int, value: bytes = b"m", records: int = 1, **fields: object) -> bytes:
    """A batch of records that all have that value."""
    content = [PlainRecord(index, index, b"k%d" % (offset + index), value) for index in range(records)]
    return batch_bytes(content, base_offset=offset, leader_epoch=epoch, **fields)  # type: ignore[arg-type]


def marker(offset: int, epoch: int, producer: int, *, abort: bool) -> bytes:
    """The control batch that ends a transaction."""
    record = PlainRecord(0, 0, struct.pack(">hh", 0, 0 if abort else 1), struct.pack(">hi", 0, 0))
    return batch_bytes([record], base_offset=offset, leader_epoch=epoch, attributes=0x30, producer=(producer, 0, -1))


def write_partition(
    home: Path,
    batches: Sequence[bytes],
    *,
    place: str = "orders-0",
    epochs: Sequence[tuple[int, int]] | None = ((0, 0),),
    base: int = 0,
    files: Mapping[str, bytes] | None = None,
) -> Path:
    """A partition's directory with one segment."""
    folder = home / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base:020d}.log").write_bytes(b"".join(batches))
    if epochs is not None:
        lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
        (folder / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n{lines}")
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content)
    return folder


def write_checkpoint(home: Path, name: str, offset: int, place: str = "orders 0") -> None:
    (home / name).write_text(f"0\n1\n{place} {offset}\n")


def write_meta(home: Path, node: int = 1, cluster: str = "c1", directory: str = "d1") -> None:
    text = f"version=1\nnode.id={node}\ncluster.id={cluster}\ndirectory.id={directory}\n"
    (home / "meta.properties").write_text(text)


def close(home: Path) -> None:
    """Marks a stop in order."""
    (home / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":-1}')


def producer_snapshot(*entries: tuple[int, int, int, int]) -> bytes:
    """Producer id, epoch, last sequence and last offset of each producer."""
    body = struct.pack(">i", len(entries))
    for producer, epoch, sequence, offset in entries:
        body += struct.pack(">qhiqiqiq", producer, epoch, sequence, offset, 0, 0, -1, -1)
    return struct.pack(">hI", 1, crc32c(body)) + body
