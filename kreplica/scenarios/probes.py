"""Probes for scenarios with groups: the records that their applications read and processed.

Also probes for scenarios on controllers. All are folds over the events of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kreplica.engine.settings import MICROSECONDS
from kreplica.engine.setup import MILLISECOND, SECOND
from kreplica.engine.trace import Event, Kind, fields_of
from kreplica.scenarios.scenario import Probe


def _of(events: Sequence[Event], kind: str) -> list[dict[str, object]]:
    return [{"node": event.node, "time": event.time, **fields_of(event)} for event in events if event.kind == kind]


def with_result(result: str) -> Probe:
    """A probe: the values that came out so, in order, each once."""

    def probe(events: Sequence[Event]) -> tuple[str, ...]:
        found = [str(one["value"]) for one in _of(events, Kind.PROCESSED) if one["result"] == result]
        return tuple(dict.fromkeys(found))

    return probe


def done_twice(events: Sequence[Event]) -> tuple[str, ...]:
    """Values that one group processed more than once."""
    done = [one for one in _of(events, Kind.PROCESSED) if one["result"] == "done"]
    times = Counter((one["group"], str(one["value"])) for one in done)
    return tuple(dict.fromkeys(value for (_, value), count in times.items() if count > 1))


def never_done(events: Sequence[Event]) -> tuple[str, ...]:
    """Acknowledged values of the producers that no group processed."""
    done = {str(one["value"]) for one in _of(events, Kind.PROCESSED) if one["result"] == "done"}
    acknowledged = dict.fromkeys(str(one["value"]) for one in _of(events, Kind.ACKNOWLEDGED))
    return tuple(value for value in acknowledged if value not in done)


def consumed_by(name: str) -> Probe:
    """A probe: what a consumer read, in order."""

    def probe(events: Sequence[Event]) -> tuple[str, ...]:
        return tuple(str(one["value"]) for one in _of(events, Kind.CONSUMED) if one["node"] == name)

    return probe


def done_late(events: Sequence[Event]) -> tuple[str, ...]:
    """Values that were processed after one that was sent later."""
    order = {str(one["value"]): place for place, one in enumerate(_of(events, Kind.SENT))}
    late, newest = [], -1
    for one in _of(events, Kind.PROCESSED):
        if one["result"] == "done":
            place = order.get(str(one["value"]), -1)
            late += [str(one["value"])] if place < newest else []
            newest = max(newest, place)
    return tuple(dict.fromkeys(late))


def commit_errors(events: Sequence[Event]) -> tuple[str, ...]:
    """Errors of commits that failed at the clients, each once."""
    return tuple(dict.fromkeys(str(one["error"]) for one in _of(events, Kind.COMMIT_FAILED)))


def resets(events: Sequence[Event]) -> tuple[str, ...]:
    """Reasons why positions were set other than to a committed offset, each once."""
    reasons = (str(one["why"]) for one in _of(events, Kind.POSITION_SET))
    return tuple(dict.fromkeys(why for why in reasons if why != "the committed offset"))


def read_from(events: Sequence[Event]) -> tuple[int, ...]:
    """The brokers that leaders sent consumers to, each once."""
    return tuple(dict.fromkeys(int(str(one["broker"])) for one in _of(events, Kind.READS_FROM)))


def longest_until_read_ms(events: Sequence[Event]) -> float:
    """The longest time, in milliseconds, from an acknowledgement to the first reading of the record."""
    told = {str(one["value"]): int(str(one["time"])) for one in reversed(_of(events, Kind.ACKNOWLEDGED))}
    read = {str(one["value"]): int(str(one["time"])) for one in reversed(_of(events, Kind.CONSUMED))}
    return max((read[value] - told[value] for value in told if value in read), default=0) / MILLISECOND


AT_REST = 4 * SECOND
"""Time without a new assignment after which a group has settled."""


def shares(events: Sequence[Event]) -> tuple[str, ...]:
    """Number of partitions of each member, each time the group had settled, as ``4+3``."""
    assigned = [event for event in events if event.kind == Kind.ASSIGNED]
    held: dict[object, int] = {}
    told: list[str] = []
    for event, following in zip(assigned, [*assigned[1:], None], strict=True):
        held[event.node] = len(event.values[2])
        if following is None or following.time - event.time > AT_REST:
            told.append("+".join(map(str, sorted(held.values(), reverse=True))))
    return tuple(told)


def done_by_group(events: Sequence[Event]) -> tuple[str, ...]:
    """Number of values that each group processed, as ``billing 5``."""
    done = [one for one in _of(events, Kind.PROCESSED) if one["result"] == "done"]
    counts = Counter(str(one["group"]) for one in done)
    return tuple(f"{group} {counts[group]}" for group in sorted(counts))


PROBES: Mapping[str, Probe] = {
    "done_twice": done_twice,
    "never_done": never_done,
    "commit_errors": commit_errors,
    "resets": resets,
}
"""Probes of most of these scenarios."""


def controllers(events: Sequence[Event]) -> tuple[str, ...]:
    """Nodes that became the controller, one after the other."""
    return tuple(event.node for event in events if event.kind == Kind.CONTROLLER_ELECTED)


def controller_epochs(events: Sequence[Event]) -> tuple[int, ...]:
    """Epochs of the controllers, in the order of their elections."""
    return tuple(fields_of(event)["epoch"] for event in events if event.kind == Kind.CONTROLLER_ELECTED)


def last_states(events: Sequence[Event]) -> tuple[str, ...]:
    """The last decision on each partition that was decided on, as ``t-0: 2 of 2,3``, by partition."""
    found: dict[str, str] = {}
    for event in events:
        if event.kind == Kind.PARTITION_CHANGED and event.time > 0:
            fields = fields_of(event)
            found[fields["partition"]] = f"{fields['leader']} of {','.join(map(str, fields['isr']))}"
    return tuple(f"{partition}: {found[partition]}" for partition in sorted(found))


def changed_between(begin: int, end: int) -> Callable[[Sequence[Event]], tuple[str, ...]]:
    """The partitions that a controller changed from ``begin`` to ``end`` microseconds, by name."""

    def changed(events: Sequence[Event]) -> tuple[str, ...]:
        decided = (event for event in events if event.kind == Kind.PARTITION_CHANGED and begin <= event.time < end)
        return tuple(sorted({fields_of(event)["partition"] for event in decided}))

    return changed


def milliseconds_between(first: Callable[[Event], bool], then: Callable[[Event], bool]) -> Callable[..., Any]:
    """A probe: milliseconds from the first event of one kind to the first of another after it; None if none came."""

    def measured(events: Sequence[Event]) -> float | None:
        begun = next((event.time for event in events if first(event)), None)
        if begun is None:
            return None
        done = next((event.time for event in events if event.time >= begun and then(event)), None)
        return None if done is None else (done - begun) / MICROSECONDS

    return measured


def is_kind(kind: str, node: str = "", after: int = 0, **wanted: object) -> Callable[[Event], bool]:
    """A predicate: true for events of that kind, at that node, from ``after`` microseconds on, with these values."""

    def matches(event: Event) -> bool:
        if event.kind != kind or event.time < after or (node and event.node != node):
            return False
        return wanted.items() <= fields_of(event).items()

    return matches


def acknowledged_between(begin: int, end: int) -> Callable[[Sequence[Event]], int]:
    """A probe: number of records acknowledged from ``begin`` to ``end`` microseconds."""

    def counted(events: Sequence[Event]) -> int:
        return sum(event.kind == Kind.ACKNOWLEDGED and begin <= event.time < end for event in events)

    return counted


def written_by_leader(events: Sequence[Event]) -> tuple[str, ...]:
    """Number of records that each broker appended as a leader, as ``broker-1: 10``, by broker."""
    counts: dict[str, int] = {}
    for event in events:
        if event.kind == Kind.APPENDED and fields_of(event)["role"] == "leader":
            counts[event.node] = counts.get(event.node, 0) + len(fields_of(event)["records"])
    return tuple(f"{node}: {counts[node]}" for node in sorted(counts))
