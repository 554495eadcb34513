"""Requests of each command to a cluster: its reads and its changes, for the reference and for config check.

A command that reads clusters has its entry here; tests compare it with the requests that are really sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kreplica.sources import Facet
from kreplica.sources.kafka_requests import (
    ALTER_BROKER_SETTINGS,
    ALTER_LOG_DIRECTORIES,
    ALTER_TOPIC_SETTINGS,
    ELECT_LEADERS,
    FOLLOW_MOVES,
    READ_COPIES,
    READ_THROTTLES,
    REASSIGN,
    Request,
    permissions_of,
    requests_of,
)
from kreplica.sources.permissions import Permission


@dataclass(frozen=True, slots=True)
class CommandRequests:
    """Requests of one command to each cluster.

    Args:
        reads: Facts that are read.
        times: How often the cluster is read.
        changes: Requests that change the cluster, after --execute only.
        beside: Requests that read what no facet has.
    """

    reads: Facet
    times: str = "1"
    changes: tuple[Request, ...] = ()
    beside: tuple[Request, ...] = ()

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of one read, then those of changes."""
        return (*requests_of(self.reads), *self.beside, *self.changes)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """Permissions without which the command fails."""
        return permissions_of(self.requests)

    @property
    def optional(self) -> tuple[Permission, ...]:
        """Further permissions that a complete answer needs."""
        return permissions_of(self.requests, optional=True)


_A_BATCH = (
    "2, and for each batch 2, of partitions only 2 a second until the leaders are as wanted, 10 s at most; as many for"
    " each change of replica orders"
)
_MOVES = (
    "1 a second while anything moves, DescribeLogDirs of it as often, DescribeConfigs before each change; where one"
    " takes 0.25 s or more 1 each 10 s, besides 1 before anything begins, and ListPartitionReassignments 1 a second"
)
_TWO_READINGS = "1; of a plan of replicas with --throttle also DescribeLogDirs twice, 5 s apart, to each leader of it"
_OF_EITHER = f"{_A_BATCH}. Of a plan of replicas: {_MOVES}"
_THROTTLES = tuple(
    replace(one, optional=True) for one in (ALTER_BROKER_SETTINGS, ALTER_TOPIC_SETTINGS, ALTER_LOG_DIRECTORIES)
)
"""Changes of a plan of replicas under a throttle, or with chosen log directories."""
_ONCE_A_ROUND = "1; with --watch 1 each round"

COMMAND_REQUESTS: Mapping[str, CommandRequests] = {
    "describe": CommandRequests(Facet.GATE | Facet.CAUSES, _ONCE_A_ROUND),
    "describe --measure": CommandRequests(
        Facet.GATE | Facet.CAUSES,
        "1, and two readings of ListOffsets and DescribeLogDirs, 1 each to each broker that a missing replica or its"
        " leader stands on; ListOffsets 1 for each 20,000 of these",
    ),
    "check": CommandRequests(Facet.GATE),
    "imbalance": CommandRequests(Facet.LOG_DIRS | Facet.BALANCE),
    "safe-to-stop": CommandRequests(Facet.GATE | Facet.QUORUM, "2; with --wait 1 each 5 s until it is safe"),
    "whatif fail": CommandRequests(
        Facet.GATE | Facet.QUORUM,
        "1; and where records may be lost ListOffsets and DescribeLogDirs, 1 each to each broker that could lead these"
        " partitions or leads them; ListOffsets 1 for each 20,000 of them",
    ),
    "assign": CommandRequests(Facet.PARTITIONS),
    "roll plan": CommandRequests(Facet.GATE | Facet.QUORUM),
    "roll next": CommandRequests(Facet.GATE | Facet.QUORUM, "3; 1 where it is not the turn of a wave"),
    "wait": CommandRequests(Facet.LOG_DIRS | Facet.ANSWERS, "1 each 2 s; log directories only in the last"),
    "recommend": CommandRequests(Facet.HEALTH | Facet.BROKER_CONFIGS),
    "disks": CommandRequests(Facet.LOG_DIRS | Facet.RETENTION),
    "decode offsets --against": CommandRequests(Facet.OFFSETS, "1, for the partitions that the offsets name only"),
    "compare": CommandRequests(Facet.LOG_DIRS, "1 each side, 2 where they differ; of one broker only its own view"),
    "rebalance leaders": CommandRequests(Facet.LOG_DIRS),
    "rebalance leaders --execute": CommandRequests(Facet.HEALTH, _A_BATCH, (ELECT_LEADERS,)),
    "rebalance replicas": CommandRequests(Facet.HEALTH),
    "rebalance replicas --dead-for": CommandRequests(Facet.HEALTH | Facet.QUORUM),
    "rebalance verify": CommandRequests(Facet.HEALTH),
    "rebalance rehearse": CommandRequests(Facet.TOPIC_CONFIGS | Facet.BROKER_CONFIGS | Facet.QUORUM),
    "rebalance apply": CommandRequests(Facet.TOPIC_CONFIGS, _TWO_READINGS, beside=(FOLLOW_MOVES,)),
    "rebalance apply --execute": CommandRequests(
        Facet.TOPIC_CONFIGS, _OF_EITHER, (ELECT_LEADERS, REASSIGN, *_THROTTLES), (FOLLOW_MOVES,)
    ),
    "rebalance status": CommandRequests(Facet.TOPIC_CONFIGS, beside=(FOLLOW_MOVES,)),
    "rebalance resume": CommandRequests(Facet.TOPIC_CONFIGS, _TWO_READINGS, beside=(FOLLOW_MOVES,)),
    "rebalance resume --execute": CommandRequests(
        Facet.TOPIC_CONFIGS, _OF_EITHER, (ELECT_LEADERS, REASSIGN, *_THROTTLES), (FOLLOW_MOVES,)
    ),
    "rebalance cancel": CommandRequests(Facet.TOPIC_CONFIGS, beside=(FOLLOW_MOVES,)),
    "rebalance cancel --execute": CommandRequests(
        Facet.TOPIC_CONFIGS, _MOVES, (REASSIGN, *_THROTTLES), (FOLLOW_MOVES,)
    ),
    "rebalance rollback": CommandRequests(Facet.TOPIC_CONFIGS, _TWO_READINGS, beside=(FOLLOW_MOVES,)),
    "rebalance rollback --execute": CommandRequests(
        Facet.TOPIC_CONFIGS, _OF_EITHER, (ELECT_LEADERS, REASSIGN, *_THROTTLES), (FOLLOW_MOVES,)
    ),
    "rebalance throttles": CommandRequests(Facet.PARTITIONS, beside=(*READ_THROTTLES, READ_COPIES)),
    "rebalance throttles --execute": CommandRequests(
        Facet.PARTITIONS, changes=(ALTER_BROKER_SETTINGS, ALTER_TOPIC_SETTINGS), beside=(*READ_THROTTLES, READ_COPIES)
    ),
    "snapshot": CommandRequests(Facet.ALL & ~Facet.GROUPS),
    "snapshot --with groups": CommandRequests(Facet.ALL),
}


def commands_that_need(permission: Permission) -> tuple[str, ...]:
    """The commands whose answer is not complete without it; with options only where they alone need it."""
    names = [name for name, command in COMMAND_REQUESTS.items() if permission in command.permissions]
    return tuple(name for name in names if " --" not in name or name.partition(" --")[0] not in names)
