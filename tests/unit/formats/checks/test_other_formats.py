"""Formats that other packages bring, and files judged by the checks that come with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.main import run
from kreplica.errors import UsageError
from kreplica.formats.checks.rules import RULE, other_files
from kreplica.formats.registry import FileFormat, format_of, other_formats

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


def test_findings_name_the_partition_whose_directory_the_file_is_in(install: Install, tmp_path: Path) -> None:
    """Its copy that is being moved is of the same partition; a file of the whole log directory is of none."""
    install("a tier state")
    places = {"": (None, None), "orders-0": ("orders", 0), "audit.log-12.c0ffee-future": ("audit.log", 12)}
    files = {tmp_path / folder / f"{7:020}.tierstate": place for folder, place in places.items()}
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"else")
    found = list(other_files([str(tmp_path)]))
    assert {Path(one.file): (one.topic, one.partition) for one in found} == files
    assert {one.rule for one in found} == {RULE}


@pytest.mark.usefixtures("install")
def test_a_name_that_is_taken_is_refused(install: Install) -> None:
    install("a segment")
    with pytest.raises(UsageError, match="two file formats are called a segment"):
        other_formats()
    assert isinstance(format_of(f"{0:020}.log"), FileFormat)
