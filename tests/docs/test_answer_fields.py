"""The fields that the reference lists for a command are those its rows have."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., subprocess.CompletedProcess[str]]

ANSWERS = {
    "describe": ("describe", "--all"),
    "check": ("check",),
    "rebalance": ("rebalance", "leaders"),
    "snapshot": ("snapshot", "--out", "dumps"),
}
"""A command line for each page; on the sample."""


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
    assert all(list(row) == fields for row in document[rows_name])


@pytest.mark.parametrize("page", ANSWERS)
def test_the_rows_have_the_documented_fields(page: str, run_cli: RunCli, root: Path) -> None:
    schema, rows_name, fields = documented((root / "docs/reference" / f"{page}.md").read_text(encoding="utf-8"))
    answer = run_cli(*ANSWERS[page], "--dump", "sample", "-o", "json")
    document = json.loads(answer.stdout)
    assert document["schema"] == schema
    assert document[rows_name]
    assert all(list(row) == fields for row in document[rows_name])
