"""Stages of changes of log directories: each by a case of what its broker tells."""

from __future__ import annotations

import pytest
from clusters.generated import partition, snapshot_of

from kreplica.execution.moves.directories.stage import DirectoryCheck, DirectoryStage, check_directory
from kreplica.execution.moves.plans.plan import why_not_within
from kreplica.execution.plan import partition_facts
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.sources.kafka.log_dirs import BrokerLogs, LogDir, Replica

CHANGE = ChangedDirectory("orders", 0, 1, "/a", "/b", 100)
BROKERS = [{"broker": broker, "alive": broker != 3} for broker in (1, 2, 3)]
SNAPSHOT = snapshot_of([partition("orders", 0, replicas=[1, 2, 3], topic_id="AAAAAAAAAAAAAAAAAAAAAQ")], BROKERS)
FACTS = partition_facts(SNAPSHOT, ("orders", 0))
HERE, THERE = Replica("orders", 0, 1, "/a", 90, None, False), Replica("orders", 0, 1, "/b", 90, None, False)
COMING = Replica("orders", 0, 1, "/b", 20, 7, True)
OTHER = Replica("orders", 1, 1, "/b", 5, None, False)
Stage = DirectoryStage


def told(*copies: Replica, offline: str = "", paths: tuple[str, ...] = ("/a", "/b", "/c")) -> BrokerLogs:
    errors = {offline: "KAFKA_STORAGE_ERROR"}
    return BrokerLogs([LogDir(1, path, errors.get(path), 1000, 500) for path in paths], [OTHER, *copies])


@pytest.mark.parametrize(
    ("logs", "check"),
    [
        (told(HERE), DirectoryCheck(Stage.BEFORE)),
        (told(HERE, COMING), DirectoryCheck(Stage.MOVING, "", 70, 7)),
        (told(HERE._replace(size=10), COMING), DirectoryCheck(Stage.MOVING, "", 0, 7)),
        (told(COMING), DirectoryCheck(Stage.MOVING, "", 80, 7)),
        (told(HERE, COMING._replace(log_dir="/c")), DirectoryCheck(Stage.ELSEWHERE, "somebody else moves it to /c")),
        (told(THERE), DirectoryCheck(Stage.AFTER)),
        (
            told(THERE._replace(log_dir="/c")),
            DirectoryCheck(Stage.ELSEWHERE, "it is in /c: somebody else moved it"),
        ),
        (told(), DirectoryCheck(Stage.ELSEWHERE, "its broker shows no copy of it")),
        (told(offline="/a"), DirectoryCheck(Stage.ELSEWHERE, "log directory /a is offline")),
        (told(HERE, offline="/b"), DirectoryCheck(Stage.BEFORE, "log directory /b is offline")),
        (told(HERE, paths=("/a",)), DirectoryCheck(Stage.BEFORE, "its broker has no log directory /b")),
        (
            BrokerLogs([], [], "CLUSTER_AUTHORIZATION_FAILED"),
            DirectoryCheck(Stage.UNKNOWN, "broker 1 does not tell its log directories: CLUSTER_AUTHORIZATION_FAILED"),
        ),
        ("went away", DirectoryCheck(Stage.UNKNOWN, "broker 1 does not tell its log directories: went away")),
    ],
)
def test_each_stage(logs: BrokerLogs | str, check: DirectoryCheck) -> None:
    assert check_directory(SNAPSHOT, {1: logs}, FACTS, CHANGE) == check


def test_a_partition_that_is_not_the_same_any_more() -> None:
    def reason(*rows: dict[str, object]) -> tuple[DirectoryStage, str]:
        check = check_directory(snapshot_of(list(rows), BROKERS), {1: told(HERE)}, FACTS, CHANGE)
        return check.stage, check.reason

    gone = "its topic was deleted, or is hidden from these credentials"
    assert reason(partition("other", 0)) == (Stage.ELSEWHERE, gone)
    again = "its topic was deleted and created again (id AAAAAAAAAAAAAAAAAAAAAg)"
    assert reason(partition("orders", 0, topic_id="AAAAAAAAAAAAAAAAAAAAAg")) == (Stage.ELSEWHERE, again)
    left = "broker 1 has no replica of it any more"
    assert reason(partition("orders", 0, replicas=[2, 3], topic_id=FACTS.topic_id)) == (Stage.ELSEWHERE, left)


def test_a_broker_that_is_down() -> None:
    change = ChangedDirectory("orders", 0, 3, "/a", "/b", 100)
    check = check_directory(SNAPSHOT, {3: "connection refused"}, FACTS, change)
    assert check == DirectoryCheck(Stage.UNKNOWN, "broker 3 is down")


def test_what_cannot_be_planned() -> None:
    """What is not known of a directory is no reason; what is known of another one of the broker is."""
    dirs = [
        {"broker": 1, "path": "/a", "total_bytes": 1000, "usable_bytes": 500},
        {"broker": 1, "path": "/b", "total_bytes": 1000, "usable_bytes": 500},
        {"broker": 1, "path": "/off", "error": "KAFKA_STORAGE_ERROR"},
        {"broker": 1, "path": "/shut", "total_bytes": 1000, "usable_bytes": 500, "cordoned": True},
    ]
    snapshot = snapshot_of([partition("orders", 0, replicas=[1, 2, 3])], BROKERS, dirs)

    def why(broker: int, destination: str, number: int = 0) -> str:
        return why_not_within(snapshot, ChangedDirectory("orders", number, broker, "/a", destination, 1))

    assert why(1, "/b") == ""
    assert why(2, "/b") == "", "broker 2 tells no log directories"
    assert why(1, "/b", 1) == "there is no such partition"
    assert why(4, "/b") == "broker 4 has no replica of it"
    assert why(3, "/b") == "broker 3 is not alive"
    assert why(1, "/none") == "broker 1 has no log directory /none"
    assert why(1, "/off") == "log directory /off is offline"
    assert why(1, "/shut") == "log directory /shut is cordoned"
