"""Permissions as config check tells them: which are there, which are lacking, and which commands that concerns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands.main import run
from kreplica.monitoring.context_check import LACKING, OK, UNKNOWN
from kreplica.sources.kafka import access as kafka_access
from kreplica.sources.kafka.access import Access

DESCRIBE_TOPICS = frozenset({"Describe", "DescribeConfigs"})


def checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, **told: Any
) -> dict[str, dict[str, str | None]]:
    """The rows of a check of a cluster that tells whoever asks this, by what they are about."""
    access = Access("b1:9092", "User:carol", "c", "4.0", 25, 3, **{"cluster": None, "topics": {}, **told})
    monkeypatch.setattr(kafka_access, "read_access", lambda _: access)
    contexts = folder / "contexts.toml"
    contexts.write_text('current = "test"\n[contexts.test]\nbootstrap_servers = "127.0.0.1:1"\n')
    contexts.chmod(0o600)
    assert run(["config", "check", "--config", str(contexts), "-o", "json"]) == 0
    rows: list[dict[str, str | None]] = json.loads(capsys.readouterr().out)["checks"]
    return {str(row["check"]): row for row in rows}


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    return lambda **told: checked(monkeypatch, capsys, tmp_path, **told)


def test_each_permission_says_what_it_is_for(check: Any) -> None:
    rows = check(cluster=frozenset({"Describe"}), topics={"t": DESCRIBE_TOPICS, "u": frozenset({"Describe"})})
    there, lacking = rows["Describe on the cluster"], rows["Alter on the cluster"]
    assert (there["status"], there["fix"]) == (OK, None)
    assert str(there["message"]).startswith("for describe, check, ")
    changes = [f"rebalance {name} --execute" for name in ("leaders", "apply", "resume", "cancel", "rollback")]
    assert (lacking["status"], lacking["message"]) == (LACKING, f"for {', '.join(changes)}")
    assert lacking["fix"] == "kafka-acls --add --allow-principal User:carol --operation Alter --cluster"
    some, unknown = rows["DescribeConfigs on the topics"], rows["Describe on the groups"]
    assert (some["status"], str(some["message"])[:36]) == (LACKING, "1 of 2 topics, for describe, check, ")
    assert (unknown["status"], unknown["message"]) == (UNKNOWN, "for snapshot --with groups")


def test_who_may_not_describe_the_cluster_is_told_of_nothing_else_there(check: Any) -> None:
    """KafkaApis.handleDescribeCluster answers them with no operations at all."""
    rows = check(topics={"t": DESCRIBE_TOPICS})
    told = {name: row["status"] for name, row in rows.items() if name.endswith("on the cluster")}
    assert told == {
        "Describe on the cluster": LACKING,
        "DescribeConfigs on the cluster": UNKNOWN,
        "Alter on the cluster": UNKNOWN,
        "AlterConfigs on the cluster": UNKNOWN,
    }
