"""The README's table of what each source knows, compared with what the sources read from real output."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusters.generated import NOON

from kreplica import ClusterHandle, ClusterSnapshot, read_snapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.sources.dumps.text import DumpText
from kreplica.sources.dumps.text_formats import TextFormat, recognise

LAYOUTS = "tests/golden/describe-layouts/trouble"
FILES = {
    "describe text, 3.8 and newer": "tests/golden/kafka-4.3.1/2-broker-killed/topics-describe.txt",
    "2.8 to 3.7": f"{LAYOUTS}/3.7.2.txt",
    "before 2.8": f"{LAYOUTS}/2.3.1.txt",
    "`kcat -L -J`": "tests/golden/kcat/trouble.json",
    "ZooKeeper": "tests/golden/kafka-3.9.2/2-broker-killed/znodes.json",
    "metadata log (KRaft)": "tests/golden/kafka-4.3.1/killed-all/broker-1/data",
    "live": "sample",
}
"""A dump for each column; the sample was a live cluster."""

FIELDS = {
    "replicas, leader, ISR": ("replicas", "leader", "isr"),
    "topic id": ("topic_id",),
    "reassignments (adding, removing)": ("adding", "removing"),
    "eligible leader replicas": ("elr", "last_known_elr"),
    "min.insync.replicas": ("min_isr",),
    "unclean leader election allowed": ("unclean_leader_election",),
    "leader epoch": ("leader_epoch",),
    "partition epoch": ("partition_epoch",),
    "offline replicas": ("offline_replicas",),
    "which brokers are alive": ("alive",),
    "rack": ("rack",),
    "fenced": ("fenced",),
    "host and port": ("host", "port"),
}
NOT_OF_THE_SAMPLE = {"leader_epoch"}
"""Facts of a live cluster that the recordings of the sample lack; tests/kafka shows them on a live one."""


def known(snapshot: ClusterSnapshot, field: str) -> tuple[int, int]:
    """For how many rows the field is known, and how many rows there are."""
    schema = BROKERS if field in BROKERS.names else PARTITIONS
    values = snapshot.table(schema)[field].to_list()
    return sum(value is not None for value in values), len(values)


def of_the_whole(snapshot: ClusterSnapshot, row: str) -> bool:
    return {
        "controller": snapshot.controller is not None,
        "cluster id": snapshot.cluster_id is not None,
        "log directories, sizes, lag": len(snapshot.log_dirs) > 0 and len(snapshot.replicas) > 0,
        "offsets": any(known(snapshot, name)[0] for name in ("high_watermark", "end_offset", "log_start_offset")),
    }[row]


@pytest.fixture(scope="module")
def table(root: Path) -> dict[str, dict[str, str]]:
    """Cells by row and column."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| fact |"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    header = rows[0]
    end = next(number for number, row in enumerate(rows) if len(row) < 2)
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows[2:end]}


def test_every_text_dump_has_its_column(root: Path) -> None:
    texts = [root / path for path in FILES.values() if (root / path).is_file()]
    found = {recognise(DumpText(path.name, path.read_text(encoding="utf-8"), NOON)) for path in texts}
    left_out = set(TextFormat) - found
    assert not left_out, f"give a column in README.md and its file in FILES of {Path(__file__).name}: {left_out}"


@pytest.mark.parametrize("column", FILES)
def test_the_column_says_what_the_source_reads(column: str, table: dict[str, dict[str, str]], root: Path) -> None:
    path = FILES[column]
    dump = path if path == "sample" else str(root / path)
    snapshot = read_snapshot(ClusterHandle(name=column, dump=dump))
    for row, cells in table.items():
        if row in FIELDS:
            for field in set(FIELDS[row]) - (NOT_OF_THE_SAMPLE if column == "live" else set()):
                check(cells[column], *known(snapshot, field), (row, field))
        else:
            assert cells[column] in {"yes", "no", "in a snapshot"}
            assert of_the_whole(snapshot, row) is (cells[column] == "yes"), row


def check(cell: str, count: int, rows: int, where: object) -> None:
    assert rows > 0
    if cell == "yes" or cell.startswith("Kafka "):
        assert count == rows, where
    elif cell == "no" or cell.startswith("while "):
        assert count == 0, where
    else:
        assert 0 <= count < rows, where


def test_the_table_names_every_fact_once(table: dict[str, dict[str, str]]) -> None:
    assert set(FIELDS) < set(table)
    assert set(next(iter(table.values()))) == set(FILES)
