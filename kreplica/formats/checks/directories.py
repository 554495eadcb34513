"""Log directories whose files are compared with one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.formats.checks.rules import check_all, other_files, unlisted
from kreplica.formats.log_directory.listing import LogDirectory
from kreplica.formats.logs.replicas import Finding, ReplicaFolder, find_folders
from kreplica.formats.metadata_log.files import find_metadata, state_at
from kreplica.model.internal_topics import METADATA_TOPIC


@dataclass(frozen=True, slots=True)
class CheckedDirectories:
    """Log directories that were checked.

    Args:
        homes: The log directories.
        folders: Directories of partitions in them.
        findings: What does not agree.
        remarks: Facts that could not be compared, one clause each.
    """

    homes: Sequence[LogDirectory]
    folders: Sequence[ReplicaFolder]
    findings: Sequence[Finding]
    remarks: Sequence[str]

    @property
    def rows(self) -> Sequence[Finding]:
        """Findings, in order of the directories."""
        return self.findings

    @property
    def exit_code(self) -> ExitCode:
        """1 with findings."""
        return ExitCode.FINDINGS if self.findings else ExitCode.OK


def decode_check(paths: Sequence[str], metadata: str | None = None) -> CheckedDirectories:
    """Checks the files of log directories against one another.

    Args:
        paths: Log directories, or directories that hold some.
        metadata: Metadata log to compare topic ids with; the one that goes furthest among the paths if None.

    Raises:
        UsageError: There is no log directory.
        InputError: The metadata log cannot be read.
    """
    refused: list[InputError] = []
    homes, folders = find_folders(paths, refused)
    if not homes:
        why = "no directory there is named as a partition, none holds checkpoint files"
        raise UsageError(f"no log directory in {', '.join(paths)}", why, "name a log directory of a broker")
    ids, remarks = _topic_ids(folders, metadata)
    found = [*check_all(homes, (folder.read() for folder in folders), ids), *other_files(paths)]
    return CheckedDirectories(homes, folders, [*unlisted(refused), *found], remarks)


def _topic_ids(folders: Sequence[ReplicaFolder], metadata: str | None) -> tuple[Mapping[str, str], list[str]]:
    """Topic id by name in the metadata log that is named, or else in the one that goes furthest; remarks."""
    found = [folder.read() for folder in folders if folder.place.topic == METADATA_TOPIC]
    logs = [each for each in found if each.log.segments]
    if metadata is None and not logs:
        return {}, []
    furthest = max(logs, key=lambda each: ((each.log.epochs() or [(-1, 0)])[-1][0], each.log.end_offset), default=None)
    path = metadata if metadata is not None or furthest is None else str(furthest.path)
    try:
        replay = state_at(find_metadata(str(path)), None)
    except InputError as error:
        if metadata is not None:
            raise
        return {}, [f"topic ids are compared among the directories alone: {error}"]
    remarks = [f"{path} is damaged: topics may be missing in it"] if replay.damage else []
    return {topic.name: topic.id for topic in replay.image.topics.values()}, remarks
