"""The fields that the reference lists for audit are those of its rows; the others are in cli/test_command_tree.py."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def documented(text: str) -> tuple[str, str, list[str]]:
    """Schema, name of the rows and fields that a page gives."""
    match = re.search(r"gives `(\S+)` with the rows under `(\w+)`", text)
    assert match is not None
    section = text[match.end() :].split("\n## ", maxsplit=1)[0]  # the page of a group has one for each of its commands
    fields = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    return match[1], match[2], fields


@pytest.mark.spark
@pytest.mark.slow
def test_the_findings_of_an_audit_have_the_documented_fields(run_cli: RunCli, root: Path) -> None:
    schema, rows_name, fields = documented((root / "docs/reference/audit.md").read_text(encoding="utf-8"))
    document = json.loads(run_cli("audit", "sample", "-o", "json", timeout=200).stdout)
    assert document["schema"] == schema
    assert {tuple(row) for row in document[rows_name]} == {tuple(fields)}
