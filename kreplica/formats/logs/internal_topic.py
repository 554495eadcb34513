"""Partitions of an internal topic, `__consumer_offsets` or `__transaction_state`, in the files of brokers.

Of several copies of a partition the one that goes furthest is read. The files of a log directory do not record a
topic's number of partitions, but a name (a group, a transactional id) is always in the partition that its hash leads
to. With a wrong number a name that is missing would be taken for one that never was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Final

from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition
from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage, DamageTally
from kreplica.formats.file_bytes import not_listed
from kreplica.formats.find_files import named_paths
from kreplica.formats.log_directory.cluster_identity import require_one_cluster
from kreplica.formats.logs.partition_logs import PartitionLog, find_logs, first_copies

PARTITIONS = 50
"""offsets.topic.num.partitions and transaction.state.log.num.partitions, where nothing else is said."""

MOST_PARTITIONS: Final = 10_000
MOST_NAMES: Final = 1_000
_HASHES: Final = 1 << 31

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class TopicLogs:
    """Logs found below the paths.

    Args:
        topic: Name of the topic.
        logs: The copy that counts of each partition of the topic.
        copies: Other copies of these partitions, which are not read.
        others: Logs of other partitions, where these are looked for, too.
        damage: Directories that could not be searched, or have no topic or cluster id.
    """

    topic: str
    logs: Sequence[PartitionLog]
    copies: Sequence[PartitionLog]
    others: Mapping[Place, Sequence[PartitionLog]] = field(default_factory=dict)
    damage: Sequence[Damage] = ()

    @property
    def found(self) -> frozenset[int]:
        """The partitions that were found."""
        return frozenset(log.partition for log in self.logs if log.partition is not None)

    def doubt(self, homes: Collection[tuple[str, int]], partitions: int) -> str:
        """Why the topic cannot have that many partitions; empty if nothing speaks against it."""
        return doubt_of_count(homes, self.found, partitions, self.topic)


@dataclass(frozen=True, slots=True)
class TopicReading:
    """The part of the topic that was read.

    Args:
        topic_logs: The partitions that were found.
        partitions: Stated number of partitions of the topic.
        wanted: Partitions that the answer needs.
        damage: Damage in all files.
        doubt: Why the topic cannot have that many partitions; empty if nothing speaks against it.
    """

    topic_logs: TopicLogs
    partitions: int
    wanted: frozenset[int]
    damage: DamageTally
    doubt: str

    @property
    def logs(self) -> Sequence[PartitionLog]:
        """Logs that were read."""
        return self.topic_logs.logs

    @property
    def copies(self) -> Sequence[PartitionLog]:
        """Copies of their partitions that were not read."""
        return self.topic_logs.copies

    @property
    def found(self) -> frozenset[int]:
        """The partitions that were found."""
        return self.topic_logs.found

    @property
    def missing(self) -> list[int]:
        """The partitions that the answer needs and that were not found."""
        return sorted(self.wanted - self.found)

    @property
    def partial(self) -> bool:
        """True unless all partitions that the answer needs were found."""
        return bool(self.missing or self.doubt)

    @property
    def findings(self) -> int:
        """Number of damaged places, and of what else is wrong."""
        return self.damage.places

    @property
    def exit_code(self) -> ExitCode:
        """1 for findings, 5 for missing partitions, 0 otherwise."""
        if self.findings:
            return ExitCode.FINDINGS
        return ExitCode.INCOMPLETE if self.partial else ExitCode.OK


def find_topic_logs(paths: Sequence[str], topic: str, holding: str, fix: str) -> TopicLogs:
    """The partitions of a topic below files, directories and patterns.

    Args:
        paths: Log directories, directories of partitions, or segments; a file that is named itself is one of the topic.
        topic: Name of the topic.
        holding: What the topic holds, for the message where it is not there.
        fix: Advice for that message.

    Raises:
        InputError: A path does not exist, or nothing but what cannot be read is there.
        UsageError: No partition of the topic is there, or they are of several clusters.
    """
    refused: list[InputError] = []
    found = find_logs(paths, topic, refused)
    return _chosen(paths, topic, holding, fix, found, {}, refused)


def find_logs_and_others(paths: Sequence[str], topic: str, holding: str, fix: str) -> TopicLogs:
    """The partitions of a topic, and all other partitions; arguments and errors as of ``find_topic_logs``.

    A file that is named itself is taken for a segment of the topic whatever its name; so is one that a pattern matches,
    where its directory names no partition.
    """
    named, matched = {Path(path) for path in paths}, {path for path in named_paths(paths, []) if not path.is_dir()}
    found, others = [], dict[Place, list[PartitionLog]]()
    refused: list[InputError] = []
    for log in find_logs(paths, refused=refused):
        if log.topic == topic:
            found.append(log)
        elif not (matched if log.topic is None else named).isdisjoint(log.segments):
            found.append(replace(log, topic=None, partition=None))  # restored-3 names no partition of this topic
        elif log.topic is not None and log.partition is not None:
            others.setdefault((log.topic, log.partition), []).append(log)
    return _chosen(paths, topic, holding, fix, found, others, refused)


def _chosen(
    paths: Sequence[str], topic: str, holding: str, fix: str, found: Sequence[PartitionLog],
    others: Mapping[Place, Sequence[PartitionLog]], refused: Sequence[InputError],
) -> TopicLogs:  # fmt: skip
    damage = not_listed(refused)
    if others:
        require_one_cluster((log.home for log in chain(found, *others.values())), damage)
    if not found:
        why = f"no directory there is named {topic}-N and holds a segment"
        raise UsageError(f"no {holding} in {', '.join(paths)}", why, fix)
    logs, copies = first_copies(found, damage)
    return TopicLogs(topic, logs, copies, others, damage)


def doubt_of_count(homes: Collection[tuple[str, int]], found: Collection[int], partitions: int, topic: str) -> str:
    """Explains why the topic cannot have that many partitions; empty where nothing contradicts it.

    Args:
        homes: Groups or transactional ids, each with the partition that it is in.
        found: The partitions that were found.
        partitions: Stated number of partitions of the topic.
        topic: Its name.
    """
    highest = max(found, default=-1)
    some = nsmallest(MOST_NAMES, homes)
    wrong = next(((name, at) for name, at in some if coordinator_partition(name, partitions) != at), None)
    if highest >= partitions:
        why = f"partition {highest} of {topic} is there, so that it has more than {partitions}"
    elif wrong is not None:
        name, at = wrong
        home = coordinator_partition(name, partitions)
        why = f"{name} stands in partition {at} of {topic}; of {partitions} it would be partition {home}"
    else:
        return ""
    number = _fitting(some, highest)
    return f"{why}: give the number by --partitions" + (f"; {number} would fit" if number is not None else "")


def _fitting(homes: Collection[tuple[str, int]], highest: int) -> int | None:
    """The smallest number of partitions that all names agree with; None if there is none, or nothing to go by."""
    hashes = [(coordinator_partition(name, _HASHES), at) for name, at in homes]
    numbers = range(highest + 1, MOST_PARTITIONS + 1) if hashes else ()
    return next((number for number in numbers if all(each % number == at for each, at in hashes)), None)
