"""AlterPartition: a leader asks the controller to change the ISR, and what both make of it.

Since 2.7 (KIP-497; ZooKeeper mode from inter-broker protocol 2.7 on). Before, the leader wrote the ISR into ZooKeeper
itself: ``zookeeper_isr``. KRaft: org.apache.kafka.controller.ReplicationControlManager.validateAlterPartitionData.
ZooKeeper: kafka.controller.KafkaController.tryProcessAlterPartition. The leader's side:
kafka.cluster.Partition.handleAlterPartitionError and handleAlterPartitionUpdate.

Errors are those of ``error_codes``.
"""

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.rules.replication.replica_set import contains, only, size, without

ROLL_BACK = 0
STAY_PENDING = 1
RETRY = 2
"""What a leader does with an error."""

_STAY_PENDING = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
)


def kraft_alter_partition_error(
    leader: int,
    leader_epoch: int,
    partition_epoch: int,
    replicas: int,
    recovering: bool,
    sender: int,
    sent_leader_epoch: int,
    sent_partition_epoch: int,
    sent_isr: int,
    sent_recovering: bool,
    ineligible: int,
) -> ErrorCode:
    """Why a KRaft controller refuses an ISR; NONE if it takes it.

    ReplicationControlManager.validateAlterPartitionData. Epochs above the controller's mean that another one is
    active by now: NOT_CONTROLLER since 3.3. Ineligible replicas are refused since 3.3 (KIP-841).

    Args:
        leader, leader_epoch, partition_epoch, replicas: What the controller has.
        recovering: Whether the leader recovers from an unclean election, as the controller has it.
        sender: The replica that asks.
        sent_leader_epoch, sent_partition_epoch, sent_isr, sent_recovering: What it sent.
        ineligible: ineligible_replicas of that ISR; empty before 3.3.
    """
    error = _epochs_error(leader_epoch, partition_epoch, sent_leader_epoch, sent_partition_epoch)
    if error in (ErrorCode.NOT_CONTROLLER, ErrorCode.FENCED_LEADER_EPOCH):
        return error
    if sender != leader:
        return ErrorCode.INVALID_REQUEST
    if error != ErrorCode.NONE:
        return error
    if without(sent_isr, replicas) != 0 or not contains(sent_isr, leader):
        return ErrorCode.INVALID_REQUEST
    if sent_recovering and (size(sent_isr) > 1 or not recovering):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.INELIGIBLE_REPLICA if ineligible != 0 else ErrorCode.NONE


def _epochs_error(
    leader_epoch: int, partition_epoch: int, sent_leader_epoch: int, sent_partition_epoch: int
) -> ErrorCode:
    if sent_leader_epoch > leader_epoch or sent_partition_epoch > partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if sent_leader_epoch < leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_UPDATE_VERSION if sent_partition_epoch < partition_epoch else ErrorCode.NONE


def ineligible_replicas(sent_isr: int, registered: int, fenced: int, shutting_down: int, other_epoch: int) -> int:
    """Which members of a proposed ISR may not be in it.

    ReplicationControlManager.ineligibleReplicasForIsr: fenced and shutting down since 3.3 (KIP-841), broker epochs
    since 3.5 (KIP-903): a broker that was started anew after it fetched, perhaps with an empty disk, does not come in
    on the strength of what it had.

    Args:
        sent_isr: The proposed ISR.
        registered: Replicas whose broker is registered.
        fenced: Replicas whose broker is fenced.
        shutting_down: Replicas whose broker is in controlled shutdown.
        other_epoch: Replicas for which the leader sent a broker epoch, and not the registered one; empty before 3.5.
    """
    return sent_isr & (without(sent_isr, registered) | fenced | shutting_down | other_epoch)


def zookeeper_alter_partition_error(
    leader: int,
    leader_epoch: int,
    partition_epoch: int,
    isr: int,
    sender: int,
    sent_leader_epoch: int,
    sent_partition_epoch: int,
    sent_isr: int,
    ineligible: int,
) -> ErrorCode:
    """Why a ZooKeeper controller refuses an ISR; NONE if it takes it.

    KafkaController.tryProcessAlterPartition, 2.7 to 3.9. A partition that is as the sender wants it is answered
    without an error, also to one who does not know the partition's newest epoch.

    Args:
        leader, leader_epoch, partition_epoch, isr: What the controller has.
        sender: The replica that asks.
        sent_leader_epoch, sent_partition_epoch, sent_isr: What it sent.
        ineligible: Members of that ISR whose broker is not live; empty before 3.3.
    """
    error = _epochs_error(leader_epoch, partition_epoch, sent_leader_epoch, sent_partition_epoch)
    if error in (ErrorCode.NOT_CONTROLLER, ErrorCode.FENCED_LEADER_EPOCH):
        return error
    if sender == leader and sent_isr == isr:
        return ErrorCode.NONE
    if error == ErrorCode.NONE and ineligible != 0:
        return ErrorCode.INELIGIBLE_REPLICA
    return error


def answer_to_change(sender: int, elected: int) -> ErrorCode:
    """What the sender is told once its ISR has been taken: NEW_LEADER_ELECTED if the change made another one lead.

    ReplicationControlManager.alterPartition: the ISR completed a reassignment that removes the leader. KRaft, since
    3.3; FENCED_LEADER_EPOCH before.
    """
    return ErrorCode.NONE if elected == sender else ErrorCode.NEW_LEADER_ELECTED


def leader_reaction(error: int) -> int:
    """What a leader does with its proposed ISR after an error: ROLL_BACK, STAY_PENDING or RETRY.

    Partition.handleAlterPartitionError. It may go back only where the controller says for certain that nothing was
    written. Otherwise the larger of both ISRs goes on counting for the high watermark (maximal ISR) until metadata
    says which one holds. Anything else is sent again after 50 ms (AlterPartitionManager).
    """
    if error in (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA):
        return ROLL_BACK
    return STAY_PENDING if error in _STAY_PENDING else RETRY


def leader_takes_answer(
    pending: bool, leader_epoch: int, partition_epoch: int, answered_leader_epoch: int, answered_partition_epoch: int
) -> bool:
    """Whether a leader takes over the ISR it was answered.

    Partition.submitAlterPartition and handleAlterPartitionUpdate: not if its state has changed since it asked, if the
    answer is of another leader epoch or of an older partition epoch. The same epochs mean that nothing had to change.

    Args:
        pending: Whether what it asked for is still what it waits for.
        leader_epoch, partition_epoch: Its own.
        answered_leader_epoch, answered_partition_epoch: Those of the answer.
    """
    return pending and answered_leader_epoch == leader_epoch and answered_partition_epoch >= partition_epoch


def maximal_isr(isr: int, pending_isr: int, pending: bool) -> int:
    """Replicas that hold the high watermark back: the ISR, and while a change is under way who was or shall be in it.

    kafka.cluster.PartitionState: PendingExpandIsr and PendingShrinkIsr, since 2.7. Whether the controller has written
    the change is not known until it answers, so the high watermark keeps to both.
    """
    return isr | pending_isr if pending else isr


def expanded_isr(isr: int, replica: int) -> int:
    """The ISR that a leader proposes when a follower has caught up; Partition.prepareIsrExpand."""
    return isr | only(replica)
