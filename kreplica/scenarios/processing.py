"""Probes for scenarios with groups: what their applications did with the records. Folds over the events of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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
    """With what commits failed at the clients, each error once."""
    return tuple(dict.fromkeys(str(one["error"]) for one in _of(events, Kind.COMMIT_FAILED)))


def resets(events: Sequence[Event]) -> tuple[str, ...]:
    """Why positions were set other than to a committed offset, each reason once."""
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
"""For so long nobody is given another assignment: the group has settled."""


def shares(events: Sequence[Event]) -> tuple[str, ...]:
    """How many partitions each member had whenever the group had settled, as ``4+3``."""
    assigned = [event for event in events if event.kind == Kind.ASSIGNED]
    held: dict[object, int] = {}
    told: list[str] = []
    for event, following in zip(assigned, [*assigned[1:], None], strict=True):
        held[event.node] = len(event.values[2])
        if following is None or following.time - event.time > AT_REST:
            told.append("+".join(map(str, sorted(held.values(), reverse=True))))
    return tuple(told)


def done_by_group(events: Sequence[Event]) -> tuple[str, ...]:
    """How many values each group processed, as ``billing 5``."""
    done = [one for one in _of(events, Kind.PROCESSED) if one["result"] == "done"]
    counts = Counter(str(one["group"]) for one in done)
    return tuple(f"{group} {counts[group]}" for group in sorted(counts))


PROBES: Mapping[str, Probe] = {
    "done_twice": done_twice,
    "never_done": never_done,
    "commit_errors": commit_errors,
    "resets": resets,
}
"""What most of these scenarios look at."""
