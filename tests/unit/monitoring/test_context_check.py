"""A context tried: how far it gets, and the exit code of the worst of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kreplica.errors import ExitCode, UnreachableError
from kreplica.monitoring.context_check import config_check
from kreplica.sources.kafka import access as kafka_access
from kreplica.sources.kafka.access import Access
from kreplica.sources.permissions import DESCRIBE_CLUSTER

TEXT = """\
[contexts.good]
bootstrap_servers = "good:9092"
[contexts.away]
bootstrap_servers = "away:9092"
[contexts.unset]
bootstrap_servers = "${env:NOT_SET}"
"""


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Tries contexts; the cluster of one does not answer."""

    def read_access(handle: Any) -> Access:
        if handle.name == "away":
            raise UnreachableError("no answer from away:9092", "nobody listens", "look at its logs")
        operations = frozenset({"Describe"})
        return Access("b1:9092", "User:carol", "c", "4.0", 25, 3, cluster=operations, topics={})

    monkeypatch.setattr(kafka_access, "read_access", read_access)
    path = tmp_path / "contexts.toml"
    path.write_text(TEXT, encoding="utf-8")
    path.chmod(0o600)
    return lambda *names, **options: config_check(names, str(path), environ={}, **options)


def test_a_context_that_works_gets_to_the_end(check: Any) -> None:
    checked = check("good", uses={DESCRIBE_CLUSTER: "for describe"})
    assert [row.check for row in checked.rows] == [
        "settings",
        "secrets",
        "security",
        "connection",
        "identity",
        "version",
        "topics",
        "Describe on the cluster",
    ]
    assert (checked.exit_code, checked.counts["ok"], checked.rows[-1].message) == (ExitCode.OK, 8, "for describe")


def test_permissions_are_looked_for_where_their_use_is_told(check: Any) -> None:
    assert [row.check for row in check("good").rows][-1] == "topics"


@pytest.mark.parametrize(
    ("name", "step", "status", "code"),
    [
        ("away", "connection", "unreachable", ExitCode.UNREACHABLE),
        ("unset", "secrets", "failed", ExitCode.USAGE),
    ],
)
def test_the_first_step_that_fails_is_the_last(check: Any, name: str, step: str, status: str, code: ExitCode) -> None:
    checked = check(name)
    last = checked.rows[-1]
    assert (last.check, last.status, checked.counts[status], checked.exit_code) == (step, status, 1, code)


def test_the_worst_context_decides(check: Any) -> None:
    codes = {names: check(*names).exit_code for names in (("good", "away"), ("away", "unset"), ("good",))}
    assert list(codes.values()) == [ExitCode.UNREACHABLE, ExitCode.USAGE, ExitCode.OK]
