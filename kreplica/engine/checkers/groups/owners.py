"""Partitions that two members of a consumer group have at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kreplica.engine.rules.replication.error_codes import ErrorCode
from kreplica.engine.trace import Event, Kind, fields_of

_BY_HEARTBEATS = "group_epochs.reconcile"
"""The rule of assignments of KIP-848; the others are assignors of the classic protocol."""


def owned_twice(events: Sequence[Event]) -> tuple[str, ...]:
    """Partitions that two members of a group had at the same time, while the coordinator knew both of them, each once.

    As ``owned-once`` of the models of a group. A member that is told of an error of its heartbeat has none any more. In
    the classic protocol whoever joins a generation has given up what it had in an earlier one.
    """
    found = dict[str, None]()
    keeper = _Keeper()
    for event in events:
        found.update(dict.fromkeys(keeper.shared_after(event)))
    return tuple(found)


class _Keeper:
    """A fold over assignments: ``has`` is by group and process, ``members`` by group, as the coordinator knows them."""

    def __init__(self) -> None:
        self.has: dict[tuple[str, str], Event] = {}
        self.members: dict[str, tuple[str, ...]] = {}

    def shared_after(self, event: Event) -> Iterator[str]:
        """Takes an event in; gives the partitions that it makes two members have."""
        if event.kind == Kind.GROUP_CHANGED:
            told = fields_of(event)
            self.members[told["group"]] = tuple(name.rpartition(".")[0] for name in told["members"])
        elif event.kind == Kind.ASSIGNED:
            self.has[str(event.values[0]), event.node] = event
            yield from self._shared(event)
        elif event.kind in (Kind.CRASHED, Kind.STOPPED) or (event.kind == Kind.MESSAGE and _is_refused(event)):
            self.has = {key: one for key, one in self.has.items() if key[1] != event.node}

    def _shared(self, event: Event) -> Iterator[str]:
        group, generation, partitions, rule = event.values
        known = self.members.get(group, ())
        for (other_group, node), other in self.has.items():
            if other_group != group or node == event.node or not {node, event.node} <= set(known):
                continue
            if rule == _BY_HEARTBEATS or other.values[1] == generation:
                yield from (one for one in partitions if one in other.values[2])


def _is_refused(event: Event) -> bool:
    """True of an answer that refuses a heartbeat of KIP-848."""
    _, _, name, detail = event.values
    return name == "ConsumerGroupHeartbeat answer" and detail[0] is not ErrorCode.NONE
