"""Requests that random plans have refused: those that the client sends, with errors after which it sends them again."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from kreplica.engine.fault_plan import RefuseRequest
from kreplica.engine.fuzzing.plans import FaultKind, Profile, random_plan
from kreplica.engine.fuzzing.refused_requests import refused_requests
from kreplica.engine.rules.replication.error_codes import RETRIABLE, ErrorCode
from kreplica.engine.setup import (
    ConsumerSetup,
    ProducerSetup,
    ReaderSetup,
    TopicSetup,
    TransactionalSetup,
    TransformSetup,
    cluster,
)
from kreplica.engine.simulator.refusals import REFUSABLE
from kreplica.engine.versions.supported import version_named

CLIENTS = (
    ProducerSetup("producer"),
    TransactionalSetup("transactional", (), {}),
    TransformSetup("transform", "t", "u", "g", {}),
    ConsumerSetup("consumer", ("t",)),
    ReaderSetup("reader", ("t-0",)),
)
SETUP = cluster(3, TopicSetup("t", ((1, 2, 3),)), clients=CLIENTS)
OF_TRANSACTIONS = {"Produce", "InitProducerId", "AddPartitionsToTxn", "EndTxn"}
SENT = {
    "producer": {"Produce"},
    "transactional": OF_TRANSACTIONS,
    "transform": {*OF_TRANSACTIONS, "AddOffsetsToTxn", "TxnOffsetCommit"},
    "consumer": {"OffsetCommit"},
}
"""Requests of Kafka's clients by their documentation: a reader commits nothing, a producer begins no transaction."""


def made(setup: object = SETUP) -> list[RefuseRequest]:
    chance = Random(1)
    return [refused_requests(setup, "broker-1", chance) for _ in range(400)]  # type: ignore[arg-type]


def test_each_client_has_the_requests_refused_that_it_sends() -> None:
    found: dict[str, set[str]] = {}
    for fault in made():
        found.setdefault(fault.source, set()).add(fault.request)
    assert found == SENT
    assert set().union(*SENT.values()) == set(REFUSABLE)


def test_clients_send_them_again() -> None:
    assert {ErrorCode[fault.error] for fault in made()} <= RETRIABLE


def test_without_such_clients_those_of_every_node_are_refused() -> None:
    assert {fault.source for fault in made(replace(SETUP, clients=CLIENTS[-1:]))} == {"*"}


def test_a_broker_learns_late_of_decisions_in_either_mode() -> None:
    faults = {
        version: {type(step.do).__name__ for step in random_plan(SETUP, version_named(version), late, Random(1))}
        for version in ("3.9", "4.1")
        for late in (Profile((FaultKind.LATE_METADATA,)),)
    }
    assert faults == {"3.9": {"Slow"}, "4.1": {"LateMetadata"}}
