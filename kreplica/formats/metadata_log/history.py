"""The history in the metadata log of a KRaft node: changes of partitions, or the difference of two states.

Of the logs of several nodes the one with the highest last epoch, then the longest, is read, as a vote would have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import not_listed
from kreplica.formats.log_directory.cluster_identity import cluster_id_of, require_one_cluster
from kreplica.formats.metadata_log.change_rows import MetadataChange, change_row
from kreplica.formats.metadata_log.changes import ChangeKind, compare_images, kinds_of, standing
from kreplica.formats.metadata_log.files import (
    MetadataFiles,
    Replay,
    earliest,
    find_metadata_logs,
    furthest_metadata,
    history,
    state_at,
    take_remembered_leader,
)
from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange
from kreplica.formats.segments.log_end import LogEnd
from kreplica.model.topic_pattern import topic_pattern


@dataclass(frozen=True, slots=True)
class MetadataQuestion:
    """Changes that are asked for.

    Args:
        topics: Only topics whose whole name matches this regular expression; all if None.
        partition: Only this topic and partition, with its state at the beginning; all if None.
        kinds: Only changes of these kinds; all if empty.
    """

    topics: str | None = None
    partition: tuple[str, int] | None = None
    kinds: frozenset[ChangeKind] = frozenset()


EVERY_CHANGE = MetadataQuestion()


@dataclass(frozen=True, slots=True)
class MetadataHistory:
    """The history that was read.

    Args:
        files: The log that was read.
        others: Logs that were not, and where they end.
        cluster_id: Id of the cluster, None where not known.
        changes: Changes of partitions that were asked for.
        counts: Number of changes of each kind in the whole log, or in the comparison.
        replay: State at the end, damage.
        left: The earlier state of a comparison, None otherwise.
    """

    files: MetadataFiles
    others: Sequence[tuple[MetadataFiles, LogEnd]]
    cluster_id: str | None
    changes: Sequence[PartitionChange]
    counts: Counter[str]
    replay: Replay
    left: MetadataImage | None
    question: MetadataQuestion = EVERY_CHANGE

    @property
    def rows(self) -> list[MetadataChange]:
        """A row for each change."""
        return [change_row(change, compared=self.left is not None) for change in self.changes]

    @property
    def exit_code(self) -> ExitCode:
        """1 for damage, and for unclean elections where every change was asked for."""
        unclean = self.left is None and self.question == EVERY_CHANGE and self.counts[ChangeKind.unclean.value]
        return ExitCode.FINDINGS if self.replay.damage or unclean else ExitCode.OK


def decode_metadata(
    paths: Sequence[str], question: MetadataQuestion = EVERY_CHANGE, *, diff: tuple[int, int] | None = None
) -> MetadataHistory:
    """Reads the history of a KRaft cluster.

    Args:
        paths: Metadata logs of nodes, directories with some, segments or checkpoints.
        question: The changes that are asked for.
        diff: Two offsets: instead of the history, the difference of the states when these were next to be written.

    Raises:
        UsageError: The offsets do not go forward, or the logs are of several clusters.
        InputError: There is no metadata log, or it cannot be read.
    """
    wanted = Wanted(question.topics, question.partition, question.kinds)
    files, others, damage = chosen_log(paths)
    changes, counts, replay, left = _compare(files, diff, wanted) if diff is not None else _history(files, wanted)
    cluster = cluster_id_of(files.log_directory, damage)
    replay.damage[:0] = damage
    return MetadataHistory(files, others, cluster, changes, counts, replay, left, question)


_Read: TypeAlias = tuple[list[PartitionChange], Counter[str], Replay, MetadataImage | None]


def chosen_log(paths: Sequence[str]) -> tuple[MetadataFiles, list[tuple[MetadataFiles, LogEnd]], list[Damage]]:
    """The log to read, the others with their ends, and damage in the files beside them."""
    refused: list[InputError] = []
    logs = find_metadata_logs(paths, refused)
    damage = not_listed(refused)
    require_one_cluster((log.log_directory for log in logs), damage, "metadata logs")
    return *furthest_metadata(logs), damage


class Wanted:
    """Filter for the changes that were asked for."""

    def __init__(self, topic: str | None, partition: tuple[str, int] | None, kinds: frozenset[ChangeKind]) -> None:
        self._pattern = None if topic is None else topic_pattern(topic)
        self.partition = partition
        self._kinds = kinds

    def __call__(self, change: PartitionChange, kinds: Sequence[ChangeKind]) -> bool:
        """True if the change was asked for."""
        if self.partition not in (None, (change.topic, change.partition)):
            return False
        if self._pattern is not None and not self._pattern.fullmatch(change.topic):
            return False
        return not self._kinds or not self._kinds.isdisjoint(kinds)


def _history(files: MetadataFiles, wanted: Wanted) -> _Read:
    replay, counts = Replay(), Counter[str]()
    changes = [] if wanted.partition is None else _standing(files, wanted.partition)
    for _, made in history(files, replay, earliest(files)):
        for change in made:
            kinds = kinds_of(change)
            counts.update(kind.value for kind in kinds)
            if wanted(change, kinds):
                changes.append(change)
    take_remembered_leader(files, replay.image)
    return changes, counts, replay, None


def _standing(files: MetadataFiles, partition: tuple[str, int]) -> list[PartitionChange]:
    """State of a partition in the checkpoint that the history begins with: the changes before it are gone."""
    base = earliest(files)
    return [] if base is None else standing(state_at(files, base[0]).image, *partition)


def _compare(files: MetadataFiles, diff: tuple[int, int], wanted: Wanted) -> _Read:
    if not 0 <= diff[0] <= diff[1]:
        raise UsageError(f"--diff {diff[0]} {diff[1]} does not go forward", fix="--diff FROM TO, offsets of the log")
    left, right = state_at(files, diff[0]), state_at(files, diff[1])
    found = [(change, kinds_of(change)) for change in compare_images(left.image, right.image)]
    counts = Counter(kind.value for _, kinds in found for kind in kinds)
    changes = [change for change, kinds in found if wanted(change, kinds)]
    right.damage[:] = list(dict.fromkeys([*left.damage, *right.damage]))
    return changes, counts, right, left.image
