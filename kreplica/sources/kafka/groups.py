"""Groups that one broker coordinates, with their committed offsets (ListGroups, OffsetFetch).

A broker lists the groups it coordinates, and offsets are asked of the coordinator: no FindCoordinator is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kreplica.model.snapshot import Gap
from kreplica.model.wording.words import counted
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    error_name,
)
from kreplica.sources.permissions import DESCRIBE_GROUPS

if TYPE_CHECKING:
    from kreplica.sources.kafka.connections.connection import BrokerConnection

_BATCHED, _LAST_BY_NAME = 8, 9
_GROUPS_A_REQUEST = 500
_SHARE = "share"
_COORDINATOR_MOVED = frozenset({14, 15, 16})


class Committed(NamedTuple):
    """One row of the groups table."""

    group: str
    state: str | None
    group_type: str | None
    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None
    metadata: str | None


def read_groups(connection: BrokerConnection) -> tuple[list[Committed], tuple[Gap, ...]]:
    """Reads a coordinator's groups and their committed offsets; share groups commit none."""
    answer: Any = connection.send(ListGroupsRequest(states_filter=[], types_filter=[]), ListGroupsResponse)
    if answer.error_code in _COORDINATOR_MOVED:
        return [], (_gap(connection, f"groups of {connection.address}", answer.error_code, 1),)
    if answer.error_code != NO_ERROR:
        return [], (_gap(connection, "groups", answer.error_code, 1),)
    groups = {one.group_id: one for one in answer.groups if _SHARE not in (one.group_type, one.protocol_type)}
    rows: list[Committed] = []
    failed: dict[int, int] = {}
    for group_id, topics, error in _offsets(connection, list(groups)):
        if error != NO_ERROR:
            failed[error] = failed.get(error, 0) + 1
        rows += _rows(groups[group_id], topics or ())
    return rows, tuple(
        _gap(connection, f"offsets of {counted(count, 'group')}", code, count) for code, count in failed.items()
    )


def _offsets(connection: BrokerConnection, group_ids: Sequence[str]) -> Iterator[tuple[str, Any, int]]:
    if connection.supports(OffsetFetchRequest, _BATCHED):
        for start in range(0, len(group_ids), _GROUPS_A_REQUEST):
            yield from _batched_offsets(connection, group_ids[start : start + _GROUPS_A_REQUEST])
        return
    for group_id in group_ids:
        request = OffsetFetchRequest(group_id=group_id, topics=None, require_stable=False)
        # Version 2 (Kafka 0.10.2) is the first that takes "all topics".
        answer: Any = connection.send(request, OffsetFetchResponse, oldest=2, newest=_BATCHED - 1)
        yield group_id, answer.topics, answer.error_code


def _batched_offsets(connection: BrokerConnection, group_ids: Sequence[str]) -> Iterator[tuple[str, Any, int]]:
    group_class = OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [group_class(group_id=one, member_id=None, member_epoch=-1, topics=None) for one in group_ids]
    request = OffsetFetchRequest(groups=groups, require_stable=False)
    # From version 10 on topics have ids instead of names.
    answer: Any = connection.send(request, OffsetFetchResponse, oldest=_BATCHED, newest=_LAST_BY_NAME)
    for one in answer.groups:
        yield one.group_id, one.topics, one.error_code


def _rows(group: Any, topics: Iterable[Any]) -> list[Committed]:
    return [
        Committed(
            group.group_id,
            group.group_state or None,
            group.group_type.lower() if group.group_type else None,
            topic.name,
            one.partition_index,
            one.committed_offset,
            one.committed_leader_epoch if one.committed_leader_epoch >= 0 else None,
            one.metadata,
        )
        for topic in topics
        for one in topic.partitions
        if one.error_code == NO_ERROR and one.committed_offset >= 0
    ]


def _gap(connection: BrokerConnection, what: str, code: int, count: int) -> Gap:
    name = error_name(code)
    fix = f": {connection.lacks(DESCRIBE_GROUPS)}" if name == "GROUP_AUTHORIZATION_FAILED" else ""
    return Gap("failed-request", f"{what} could not be read, {name}{fix}", count)
