"""Committed offsets: the commits that a coordinator accepts, the answers to fetches of them, and their expiry.

GroupMetadataManager and GroupCoordinator of kafka.coordinator.group up to 3.9;
org.apache.kafka.coordinator.group.OffsetMetadataManager since 4.0.
"""

from collections.abc import Collection, Mapping

from kreplica.engine.rules.groups.group_membership import NO_MEMBER, UNKNOWN_GENERATION, GroupState, validate_member
from kreplica.engine.rules.replication.error_codes import ErrorCode

INVALID_OFFSET = -1
"""OffsetFetchResponse.INVALID_OFFSET: nothing is committed."""


def commit_to_unknown_group(sent_generation: int, api_version: int, transactional: bool) -> ErrorCode:
    """Returns the error for a commit to a group that does not exist; NONE if the commit creates it.

    OffsetMetadataManager.validateOffsetCommit and validateTransactionalOffsetCommit: only a client that does no group
    management (generation -1) does. Version 9 of OffsetCommit came with KIP-848.

    Args:
        sent_generation: In the request, negative without group management.
        api_version: Of the request.
        transactional: Whether the commit belongs to a transaction.
    """
    if sent_generation < 0:
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if transactional or api_version < 9 else ErrorCode.GROUP_ID_NOT_FOUND


def commit_to_classic_group(
    state: GroupState,
    generation: int,
    members: Collection[str],
    static_members: Mapping[str, str],
    member_id: str,
    instance_id: str | None,
    sent_generation: int,
    transactional: bool,
) -> ErrorCode:
    """Returns the error for a commit to a group of the classic protocol; NONE if it is accepted.

    ClassicGroup.validateOffsetCommit. While members join, the previous generation may still commit. A transactional
    commit carries member and generation since 2.5 (KIP-447); without them it is accepted in any state, so that before
    only the producer's epoch fenced a zombie.

    Args:
        state, generation: The group's.
        members, static_members, member_id, instance_id: As for ``group_membership.validate_member``.
        sent_generation: In the request, negative without group management.
        transactional: Whether the commit belongs to a transaction.
    """
    if state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if sent_generation < 0 and state is GroupState.EMPTY:
        return ErrorCode.NONE
    if sent_generation >= 0 or member_id != NO_MEMBER or instance_id is not None:
        refused = validate_member(members, static_members, member_id, instance_id)
        if refused is ErrorCode.NONE and sent_generation != generation:
            refused = ErrorCode.ILLEGAL_GENERATION
    else:
        refused = ErrorCode.NONE if transactional else ErrorCode.UNKNOWN_MEMBER_ID
    if refused is ErrorCode.NONE and not transactional and state is GroupState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return refused


def commit_to_consumer_group(
    members: int,
    member_epoch: int | None,
    sent_epoch: int,
    transactional: bool,
    classic_member: bool,
    assigned_since: int | None = None,
    named: bool = True,
) -> ErrorCode:
    """Returns the error for a commit to a group of KIP-848's protocol; NONE if it is accepted.

    ConsumerGroup.validateOffsetCommit; with a stale epoch a transactional one gets ILLEGAL_GENERATION
    (OffsetMetadataManager.validateTransactionalOffsetCommit), and so does a member that still speaks the classic
    protocol.

    Args:
        members: Number of members of the group.
        member_epoch: The sender's, None if it is no member.
        sent_epoch: In the request, -1 from outside the group.
        transactional: Whether TxnOffsetCommit carries it.
        classic_member: Whether the member speaks the classic protocol.
        assigned_since: The member epoch in which the partition was assigned to the member; None if it is not assigned,
            and before 4.3 (KIP-1251): a member that does not know its new epoch yet may commit what it keeps.
        named: Whether the commit names a member. A transaction's need not, and is then taken in any state: only the
            producer's epoch fences a zombie.
    """
    if sent_epoch <= UNKNOWN_GENERATION and (members == 0 or (transactional and not named)):
        return ErrorCode.NONE
    if member_epoch is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    kept = assigned_since is not None and assigned_since <= sent_epoch < member_epoch
    if sent_epoch == member_epoch or kept:
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if transactional or classic_member else ErrorCode.STALE_MEMBER_EPOCH


def fetched_offset(committed: int, pending_transactional: bool, require_stable: bool) -> tuple[ErrorCode, int]:
    """Returns the answer of OffsetFetch for a partition.

    OffsetMetadataManager.fetchOffsets; require_stable since 2.5 (KIP-447), sent by read_committed consumers: they wait
    until an open transaction that commits an offset of the partition has ended. Without it the answer is the last
    committed offset, and records that the open transaction covers may be read twice.

    Args:
        committed: The committed offset, INVALID_OFFSET if there is none.
        pending_transactional: Whether an open transaction has an offset of the partition.
        require_stable: In the request.
    """
    if require_stable and pending_transactional:
        return ErrorCode.UNSTABLE_OFFSET_COMMIT, INVALID_OFFSET
    return ErrorCode.NONE, committed


def transactional_offset_wins(pending_record_offset: int, committed_record_offset: int | None) -> bool:
    """True if a transaction's offset becomes the committed one when its COMMIT marker is read.

    OffsetMetadataManager.replayEndTransactionMarker: only if it was written later than the committed one, whenever its
    marker came.

    Args:
        pending_record_offset: Offset in __consumer_offsets of the transaction's record.
        committed_record_offset: Offset there of the committed one's record, None if there is none.
    """
    return committed_record_offset is None or pending_record_offset > committed_record_offset


def expires_with_group(
    state: GroupState, uses_membership: bool, subscribed: bool, commit_ms: int, empty_since_ms: int | None
) -> int | None:
    """Returns the time from which an offset's retention runs; None while it cannot expire.

    ClassicGroup.offsetExpirationCondition, since 2.1 (KIP-211): from when the group became empty. A stable group
    loses offsets of topics it no longer subscribes to since 2.4; offsets of consumers that only commit, without group
    management, age from each commit.

    Args:
        state: The group's.
        uses_membership: Whether it ever had members.
        subscribed: Whether a live member subscribes to the topic; False in an empty group.
        commit_ms: Time of the offset's commit.
        empty_since_ms: Time at which the group became empty, None if the group's record does not say (before 2.1).
    """
    if not uses_membership:
        return commit_ms
    if subscribed:
        return None
    if state is GroupState.EMPTY:
        return commit_ms if empty_since_ms is None else empty_since_ms
    return commit_ms if state is GroupState.STABLE else None


def expires_in_consumer_group(subscribed: bool, commit_ms: int) -> int | None:
    """Returns the time from which an offset's retention runs in a group of KIP-848's protocol; None: it cannot expire.

    ConsumerGroup.offsetExpirationCondition: from the last commit, also when the group is empty; a group that was
    subscribed for the whole retention without a commit, and whose members then leave, loses its offsets at the next
    scan.
    """
    return None if subscribed else commit_ms


def offset_expired(
    now_ms: int, since_ms: int | None, retention_ms: int, expires_at_ms: int | None, pending_transactional: bool
) -> bool:
    """True if the scan every offsets.retention.check.interval.ms (10 minutes) removes an offset, since 2.1 (KIP-211).

    OffsetExpirationConditionImpl.isOffsetExpired and OffsetMetadataManager.cleanupExpiredOffsets.

    Args:
        now_ms: The time of the scan.
        since_ms: Result of expires_with_group.
        retention_ms: offsets.retention.minutes: 7 days.
        expires_at_ms: The time that the record of an old commit names, or a commit with a retention of its own.
        pending_transactional: Whether an open transaction has an offset of the partition.
    """
    if since_ms is None or pending_transactional:
        return False
    if expires_at_ms is not None:
        return now_ms >= expires_at_ms
    return now_ms - since_ms >= retention_ms


def offset_expired_by_commit(now_ms: int, commit_ms: int, retention_ms: int) -> bool:
    """True if the scan removes an offset, up to 2.0: by the age of the last commit, with or without live members.

    kafka.coordinator.group.GroupMetadata.removeExpiredOffsets. A consumer that commits only when it has read something
    loses its offsets in a topic that stays silent for longer than offsets.retention.minutes: 1 day, 7 since 2.0
    (KIP-186).
    """
    return commit_ms + retention_ms < now_ms
