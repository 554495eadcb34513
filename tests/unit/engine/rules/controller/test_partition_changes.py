"""Changes of a partition by the controller's own class of 4.3.1, and by the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from kreplica.engine.rules.controller.elections import kraft_elect_preferred
from kreplica.engine.rules.controller.isr import kraft_change, kraft_eligible_leader_replicas, kraft_isr_of_elected
from kreplica.engine.rules.controller.leader_epoch_bump import kraft_leader_epoch

GOLDEN = Path(__file__).parents[4] / "golden" / "partition-changes" / "partition-changes.txt"
LINES = GOLDEN.read_text().splitlines()


def split(line: str) -> tuple[list[str], list[str]]:
    before, after = line.split(" | ")
    return before.split(), after.split()


def of_kind(*elections: str) -> list[str]:
    found = [line for line in LINES if split(line)[0][8] in elections]
    assert len(found) > 100
    return found


def test_elections_and_isrs_are_those_of_kafkas_partition_change_builder() -> None:
    for line in of_kind("ONLINE", "UNCLEAN"):
        before, after = split(line)
        leader, isr, elr, last_known, target, acceptable, min_isr = map(int, before[:7])
        elr_enabled, unclean, lossy = before[7] == "true", before[8] == "UNCLEAN", int(before[9])
        facts = (acceptable, min_isr, elr_enabled, unclean, lossy)
        found = kraft_change(leader, isr, elr, last_known, target, *facts)
        assert found == tuple(map(int, after[:4])), line
        assert kraft_leader_epoch(0, found[0] != leader, isr, found[1], 0, 0, False) == int(after[4]), line


def test_preferred_elections_are_those_of_kafkas_partition_change_builder() -> None:
    for line in of_kind("PREFERRED"):
        before, after = split(line)
        leader, isr, elr, last_known, _, acceptable, min_isr = map(int, before[:7])
        elr_enabled = before[7] == "true"
        valid = kraft_eligible_leader_replicas(isr, elr, isr, min_isr, 0) if elr_enabled else elr
        elected, unclean = kraft_elect_preferred(leader, isr, valid, last_known, acceptable, elr_enabled)
        assert elected == int(after[0]), line
        assert (unclean and elected != leader) is (after[5] == "RECOVERING"), line
        if elected not in (-1, leader) and not unclean:
            assert kraft_isr_of_elected(elected, isr, valid) == tuple(map(int, after[1:3])), line


@pytest.mark.parametrize(
    ("isr", "elr", "last_known", "elr_enabled", "elected"),
    [(0, 0, 0b100, True, 2), (0, 0, 0b100, False, -1), (0, 0b001, 0b100, True, -1), (0, 0, 0b110, True, -1)],
)
def test_the_last_known_leader_is_taken_where_nobody_else_is_known(
    isr: int, elr: int, last_known: int, elr_enabled: bool, elected: int
) -> None:
    """PartitionChangeBuilder.canElectLastKnownLeader; the ELR member here is not back."""
    assert kraft_elect_preferred(-1, isr, elr, last_known, 0b110, elr_enabled)[0] == elected


def test_an_unclean_election_of_who_leads_already_changes_no_isr() -> None:
    """PartitionChangeBuilder.tryElection of 4.3.1 asked for leader 1 and ISR {1, 2}, when both shall leave it."""
    assert kraft_change(1, 0b110, 0, 0, 0, 0b010, 2, False, True) == (1, 0b110, 0, 0)
