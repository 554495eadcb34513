"""AlterPartition: a leader asks the controller to change the ISR; the controller's checks, the leader's reactions.

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
"""Reactions of a leader to an error."""

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
    """Returns the error with which a KRaft controller refuses an ISR; NONE if it accepts it.

    ReplicationControlManager.validateAlterPartitionData. Epochs above the controller's mean that another controller
    is active by now: NOT_CONTROLLER since 3.3. Ineligible replicas are refused since 3.3 (KIP-841).

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
    """Returns the members of a proposed ISR that may not be in it.

    ReplicationControlManager.ineligibleReplicasForIsr: brokers fenced or shutting down since 3.3 (KIP-841), other
    broker epochs since 3.5 (KIP-903): a broker that restarted after its fetch, perhaps with an empty disk, does not
    join on the strength of what it had before.

    Args:
        sent_isr: The proposed ISR.
        registered: Replicas whose broker is registered.
        fenced: Replicas whose broker is fenced.
        shutting_down: Replicas whose broker is in controlled shutdown.
        other_epoch: Replicas for which the leader sent a broker epoch other than the registered one; empty before 3.5.
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
    """Returns the error with which a ZooKeeper controller refuses an ISR; NONE if it accepts it.

    KafkaController.tryProcessAlterPartition, 2.7 to 3.9 (processAlterIsr up to 3.1, processAlterPartition in 3.2). If
    the leader proposes the ISR there already is, the answer is NONE, even if it sent an older partition epoch. Up to
    3.2 epochs above the controller's are not looked at: ZooKeeper refuses the write of a deposed controller, and the
    answer is UNKNOWN_SERVER_ERROR. The leader asks again after either.

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
    """Returns the answer to an accepted ISR: NEW_LEADER_ELECTED if the change elected another leader, else NONE.

    ReplicationControlManager.alterPartition: the ISR completed a reassignment that removes the leader. KRaft, since
    3.3; FENCED_LEADER_EPOCH before.
    """
    return ErrorCode.NONE if elected == sender else ErrorCode.NEW_LEADER_ELECTED


def leader_reaction(error: int) -> int:
    """Returns a leader's reaction to an error about its proposed ISR: ROLL_BACK, STAY_PENDING or RETRY.

    Partition.handleAlterPartitionError. The leader may roll back only if the error means that nothing was written.
    Otherwise the larger of the two ISRs goes on counting for the high watermark (maximal ISR) until metadata says which
    one holds. After any other error the request is sent again after 50 ms (AlterPartitionManager).
    """
    if error in (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA):
        return ROLL_BACK
    return STAY_PENDING if error in _STAY_PENDING else RETRY


def leader_takes_answer(
    pending: bool, leader_epoch: int, partition_epoch: int, answered_leader_epoch: int, answered_partition_epoch: int
) -> bool:
    """True if a leader adopts the ISR in the controller's answer.

    Partition.submitAlterPartition and handleAlterPartitionUpdate: not if its state has changed since the request, or if
    the answer has another leader epoch or an older partition epoch. Equal epochs mean that nothing had to change.

    Args:
        pending: Whether the leader still waits for the answer to this request.
        leader_epoch, partition_epoch: Its own.
        answered_leader_epoch, answered_partition_epoch: Those of the answer.
    """
    return pending and answered_leader_epoch == leader_epoch and answered_partition_epoch >= partition_epoch


def stays_pending(pending: bool, partition_epoch: int, told_partition_epoch: int, known_state_ends: bool) -> bool:
    """True if a leader that is told the state of its partition goes on waiting for the ISR it has asked for.

    kafka.cluster.Partition.makeLeader and updateAssignmentAndIsr: a state with a newer partition epoch settles what the
    leader asked for. One with the partition epoch that the leader knows settles nothing, but ends the wait, too, up to
    4.3: the metadata log repeats the answer to the leader's last request when it may have made the next. The
    controller goes on to write that ISR, and until the leader hears of it the high watermark passes the new member.

    Args:
        pending: Whether the leader waits for another ISR than it is told.
        partition_epoch: As the leader knows it.
        told_partition_epoch: As it is told.
        known_state_ends: Whether a state that the leader knows ends the wait.
    """
    return pending and told_partition_epoch == partition_epoch and not known_state_ends


def maximal_isr(isr: int, pending_isr: int, pending: bool) -> int:
    """Replicas that hold the high watermark back: the ISR, and while a change is pending the proposed ISR, too.

    kafka.cluster.PartitionState: PendingExpandIsr and PendingShrinkIsr, since 2.7. Until the controller answers, the
    leader does not know whether the change was written, so both count for the high watermark.
    """
    return isr | pending_isr if pending else isr


def expanded_isr(isr: int, replica: int) -> int:
    """The ISR that a leader proposes when a follower has caught up; Partition.prepareIsrExpand."""
    return isr | only(replica)
