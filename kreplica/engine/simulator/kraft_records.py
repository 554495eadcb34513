"""What stands in the metadata log about brokers and partitions, and what a leader sends for an ISR."""

from __future__ import annotations

from typing import NamedTuple

PARTITION = "partition"
BROKER = "broker"
"""What an entry of the metadata log is about."""


class Registration(NamedTuple):
    """A broker as the metadata log has it."""

    broker: int
    epoch: int
    incarnation: int
    state: int
    offset: int


class IsrRequest(NamedTuple):
    """One partition of an AlterPartition request."""

    partition: str
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    recovering: bool
