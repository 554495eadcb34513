"""Credentials that are refused are tried once, however long a command would wait: each try is a failed login."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands import reading, stop_gate
from commands.wait import For, Question, _wait
from commands.watching import watch
from kreplica.config import ClusterHandle
from kreplica.errors import AuthenticationError, UnreachableError
from kreplica.health.stopping import Accepted

HANDLE = ClusterHandle("test", "127.0.0.1:1")


def waits() -> object:
    return _wait(HANDLE, Question(For.no_under_replicated, (), None, False), 3600, 0)


def asks_whether_it_is_safe() -> object:
    return stop_gate.ask(HANDLE, lambda _: [1], Accepted(), settle=1, wait=3600)


def watches() -> None:
    watch(lambda: bool(reading.read_clusters([HANDLE], stop_gate.FACETS)), 3600, None)


@pytest.mark.parametrize("act", [waits, asks_whether_it_is_safe, watches])
def test_refused_credentials_end_the_wait(act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise AuthenticationError("the cluster does not accept the credentials")

    monkeypatch.setattr(reading, "read_clusters", refuse)
    monkeypatch.setattr(stop_gate, "read_clusters", refuse)
    with pytest.raises(AuthenticationError):
        act()
    assert len(asked) == 1


@pytest.mark.parametrize("act", [waits, asks_whether_it_is_safe, watches])
def test_a_cluster_that_does_not_answer_is_asked_again(
    act: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def be_away(*arguments: object) -> None:
        asked.append(arguments)
        raise UnreachableError("nobody") if len(asked) < 3 else AuthenticationError("not with these")

    monkeypatch.setattr(reading, "read_clusters", be_away)
    monkeypatch.setattr(stop_gate, "read_clusters", be_away)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(AuthenticationError):
        act()
    assert len(asked) == 3
