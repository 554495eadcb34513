"""Sandboxes as rows: their servers, the partitions of a topic, the account of a load."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.model.tables.rows import Int32, Meaning
from kreplica.model.tables.schema import PARTITIONS

if TYPE_CHECKING:
    from kreplica.sandbox.cluster import Sandbox, ServerStatus
    from kreplica.sandbox.load.load import LoadResult


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


def server_rows(sandbox: Sandbox) -> list[ServerRow]:
    """The servers of a sandbox as they are now, in the order of ids."""
    return [_server_row(sandbox.name, server) for server in sandbox.status()]


def topic_rows(sandbox: Sandbox, topic: str) -> list[TopicRow]:
    """The partitions of a topic as the brokers tell them; none if there is no such topic, or no broker answers."""
    metadata = sandbox.metadata()
    found = metadata.topics.get(topic) if metadata else None
    return [
        TopicRow(topic, one.id, one.leader, list(one.replicas), list(one.isrs))
        for one in (found.partitions.values() if found else ())
    ]


def load_rows(result: LoadResult, topic: str) -> list[LoadRow]:
    """The account of each partition of the topic that a load was sent to."""
    return [LoadRow(topic=topic, **asdict(partition)) for partition in result.partitions]


def _server_row(name: str, server: ServerStatus) -> ServerRow:
    return ServerRow(
        sandbox=name,
        id=server.id,
        roles=[str(role) for role in server.roles],
        state=str(server.state),
        registered=server.registered,
        rack=server.rack or None,
        pid=server.pid,
        endpoints=[f"{listener}://{address}" for listener, address in server.endpoints.items()],
        log=str(server.log),
    )
