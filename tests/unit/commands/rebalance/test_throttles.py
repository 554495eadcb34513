"""rebalance throttles: what is shown, what is deleted, and how it ends. The brokers are stood in for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from clusters.generated import partition, snapshot_of
from loopback.answering_broker import AnsweringBroker
from loopback.settings_broker import BROKER, TOPIC, SettingsBroker

import kreplica as library
from commands.main import run
from kreplica.control.settings import SettingChange, SettingResult
from kreplica.execution.moves.throttles import leftover
from kreplica.monitoring.clusters import Reading

LEADER = "leader.replication.throttled"
PARTITIONS = [partition("still"), partition("moving", adding=[2], replicas=[1, 2], isr=[1])]
Throttles = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringBroker]:
    stored = {
        (BROKER, ""): {f"{LEADER}.rate": "900"},
        (BROKER, "1"): {f"{LEADER}.rate": "700"},
        (TOPIC, "still"): {f"{LEADER}.replicas": "0:1"},
        (TOPIC, "moving"): {f"{LEADER}.replicas": "0:1"},
    }
    found = SettingsBroker(1, stored)
    found.stored = stored
    snapshot = snapshot_of(PARTITIONS, [{"broker": 1, "alive": True}])
    monkeypatch.setattr(leftover, "read_clusters", lambda some, _: Reading((snapshot,), (), tuple(some)))
    yield found
    found.close()


@pytest.fixture
def throttles(broker: Any, capsys: pytest.CaptureFixture[str]) -> Throttles:
    def call(*words: str) -> tuple[int, Any, str]:
        code = run(["rebalance", "throttles", "--bootstrap-server", broker.address, "-o", "json", *words])
        printed = capsys.readouterr()
        return int(code), json.loads(printed.out) if printed.out else None, printed.err

    return call


def states(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[str, Any]]:
    return {f"{row['scope']} {row['entity']}".strip(): (row["state"], row["cleared"]) for row in rows}


def test_those_that_nothing_needs_are_shown(throttles: Throttles) -> None:
    code, document, _ = throttles()
    assert (code, document["schema"]) == (1, "kreplica/rebalance-throttles/v1")
    assert states(document["throttles"]) == {
        "topic still": ("orphaned", None),
        "topic moving": ("in-use", None),
        "broker 1": ("in-use", None),
        "broker-default": ("no-list", None),
    }
    assert document["summary"] == {"executed": False, "in_use": 2, "orphaned": 1, "no_rate": 0, "no_list": 1}


def test_only_those_that_are_named_and_free_are_deleted(broker: Any, throttles: Throttles) -> None:
    assert throttles("--topic", "still")[0] == 1
    assert broker.stored[TOPIC, "still"], "nothing without --execute"
    code, document, _ = throttles("--topic", "still", "--execute")
    assert (code, states(document["throttles"])["topic still"]) == (1, ("orphaned", True))
    assert (broker.stored[TOPIC, "still"], broker.stored[BROKER, ""]) == ({}, {f"{LEADER}.rate": "900"})
    code, document, err = throttles("--topic", "moving", "--broker", "1", "--default", "--execute")
    assert (code, broker.stored[BROKER, ""]) == (4, {})
    assert broker.stored[TOPIC, "moving"], "a partition that it names is moving"
    assert f"{LEADER}.rate of broker 1 is in use: it is left" in err


def test_a_deletion_that_is_refused_says_what_lacks(throttles: Throttles, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object, changes: Sequence[SettingChange]) -> tuple[SettingResult, ...]:
        return tuple(SettingResult(one, "TOPIC_AUTHORIZATION_FAILED", "kafka-acls --add") for one in changes)

    monkeypatch.setattr(leftover, "alter_settings", refuse)
    code, document, err = throttles("--topic", "still", "--execute")
    assert (code, states(document["throttles"])["topic still"]) == (4, ("orphaned", False))
    assert f"{LEADER}.replicas of topic still: TOPIC_AUTHORIZATION_FAILED: kafka-acls --add" in err


def test_the_function_gives_the_same(broker: Any, throttles: Throttles) -> None:
    code, document, _ = throttles()
    found = library.rebalance_throttles(library.ClusterHandle("test", broker.address))
    assert (msgspec.to_builtins(found.rows), found.exit_code) == (document["throttles"], code)


def test_a_dump_tells_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebalance", "throttles", "--dump", "sample"]) == 2
    assert "a dump does not tell throttles" in capsys.readouterr().err
