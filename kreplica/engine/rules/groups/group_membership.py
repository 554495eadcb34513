"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat; one generation after the other.

kafka.coordinator.group.GroupCoordinator since 0.9; org.apache.kafka.coordinator.group.classic.ClassicGroup and
GroupMetadataManager, which decide the same, since 4.0.

    Empty --join--> PreparingRebalance --all joined, or the time is up--> CompletingRebalance --leader syncs--> Stable
                         ^     |                                                |                                  |
                         |     +--nobody left--> Empty                          |                                  |
                         +-------------------- a member joins, leaves or fails -+----------------------------------+

Ids of members and instances are strings. ``members`` are the ids in the group; ``static_members`` says which member id
holds a group.instance.id (KIP-345, since 2.3).
"""

from collections.abc import Collection, Mapping
from enum import StrEnum

from kreplica.engine.rules.replication.error_codes import ErrorCode

UNKNOWN_GENERATION = -1
"""AbstractCoordinator.Generation.NO_GENERATION: the request comes from no member of a generation."""
NO_MEMBER = ""
"""JoinGroupRequest.UNKNOWN_MEMBER_ID."""


class GroupState(StrEnum):
    """ClassicGroupState."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class JoinOutcome(StrEnum):
    """Outcomes of a JoinGroup request of a known member."""

    REBALANCE = "rebalance"
    """The request is parked until the join phase is over."""
    CURRENT_GENERATION = "current generation"
    """Answered at once: nothing has changed."""
    UNKNOWN_MEMBER_ID = "unknown member id"


_PREVIOUS = {
    GroupState.EMPTY: (GroupState.PREPARING_REBALANCE,),
    GroupState.PREPARING_REBALANCE: (GroupState.STABLE, GroupState.COMPLETING_REBALANCE, GroupState.EMPTY),
    GroupState.COMPLETING_REBALANCE: (GroupState.PREPARING_REBALANCE,),
    GroupState.STABLE: (GroupState.COMPLETING_REBALANCE,),
    GroupState.DEAD: tuple(GroupState),
}


def may_change(before: GroupState, after: GroupState) -> bool:
    """True if a group may go from one state to the other.

    ClassicGroupState.validPreviousStates.
    """
    return before in _PREVIOUS[after]


def validate_member(
    members: Collection[str], static_members: Mapping[str, str], member_id: str, instance_id: str | None
) -> ErrorCode:
    """Checks that a request comes from a member, and a static one from the process that holds its instance.

    ClassicGroup.validateMember; FENCED_INSTANCE_ID since 2.3 (KIP-345).

    Args:
        members: Ids of the members of the group.
        static_members: Member id by group.instance.id.
        member_id: In the request.
        instance_id: In the request, None if the member is not static.
    """
    if instance_id is not None:
        holder = static_members.get(instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in members else ErrorCode.UNKNOWN_MEMBER_ID


def validate_sync(
    state: GroupState,
    generation: int,
    members: Collection[str],
    static_members: Mapping[str, str],
    member_id: str,
    instance_id: str | None,
    sent_generation: int,
) -> ErrorCode:
    """Returns the error that refuses a SyncGroup; NONE if it is parked or answered with the assignment.

    GroupMetadataManager.validateSyncGroup and classicGroupSyncToClassicGroup.

    Args:
        state, generation: The group's.
        members, static_members, member_id, instance_id: As for ``validate_member``.
        sent_generation: In the request.
    """
    if state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    refused = validate_member(members, static_members, member_id, instance_id)
    if refused is not ErrorCode.NONE:
        return refused
    if sent_generation != generation:
        return ErrorCode.ILLEGAL_GENERATION
    if state is GroupState.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.REBALANCE_IN_PROGRESS if state is GroupState.PREPARING_REBALANCE else ErrorCode.NONE


def heartbeat(
    state: GroupState,
    generation: int,
    members: Collection[str],
    static_members: Mapping[str, str],
    member_id: str,
    instance_id: str | None,
    sent_generation: int,
) -> ErrorCode:
    """The answer to a heartbeat. NONE and REBALANCE_IN_PROGRESS begin the session anew.

    GroupMetadataManager.classicGroupHeartbeatToClassicGroup: the result of validate_sync, since 2.6 (before,
    REBALANCE_IN_PROGRESS was answered until the group was stable). The arguments are those of ``validate_sync``.
    """
    return validate_sync(state, generation, members, static_members, member_id, instance_id, sent_generation)


def join_known_member(state: GroupState, is_leader: bool, subscription_changed: bool) -> JoinOutcome:
    """Decides on a JoinGroup of a member that validate_member accepted, in a group that is not Dead.

    GroupMetadataManager.classicGroupJoinExistingMember: in a stable group the leader may always ask for a rebalance
    (it has seen new partitions), a follower only by a changed subscription.
    """
    if state is GroupState.PREPARING_REBALANCE:
        return JoinOutcome.REBALANCE
    if state is GroupState.COMPLETING_REBALANCE:
        return JoinOutcome.REBALANCE if subscription_changed else JoinOutcome.CURRENT_GENERATION
    if state is GroupState.STABLE:
        return JoinOutcome.REBALANCE if is_leader or subscription_changed else JoinOutcome.CURRENT_GENERATION
    return JoinOutcome.UNKNOWN_MEMBER_ID


def gives_member_id_first(member_id_required: bool, instance_id: str | None) -> bool:
    """True if a client that joins without a member id is given one (MEMBER_ID_REQUIRED) and has to join again with it.

    GroupCoordinator.doUnknownJoinGroup, GroupMetadataManager.classicGroupJoinNewMember; since 2.2 (KIP-394, JoinGroup
    version 4). Before, each JoinGroup whose answer was lost left a member that no client used, and rebalances waited
    for it until its session was over. A static member is known by its instance.

    Args:
        member_id_required: Whether the version requires a member id.
        instance_id: group.instance.id, None if it has none.
    """
    return member_id_required and instance_id is None


def next_generation(generation: int, members: int) -> tuple[int, GroupState]:
    """Generation and state once the join phase is over.

    ClassicGroup.initNextGeneration.

    Args:
        generation: The previous one.
        members: Number of members after those that did not rejoin were removed.
    """
    return generation + 1, GroupState.COMPLETING_REBALANCE if members > 0 else GroupState.EMPTY


def all_members_joined(members: int, awaiting_join: int, pending: int) -> bool:
    """True if the join phase may end before its time is up.

    ClassicGroup.hasAllMembersJoined; ``pending`` counts those that were given an id and have not joined again with it
    (KIP-394, since 2.2).
    """
    return members == awaiting_join and pending == 0


def initial_rebalance_delay(
    delay_ms: int, remaining_ms: int, member_added: bool, group_initial_rebalance_delay_ms: int
) -> tuple[int, int] | None:
    """Returns the next delay of an empty group's first rebalance once one delay is over; None: it completes.

    GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule; since 0.11 (KIP-134). The first delay is
    group.initial.rebalance.delay.ms; the remaining time is then the rebalance timeout less that delay.

    Args:
        delay_ms: The delay that has just run out.
        remaining_ms: What remains of the rebalance timeout.
        member_added: Whether a member joined during that delay.
        group_initial_rebalance_delay_ms: 3,000 unless set.

    Returns:
        The next delay and what remains after it.
    """
    if not member_added or remaining_ms == 0:
        return None
    return min(group_initial_rebalance_delay_ms, remaining_ms), max(remaining_ms - delay_ms, 0)


def expired(now_ms: int, since_ms: int, timeout_ms: int) -> bool:
    """True if a timer that began at ``since_ms`` has run out.

    org.apache.kafka.common.utils.Timer.isExpired. The coordinator removes a member after session.timeout.ms without a
    heartbeat (10 s, 45 s since 3.0, 30 s before 0.10.1); the client itself leaves after max.poll.interval.ms between
    two polls (5 minutes; since 0.10.1, KIP-62: before, only poll sent heartbeats and the session timeout bounded both);
    a heartbeat is due every heartbeat.interval.ms (3 s).
    """
    return now_ms - since_ms >= timeout_ms
