"""Every decoder as a function of bytes alone, with files of real brokers to begin from.

A target reads all that the decoder gives, so that what is only computed when asked for is computed too. It raises
AssertionError, or whatever the decoder should not have raised, for bytes that are not borne.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from crc32c import crc32c

from fuzzing.directories import check, compare, directory_seeds, on_disk
from kreplica.engine.versions.supported import version_named
from kreplica.errors import InputError
from kreplica.formats.consumer_offsets.commits import decode_commits
from kreplica.formats.consumer_offsets.groups import GroupReplay
from kreplica.formats.consumer_offsets.logs import Replayed
from kreplica.formats.consumer_offsets.records import decode_group_record
from kreplica.formats.consumer_offsets.replay import OffsetReplay
from kreplica.formats.consumer_offsets.rows import (
    committed_offsets,
    line_of_kafka_1_0,
    line_of_kafka_2,
    line_of_kafka_4,
    reset_csv,
)
from kreplica.formats.file_bytes import BufferBytes, SmallFile
from kreplica.formats.log_directory.leader_epoch_checkpoint import decode_leader_epoch_checkpoint
from kreplica.formats.log_directory.listing import OF_A_PARTITION, OF_THE_DIRECTORY, read_log_directories
from kreplica.formats.log_directory.meta_properties import decode_meta_properties, decode_partition_metadata
from kreplica.formats.log_directory.offset_checkpoint import decode_offset_checkpoint
from kreplica.formats.log_directory.quorum_state import decode_clean_shutdown, decode_quorum_state
from kreplica.formats.log_directory.reading import checkpoint_rows
from kreplica.formats.logs.index_rows import index_rows
from kreplica.formats.metadata_log.change_rows import change_row
from kreplica.formats.metadata_log.image import MetadataImage
from kreplica.formats.metadata_log.log import metadata_entries
from kreplica.formats.metadata_log.records import decode_metadata_record
from kreplica.formats.schema import SchemaError
from kreplica.formats.segments.codecs import InflateError, inflate
from kreplica.formats.segments.control_records import decode_control_record
from kreplica.formats.segments.records import decode_records
from kreplica.formats.segments.rows import record_table
from kreplica.formats.segments.windows import BatchWindow, read_windows
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.timers import LAG, SESSION, Timers
from kreplica.formats.traces.kraft.walk import Walk
from kreplica.formats.transactions.records import (
    Findings,
    TransactionReplay,
    decode_transaction_key,
    decode_transaction_value,
    transaction_events,
)

GOLDEN = Path(__file__).parents[2] / "golden"
LARGEST_SEED = 6_000
"""Bytes of a file that is worth beginning from: small ones are mutated to more effect."""

PREFIX_BYTES, HEADER_BYTES, MAGIC_AT, CHECKSUM_AT, LEGACY_CHECKSUM_AT = 12, 61, 16, 17, 12
MOST_INFLATED = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """One decoder.

    Args:
        decode: What is called with any bytes.
        seeds: Patterns of golden files, below tests/golden; the content of the batches' records for ``inner``.
        inner: What of the records in these files is a seed: ``value``, ``key+value``, ``sized key+value``,
            ``compressed``; ``directories`` for replicas of two brokers; empty for the file itself.
    """

    decode: Callable[[bytes], None]
    seeds: tuple[str, ...]
    inner: str = ""


def sealed(content: bytes) -> bytes:
    """The same log with the checksum that each batch should have: what is wrong inside a batch is reached only so."""
    log, position = bytearray(content), 0
    while position + PREFIX_BYTES < len(log):
        size = PREFIX_BYTES + int.from_bytes(log[position + 8 : position + PREFIX_BYTES], "big", signed=True)
        end = position + size
        if size <= CHECKSUM_AT or end > len(log):
            break
        if log[position + MAGIC_AT] == 2 and size >= HEADER_BYTES:
            checksum = crc32c(bytes(log[position + CHECKSUM_AT + 4 : end]))
            log[position + CHECKSUM_AT : position + CHECKSUM_AT + 4] = checksum.to_bytes(4, "big")
        elif log[position + MAGIC_AT] in (0, 1):
            checksum = zlib.crc32(bytes(log[position + MAGIC_AT : end]))
            log[position + LEGACY_CHECKSUM_AT : position + MAGIC_AT] = checksum.to_bytes(4, "big")
        position = end
    return bytes(log)


def decoded_or_refused(refusal: type[Exception], decode: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a decoder makes of any bytes, None where it refuses them; a refusal says why."""
    found, reason = None, None
    try:
        found = decode(*arguments, **named)
    except refusal as error:
        reason = str(error)
    assert reason != ""
    return found


def _windows(content: bytes) -> Iterator[BatchWindow]:
    yield from read_windows(BufferBytes(content, "a.log"), 4096)


def segment(content: bytes) -> None:
    """Batches, records and headers of a segment; each byte is in a sound batch, in a zero tail or told as damaged."""
    told = 0
    for window in _windows(content):
        told += sum(each.skipped for each in window.damage) + window.zero_bytes
        told += int(window.batches.size[window.batches.valid].sum())
        for records in decode_records(window):
            for row in record_table("a.log", records).rows():
                assert row
    assert told == len(content), f"{told} of {len(content)} bytes are accounted for"


def offsets(content: bytes) -> None:
    """What is committed by a segment of __consumer_offsets, in every form; and its groups."""
    result, groups = Replayed(OffsetReplay()), GroupReplay()
    for window in _windows(content):
        for records in decode_records(window):
            result.replay.add(records)
            groups.add(records)
    assert all(group.type for group in groups.groups("a.log", []))
    result.replay.settle()
    rows = committed_offsets(result, Path("__consumer_offsets-0"))
    assert reset_csv(rows) is not None
    assert all(line_of_kafka_1_0(row) and line_of_kafka_2(row) and line_of_kafka_4(row) for row in rows)


def transactions(content: bytes) -> None:
    """What a segment of __transaction_state comes to."""
    replay, found = TransactionReplay(), Findings("a.log")
    for window in _windows(content):
        for records in decode_records(window):
            replay.add(records)
            assert all(event for event in transaction_events(records, found))
    assert all(record for record in replay.state(found))


def metadata(content: bytes) -> None:
    """The cluster that a segment of __cluster_metadata makes, change by change."""
    image, damage = MetadataImage(), []
    for entry in metadata_entries(BufferBytes(content, "a.log"), damage):
        for change in image.apply(entry):
            assert change_row(change)


def metadata_trace(content: bytes) -> None:
    """A segment of __cluster_metadata, judged by the rules: every change has a rule or a reason."""
    walk, damage = Walk(MetadataImage(), Releases("a.log"), timers=Timers({SESSION: 9000, LAG: 10_000})), []
    for entry in metadata_entries(BufferBytes(content, "a.log"), damage):
        decoded_or_refused(InputError, walk.take, entry, walk.image.apply(entry))
    decoded_or_refused(InputError, walk.end)
    assert all((row.rule is None) != (row.refused is None) for row in walk.rows)
    assert all(str(remark) for remark in walk.timers.remarks(version_named("4.1").defaults))


def metadata_record(content: bytes) -> None:
    """The value of one metadata record."""
    decoded_or_refused(SchemaError, decode_metadata_record, content)


def control_record(content: bytes) -> None:
    """Key (4 bytes) and value of one control record."""
    decoded_or_refused(SchemaError, decode_control_record, content[:4], content[4:])


def transaction_record(content: bytes) -> None:
    """Key or value of one record of __transaction_state."""
    decoded_or_refused(SchemaError, decode_transaction_key, content)
    decoded_or_refused(SchemaError, decode_transaction_value, content)


def commit_record(content: bytes) -> None:
    """Key and value of one commit, cut at every sixteenth of it."""
    data = np.frombuffer(content, np.uint8)
    cuts = np.arange(17, dtype=np.int64) * len(content) // 16
    commits = decode_commits(data, np.zeros_like(cuts), cuts, cuts, len(content) - cuts)
    text = commits.texts()
    for index in np.flatnonzero(commits.sound).tolist():
        assert text(int(commits.group_start[index]), int(commits.group_length[index])) is not None
        assert text(int(commits.metadata_start[index]), int(commits.metadata_length[index])) is not None


def group_record(content: bytes) -> None:
    """Length of the key (first byte), key and value of one record of __consumer_offsets."""
    if content:
        end = 1 + content[0]
        for value in (content[end:], None):
            decoded_or_refused(SchemaError, decode_group_record, content[1:end], value)


def compressed(content: bytes) -> None:
    """Codec (first byte) and what it has compressed."""
    if content:
        codec, magic = content[0] % 6, content[0] // 6 % 3
        found = decoded_or_refused(InflateError, inflate, codec, content[1:], magic=magic, most=MOST_INFLATED)
        assert found is None or len(found) <= MOST_INFLATED


def small_files(content: bytes) -> None:
    """Every small file of a log directory, joined into rows."""
    decoders = (
        decode_offset_checkpoint,
        decode_leader_epoch_checkpoint,
        decode_meta_properties,
        decode_partition_metadata,
        decode_quorum_state,
        decode_clean_shutdown,
    )
    for decode in decoders:
        assert all(str(each) for each in decode(content, "a").damage)
    names = [Path("data", name) for name in OF_THE_DIRECTORY] + [Path("data/orders-0", name) for name in OF_A_PARTITION]
    for home in read_log_directories(names, lambda _: SmallFile(content)):
        assert checkpoint_rows(home)


def indexes(content: bytes) -> None:
    """Offset, time and transaction index and producer snapshot."""
    for ending in ("index", "timeindex", "txnindex", "snapshot"):
        assert all(index_rows(f"{7:020}.{ending}", SmallFile(content), "a", []))


def _sealed(decode: Callable[[bytes], None]) -> Callable[[bytes], None]:
    return lambda content: decode(sealed(content))


def decode_check(content: bytes) -> None:
    """Rules across the files of two log directories."""
    on_disk(content, sealed, check)


def decode_compare(content: bytes) -> None:
    """Two copies of a partition side by side."""
    on_disk(content, sealed, compare)


_LOGS = ("kafka-*/clean/**/orders-*/*.log", "kafka-*/clean/**/codec-*/*.log", "kafka-*/clean/**/*-m*-0/*.log")
_METADATA = ("kafka-4.3.1/**/__cluster_metadata-0/*.log", "kafka-4.3.1/**/*.checkpoint")
_OFFSETS = ("kafka-*/**/__consumer_offsets-*/*.log",)
_TRANSACTIONS = ("kafka-*/**/__transaction_state-*/*.log",)

TARGETS: dict[str, Target] = {
    "segment": Target(segment, _LOGS),
    "sealed-segment": Target(_sealed(segment), _LOGS),
    "offsets": Target(_sealed(offsets), _OFFSETS),
    "transactions": Target(_sealed(transactions), _TRANSACTIONS),
    "metadata": Target(_sealed(metadata), _METADATA),
    "metadata-trace": Target(_sealed(metadata_trace), _METADATA),
    "metadata-record": Target(metadata_record, _METADATA, "value"),
    "control-record": Target(control_record, _METADATA + _TRANSACTIONS, "key+value"),
    "transaction-record": Target(transaction_record, _TRANSACTIONS, "value"),
    "commit-record": Target(commit_record, _OFFSETS, "key+value"),
    "group-record": Target(group_record, _OFFSETS, "sized key+value"),
    "compressed": Target(compressed, ("kafka-*/clean/**/codec-*/*.log",), "compressed"),
    "small-files": Target(
        small_files,
        (
            "kafka-*/**/*-checkpoint",
            "kafka-*/**/*.properties",
            "kafka-*/**/partition.metadata",
            "kafka-*/**/quorum-state",
            "kafka-*/**/.kafka_cleanshutdown",
        ),
    ),
    "indexes": Target(
        indexes, ("kafka-*/**/*.index", "kafka-*/**/*.timeindex", "kafka-*/**/*.txnindex", "kafka-*/**/*.snapshot")
    ),
    "check": Target(decode_check, (), "directories"),
    "compare": Target(decode_compare, (), "directories"),
}


def seeds(target: Target) -> set[bytes]:
    """What fuzzing of a target begins from: the first bytes of golden files, or parts of their records."""
    if target.inner == "directories":
        return set(directory_seeds(GOLDEN, 2 * LARGEST_SEED))
    files = {path for pattern in target.seeds for path in GOLDEN.glob(pattern) if path.is_file()}
    if not target.inner:
        return {path.read_bytes()[:LARGEST_SEED] for path in files}
    return {part for path in files for part in _inner(path.read_bytes(), target.inner)}


def _inner(content: bytes, what: str) -> Iterator[bytes]:
    for window in _windows(content):
        if what == "compressed":
            batches = window.batches
            for start, size, codec in zip(batches.position, batches.size, batches.codec, strict=True):
                yield bytes([codec]) + content[start + HEADER_BYTES : start + size][:LARGEST_SEED]
            continue
        for records in decode_records(window):
            for index in range(len(records)):
                key, value = records.key(index) or b"", records.value(index) or b""
                size = bytes([len(key) & 255]) if what.startswith("sized") else b""
                yield value if what == "value" else size + key + value
