"""kreplica audit resilience: verdict, exit codes, rows, and lines to type next."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from answers.command_lines import FLEET
from clusters.generated import partition
from planted.histories import keep, taken

from kreplica.monitoring.snapshots.ingestion import ingest_dumps

CLUSTER = "i0iQ6TlnRRmrapXchcJ1Uw"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kept") / "a history"
    ingest_dumps([FLEET], root)
    return root


def test_the_worst_loss_is_said_first_and_what_it_does_is_what_whatif_fail_says(kreplica: Any, kept: Path) -> None:
    ended = kreplica("audit", "resilience", str(kept))
    assert ended.code == 1
    assert ended.out.startswith("HARM for 100 % of the time the loss of broker 1 of kafka-4.3.1 would have stopped")
    (line,) = (line for line in ended.out.splitlines() if "whatif fail" in line)
    words = shlex.split(line.replace("next", "", 1))
    played = kreplica(*words[1:], "-o", "json")
    row = kreplica("audit", "resilience", str(kept), "-o", "json").document["losses"][0]
    effects = [one["effect"] for one in played.document["partitions"] if not one["already"]]
    assert row["writes_most"] == effects.count("unavailable") + effects.count("under_min_isr") > 0
    assert row["reads_most"] == effects.count("unavailable") > 0


def test_clusters_and_time_are_narrowed(kreplica: Any, kept: Path) -> None:
    words = ("--cluster", "kafka-4*", "--since", "2026-11-21T07:06", "--until", "2026-11-21T07:08:30")
    ended = kreplica("audit", "resilience", str(kept), *words, "-o", "jsonl", "--exit-zero")
    assert ended.code == 0
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["cluster"] for row in rows} == {CLUSTER}
    whole = kreplica("audit", "resilience", str(kept), "--cluster", CLUSTER, "-o", "json").document
    assert {row["known_seconds"] for row in rows} < {*range(whole["losses"][0]["known_seconds"])}


def test_no_history_and_nothing_wanted_are_refused(kreplica: Any, kept: Path, tmp_path: Path) -> None:
    assert kreplica("audit", "resilience", str(tmp_path)).code == 2
    ended = kreplica("audit", "resilience", str(kept), "--cluster", "nosuch")
    assert (ended.code, "no snapshot that is wanted" in ended.err) == (2, True)


def test_a_month_that_is_damaged_is_named_and_left_out(kreplica: Any, kept: Path, tmp_path: Path) -> None:
    root = tmp_path / "damaged"
    ingest_dumps([FLEET], root)
    (manifest,) = (root / f"cluster={CLUSTER}").glob("month=*/manifests/*.json")
    manifest.write_bytes(b"{")
    ended = kreplica("audit", "resilience", str(root), "-o", "json")
    assert (ended.code, ended.document["summary"]["left_out"]) == (1, 1)
    assert "manifests" in ended.err
    assert {row["name"] for row in ended.document["losses"]} == {"kafka-3.9.2"}


def test_clusters_of_one_name_go_by_their_labels(kreplica: Any, tmp_path: Path) -> None:
    for cluster in ("Zk5", "Zk6"):
        keep(
            tmp_path, [taken(hour, partition(leader=None, isr=[], elr=[], min_isr=None)) for hour in range(4)], cluster
        )
    doubts = [f"warning: {cluster}: the leader of 1 partition was not known all the time" for cluster in ("Zk5", "Zk6")]
    for command in ("resilience", "slo"):
        assert [
            line for line in kreplica("audit", command, str(tmp_path)).err.splitlines() if "leader" in line
        ] == doubts


def test_the_worst_loss_names_the_label_of_a_cluster_whose_name_another_has(kreplica: Any, tmp_path: Path) -> None:
    for cluster, isr in (("Zk5", [1]), ("Zk6", [1, 2, 3])):
        keep(tmp_path, [taken(hour, partition(isr=isr)) for hour in range(4)], cluster)
    lines = kreplica("audit", "resilience", str(tmp_path)).out.splitlines()
    assert "the loss of broker 1 of Zk5 would have stopped reads and writes of 1 partition" in lines[0]
    assert lines[3].split()[:3] == ["Zk5", "broker", "1"]
    rows = [line.split()[:2] for line in kreplica("audit", "slo", str(tmp_path)).out.splitlines()]
    assert ["Zk5", "orders"] in rows
