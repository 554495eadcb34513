"""A path where a subcommand belongs, as in ``kreplica decode /var/kafka``: the line that reads it is told."""

from __future__ import annotations

import shlex
from pathlib import Path


def line_that_reads(path: Path) -> str:
    """The command line that reads a path; for a file of no known format the one that lists the subcommands.

    Raises:
        InputError: It cannot be read.
    """
    command = _reader_of_directory(path) if path.is_dir() else _reader_of_file(path)
    if not command:
        return "kreplica decode --help tells which there are"
    return f"kreplica decode {command} {shlex.quote(str(path))}"


def _reader_of_directory(path: Path) -> str:
    from kreplica.formats.log_directory.listing import parse_partition_directory

    place = parse_partition_directory(path.absolute().name)
    return "check" if place is None else _reader_of_log(place.topic)


def _reader_of_file(path: Path) -> str:
    from kreplica.formats.find_files import read_beginning
    from kreplica.formats.log_directory.listing import parse_partition_directory
    from kreplica.formats.registry import SEGMENT, format_of

    found = format_of(path.name) or format_of(path.name, read_beginning(path) if path.is_file() else b"")
    if found is not SEGMENT:
        return found.command if found is not None else ""
    place = parse_partition_directory(path.absolute().parent.name)
    return _reader_of_log(place.topic) if place is not None else found.command


def _reader_of_log(topic: str) -> str:
    """The subcommand that shows a partition of this topic by what its records mean."""
    from kreplica.model.internal_topics import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC

    meaning = {OFFSETS_TOPIC: "offsets", TRANSACTIONS_TOPIC: "transactions", METADATA_TOPIC: "metadata"}
    return meaning.get(topic, "segment")
