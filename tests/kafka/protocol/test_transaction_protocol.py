"""One conversation with a transaction coordinator and a leader, real ones and the simulator's: the same answers.

A transactional producer's requests, word by word, with transaction version 1 (the versions of requests that clients
before 4.0 send) and 2 (KIP-890): what is refused, what is taken for a repetition, and how epochs rise. The offsets that
a leader gives are compared too: they count the markers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from engine.conversations import OneBroker
from log_files.record_batches import PlainRecord, batch_bytes
from real_clusters.coordinators import TRANSACTION, coordinator_of, exchange
from waiting import until

from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.setup import SECOND, TopicSetup
from kreplica.engine.simulator.coordinators.transactions import TransactionCoordinator
from kreplica.engine.trace import Record
from kreplica.sandbox import Sandbox
from kreplica.scenarios.setups import transaction_state

pytestmark = pytest.mark.kafka

COMMIT, ABORT = True, False
TRANSACTIONAL = 0x10
"""The attribute of a batch that is part of a transaction."""
AGAIN = (
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS",
    "NETWORK_EXCEPTION",
)
"""Errors that a client answers by asking again."""
TIMEOUT = 60_000


class Side(Protocol):
    """The coordinator of one transactional id, which ``name`` replaces, and the leader of ``t-0`` and ``t-1``.

    Producer ids are told as places in ``ids``, in the order in which they were given; an answer is an error and what
    belongs to it.
    """

    ids: list[int]

    def init(self, expected: tuple[int, int] | None = None) -> tuple[str, int, int]: ...
    def add(self, producer: int, epoch: int, partition: int = 0) -> tuple[str]: ...
    def end(self, producer: int, epoch: int, commit: bool, name: str = "") -> tuple[str, int, int]: ...
    def produce(self, producer: int, epoch: int, sequence: int, partition: int = 0, plain: bool = False) -> Any: ...


def idempotence(on: Side) -> Iterator[tuple[str, object]]:
    """Without transactions: five batches are remembered, an epoch begins at 0, who is not known begins anywhere."""
    on.ids += [990_001, 990_002, 990_003]

    def plain(producer: int, epoch: int, *sequences: int) -> list[object]:
        return [on.produce(producer, epoch, sequence, plain=True) for sequence in sequences]

    yield "in order", plain(0, 0, *range(7))
    yield "remembered", plain(0, 0, 2, 6, 4)
    yield "no longer, and not yet", plain(0, 0, 1, 0, 8)
    yield "the next epoch", plain(0, 1, 3, 0, 0, 2)
    yield "the old one", plain(0, 0, 7, 6)
    yield "somebody new", plain(1, 0, 5, 7, 6)
    yield "sequences begin anew after the last", plain(2, 0, 2**31 - 1, 1, 0, 1)


def version_1(on: Side) -> Iterator[tuple[str, object]]:
    yield "a new id", on.init()
    yield "nothing to end", [on.end(0, 0, COMMIT), on.end(0, 0, ABORT)]
    yield "not added", on.produce(0, 0, 0)
    yield "added", [on.add(0, 0), on.add(0, 0), on.add(0, 1), on.add(0, 0)]
    yield "sequences", [on.produce(0, 0, sequence) for sequence in (0, 0, 1, 3, 2)]
    yield "another partition, and none of a transaction", [on.produce(0, 0, 0, 1), on.produce(0, 0, 3, plain=True)]
    yield "committed", [on.end(0, 0, COMMIT), on.end(0, 0, COMMIT), on.end(0, 0, ABORT), on.end(0, 1, COMMIT)]
    yield "late", on.produce(0, 0, 3)
    yield "the next one", [on.add(0, 0), on.produce(0, 0, 3), on.end(0, 0, ABORT), on.end(0, 0, COMMIT)]
    yield "left open", [on.add(0, 0), on.produce(0, 0, 4)]
    yield "a successor", on.init()
    yield "fenced", [on.add(0, 0), on.produce(0, 0, 5), on.end(0, 0, COMMIT)]
    yield "goes on", [on.init((0, 2)), on.init((0, 2)), on.init((0, 1)), on.init((0, 3))]
    yield "its sequences begin anew", [on.add(0, 4), on.produce(0, 4, 5), on.produce(0, 4, 0), on.end(0, 4, COMMIT)]


def version_2(on: Side) -> Iterator[tuple[str, object]]:
    yield "a new id", on.init()
    yield "empty", [on.end(0, 0, COMMIT), on.end(0, 1, ABORT), on.end(0, 0, ABORT), on.end(0, 0, ABORT)]
    yield "nothing to commit", [on.end(0, 0, COMMIT), on.end(0, 1, COMMIT)]
    yield "sequences", [on.produce(0, 1, sequence) for sequence in (0, 0, 1, 3, 2)]
    yield "another partition, and none of a transaction", [on.produce(0, 1, 0, 1), on.produce(0, 1, 3, plain=True)]
    yield "another epoch", [on.produce(0, 0, 3), on.produce(0, 2, 0), on.end(0, 2, COMMIT), on.end(0, 0, COMMIT)]
    yield "committed", [on.end(0, 1, COMMIT), on.end(0, 1, COMMIT), on.end(0, 1, ABORT), on.end(0, 2, COMMIT)]
    yield "late", [on.produce(0, 1, 3), on.produce(0, 2, 3)]
    yield "the next one", [on.produce(0, 2, 0), on.end(0, 1, COMMIT), on.end(0, 2, ABORT), on.end(0, 2, ABORT)]
    yield "somebody else's", [on.end(0, 3, ABORT, "y"), on.produce(0, 3, 0)]
    yield "a successor", on.init()
    yield "fenced", [on.produce(0, 3, 1), on.end(0, 3, COMMIT), on.end(0, 4, COMMIT)]
    yield "goes on", [on.init((0, 5)), on.init((0, 5)), on.init((0, 4)), on.init((0, 6))]
    yield "its sequences begin anew", [on.produce(0, 7, 1), on.produce(0, 7, 0), on.end(0, 7, COMMIT)]


def persistently(wait: Callable[..., None], ask: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Asks until the answer is more than to ask again."""
    answers: list[tuple[Any, ...]] = []

    def settled() -> bool:
        answers.append(ask())
        return answers[-1][0] not in AGAIN

    wait(settled, "an answer other than to ask again")
    return answers[-1]


class Real:
    """Brokers, asked over the wire."""

    def __init__(self, sandbox: Sandbox, version: int) -> None:
        self._sandbox, self._version, self._name = sandbox, version, f"version-{version}"
        self.ids: list[int] = []

    def _at_home(self, request: Any, response: Any, newest: int | None = None, name: str = "") -> Any:
        home = coordinator_of(self._sandbox, name or self._name, TRANSACTION)
        return exchange(self._sandbox, home, request, response, newest)

    def _told(self, answer: Any) -> tuple[str, int, int]:
        if answer.producer_id >= 0 and answer.producer_id not in self.ids:
            self.ids.append(answer.producer_id)
        place = self.ids.index(answer.producer_id) if answer.producer_id >= 0 else -1
        return ErrorCode(answer.error_code).name, place, answer.producer_epoch

    def init(self, expected: tuple[int, int] | None = None) -> tuple[str, int, int]:
        from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse

        producer, epoch = (-1, -1) if expected is None else (self.ids[expected[0]], expected[1])
        request = InitProducerIdRequest(
            transactional_id=self._name, transaction_timeout_ms=TIMEOUT, producer_id=producer, producer_epoch=epoch
        )
        return persistently(until, lambda: self._told(self._at_home(request, InitProducerIdResponse, 5)))

    def add(self, producer: int, epoch: int, partition: int = 0) -> tuple[str]:
        from kafka.protocol.producer import AddPartitionsToTxnRequest as Request
        from kafka.protocol.producer import AddPartitionsToTxnResponse

        request = Request(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self.ids[producer],
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[Request.AddPartitionsToTxnTopic(name="t", partitions=[partition])],
        )

        def ask() -> tuple[str]:
            answer = self._at_home(request, AddPartitionsToTxnResponse, 3)
            return (
                ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code).name,
            )

        return persistently(until, ask)

    def end(self, producer: int, epoch: int, commit: bool, name: str = "") -> tuple[str, int, int]:
        from kafka.protocol.producer import EndTxnRequest, EndTxnResponse

        request = EndTxnRequest(
            transactional_id=name or self._name, producer_id=self.ids[producer], producer_epoch=epoch, committed=commit
        )
        newest = 4 if self._version == 1 else 5
        return persistently(until, lambda: self._told(self._at_home(request, EndTxnResponse, newest, name)))

    def produce(self, producer: int, epoch: int, sequence: int, partition: int = 0, plain: bool = False) -> Any:
        from kafka.protocol.producer import ProduceRequest as Request
        from kafka.protocol.producer import ProduceResponse

        records = batch_bytes(
            [PlainRecord(0, 0, None, b"v")],
            attributes=0 if plain else TRANSACTIONAL,
            producer=(self.ids[producer], epoch, sequence),
        )
        data = Request.TopicProduceData.PartitionProduceData(index=partition, records=records)
        request = Request(
            transactional_id=None if plain else self._name,
            acks=ACKS_ALL,
            timeout_ms=TIMEOUT,
            topic_data=[Request.TopicProduceData(name="t", partition_data=[data])],
        )

        def ask() -> tuple[str, int]:
            answer = exchange(self._sandbox, 1, request, ProduceResponse, 11 if self._version == 1 else 12)
            told = answer.responses[0].partition_responses[0]
            return ErrorCode(told.error_code).name, told.base_offset

        return persistently(until, ask)


class Simulated:
    """The simulator's broker."""

    def __init__(self, kafka_version: str) -> None:
        self._world = OneBroker(kafka_version, TopicSetup("t", ((1,), (1,))), transaction_state(1))
        self._coordinator = TransactionCoordinator.of(self._world.broker)
        self._version = 1 if kafka_version.startswith("3") else 2
        self.ids: list[int] = []

    def _ask(self, handler: Callable[..., None], *arguments: object) -> tuple[Any, ...]:
        def ask() -> tuple[Any, ...]:
            error, *values = self._world.ask(handler, *arguments)()
            return (error.name, *values)

        return persistently(self._world.wait, ask)

    def _told(self, error: str, producer: int, epoch: int) -> tuple[str, int, int]:
        if producer >= 0 and producer not in self.ids:
            self.ids.append(producer)
        return error, self.ids.index(producer) if producer >= 0 else -1, epoch

    def init(self, expected: tuple[int, int] | None = None) -> tuple[str, int, int]:
        given = None if expected is None else (self.ids[expected[0]], expected[1])
        return self._told(*self._ask(self._coordinator.init_producer_id, "x", given, 60 * SECOND))

    def add(self, producer: int, epoch: int, partition: int = 0) -> tuple[str]:
        of = (self.ids[producer], epoch)
        return (str(self._ask(self._coordinator.add_partitions, "x", of, (f"t-{partition}",))[0]),)

    def end(self, producer: int, epoch: int, commit: bool, name: str = "") -> tuple[str, int, int]:
        told = self._told(*self._ask(self._coordinator.end, name or "x", (self.ids[producer], epoch), commit))
        return (told[0], -1, -1) if self._version == 1 else told  # EndTxn answers the next epoch from version 5 on

    def produce(self, producer: int, epoch: int, sequence: int, partition: int = 0, plain: bool = False) -> Any:
        where, of = f"t-{partition}", (self.ids[producer], epoch)
        record = Record(-1, "v", *of, sequence=sequence, transactional=not plain, batch_sequence=sequence)
        arguments = (where, (record,), ACKS_ALL, 60 * SECOND)
        broker, coordinator = self._world.broker, self._coordinator

        def asked(*given: Any) -> None:
            *those, reply = given
            handler, first = (broker.produce, ()) if plain else (coordinator.produce, ("x",))
            handler(*first, *those, lambda _partition, error, base: reply(error, base))

        return self._ask(asked, *arguments)


def test_transaction_version_1_as_a_real_coordinator_and_leader_have_it(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t", assignment=[[1, 2, 3], [1, 3, 2]])
    assert [*version_1(Real(kraft_cluster, 1))] == [*version_1(Simulated("3.9-kraft"))]


def test_transaction_version_2_as_a_real_coordinator_and_leader_have_it(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t", assignment=[[1, 2, 3], [1, 3, 2]])
    assert [*version_2(Real(kraft_cluster, 2))] == [*version_2(Simulated("4.1"))]


def test_idempotence_as_a_real_leader_has_it(kraft_cluster: Sandbox) -> None:
    kraft_cluster.create_topic("t", assignment=[[1, 2, 3], [1, 3, 2]])
    assert [*idempotence(Real(kraft_cluster, 2))] == [*idempotence(Simulated("4.1"))]
