"""Reassignment of a partition's replicas: the merged assignment, the end of a move, and its cancellation.

Assignments are tuples of broker ids here, because a move changes their order; sets of replicas are bitmasks over the
assignment *while moving*. Both controllers put the target first, so completing a move drops only the last replicas, and
the indexes of those that stay do not change.

KRaft: PartitionReassignmentReplicas and PartitionReassignmentRevert. ZooKeeper: kafka.controller.ReplicaAssignment,
since 2.4 (KIP-455).
"""

from enum import IntEnum

from kreplica.engine.rules.replication.replica_set import contains, first, only, size, without

Assignment = tuple[int, ...]


class Awaited(IntEnum):
    """Replicas that have to be in sync before a move ends.

    ADDED in KRaft before 3.8, so that a move could end with too small an ISR (KAFKA-15665); TARGET, all of it, in KRaft
    from 3.8 and always in ZooKeeper mode; TARGET_IF_FEWER from 4.3 (KAFKA-19975): the added ones, and all of the target
    only where the move leaves fewer replicas, so that a replica that stays and whose broker is down does not delay it.

    With ADDED and TARGET_IF_FEWER a move in KRaft that is asked back while it goes on never ends: see kraft_merged.
    """

    ADDED = 0
    TARGET = 1
    TARGET_IF_FEWER = 2


class MustLive(IntEnum):
    """Brokers that have to be alive for a ZooKeeper controller to begin a move.

    TARGET, all of it, before 0.10.1; NOBODY from 0.10.1 on (KAFKA-4214); ADDED since 2.4 (KIP-455). KRaft only
    requires that they have registered once (ReplicationControlManager.validateManualPartitionAssignment).
    """

    NOBODY = 0
    ADDED = 1
    TARGET = 2


def kraft_merged(
    replicas: Assignment, target: Assignment, adding: Assignment = (), removing: Assignment = ()
) -> tuple[Assignment, Assignment, Assignment]:
    """Assignment, adding and removing while a move runs: the target, then the replicas to remove in order of ids.

    PartitionReassignmentReplicas and ReplicationControlManager.changePartitionReassignment, since 3.0. A move that
    begins while another runs starts from the merged assignment, and takes the place of what the other was adding only
    where it adds something itself, of what it was removing only where it removes something. So the replicas of before,
    asked for again, do not take a move back: what it was adding is removed and stays in ``adding``, and a controller
    that waits for all of that never ends the move. A move that only removes goes on as if nothing had been asked. Going
    back is cancelling (kraft_cancelled).

    Args:
        replicas: The assignment, merged if a move runs.
        target: Brokers that shall have the replicas.
        adding, removing: Of the move that runs; empty if none does.
    """
    leaving = tuple(sorted(set(replicas) - set(target)))
    new = tuple(sorted(set(target) - set(replicas)))
    return target + leaving, new or adding, leaving or removing


def zookeeper_merged(
    replicas: Assignment, adding: Assignment, target: Assignment
) -> tuple[Assignment, Assignment, Assignment]:
    """Assignment, adding and removing while a move runs: the target, then the replicas to remove in their old order.

    ReplicaAssignment.reassignTo, 2.4 to 3.9. A move that replaces another starts from the replicas before that one:
    replicas which that one was adding and the new target does not have are dropped at once (zookeeper_dropped).

    Args:
        replicas: The assignment, merged if a move runs.
        adding: Brokers that this move adds.
        target: Brokers that shall have the replicas.
    """
    origin = original(replicas, adding)
    merged = target + tuple(replica for replica in origin if replica not in target)
    return (
        merged,
        tuple(replica for replica in merged if replica not in origin),
        tuple(replica for replica in merged if replica not in target),
    )


def zookeeper_dropped(replicas: Assignment, merged: Assignment) -> Assignment:
    """Replicas that a new move makes unneeded: they leave the ISR and are deleted at once.

    KafkaController.updateCurrentReassignment.
    """
    return tuple(replica for replica in replicas if replica not in merged)


def zookeeper_missing(target: Assignment, adding: Assignment, live: Assignment, must_live: MustLive) -> Assignment:
    """Brokers because of which a move is refused: not alive, or shutting down. Empty if the move begins.

    KafkaController.initiateReassignReplicasForTopicPartition, replicasAreValid of 2.4, validateReplicas since 2.5.
    Cancelling a move is never refused.

    Args:
        target: Brokers that shall have the replicas.
        adding: Those of them that are new.
        live: The live brokers without those in controlled shutdown (ControllerContext.liveBrokerIds).
        must_live: Brokers that the version requires to be alive.
    """
    asked = {MustLive.NOBODY: (), MustLive.ADDED: adding, MustLive.TARGET: target}[must_live]
    return tuple(broker for broker in asked if broker not in live)


def zookeeper_move_is_fixed(moving: bool, changeable: bool) -> bool:
    """True if a partition cannot be moved elsewhere now, nor its move be cancelled.

    Before 2.4 (KIP-455) moves stood in /admin/reassign_partitions: ReassignPartitionsCommand wrote no other as long as
    that znode existed, and nothing could cancel one.

    Args:
        moving: Whether its replicas are being moved.
        changeable: Whether the version has AlterPartitionReassignments.
    """
    return moving and not changeable


def original(replicas: Assignment, adding: Assignment) -> Assignment:
    """The assignment without the replicas being added.

    PartitionReassignmentReplicas.originalReplicas, ReplicaAssignment.originReplicas. Its order is not always that of
    before the move: the target comes first.
    """
    return tuple(replica for replica in replicas if replica not in adding)


def completes(replicas: int, adding: int, removing: int, isr: int, awaited: Awaited) -> bool:
    """True if an ISR completes a move: every replica that the move waits for is in sync.

    PartitionReassignmentReplicas.maybeCompleteReassignment; KafkaController.isReassignmentComplete.

    Args:
        replicas: The merged assignment.
        adding, removing: Replicas added and removed; both empty where nothing moves.
        isr: In-sync replicas.
        awaited: Replicas that the version waits for.
    """
    if adding | removing == 0:
        return False
    remaining, target = without(isr, removing), without(replicas, removing)
    if removing != 0 and (remaining == 0 or target == 0):
        return False
    if awaited is not Awaited.TARGET and without(adding, remaining) != 0:
        return False
    for_all = awaited is Awaited.TARGET or (awaited is Awaited.TARGET_IF_FEWER and size(adding) < size(removing))
    return not for_all or without(target, remaining) == 0


def completed(replicas: int, removing: int, isr: int) -> tuple[int, int]:
    """Assignment and ISR once a move is complete."""
    return without(replicas, removing), without(isr, removing)


def zookeeper_elect_reassigned(target: int, isr: int, live: int, leader: int) -> int:
    """Returns the leader after a move: the old one if it stays and is live, else the first of the target that may lead.

    NO_LEADER if there is none.


    KafkaController.moveReassignedPartitionLeaderIfRequired and
    PartitionLeaderElectionAlgorithms.reassignPartitionLeaderElection.
    """
    if contains(target & live, leader):
        return leader
    return first(target & isr & live)


def kraft_cancelled(replicas: int, adding: int, isr: int) -> tuple[int, int, bool]:
    """Assignment and ISR after a move is cancelled, and whether that loses records.

    PartitionReassignmentRevert. If only replicas that were being added are in sync, the first remaining one becomes
    the whole ISR: the controller refuses that (InvalidReplicaAssignmentException) unless unclean elections are
    enabled. It asks for one remaining replica in sync, whatever min.insync.replicas is (KAFKA-14424): the replicas
    that are dropped then enter the ELR, from which none of them can be elected.

    The set of before is back, its order is not: the target still comes first, so that another replica may be
    preferred. What an earlier move was adding stays where a later one had taken that move's place.

    Args:
        replicas: The merged assignment.
        adding: Replicas that were being added.
        isr: In-sync replicas.
    """
    remaining = without(replicas, adding)
    kept = without(isr, adding)
    if kept != 0:
        return remaining, kept, False
    return remaining, only(first(remaining)), True
