"""Two log directories with a replica of one partition each, as one string of bytes, for the rules across files.

The files stand in a fixed order, each behind its length (two bytes, 0xFFFF where it is not there).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kreplica.formats.checks.rules import RULES, check_all, other_files
from kreplica.formats.checks.segment_indexes import IndexesRead, IndexKind, index_entry_rows
from kreplica.formats.logs.copies import compare_copies, copy_of, partitions_of
from kreplica.formats.logs.partition_logs import find_logs
from kreplica.formats.logs.replicas import find_folders

PLACE = "orders-0"
SECOND = 20
"""Base offset of the second segment."""
SMALL = (
    "meta.properties",
    ".kafka_cleanshutdown",
    "replication-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
BESIDE = ("leader-epoch-checkpoint", "partition.metadata")
ENDINGS = ("log", "index", "timeindex", "txnindex", "snapshot")
NAMES = tuple(
    f"{disk}/{name}"
    for disk in ("disk-1", "disk-2")
    for name in (
        *SMALL,
        *(f"{PLACE}/{name}" for name in BESIDE),
        *(f"{PLACE}/{base:020}.{ending}" for base in (0, SECOND) for ending in ENDINGS),
    )
)
ABSENT, LENGTH_BYTES = 0xFFFF, 2


def packed(files: Mapping[str, bytes]) -> bytes:
    """The files as one string; those of other names are left out."""
    parts = []
    for name in NAMES:
        content = files.get(name)
        size = ABSENT if content is None else len(content)
        parts.append(size.to_bytes(LENGTH_BYTES, "big") + (content or b""))
    return b"".join(parts)


def unpacked(content: bytes) -> dict[str, bytes]:
    """The files of any string: a length that goes beyond its end takes what there is."""
    found, position = {}, 0
    for name in NAMES:
        size = int.from_bytes(content[position : position + LENGTH_BYTES] or b"\xff\xff", "big")
        position += LENGTH_BYTES
        if size != ABSENT:
            found[name] = content[position : position + size]
            position += size
    return found


def on_disk(content: bytes, sealed: Callable[[bytes], bytes], judge: Callable[[list[str]], None]) -> None:
    """Writes the files, batches with the checksum they should have, and calls with both directories."""
    with tempfile.TemporaryDirectory() as folder:
        for name, each in unpacked(content).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sealed(each) if path.suffix == ".log" else each)
        disks = [str(path) for path in sorted(Path(folder).iterdir())]
        if disks:
            judge(disks)


def check(disks: list[str]) -> None:
    """Every rule of decode check, and the entries of indexes one by one."""
    homes, folders = find_folders(disks)
    replicas = (folder.read() for folder in folders)
    for finding in (*check_all(homes, replicas, {"orders": "an-id"}), *other_files(disks)):
        assert finding.rule in RULES
        assert finding.message
        assert finding.position >= 0
    for row in index_entry_rows(find_logs(disks), list(IndexKind), IndexesRead()):
        assert (row.valid is False) == (row.message is not None)


def compare(disks: list[str]) -> None:
    """Copies of one partition side by side: what would be cut lies within the log."""
    _, folders = find_folders(disks)
    for copies in partitions_of(folders).values():
        rows = compare_copies([copy_of(folder.read()) for folder in copies])
        assert len([row for row in rows if row.leads]) == 1
        for row in rows:
            assert 0 <= (row.cut_by_leader_epoch or 0) <= (row.end_offset or 0)


def directory_seeds(golden: Path, largest: int) -> Iterator[bytes]:
    """Replicas of real brokers, two disks of one partition each."""
    for version in ("kafka-4.3.1", "kafka-3.9.2"):
        brokers = sorted((golden / version / "clean").iterdir())
        for log in sorted(brokers[0].rglob("0*.log")):
            copies = [other for broker in brokers for other in broker.rglob(f"{log.parent.name}/{log.name}")]
            files = {name: each for disk, copy in enumerate(copies[:2], 1) for name, each in _disk(copy.parent, disk)}
            content = packed(files)
            if len(content) <= largest:
                yield content


def _disk(folder: Path, number: int) -> Iterator[tuple[str, bytes]]:
    for name in SMALL:
        if (folder.parent / name).exists():
            yield f"disk-{number}/{name}", _lines_of(folder, (folder.parent / name).read_bytes())
    segments = sorted(path.stem for path in folder.glob("0*.log"))
    for path in sorted(folder.iterdir()):
        if path.name in BESIDE:
            yield f"disk-{number}/{PLACE}/{path.name}", path.read_bytes()
        elif path.stem in segments[:2]:
            base = SECOND * segments.index(path.stem)
            yield f"disk-{number}/{PLACE}/{base:020}{path.suffix}", path.read_bytes()


def _lines_of(folder: Path, content: bytes) -> bytes:
    """What a checkpoint says of this partition alone, under the name that it has here."""
    topic, _, partition = folder.name.rpartition("-")
    head = f"{topic} {partition} ".encode()
    lines = [b"orders 0 " + line.removeprefix(head) for line in content.splitlines() if line.startswith(head)]
    return b"\n".join([b"0", b"1", *lines, b""]) if lines else content[:200]
