"""Credentials that are refused are tried once, however long a command would wait: each try is a failed login."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.shared import stop_gate
from commands.shared.printing.progress import watch
from commands.wait.command import For, Question, _wait
from kreplica.config.handle import ClusterHandle
from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.execution import executor
from kreplica.health.impact.stop import Accepted
from kreplica.monitoring import clusters

HANDLE = ClusterHandle("test", "127.0.0.1:1")


def waits() -> object:
    return _wait(HANDLE, Question(For.no_under_replicated, (), None, False), 3600, 0)


def asks_whether_it_is_safe() -> object:
    return stop_gate.ask(HANDLE, lambda _: [1], Accepted(), settle=1, wait=3600)


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
    monkeypatch.setattr(executor, "read_snapshot", be_away)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(AuthenticationError):
        act()
    assert len(asked) == 3
