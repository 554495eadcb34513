"""Directories in which segments were being replaced: LogLoader's passes over them, restated plainly.

tests/kafka/decode/test_interrupted_swap.py holds the same against real brokers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_files.log_directories import batch, write_partition

from kreplica.formats.logs.partition_logs import after_swap, find_logs
from kreplica.formats.logs.replicas import find_folders

NUMBERS = st.integers(0, 5)
KINDS = st.sampled_from(["log", "index", "timeindex", "snapshot"])
MARKS = st.sampled_from(["", "", ".swap", ".cleaned", ".deleted"])
NAMES = st.sets(st.builds(lambda number, kind, mark: f"{number:020d}.{kind}{mark}", NUMBERS, KINDS, MARKS), max_size=20)
LENGTHS = st.tuples(*[st.integers(0, 4)] * 6)
OTHERS = {"leader-epoch-checkpoint", "partition.metadata"}


def as_a_broker_does(names: set[str], lengths: tuple[int, ...]) -> dict[str, str]:
    """The passes of LogLoader.load over a directory, one after the other, on a directory that is a dict."""
    there = {name: name for name in names | OTHERS}
    number = {name: int(name[:20]) for name in names}
    cleaned = [number[name] for name in names if name.endswith(".cleaned")]
    for name in names:
        stale_swap = name.endswith(".swap") and bool(cleaned) and number[name] >= min(cleaned)
        if name.endswith((".deleted", ".cleaned")) or stale_swap:
            del there[name]
    lowest, highest = 99, -1
    for name in [name for name in there if name.endswith(".log.swap")]:
        lowest = min(lowest, number[name])
        highest = max(highest, number[name] + lengths[number[name]])
    for name in [name for name in there if name in number and not name.endswith(".swap")]:
        if lowest <= number[name] < highest:
            del there[name]
    for name in [name for name in there if name.endswith(".swap")]:
        there[name.removesuffix(".swap")] = there.pop(name)
    return there


@given(NAMES, LENGTHS)
def test_what_is_left_is_what_a_broker_leaves(names: set[str], lengths: tuple[int, ...]) -> None:
    found = after_swap(names | OTHERS, lambda name: int(name[:20]) + lengths[int(name[:20])])
    assert found == as_a_broker_does(names, lengths)


def name(offset: int, mark: str = "") -> str:
    return f"{offset:020d}.log{mark}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Offsets 0, 1 and 2 are in segments of their own; one without offset 1 was about to take the place of all."""
    for offset in range(3):
        write_partition(tmp_path / "data", [batch(offset, 0)], base=offset)
    path = tmp_path / "data" / "orders-0"
    (path / name(0, ".swap")).write_bytes((path / name(0)).read_bytes() + (path / name(2)).read_bytes())
    (path / name(7, ".deleted")).write_bytes(batch(7, 0))
    return path


def test_logs_are_those_of_a_broker_that_has_started(folder: Path) -> None:
    (log,) = find_logs([str(folder)])
    assert log.segments == (folder / name(0, ".swap"),)
    (replica,) = find_folders([str(folder)])[1]
    assert replica.segments() == [folder / name(0, ".swap")]
    contents = replica.read().log
    assert contents.batches.base_offset.tolist() == [0, 2]
    assert (contents.start_offset, contents.end_offset) == (0, 3)


def test_files_that_are_named_together_are_seen_as_a_directory(folder: Path) -> None:
    """As a shell names them for orders-0/*."""
    for paths in (sorted(map(str, folder.glob("*.log*"))), [str(folder / "*.log*")]):
        (log,) = find_logs(paths)
        assert log.segments == (folder / name(0, ".swap"),)


def test_a_file_that_is_named_alone_is_read_whatever_it_is_called(folder: Path) -> None:
    for file in (name(7, ".deleted"), name(0, ".swap"), name(1)):
        (log,) = find_logs([str(folder / file)])
        assert [path.name for path in log.segments] == [file]


def test_where_nothing_would_be_left_there_is_no_log(tmp_path: Path) -> None:
    folder = write_partition(tmp_path, [batch(0, 0)])
    (folder / name(0)).rename(folder / name(0, ".cleaned"))
    assert find_logs([str(tmp_path)]) == []
