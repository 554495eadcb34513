"""Moves, placements and AlterPartition as Kafka's sources have them, restated with lists: slow and plain."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


class MockRandom:
    """org.apache.kafka.server.util.MockRandom: the numbers that Kafka's own tests of placements draw."""

    def __init__(self) -> None:
        self.state = 17

    def next_int(self, bound: int) -> int:
        """java.util.Random.nextInt(bound) over 31 bits of that state."""
        bits = self._next()
        if bound & (bound - 1) == 0:
            return bound * bits >> 31
        while bits - bits % bound + bound - 1 >= 2**31:
            bits = self._next()
        return bits % bound

    def _next(self) -> int:
        self.state = (self.state * 2862933555777941757 + 3037000493) % 2**64
        return self.state >> 33


def kraft_move(current: list[int], target: list[int]) -> tuple[list[int], list[int], list[int]]:
    """PartitionReassignmentReplicas(current, target): replicas, adding, removing."""
    removing = sorted(one for one in current if one not in target)
    adding = sorted(one for one in target if one not in current)
    return target + removing, adding, removing


def kraft_completed(
    replicas: list[int], adding: list[int], removing: list[int], isr: list[int], awaited: str
) -> tuple[list[int], list[int]] | None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment: replicas and ISR, None while it goes on."""
    if not adding and not removing:
        return None
    new_isr, new_replicas = list(isr), list(replicas)
    if removing:
        new_isr = [one for one in isr if one not in removing]
        new_replicas = [one for one in replicas if one not in removing]
        if not new_isr or not new_replicas:
            return None
    fewer = len(adding) < len(removing)
    if not all(one in new_isr for one in adding):
        return None
    if (awaited == "TARGET" or (awaited == "TARGET_IF_FEWER" and fewer)) and set(new_replicas) - set(new_isr):
        return None
    return new_replicas, new_isr


@dataclass(frozen=True)
class Asked:
    """One partition of an AlterPartition request, and who sent it."""

    sender: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]
    recovering: bool = False


@dataclass(frozen=True)
class Known:
    """The partition as the controller has it, and the brokers that are eligible."""

    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool
    eligible: Collection[int]


def kraft_validation(known: Known, asked: Asked) -> str:  # noqa: PLR0911 - as the source has it
    """ReplicationControlManager.validateAlterPartitionData, in its order."""
    if asked.leader_epoch > known.leader_epoch:
        return "NOT_CONTROLLER"
    if asked.partition_epoch > known.partition_epoch:
        return "NOT_CONTROLLER"
    if asked.leader_epoch < known.leader_epoch:
        return "FENCED_LEADER_EPOCH"
    if asked.sender != known.leader:
        return "INVALID_REQUEST"
    if asked.partition_epoch < known.partition_epoch:
        return "INVALID_UPDATE_VERSION"
    if not all(one in known.replicas for one in asked.isr):
        return "INVALID_REQUEST"
    if known.leader not in asked.isr:
        return "INVALID_REQUEST"
    if asked.recovering and len(asked.isr) > 1:
        return "INVALID_REQUEST"
    if not known.recovering and asked.recovering:
        return "INVALID_REQUEST"
    return "NONE" if all(one in known.eligible for one in asked.isr) else "INELIGIBLE_REPLICA"


def zookeeper_validation(known: Known, asked: Asked) -> str:
    """KafkaController.tryProcessAlterPartition, in its order, without leader recovery."""
    if asked.partition_epoch > known.partition_epoch or asked.leader_epoch > known.leader_epoch:
        return "NOT_CONTROLLER"
    if asked.leader_epoch < known.leader_epoch:
        return "FENCED_LEADER_EPOCH"
    if asked.sender == known.leader and sorted(asked.isr) == sorted(known.isr):
        return "NONE"
    if asked.partition_epoch < known.partition_epoch:
        return "INVALID_UPDATE_VERSION"
    return "NONE" if all(one in known.eligible for one in asked.isr) else "INELIGIBLE_REPLICA"
