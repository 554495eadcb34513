"""Dynamic settings of topics, brokers and the cluster's default, one by one (IncrementalAlterConfigs, KIP-339, 2.3).

    topic            the controller (KRaft: any broker forwards), or any broker in ZooKeeper mode
    broker           that broker; while it is down, on request, the KRaft controllers' own listener (KIP-919)
    broker-default   as topic: holds for every broker that has no value of its own

The changes of one topic or broker are made together or not at all: one that is refused refuses the others of it.
A broker's own value hides the cluster's default; deleting it brings the default back, where setting the value that
holds pins it. APPEND and SUBTRACT are for lists; taking the last entry away leaves an empty list, which is not the same
as none: only DELETE brings that back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from kreplica.control.boundary import require_brokers, require_writable
from kreplica.sources.kafka.connections.connection import BrokerConnection
from kreplica.sources.kafka.connections.failures import BrokerFailure, RequestUnsupportedError
from kreplica.sources.kafka.connections.messages import (
    NO_ERROR,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    error_name,
)
from kreplica.sources.kafka.nodes import Nodes
from kreplica.sources.permissions import ALTER_CLUSTER_CONFIGS, ALTER_TOPIC_CONFIGS, needed

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle

LONGEST_VALUE = 32_767
"""Bytes of a value: a broker closes the connection where a longer one is set, without an answer (KAFKA-17993).

Entries that make a list longer are refused in KRaft and taken in ZooKeeper mode, where nobody can read the settings of
the topic any more until the list is deleted.
"""

ENTITIES_A_REQUEST = 100
"""Topics in one request."""

TOO_LONG, UNANSWERED = "too-long", "unanswered"
"""Outcomes that are no error of Kafka."""


class EntityType(StrEnum):
    """Kinds of things that have settings, as in the configs table."""

    TOPIC = "topic"
    BROKER = "broker"
    BROKER_DEFAULT = "broker-default"


class Operation(IntEnum):
    """Ways to change a setting, by Kafka's codes (AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One change of one setting.

    Args:
        entity_type: Kind of thing that has it.
        entity: Topic name or broker id; empty for broker-default.
        name: Name of the setting.
        operation: How to change it.
        value: The value, or the entries of a list separated by commas; None to delete.
    """

    entity_type: EntityType
    entity: str
    name: str
    operation: Operation
    value: str | None = None

    def __post_init__(self) -> None:
        assert (self.operation is Operation.DELETE) == (self.value is None), "a deletion has no value, a change one"


@dataclass(frozen=True, slots=True)
class SettingResult:
    """The answer to one change.

    Args:
        change: What was asked for.
        error: Empty where it was made; Kafka's error name, ``too-long``, ``unanswered`` (a broker that is down, or an
            answer that never came: it may have been made all the same).
        message: Kafka's own words, or a clause.
    """

    change: SettingChange
    error: str = ""
    message: str = ""

    @property
    def made(self) -> bool:
        """True if it was made."""
        return not self.error


def alter_settings(
    handle: ClusterHandle, changes: Iterable[SettingChange], *, through_controllers: bool = False
) -> tuple[SettingResult, ...]:
    """Changes settings; each that fails is reported, the others are made all the same.

    Brokers have made a change their own a moment after it is accepted: read it back (``sources.kafka.throttles``).

    Args:
        handle: A live cluster; ``handle.timeout`` bounds the whole call.
        changes: Each setting of a topic or broker once.
        through_controllers: Whether settings of brokers that are down are changed by the active KRaft controller's own
            listener, with the same client properties; it has to be reachable from here.

    Returns:
        One result for each change, in the order given.

    Raises:
        ChangeRefusedError: The handle is read-only.
        UnreachableError: No bootstrap server answered.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    require_writable(handle)
    require_brokers(handle)
    wanted = tuple(changes)
    assert len({(one.entity_type, one.entity, one.name) for one in wanted}) == len(wanted), "each setting once"
    if not wanted:
        return ()
    with Nodes(handle) as nodes:
        results = _too_long(wanted)
        asked = [one for one in wanted if one not in results]
        results |= _alter_shared(nodes, [one for one in asked if one.entity_type is not EntityType.BROKER])
        results |= _alter_brokers(
            nodes, [one for one in asked if one.entity_type is EntityType.BROKER], through_controllers
        )
    return tuple(results[change] for change in wanted)


def _too_long(changes: Sequence[SettingChange]) -> dict[SettingChange, SettingResult]:
    """Changes of topics and brokers that are not asked for: a broker might answer none of the request."""
    found = {(one.entity_type, one.entity) for one in changes if len((one.value or "").encode()) > LONGEST_VALUE}
    message = f"Kafka takes {LONGEST_VALUE} bytes"
    return {one: SettingResult(one, TOO_LONG, message) for one in changes if (one.entity_type, one.entity) in found}


def _alter_shared(nodes: Nodes, changes: Sequence[SettingChange]) -> dict[SettingChange, SettingResult]:
    """Changes settings of topics and of the cluster's default, so many topics in a request."""
    by_entity = _grouped(changes)
    results: dict[SettingChange, SettingResult] = {}
    entities = list(by_entity)
    for start in range(0, len(entities), ENTITIES_A_REQUEST):
        piece = [change for entity in entities[start : start + ENTITIES_A_REQUEST] for change in by_entity[entity]]
        try:
            answer = _send(piece, nodes.controller())
        except BrokerFailure as failure:
            answer = failure
        results |= _results(piece, answer, nodes)
    return results


def _alter_brokers(
    nodes: Nodes, changes: Sequence[SettingChange], through_controllers: bool
) -> dict[SettingChange, SettingResult]:
    """Changes settings of brokers, at each broker itself."""
    by_broker = {int(entity): some for entity, some in _grouped(changes).items()}
    answers = nodes.each_broker({broker: partial(_send, some) for broker, some in by_broker.items()})
    if through_controllers and nodes.in_kraft:
        for broker in by_broker.keys() - nodes.brokers.keys():
            try:
                answers[broker] = _send(by_broker[broker], nodes.quorum_leader())
            except BrokerFailure as failure:
                answers[broker] = failure
    return {
        change: one
        for broker, some in by_broker.items()
        for change, one in _results(some, answers[broker], nodes).items()
    }


def _grouped(changes: Iterable[SettingChange]) -> dict[str, list[SettingChange]]:
    by_entity: dict[str, list[SettingChange]] = {}
    for change in changes:
        by_entity.setdefault(change.entity, []).append(change)
    return by_entity


def _send(changes: Sequence[SettingChange], connection: BrokerConnection) -> Any:
    return connection.send(_request(changes), IncrementalAlterConfigsResponse)


def _results(changes: Sequence[SettingChange], answer: Any, nodes: Nodes) -> dict[SettingChange, SettingResult]:
    if isinstance(answer, BrokerFailure):
        unsupported = isinstance(answer, RequestUnsupportedError)
        error = "UNSUPPORTED_VERSION" if unsupported else UNANSWERED
        return {change: SettingResult(change, error, str(answer)) for change in changes}
    found = {(one.resource_type, one.resource_name): one for one in answer.responses}
    return {change: _result(change, found.get(_resource(change)), nodes) for change in changes}


_RESOURCE_TYPES = {EntityType.TOPIC: 2, EntityType.BROKER: 4, EntityType.BROKER_DEFAULT: 4}


def _resource(change: SettingChange) -> tuple[int, str]:
    return _RESOURCE_TYPES[change.entity_type], change.entity


def _request(changes: Sequence[SettingChange]) -> Any:
    resource_class = IncrementalAlterConfigsRequest.AlterConfigsResource
    by_resource: dict[tuple[int, str], list[Any]] = {}
    for change in changes:
        one = resource_class.AlterableConfig(
            name=change.name, config_operation=change.operation.value, value=change.value
        )
        by_resource.setdefault(_resource(change), []).append(one)
    resources = [
        resource_class(resource_type=kind, resource_name=name, configs=configs)
        for (kind, name), configs in by_resource.items()
    ]
    return IncrementalAlterConfigsRequest(resources=resources, validate_only=False)


def _result(change: SettingChange, one: Any, nodes: Nodes) -> SettingResult:
    if one is None:
        return SettingResult(change, UNANSWERED, "the answer leaves it out")
    if one.error_code == NO_ERROR:
        return SettingResult(change)
    error = error_name(one.error_code)
    lacking = {
        "TOPIC_AUTHORIZATION_FAILED": ALTER_TOPIC_CONFIGS,
        "CLUSTER_AUTHORIZATION_FAILED": ALTER_CLUSTER_CONFIGS,
    }
    message = needed(lacking[error], nodes.settings) if error in lacking else one.error_message or ""
    return SettingResult(change, error, message)
