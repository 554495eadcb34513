"""The rules of ``kreplica decode check`` in one table, and the run over all of them.

Files of formats that other packages bring, each judged by the check that came with its format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from kreplica.errors import InputError
from kreplica.formats.checks import identity, indexes, offsets, producers
from kreplica.formats.file_bytes import not_listed, read_found_file
from kreplica.formats.find_files import find_files
from kreplica.formats.log_directory.listing import LogDirectory, parse_partition_directory
from kreplica.formats.logs.log_range import LogContents
from kreplica.formats.logs.replicas import Finding, ReplicaFiles
from kreplica.formats.registry import format_of, other_formats, own_format

RULE = "other-formats"


def other_files(paths: Sequence[str]) -> Iterator[Finding]:
    """A file of a format from another package passes that format's own check; one not read whole is skipped.

    Raises:
        InputError: A path does not exist or a file cannot be read.
        UsageError: Two formats have one name.
    """
    if not other_formats():
        return
    # Directories that cannot be listed are findings of find_folders.
    for path in find_files(paths, lambda name: own_format(name) is None and format_of(name) is not None, []):
        found = format_of(path.name)
        if found is None or found.check is None:
            continue
        place = parse_partition_directory(path.absolute().parent.name)
        topic, partition = (None, None) if place is None else (place.topic, place.partition)
        read = read_found_file(path)
        for each in read.unreadable or found.check(read.content, str(path)):
            yield Finding.of_damage(RULE, each, topic, partition)


REPLICA_RULES: Final[Mapping[str, Callable[[ReplicaFiles], Iterator[Finding]]]] = {
    "log-damage": offsets.log_damage,
    "batch-order": offsets.batch_order,
    "leader-epochs": offsets.leader_epochs,
    "high-watermark": offsets.high_watermark,
    "recovery-point": offsets.recovery_point,
    "log-start": offsets.log_start,
    "cleaner-offset": offsets.cleaner_offset,
    "producer-snapshot": producers.producer_snapshots,
    "producer-state": producers.producer_state,
    "offset-index": indexes.offset_index,
    "time-index": indexes.time_index,
    "transaction-index": indexes.transaction_index,
}
"""Rules on one replica; each gives findings of its own name."""

DIRECTORY_RULES: Final[Mapping[str, Callable[[Sequence[LogDirectory]], Iterator[Finding]]]] = {
    "small-files": identity.small_files,
    "bootstrap-checkpoint": identity.bootstrap_checkpoint,
    "meta-properties": identity.meta_properties,
}
"""Rules on log directories."""

RULES: Final = (*DIRECTORY_RULES, *REPLICA_RULES, "topic-id", RULE)
"""Names of all rules."""


def check_all(
    homes: Sequence[LogDirectory], replicas: Iterable[ReplicaFiles], topic_ids: Mapping[str, str]
) -> list[Finding]:
    """All findings, by rule.

    Args:
        homes: The log directories.
        replicas: Their replicas; of an iterator one after the other is held. Of one with a segment that cannot be read
            only that is reported: nothing can be compared with the rest of the log.
        topic_ids: Topic id by name, of a metadata log; empty without one.
    """
    found = [each for rule in DIRECTORY_RULES.values() for each in rule(homes)]
    places = []
    for replica in replicas:
        rules = REPLICA_RULES.values() if replica.log.readable else [offsets.log_damage]
        found += [each for rule in rules for each in rule(replica)]
        places.append(_without_files(replica))
    found.sort(key=lambda each: RULES.index(each.rule))
    return [*found, *identity.topic_ids(places, topic_ids)]


def unlisted(refused: Iterable[InputError]) -> list[Finding]:
    """Directories that are no partition's and cannot be listed: their content is unknown."""
    return [Finding.of_damage("log-damage", each) for each in not_listed(refused)]


def _without_files(replica: ReplicaFiles) -> ReplicaFiles:
    return ReplicaFiles(replica.home, replica.path, replica.place, LogContents(()))
