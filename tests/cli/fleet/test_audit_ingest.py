"""kreplica audit ingest: what it says, what it ends with, and what stands in the folder afterwards."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories.folders import contents, newest_files

TOPICS = """Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: a=b
\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1
"""


def ingested(ended: Any) -> dict[str, tuple[int, int]]:
    return {row["cluster"]: (row["added"], row["known"]) for row in ended.document["ingested"]}


def test_the_sample_twice_is_the_sample_once(kreplica: Any, tmp_path: Path) -> None:
    line = ("audit", "ingest", "sample", "--into", str(tmp_path), "-o", "json")
    first = kreplica(*line)
    before = contents(tmp_path)
    again = kreplica(*line)
    assert (first.code, again.code) == (0, 0)
    assert ingested(first) == {"cBMf6SHmQsyCTHxhqk8gNg": (6, 0), "i0iQ6TlnRRmrapXchcJ1Uw": (6, 0)}
    assert ingested(again) == {"cBMf6SHmQsyCTHxhqk8gNg": (0, 6), "i0iQ6TlnRRmrapXchcJ1Uw": (0, 6)}
    assert contents(tmp_path) == before
    assert first.document["summary"]["added"] == 12


def test_a_dump_at_a_time_gives_the_same_bytes_once_pieces_are_joined(
    kreplica: Any, root: Path, tmp_path: Path
) -> None:
    fleet = root / "kreplica" / "data" / "fleet"
    alone = sorted((fleet / "manifests").glob("*.json"), reverse=True)
    assert len(alone) == 12
    for manifest in alone:
        assert kreplica("audit", "ingest", str(manifest), "--into", str(tmp_path / "bit by bit")).code == 0
    assert kreplica("audit", "ingest", str(fleet), "--into", str(tmp_path / "once")).code == 0
    assert kreplica("audit", "ingest", str(alone[0]), "--into", str(tmp_path / "bit by bit"), "--compact").code == 0
    for manifest in (alone[0], alone[-1]):
        kreplica("audit", "ingest", str(manifest), "--into", str(tmp_path / "bit by bit"), "--compact")
    assert contents(tmp_path / "bit by bit") == contents(tmp_path / "once")


def test_controllers_of_the_history_are_those_of_the_quorum(kreplica: Any, tmp_path: Path) -> None:
    """leader_id in tests/golden/kafka-4.3.1/*/api-responses.json: 1 but for the last state."""
    kreplica("audit", "ingest", "sample", "--into", str(tmp_path))
    found: dict[str, list[int]] = {}
    for path in newest_files(tmp_path)["observations whole"]:
        rows = pq.ParquetFile(path).read().to_pylist()
        found[rows[0]["cluster_id"]] = [row["controller"] for row in rows]
    assert found["i0iQ6TlnRRmrapXchcJ1Uw"] == [1, 1, 1, 1, 1, 2]


def test_text_without_an_id_is_taken_in_when_somebody_says_whose_it_is(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    line = ("audit", "ingest", str(tmp_path / "topics.txt"), "--into", str(tmp_path / "history"))
    for nobody in ((), ("--cluster", "")):
        refused = kreplica(*line, *nobody, "-o", "json")
        assert (refused.code, refused.document["ingested"], refused.document["summary"]["nameless"]) == (5, [], 1)
        assert "--cluster NAME says it" in refused.document["warnings"][0]
    assert not (tmp_path / "history").exists()
    told = kreplica(*line, "--cluster", "prod/eu", "-o", "json")
    assert (told.code, ingested(told)) == (0, {"prod/eu": (1, 0)})
    (open_runs,) = newest_files(tmp_path / "history")["partitions open"]
    assert open_runs.relative_to(tmp_path).parts[1] == "cluster=prod%2Feu"
    (observation,) = newest_files(tmp_path / "history")["observations whole"]
    (row,) = pq.ParquetFile(observation).read().to_pylist()
    assert {"leader", "replicas", "isr"} <= set(row["partitions"].split())
    assert (row["partitions_whole"], row["log_dirs"], row["cluster_id"]) == (False, None, None)


def test_the_same_dump_from_another_path_is_known(
    kreplica: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "copies").mkdir()
    shutil.copy2(tmp_path / "topics.txt", tmp_path / "copies" / "other.txt")
    monkeypatch.chdir(tmp_path)
    line = ("--cluster", "prod", "--into", str(tmp_path / "history"), "-o", "json")
    named = ("topics.txt", str(tmp_path / "topics.txt"), "copies/other.txt")
    ends = [kreplica("audit", "ingest", path, *line) for path in named]
    assert [ingested(ended) for ended in ends] == [{"prod": (1, 0)}, {"prod": (0, 1)}, {"prod": (0, 1)}]
    assert [row["name"] for ended in ends for row in ended.document["ingested"]] == ["prod"] * 3


def test_what_is_no_dump_is_named_and_the_rest_is_taken_in(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    into = ("--into", str(tmp_path / "history"))
    ended = kreplica("audit", "ingest", "sample", str(tmp_path / "notes.txt"), *into)
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE 12 snapshots of 2 clusters added to ")
    assert "1 file not read" in " ".join(ended.out.split())
    assert "notes.txt" in ended.out + ended.err
    alone = kreplica("audit", "ingest", str(tmp_path / "notes.txt"), *into)
    assert (alone.code, alone.out) == (2, "")
    assert alone.err.startswith("error: cannot read ")


def test_a_history_is_no_dump(kreplica: Any, tmp_path: Path) -> None:
    """Of a dump a history would be its newest snapshot: the rest must not be left out without a word."""
    history, into = tmp_path / "history", ("--into", str(tmp_path / "other"))
    assert kreplica("audit", "ingest", "sample", "--into", str(history)).code == 0
    cluster = min(history.iterdir())
    for place in (history, cluster):
        alone = kreplica("audit", "ingest", str(place), *into)
        assert (alone.code, alone.out) == (2, "")
        assert alone.err == f"error: {place} is a history, and not a dump; name the dumps that it was made of\n"
    beside = kreplica("audit", "ingest", "sample", str(history), *into, "-o", "json")
    assert (beside.code, ingested(beside)) == (5, dict.fromkeys((one.name[8:] for one in history.iterdir()), (6, 0)))
    assert beside.document["summary"]["unread"] == 1
    none = kreplica("audit", "ingest", "sample", f"{tmp_path}/none/cluster=a@2026-11-21T07:05", *into, "-o", "json")
    assert (none.code, none.document["summary"]["unread"]) == (5, 1)
    moment = kreplica("audit", "ingest", f"{cluster}@2026-11-21T07:05", "--into", str(tmp_path / "one"), "-o", "json")
    assert (moment.code, ingested(moment)) == (0, {cluster.name[8:]: (1, 0)})


def test_old_snapshots_are_refused_and_counted(kreplica: Any, tmp_path: Path, root: Path) -> None:
    line = ("audit", "ingest", "sample", "--into", str(tmp_path / "history"))
    kept = kreplica(*line, "--keep", "36500d", "-o", "json")
    assert kept.document["summary"]["refused"] == 0
    taken = datetime(2026, 11, 21, 7, 2, tzinfo=UTC)
    assert datetime.now(UTC) > taken, "the packaged fleet is older than a second"
    gone = kreplica(*line, "--keep", "1s", "-o", "json")
    assert (gone.code, gone.document["summary"]["refused"]) == (0, 12)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sample"], "missing option '--into'"),
        (["sample", "--into", "{file}"], "file"),
        (["nothere", "--into", "h"], "cannot read nothere"),
        (["sample", "--into", "h", "--keep", "soon"], "--keep soon is no length of time"),
        (["sample", "--into", "{file}/below"], "cannot write to the history"),
    ],
)
def test_bad_input_is_refused(kreplica: Any, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "file").write_text("")
    ended = kreplica("audit", "ingest", *(word.replace("{file}", str(tmp_path / "file")) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_the_first_word_decides_and_a_folder_of_its_name_is_spelled_otherwise(kreplica: Any) -> None:
    assert "kreplica audit ingest --help" in kreplica("audit", "ingest", "--into", "h").err
    ended = kreplica("audit", "./ingest")
    assert ended.code == 2
    assert ended.err.startswith("error: cannot read ")
    assert "there is no such directory" in ended.err
    ended = kreplica("audit", "--strict", "ingest")
    assert (ended.code, ended.err) == (2, "error: there is no folder ingest; did you mean kreplica audit ingest?\n")
    assert "see kreplica audit --help" in kreplica("audit").err


def test_manifests_say_what_the_layout_says(kreplica: Any, tmp_path: Path) -> None:
    kreplica("audit", "ingest", "sample", "--into", str(tmp_path))
    for manifest in tmp_path.glob("cluster=*/month=*/manifests/*.json"):
        document = json.loads(manifest.read_text())
        assert manifest.name == "00000001.json"
        assert list(document) == ["schema", "schema_version", "cluster", "month", "files"]
        for file in document["files"]:
            parquet = pq.ParquetFile(tmp_path / file["path"])
            assert parquet.metadata.num_rows == file["rows"]
            assert (tmp_path / file["path"]).stat().st_size == file["bytes"]


def test_an_answer_about_one_topic_ends_no_other(kreplica: Any, root: Path, tmp_path: Path) -> None:
    """kcat -L -J -t orders lists orders alone."""
    golden, history = root / "tests" / "golden" / "kcat", tmp_path / "history"
    for hour, name in enumerate(("healthy.json", "one-topic.json", "trouble.json")):
        path = tmp_path / name
        path.write_bytes((golden / name).read_bytes())
        os.utime(path, (1_780_000_000 + 3600 * hour,) * 2)
        assert kreplica("audit", "ingest", str(path), "--cluster", "prod", "--into", str(history)).code == 0
    kinds = {
        topic: [row["kind"] for row in kreplica("history", topic, "--in", str(history), "-o", "json").document[rows]]
        for topic, rows in (("orders", "topic_stretches"), ("moving-0", "stretches"), ("doomed-0", "stretches"))
    }
    assert kinds["orders"] == ["state", "state"]
    assert kinds["moving-0"] == ["state", "unknown"]
    assert kinds["doomed-0"] == ["state", "unknown", "absent"]
