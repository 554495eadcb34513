"""Copies of partitions on several disks, side by side: where they differ, and what is on one disk alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.damage import Damage
from kreplica.formats.file_bytes import not_listed
from kreplica.formats.log_directory.cluster_identity import refuse_several_clusters
from kreplica.formats.logs.copies import ComparedCopy, Place, compare_replicas, partitions_of
from kreplica.formats.logs.replicas import ReplicaFiles, ReplicaFolder, find_folders
from kreplica.model.topic_pattern import topic_pattern
from kreplica.model.wording.words import counted

Folders = Mapping[Place, Sequence[ReplicaFolder]]


@dataclass(frozen=True, slots=True)
class ComparedCopies:
    """Copies that were compared.

    Args:
        found: Directories of each partition that was asked for.
        compared: Rows of each partition that has several copies, one for each copy.
        damaged: A remark on each damaged copy, by its directory.
        beside: Damage in the files beside the logs.
    """

    found: Folders
    compared: Mapping[Place, Sequence[ComparedCopy]]
    damaged: Mapping[str, str]
    beside: Sequence[Damage]

    def rows(self, *, every: bool = False) -> list[ComparedCopy]:
        """A row for each copy of the partitions whose copies are not the same, or of every partition."""
        return [row for copies in self.compared.values() if every or _notable(copies) for row in copies]

    @property
    def created_anew(self) -> list[str]:
        """A remark on each topic name under which the disks hold topics of several ids."""
        return _created_anew(self.found)

    @property
    def counts(self) -> dict[str, int]:
        """Number of partitions, and of offsets that are on one disk alone or would be cut."""
        compared = self.compared.values()
        return {
            "partitions": len(self.found),
            "compared": sum(len(_ends(copies)) > 1 for copies in compared),
            "single_copies": len(self.found) - len(compared),
            "differing": sum(_differs(copies) for copies in compared),
            "of_different_length": sum(len(set(_ends(copies))) > 1 for copies in compared),
            "only_one_copy_holds": sum(_alone(copies) for copies in compared),
            "cut_committed": sum(_cut(copies) for copies in compared),
        }

    @property
    def exit_code(self) -> ExitCode:
        """1 where copies differ, are damaged or hold offsets alone, 5 where no partition has two copies."""
        if self.damaged or self.beside:
            return ExitCode.FINDINGS
        if any(_differs(copies) or _alone(copies) or _cut(copies) for copies in self.compared.values()):
            return ExitCode.FINDINGS
        return ExitCode.OK if self.compared else ExitCode.INCOMPLETE


def decode_compare(paths: Sequence[str], topics: str | None = None) -> ComparedCopies:
    """Compares the copies of each partition on several disks.

    Args:
        paths: Log directories of several brokers.
        topics: Only topics whose whole name matches this regular expression; all if None.

    Raises:
        UsageError: There are no logs, they are of several clusters, or no topic matches.
    """
    refused: list[InputError] = []
    _, folders = find_folders(paths, refused)
    there = partitions_of(folders)
    if not there:
        why = "no directory there is named as a partition and holds a segment"
        raise UsageError(f"no logs in {', '.join(paths)}", why, "name log directories of several brokers")
    _require_one_cluster(there)
    found = _chosen(there, topics)
    compared, damaged = _compared(found)
    return ComparedCopies(found, compared, damaged, [*not_listed(refused), *_damage_beside(found)])


def _require_one_cluster(there: Folders) -> None:
    homes = {folder.home.path: folder.home.meta for folders in there.values() for folder in folders}
    refuse_several_clusters({path: None if meta is None else meta.cluster_id for path, meta in homes.items()})


def _damage_beside(found: Folders) -> list[Damage]:
    """Damage in the checkpoint files of these copies and of their log directories."""
    folders = [folder for copies in found.values() for folder in copies]
    homes = {folder.home.path: folder.home for folder in folders}
    ours = {*homes, *(folder.path for folder in folders)}
    return [each for home in homes.values() for each in home.damage if Path(each.file).parent in ours]


def _created_anew(found: Folders) -> list[str]:
    """A remark on each topic name under which the disks hold topics of several ids."""
    ids: dict[str, set[str]] = {}
    for place in found:
        ids.setdefault(place.topic, set()).update({place.topic_id or "none"})
    return [
        f"{topic} was deleted and created anew, its copies are of the topic ids {', '.join(sorted(some))}:"
        " only copies of the same one are compared"
        for topic, some in ids.items()
        if len(some) > 1
    ]


def _compared(found: Folders) -> tuple[dict[Place, Sequence[ComparedCopy]], dict[str, str]]:
    """Rows of each partition that has several copies, one partition in memory at a time; remarks on damaged copies."""
    compared: dict[Place, Sequence[ComparedCopy]] = {}
    damaged: dict[str, str] = {}
    for place, folders in found.items():
        if len(folders) > 1:
            replicas = [folder.read() for folder in folders]
            compared[place] = compare_replicas(replicas)
            damaged |= {str(each.path): told for each in replicas if (told := _damage_of(each))}
    return compared, dict(sorted(damaged.items()))


def _damage_of(replica: ReplicaFiles) -> str:
    """A remark on a copy whose log is damaged; empty if it is whole."""
    places = [*replica.log.damage, *(each for segment in replica.log.segments for each in segment.damage)]
    if not replica.log.readable:
        told = f"{places[-1]}; where the log ends is not known" if places else "where its log ends is not known"
        return f"{replica.path} is not compared: {told}"
    if places:
        return f"{replica.path} is damaged: its log is compared without that; see kreplica decode check"
    return ""


def _chosen(found: Folders, topic: str | None) -> Folders:
    if topic is None:
        return found
    pattern = topic_pattern(topic)
    kept = {place: copies for place, copies in found.items() if pattern.fullmatch(place.topic)}
    if not kept:
        known = len({place.topic for place in found})
        raise UsageError(
            f"no topic matches {topic!r}", f"the files hold {counted(known, 'topic')}", "the whole name has to match"
        )
    return kept


def _differs(copies: Sequence[ComparedCopy]) -> bool:
    return any(row.differs_at is not None for row in copies)


def _alone(copies: Sequence[ComparedCopy]) -> int:
    return sum(row.only_here or 0 for row in copies)


def _cut(copies: Sequence[ComparedCopy]) -> int:
    """Number of committed offsets of a partition that are lost when its brokers start with these disks."""
    return max(row.cut_committed or 0 for row in copies)


def _ends(copies: Sequence[ComparedCopy]) -> list[int]:
    """End offsets of the readable logs."""
    return [row.end_offset for row in copies if row.end_offset is not None]


def _notable(copies: Sequence[ComparedCopy]) -> bool:
    ends = _ends(copies)
    return _differs(copies) or len(set(ends)) > 1 or len(ends) < len(copies) or bool(_alone(copies))
