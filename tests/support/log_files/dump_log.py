"""Reads what Kafka's DumpLogSegments printed: the expected values of the decoders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BATCH = re.compile(
    r"baseOffset: (?P<base_offset>\d+) lastOffset: (?P<last_offset>\d+) count: (?P<count>\d+) "
    r"baseSequence: (?P<base_sequence>-?\d+) lastSequence: (?P<last_sequence>-?\d+) producerId: (?P<producer_id>-?\d+) "
    r"producerEpoch: (?P<producer_epoch>-?\d+) partitionLeaderEpoch: (?P<leader_epoch>-?\d+) "
    r"isTransactional: (?P<transactional>\w+) isControl: (?P<control>\w+) "
    r"deleteHorizonMs: (?P<delete_horizon>\S+) position: (?P<position>\d+) (?P<kind>\w+): (?P<max_timestamp>-?\d+) "
    r"size: (?P<size>\d+) magic: (?P<magic>\d) compresscodec: (?P<codec>\w+) crc: (?P<crc>\d+) isvalid: (?P<valid>\w+)"
)
_MESSAGE = re.compile(
    r"offset: (?P<last_offset>\d+) position: (?P<position>\d+) (?P<kind>\w+): (?P<max_timestamp>-?\d+) "
    r"size: (?P<size>\d+) magic: (?P<magic>\d) compresscodec: (?P<codec>\w+) crc: (?P<crc>\d+) isvalid: (?P<valid>\w+)"
)
_RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<kind>\w+): (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+)(?: sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<headers>.*?)\])?(?P<rest>.*)"
)


@dataclass(frozen=True)
class DumpedBatch:
    """One line of a batch, its numbers as written, and the lines of its records."""

    fields: dict[str, str]
    records: list[dict[str, str | None]] = field(default_factory=list)


@dataclass(frozen=True)
class DumpedFile:
    path: str
    batches: list[DumpedBatch]


def dumped_files(path: Path) -> Iterator[DumpedFile]:
    """The log segments of one output of DumpLogSegments."""
    for part in path.read_text(encoding="utf-8").split("Dumping ")[1:]:
        name, _, body = part.partition("\n")
        if name.endswith((".log", ".checkpoint")):
            yield DumpedFile(name, _batches(body))


def _batches(body: str) -> list[DumpedBatch]:
    found: list[DumpedBatch] = []
    for line in body.split("\n"):
        if match := (_BATCH.match(line) or _MESSAGE.match(line)):
            found.append(DumpedBatch(match.groupdict()))
        elif match := _RECORD.match(line):
            found[-1].records.append(match.groupdict())
    return found
