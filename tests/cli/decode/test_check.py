"""kreplica decode check."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from log_files.log_directories import REPLICATION, batch, close, write_checkpoint, write_meta, write_partition

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"


@pytest.mark.parametrize("state", ["clean", "killed-all"])
def test_real_brokers_are_in_order(kreplica: Any, state: str) -> None:
    ended = kreplica("decode", "check", GOLDEN / state / "broker-1", "-o", "json")
    assert ended.code == 0
    document = ended.document
    assert document["schema"] == "kreplica/decode-check/v1"
    assert document["findings"] == []
    assert document["summary"]["segments"] > 0
    assert {each["clean_shutdown"] for each in document["summary"]["log_dirs"]} == {state == "clean"}
    text = kreplica("decode", "check", GOLDEN / state / "broker-1").out
    assert text.startswith("OK the files agree with one another; ")
    assert ("older checkpoints are taken as normal" in text) == (state == "killed-all")


def test_findings_are_exit_1_with_file_and_byte(kreplica: Any, tmp_path: Path) -> None:
    write_partition(tmp_path, [batch(0, 0), batch(1, 2)], epochs=[(0, 0)])
    write_meta(tmp_path)
    write_checkpoint(tmp_path, REPLICATION, 5)
    close(tmp_path)
    ended = kreplica("decode", "check", tmp_path)
    assert ended.code == 1
    assert ended.out.endswith("WRONG 2 findings; 1 replica in 1 log directory\n")
    assert f"{tmp_path / REPLICATION}, byte 4\n         expected 2 at most, found 5\n" in ended.out
    assert "wrong    orders-0 high-watermark: behind the end of the log: committed records are missing" in ended.out
    rows = list(csv.DictReader(io.StringIO(kreplica("decode", "check", tmp_path, "-o", "csv").out)))
    assert [(row["rule"], row["position"]) for row in rows] == [("leader-epochs", "4"), ("high-watermark", "4")]


def test_topic_ids_against_a_metadata_log(kreplica: Any, tmp_path: Path) -> None:
    metadata = next(GOLDEN.rglob("__cluster_metadata-0/*.log")).parent
    orders = (GOLDEN / "clean/broker-1/data/orders-0/partition.metadata").read_bytes()
    write_partition(tmp_path, [batch(0, 0)], files={"partition.metadata": orders})
    assert kreplica("decode", "check", tmp_path, "--metadata", metadata).code == 0
    other = b"version: 0\ntopic_id: NCtw5HUaSnG3EiysTaRZSA"
    write_partition(tmp_path, [batch(0, 0)], files={"partition.metadata": other})
    assert kreplica("decode", "check", tmp_path).code == 0  # nothing to compare it with
    ended = kreplica("decode", "check", tmp_path, "--metadata", metadata, "-o", "json")
    assert ended.code == 1
    (found,) = ended.document["findings"]
    assert (found["rule"], found["found"]) == ("topic-id", "NCtw5HUaSnG3EiysTaRZSA")
    assert found["expected"] in orders.decode()


def test_a_metadata_log_that_cannot_be_replayed(kreplica: Any, tmp_path: Path) -> None:
    write_partition(tmp_path, [batch(5, 0)], place="__cluster_metadata-0", base=5, epochs=[(0, 5)])
    ended = kreplica("decode", "check", tmp_path)
    assert ended.code == 0
    assert "topic ids are compared among the directories alone" in ended.err
    named = kreplica("decode", "check", tmp_path, "--metadata", tmp_path)
    assert named.code == 2


def test_nothing_to_check_is_exit_2(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("decode", "check", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: no log directory in {tmp_path}; ")
