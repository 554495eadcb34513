"""A broker that says which of its log directories has its replica: what becomes of the partition by that.

ReplicationControlManager.handleAssignReplicasToDirs; its decisions are held to Kafka's own in test_stale_elrs.
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "support"))
from log_files.kafka_dumps import GOLDEN

import kreplica
from kreplica.engine.rules.replication.replica_set import NO_LEADER
from kreplica.engine.traces.kraft import Brokers
from kreplica.engine.traces.trace_rule import TraceRule
from kreplica.engine.versions.supported import version_named
from kreplica.formats.metadata_log.files import Replay, earliest, find_metadata, history
from kreplica.formats.metadata_log.image import BrokerState, MetadataImage, PartitionChange, PartitionState
from kreplica.formats.traces.kraft.facts import ANY_UNWRITTEN, PartitionFacts
from kreplica.formats.traces.kraft.steps import Step, by_any_request, wrong_directories

BEFORE = PartitionState([3, 1], [3], (), (), [], [], ["old", "one"], 3, 2, 5, 0)


def step(before: PartitionState, after: PartitionState, version: str) -> Step:
    """A change that comes about while brokers 1 and 3 are live."""
    known = {
        broker: BrokerState("host", 9092, None, fenced=False, shutting_down=False, directories=directories, epoch=1)
        for broker, directories in ((1, ["one"]), (3, ["new"]))
    }
    facts = PartitionFacts((1, 3), 2, False, 2, version_named(version))
    return Step(PartitionChange(7, 0, "t", "id", 0, before, after), facts, Brokers((1, 3), (), ()), known)


def assigned(before: PartitionState, **changes: object) -> PartitionState:
    """The partition once broker 3 has said that its replica is in a new directory."""
    return replace(before, directories=["new", "one"], partition_epoch=before.partition_epoch + 1, **changes)  # type: ignore[arg-type]


def test_a_move_that_was_left_over_ends_with_it() -> None:
    left_over = replace(BEFORE, adding=[3])
    made = step(left_over, assigned(left_over, adding=[]), "4.3")
    assert by_any_request(made, ANY_UNWRITTEN).rule is TraceRule.directory_assigned
    assert wrong_directories(made, assigned=True) is None
    stands = step(left_over, assigned(left_over), "4.3")
    assert by_any_request(stands, ANY_UNWRITTEN).rule is None, "the partition is looked at"


def test_replicas_that_a_move_takes_away_go_with_it() -> None:
    left_over = replace(BEFORE, removing=[1], adding=[3])
    after = replace(assigned(left_over, adding=[], removing=[]), replicas=[3], directories=["new"], leader_epoch=3)
    made = step(left_over, after, "4.3")
    assert by_any_request(made, ANY_UNWRITTEN).rule is TraceRule.directory_assigned
    assert wrong_directories(made, assigned=True) is None
    assert wrong_directories(made, assigned=False) is not None, "of another change"


@pytest.mark.parametrize(("version", "cleared"), [("4.2", TraceRule.directory_assigned), ("4.3", None)])
def test_up_to_4_2_the_elr_goes_with_it(version: str, cleared: TraceRule | None) -> None:
    """Real brokers of 4.2.0 and 4.3.1 were seen so; the log of a later release may have an old metadata.version."""
    eligible = replace(BEFORE, elr=[1])
    found = by_any_request(step(eligible, assigned(eligible, elr=[]), version), ANY_UNWRITTEN)
    assert found.rule is cleared
    kept = by_any_request(step(eligible, assigned(eligible), version), ANY_UNWRITTEN)
    assert kept.rule is TraceRule.directory_assigned


def unpacked(name: str, folder: Path) -> Path:
    """A log of new-disk as Kafka has it."""
    log = folder / "__cluster_metadata-0"
    log.mkdir()
    packed = (GOLDEN / "new-disk" / f"{name}.log.gz").read_bytes()
    (log / "00000000000000000000.log").write_bytes(gzip.decompress(packed))
    return log


@pytest.mark.parametrize("release", ["4.2.0", "4.3.1"])
def test_real_controllers_when_it_is_back_before_its_session_is_over(release: str, tmp_path: Path) -> None:
    """Its directory is assigned in its former life: two records, the second decided before the first is replayed."""
    found = kreplica.whatif_validate([str(unpacked(f"{release}-within-session", tmp_path))])
    assert [row.refused for row in found.refused] == []
    rules = [row.rule for row in found.rows]
    assert rules[rules.index("directory-assigned") + 1] == "directory-failed"


def test_a_broker_that_was_unregistered_leaves_its_elrs_as_it_registers_again(tmp_path: Path) -> None:
    """Random faults of 4.2.0: ClusterControlManager.registerBroker, a broker epoch that none was known before."""
    found = kreplica.whatif_validate([str(unpacked("4.2.0-unregistered", tmp_path))])
    assert [row.refused for row in found.refused] == []
    assert {row.rule for row in found.rows if row.offset in (354, 355, 566, 567, 568)} == {"broker-restarted"}


def test_a_directory_that_is_not_registered_goes_with_a_broker_that_leaves() -> None:
    elsewhere = replace(assigned(BEFORE), directories=["unknown", "one"])
    made = step(BEFORE, elsewhere, "4.3")
    assert by_any_request(made, ANY_UNWRITTEN).rule is TraceRule.directory_assigned
    assert wrong_directories(made, assigned=True) == "broker 3 has no directory unknown"
    left = step(elsewhere, replace(elsewhere, isr=[1], leader=1), "4.3")
    assert wrong_directories(made, assigned=True, later=[left]) is None


@pytest.mark.parametrize(("release", "leader"), [("4.2.0", 1), ("4.3.1", 2)])
def test_real_controllers_when_the_last_replica_comes_back_with_a_new_disk(
    release: str, leader: int, tmp_path: Path
) -> None:
    """Up to 4.2 broker 1 leads uncleanly, with nothing; since 4.3 broker 2, which the ELR still names.

    On 4.3.1 broker 3 was unfenced right before broker 2: it could lead nothing, and no record says so.
    """
    log = unpacked(release, tmp_path)
    found = kreplica.whatif_validate([str(log)])
    assert [row.refused for row in found.refused] == []
    assert [row.rule for row in found.rows].count("directory-assigned") == 1
    files, image = find_metadata(str(log)), MetadataImage()
    changes = [one for entry, _ in history(files, Replay(), earliest(files)) for one in image.apply(entry)]
    (elected,) = [one for one in changes if one.leader_changed and one.before and one.before.leader == NO_LEADER]
    assert elected.after is not None
    assert (elected.after.leader, elected.unclean) == (leader, release == "4.2.0")
