"""Decisions of real controllers under minutes of random faults (``make traces``), each explained by the engine's rules.

What these logs have and the other golden ones have not: brokers that shut down and are fenced once more when their
session is over (4.3.1), leaders elected by the record that brings them into the ISR, elections that an operator asked
for although the setting forbids them, leaders that recover from one, and moves to the replicas that are there (3.9.2).
With links that are cut, too (4.3.1): brokers that register anew and write a partition's change twice, since ELRs that
are cleared stay in the controller's index, and with it the end of a move that an unclean election had left over.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from log_files.kafka_dumps import GOLDEN

import kreplica
from kreplica.formats.metadata_log.files import Replay, earliest, find_metadata, history
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange


def unpacked(packed: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


@pytest.fixture(params=["random-faults", "cut-links"])
def metadata_log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    packed = GOLDEN / "kafka-4.3.1" / request.param / "00000000000000000000.log.gz"
    return unpacked(packed, tmp_path / "__cluster_metadata-0")


def changes(log: Path) -> list[PartitionChange]:
    files, image = find_metadata(str(log)), MetadataImage()
    return [change for entry, _ in history(files, Replay(), earliest(files)) for change in image.apply(entry)]


def test_each_decision_of_kraft_controllers_is_explained(metadata_log: Path) -> None:
    found = kreplica.whatif_validate([str(metadata_log)])
    assert [row.refused for row in found.refused] == []
    assert sum(found.counts.values()) == len(changes(metadata_log))


def test_a_change_that_is_written_twice_is_one_of_a_broker_that_registers_anew(tmp_path: Path) -> None:
    """Of offsets 2073, 2074 and 2534, 2535: the second says the same of the partition, one partition epoch later."""
    packed = GOLDEN / "kafka-4.3.1" / "cut-links" / "00000000000000000000.log.gz"
    log = unpacked(packed, tmp_path / "__cluster_metadata-0")
    rules = {row.offset: row.rule for row in kreplica.whatif_validate([str(log)]).rows}
    assert {rules[offset] for offset in (2072, 2073, 2074, 2533, 2534, 2535)} == {"broker-restarted"}
    twice = {one.offset: one for one in changes(log)}
    for first, second in ((2073, 2074), (2534, 2535)):
        before, after = twice[second].before, twice[second].after
        assert before is not None
        assert after is not None
        assert twice[first].after == before
        assert (after.leader, after.isr, after.elr) == (before.leader, before.isr, before.elr)
        assert after.partition_epoch == before.partition_epoch + 1


def test_each_write_with_zookeeper_is_explained(tmp_path: Path) -> None:
    packed = GOLDEN / "kafka-3.9.2" / "random-faults" / "log.1.gz"
    found = kreplica.whatif_validate([str(unpacked(packed, tmp_path / "version-2"))])
    assert [row.refused for row in found.refused] == []
    content = gzip.decompress(packed.read_bytes())
    assert sum(found.counts.values()) == len(re.findall(rb"/partitions/\d+/state", content))


def test_elections_count_as_unclean_where_kafka_counts_them(metadata_log: Path) -> None:
    """Those that turn LeaderRecoveryState to RECOVERING (1), or leave it so: Kafka's own word for it.

    A leader that joins the ISR by the end of its move is none, though it was not in the ISR before.
    """
    states = [(one, one.before, one.after) for one in changes(metadata_log) if one.before and one.after]
    turned = [one.offset for one, before, after in states if after.recovery_state == 1 != before.recovery_state]
    unclean = [one.offset for one, _, _ in states if one.unclean]
    assert turned
    assert set(turned) <= set(unclean)
    assert {after.recovery_state for one, _, after in states if one.unclean} == {1}
    assert any(one.leader_changed and after.leader in before.adding for one, before, after in states)
