"""kreplica decode checkpoints on the directories of real brokers, stopped and killed, whole and damaged."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
CLEAN = GOLDEN / "clean" / "broker-1"
KILLED = GOLDEN / "killed-one" / "broker-3" / "data"


def test_json_is_one_row_for_each_replica(kreplica: Any) -> None:
    ended = kreplica("decode", "checkpoints", CLEAN, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert list(document) == ["schema", "clusters", "checkpoints", "summary", "warnings"]
    assert document["schema"] == "kreplica/decode-checkpoints/v1"
    assert document["clusters"] == [{"cluster_id": "i0iQ6TlnRRmrapXchcJ1Uw"}]
    rows = {(row["log_dir"], row["topic"], row["partition"]): row for row in document["checkpoints"]}
    assert len(rows) == len(document["checkpoints"]) == document["summary"]["replicas"]
    orders = rows[str(CLEAN / "data"), "orders", 0]
    assert (orders["high_watermark"], orders["recovery_point"], orders["log_start_offset"]) == (22, 22, None)
    assert orders["epochs"] == [{"epoch": 0, "start_offset": 0}, {"epoch": 1, "start_offset": 14}]
    first, second = document["summary"]["log_dirs"]
    assert (first["node_id"], first["clean_shutdown"], second["clean_shutdown"]) == (1, True, True)
    assert first["quorum_state"]["leader_epoch"] == 2
    assert second["quorum_state"] is None


def test_the_screen_says_how_the_broker_ended(kreplica: Any) -> None:
    clean = kreplica("decode", "checkpoints", CLEAN, "--topic", "orders")
    assert clean.code == 0
    assert "CLEAN 6 replicas of 1 topic in 2 log directories, closed in order" in clean.out
    assert "0:0,1:14" in clean.out
    killed = kreplica("decode", "checkpoints", KILLED)
    assert killed.code == 0
    assert "OPEN 1 of 1 without a mark of a clean stop (the broker runs or was killed" in killed.out


def test_csv_and_parquet_have_the_same_rows(kreplica: Any, process: Any) -> None:
    rows = kreplica("decode", "checkpoints", CLEAN, "-o", "json").document["checkpoints"]
    table = list(csv.DictReader(io.StringIO(kreplica("decode", "checkpoints", CLEAN, "-o", "csv").out)))
    assert [row["high_watermark"] for row in table] == [
        "" if row["high_watermark"] is None else str(row["high_watermark"]) for row in rows
    ]
    out, err = process("decode", "checkpoints", CLEAN, "-o", "parquet").communicate(timeout=60)
    assert err == b""
    parquet = pq.read_table(io.BytesIO(out))
    assert parquet.column("recovery_point").to_pylist() == [row["recovery_point"] for row in rows]


def test_damage_is_told_and_the_rest_is_read(kreplica: Any, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(CLEAN / "data", data)
    path = data / "replication-offset-checkpoint"
    lines = path.read_text().splitlines()
    number = lines.index("orders 0 22")
    lines[number] = "orders 0 2\0"
    path.write_text("\n".join(lines) + "\n")
    ended = kreplica("decode", "checkpoints", data, "-o", "json")
    assert ended.code == 1
    (damage,) = ended.document["summary"]["damage"]
    assert damage["file"] == str(path)
    assert damage["position"] == sum(len(line) + 1 for line in lines[:number])
    assert ended.err.startswith(f"warning: {path}, byte {damage['position']}: not an entry")
    rows = {(row["topic"], row["partition"]): row for row in ended.document["checkpoints"]}
    assert (rows["orders", 0]["high_watermark"], rows["orders", 0]["recovery_point"]) == (None, 22)
    assert rows["orders", 1]["high_watermark"] == 72
    assert "DAMAGED 1 damaged place in these files" in kreplica("decode", "checkpoints", data).out


def test_much_damage_is_counted(kreplica: Any, tmp_path: Path) -> None:
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n30\n" + "?\n" * 30)
    ended = kreplica("decode", "checkpoints", tmp_path, "-o", "json")
    assert ended.code == 1
    assert "20 more damaged places" in ended.err
    assert len(ended.document["summary"]["damage"]) == 30


def test_a_file_alone_and_a_partition_alone(kreplica: Any) -> None:
    alone = kreplica("decode", "checkpoints", CLEAN / "data" / "log-start-offset-checkpoint", "-o", "json").document
    (row,) = alone["checkpoints"]
    assert (row["topic"], row["log_start_offset"], row["high_watermark"]) == ("trimmed", 77, None)
    assert alone["warnings"] == []
    partition = kreplica("decode", "checkpoints", CLEAN / "data" / "orders-0", "-o", "json").document
    assert [row["last_epoch"] for row in partition["checkpoints"]] == [1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-file"], "error: cannot read no-such-file; there is no such file or directory; name a file, "),
        ([str(CLEAN), "--topic", "nope"], "error: no topic matches 'nope'; the files name "),
        ([str(Path(__file__).parent)], "error: no checkpoint files in "),
    ],
)
def test_bad_input_is_one_line(
    kreplica: Any, words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kreplica("decode", "checkpoints", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)
    assert ended.err.count("\n") == 1


def test_a_directory_without_its_checkpoints_is_remarked(kreplica: Any, tmp_path: Path) -> None:
    shutil.copy(CLEAN / "data" / "meta.properties", tmp_path)
    ended = kreplica("decode", "checkpoints", tmp_path)
    assert ended.code == 0
    assert (
        "no log-start-offset-checkpoint, recovery-point-offset-checkpoint, replication-offset-checkpoint" in ended.err
    )
