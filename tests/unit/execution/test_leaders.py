"""Elections: only who leads afterwards counts. Brokers are stood in for here; tests/kafka runs against real ones."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.config.handle import ClusterHandle
from kreplica.control.elect import ElectionResult
from kreplica.errors import UnreachableError
from kreplica.execution import elections as leaders
from kreplica.execution import executor
from kreplica.execution.plan import LeaderChange

HANDLE = ClusterHandle(name="test", bootstrap_servers="127.0.0.1:1")


def change(number: int) -> LeaderChange:
    return LeaderChange("orders", number, 2, 1)


@pytest.fixture
def stood_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answers elections and reads with what a test gives, without any waiting; the last read is repeated."""

    def prepare(answers: dict[int, str], *reads: dict[int, int | None] | Exception) -> None:
        def elect(_: ClusterHandle, partitions: Any) -> tuple[ElectionResult, ...]:
            return tuple(
                ElectionResult(topic, number, answers[number]) for topic, number in partitions if number in answers
            )

        def states() -> Iterator[dict[int, int | None] | Exception]:
            yield from reads
            while True:
                yield reads[-1]

        state, clock = states(), iter(range(10_000))

        def read(*_: object) -> object:
            found = next(state)
            if isinstance(found, Exception):
                raise found
            return snapshot_of([partition(number=number, leader=leader) for number, leader in found.items()])

        monkeypatch.setattr("kreplica.control.elect.elect_preferred", elect)
        monkeypatch.setattr(executor, "read_snapshot", read)
        virtual = SimpleNamespace(sleep=lambda _: None, monotonic=lambda: float(next(clock)))
        monkeypatch.setattr(executor, "time", virtual)

    return prepare


def outcomes(*numbers: int) -> list[tuple[int | None, str, bool]]:
    found = leaders.elect(HANDLE, [change(number) for number in numbers])
    return [(outcome.leader, outcome.error, outcome.done) for outcome in found]


def test_the_state_is_read_until_the_preferred_leads(stood_in: Any) -> None:
    stood_in({0: "elected"}, {0: 2}, {0: 2}, {0: 1}, {0: 2})
    assert outcomes(0) == [(1, "", True)]


def test_an_accepted_election_is_no_proof(stood_in: Any) -> None:
    stood_in({0: "elected", 1: "elected"}, {0: 2, 1: 1})
    assert outcomes(0, 1) == [(2, "", False), (1, "", True)]


def test_an_election_that_was_not_needed_is_no_failure(stood_in: Any) -> None:
    stood_in({0: "not-needed"}, {0: 1})
    assert outcomes(0) == [(1, "", True)]


def test_what_the_controller_objects_to_is_not_waited_for(stood_in: Any) -> None:
    stood_in({0: "PREFERRED_LEADER_NOT_AVAILABLE"}, {0: -1}, AssertionError("one read is enough"))
    assert outcomes(0) == [(None, "PREFERRED_LEADER_NOT_AVAILABLE", False)]


def test_a_partition_without_an_answer_or_deleted_meanwhile(stood_in: Any) -> None:
    stood_in({}, {1: 1})
    assert outcomes(0) == [(None, "no answer for this partition", False)]


def test_a_read_that_fails_while_leaders_move_loses_nothing(stood_in: Any) -> None:
    stood_in({0: "elected"}, UnreachableError("no answer"), {0: 1})
    assert outcomes(0) == [(1, "", True)]


def test_a_cluster_that_stays_silent_is_unreachable(stood_in: Any) -> None:
    stood_in({0: "elected"}, UnreachableError("no answer"))
    with pytest.raises(UnreachableError):
        outcomes(0)
