"""Topics of a sandbox whose controller is busy."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kreplica.errors import SandboxError
from kreplica.sandbox import admin


class Client:
    """Answers each request for a topic with the next of the errors; None is success."""

    def __init__(self, errors: list[int | None]) -> None:
        self.errors = errors

    def create_topics(self, topics: list[Any], **_: float) -> dict[str, Future[None]]:
        return {topics[0].topic: self.answer()}

    def delete_topics(self, topics: list[str], **_: float) -> dict[str, Future[None]]:
        return {topics[0]: self.answer()}

    def answer(self) -> Future[None]:
        future: Future[None] = Future()
        error = self.errors.pop(0)
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(KafkaException(KafkaError(error)))
        return future


def create(monkeypatch: pytest.MonkeyPatch, *errors: int | None) -> list[int | None]:
    client = Client(list(errors))
    monkeypatch.setattr(admin, "admin_client", lambda _: client)
    admin.create_topic("b:1", "orders", partitions=1, replication_factor=1, assignment=(), configs={})
    return client.errors


def delete(monkeypatch: pytest.MonkeyPatch, *errors: int | None) -> list[int | None]:
    client = Client(list(errors))
    monkeypatch.setattr(admin, "admin_client", lambda _: client)
    admin.delete_topic("b:1", "orders")
    return client.errors


@pytest.mark.parametrize("second", [None, KafkaError.TOPIC_ALREADY_EXISTS])
@pytest.mark.parametrize("first", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._DESTROY_BROKER])
def test_what_nobody_answered_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, first: int, second: int | None
) -> None:
    assert create(monkeypatch, first, second) == []


def test_a_topic_that_exists_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="topic 'orders' was not created"):
        create(monkeypatch, KafkaError.TOPIC_ALREADY_EXISTS)


def test_twice_without_an_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="topic 'orders' was not created"):
        create(monkeypatch, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT)


@pytest.mark.parametrize("second", [None, KafkaError.UNKNOWN_TOPIC_OR_PART])
def test_so_is_a_deletion_that_nobody_answered(monkeypatch: pytest.MonkeyPatch, second: int | None) -> None:
    assert delete(monkeypatch, KafkaError._TIMED_OUT, second) == []


def test_the_deletion_of_a_topic_that_is_not_there_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="topic 'orders' was not deleted"):
        delete(monkeypatch, KafkaError.UNKNOWN_TOPIC_OR_PART)
