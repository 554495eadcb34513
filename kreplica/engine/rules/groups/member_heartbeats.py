"""Contents of a ConsumerGroupHeartbeat and of its answer (KIP-848): what has not changed is not named again."""

from kreplica.engine.rules.groups.group_epochs import JOIN_EPOCH


def names_partitions(joins: bool, named_before: bool) -> bool:
    """True if a member's heartbeat names the partitions that it owns.

    ConsumerHeartbeatRequestManager.HeartbeatState.buildRequestData, since 4.0: when it joins, and once after it has
    taken over an assignment. An error, or an answer that does not come, makes it forget what it has named
    (AbstractHeartbeatRequestManager.onFailure and onErrorResponse).

    Args:
        joins: Whether it is JOINING.
        named_before: Whether an earlier heartbeat has named its present assignment.
    """
    return joins or not named_before


def names_assignment(sent_epoch: int, full: bool, assigned_before: int, assigned: int) -> bool:
    """True if the coordinator's answer names the partitions of the member.

    GroupMetadataManager.consumerGroupHeartbeat, since 4.0: in answer to a heartbeat that names everything, as one that
    joins or the first one after an error does, and if the assignment has changed.

    Args:
        sent_epoch: Epoch of the heartbeat.
        full: Whether it has every field: topics, rebalance timeout and owned partitions.
        assigned_before: Partitions that were assigned to the member.
        assigned: Those that are assigned to it now.
    """
    return sent_epoch == JOIN_EPOCH or full or assigned != assigned_before
