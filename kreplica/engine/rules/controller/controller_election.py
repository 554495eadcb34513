"""Controller election in ZooKeeper mode, and the fencing of controllers that were replaced.

/controller is an ephemeral znode: the broker that creates it is the controller. /controller_epoch is raised by a
conditional write. kafka.controller.KafkaController.elect, KafkaZkClient.registerControllerAndIncrementControllerEpoch;
up to 3.9.
"""

INITIAL_EPOCH = 0
"""KafkaController.InitialControllerEpoch: the first controller has epoch 1."""

NOT_ELECTED = -1


def controller_epoch(epoch: int, epoch_version: int, expected_version: int, taken: bool) -> int:
    """The epoch of a broker that wants to be controller; NOT_ELECTED if another broker was first.

    Since 2.1 one transaction creates /controller and raises the epoch. Before, the znode was created first and the
    epoch raised by a conditional write after it, with the same outcome where both succeed.

    Args:
        epoch: What /controller_epoch says.
        epoch_version: That znode's version.
        expected_version: The version the broker read.
        taken: Whether /controller exists.
    """
    if taken or epoch_version != expected_version:
        return NOT_ELECTED
    return epoch + 1


def is_own_election(controller: int, epoch: int, broker: int, tried: int) -> bool:
    """True if the znodes that a broker could not write are its own: the answer to its first request was lost.

    KafkaZkClient.registerControllerAndIncrementControllerEpoch, checkControllerAndEpoch (2.1); before, the session that
    owns /controller is compared (CheckedEphemeral, ZKCheckedEphemeral). An earlier run of the broker has another epoch.

    Args:
        controller: The broker that /controller names.
        epoch: What /controller_epoch says.
        broker: The broker that looks.
        tried: The epoch that it tried to write.
    """
    return controller == broker and epoch == tried


def stale_controller(request_epoch: int, known_epoch: int) -> bool:
    """True if a broker refuses a controller's request because it knows of a newer controller.

    ReplicaManager.becomeLeaderOrFollower and maybeUpdateMetadataCache: STALE_CONTROLLER_EPOCH. A request of the same
    epoch is accepted; one of a higher epoch makes that epoch known.
    """
    return request_epoch < known_epoch


def state_written_by_newer(state_controller_epoch: int, epoch: int) -> bool:
    """True if a newer controller wrote the state of a partition: the older one then gives up its change.

    PartitionStateMachine.doElectLeaderForPartitions, ReplicaStateMachine.getTopicPartitionStatesFromZk: a state znode
    carries the epoch of the controller that last wrote it.
    """
    return state_controller_epoch > epoch


def watches_by_replicas(partitions: int, replication_factor: int) -> int:
    """Watches in ZooKeeper if every replica watched its leader's znode, as leaders were elected before 0.8.

    Each follower of each partition holds one; when a broker dies, those of all the partitions it led fire at once.
    """
    return partitions * (replication_factor - 1)


def watches_by_controller(brokers: int) -> int:
    """Watches in ZooKeeper with a controller: each broker watches /controller, the controller /brokers/ids.

    The few watches that a cluster of any size has, on topics, notifications and reassignments, are left out.
    """
    return brokers + 1
