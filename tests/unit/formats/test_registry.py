"""Kinds of files: every file of real brokers, by name and by how it begins."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from log_files.kafka_dumps import GOLDEN

from commands.main import run
from kreplica.errors import InputError, UsageError
from kreplica.formats.file_bytes import FileBytes, read_small_file
from kreplica.formats.find_files import BEGINNING_BYTES, read_beginning
from kreplica.formats.log_directory.listing import SMALL_FILES
from kreplica.formats.logs.index_rows import is_index_file
from kreplica.formats.logs.partition_logs import find_logs
from kreplica.formats.registry import BOOTSTRAP_CHECKPOINT, OWN_FORMATS, SEGMENT, SNAPSHOT, format_of, own_format

SERVERS = [folder for version in ("3.9.2", "4.3.1") for folder in (GOLDEN / f"kafka-{version}" / "clean").iterdir()]
SNAPSHOT_NAME = "00000000000000000819-0000000001.checkpoint"
FILES = [path for folder in SERVERS for path in sorted(folder.rglob("*")) if path.is_file()]


def test_every_file_of_a_real_broker_is_known() -> None:
    named = {path.name: own_format(path.name) for path in FILES}
    assert [name for name, found in named.items() if found is None] == []
    named |= {name: own_format(name) for name in (SNAPSHOT_NAME, BOOTSTRAP_CHECKPOINT)}
    assert set(named.values()) == set(OWN_FORMATS)


def test_what_has_a_mark_is_known_by_it_alone() -> None:
    """And no other file is taken for it. Old messages are known by a CRC only, empty checkpoints not at all."""
    found = {path: format_of("copy", path.read_bytes()[:BEGINNING_BYTES]) for path in FILES}
    batches = {SEGMENT, SNAPSHOT}
    taken = {path: each for path, each in found.items() if each not in (None, own_format(path.name))}
    assert {path: each for path, each in taken.items() if {each, own_format(path.name)} != batches} == {}
    known = {each.name for each in found.values() if each is not None}
    assert known == {each.name for each in OWN_FORMATS if each.magic is not None} - {SNAPSHOT.name}
    segments = [path for path in FILES if path.suffix == ".log" and path.stat().st_size]
    assert len(segments) > 80
    assert [path for path in segments if found[path] is not SEGMENT] == []


def test_the_commands_go_by_the_registry() -> None:
    for path in FILES:
        found = own_format(path.name)
        assert found is not None
        assert (found.command == "checkpoints") == (path.name in SMALL_FILES)
        assert (found.command == "indexes") == is_index_file(path.name)


def test_other_files_among_named_segments_are_left_out(tmp_path: Path) -> None:
    """As ``decode segment orders-0/*`` of a shell names them."""
    source = next(path for path in FILES if path.suffix == ".log" and path.with_suffix(".timeindex").exists())
    names = [str(path) for path in sorted(source.parent.iterdir())]
    assert [log.segments for log in find_logs(names)] == [log.segments for log in find_logs([str(source.parent)])]
    copy = tmp_path / "my-copy"
    copy.write_bytes(b"0\n1\norders 0 12\n")
    with pytest.raises(UsageError) as refused:
        find_logs([str(copy)])
    assert str(refused.value) == (
        f"{copy} is an offset checkpoint; how it begins tells; "
        f"kreplica decode checkpoints - --stdin-filename replication-offset-checkpoint < {copy} reads it"
    )
    copy.write_bytes(b"no known beginning")
    assert [log.segments for log in find_logs([str(copy)])] == [(copy,)]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "permission denied; run it as the user that the broker runs as"),
        (
            FileNotFoundError(2, "No such file or directory"),
            "no such file or directory; it was deleted meanwhile: run it again",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: OSError, said: str
) -> None:
    def refusing(*_: object, **__: object) -> int:
        raise error

    path = tmp_path / f"{0:020}.log"
    path.write_bytes(b"")
    monkeypatch.setattr(os, "open", refusing)
    monkeypatch.setattr(Path, "open", refusing)
    for read in (FileBytes.open, read_beginning, read_small_file):
        with pytest.raises(InputError) as refused:
            read(path)
        assert str(refused.value) == f"cannot read {path}; {said}"


@pytest.mark.parametrize("command", ["check", "compare"])
def test_what_holds_files_against_one_another_is_not_read_from_standard_input(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["decode", command, "-"]) == 2
    assert re.fullmatch(r"error: .* cannot be read from standard input; [^;]*; name .*\n", capsys.readouterr().err)
