"""The answer of kreplica decode offsets: rows, numbers over them, and how complete they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from commands.decode.damage_lines import damage_objects, damage_warnings
from commands.decode.offsets.rows import ComparedOffset, OffsetRow
from commands.shared.printing.output import Answer, Row
from commands.shared.printing.terminal import print_err
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.logs import Replayed
from kreplica.formats.consumer_offsets.reading import OffsetsReading
from kreplica.formats.logs.partition_logs import PartitionLog, copy_warnings
from kreplica.model.tables.rows import names_of
from kreplica.model.wording.words import all_counted, counted, named

if TYPE_CHECKING:
    from commands.decode.offsets.against import Compared

_VALUES = attrgetter(*names_of(OffsetRow))
MOST_TYPES = 8
"""Numbers of unknown types that a warning names."""


@dataclass(frozen=True, slots=True)
class OffsetsAnswer:
    """Offsets that were read, and their comparison with a live cluster.

    Args:
        reading: Offsets and groups, and the logs they are from.
        against: Comparison of the rows with a live cluster; None if not asked for.
    """

    reading: OffsetsReading
    against: Compared | None = None

    def completeness(self) -> str:
        """The part of the topic that the answer is based on, in words."""
        return completeness(self.reading)

    def exit_code(self) -> ExitCode:
        """1 for damage and offsets out of range, 5 for missing partitions and unknown ranges, 0 otherwise."""
        if self.against is not None and self.against.outside:
            return ExitCode.FINDINGS
        code = self.reading.exit_code
        unknown = self.against is not None and self.against.unknown
        return ExitCode.INCOMPLETE if unknown and code is ExitCode.OK else code

    def warnings(self) -> list[str]:
        """Damage, missing partitions, copies that were not read."""
        told = damage_warnings(self.reading.damage.kept, self.reading.damage.places)
        told += [self.reading.doubt] if self.reading.doubt else [self.completeness()] if self.reading.missing else []
        told += copy_warnings(self.reading.logs, self.reading.copies)
        if self.reading.unknown:
            records = counted(sum(self.reading.unknown.values()), "record")
            told.append(f"{records} of types that are not known: {self._unknown()}")
        return told + (self.against.warnings() if self.against else [])

    def _unknown(self) -> str:
        numbers = list(self.reading.unknown)
        rest = f" and {len(numbers) - MOST_TYPES} more" if len(numbers) > MOST_TYPES else ""
        return ", ".join(map(str, numbers[:MOST_TYPES])) + rest

    def warn(self) -> None:
        """Prints the warnings to stderr, for the forms of the answer that cannot hold them."""
        for warning in self.warnings():
            print_err(f"warning: {warning}")
        pending = sum(row.pending for row in self.reading.rows)
        if pending:
            offsets = counted(pending, "offset")
            print_err(f"warning: {offsets} of open transactions left out: not committed yet")

    def answer(self) -> Answer[ComparedOffset | OffsetRow]:
        """The answer of the contract."""
        return Answer(
            command="decode-offsets",
            rows_name="offsets",
            columns=ComparedOffset if self.against else OffsetRow,
            rows=self._rows(),
            clusters=self.against.clusters() if self.against else (),
            summary=self._summary(),
            warnings=self.warnings(),
        )

    def _rows(self) -> list[OffsetRow] | list[ComparedOffset]:
        rows = map(_VALUES, self.reading.rows)
        if self.against is None:
            return [OffsetRow(*values) for values in rows]
        ranges = ((one.log_start_offset, one.end_offset, one.standing) for one in self.against.ranges)
        return [ComparedOffset(*chain(values, of_log)) for values, of_log in zip(rows, ranges, strict=True)]

    def _summary(self) -> Row:
        reading = self.reading
        return {
            "offsets": len(reading.rows),
            "pending": sum(row.pending for row in reading.rows),
            "expired": reading.expired,
            "groups": len({row.group for row in reading.rows}),
            "groups_known": reading.all_groups,
            "partitions": reading.partitions,
            "partitions_found": len(reading.found),
            "partitions_missing": reading.missing,
            "partitions_doubt": reading.doubt or None,
            "logs": [_log(log, result) for log, result in zip(reading.logs, reading.results, strict=True)],
            "other_copies": [{"directory": str(log.directory), "partition": log.partition} for log in reading.copies],
            "records_by_type": reading.types,
            "damaged_places": reading.damage.places,
            "skipped_bytes": reading.damage.skipped,
            "damage": damage_objects(reading.damage.kept),
            **(self.against.summary() if self.against else {}),
        }


def completeness(reading: OffsetsReading) -> str:
    """The part of the topic that was read, in words."""
    total, found = reading.partitions, len(reading.found)
    if reading.doubt:
        counts = counted(found, "partition")
        return f"{counts} found, of how many is not known; groups in the rest cannot be known"
    if reading.missing and not found:
        return f"which of the {total} partitions this is, is not known; groups in the rest cannot be known"
    if reading.missing:
        return f"{found} of {total} partitions found; groups in the rest cannot be known"
    if len(reading.wanted) == total:
        return f"{all_counted(total, 'partition')} found"
    return f"found where these groups live: {named('partition', sorted(reading.wanted))} of {total}"


def _log(log: PartitionLog, result: Replayed) -> Row:
    return {
        "directory": str(log.directory),
        "partition": log.partition,
        "segments": len(log.segments),
        "bytes": result.read_bytes,
        "batches": result.batches,
        "records": result.records,
    }
