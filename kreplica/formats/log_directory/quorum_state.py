"""JSON files of one object: quorum-state of the metadata log's directory, .kafka_cleanshutdown of a log directory.

    {"leaderId":2,"leaderEpoch":2,"votedId":2,"votedDirectoryId":"NCtw5H…","data_version":1}       quorum-state
    {"version":0,"brokerEpoch":-1}                                                        .kafka_cleanshutdown

quorum-state version 0 also carries clusterId, appliedOffset and currentVoters; version 1 (KIP-853) votedDirectoryId.
.kafka_cleanshutdown marks a log directory that was closed in order; before 3.8 it is empty.
Kafka: org.apache.kafka.raft.FileQuorumStateStore (QuorumStateData.json), org.apache.kafka.storage.internals.checkpoint.
CleanShutdownFileHandler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kreplica.formats.damage import Damage
from kreplica.system.untrusted_files import MalformedError, decode_json

QUORUM_STATE: Final = "quorum-state"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"


@dataclass(frozen=True, slots=True)
class QuorumState:
    """A node's record of elections of the metadata quorum.

    Args:
        leader_id: The leader it knew, -1 for none.
        leader_epoch: The epoch it was in.
        voted_id: The voter it voted for in that epoch, -1 for none.
        voted_directory_id: That voter's directory, None before version 1.
        voters: Ids of the voters, only in version 0 (later they are in the log).
        damage: What could not be read.
    """

    leader_id: int | None
    leader_epoch: int | None
    voted_id: int | None
    voted_directory_id: str | None
    voters: tuple[int, ...] | None
    damage: tuple[Damage, ...]


@dataclass(frozen=True, slots=True)
class CleanShutdown:
    """A mark that the broker stopped in order; its epoch then, None if the file has none (-1 before it registered)."""

    broker_epoch: int | None
    damage: tuple[Damage, ...]


def decode_quorum_state(content: bytes, file: str) -> QuorumState:
    """Decodes quorum-state.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    fields, damage = _object(content, file, "data_version", (0, 1))
    return QuorumState(
        leader_id=_integer(fields, "leaderId"),
        leader_epoch=_integer(fields, "leaderEpoch"),
        voted_id=_integer(fields, "votedId"),
        voted_directory_id=_text(fields, "votedDirectoryId"),
        voters=_voters(fields),
        damage=damage,
    )


def decode_clean_shutdown(content: bytes, file: str) -> CleanShutdown:
    """Decodes .kafka_cleanshutdown.

    Args:
        content: The whole file.
        file: Its name, for damage.
    """
    if not content.strip():
        return CleanShutdown(None, ())
    fields, damage = _object(content, file, "version", (0,))
    return CleanShutdown(_integer(fields, "brokerEpoch"), damage)


def _object(
    content: bytes, file: str, version_key: str, known: tuple[int, ...]
) -> tuple[Mapping[str, object], tuple[Damage, ...]]:
    try:
        found = decode_json(content)
    except MalformedError as error:
        position = int(found[1]) if (found := re.search(r"\(byte (\d+)\)", str(error))) else 0
        return {}, (Damage(file, position, "no JSON", len(content), "a JSON object", repr(content[:20])[1:]),)
    if not isinstance(found, dict):
        return {}, (Damage(file, 0, "no JSON object", len(content), "a JSON object", type(found).__name__),)
    version = found.get(version_key)
    if version not in known:
        expected = " or ".join(map(str, known))
        return found, (Damage(file, 0, f"unknown {version_key}", 0, expected, repr(version)),)
    return found, ()


def _integer(fields: Mapping[str, object], name: str) -> int | None:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _voters(fields: Mapping[str, object]) -> tuple[int, ...] | None:
    voters = fields.get("currentVoters")
    if not isinstance(voters, list):
        return None
    found = (_integer(voter, "voterId") for voter in voters if isinstance(voter, dict))
    return tuple(voter for voter in found if voter is not None)
