"""--as-of and --cluster: a cluster in a history as it was, in every command that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FLEET = Path(__file__).parents[3] / "kreplica/data/fleet"
MANIFESTS = sorted((FLEET / "manifests").glob("*.json"))
KAFKA_4, KAFKA_3 = "i0iQ6TlnRRmrapXchcJ1Uw", "cBMf6SHmQsyCTHxhqk8gNg"
COMMANDS = (
    ["describe", "--all"],
    ["describe", "--under-replicated", "--group-by", "cause"],
    ["check"],
    ["imbalance"],
    ["recommend"],
)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The packaged fleet as a history."""
    from kreplica.monitoring.snapshots.ingestion import ingest_dumps

    root = tmp_path_factory.mktemp("fleet")
    ingest_dumps([FLEET], root)
    return str(root)


def told(ended: Any) -> dict[str, Any]:
    """The answer without the age of a dump, and what hangs on sizes and on the times of fetches."""
    document = json.loads(ended.out, object_hook=lambda one: one | {"since": None} if "since" in one else one)
    for cluster in document["clusters"]:
        del cluster["age_seconds"]
    for row in document.get("brokers", []):
        row["bytes"] = None
    document["summary"].pop("diagnosis", None)
    for row in document.get("groups", []):
        del row["what"]
    if "skew" in document["summary"]:
        document["summary"]["skew"] = [one for one in document["summary"]["skew"] if one["measure"] != "bytes"]
    for row in document.get("partitions", []):
        row["causes"] = [cause | {"since": None} for cause in row["causes"]]
    return {**document, "code": ended.code}


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.name[:15])
def test_as_of_a_snapshot_every_answer_is_that_of_the_snapshot(kreplica: Any, history: str, manifest: Path) -> None:
    facts = json.loads(manifest.read_text(encoding="utf-8"))["snapshot"]
    for command in COMMANDS:
        of_history = ["--dump", history, "--as-of", facts["taken_at"], "--cluster", facts["cluster_id"]]
        before = kreplica(*command, "--dump", str(manifest), "-o", "json")
        assert told(kreplica(*command, *of_history, "-o", "json")) == told(before), command


@pytest.mark.parametrize("command", COMMANDS)
def test_between_two_snapshots_the_earlier_one_counts_and_its_age_is_told(
    kreplica: Any, history: str, command: list[str]
) -> None:
    ended = kreplica(*command, "--dump", history, "--as-of", "2026-11-21T07:06:09", "--cluster", KAFKA_4, "-o", "json")
    (cluster,) = ended.document["clusters"]
    assert (cluster["taken_at"], cluster["age_seconds"]) == ("2026-11-21T07:05:54.474000+00:00", 15)
    remark = "the last snapshot before 2026-11-21T07:06:09+00:00 is of 2026-11-21T07:05:54.474000+00:00, 15 s earlier"
    assert remark in ended.document["warnings"]


def test_what_a_history_does_not_hold_is_not_known(kreplica: Any, history: str) -> None:
    ended = kreplica("imbalance", "--dump", history, "--cluster", KAFKA_4, "-o", "json")
    assert {row["bytes"] for row in ended.document["brokers"]} == {None}
    refused = kreplica("disks", "--dump", f"{history}/cluster={KAFKA_4}")
    assert (refused.code, "a history holds no sizes" in refused.err) == (2, True)
    assert kreplica("disks", "--dump", str(MANIFESTS[0])).code == 0


def test_age_counts_to_the_moment(kreplica: Any, history: str) -> None:
    line = ["check", "--dump", history, "--cluster", "kafka-4.3.1", "--fail-on", "critical", "--as-of"]
    assert kreplica(*line, "2026-11-21T07:04:54", "--max-age", "2m").code == 0
    late = kreplica(*line, "2026-11-21T07:04:54", "--max-age", "30s")
    assert (late.code, "the dump is 1 min old" in late.err) == (5, True)


def test_commands_to_type_next_name_the_same_moment(kreplica: Any, history: str) -> None:
    line = ["describe", "--dump", history, "--as-of", "2026-11-21T07:06", "--cluster", "kafka-4*"]
    first = kreplica(*line)
    (check,) = [text for text in first.out.splitlines() if text.strip().startswith("kreplica check")]
    words = check.split()
    assert words[3] == f"'{history}/cluster=kafka-4*@2026-11-21T07:06:00+00:00'"
    ended = kreplica(*words[1:3], words[3].strip("'"), "-o", "json")
    assert ended.document["clusters"][0]["taken_at"] == "2026-11-21T07:05:54.474000+00:00"
    assert "safe-to-stop" not in first.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--dump", "{history}"], f"2 clusters; they are kafka-3.9.2 ({KAFKA_3}), kafka-4.3.1 ({KAFKA_4})"),
        (["--dump", "{history}", "--cluster", "kafka-*"], "2 clusters that fit kafka-*"),
        (["--dump", "{history}", "--cluster", "kafka-4.3"], "did you mean kafka-"),
        (["--dump", "{history}", "--cluster", KAFKA_3, "--as-of", "2026-11-20"], "at or before 2026-11-20T00:00"),
        (["--dump", "{history}", "--as-of", "yesterday"], "--as-of yesterday is no moment"),
        (["--dump", "sample", "--as-of", "7d"], "sample is no history"),
        (["--dump", "{history}/none", "--cluster", "a"], "is no history"),
        (["--as-of", "7d"], "--as-of is of a history"),
        (["--bootstrap-server", "127.0.0.1:1", "--cluster", "a"], "--cluster is of a history"),
        (["--dump", "{history}@2026-19-33"], "2026-19-33 is no moment"),
    ],
)
def test_what_cannot_be_meant_is_refused(kreplica: Any, history: str, words: list[str], reason: str) -> None:
    for command in ("describe", "check"):
        ended = kreplica(command, *(word.replace("{history}", history) for word in words))
        assert (ended.code, ended.out) == (2, "")
        assert reason in ended.err


def test_names_that_paths_cannot_hold(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs:\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
        encoding="utf-8",
    )
    name = "prod/eu@7 %41"
    for label in (name, "other"):
        line = ["audit", "ingest", str(tmp_path / "t.txt"), "--into", str(tmp_path / "h"), "--cluster", label]
        assert kreplica(*line).code == 0
    ended = kreplica("describe", "--dump", str(tmp_path / "h"), "--cluster", name, "--all", "-o", "json")
    assert [row["topic"] for row in ended.document["partitions"]] == ["t"]
