"""Dumps in text: recognises their format by how they begin, and hands each to the reader of its format.

Text of another format is refused, and its format named.
"""

from __future__ import annotations

import re
from enum import Enum

from kreplica.errors import InputError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.sources.dumps.describe import read_describe_text
from kreplica.sources.dumps.describe_lines import ABSENT_TOPIC, LOG_LINE, TOOL_FAILURE, shorten
from kreplica.sources.dumps.kcat import RDKAFKA_LOG_LINE, read_kcat_json, without_log_lines
from kreplica.sources.dumps.text import TAKEN, DumpText
from kreplica.sources.dumps.znode_json import START as ZNODE_START
from kreplica.sources.dumps.znode_json import read_znode_json
from kreplica.system.untrusted_files import MalformedError, decode_json


class TextFormat(Enum):
    """The text dumps that kreplica reads."""

    DESCRIBE_TEXT = "kafka-topics --describe"
    KCAT_JSON = "kcat -L -J"
    ZNODE_JSON = "an export of znodes"


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

_READERS = {
    TextFormat.DESCRIBE_TEXT: read_describe_text,
    TextFormat.KCAT_JSON: read_kcat_json,
    TextFormat.ZNODE_JSON: read_znode_json,
}


def snapshot_of_text(dump: DumpText) -> ClusterSnapshot:
    """The cluster that a text dump describes.

    Raises:
        InputError: It is damaged, or of no format that kreplica reads; the message says what was found.
    """
    return _READERS[recognise(dump)](dump)


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
