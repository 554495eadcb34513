"""Kafka's znodes: where they are and what they say. kafka.zk.ZkData.

/controller                       (broker id,), ephemeral
/controller_epoch                 (epoch,)
/brokers/ids/<id>                 (rack,), ephemeral
/brokers/topics/<topic>           ((partition, replicas, adding, removing), ...)
/brokers/partitions/<partition>   (controller epoch, leader, leader epoch, ISR): brokers' ids; Kafka has it at
                                  /brokers/topics/<topic>/partitions/<n>/state
/isr_change_notification/<n>      partitions
/log_dir_event_notification/<n>   (broker id,)
"""

from __future__ import annotations

from kreplica.engine.rules.replica_set import NO_LEADER
from kreplica.engine.simulator.partition_state import PartitionState

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"
STATES = "/brokers/partitions"
ISR_CHANGES = "/isr_change_notification"
DIRECTORY_EVENTS = "/log_dir_event_notification"

StateData = tuple[int, int, int, tuple[int, ...]]
Assigned = tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def state_path(partition: str) -> str:
    """The znode with a partition's leader and ISR."""
    return f"{STATES}/{partition}"


def state_data(state: PartitionState, controller_epoch: int) -> StateData:
    """What that znode says."""
    return controller_epoch, state.leader_id, state.leader_epoch, state.listed_isr()


def state_of(assigned: Assigned, data: StateData, version: int, keeps_order: bool) -> PartitionState:
    """A partition as its two znodes say; ``keeps_order`` where somebody goes by the order of the ISR."""
    partition, replicas, adding, removing = assigned
    _, leader, leader_epoch, isr = data
    known = PartitionState(partition, replicas, adding=adding, removing=removing, isr_order=isr if keeps_order else ())
    place = replicas.index(leader) if leader in replicas else NO_LEADER
    return known._replace(leader=place, leader_epoch=leader_epoch, isr=known.places(isr), partition_epoch=version)
