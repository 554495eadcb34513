"""Names of topics by their id, as the directories of partitions tell them."""

from __future__ import annotations

from pathlib import Path

from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.cluster_identity import topic_names

IDS = ["AAAAAAAAAAAAAAAAAAAAA" + last for last in "ABCDEF"]
UNIQUE = "c0ffee00c0ffee00c0ffee00c0ffee00"


def directory(home: Path, name: str, topic_id: str | None) -> None:
    """A partition's directory; its partition.metadata as PartitionMetadataFile writes it."""
    (home / name).mkdir(parents=True)
    if topic_id is not None:
        (home / name / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def test_topics_are_named_by_what_is_theirs_now(tmp_path: Path) -> None:
    """Not by a copy that is deleted (its name may be another topic's by now), nor by directories of no partition."""
    first, second = tmp_path / "a", tmp_path / "b"
    directory(first, "orders-0", IDS[0])
    directory(first, "orders-1", IDS[0])
    directory(first, f"orders-2.{UNIQUE}-delete", IDS[1])
    directory(first, "lost+found", IDS[2])
    directory(first, "old-0", None)
    directory(second, "audit.log-3", IDS[3])
    directory(second, f"moves-0.{UNIQUE}-future", IDS[4])
    damage: list[Damage] = []
    assert topic_names([first, second], damage) == {IDS[0]: "orders", IDS[3]: "audit.log"}
    assert topic_names([], damage) == {}
    assert damage == []
