"""Reads of safe-to-stop: two safe ones in a row, a settling time apart; none outlasts --wait but the second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.config.handle import ClusterHandle
from kreplica.errors import ExitCode, UnreachableError
from kreplica.health.impact.stop import Accepted
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.monitoring import clusters
from kreplica.monitoring.waiting import stop_gate
from kreplica.system import deadline

BROKERS = [{"broker": broker, "alive": True} for broker in (1, 2, 3)]
HANDLE = ClusterHandle("test", "127.0.0.1:1", timeout=30.0)


def cluster(isr: list[int]) -> ClusterSnapshot:
    """With min.insync.replicas 2, another than broker 1 leading."""
    return snapshot_of([partition(isr=isr, leader=2)], BROKERS, source="zookeeper")


SAFE, UNSAFE = cluster([1, 2, 3]), cluster([1, 2])
AWAY = UnreachableError("nobody answers")


@dataclass
class Clock:
    """Stands still but while a read or a pause lasts; tells when each read began and how long it was allowed."""

    answers: list[ClusterSnapshot | Exception]
    read_seconds: float = 1.0
    now: float = 0.0
    began: list[float] = field(default_factory=list)
    allowed: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def read(self, handle: ClusterHandle, *_: Any) -> ClusterSnapshot:
        self.began.append(self.now)
        self.allowed.append(handle.timeout)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.now += min(self.read_seconds, handle.timeout)
        if isinstance(found, Exception) or self.read_seconds > handle.timeout:
            raise found if isinstance(found, Exception) else AWAY
        return found


Play = Callable[..., Clock]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    def start(*answers: ClusterSnapshot | Exception, read_seconds: float = 1.0) -> Clock:
        clock = Clock(list(answers), read_seconds)
        monkeypatch.setattr(clusters, "read_snapshot", clock.read)
        for module in (stop_gate, deadline):
            monkeypatch.setattr(module, "time", clock)
        return clock

    return start


def ask(settle: float = 10.0, wait: float = 0.0) -> stop_gate.Verdict:
    return stop_gate.read_until_safe(HANDLE, lambda _: [1], Accepted(), settle, wait)


def test_safe_is_what_two_reads_say_that_are_a_settling_time_apart(play: Play) -> None:
    clock = play(SAFE)
    verdict = ask()
    assert verdict.last.exit_code is ExitCode.OK
    assert clock.began == [0, 11]
    assert verdict.apart == 11


def test_what_is_safe_at_first_alone_is_not(play: Play) -> None:
    clock = play(SAFE, UNSAFE)
    verdict = ask()
    assert (verdict.last.exit_code, len(clock.began)) == (ExitCode.FINDINGS, 2)
    assert verdict.changes


def test_without_a_settling_time_one_read_is_enough(play: Play) -> None:
    clock = play(SAFE)
    assert ask(settle=0).last.exit_code is ExitCode.OK
    assert clock.began == [0]


@pytest.mark.parametrize("between", [UNSAFE, AWAY], ids=["unsafe", "away"])
def test_two_safe_reads_have_none_between_that_is_not(play: Play, between: Any) -> None:
    clock = play(SAFE, between, SAFE, SAFE)
    assert ask(wait=600).last.exit_code is ExitCode.OK
    assert len(clock.began) == 4


@pytest.mark.parametrize("seconds", [0.1, 3.0, 8.0, 30.0])
@pytest.mark.parametrize("answer", [UNSAFE, AWAY], ids=["unsafe", "away"])
def test_no_read_goes_on_after_the_time_to_wait(play: Play, answer: Any, seconds: float) -> None:
    """Nor is one begun that would be cut off: what the last whole one said is the answer."""
    clock = play(answer, read_seconds=seconds)
    if answer is AWAY or seconds > 20:
        with pytest.raises(UnreachableError):
            ask(wait=20)
    else:
        assert ask(wait=20).last.exit_code is ExitCode.FINDINGS
    assert clock.now <= 20
    assert all(began + allowed <= 20 for began, allowed in zip(clock.began, clock.allowed, strict=True))


def test_the_second_of_two_reads_has_its_own_time(play: Play) -> None:
    """The settling time may outlast the time to wait; a cluster that is safe is not called silent for that."""
    clock = play(SAFE, read_seconds=2.0)
    assert ask(settle=10, wait=5).last.exit_code is ExitCode.OK
    assert (clock.began, clock.allowed) == ([0, 12], [5, 30])


def test_without_a_time_to_wait_a_read_has_its_own(play: Play) -> None:
    clock = play(UNSAFE)
    assert ask().last.exit_code is ExitCode.FINDINGS
    assert clock.allowed == [30]
