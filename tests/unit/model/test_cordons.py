"""Cordoned brokers and directories: by what brokers tell of directories, by the metadata log, else by the setting."""

from __future__ import annotations

from typing import Any

import pytest

from kreplica.model.cordons import cordoned_brokers, cordoned_directories
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import CONFIGS
from kreplica.model.tables.table import Table
from tests.support.clusters.generated import snapshot_of


def directory(path: str, cordoned: bool | None, error: str | None = None, broker: int = 1) -> dict[str, Any]:
    return {"broker": broker, "path": path, "cordoned": cordoned, "error": error}


def cluster(
    directories: list[dict[str, Any]],
    settings: dict[tuple[str, str], str | None] | None = None,
    registered: bool | None = None,
) -> ClusterSnapshot:
    """Broker 1, as registered; settings by kind and name of the entity."""
    rows = [
        {"entity_type": kind, "entity": name, "name": "cordoned.log.dirs", "value": value, "origin": "unknown"}
        for (kind, name), value in (settings or {}).items()
    ]
    other = {"entity_type": "broker", "entity": "1", "name": "log.dirs", "value": "*", "origin": "unknown"}
    brokers = [{"broker": 1, "alive": True, "cordoned": registered}]
    return snapshot_of([], brokers, directories, configs=Table.from_rows(CONFIGS, [*rows, other]))


@pytest.mark.parametrize(
    ("directories", "closed", "broker_closed"),
    [
        ([directory("/a", True), directory("/b", True)], [True, True], True),
        ([directory("/a", True), directory("/b", False)], [True, False], False),
        ([directory("/a", True), directory("/b", False, "KAFKA_STORAGE_ERROR")], [True, False], True),
        ([directory("/a", None)], [False], False),
        ([directory("/a", False, "KAFKA_STORAGE_ERROR")], [False], False),
    ],
)
def test_a_broker_is_cordoned_with_all_directories_that_are_online(
    directories: list[dict[str, Any]], closed: list[bool], broker_closed: bool
) -> None:
    found = cluster(directories)
    assert cordoned_directories(found).tolist() == closed
    assert cordoned_brokers(found) == ({1} if broker_closed else set())


@pytest.mark.parametrize(
    ("settings", "closed"),
    [
        ({("broker", "1"): "/a"}, ["/a"]),
        ({("broker", "1"): "/b, /a"}, ["/a", "/b"]),
        ({("broker-default", ""): "*"}, ["/a", "/b"]),
        ({("broker-default", ""): "*", ("broker", "1"): ""}, []),
        ({("broker", "2"): "*"}, []),
        ({("topic", "1"): "*"}, []),
        ({("broker", "1"): None}, []),
    ],
)
def test_the_setting_counts_where_the_broker_does_not_tell(
    settings: dict[tuple[str, str], str | None], closed: list[str]
) -> None:
    silent = cluster([directory("/a", None), directory("/b", None)], settings)
    expected = [path in closed for path in ("/a", "/b")]
    assert cordoned_directories(silent).tolist() == expected
    assert cordoned_brokers(silent) == ({1} if all(expected) else set())
    telling = cluster([directory("/a", False), directory("/b", False)], settings)
    assert not cordoned_directories(telling).any()
    unseen = cluster([], settings)
    assert cordoned_brokers(unseen) == ({1} if "*" in settings.values() and all(expected) else set())


@pytest.mark.parametrize("registered", [True, False, None])
def test_what_the_controller_has_registered_counts_before_the_setting(registered: bool | None) -> None:
    found = cluster([], {("broker", "1"): "*"}, registered)
    assert cordoned_brokers(found) == ({1} if registered is not False else set())
    assert cordoned_brokers(cluster([directory("/a", False)], registered=True)) == set()
