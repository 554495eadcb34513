"""The fields that the reference lists for audit are those of its rows; test_command_tree.py has the others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.completions.tree import Command, command_tree
from commands.main import build_app


def documented(text: str) -> tuple[str, str, list[str]]:
    """Schema, name of the rows and fields that a page gives."""
    match = re.search(r"gives `(\S+)` with the rows under `(\w+)`", text)
    assert match is not None
    section = text[match.end() :].split("\n## ", maxsplit=1)[0]  # the page of a group has one for each of its commands
    fields = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    return match[1], match[2], fields


@pytest.mark.spark
@pytest.mark.slow
def test_the_findings_of_an_audit_have_the_documented_fields(
    audited: subprocess.CompletedProcess[str], root: Path
) -> None:
    schema, rows_name, fields = documented((root / "docs/reference/audit.md").read_text(encoding="utf-8"))
    document = json.loads(audited.stdout)
    assert document["schema"] == schema
    assert {tuple(row) for row in document[rows_name]} == {tuple(fields)}


def test_every_command_with_an_answer_has_its_fields_in_the_reference(root: Path) -> None:
    """The tree of commands against the pages: a command with -o names its schema and fields, no other one does."""
    missing, needless = [], []
    for path, options in commands_below(command_tree(build_app())):
        page = (root / "docs/reference" / f"{path[1]}.md").read_text(encoding="utf-8")
        title = " ".join(path)
        sections = page.split(f"\n## {title}\n") if len(path) > 2 else page.split("\n## kreplica ")
        own = sections[-1 if len(path) > 2 else 0].split("\n## kreplica ")[0]
        has = re.search(r"gives `kreplica/\S+/v1` with the rows|`kreplica/\S+/v1`: the same fields", own) is not None
        if has != ("--output" in options):
            (missing if "--output" in options else needless).append(title)
    assert (missing, needless) == ([], [])


def commands_below(command: Command) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Path and options of each command that does something."""
    if command.runs:
        yield command.path, {flag for option in command.options for flag in option.flags}
    for each in command.commands:
        yield from commands_below(each)
