"""Rows for releases of Kafka that the defaults of the sandbox do not run, and what only these rows do.

With ZooKeeper broker 1 is the controller; where links of replicas are cut it has none, so that it is not cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.script import (
    ALL,
    Action,
    Consume,
    Cut,
    ElectPreferred,
    Explained,
    Kill,
    Produce,
    Restore,
    Row,
    ShutDown,
    Start,
    Step,
    Together,
)


@dataclass(frozen=True, slots=True)
class LoseDisk(Action):
    """A broker ends by SIGKILL, and its log directories are empty when it starts again."""

    broker: int


@dataclass(frozen=True, slots=True)
class OldRow:
    """A row with the releases that it is played on.

    Args:
        row: The row.
        releases: On both sides of the boundary that it shows.
        boundary: Issue of Kafka, and the release that has it.
        servers: Settings of its brokers.
        watched: The broker of which is told how often it begins to follow anew; 0 for none.
    """

    row: Row
    releases: tuple[str, ...]
    boundary: str = ""
    servers: Mapping[str, str] = field(default_factory=dict)
    watched: int = 0


_LATE_LAG = {"replica.lag.time.max.ms": "180000"}
"""A follower whose link is cut stays in the ISR for the length of a row."""
_OVER_SESSION = 15.0
"""Seconds after which a controller has fenced a broker that was killed: more than broker.session.timeout.ms."""
_RACE = "AssignmentsManager, BrokerServer.startup: a broker is unfenced before its directory is assigned, or after that"

OLD_ROWS: tuple[OldRow, ...] = (
    OldRow(
        Row(
            "same-leader-next-epoch",
            "Broker 4 dies, which raises the epoch of a leader that stays: whether broker 3 begins to follow it anew.",
            (Step(Produce(("a", "b"), ALL)), Step(Kill(4)), Step(Produce(("c",), ALL)), Step(Consume())),
            replicas=(2, 3, 4),
            brokers=4,
            settings={"min.insync.replicas": "1"},
            modes=("zookeeper",),
        ),
        ("0.10.2.2", "2.0.0", "2.0.1", "2.1.1"),
        "KAFKA-7395, 2.1",
        watched=3,
    ),
    OldRow(
        Row(
            "missed-epoch",
            "Broker 3 does not hear that broker 4 led between two terms of broker 2: whether it truncates c then.",
            (
                Step(Produce(("a", "b"), ALL)),
                Step(Cut(2, 4), seconds=1),
                Step(Produce(("c",), 1), seconds=2),
                Step(Cut(1, 3), seconds=1),
                Step(Kill(2), seconds=120),
                Step(Restore(2, 4), seconds=1),
                Step(Produce(("x",), 1)),
                Step(Start(2), seconds=90),
                Step(ElectPreferred()),
                Step(Kill(1)),
                Step(Restore(1, 3)),
            ),
            replicas=(2, 4, 3),
            brokers=4,
            settings={"min.insync.replicas": "1", "unclean.leader.election.enable": "false"},
            modes=("zookeeper",),
        ),
        ("2.0.0", "2.0.1"),
        "KAFKA-7164, 2.0.1",
        {"replica.lag.time.max.ms": "60000"},
    ),
    OldRow(
        Row(
            "leader-lost-its-log",
            "The log of the only replica in sync is lost; what a follower with more does where no election is unclean.",
            (
                Step(Produce(("a", "b", "c"), ALL)),
                Step(Kill(3)),
                Step(LoseDisk(2)),
                Step(Start(2)),
                Step(Start(3)),
            ),
            replicas=(2, 3),
            settings={"min.insync.replicas": "1", "unclean.leader.election.enable": "false"},
            modes=("zookeeper",),
        ),
        ("0.10.2.2", "0.11.0.3", "1.1.1", "2.0.0", "2.0.1", "2.8.2", "3.3.2"),
        "KAFKA-7414, 2.0.1",
    ),
    OldRow(
        Row(
            "diverging-position",
            "A follower with another log asks its leader, and does not hear the answer: whether it joins the ISR.",
            (
                Step(Produce(("a", "b"), ALL)),
                Step(Cut(3, 2), seconds=1),
                Step(Produce(("c", "d"), 1), seconds=2),
                Step(Kill(3)),
                Step(Produce(("x",), 1)),
                Step(Restore(3, 2), seconds=1),
                Step(Cut(2, 3), seconds=1),
                Step(Start(3), seconds=20),
                Step(Produce(("y",), ALL), seconds=10),
                Step(Kill(2), seconds=20),
            ),
            replicas=(3, 2),
            settings={"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
            modes=("zookeeper",),
        ),
        ("2.8.0", "2.8.1"),
        "KAFKA-13141, 2.8.1",
        _LATE_LAG,
    ),
    OldRow(
        Row(
            "new-disk-beside-eligible",
            "The last replica in sync comes back with a new disk while two replicas are eligible: whether it leads.",
            (
                Step(Produce(("a", "b", "c"), ALL)),
                Step(ShutDown(3)),
                Step(ShutDown(2)),
                Step(LoseDisk(1), holds=_OVER_SESSION),
                Step(Start(1)),
                Step(Together((Start(2), Start(3)))),
                Step(Consume()),
            ),
            settings={"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
            modes=("kraft",),
            explained=(
                Explained(5, "broker 1: told", _RACE),
                Explained(5, "broker 1: disk.epochs", _RACE),
            ),
        ),
        ("4.2.0", "4.3.1"),
        "apache/kafka#20716, 4.3",
    ),
    OldRow(
        Row(
            "new-disk-within-session",
            "It is back within its session: it assigns its new directory in the name of its former life.",
            (
                Step(Produce(("a", "b", "c"), ALL)),
                Step(ShutDown(3)),
                Step(ShutDown(2)),
                Step(Together((LoseDisk(1), Start(1))), holds=_OVER_SESSION),
                Step(Together((Start(2), Start(3)))),
                Step(Consume()),
            ),
            settings={"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
            modes=("kraft",),
        ),
        ("4.2.0", "4.3.1"),
        "apache/kafka#20716, 4.3",
    ),
)
