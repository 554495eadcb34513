"""Rows of the sandbox commands."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from kreplica.model.rows import Int32, Meaning
from kreplica.model.schema import PARTITIONS


class ServerRow(Struct, frozen=True):
    """A server of a sandbox."""

    sandbox: Annotated[str, Meaning("name of the sandbox")]
    id: Annotated[int, Meaning("node id; 0 is ZooKeeper")]
    roles: Annotated[list[str], Meaning("broker, controller, zookeeper")]
    state: Annotated[str, Meaning("running, paused or ended")]
    registered: Annotated[bool | None, Meaning("whether the cluster counts the broker as alive")]
    rack: Annotated[str | None, Meaning("broker.rack", drop=2)]
    pid: Annotated[int | None, Meaning("process id")]
    endpoints: Annotated[list[str], Meaning("listeners and their addresses", screen=False)]
    log: Annotated[str, Meaning("file with what the server printed", drop=1)]


class TopicRow(Struct, frozen=True):
    """A partition of a topic that was created."""

    topic: Annotated[str, Meaning(PARTITIONS.field("topic").doc)]
    partition: Annotated[int, Meaning(PARTITIONS.field("partition").doc)]
    leader: Annotated[int, Meaning(PARTITIONS.field("leader").doc)]
    replicas: Annotated[list[Int32], Meaning(PARTITIONS.field("replicas").doc)]
    isr: Annotated[list[Int32], Meaning(PARTITIONS.field("isr").doc)]


class StoppedRow(Struct, frozen=True):
    """A sandbox that was stopped."""

    sandbox: Annotated[str, Meaning("name of the sandbox")]
    state: Annotated[str, Meaning("removed")]


class LoadRow(Struct, frozen=True):
    """The account of one partition of a load, in records."""

    topic: Annotated[str, Meaning("topic name")]
    partition: Annotated[int, Meaning("partition index")]
    sent: Annotated[int, Meaning("records handed to the producer")]
    acknowledged: Annotated[int, Meaning("records the brokers acknowledged")]
    refused: Annotated[int, Meaning("records the producer gave up on")]
    read_back: Annotated[
        int | None, Meaning("acknowledged records found in the log afterwards", label="READ BACK", drop=3)
    ]
    lost: Annotated[int | None, Meaning("acknowledged records that are not there")]
    unread: Annotated[int | None, Meaning("acknowledged records in partitions that could not be read to the end")]
    duplicated: Annotated[int | None, Meaning("records that stand in the log more than once", drop=1)]
    out_of_order: Annotated[int | None, Meaning("records that stand behind a later one", label="OUT OF ORDER", drop=2)]
