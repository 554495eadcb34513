"""Files of formats that other packages bring, each judged by the check that came with its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.formats.checks.replicas import Finding
from kreplica.formats.file_bytes import read_found_file
from kreplica.formats.files import find_files
from kreplica.formats.log_directory import parse_partition_directory
from kreplica.formats.registry import format_of, other_formats, own_format

RULE = "other-formats"


def other_files(paths: Sequence[str]) -> Iterator[Finding]:
    """A file of a format from outside holds what its own check says; one that the disk does not give whole is none's.

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
        for each in read.unread or found.check(read.content, str(path)):
            yield Finding(RULE, each.file, each.position, topic, partition, each.reason, each.expected, each.found)
