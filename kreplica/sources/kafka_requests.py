"""Every request that a read of a live cluster sends, by facet: its receiver, how often, the permission it needs.

This table is the source of the pages of the reference on the requests and permissions of each command; tests count real
requests against ``times`` and try each permission on a cluster with access control lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kreplica.sources import Facet
from kreplica.sources.permissions import (
    ALTER_CLUSTER,
    ALTER_CLUSTER_CONFIGS,
    ALTER_TOPIC_CONFIGS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CLUSTER_CONFIGS,
    DESCRIBE_GROUPS,
    DESCRIBE_TOPIC_CONFIGS,
    DESCRIBE_TOPICS,
    Permission,
    least,
)


class Target(StrEnum):
    """Receiver of a request."""

    BOOTSTRAP = "the first server that answers"
    CONTROLLER = "the controller"
    BROKERS = "each live broker"
    LEADERS = "each leader"
    COORDINATORS = "each live broker, as coordinator"


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of request.

    Args:
        name: Its name in Kafka's protocol.
        to: Its receiver.
        times: How often for each receiver, in words.
        needs: The permission that the authorizer checks, None if none.
        without: Facts that the answer lacks without the permission.
        optional: True if the answer is complete without the permission, but has fewer facts.
        each: How often for each receiver on a small cluster whose replicas are all in sync.
    """

    name: str
    to: Target
    times: str
    needs: Permission | None = None
    without: str = ""
    optional: bool = False
    each: int = 1


_WHERE_MISSING = "0 while every replica is in sync, else 1"
_NO_GROUPS = "groups are hidden"
_HIDDEN = "topics are hidden; counted where other answers name them"

READS: dict[Facet, tuple[Request, ...]] = {
    Facet.PARTITIONS: (
        Request("Metadata", Target.BOOTSTRAP, "1", DESCRIBE_TOPICS, _HIDDEN),
        Request(
            "Metadata",
            Target.CONTROLLER,
            "1 where up to 50 topics have replicas that are up and out of sync: a move may have just ended",
            each=0,
        ),
        Request("DescribeCluster", Target.BOOTSTRAP, "1"),
        Request(
            "DescribeTopicPartitions",
            Target.BOOTSTRAP,
            "0 while every replica is in sync, else 1 for each 2000 partitions of the topics concerned",
            DESCRIBE_TOPICS,
            _HIDDEN,
            each=0,
        ),
        Request("ListPartitionReassignments", Target.CONTROLLER, "1", DESCRIBE_CLUSTER, "reassignments are not known"),
    ),
    Facet.TOPIC_CONFIGS: (
        Request(
            "DescribeConfigs",
            Target.BOOTSTRAP,
            "1 for each 5000 topics; for each 500 where brokers' settings are read too",
            DESCRIBE_TOPIC_CONFIGS,
            "min.insync.replicas is not known",
        ),
    ),
    Facet.RETENTION: (
        Request(
            "DescribeConfigs",
            Target.BOOTSTRAP,
            "1 for each 5000 topics; 0 where topics' settings are read anyway",
            DESCRIBE_TOPIC_CONFIGS,
            "retention is not known",
        ),
    ),
    Facet.BROKER_CONFIGS: (
        Request(
            "DescribeConfigs",
            Target.BOOTSTRAP,
            "1 for the settings of all brokers",
            DESCRIBE_CLUSTER_CONFIGS,
            "brokers' settings are not known",
        ),
        Request("DescribeConfigs", Target.BROKERS, "1", DESCRIBE_CLUSTER_CONFIGS, "brokers' settings are not known"),
    ),
    Facet.LOG_DIRS: (
        Request(
            "DescribeLogDirs",
            Target.BROKERS,
            "1",
            DESCRIBE_CLUSTER,
            "log directories are not known, and hidden topics cannot be ruled out",
        ),
        Request("Metadata", Target.BOOTSTRAP, "1 where brokers hold files of topics that are not listed", each=0),
        Request(
            "DescribeAcls",
            Target.BOOTSTRAP,
            "1, and 1 Metadata, where a broker is down or Kafka (before 4.0) does not tell: to rule out hidden topics",
            DESCRIBE_CLUSTER,
            "hidden topics cannot be ruled out",
            each=0,
        ),
    ),
    Facet.OFFSETS: (
        Request(
            "ListOffsets", Target.LEADERS, "3 for each 20,000 partitions it leads", DESCRIBE_TOPICS, _HIDDEN, each=3
        ),
    ),
    Facet.QUORUM: (
        Request("DescribeQuorum", Target.CONTROLLER, "1", DESCRIBE_CLUSTER, "the metadata quorum is not known"),
    ),
    Facet.CAUSES: (
        Request(
            "DescribeConfigs",
            Target.BROKERS,
            _WHERE_MISSING,
            DESCRIBE_CLUSTER_CONFIGS,
            "a throttle cannot be told as a cause",
            optional=True,
            each=0,
        ),
        Request(
            "DescribeQuorum",
            Target.CONTROLLER,
            _WHERE_MISSING,
            DESCRIBE_CLUSTER,
            "since when a broker is gone is not known",
            optional=True,
            each=0,
        ),
    ),
    Facet.BALANCE: (
        Request(
            "DescribeConfigs",
            Target.BROKERS,
            "1",
            DESCRIBE_CLUSTER_CONFIGS,
            "whether the controller brings leaders back is taken from Kafka's defaults",
        ),
    ),
    Facet.GROUPS: (
        Request("ListGroups", Target.COORDINATORS, "1", DESCRIBE_GROUPS, _NO_GROUPS),
        Request(
            "OffsetFetch", Target.COORDINATORS, "1 for each 500 of its groups", DESCRIBE_GROUPS, _NO_GROUPS, each=0
        ),
    ),
}
"""Requests of each facet. A connection opens with ApiVersions and, with SASL, SaslHandshake and SaslAuthenticate; there
is one to the first server, one for the requests to the controller, and one to each broker that is asked about itself.
"""

_UNREAD = "throttles cannot be read"
READ_THROTTLES = (
    Request("DescribeConfigs", Target.BOOTSTRAP, "1 for the default", DESCRIBE_CLUSTER_CONFIGS, _UNREAD),
    Request("DescribeConfigs", Target.BOOTSTRAP, "1 for each 5000 topics", DESCRIBE_TOPIC_CONFIGS, _UNREAD),
    Request("DescribeConfigs", Target.BROKERS, "1", DESCRIBE_CLUSTER_CONFIGS, _UNREAD),
)
"""Requests that read rates of brokers and lists of topics."""

FOLLOW_MOVES = Request(
    "DescribeLogDirs",
    Target.BROKERS,
    "1 each time while replicas of a plan are on their way, or are to change their log directory",
    DESCRIBE_CLUSTER,
    "bytes that are left are not known, and no replica changes its log directory",
    optional=True,
    each=0,
)
READ_COPIES = Request(
    "DescribeLogDirs",
    Target.BROKERS,
    "1 where moves between log directories have a rate",
    DESCRIBE_CLUSTER,
    "whether that rate is in use is not known",
    optional=True,
    each=0,
)
"""Requests that read log directories for the sake of moves."""

ELECT_LEADERS = Request(
    "ElectLeaders", Target.CONTROLLER, "1 for each 1000 partitions", ALTER_CLUSTER, "nothing is changed"
)
REASSIGN = Request(
    "AlterPartitionReassignments", Target.CONTROLLER, "2 for each batch", ALTER_CLUSTER, "nothing is changed"
)
ALTER_BROKER_SETTINGS = Request(
    "IncrementalAlterConfigs",
    Target.BROKERS,
    "1 for each change of its rates",
    ALTER_CLUSTER_CONFIGS,
    "nothing is changed",
)
ALTER_TOPIC_SETTINGS = Request(
    "IncrementalAlterConfigs", Target.CONTROLLER, "1 for each 100 topics", ALTER_TOPIC_CONFIGS, "nothing is changed"
)
ALTER_LOG_DIRECTORIES = Request(
    "AlterReplicaLogDirs", Target.BROKERS, "1 for each 1000 replicas", ALTER_CLUSTER, "nothing is changed"
)
"""Requests that change a cluster: kreplica/control sends them, after --execute only."""


def requests_of(wanted: Facet) -> tuple[Request, ...]:
    """The requests of one read; those that any read sends come first."""
    if Facet.TOPIC_CONFIGS in wanted:
        wanted &= ~Facet.RETENTION  # the same request reads both
    return tuple(one for facet, some in READS.items() if facet in wanted for one in some)


def permissions_of(requests: Iterable[Request], *, optional: bool = False) -> tuple[Permission, ...]:
    """The fewest permissions that a complete answer to the requests needs, each once.

    Args:
        requests: All that one command sends.
        optional: True for the further ones that an answer with all optional facts needs.
    """
    some = tuple(requests)
    necessary = least(one.needs for one in some if one.needs is not None and not one.optional)
    if not optional:
        return necessary
    every = least(one.needs for one in some if one.needs is not None)
    return tuple(one for one in every if one not in necessary)
