"""Reads a dump: recognises its format by its content and hands it to the reader of that format.

Text of another format is refused, and its format named.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from importlib.resources import as_file, files
from pathlib import Path

from kreplica.config.resolve import PACKAGED_DUMPS, SAMPLE
from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.describe_lines import ABSENT_TOPIC, LOG_LINE, TOOL_FAILURE, shorten
from kreplica.sources.dumps.kcat import RDKAFKA_LOG_LINE, read_kcat_json, without_log_lines
from kreplica.sources.dumps.text import STDIN, DumpText, decode_dump, read_dump_bytes
from kreplica.sources.dumps.znode_json import START as ZNODE_START
from kreplica.sources.dumps.znode_json import read_znode_json
from kreplica.system.untrusted_files import MalformedError, decode_json


class TextFormat(Enum):
    """The text dumps that kreplica reads."""

    DESCRIBE_TEXT = "kafka-topics --describe"
    KCAT_JSON = "kcat -L -J"
    ZNODE_JSON = "an export of znodes"


TAKEN = (
    "kreplica reads kreplica snapshot directories, the text of kafka-topics --describe, the JSON of kcat -L -J,"
    " exports of ZooKeeper's znodes as JSON and metadata logs of KRaft nodes"
)

_DESCRIBE_START = re.compile(r"[ \t]*[Tt]opic:")
_KCAT_FAILURE = re.compile(r"% (?:ERROR|Fatal error)")

_OTHER_TOOLS = (
    (r"GROUP +(TOPIC|COORDINATOR|CONSUMER-ID)\b", "kafka-consumer-groups --describe"),
    (r"Consumer group '.*' has no active members", "kafka-consumer-groups --describe"),
    (r"(Querying brokers for|Received) log director", "kafka-log-dirs --describe"),
    (r"Current partition (reassignments|replica assignment)", "kafka-reassign-partitions"),
    (r"No partition reassignments found", "kafka-reassign-partitions --list"),
    (r"Status of partition reassignment", "kafka-reassign-partitions --verify"),
    (r"(Dynamic|All|Default) configs for ", "kafka-configs --describe"),
    (r"ClusterId:|NodeId\s+(DirectoryId|LogEndOffset)", "kafka-metadata-quorum describe"),
    (r"Feature: ", "kafka-features describe"),
    (r"TransactionalId\s+Coordinator", "kafka-transactions list"),
    (r"Metadata for .* \(from broker", "kcat -L; with -J it prints JSON, which kreplica reads"),
    (r"[A-Za-z0-9._-]+:\d+:-?\d*$", "kafka-get-offsets"),
)
_KREPLICA_SCHEMA = re.compile(r"kreplica/([a-z-]+)/")


def recognise(dump: DumpText) -> TextFormat:
    """The format of a text dump, by its first line that is no log output.

    Raises:
        InputError: It is of no format that kreplica reads; the message says what was found.
    """
    number, line = _first_line(dump)
    if _DESCRIBE_START.match(line) or TOOL_FAILURE.match(line) or ABSENT_TOPIC.match(line):
        return TextFormat.DESCRIBE_TEXT
    if ZNODE_START.match(dump.text):
        return TextFormat.ZNODE_JSON
    if line.lstrip().startswith(("{", "[")):
        _check_json(dump)
        return TextFormat.KCAT_JSON
    if _KCAT_FAILURE.match(line):
        raise InputError(dump.source, f"line {number}", f"kcat failed: {shorten(line)}", "make the dump again")
    if tool := _other_tool(dump, line):
        raise InputError(dump.source, "", f"it seems to be the output of {tool}", TAKEN)
    raise InputError(dump.source, f"line {number}", f"an unknown format that begins with {shorten(line)}", TAKEN)


def _first_line(dump: DumpText) -> tuple[int, str]:
    for number, line in enumerate(dump.lines(), start=1):
        if line.strip() and not LOG_LINE.match(line) and not RDKAFKA_LOG_LINE.match(line):
            return number, line
    raise InputError(dump.source, "", "nothing but log output is in it", "look there for why the tool failed")


def _other_tool(dump: DumpText, line: str) -> str | None:
    for pattern, tool in _OTHER_TOOLS:
        if re.match(pattern, line.strip()):
            return tool
    if all(re.fullmatch(r"\s*|[A-Za-z0-9._-]+\s*", each) for each in dump.lines()):
        return "kafka-topics --list; with --describe it prints what kreplica reads"
    return None


def _check_json(dump: DumpText) -> None:
    """Refuses other documents by name; damaged ones are left to the reader, which reports the position."""
    text, _ = without_log_lines(dump.text)
    if '"brokers"' in text and '"topics"' in text:
        return
    try:
        document = decode_json(text)
    except MalformedError:
        return
    raise InputError(dump.source, "", f"it is {_describe_json(document)}, not that of kcat -L -J", TAKEN)


def _describe_json(document: object) -> str:
    if not isinstance(document, dict):
        return "a JSON array"
    if schema := _KREPLICA_SCHEMA.match(str(document.get("schema"))):
        return f"the output of kreplica {schema[1]}"
    if "partitions" in document and "version" in document:
        return "a reassignment in JSON"
    if "brokers" in document and "version" in document:
        return "the JSON of kafka-log-dirs"
    return f"JSON with the fields {', '.join(list(document)[:5])}" if document else "an empty JSON object"


_PARQUET_MAGIC = b"PAR1"
_MANIFEST_START = re.compile(rb'\s*\{\s*"schema"\s*:\s*"kreplica/manifest/')
_AT_OFFSET = re.compile(r"(?P<home>.+)@(?P<offset>[0-9]{1,18})", re.DOTALL)
_READERS = {
    TextFormat.DESCRIBE_TEXT: read_describe_text,
    TextFormat.KCAT_JSON: read_kcat_json,
    TextFormat.ZNODE_JSON: read_znode_json,
}


def read_dump(path: str) -> ClusterSnapshot:
    """Reads a cluster from a dump.

    Args:
        path: A directory that `kreplica snapshot` wrote (the newest snapshot of the one cluster in it), a manifest
            from it, or a partitions table as a Parquet file; a file with the text of `kafka-topics --describe`, the
            JSON of `kcat -L -J` or an export of znodes as JSON, gzip or not; ``-`` for such text on standard input;
            the metadata log of a KRaft node (its directory, a log directory with it, a checkpoint, a segment), at
            ``@OFFSET`` where that follows; or the word ``sample`` or ``sample-healthy`` for a dump that the
            package carries. A file of that name in the current directory is read as ``./sample``.

    Raises:
        InputError: It is not there, damaged, or of a format that kreplica does not read.
    """
    if path in PACKAGED_DUMPS:
        return read_sample(path)
    if (metadata := _metadata_log(path)) is not None:
        from kreplica.sources.dumps.kraft import read_kraft_metadata

        return read_kraft_metadata(*metadata)
    if path != "-" and _is_directory(path):
        return _read_directory(path)
    source, content, taken_at = read_dump_bytes(path)
    if content.startswith(_PARQUET_MAGIC) or _MANIFEST_START.match(content):
        return _read_stored(source, content)
    dump = DumpText(source, decode_dump(source, content), taken_at)
    return _READERS[recognise(dump)](dump)


def _metadata_log(path: str) -> tuple[str, int | None] | None:
    """Path and offset of a metadata log, None if it is none: ``DIRECTORY`` or ``DIRECTORY@OFFSET``."""
    from kreplica.formats.metadata_log.files import is_metadata_path

    try:
        if Path(path).exists():
            return (path, None) if is_metadata_path(Path(path)) else None
        found = _AT_OFFSET.fullmatch(path)
        if found is not None and is_metadata_path(Path(found["home"])):
            return found["home"], int(found["offset"])
    except OSError:  # a name too long, a directory that may not be entered: reported when it is read
        pass
    return None


def _is_directory(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def read_sample(name: str = SAMPLE) -> ClusterSnapshot:
    """A packaged dump, by its name."""
    assert name in PACKAGED_DUMPS, name
    with as_file(files("kreplica") / "data" / name) as directory:
        return replace(_read_directory(str(directory)), name=name)


def _read_directory(path: str) -> ClusterSnapshot:
    from kreplica.store.reading import read_dump_directory

    if not (Path(path) / "manifests").is_dir():
        raise InputError(path, "", "a directory without manifests, so it holds no kreplica snapshots", TAKEN)
    return read_dump_directory(path)


def _read_stored(source: str, content: bytes) -> ClusterSnapshot:
    from kreplica.store.reading import read_dump_directory, read_partitions_file

    kind = "a Parquet file" if content.startswith(_PARQUET_MAGIC) else "a manifest of kreplica's"
    if source == STDIN:
        raise InputError(source, "", f"{kind} cannot be read from standard input", "name the file itself")
    return read_partitions_file(source) if content.startswith(_PARQUET_MAGIC) else read_dump_directory(source)
