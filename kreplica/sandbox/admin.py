"""The sandbox's own look at its cluster, through confluent-kafka: who is registered, which topics there are."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kreplica.errors import SandboxError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient, ClusterMetadata

POLL_SECONDS, LONGEST_POLL_SECONDS, GROWTH = 0.1, 0.3, 1.2
"""Pauses between looks at what is waited for: one of a broker takes it 20 ms of processor time."""
REQUEST_SECONDS = 10.0
SCRAM_ITERATIONS = 4096


def quiet_logger() -> logging.Logger:
    """Return a logger that keeps librdkafka's lines on refused connections off the terminal."""
    logger = logging.getLogger("kreplica.sandbox.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def admin_client(bootstrap_servers: str) -> AdminClient:
    """Return a new admin client; one that has met a dead broker keeps to it, so none is used twice."""
    from confluent_kafka.admin import AdminClient

    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap_servers,
        "socket.timeout.ms": int(REQUEST_SECONDS * 1000),
        "error_cb": lambda _error: None,
        "logger": quiet_logger(),
    }
    return AdminClient(settings)


def metadata(bootstrap_servers: str, timeout: float = REQUEST_SECONDS) -> ClusterMetadata | None:
    """Return the cluster's metadata as one of the brokers reports it; None if none answers in time."""
    from confluent_kafka import KafkaException

    try:
        return admin_client(bootstrap_servers).list_topics(timeout=timeout)
    except KafkaException:
        return None


def create_topic(
    bootstrap_servers: str,
    topic: str,
    *,
    partitions: int,
    replication_factor: int,
    assignment: Sequence[Sequence[int]],
    configs: dict[str, str],
) -> None:
    """Create a topic; with an assignment the two numbers are not used.

    Raises:
        SandboxError: The cluster refuses it; with the cluster's own words.
    """
    from confluent_kafka.admin import NewTopic

    if assignment:
        replicas = [list(ids) for ids in assignment]
        new = NewTopic(topic, num_partitions=len(replicas), replica_assignment=replicas, config=configs)
    else:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=configs)
    _change_topic(
        bootstrap_servers,
        lambda client: client.create_topics([new], operation_timeout=REQUEST_SECONDS)[topic],
        "TOPIC_ALREADY_EXISTS",
        f"topic {topic!r} was not created",
    )


def delete_topic(bootstrap_servers: str, topic: str) -> None:
    """Delete a topic.

    Raises:
        SandboxError: The cluster refuses it; with the cluster's own words.
    """
    _change_topic(
        bootstrap_servers,
        lambda client: client.delete_topics([topic], operation_timeout=REQUEST_SECONDS)[topic],
        "UNKNOWN_TOPIC_OR_PART",
        f"topic {topic!r} was not deleted",
    )


def _change_topic(
    bootstrap_servers: str, request: Callable[[AdminClient], Future[None]], done_already: str, failure: str
) -> None:
    """Asks for a change of a topic, and once more where nobody answers, or the connection ends before the answer.

    A controller that is busy with its start, or with the end of a broker, may have made the change all the same.

    Args:
        bootstrap_servers: Brokers to ask.
        request: Asks by a client.
        done_already: The error to the second request that says so.
        failure: What is told where it failed.

    Raises:
        SandboxError: The cluster refuses it, or nobody answers.
    """
    client = admin_client(bootstrap_servers)  # kept while its requests run
    made = request(client)
    if not _answered(made):
        client = admin_client(bootstrap_servers)
        made = request(client)
        if _refusal(made) == done_already:
            return
    _await(made, failure)


def serve(bootstrap_servers: str, topic: str, partitions: Iterable[int]) -> bool:
    """Tell whether the leader of each of these partitions answers where it ends."""
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, partition): end for partition in partitions}
    if not asked:
        return True
    client = admin_client(bootstrap_servers)  # futures never end when their client is gone
    try:
        for future in client.list_offsets(asked, request_timeout=REQUEST_SECONDS).values():
            future.result(timeout=REQUEST_SECONDS * 2)
    except KafkaException:
        return False
    return True


def add_scram_users(bootstrap_servers: str, users: dict[str, str], mechanisms: set[str]) -> None:
    """Give every user a credential of each SCRAM mechanism.

    Raises:
        SandboxError: The cluster refuses one.
    """
    from confluent_kafka.admin import (
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialAlteration,
        UserScramCredentialUpsertion,
    )

    kinds = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
    client = admin_client(bootstrap_servers)
    # One request for each mechanism: Kafka refuses a request that changes one user twice.
    for mechanism in sorted(mechanisms):
        information = ScramCredentialInfo(kinds[mechanism], SCRAM_ITERATIONS)
        changes: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(user, information, password.encode()) for user, password in users.items()
        ]
        for user, future in client.alter_user_scram_credentials(changes).items():
            _await(future, f"user {user!r} was not created")


_UNANSWERED = ("_TIMED_OUT", "REQUEST_TIMED_OUT", "_TRANSPORT", "_DESTROY_BROKER")


def _answered(future: Any) -> bool:
    """True if a broker answered in time, whatever it said."""
    return _refusal(future) not in _UNANSWERED


def _refusal(future: Any) -> str | None:
    """Name of the error that a request ended with, as librdkafka has it; None if it succeeded."""
    from confluent_kafka import KafkaException

    try:
        future.result(timeout=REQUEST_SECONDS * 2)
    except KafkaException as error:
        name: str = error.args[0].name()
        return name
    except TimeoutError:
        return "_TIMED_OUT"
    return None


def _await(future: Any, failure: str) -> None:
    from confluent_kafka import KafkaException

    try:
        future.result(timeout=REQUEST_SECONDS * 2)
    except KafkaException as error:
        raise SandboxError(failure, error.args[0].str()) from error
    except TimeoutError as error:
        raise SandboxError(failure, "no broker answered in time") from error


class WaitedInVainError(SandboxError):
    """A condition did not hold in time."""


def wait_until(condition: Callable[[], bool], timeout: float, what: str) -> None:
    """Wait until ``condition`` holds.

    Args:
        condition: Asked again and again.
        timeout: Seconds to wait at most.
        what: What is waited for, for the error.

    Raises:
        WaitedInVainError: It did not hold in time.
    """
    deadline, pause = time.monotonic() + timeout, POLL_SECONDS
    while not condition():
        if time.monotonic() >= deadline:
            raise WaitedInVainError(f"waited {timeout:g} s in vain", what)
        time.sleep(pause)
        pause = min(GROWTH * pause, LONGEST_POLL_SECONDS)
