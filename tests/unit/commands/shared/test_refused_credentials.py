"""Credentials that are refused are tried once, however long a command would wait: each try is a failed login."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.shared.printing.progress import watch
from kreplica.config.handle import ClusterHandle
from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.execution import executor
from kreplica.health.impact.stop import Accepted
from kreplica.health.wait_conditions import Goal
from kreplica.monitoring import clusters
from kreplica.monitoring.waiting import in_sync as wait
from kreplica.monitoring.waiting import stop_gate

HANDLE = ClusterHandle("test", "127.0.0.1:1")


def waits() -> object:
    return wait.wait(HANDLE, Goal.NO_UNDER_REPLICATED, timeout=3600)


def asks_whether_it_is_safe() -> object:
    return stop_gate.read_until_safe(HANDLE, lambda _: [1], Accepted(), settle=1, wait=3600)


def watches() -> None:
    watch(lambda: bool(clusters.read_clusters([HANDLE], stop_gate.FACETS)), 3600, None)


def settles() -> object:
    return executor.read_settled(HANDLE, stop_gate.FACETS, lambda _: False)


EVERY = [waits, asks_whether_it_is_safe, watches, settles]


@pytest.mark.parametrize("act", EVERY)
def test_refused_credentials_end_the_wait(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise AuthenticationError("the cluster does not accept the credentials")

    monkeypatch.setattr(clusters, "read_clusters", refuse)
    monkeypatch.setattr(stop_gate, "read_clusters", refuse)
    monkeypatch.setattr(wait, "read_clusters", refuse)
    monkeypatch.setattr(executor, "read_snapshot", refuse)
    with pytest.raises(AuthenticationError):
        act()
    assert len(asked) == 1


@pytest.mark.parametrize("act", EVERY)
def test_a_cluster_that_does_not_answer_is_asked_again(
    act: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def be_away(*arguments: object) -> None:
        asked.append(arguments)
        raise UnreachableError("nobody") if len(asked) < 3 else AuthenticationError("not with these")

    monkeypatch.setattr(clusters, "read_clusters", be_away)
    monkeypatch.setattr(stop_gate, "read_clusters", be_away)
    monkeypatch.setattr(wait, "read_clusters", be_away)
    monkeypatch.setattr(executor, "read_snapshot", be_away)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(AuthenticationError):
        act()
    assert len(asked) == 3
