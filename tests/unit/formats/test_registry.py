"""Which file is what: every file of real brokers, by name and by how it begins; formats of other packages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka_dumps import GOLDEN

from commands.main import run
from kreplica.errors import InputError, UsageError
from kreplica.formats.file_bytes import FileBytes, read_small_file
from kreplica.formats.files import BEGINNING_BYTES, read_beginning
from kreplica.formats.index_rows import is_index_file
from kreplica.formats.log_directory import SMALL_FILES
from kreplica.formats.partition_logs import find_logs
from kreplica.formats.registry import (
    OWN_FORMATS,
    SEGMENT,
    SNAPSHOT,
    FileFormat,
    format_of,
    other_formats,
    own_format,
)

SERVERS = [folder for version in ("3.9.2", "4.3.1") for folder in (GOLDEN / f"kafka-{version}" / "clean").iterdir()]
SNAPSHOT_NAME = "00000000000000000819-0000000001.checkpoint"
FILES = [path for folder in SERVERS for path in sorted(folder.rglob("*")) if path.is_file()]


def test_every_file_of_a_real_broker_is_known() -> None:
    named = {path.name: own_format(path.name) for path in FILES}
    assert [name for name, found in named.items() if found is None] == []
    named[SNAPSHOT_NAME] = own_format(SNAPSHOT_NAME)
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


MODULE = """
import re
from kreplica.formats.damage import Damage
from kreplica.formats.registry import FileFormat


def check(content, file):
    if not content.startswith(b"tier"):
        yield Damage(file, 0, "no tier state", 0, "tier", repr(content[:4]))


FORMATS = [FileFormat("NAME", re.compile(r"[0-9]{20}[.]tierstate"), check=check), "no format"]
"""
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package on the path that brings a format of the given name, as pip installs one."""

    def put(name: str) -> None:
        module = "stranger_formats_" + name.replace(" ", "_")
        (tmp_path / f"{module}.py").write_text(MODULE.replace("NAME", name))
        metadata = tmp_path / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[kreplica.formats]\ntier = {module}:FORMATS\n")
        monkeypatch.syspath_prepend(tmp_path)
        other_formats.cache_clear()

    yield put
    monkeypatch.undo()
    other_formats.cache_clear()


def test_a_format_of_another_package_is_judged_by_decode_check(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install("a tier state")
    assert [each.name for each in other_formats()] == ["a tier state"]
    folder = tmp_path / "data" / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"")
    state = folder / f"{0:020}.tierstate"
    state.write_bytes(b"tier 1")
    assert run(["decode", "check", str(tmp_path / "data")]) == 0
    capsys.readouterr()
    state.write_bytes(b"else")
    assert run(["decode", "check", str(tmp_path / "data"), "-o", "json"]) == 1
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    assert findings == [
        {
            "rule": "other-formats",
            "file": str(state),
            "position": 0,
            "topic": "orders",
            "partition": 0,
            "message": "no tier state",
            "expected": "tier",
            "found": "b'else'",
        }
    ]
    assert run(["decode", "segment", str(state)]) == 2
    assert f"{state} is a tier state" in capsys.readouterr().err


@pytest.mark.usefixtures("install")
def test_a_name_that_is_taken_is_refused(install: Install) -> None:
    install("a segment")
    with pytest.raises(UsageError, match="two file formats are called a segment"):
        other_formats()
    assert isinstance(format_of(f"{0:020}.log"), FileFormat)
