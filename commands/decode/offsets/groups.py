"""kreplica decode offsets --groups: the groups that the coordinators would have, and their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places, damage_objects
from commands.decode.offsets.answer import OffsetsAnswer
from commands.shared.printing.output import Answer, OutputFormat, Row, emit
from commands.shared.printing.screen import print_lines, print_rows, print_verdict
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.group_rows import GroupRow, group_rows
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.consumer_offsets.reading import OffsetsReading


def show_groups(reading: OffsetsReading, groups: Sequence[str], output: OutputFormat | None) -> ExitCode:
    """Prints the groups that were asked for.

    Args:
        reading: Commits and groups that were read, and the logs they are from.
        groups: Patterns of the groups that are asked for; all if there are none.
        output: The form; table if None.
    """
    rows = group_rows(reading, groups)
    found = OffsetsAnswer(reading)
    answer = Answer(
        command="decode-offsets-groups",
        rows_name="groups",
        columns=GroupRow,
        rows=sorted(rows, key=lambda row: row.group),
        summary=_summary(reading, rows),
        warnings=found.warnings(),
    )
    emit(answer, output, lambda console: _show(answer, found, console))
    return reading.exit_code


def _summary(reading: OffsetsReading, rows: Sequence[GroupRow]) -> Row:
    return {
        "groups": len(rows),
        "types": dict(Counter(row.type for row in rows)),
        "states": dict(Counter(row.state for row in rows if row.state is not None)),
        "members": sum(len(row.members) for row in rows),
        "partitions": reading.partitions,
        "partitions_found": len(reading.found),
        "partitions_missing": reading.missing,
        "partitions_doubt": reading.doubt or None,
        "damaged_places": reading.damage.places,
        "skipped_bytes": reading.damage.skipped,
        "damage": damage_objects(reading.damage.kept),
    }


def _show(answer: Answer[GroupRow], found: OffsetsAnswer, console: Console) -> None:
    print_rows(console, GroupRow, answer.rows, cells={"members": len})
    said = f"{counted(len(answer.rows), 'group')}, {counted(int(str(answer.summary['members'])), 'member')}"
    damaged = found.reading.damage.places
    said = f"{count_places(damaged)}; {said}" if damaged else said
    incomplete = found.exit_code() is ExitCode.INCOMPLETE
    word = (
        ("DAMAGED", "red")
        if found.reading.damage.places
        else ("INCOMPLETE", "yellow")
        if incomplete
        else ("OK", "green")
    )
    print_verdict(console, *word, f"{said}; {found.completeness()}")
    print_lines(console, "members", list(_member_lines(answer.rows)))


def _member_lines(rows: Iterable[GroupRow]) -> Iterator[str]:
    """A line for each member, its partitions as kafka-consumer-groups --members --verbose prints them."""
    for row in rows:
        for member in row.members:
            yield f"{row.group}: {member['member_id']}{_who(member)} has {_assigned(member['assignment'])}"


def _who(member: Mapping[str, Any]) -> str:
    if member["client_id"] is None:
        return ""
    instance = f", instance {member['instance_id']}" if member["instance_id"] else ""
    return f" ({member['client_id']} of {member['client_host']}{instance})"


def _assigned(assignment: Sequence[Mapping[str, Any]] | None) -> str:
    if assignment is None:
        return "what is not known"
    places = [(_place(each), each["partitions"]) for each in assignment if each["partitions"]]
    return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in sorted(places)) or "nothing"


def _place(each: Mapping[str, Any]) -> str:
    if "subtopology_id" in each:
        return f"{each['tasks']} {each['subtopology_id']}"
    return str(each.get("topic") or each["topic_id"])
