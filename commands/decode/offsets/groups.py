"""kreplica decode offsets --groups: the groups that the coordinators would have, and their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from commands.decode.damage_lines import count_places, damage_objects
from commands.decode.offsets.answer import OffsetsReading, group_patterns, is_wanted
from commands.shared.printing.output import Answer, OutputFormat, Row, emit
from commands.shared.printing.screen import counted, print_lines, print_table, print_verdict
from kreplica.errors import ExitCode
from kreplica.formats.consumer_offsets.groups import EMPTY, GroupState
from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.cluster_identity import topic_names
from kreplica.model.schema import Kind

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.formats.consumer_offsets.logs import Replayed
    from kreplica.formats.consumer_offsets.rows import CommittedOffset
    from kreplica.formats.logs.partition_logs import PartitionLog

KINDS: Final = {
    "group": Kind.STRING,
    "type": Kind.STRING,
    "state": Kind.STRING,
    "epoch": Kind.INT32,
    "protocol_type": Kind.STRING,
    "protocol": Kind.STRING,
    "leader": Kind.STRING,
    "changed_timestamp": Kind.INT64,
    "members": Kind.STRING,
    "offsets": Kind.INT64,
    "log_partition": Kind.INT32,
}
_SHOWN = ("group", "type", "state", "epoch", "protocol", "members", "offsets")


def show_groups(reading: OffsetsReading, groups: Sequence[str], output: OutputFormat | None) -> ExitCode:
    """Prints the groups that were asked for.

    Args:
        reading: Commits and groups that were read, and the logs they are from.
        groups: Patterns of the groups that are asked for; all if there are none.
        output: The form; table if None.
    """
    patterns, damage = group_patterns(groups), list[Damage]()
    rows = [
        row
        for log, result, commits in zip(reading.logs, reading.results, reading.commits, strict=True)
        for row in _rows(log, result, commits, damage)
        if is_wanted(str(row["group"]), patterns)
    ]
    _name_topics(rows, reading, damage)
    reading.damage.add(damage)
    answer = Answer(
        command="decode-offsets-groups",
        rows_name="groups",
        columns=tuple(KINDS),
        rows=sorted(rows, key=lambda row: str(row["group"])),
        summary=_summary(reading, rows),
        warnings=reading.warnings(),
        kinds=KINDS,
    )
    emit(answer, output, lambda console: _show(answer, reading, console))
    return reading.exit_code()


def _rows(
    log: PartitionLog, result: Replayed, commits: Sequence[CommittedOffset], damage: list[Damage]
) -> Iterator[Row]:
    """The groups of one log; groups with commits alone are simple classic groups to a coordinator."""
    offsets = Counter(row.group for row in commits if not row.pending)
    assert result.groups is not None, "groups were asked for"
    states = {state.group: state for state in result.groups.groups(str(log.directory), damage)}
    for group in sorted({*states, *offsets}):
        state = states.get(group) or GroupState(group, "classic", EMPTY, None)
        yield _row(state, offsets[group], log.partition)


def _row(state: GroupState, offsets: int, partition: int | None) -> Row:
    return {
        "group": state.group,
        "type": state.type,
        "state": state.state,
        "epoch": state.epoch,
        "protocol_type": state.protocol_type,
        "protocol": state.protocol,
        "leader": state.leader,
        "changed_timestamp": state.changed,
        "members": list(state.members),
        "offsets": offsets,
        "log_partition": partition,
    }


def _name_topics(rows: Sequence[Row], reading: OffsetsReading, damage: list[Damage]) -> None:
    """Puts topic names into rows: consumer and share groups have ids, most of which the directories name."""
    assigned = [each for row in rows for member in _objects(row) for each in member["assignment"] or ()]
    by_id = [each for each in assigned if "topic_id" in each]
    names = topic_names((log.home for log in (*reading.logs, *reading.others)), damage) if by_id else {}
    for each in by_id:
        if each["topic_id"] in names:
            each["topic"] = names[each["topic_id"]]


def _objects(row: Row) -> list[dict[str, Any]]:
    members = row["members"]
    assert isinstance(members, list)
    return members


def _summary(reading: OffsetsReading, rows: Sequence[Row]) -> Row:
    return {
        "groups": len(rows),
        "types": dict(Counter(str(row["type"]) for row in rows)),
        "states": dict(Counter(str(row["state"]) for row in rows if row["state"] is not None)),
        "members": sum(map(_members, rows)),
        "partitions": reading.partitions,
        "partitions_found": len(reading.found),
        "partitions_missing": reading.missing,
        "partitions_doubt": reading.doubt or None,
        "damaged_places": reading.damage.places,
        "skipped_bytes": reading.damage.skipped,
        "damage": damage_objects(reading.damage.kept),
    }


def _members(row: Row) -> int:
    return len(_objects(row))


def _show(answer: Answer, reading: OffsetsReading, console: Console) -> None:
    if answer.rows:
        cells = [[_members(row) if name == "members" else row[name] for name in _SHOWN] for row in answer.rows]
        print_table([name.upper() for name in _SHOWN], cells, color=console.is_terminal and not console.no_color)
    said = f"{counted(len(answer.rows), 'group')}, {counted(int(str(answer.summary['members'])), 'member')}"
    said = f"{count_places(reading.damage.places)}; {said}" if reading.damage.places else said
    incomplete = reading.exit_code() is ExitCode.INCOMPLETE
    word = ("DAMAGED", "red") if reading.damage.places else ("INCOMPLETE", "yellow") if incomplete else ("OK", "green")
    print_verdict(console, *word, f"{said}; {reading.completeness()}")
    print_lines(console, "members", list(_member_lines(answer.rows)))


def _member_lines(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each member, its partitions as kafka-consumer-groups --members --verbose prints them."""
    for row in rows:
        for member in _objects(row):
            yield f"{row['group']}: {member['member_id']}{_who(member)} has {_assigned(member['assignment'])}"


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
