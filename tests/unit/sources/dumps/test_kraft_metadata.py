"""A real metadata log replayed to the states that Kafka's own tools told while it was written."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "golden"))
sys.path.insert(0, str(Path(__file__).parents[3] / "support"))
from log_files.record_batches import PlainRecord, batch_bytes
from make_sample import GOLDEN, STATES, recorded_snapshot

from kreplica import ClusterHandle, read_snapshot
from kreplica.errors import InputError
from kreplica.formats.metadata_log.files import (
    Replay,
    earliest,
    find_metadata,
    find_metadata_logs,
    furthest_metadata,
    history,
    is_metadata_path,
    state_at,
)
from kreplica.formats.metadata_log.image import BrokerState, MetadataImage, PartitionState, Topic
from kreplica.model.cordons import cordoned_brokers
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.planner.reassignment.dead_brokers import dead_brokers
from kreplica.sources.dumps.kraft import read_kraft_metadata, shown_settings, snapshot_of_metadata

DATA = GOLDEN / "kafka-4.3.1" / "killed-all" / "broker-1" / "data"
HOME = DATA / "__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"
NOT_TOLD = {"partition_epoch", "recovery_state", "unclean_leader_election"}
"""Tools and answers tell no epochs and recovery states of partitions; the log has only settings that somebody set."""


def quorum(state: str, name: str) -> int:
    """A number of kafka-metadata-quorum describe --status in that state."""
    text = (GOLDEN / "kafka-4.3.1" / state / "quorum-status.txt").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", text)[1])  # type: ignore[index]


@pytest.mark.parametrize("state", STATES)
def test_each_state_is_what_kafka_described_then(state: str) -> None:
    """At the high watermark that the quorum told, every partition and broker is what brokers and tools answered."""
    told = recorded_snapshot("kafka-4.3.1", state)
    replayed = read_kraft_metadata(str(DATA), quorum(state, "HighWatermark"))
    assert replayed.cluster_id == told.cluster_id
    assert replayed.features == told.features
    assert replayed.controller == quorum(state, "LeaderId")
    assert replayed.metadata_offset == quorum(state, "HighWatermark")
    assert (replayed.gaps, replayed.notes) == ((), ())
    rows = list(zip(told.partitions.rows(), replayed.partitions.rows(), strict=True))
    assert len(rows) > 140
    for expected, row in rows:
        names = set(expected) - NOT_TOLD
        assert {name: row[name] for name in names} == {name: expected[name] for name in names}
        assert row["partition_epoch"] is not None
    assert [row["cordoned"] for row in replayed.brokers.rows()] == [False] * 3, "none was when these files were made"
    untold = {"port": None, "cordoned": None, "down_since_ms": None}
    brokers = [{**row, **untold} for row in replayed.brokers.rows()]
    assert brokers == [{**row, "port": None} for row in told.brokers.rows()]
    settings = {
        (row["entity"], row["name"]): row["value"] for row in replayed.configs.rows() if row["origin"] == "topic"
    }
    assert settings == {
        (row["entity"], row["name"]): row["value"] for row in told.configs.rows() if row["origin"] == "topic"
    }


def partitions(snapshot: ClusterSnapshot) -> list[dict[str, object]]:
    return list(snapshot.partitions.rows())


@pytest.mark.parametrize("offset", [346, 819, 1279, 1947])
def test_a_checkpoint_is_the_log_up_to_it(offset: int, tmp_path: Path) -> None:
    """The broker wrote both: what its checkpoint says has to come out of the records before it."""
    (checkpoint,) = HOME.glob(f"{offset:020}-*.checkpoint")
    shutil.copy(HOME / SEGMENT, tmp_path)
    (tmp_path / "00000000000000000000-0000000000.checkpoint").touch()
    from_log = state_at(find_metadata(str(tmp_path)), offset)
    from_checkpoint = state_at(find_metadata(str(checkpoint)), offset)
    assert from_log.start == 0
    one, other = from_log.image, from_checkpoint.image
    assert {key: topic.name for key, topic in one.topics.items()} == {
        k: topic.name for k, topic in other.topics.items()
    }
    for key, topic in one.topics.items():
        assert normal(topic.partitions) == normal(other.topics[key].partitions)
    assert one.brokers == other.brokers
    assert {key: value for key, value in one.configs.items() if value} == other.configs
    assert one.features == other.features
    assert set(one.voters) == set(other.voters)
    assert read_kraft_metadata(str(checkpoint)).metadata_offset == offset


def test_numbers_that_no_log_has_are_no_name_of_a_checkpoint(tmp_path: Path) -> None:
    """An offset is a long, a leader epoch an int; what is beyond would fit into no column."""
    (checkpoint,) = HOME.glob(f"{1947:020}-*.checkpoint")
    largest = shutil.copy(checkpoint, tmp_path / f"{2**63 - 1:020}-{2**31 - 1:010}.checkpoint")
    assert read_kraft_metadata(str(largest)).metadata_offset == 2**63 - 1
    for name in ("9" * 20 + "-0000000001", f"{2**63:020}-0000000001", f"{1947:020}-{2**31:010}"):
        with pytest.raises(InputError):
            read_kraft_metadata(str(shutil.copy(checkpoint, tmp_path / f"{name}.checkpoint")))


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        (f"{0:020}-{0:010}.checkpoint", {"kraft.version": 1}),
        (
            "../bootstrap.checkpoint",
            {
                "metadata.version": 30,
                "eligible.leader.replicas.version": 1,
                "group.version": 1,
                "share.version": 1,
                "streams.version": 1,
                "transaction.version": 2,
            },
        ),
    ],
)
def test_a_checkpoint_of_the_beginning_alone_has_the_features_of_then(name: str, levels: dict[str, int]) -> None:
    """Levels as DumpLogSegments prints the same files."""
    assert state_at(find_metadata(str(HOME / name)), None).image.features == levels


def normal(parts: dict[int, object]) -> dict[int, list[object]]:
    """Partitions with tuples and lists alike."""
    return {
        number: [
            list(value) if isinstance(value, list | tuple) else value
            for value in (getattr(state, name) for name in state.__slots__)  # type: ignore[attr-defined]
        ]
        for number, state in parts.items()
    }


def test_dumps_are_metadata_logs_too(tmp_path: Path) -> None:
    end = partitions(read_snapshot(ClusterHandle(name="x", dump=str(DATA))))
    assert end == partitions(read_snapshot(ClusterHandle(name="x", dump=str(HOME))))
    assert end == partitions(read_snapshot(ClusterHandle(name="x", dump=str(HOME / SEGMENT))))
    then = read_snapshot(ClusterHandle(name="x", dump=f"{DATA}@615"))
    assert partitions(then) == partitions(read_kraft_metadata(str(HOME), 615)) != end
    (checkpoint,) = HOME.glob("*1947-*")
    moved = tmp_path / checkpoint.name
    shutil.copy(checkpoint, moved)
    alone = read_snapshot(ClusterHandle(name="x", dump=str(moved)))
    assert partitions(alone) == partitions(read_kraft_metadata(str(HOME), 1947))
    assert (alone.cluster_id, alone.controller) == (None, None)


@pytest.mark.parametrize(
    ("broker", "directory", "offline"),
    [
        ({"directories": ["a", "b"]}, "b", False),
        ({"directories": ["a", "b"]}, "c", True),
        ({"directories": ["a"]}, "AAAAAAAAAAAAAAAAAAAAAA", False),
        ({"directories": ["a"]}, "AAAAAAAAAAAAAAAAAAAAAQ", False),
        ({"directories": ()}, "AAAAAAAAAAAAAAAAAAAAAg", True),
        ({"directories": ()}, "c", False),
        ({"directories": ["a"], "fenced": True}, "a", True),
        (None, "a", True),
    ],
)
def test_a_replica_is_offline_with_its_broker_or_directory(
    broker: dict[str, Any] | None, directory: str, offline: bool
) -> None:
    """KRaftMetadataCache.getOfflineReplicas and DirectoryId.isOnline: unassigned and migrating ones count as online."""
    image = MetadataImage(timestamp=1)
    if broker is not None:
        given: dict[str, Any] = {"fenced": False, **broker}
        image.brokers[1] = BrokerState(host="h", port=1, rack=None, shutting_down=False, epoch=1, **given)
    state = PartitionState([1], [1], (), (), (), (), [directory], 1, 0, 0, 0)
    image.topics["T"] = Topic("orders", "T", {0: state})
    snapshot = snapshot_of_metadata(Replay(image), name="x", cluster_id=None)
    assert snapshot.partition("orders", 0)["offline_replicas"] == ([1] if offline else [])


def test_a_fenced_broker_is_down_since_the_record_that_fenced_it() -> None:
    """The broker was killed after the first state was recorded, and fenced before the second; it came back later."""
    moments = [recorded_snapshot("kafka-4.3.1", state).taken_at.timestamp() * 1000 for state in STATES]
    offset = quorum("2-broker-killed", "HighWatermark")
    for place in (str(DATA), *(str(one) for one in HOME.glob("*.checkpoint"))):
        at = offset if place == str(DATA) else None
        for row in read_kraft_metadata(place, at).brokers.rows():
            assert (row["down_since_ms"] is None) is row["alive"]
            assert row["alive"] or moments[0] < int(str(row["down_since_ms"])) <= moments[-1]
    killed = read_kraft_metadata(str(DATA), offset)
    (since,) = [int(str(row["down_since_ms"])) for row in killed.brokers.rows() if not row["alive"]]
    assert moments[0] < since <= moments[1]
    assert dead_brokers(killed, (killed.taken_at.timestamp() * 1000 - since) / 1000).long == (3,)
    assert dead_brokers(killed, (killed.taken_at.timestamp() * 1000 - since) / 1000 + 1).recent == (3,)


@pytest.mark.parametrize(
    ("directories", "cordoned", "told"),
    [
        (["a", "b"], None, None),
        (["a", "b"], [], False),
        (["a", "b"], ["a"], False),
        (["a", "b"], ["b", "a", "lost"], True),
    ],
)
def test_a_broker_is_cordoned_with_all_of_its_directories(
    directories: list[str], cordoned: list[str] | None, told: bool | None
) -> None:
    """Of a fenced broker, too: the controller keeps what it registered."""
    image = MetadataImage(timestamp=1)
    image.brokers[1] = BrokerState("h", 1, None, True, False, directories, 1, cordoned)
    snapshot = snapshot_of_metadata(Replay(image), name="x", cluster_id=None)
    assert snapshot.brokers.row(0)["cordoned"] is told
    assert cordoned_brokers(snapshot) == ({1} if told else set())


def test_a_log_that_was_cut_at_the_front_begins_with_its_checkpoint(tmp_path: Path) -> None:
    content = (HOME / SEGMENT).read_bytes()
    cut = 64201  # the batch of offset 819, by Kafka's own index of this segment
    assert int.from_bytes(content[cut : cut + 8], "big") == 819
    home = tmp_path / "__cluster_metadata-0"
    home.mkdir()
    (home / f"{819:020}.log").write_bytes(content[cut:])
    for offset in (819, 1279):
        shutil.copy(next(HOME.glob(f"{offset:020}-*.checkpoint")), home)
    files = find_metadata(str(tmp_path))
    assert partitions(read_kraft_metadata(str(tmp_path))) == partitions(read_kraft_metadata(str(DATA)))
    replay = Replay()
    seen = [entry.offset for entry, _ in history(files, replay, earliest(files))]
    assert (replay.start, seen[0], seen[-1]) == (819, 819, 2455)
    with pytest.raises(InputError, match="cannot read") as refused:
        read_kraft_metadata(str(tmp_path), 500)
    assert "begins at offset 819" in str(refused.value)


def test_several_segments_are_one_log(tmp_path: Path) -> None:
    content = (HOME / SEGMENT).read_bytes()
    home = tmp_path / "__cluster_metadata-0"
    home.mkdir()
    (home / SEGMENT).write_bytes(content[:64201])
    (home / f"{819:020}.log").write_bytes(content[64201:])
    assert partitions(read_kraft_metadata(str(home))) == partitions(read_kraft_metadata(str(HOME)))
    assert partitions(read_kraft_metadata(str(home), 700)) == partitions(read_kraft_metadata(str(HOME), 700))


def test_damage_is_a_gap(tmp_path: Path) -> None:
    content = bytearray((HOME / SEGMENT).read_bytes())
    content[40_350] ^= 1
    (tmp_path / SEGMENT).write_bytes(content)
    (tmp_path / "00000000000000000000-0000000000.checkpoint").touch()
    snapshot = read_kraft_metadata(str(tmp_path))
    assert snapshot.gaps[0].kind == "torn-read"
    assert "1 damaged place in the metadata log" in snapshot.gaps[0].message
    assert len(snapshot.partitions) > 100


@pytest.mark.parametrize(
    ("path", "offset", "message"),
    [
        (".", 99_999, "it ends before offset 99999: the next one is 2456"),
        ("no-such-folder", None, "there is no such file or directory"),
        ("meta.properties", None, "neither a segment nor a checkpoint"),
    ],
)
def test_what_is_no_metadata_log_is_refused(path: str, offset: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_kraft_metadata(str(DATA / path), offset)


def test_a_folder_without_a_metadata_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no __cluster_metadata-0 in it"):
        read_kraft_metadata(str(tmp_path), None)


@pytest.mark.parametrize("path", ["a" * 5000, "a" * 5000 + "@5", "no-such-folder/__cluster_metadata-0@5"])
def test_a_path_that_can_be_none_is_a_clear_error(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_snapshot(ClusterHandle(name="x", dump=f"{tmp_path}/{path}"))


def test_a_pattern_leads_to_the_one_log_that_it_matches(tmp_path: Path) -> None:
    copy = tmp_path / "broker-1" / "data" / "__cluster_metadata-0"
    shutil.copytree(HOME, copy)
    other = tmp_path / "broker-1" / "data" / "orders-0"
    other.mkdir()
    (other / SEGMENT).write_bytes(b"")
    for pattern in ("broker-*/data", "broker-?", "broker-1/data/*"):
        found = find_metadata(str(tmp_path / pattern))
        assert found.home == copy
        assert [path.parent for _, path in found.segments] == [copy]


def test_the_epoch_counts_before_the_length(tmp_path: Path) -> None:
    """What a node wrote that was no longer the leader, or got with a checkpoint alone: OffsetAndEpoch.compareTo."""
    for name, epoch, records in (("long", 1, 30), ("later", 2, 3), ("same", 2, 2)):
        (tmp_path / name / "__cluster_metadata-0").mkdir(parents=True)
        batch = batch_bytes([PlainRecord(number, 0, None, b"") for number in range(records)], leader_epoch=epoch)
        (tmp_path / name / "__cluster_metadata-0" / SEGMENT).write_bytes(batch)
    (tmp_path / "fetched" / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "fetched" / "__cluster_metadata-0" / f"{20:020}-{2:010}.checkpoint").write_bytes(b"")
    best, others = furthest_metadata(find_metadata_logs([str(tmp_path)]))
    ranked = [(log.home.parent.name, end.leader_epoch, end.end_offset) for log, end in others]
    assert best.home.parent.name == "fetched"
    assert ranked == [("later", 2, 3), ("same", 2, 2), ("long", 1, 30)]


def test_several_logs_are_named(tmp_path: Path) -> None:
    for node in ("a", "b"):
        shutil.copytree(HOME, tmp_path / node / "__cluster_metadata-0")
    with pytest.raises(InputError) as refused:
        find_metadata(str(tmp_path))
    assert "2 metadata logs in it" in str(refused.value)
    with pytest.raises(InputError, match="2 metadata logs in it"):
        read_snapshot(ClusterHandle(name="x", dump=str(tmp_path)))
    assert is_metadata_path(tmp_path / "a")
    (tmp_path / "c").mkdir()
    assert not is_metadata_path(tmp_path / "c")


def test_a_directory_above_the_log_directories_is_a_dump(tmp_path: Path) -> None:
    """As ``decode metadata`` takes it, whose last line names the path as a dump."""
    shutil.copytree(HOME, tmp_path / "data" / "__cluster_metadata-0")
    (tmp_path / "data2").mkdir()
    of_all, of_one = (read_snapshot(ClusterHandle(name="x", dump=str(path))) for path in (tmp_path, HOME))
    assert list(of_all.partitions.rows()) == list(of_one.partitions.rows())


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "ssl.key.password",
        "listener.name.internal.ssl.truststore.password",
        "sasl.jaas.config",
        "listener.name.client.scram-sha-512.sasl.jaas.config",
    ],
)
def test_the_value_of_a_secret_setting_reaches_no_table(name: str) -> None:
    """The metadata log holds it as it was given; Kafka's own answer (ConfigDef.Type.PASSWORD) has no value either."""
    image = MetadataImage(timestamp=1)
    image.configs[4, "1"] = {name: "hunter2", "log.retention.ms": "7"}
    image.configs[4, ""] = {name: "hunter2"}
    snapshot = snapshot_of_metadata(Replay(image), name="x", cluster_id=None)
    values = {(row["entity"], row["name"]): row["value"] for row in snapshot.configs.rows()}
    assert values == {("1", name): None, ("1", "log.retention.ms"): "7", ("", name): None}
    shown = shown_settings(image)
    assert (shown["broker 1", name], shown["all brokers", name]) == ("(hidden)", "(hidden)")
    assert shown["broker 1", "log.retention.ms"] == "7"
