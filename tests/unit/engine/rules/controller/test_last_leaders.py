"""The last leader of a partition whose ISR and ELR are empty: as PartitionChangeBuilder of several releases has it."""

from __future__ import annotations

import pytest
from releases.kafka_classes import answers

from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.decisions import Circumstances, isr_made, preferred_elected, settled
from kreplica.engine.versions.supported import version_named


def brokers(word: str) -> tuple[int, ...]:
    return () if word in ("-", "-1") else tuple(map(int, word.split(",")))


def state_of(size: int, told: str) -> PartitionState:
    """A state as it is printed; a last leader -1 is nobody here."""
    leader, isr, elr, last_known, epoch, recovering = told.split()
    state = PartitionState("t-0", tuple(range(size)), int(leader), int(epoch), recovering=recovering == "true")
    places = state.places
    return state._replace(
        isr=places(brokers(isr)), elr=places(brokers(elr)), last_known_elr=places(brokers(last_known))
    )


@pytest.mark.parametrize(("release", "lines"), answers("last-leaders.txt"))
def test_last_leaders_are_remembered_and_elected_as_in_kafka(release: str, lines: list[str]) -> None:
    version, by_themselves = version_named(release), 0
    for line in lines:
        facts, before, asked, after = (part.strip() for part in line.split("|"))
        size, live, min_isr = facts.split()
        election, target, lossy = asked.split()
        known = Circumstances(
            brokers(live),
            int(min_isr),
            True,
            election == "unclean",
            version.moves_wait_for,
            False,
            version.last_leader_must_be_back,
            version.last_leader_noted_at_once,
        )
        state, expected = state_of(int(size), before), state_of(int(size), after)
        if election == "preferred":
            new = preferred_elected(state, known) or state
        else:
            new = isr_made(state, state.places(brokers(target)), known, brokers(lossy))
        assert settled(state, new, False)._replace(partition_epoch=0) == expected, line
        by_themselves += expected.leader not in (-1, state.leader) and expected.leader not in brokers(live)
    assert (by_themselves > 0) is not version.last_leader_must_be_back
