"""meta.properties, partition.metadata, quorum-state, .kafka_cleanshutdown and the directories they are in."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.kafka_dumps import GOLDEN

from kreplica.errors import InputError
from kreplica.formats.file_bytes import read_small_file
from kreplica.formats.find_files import find_files
from kreplica.formats.log_directory.listing import (
    SMALL_FILES,
    PartitionDirectory,
    parse_partition_directory,
    read_log_directories,
)
from kreplica.formats.log_directory.meta_properties import decode_meta_properties, decode_partition_metadata
from kreplica.formats.log_directory.quorum_state import decode_clean_shutdown, decode_quorum_state
from kreplica.formats.log_directory.reading import checkpoint_rows

CLEAN = GOLDEN / "kafka-4.3.1" / "clean"
STRAY = "to-be-deleted-0.15059927cc9c420586ae63773dd9d013-stray"
TOLD = (GOLDEN / "kafka-4.3.1" / "5-elected" / "topics-describe.txt").read_text()
CLUSTER_ID = "i0iQ6TlnRRmrapXchcJ1Uw"


def test_meta_properties_of_both_modes() -> None:
    kraft = decode_meta_properties((CLEAN / "broker-1" / "data" / "meta.properties").read_bytes(), "f")
    assert (kraft.version, kraft.node_id, kraft.cluster_id, kraft.damage) == (1, 1, CLUSTER_ID, ())
    # The quorum's voters, as Kafka's dump of the metadata log prints them, name the directory of node 1.
    assert kraft.directory_id == "30zth3UaSnG3EiysTaRZSA"
    old = GOLDEN / "kafka-3.9.2-ibp-1.1" / "clean" / "broker-1" / "data" / "meta.properties"
    zookeeper = decode_meta_properties(old.read_bytes(), "f")
    assert (zookeeper.version, zookeeper.node_id, zookeeper.directory_id, zookeeper.damage) == (0, 1, None, ())


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (b"version=1\nnode.id=x\n", ["node.id is no number"]),
        (b"version=9\nnode.id=1\n", ["unknown version"]),
        (b"", ["unknown version"]),
        (b"version=1\nnode.id=1\n\x00\x01\x02", ["neither a key with a value nor a remark"]),
        (b"#a remark\n\n ! another\nversion = 1\nnode.id:1\r\n", []),
    ],
)
def test_damaged_meta_properties(content: bytes, reasons: list[str]) -> None:
    assert [each.reason for each in decode_meta_properties(content, "f").damage] == reasons


def test_topic_ids_are_those_kafka_describes() -> None:
    described = dict(re.findall(r"Topic: (\S+)\tTopicId: (\S+)", TOLD))
    files = [path for path in CLEAN.glob("broker-1/data*/*/partition.metadata") if "__cluster" not in str(path)]
    assert len(files) > 30
    for path in files:
        found = decode_partition_metadata(path.read_bytes(), str(path))
        topic = path.parent.name.rpartition("-")[0]
        assert (found.topic_id, found.damage) == (described[topic], ())


@pytest.mark.parametrize("content", [b"", b"version: 0\n", b"version: 0\ntopic_id: short\n", b"topic_id: !"])
def test_damaged_partition_metadata(content: bytes) -> None:
    found = decode_partition_metadata(content, "f")
    assert found.topic_id is None
    assert found.damage[-1].reason == "no topic id"


def test_the_quorum_as_kafka_told_it() -> None:
    """kafka-metadata-quorum told leader and epoch; the vote is for the leader of that epoch."""
    told = (GOLDEN / "kafka-4.3.1" / "5-elected" / "quorum-status.txt").read_text()
    epoch, leader = (int(re.search(rf"{name}:\s+(\d+)", told)[1]) for name in ("LeaderEpoch", "LeaderId"))  # type: ignore[index]
    path = CLEAN / "broker-1" / "data" / "__cluster_metadata-0" / "quorum-state"
    found = decode_quorum_state(path.read_bytes(), "f")
    # Stopping the leader began the next epoch: the file is of the moment after.
    assert (leader, epoch) == (1, 1)
    assert (found.leader_epoch, found.leader_id, found.voted_id, found.damage) == (2, 2, 2, ())
    assert found.voters is None


def test_version_0_of_quorum_state_holds_the_voters() -> None:
    """The form of FileQuorumStateStore before KIP-853, as its Javadoc shows it."""
    text = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
    )
    found = decode_quorum_state(text, "f")
    assert (found.voters, found.voted_id, found.voted_directory_id, found.damage) == ((1, 2, 3), -1, None, ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"leaderId":1}', "unknown data_version"),
        (b'{"data_version":7}', "unknown data_version"),
        (b"[" * 100_000, "no JSON"),
        (b'{"data_version":' + b"9" * 5000 + b"}", "no JSON"),
        (b"\xff\xfe{", "no JSON"),
    ],
)
def test_damaged_quorum_state(content: bytes, reason: str) -> None:
    assert [each.reason for each in decode_quorum_state(content, "f").damage] == [reason]


def test_what_is_no_json_is_shown_by_its_beginning() -> None:
    (damage,) = decode_quorum_state(b"0123456789 0123456789 is where it begins", "f").damage
    assert (damage.expected, damage.found, damage.skipped) == ("a JSON object", "'0123456789 012345678'", 40)


def test_clean_shutdown_of_both_forms() -> None:
    found = decode_clean_shutdown((CLEAN / "broker-1" / "data" / ".kafka_cleanshutdown").read_bytes(), "f")
    assert (found.broker_epoch, found.damage) == (18, ())  # that of its REGISTER_BROKER_RECORD
    assert decode_clean_shutdown(b"", "f").damage == ()
    assert decode_clean_shutdown(b"{", "f").damage != ()


@given(st.binary(max_size=120))
def test_random_bytes_end_in_damage(content: bytes) -> None:
    for decode in (decode_meta_properties, decode_partition_metadata, decode_quorum_state, decode_clean_shutdown):
        for each in decode(content, "f").damage:
            assert 0 <= each.position <= len(content)
            assert 0 <= each.skipped <= len(content)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0, "current")),
        ("audit.log-12", ("audit.log", 12, "current")),
        ("a-1-2", ("a-1", 2, "current")),
        (STRAY, ("to-be-deleted", 0, "stray")),
        ("a.b-3.0f3a9cbe51c94efc8d-future", ("a.b", 3, "future")),
        ("a.b-3.0f3a9cbe51c94efc8d-delete", ("a.b", 3, "delete")),
        ("orders", None),
        ("orders-", None),
        ("-1", None),
        ("or ders-1", None),
    ],
)
def test_the_names_of_directories(name: str, expected: tuple[str, int, str] | None) -> None:
    assert parse_partition_directory(name) == (None if expected is None else PartitionDirectory(*expected))


def test_a_log_directory_is_joined_by_replica() -> None:
    files = find_files([str(CLEAN)], SMALL_FILES.__contains__)
    first, second, third = read_log_directories(files, read_small_file)
    assert [home.path.relative_to(CLEAN).as_posix() for home in (first, second, third)] == [
        "broker-1/data",
        "broker-1/data2",
        "broker-3/data",
    ]
    rows = {(row.topic, row.partition): to_builtins(row) for row in checkpoint_rows(first)}
    assert rows["trimmed", 0] | {"log_dir": ""} == {
        "log_dir": "",
        "topic": "trimmed",
        "partition": 0,
        "state": "current",
        "topic_id": re.search(r"Topic: trimmed\tTopicId: (\S+)", TOLD)[1],  # type: ignore[index]
        "log_start_offset": 77,
        "recovery_point": 120,
        "high_watermark": 120,
        "cleaner_offset": None,
        "epochs": [{"epoch": 0, "start_offset": 77}],
        "last_epoch": 0,
    }
    (stray,) = checkpoint_rows(third)
    assert (stray.topic, stray.partition, stray.state) == ("to-be-deleted", 0, "stray")


def test_a_future_copy_takes_the_offsets_of_its_directory(tmp_path: Path) -> None:
    for name in ("t-0.0abc-future", "t-0.0abd-delete"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 9\n")
    (home,) = read_log_directories(find_files([str(tmp_path)], SMALL_FILES.__contains__), read_small_file)
    assert [(row.state, row.high_watermark) for row in checkpoint_rows(home)] == [("delete", None), ("future", 9)]


def test_files_are_found_by_name_directory_and_pattern(tmp_path: Path) -> None:
    data = tmp_path / "broker-1" / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").touch()
    (data / "other").touch()
    expected = [data / "meta.properties"]
    for paths in ([tmp_path], [data, tmp_path], [tmp_path / "broker-*" / "da?a"], [data / "meta.properties"]):
        assert find_files([str(path) for path in paths], SMALL_FILES.__contains__) == expected
    assert find_files([str(data / "other")], SMALL_FILES.__contains__) == [data / "other"]
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert data / "meta.properties" in find_files([str(tmp_path)], SMALL_FILES.__contains__)
    for name, reason in (("gone", "there is no such file"), ("gone*", "nothing matches")):
        with pytest.raises(InputError) as refused:
            find_files([str(tmp_path / name)], SMALL_FILES.__contains__)
        assert reason in str(refused.value)
