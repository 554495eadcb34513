"""A file of a broker in the wrong hands: the command that the refusal names reads it, whatever the file is called."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kreplica.formats.registry import OWN_FORMATS, format_of, own_format, refusal

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = [path for path in sorted(GOLDEN.rglob("*")) if path.is_file() and own_format(path.name) is not None]
EXAMPLES = {each.name: next((path for path in FILES if own_format(path.name) is each), None) for each in OWN_FORMATS}
Process = Callable[..., subprocess.Popen[bytes]]


def test_there_is_a_real_file_of_each_format() -> None:
    assert [name for name, path in EXAMPLES.items() if path is None] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_by_its_name_is_read_by_the_command_that_is_named(name: str, kreplica: Any) -> None:
    path = EXAMPLES[name]
    assert path is not None
    told = refusal(path, next(each for each in OWN_FORMATS if each.name == name))
    hint = re.fullmatch(r"kreplica decode (\w+) reads it", told.fix)
    assert hint is not None
    ended = kreplica("decode", hint[1], path, "-o", "json")
    assert ended.code in (0, 1, 5), ended.err


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_by_how_it_begins_is_read_by_the_line_that_is_told(name: str, process: Process, tmp_path: Path) -> None:
    path = EXAMPLES[name]
    assert path is not None
    copy = tmp_path / "some file"
    shutil.copy(path, copy)
    found = format_of(copy.name, copy.read_bytes()[:512])
    if found is None:  # nothing in its beginning tells: no hint is given
        return
    hint = re.fullmatch(
        r"kreplica (decode \w+)(?: - (--stdin-filename \S+) < (.+))? reads it", refusal(copy, found).fix
    )
    assert hint is not None
    if hint[2]:
        assert shlex.split(hint[3]) == [str(copy)]
        with copy.open("rb") as stream:
            ended = process(*hint[1].split(), "-", *hint[2].split(), "-o", "json", stdin=stream)
            out, err = ended.communicate(timeout=60)
    else:
        ended = process(*hint[1].split(), copy, "-o", "json")
        out, err = ended.communicate(timeout=60)
    assert ended.returncode in (0, 1, 5), err
    assert out


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_in_place_of_the_subcommand_is_told_the_line_that_reads_it(name: str, kreplica: Any) -> None:
    path = EXAMPLES[name]
    assert path is not None
    ended = kreplica("decode", path)
    found = re.fullmatch(rf"error: a subcommand is missing before {re.escape(str(path))}; kreplica (.*)\n", ended.err)
    assert (ended.code, found is not None) == (2, True), ended.err
    assert found is not None
    assert kreplica(*shlex.split(found[1]), "-o", "json").code in (0, 1, 5)


@pytest.mark.parametrize(
    ("place", "command"),
    {
        "data": "check",
        "data/orders-0": "segment",
        "data/__consumer_offsets-7": "offsets",
        "data/__transaction_state-7": "transactions",
        "data/__cluster_metadata-0": "metadata",
    }.items(),
)
def test_a_directory_in_place_of_the_subcommand_is_read_by_what_it_holds(
    place: str, command: str, kreplica: Any, tmp_path: Path
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    segment = folder / "00000000000000000000.log"
    segment.touch()
    assert kreplica("decode", folder).err.endswith(f"; kreplica decode {command} {folder}\n")
    if command != "check":
        assert kreplica("decode", segment).err.endswith(f"; kreplica decode {command} {segment}\n")


def test_a_file_of_no_known_format_is_referred_to_the_list_of_subcommands(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("nothing of Kafka's")
    ended = kreplica("decode", tmp_path / "notes")
    assert ended.code == 2
    assert ended.err.endswith("; kreplica decode --help tells which there are\n")
