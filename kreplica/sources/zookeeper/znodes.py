"""Kafka's znodes (kafka.zk.ZkData), each decoded from its bytes alone.

    /brokers/ids/1                     {"version": 1..5, "host", "port", "jmx_port", "timestamp",
                                        "endpoints": ["PLAINTEXT://h:9092"] (2), "rack" (3),
                                        "listener_security_protocol_map" (4), "features" (5)}
    /brokers/topics/T                  {"version": 1..3, "partitions": {"0": [1, 2]},
                                        "adding_replicas", "removing_replicas" (2, KIP-455), "topic_id" (3, KIP-516)}
    /brokers/topics/T/partitions/0/state   {"version": 1, "leader", "leader_epoch", "isr", "controller_epoch",
                                            "leader_recovery_state" (3.2 and newer, left out where recovered)}
    /controller                        {"version": 1..2, "brokerid", "timestamp", "kraftControllerEpoch" (2)}
    /cluster/id                        {"version": "1", "id"}
    /admin/reassign_partitions         {"version": 1, "partitions": [{"topic", "partition", "replicas"}]}
    /admin/preferred_replica_election  {"version": 1, "partitions": [{"topic", "partition"}]}
    /config/topics/T, /config/brokers/1    {"version": 1, "config": {"min.insync.replicas": "2"}}
    /feature                           {"version": 1..2, "status", "features": {"name": level, or an object of levels}}

Unknown fields are left alone: newer versions only added some.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

import msgspec

from kreplica.system.untrusted_files import MalformedError, decode_json

Decoded = TypeVar("Decoded", bound=msgspec.Struct)

FEATURES_ENABLED = 1
LARGEST = 2**31 - 1
Id: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
"""A broker or a partition."""

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class ZnodeError(Exception):
    """The data of a znode is not what Kafka writes there; the reason, without the path."""


class BrokerRegistration(msgspec.Struct, frozen=True):
    """``/brokers/ids/N``."""

    host: str | None = None
    port: _Number = -1
    endpoints: list[str] = []
    rack: str | None = None

    @property
    def address(self) -> tuple[str | None, int | None]:
        """Host and port of the plaintext listener, which old clients used, else of the first one."""
        if self.host and self.port > 0:
            return self.host, self.port
        for endpoint in self.endpoints:
            host, _, port = endpoint.partition("://")[2].rpartition(":")
            if host and port.isascii() and port.isdigit():
                return host.strip("[]"), int(port)
        return None, None


class Assignment(msgspec.Struct, frozen=True):
    """``/brokers/topics/T``; adding and removing are None in version 1, which does not have them."""

    partitions: dict[str, list[Id]]
    adding_replicas: dict[str, list[Id]] | None = None
    removing_replicas: dict[str, list[Id]] | None = None
    topic_id: str | None = None


class PartitionState(msgspec.Struct, frozen=True):
    """``/brokers/topics/T/partitions/P/state``."""

    leader: _Number
    leader_epoch: _Number
    isr: list[Id]
    controller_epoch: _Number = -1
    leader_recovery_state: _Number = 0


class ControllerRegistration(msgspec.Struct, frozen=True, rename={"kraft_epoch": "kraftControllerEpoch"}):
    """``/controller``; a KRaft controller that has taken the cluster over has an epoch above -1 (KIP-866)."""

    brokerid: _Number
    kraft_epoch: _Number = -1


class ClusterIdentity(msgspec.Struct, frozen=True):
    """``/cluster/id``."""

    id: str


class NamedPartition(msgspec.Struct, frozen=True):
    """A partition in a list of some; ``replicas`` only where it is being reassigned."""

    topic: str
    partition: Id
    replicas: list[Id] = []


class PartitionList(msgspec.Struct, frozen=True):
    """A list of partitions."""

    partitions: list[NamedPartition]


class EntityConfig(msgspec.Struct, frozen=True):
    """``/config/topics/T`` and ``/config/brokers/N``."""

    config: dict[str, str] = {}


class _FeatureLevels(msgspec.Struct, frozen=True):
    max_version_level: _Number


class FinalizedFeatures(msgspec.Struct, frozen=True):
    """``/feature``."""

    features: dict[str, _Number | _FeatureLevels] = {}
    status: _Number = 0

    @property
    def levels(self) -> dict[str, int]:
        """Level by feature; empty unless the feature versioning of KIP-584 is enabled."""
        if self.status != FEATURES_ENABLED:
            return {}
        return {
            name: level if isinstance(level, int) else level.max_version_level for name, level in self.features.items()
        }


def decode(data: bytes | None, form: type[Decoded]) -> Decoded:
    """The value of a znode.

    Raises:
        ZnodeError: It is empty, no JSON, or lacks what Kafka writes.
    """
    if not data:
        raise ZnodeError("it is empty")
    try:
        found: Decoded = decode_json(data, form)
    except MalformedError as error:
        raise ZnodeError(str(error)) from None
    return found


def decode_epoch(data: bytes | None) -> int | None:
    """``/controller_epoch``: a number in decimal.

    Raises:
        ZnodeError: It is none.
    """
    if data is None:
        return None
    number = decode_id(data.decode("latin-1"))
    if number is None:
        raise ZnodeError(f"expected a number, found {data[:20]!r}")
    return number


def decode_id(text: str) -> int | None:
    """A number as Kafka has it in names of znodes, None if it is none."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else LARGEST + 1
    return number if number <= LARGEST else None
