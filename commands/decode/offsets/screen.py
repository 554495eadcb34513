"""decode offsets on the screen: rows, verdict, logs, and what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commands.decode.offsets.rows import ComparedOffset
from commands.shared.printing.screen import print_columns, print_lines, print_verdict, table_columns
from commands.shared.values import spell_moment
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.decode.offsets.answer import OffsetsAnswer
    from kreplica.formats.consumer_offsets.rows import CommittedOffset
    from kreplica.health.offset_range import OffsetRange

HEADER = ("group", "topic", "partition", "offset", "commit_timestamp", "metadata")
_RANGE_HEADER = ("log_start_offset", "end_offset", "standing")


def show(answer: OffsetsAnswer, console: Console) -> None:
    """Prints rows, then the verdict, what was read, and what to type next."""
    pending = any(row.pending for row in answer.reading.rows)
    header = [*HEADER, *(["pending"] if pending else [])]
    if answer.reading.rows:
        header += [*_RANGE_HEADER] if answer.against else []
        ranges = (
            [_range_cells(each) for each in answer.against.ranges]
            if answer.against
            else [[]] * len(answer.reading.rows)
        )
        cells = [_cells(row, pending=pending) + more for row, more in zip(answer.reading.rows, ranges, strict=True)]
        print_columns(console, table_columns(ComparedOffset, header), cells)
    word, color = _word(answer)
    print_verdict(console, word, color, f"{_counts_text(answer)}; {answer.completeness()}")
    records = sum(result.records for result in answer.reading.results)
    size = sum(result.read_bytes for result in answer.reading.results)
    segments = sum(len(log.segments) for log in answer.reading.logs)
    read = f"{counted(records, 'record')}, {counted(size, 'byte')}, {counted(segments, 'segment')}"
    print_lines(console, "read", [f"{read} of {counted(len(answer.reading.logs), 'log')}"])
    print_lines(console, "means", _meanings(answer, pending=pending))


def _cells(row: CommittedOffset, *, pending: bool) -> list[object]:
    cells: list[object] = [
        row.group,
        row.topic,
        row.partition,
        row.offset,
        spell_moment(row.commit_timestamp),
        row.metadata or None,
    ]
    return [*cells, *([f"producer {row.producer_id}" if row.pending else None] if pending else [])]


def _range_cells(found: OffsetRange) -> list[object]:
    return [found.log_start_offset, found.end_offset, found.standing]


def _word(answer: OffsetsAnswer) -> tuple[str, str]:
    if answer.reading.damage.places:
        return "DAMAGED", "red"
    if answer.against and answer.against.outside:
        return "OUT OF RANGE", "red"
    if answer.against and answer.against.unknown:
        return "INCOMPLETE", "yellow"
    return ("INCOMPLETE", "yellow") if answer.reading.missing or answer.reading.doubt else ("OK", "green")


def _counts_text(answer: OffsetsAnswer) -> str:
    groups = len({row.group for row in answer.reading.rows})
    told = f"{counted(len(answer.reading.rows), 'offset')} of {counted(groups, 'group')}{_standings(answer)}"
    if answer.reading.damage.places:
        left_out = f"{counted(answer.reading.damage.skipped, 'byte')} left out"
        return f"{counted(answer.reading.damage.places, 'damaged place')}, {left_out}; {told}"
    return told


def _standings(answer: OffsetsAnswer) -> str:
    if answer.against is None:
        return ""
    counts = [f"{count} {standing}" for standing, count in answer.against.counts().items()]
    unknown = [f"{answer.against.unknown} not known"] if answer.against.unknown else []
    return f": {', '.join(counts + unknown)}" if counts or unknown else ""


def _meanings(answer: OffsetsAnswer, *, pending: bool) -> list[str]:
    told = ["offset: the next record that the group will read"] if answer.reading.rows else []
    if pending:
        told.append("pending: sent in a transaction that is still open; not committed until it ends")
    if answer.reading.expired:
        past = f"expired: {answer.reading.expired} past the time written with them"
        told.append(f"{past}; a coordinator drops these unless members read the topic")
    if answer.against:
        told += answer.against.meanings()
    return told
