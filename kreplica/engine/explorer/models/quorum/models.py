"""The models of the quorum: the engine's rules, and the same with one guard changed."""

from __future__ import annotations

from dataclasses import replace

from kreplica.engine.explorer.model import Goal, Healing, Invariant, Model
from kreplica.engine.explorer.models.quorum import rules
from kreplica.engine.explorer.models.quorum.actions import actions, goes_on
from kreplica.engine.explorer.models.quorum.rules import ENGINE
from kreplica.engine.explorer.models.quorum.state import (
    LEADS,
    QuorumBounds,
    QuorumState,
    initial,
    layout,
    log_end,
    record_at,
)
from kreplica.engine.rules.replication.replica_set import NO_LEADER, size

TABLES = {
    "quorum": ENGINE,
    "quorum-m1": replace(ENGINE, high_watermark=rules.high_watermark_of_any_epoch),
    "quorum-m2": replace(ENGINE, keeps_vote=False),
    "quorum-m3": replace(ENGINE, up_to_date=rules.never_behind),
    "quorum-m4": replace(ENGINE, resigns=rules.never_resigns),
    "quorum-m5": replace(ENGINE, grants=rules.grants_everybody),
    "quorum-m6": replace(ENGINE, elects=rules.elected_by_any),
}
"""The table of each model by its name."""


def model_of(name: str, bounds: QuorumBounds) -> Model:
    """A model within bounds.

    Args:
        name: One of ``TABLES``.
        bounds: Its bounds.
    """
    table = TABLES[name]
    healing = Healing(goes_on(bounds, table), concerned, GOALS)
    return Model(name, layout(bounds), initial(bounds), actions(bounds, table), INVARIANTS, healing=healing)


def newest_leader(state: QuorumState) -> int:
    """The voter that leads in the latest epoch that has a leader; NO_LEADER if none does."""
    found, latest = NO_LEADER, 0
    for voter in range(len(state.role)):
        if state.role[voter] == LEADS and state.epoch[voter] > latest:
            found, latest = voter, state.epoch[voter]
    return found


def one_leader(state: QuorumState) -> bool:
    """True if no epoch ever had two leaders."""
    for leaders in state.won:  # noqa: SIM110 - numba compiles no generator of all()
        if size(leaders) > 1:
            return False
    return True


def is_replaced(state: QuorumState, leader: int) -> bool:
    """True if a later epoch has had a leader; one that has not heard of that may lack what was committed since."""
    for later in range(state.epoch[leader], len(state.won)):  # noqa: SIM110 - numba compiles no generator of any()
        if state.won[later] != 0:
            return True
    return False


def committed_kept(state: QuorumState) -> bool:
    """True if the leader of the latest epoch has all that was committed, while it leads."""
    leader = newest_leader(state)
    if leader == NO_LEADER or is_replaced(state, leader):
        return True
    for offset in range(len(state.committed)):
        committed = state.committed[offset]
        if committed not in (0, record_at(state, leader, offset)):
            return False
    return True


def own_epoch(state: QuorumState) -> bool:
    """True if every leader so far has committed earlier records only together with one of its own epoch."""
    return state.foreign[0] == 0


def high_watermarks_agree(state: QuorumState) -> bool:
    """True if every voter has what was committed, below its own high watermark."""
    for voter in range(len(state.role)):
        for offset in range(state.high_watermark[voter]):
            if record_at(state, voter, offset) != state.committed[offset]:
                return False
    return True


def concerned(state: QuorumState) -> bool:
    """True if the bounds leave an epoch, and room in every log, for one more leader."""
    last = len(state.won)
    for voter in range(len(state.role)):
        if state.epoch[voter] >= last or log_end(state, voter) >= len(state.committed):
            return False
    return True


def leader_settles(state: QuorumState) -> bool:
    """True if one voter alone takes itself for the leader, and all that it has is committed."""
    leading = 0
    for voter in range(len(state.role)):
        if state.role[voter] == LEADS:
            leading += 1
    leader = newest_leader(state)
    return leading == 1 and state.high_watermark[leader] == log_end(state, leader)


INVARIANTS = (
    Invariant("metadata-kept", committed_kept, "the leader of the latest epoch has all metadata that was committed"),
    Invariant("one-leader", one_leader, "an epoch has one leader at most"),
    Invariant("own-epoch", own_epoch, "a leader commits records of earlier ones only with one of its own"),
    Invariant("committed-agrees", high_watermarks_agree, "below its high watermark each voter has what was committed"),
)

GOALS = (
    Goal(
        "leader-settles",
        leader_settles,
        "without further faults one voter alone takes itself for the leader, and commits, in the end",
    ),
)
