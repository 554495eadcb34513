"""kreplica decode offsets where several disks hold copies of a partition, or what only seems to be one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from log_files.log_directories import write_meta

BROKER = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "clean" / "broker-1"
BILLING = "data/__consumer_offsets-9"


def test_of_several_copies_the_furthest_is_read(kreplica: Any, tmp_path: Path) -> None:
    for name in ("b1", "b2"):
        shutil.copytree(BROKER / BILLING, tmp_path / name / "__consumer_offsets-9")
    behind = tmp_path / "b1" / "__consumer_offsets-9" / "00000000000000000000.log"
    behind.write_bytes(behind.read_bytes()[:1000])
    document = kreplica("decode", "offsets", tmp_path, "--group", "billing", "-o", "json").document
    assert [log["directory"] for log in document["summary"]["logs"]] == [str(tmp_path / "b2" / "__consumer_offsets-9")]
    assert document["summary"]["other_copies"] == [
        {"directory": str(tmp_path / "b1" / "__consumer_offsets-9"), "partition": 9}
    ]
    assert len(document["offsets"]) == 6


def test_disks_of_two_clusters_have_no_common_groups(kreplica: Any, tmp_path: Path) -> None:
    """The same partition of two clusters is no copy: the further one would hide the other's groups."""
    for name, cluster in (("east", "c1"), ("west", "c2"), ("west-2", "c2")):
        shutil.copytree(BROKER / BILLING, tmp_path / name / "__consumer_offsets-9")
        write_meta(tmp_path / name, cluster=cluster)
    for more in ([], ["--events"], ["--groups"]):
        ended = kreplica("decode", "offsets", tmp_path, *more)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == (
            f"error: logs of 2 clusters; c1 in {tmp_path / 'east'}, c2 in {tmp_path / 'west'} and 1 more;"
            " name those of one\n"
        )
    assert kreplica("decode", "offsets", tmp_path / "west", tmp_path / "west-2", "--group", "billing").code == 0


def test_a_copy_of_another_topic_of_that_name_is_told(kreplica: Any, tmp_path: Path) -> None:
    """__consumer_offsets was deleted and created anew while a broker was down (KIP-516)."""
    ids = {"b1": "aaaaaaaaaaaaaaaaaaaaaA", "b2": "bbbbbbbbbbbbbbbbbbbbbA"}
    for name, topic_id in ids.items():
        folder = tmp_path / name / "__consumer_offsets-9"
        shutil.copytree(BROKER / BILLING, folder)
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    first, second = (tmp_path / name / "__consumer_offsets-9" for name in ids)
    warned = kreplica("decode", "offsets", tmp_path, "--group", "billing").err.splitlines()
    older = f"{second} is of another topic of that name ({ids['b2']}) than {first} ({ids['b1']}), which is read"
    assert warned == [
        f"warning: {older}: if the cluster has the other one, name its directory alone",
        f"warning: {second} is another copy of partition 9, not read",
    ]


def test_copies_are_told_by_their_disk(kreplica: Any, tmp_path: Path) -> None:
    for disk in ("first", "second", "third"):
        for partition in (9, 16):
            shutil.copytree(
                BROKER / "data" / f"__consumer_offsets-{partition}", tmp_path / disk / f"__consumer_offsets-{partition}"
            )
    shutil.rmtree(tmp_path / "third" / "__consumer_offsets-16")
    ended = kreplica("decode", "offsets", tmp_path, "--group", "billing")
    assert sorted(ended.err.splitlines()) == [
        f"warning: {tmp_path}/second has other copies of partitions 9, 16, not read",
        f"warning: {tmp_path}/third/__consumer_offsets-9 is another copy of partition 9, not read",
    ]
