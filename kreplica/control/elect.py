"""Preferred leader elections by the Kafka protocol (ElectLeaders, KIP-460).

Null topics in that request mean every partition of the cluster: requests here always name their partitions, and none is
sent for an empty list. A partition reported as elected need not be led by its preferred replica: the KRaft controller
may fall back to another one. Read the state again afterwards.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kreplica.config.properties import translate
from kreplica.config.security import TOKEN_SECONDS
from kreplica.control.boundary import require_brokers, require_writable
from kreplica.errors import AuthenticationError, ChangeRefusedError, ConfigurationError, KreplicaError, UnreachableError
from kreplica.sources.kafka.connections.messages import error_name
from kreplica.sources.kafka.connections.sasl import OIDC, TOKEN, with_token
from kreplica.sources.permissions import ALTER_CLUSTER, needed
from kreplica.system.deadline import Deadline

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from kreplica.config.handle import ClusterHandle

ELECTED = "elected"
NOT_NEEDED = "not-needed"
BATCH = 1000
"""Partitions in one request: what the KRaft controller itself elects in one pass (ReplicationControlManager)."""

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 1.0
# Outside the tree of loggers, so that no other handler prints what librdkafka says.
_SILENT_LOGGER = logging.Logger("librdkafka")
_SILENT_LOGGER.addHandler(logging.NullHandler())

TopicPartition: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """The controller's answer for one partition.

    Args:
        topic: Topic name.
        partition: Partition index.
        outcome: ``elected``, ``not-needed`` (it leads already) or Kafka's error name.
        message: Kafka's own words for an error, otherwise empty.
    """

    topic: str
    partition: int
    outcome: str
    message: str = ""


def elect_preferred(handle: ClusterHandle, partitions: Sequence[TopicPartition]) -> tuple[ElectionResult, ...]:
    """Has the controller make each partition's preferred replica its leader.

    Args:
        handle: A live cluster; ``handle.timeout`` bounds each request.
        partitions: Topic and partition; only these are touched.

    Returns:
        One result for each partition, in the order given. When a request fails after another one went through, its
        partitions, and those after it, carry the failure: what was done is never lost.

    Raises:
        ChangeRefusedError: The handle is read-only, or the credentials may not elect leaders.
        UnreachableError: The controller did not answer the first request.
        AuthenticationError: The cluster refused the credentials.
        ConfigurationError: The client properties cannot be used.
    """
    require_writable(handle)
    require_brokers(handle)
    wanted = list(dict.fromkeys(partitions))
    results: dict[TopicPartition, ElectionResult] = {}
    if not wanted:
        return ()
    client = _Client(handle)
    for start in range(0, len(wanted), BATCH):
        batch = wanted[start : start + BATCH]
        try:
            results.update(client.elect(batch))
        except KreplicaError as error:
            if not results:
                raise
            for topic, partition in wanted[start:]:
                results[topic, partition] = ElectionResult(topic, partition, error.kind, str(error))
            break
    return tuple(results[key] for key in wanted)


def librdkafka_settings(handle: ClusterHandle, deadline: Deadline) -> dict[str, Any]:
    """The client properties under librdkafka's names, with the token that OAUTHBEARER takes from an endpoint.

    librdkafka would fetch it by itself, follow redirects with the client's secret, and know no deadline.

    Raises:
        ConfigurationError: A property cannot be used, or librdkafka cannot keep to it.
        AuthenticationError, UnreachableError: The endpoint gives no token.
    """
    translated = translate(handle.properties)
    if translated.librdkafka_lacks:
        raise ConfigurationError("elections go through librdkafka", translated.librdkafka_lacks)
    settings = dict(translated.librdkafka)
    if OIDC in translated.kafka_python:
        token = str(with_token(translated.kafka_python, deadline)[TOKEN])
        settings["oauth_cb"] = lambda _: (token, time.time() + TOKEN_SECONDS)
    return settings


class _Client:
    """An admin client of librdkafka, new for each call: one keeps to a broker that has died since."""

    def __init__(self, handle: ClusterHandle) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._handle = handle
        self._reports: list[Any] = []
        self._deadline = Deadline(handle.timeout + _GRACE_SECONDS)  # for the token, too
        settings = librdkafka_settings(handle, Deadline(handle.timeout))
        settings |= {
            "bootstrap.servers": handle.bootstrap_servers,
            "error_cb": self._reports.append,
            # The default of the request's two timeouts: confluent-kafka 2.16 raises SystemError when given either.
            "socket.timeout.ms": max(10, int(handle.timeout * 1000)),
        }
        try:
            self._admin: AdminClient = AdminClient(settings, logger=_SILENT_LOGGER)
        except KafkaException as exception:
            # Such as GSSAPI, which the confluent-kafka wheel is built without.
            raise ConfigurationError("librdkafka cannot use the client properties", exception.args[0].str()) from None

    def elect(self, batch: Sequence[TopicPartition]) -> dict[TopicPartition, ElectionResult]:
        from confluent_kafka import ElectionType, KafkaException, TopicPartition

        assert batch, "an empty list must not become null, which means every partition"
        future = self._admin.elect_leaders(
            ElectionType.PREFERRED,
            [TopicPartition(topic, partition) for topic, partition in batch],
        )
        try:
            answers = self._wait(future, self._deadline)
        except KafkaException as exception:
            raise self._explained(exception.args[0]) from None
        found = {(key.topic, key.partition): _result(key.topic, key.partition, error) for key, error in answers.items()}
        missing = ElectionResult("", -1, "unanswered", "the controller's answer leaves it out")
        return {key: found.get(key, ElectionResult(*key, missing.outcome, missing.message)) for key in batch}

    def _wait(self, future: Future[Any], deadline: Deadline) -> Any:
        # librdkafka tries refused credentials again until the timeout; its reports come only while it is polled.
        while not future.done():
            self._admin.poll(_POLL_SECONDS)
            refusal = next((one for one in self._reports if one.name() == "_AUTHENTICATION"), None)
            if refusal is not None:
                raise AuthenticationError("the cluster does not accept the credentials", refusal.str())
            if deadline.remaining() <= 0:
                raise self._no_answer()
        return future.result()

    def _explained(self, error: Any) -> KreplicaError:
        if error.name() == "CLUSTER_AUTHORIZATION_FAILED":
            return ChangeRefusedError(
                "the elections are refused",
                "CLUSTER_AUTHORIZATION_FAILED",
                needed(ALTER_CLUSTER, translate(self._handle.properties).kafka_python),
            )
        if error.name() in ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_SSL"):
            return self._no_answer()
        return ChangeRefusedError("the elections are refused", f"{_name(error)}: {error.str()}")

    def _no_answer(self) -> UnreachableError:
        reports = dict.fromkeys(one.str() for one in self._reports)
        tried = f": {'; '.join(reports)}" if reports else ""
        return UnreachableError(
            "no answer to the elections",
            f"within {self._handle.timeout:g} s from the controller by {self._handle.bootstrap_servers}{tried}",
            "read the state again: they may have been made all the same",
        )


def _result(topic: str, partition: int, error: Any) -> ElectionResult:
    if error is None:
        return ElectionResult(topic, partition, ELECTED)
    if error.name() == "ELECTION_NOT_NEEDED":
        return ElectionResult(topic, partition, NOT_NEEDED)
    return ElectionResult(topic, partition, _name(error), error.str())


def _name(error: Any) -> str:
    # librdkafka shortens some of Kafka's names; codes below 0 are its own.
    name: str = error_name(error.code()) if error.code() > 0 else error.name()
    return name
