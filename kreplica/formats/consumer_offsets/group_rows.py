"""Groups that the coordinators would have after reading their logs, with members and assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from kreplica.formats.consumer_offsets.groups import EMPTY, GroupState
from kreplica.formats.consumer_offsets.reading import group_patterns, is_wanted
from kreplica.formats.damage import Damage
from kreplica.formats.log_directory.cluster_identity import topic_names
from kreplica.model.tables.rows import Int32, Meaning

if TYPE_CHECKING:
    from kreplica.formats.consumer_offsets.logs import Replayed
    from kreplica.formats.consumer_offsets.reading import OffsetsReading
    from kreplica.formats.consumer_offsets.rows import CommittedOffset
    from kreplica.formats.logs.partition_logs import PartitionLog


class GroupRow(Struct, frozen=True):
    """A group as a coordinator has it."""

    group: Annotated[str, Meaning("group id")]
    type: Annotated[str, Meaning("classic, consumer, share or streams")]
    state: Annotated[str | None, Meaning("state, null where the log does not tell it")]
    epoch: Annotated[
        Int32 | None, Meaning("epoch, of a classic group its generation; null where the log does not tell it", drop=2)
    ]
    protocol_type: Annotated[str | None, Meaning("kind of its protocol, as consumer", screen=False)]
    protocol: Annotated[str | None, Meaning("assignor, null if none", drop=1)]
    leader: Annotated[str | None, Meaning("member id of the leader of a classic group", screen=False)]
    changed_timestamp: Annotated[int | None, Meaning("when its state changed, in ms", screen=False)]
    members: Annotated[Sequence[Mapping[str, Any]], Meaning("its members, objects")]
    offsets: Annotated[int, Meaning("number of its committed offsets")]
    log_partition: Annotated[Int32 | None, Meaning("partition of __consumer_offsets that holds it", screen=False)]


def group_rows(reading: OffsetsReading, groups: Sequence[str] = ()) -> list[GroupRow]:
    """A row for each group, log by log; damage that is found on the way is added to that of the reading.

    Args:
        reading: What ``decode_offsets`` read, members too.
        groups: Regular expressions for whole names of groups; all groups if there are none.
    """
    patterns, damage = group_patterns(groups), list[Damage]()
    rows = [
        row
        for log, result, commits in zip(reading.logs, reading.results, reading.commits, strict=True)
        for row in _rows(log, result, commits, damage)
        if is_wanted(row.group, patterns)
    ]
    _name_topics(rows, reading, damage)
    reading.damage.add(damage)
    return rows


def _rows(
    log: PartitionLog, result: Replayed, commits: Sequence[CommittedOffset], damage: list[Damage]
) -> Iterator[GroupRow]:
    """The groups of one log; groups with commits alone are simple classic groups to a coordinator."""
    offsets = Counter(row.group for row in commits if not row.pending)
    assert result.groups is not None, "groups were asked for"
    states = {state.group: state for state in result.groups.groups(str(log.directory), damage)}
    for group in sorted({*states, *offsets}):
        state = states.get(group) or GroupState(group, "classic", EMPTY, None)
        yield _row(state, offsets[group], log.partition)


def _row(state: GroupState, offsets: int, partition: int | None) -> GroupRow:
    return GroupRow(
        group=state.group,
        type=state.type,
        state=state.state,
        epoch=state.epoch,
        protocol_type=state.protocol_type,
        protocol=state.protocol,
        leader=state.leader,
        changed_timestamp=state.changed,
        members=list(state.members),
        offsets=offsets,
        log_partition=partition,
    )


def _name_topics(rows: Sequence[GroupRow], reading: OffsetsReading, damage: list[Damage]) -> None:
    """Puts topic names into rows: consumer and share groups have ids, most of which the directories name."""
    assigned = [each for row in rows for member in row.members for each in member["assignment"] or ()]
    by_id = [each for each in assigned if "topic_id" in each]
    names = topic_names((log.home for log in (*reading.logs, *reading.copies)), damage) if by_id else {}
    for each in by_id:
        if each["topic_id"] in names:
            each["topic"] = names[each["topic_id"]]
