"""kreplica decode compare."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from log_files.log_directories import REPLICATION, batch, write_checkpoint, write_meta, write_partition

from kreplica.formats import file_bytes

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
BROKERS = [GOLDEN / "killed-all/broker-1", GOLDEN / "killed-all/broker-2", GOLDEN / "killed-one/broker-3"]


def diverged(folder: Path) -> list[Path]:
    """Scenario 2 of KIP-101."""
    homes = [folder / "broker-1", folder / "broker-2"]
    logs = [batch(0, 0, b"m1"), batch(1, 0, b"m2")], [batch(0, 0, b"m1"), batch(1, 1, b"m3")]
    for node, (home, batches, epochs) in enumerate(zip(homes, logs, ([(0, 0)], [(0, 0), (1, 1)]), strict=True), 1):
        write_partition(home, batches, epochs=epochs)
        write_meta(home, node=node, directory=f"d{node}")
        write_checkpoint(home, REPLICATION, 3 - node)
    return homes


def test_diverged_copies(kreplica: Any, tmp_path: Path) -> None:
    homes = diverged(tmp_path)
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 1
    assert "DIVERGED copies of 1 partition differ, 1 committed offset would be cut; 1 partition compared\n" in ended.out
    said = "orders-0 on node 1 holds other records from offset 1 on: following node 2 cuts 1 offset, 1 of them"
    assert f"differ   {said} known to be committed; the high watermark rule leaves that in place\n" in ended.out
    assert f"kreplica decode segment {homes[0] / 'orders-0'} --records -o jsonl" in ended.out
    document = kreplica("decode", "compare", *homes, "-o", "json").document
    assert document["schema"] == "kreplica/decode-compare/v1"
    assert [(row["node_id"], row["differs_at"], row["cut_by_leader_epoch"]) for row in document["copies"]] == [
        (1, 1, 1),
        (2, None, None),
    ]
    assert document["summary"]["differing"] == 1


def test_real_killed_brokers(kreplica: Any) -> None:
    ended = kreplica("decode", "compare", *BROKERS, "-o", "json")
    assert ended.code == 0
    summary = ended.document["summary"]
    assert summary["differing"] == summary["only_one_copy_holds"] == 0
    assert summary["of_different_length"] == 2
    assert {(row["topic"], row["partition"]) for row in ended.document["copies"]} == {("orders", 0), ("orders", 5)}
    text = kreplica("decode", "compare", *BROKERS).out
    assert "OK no copies differ, 2 partitions with a shorter one; " in text
    inventory = kreplica("decode", "compare", *BROKERS, "--topic", "inventory").out
    assert inventory == "OK all copies are the same; 1 partition compared\n"
    every = kreplica("decode", "compare", *BROKERS, "--topic", "orders", "--all", "-o", "json").document["copies"]
    assert {row["partition"] for row in every} >= {0, 5}


def test_records_on_one_disk_alone(kreplica: Any, tmp_path: Path) -> None:
    homes = diverged(tmp_path)
    write_partition(homes[0], [batch(0, 0, b"m1"), batch(1, 0, b"m2")])
    write_partition(homes[1], [batch(0, 0, b"m1")])
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 1
    assert "AT RISK 1 acknowledged offset on one disk alone; 1 partition compared\n" in ended.out


def test_an_unclean_leader_that_wrote_nothing_yet(kreplica: Any, tmp_path: Path) -> None:
    """No record differs, but who comes back cuts what was acknowledged; Kafka 4.3.1 truncated where this says."""
    homes = diverged(tmp_path)
    write_partition(homes[0], [batch(0, 0), batch(1, 0), batch(2, 0)])
    write_partition(homes[1], [batch(0, 0)], epochs=((0, 0), (2, 1)))
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 1
    assert "AT RISK 1 committed offset would be cut when brokers start; 1 partition compared\n" in ended.out
    said = (
        "orders-0 on node 1 goes further than node 2: following node 2 cuts 2 offsets, 1 of them known to be committed"
    )
    assert f"differ   {said}\n" in ended.out
    document = kreplica("decode", "compare", *homes, "-o", "json").document
    found = [(row["truncation_by_leader_epoch"], row["cut_committed"]) for row in document["copies"]]
    assert (found, document["summary"]["cut_committed"]) == ([(1, 1), (None, None)], 1)
    write_checkpoint(homes[0], REPLICATION, 1)
    assert kreplica("decode", "compare", *homes).code == 0


def test_what_two_disks_hold_is_cut_nevertheless_where_a_third_leads(kreplica: Any, tmp_path: Path) -> None:
    """No copy differs and none is alone. To a follower whose last epoch is 0 the leader, which began epoch 2 at offset
    1, answers 1 (OffsetsForLeaderEpoch): of what is below the high watermark 2 one offset goes.
    """
    homes = [*diverged(tmp_path), tmp_path / "broker-3"]
    for home in homes[:2]:
        write_partition(home, [batch(0, 0), batch(1, 0), batch(2, 0)])
        write_checkpoint(home, REPLICATION, 2)
    write_partition(homes[2], [batch(0, 0)], epochs=((0, 0), (2, 1)))
    write_meta(homes[2], node=3, directory="d3")
    write_checkpoint(homes[2], REPLICATION, 1)
    ended = kreplica("decode", "compare", *homes)
    assert "AT RISK 1 committed offset would be cut when brokers start; 1 partition compared\n" in ended.out
    assert ended.code == 1
    summary = kreplica("decode", "compare", *homes, "-o", "json").document["summary"]
    assert (summary["differing"], summary["only_one_copy_holds"], summary["cut_committed"]) == (0, 0, 1)


def test_records_above_the_high_watermark_on_one_disk_alone(kreplica: Any, tmp_path: Path) -> None:
    """A leader that was killed while producers wrote with acks=1: nothing is wrong, but its disk is not to be lost."""
    homes = diverged(tmp_path)
    write_partition(homes[0], [batch(offset, 0) for offset in range(5)])
    write_partition(homes[1], [batch(offset, 0) for offset in range(2)])
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 0
    shown = ended.out.splitlines()
    assert shown[3] == "OK no copies differ, 1 partition with a shorter one; 1 partition compared"
    assert (
        shown[4] == "ahead    orders-0 on node 1: 3 offsets above the high watermark that no other disk has, from 2 on"
    )
    assert "acks=1" in shown[5]


def test_without_two_copies_nothing_is_known(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("decode", "compare", diverged(tmp_path)[0])
    assert ended.code == 5
    assert ended.out.startswith("INCOMPLETE no partition has two copies on these disks; ")


def test_damage_is_told(kreplica: Any, tmp_path: Path) -> None:
    homes = diverged(tmp_path)
    for home in homes:
        write_partition(home, [batch(0, 0, b"m1"), b"rubbish"])
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 1
    assert f"{homes[0] / 'orders-0'} is damaged: its log is compared without that" in ended.err
    assert "DAMAGED 2 damaged copies, compared without what cannot be read: all copies are the same; " in ended.out


def test_a_topic_that_was_created_anew_is_another(kreplica: Any, tmp_path: Path) -> None:
    """The disk of a broker that was down meanwhile has the old one still: its records are no copies (KIP-516)."""
    ids = ["aaaaaaaaaaaaaaaaaaaaaA", "bbbbbbbbbbbbbbbbbbbbbA"]
    homes = [*diverged(tmp_path), tmp_path / "broker-3"]
    write_partition(homes[2], [batch(0, 0, b"m1"), batch(1, 1, b"m3")])
    for home, topic_id in zip(homes, [ids[1], ids[0], ids[0]], strict=True):
        (home / "orders-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    ended = kreplica("decode", "compare", *homes)
    assert ended.code == 0
    assert ended.out == "OK all copies are the same; 1 partition compared, 1 more with one copy here\n"
    assert ended.err == (
        f"warning: orders was deleted and created anew, its copies are of the topic ids {ids[0]}, {ids[1]}:"
        " only copies of the same one are compared\n"
    )
    rows = kreplica("decode", "compare", *homes, "--all", "-o", "json").document["copies"]
    assert [(row["log_dir"], row["topic_id"]) for row in rows] == [(str(home), ids[0]) for home in homes[1:]]
    (homes[2] / "orders-0" / "partition.metadata").unlink()
    assert "1 partition compared, 1 more" not in kreplica("decode", "compare", *homes).out


def test_disks_of_two_clusters_are_not_compared(kreplica: Any, tmp_path: Path) -> None:
    homes = diverged(tmp_path)
    write_meta(homes[1], node=2, cluster="c2")
    ended = kreplica("decode", "compare", *homes)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"error: logs of 2 clusters; c1 in {homes[0]}, c2 in {homes[1]}; name those of one\n"


def test_usage(kreplica: Any, tmp_path: Path) -> None:
    ended = kreplica("decode", "compare", tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: no logs in {tmp_path}; ")
    unknown = kreplica("decode", "compare", *diverged(tmp_path), "--topic", "nope")
    assert unknown.code == 2
    assert "no topic matches 'nope'" in unknown.err


def test_the_end_of_a_log_that_cannot_be_read_is_not_known(
    kreplica: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor is such a copy compared: what the others hold alone is not said to be gone from it."""
    homes = [*diverged(tmp_path), tmp_path / "broker-3"]
    write_partition(homes[2], [batch(0, 0, b"m1"), batch(1, 1, b"m3")], epochs=[(0, 0), (1, 1)])
    write_meta(homes[2], node=3, directory="d3")
    refused = homes[0] / "orders-0" / f"{0:020}.log"
    real = file_bytes.open_file

    def open_file(path: Path) -> int:
        if path == refused:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path)

    monkeypatch.setattr(file_bytes, "open_file", open_file)
    ended = kreplica("decode", "compare", *homes, "-o", "json")
    assert ended.code == 1
    rows = ended.document["copies"]
    assert [(row["node_id"], row["leads"], row["end_offset"]) for row in rows] == [
        (1, False, None),
        (2, True, 2),
        (3, False, 2),
    ]
    known = {"topic": "orders", "partition": 0, "log_dir": str(homes[0]), "node_id": 1, "leads": False}
    told = {"high_watermark": 2, "epochs": [{"epoch": 0, "start_offset": 0}]}
    assert rows[0] == dict.fromkeys(rows[0]) | known | told
    summary = ended.document["summary"]
    assert (summary["compared"], summary["of_different_length"], summary["damaged"]) == (1, 0, 1)
    why = f"{refused}, byte 0: it cannot be read: permission denied; where the log ends is not known"
    assert ended.err == f"warning: {refused.parent} is not compared: {why}\n"
    shown = kreplica("decode", "compare", *homes).out.splitlines()
    assert shown[1].split()[:6] == ["orders", "0", homes[0].name, "1", "-", "2"]
    same = "DAMAGED 1 damaged copy, compared without what cannot be read: all copies are the same; 1 partition compared"
    assert shown[4] == same
    both = kreplica("decode", "compare", *homes[:2], "-o", "json")
    assert (both.code, both.document["summary"]["compared"]) == (1, 0)
    assert [row["end_offset"] for row in both.document["copies"]] == [None, 2]
    assert [row["only_here"] for row in both.document["copies"]] == [None, None]
    text = kreplica("decode", "compare", *homes[:2]).out
    assert "DAMAGED 1 damaged copy: no partition has two copies that can be read; 0 partitions compared\n" in text
