"""Files that are found below a directory: those that a broker would take for files, each once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kreplica.errors import InputError
from kreplica.formats.find_files import DEEPEST, find_files
from kreplica.formats.logs.partition_logs import find_logs, segment_offset
from kreplica.formats.logs.replicas import find_folders

FIRST, SECOND = f"{0:020}.log", f"{5:020}.log"


def found(*paths: Path) -> list[Path]:
    return find_files([str(path) for path in paths], lambda name: segment_offset(name) is not None)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """The one segment of orders-0 in a log directory."""
    path = tmp_path / "data" / "orders-0" / FIRST
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_a_directory_that_several_links_lead_to_is_gone_through_once(segment: Path) -> None:
    data = segment.parents[1]
    (data / "back").symlink_to(data, target_is_directory=True)
    (data / "again-1").symlink_to(segment.parent, target_is_directory=True)
    assert found(data) == found(data, data / "orders-0") == [segment]
    assert found(data / "again-1") == [data / "again-1" / FIRST]


def test_what_is_no_file_to_a_broker_is_not_found(segment: Path, tmp_path: Path) -> None:
    folder = segment.parent
    os.mkfifo(folder / SECOND)
    (folder / f"{6:020}.log").symlink_to(tmp_path / "gone")
    (folder / f"{7:020}.log").symlink_to(f"{7:020}.log")
    (folder / f"{8:020}.log").mkdir()
    (tmp_path / "data" / "loop").symlink_to("loop")
    (tmp_path / "data" / "lost+found").mkdir()
    (tmp_path / "data" / "lost+found" / SECOND).touch()
    assert found(tmp_path) == found(folder / "*.log") == [segment]
    _, (replica,) = find_folders([str(tmp_path)])
    assert replica.segments() == [segment]


def test_disks_are_found_however_deep_they_stand(tmp_path: Path) -> None:
    segment = tmp_path / "fleet" / "hall" / "rack" / "cluster" / "broker" / "disk" / "data" / "orders-0" / FIRST
    segment.parent.mkdir(parents=True)
    segment.touch()
    assert found(tmp_path) == [segment]


def test_what_lies_too_deep_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["further"] * DEEPEST)
    deep.mkdir(parents=True)
    with pytest.raises(InputError, match=f"{deep}; {DEEPEST} directories below the one that was named"):
        found(tmp_path)
    assert found(tmp_path / "further") == []


def test_a_pipe_that_is_named_is_refused(segment: Path) -> None:
    os.mkfifo(segment.parent / "pipe")
    with pytest.raises(InputError, match="neither a file nor a directory"):
        found(segment.parent / "pipe")


def test_a_directory_of_another_name_tells_no_partition(tmp_path: Path) -> None:
    copy = tmp_path / "restored-3" / FIRST
    copy.parent.mkdir()
    copy.touch()
    (of_offsets,) = find_logs([str(copy)], "__consumer_offsets")
    assert (of_offsets.topic, of_offsets.partition, of_offsets.segments) == (None, None, (copy,))
    (of_any,) = find_logs([str(copy)])
    assert (of_any.topic, of_any.partition) == ("restored", 3)
