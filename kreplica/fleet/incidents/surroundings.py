"""Surroundings of an incident: what changed before it began, and whether all came back as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from kreplica.fleet.incidents.causes import Cause, Ground
from kreplica.fleet.incidents.incident import Change
from kreplica.fleet.incidents.scenes import Scene
from kreplica.fleet.lasting import Lasting
from kreplica.model.words import counted

WINDOW_MS = 24 * 3_600_000
"""Changes are looked for so long before an incident began."""
MOST_CHANGES = 20


def changes_before(ground: Ground, cause: Cause, others: Sequence[Cause]) -> list[Change]:
    """Changes of settings, versions, assignments, leaders and other brokers before a cause began, the last ones first.

    Args:
        ground: The ground.
        cause: The cause.
        others: All causes of the cluster.
    """
    found = [
        *_settings(ground, cause),
        *_versions(ground, cause),
        *_moves_and_elections(ground, cause),
        *_others(ground, cause, others),
    ]
    begin = ground.ms(cause.span.first)
    near = [one for one in found if begin - one.at_ms <= WINDOW_MS]
    return sorted(near, key=lambda one: (-one.at_ms, one.kind, one.text))[:MOST_CHANGES]


def _settings(ground: Ground, cause: Cause) -> Iterator[Change]:
    table = ground.history.configs
    for before, after, last, first in _successions(table, cause.span.first):
        old, new = table.columns["value"][before], table.columns["value"][after]
        if old != new:
            yield Change("setting", ground.ms(last), ground.ms(first), f"{_entity(table, after)}: {old} -> {new}")
    keys = table.runs.coded.keys
    begun = np.append(True, keys[1:] != keys[:-1]) if len(keys) else np.zeros(0, np.bool_)
    for row in np.flatnonzero(begun).tolist():
        first = int(table.runs.first[row])
        earlier = table.listing[table.listing < first]
        if len(earlier) and first <= cause.span.first:
            text = f"{_entity(table, row)}: set to {table.columns['value'][row]}"
            yield Change("setting", ground.ms(int(earlier[-1])), ground.ms(first), text)


def _entity(table: Lasting, row: int) -> str:
    kind, entity, name = (table.columns[one][row] for one in ("entity_type", "entity", "name"))
    return f"{kind} {entity} {name}" if entity else f"{kind} {name}"


def _versions(ground: Ground, cause: Cause) -> Iterator[Change]:
    table = ground.history.brokers
    for before, after, last, first in _successions(table, cause.span.first):
        for name in ("version", "rack"):
            old, new = table.columns[name][before], table.columns[name][after]
            if None not in (old, new) and old != new:
                text = f"broker {table.columns['broker'][after]} {name} {old} -> {new}"
                yield Change(name, ground.ms(last), ground.ms(first), text)


def _successions(table: Lasting, until: int) -> Iterator[tuple[int, int, int, int]]:
    """Rows that another one ended up to an observation: both, last observation of the one, first of the other."""
    for before, after in zip(*(some.tolist() for some in table.successions), strict=True):
        first = int(table.runs.first[after])
        if first <= until:
            yield before, after, int(table.runs.last[before]), first


def _moves_and_elections(ground: Ground, cause: Cause) -> Iterator[Change]:
    """Partitions whose replicas or leaders changed before the observation that shows the cause first."""
    table = ground.history.partitions
    moved: Counter[tuple[int, int]] = Counter()
    led: Counter[tuple[int, int]] = Counter()
    for before, after, last, first in _successions(table, cause.span.before):
        if table.codes("replicas")[before] != table.codes("replicas")[after]:
            moved[last, first] += 1
        if table.codes("leader")[before] != table.codes("leader")[after]:
            led[last, first] += 1
    for (last, first), number in moved.items():
        text = f"replicas of {counted(number, 'partition')} moved"
        yield Change("move", ground.ms(last), ground.ms(first), text)
    for (last, first), number in led.items():
        text = f"{counted(number, 'partition')} got another leader"
        yield Change("election", ground.ms(last), ground.ms(first), text)


def _others(ground: Ground, cause: Cause, others: Sequence[Cause]) -> Iterator[Change]:
    racks = ground.racks(cause.begin)
    own = {racks[one] for one in cause.brokers if one in racks}
    for other in others:
        if other is cause or not other.brokers or other.span.first >= cause.span.first or other.span.before < 0:
            continue
        shared = sorted({racks[one] for one in other.brokers if one in racks} & own)
        where = f", in the same rack {shared[0]}" if shared else ""
        over = "" if other.span.ended < 0 or other.span.ended > cause.span.first else ", over by then"
        text = f"{other.kind} of {other.key}{where}{over}"
        yield Change("incident", ground.ms(other.span.before), ground.ms(other.span.first), text)


def differences(ground: Ground, cause: Cause) -> list[str] | None:
    """Differences between the brokers before a cause and now, empty where all is as it was.

    None where the cause goes on, where nothing before it is known, or where it concerns no broker.
    """
    if cause.end is None or cause.begin == 0 or not cause.brokers:
        return None
    before, now = ground.scenes[cause.begin - 1], ground.scenes[-1]
    found = []
    for broker in cause.brokers:
        parts = [*_facts(before, now, broker), *_numbers(before, now, broker)]
        if parts:
            found.append(f"broker {broker} {', '.join(parts)}")
    return found


def _facts(before: Scene, now: Scene, broker: int) -> Iterator[str]:
    rows = [{row["broker"]: row for row in scene.snapshot.brokers.rows()}.get(broker) for scene in (before, now)]
    old, new = rows
    if broker in now.down or (old is not None and new is None):
        yield "is not there"
    elif old is not None and new is not None:
        for name in ("host", "port", "rack", "version"):
            if None not in (old[name], new[name]) and old[name] != new[name]:
                yield f"has {name} {new[name]}, not {old[name]}"


def _numbers(before: Scene, now: Scene, broker: int) -> Iterator[str]:
    """Partitions that it led, was in sync in, and held, of those that are still there."""
    both = [(before.partitions[key], row) for key, row in now.partitions.items() if key in before.partitions]
    led = [new for old, new in both if old["leader"] == broker]
    again = sum(new["leader"] == broker for new in led)
    if again < len(led):
        yield f"leads {again} of {counted(len(led), 'partition')} that it led"
    synced = [new for old, new in both if broker in _ids(old["isr"])]
    again = sum(broker in _ids(new["isr"]) for new in synced)
    if again < len(synced):
        yield f"is in sync in {again} of {len(synced)}"
    held = [new for old, new in both if broker in _ids(old["replicas"])]
    again = sum(broker in _ids(new["replicas"]) for new in held)
    if again < len(held):
        yield f"holds replicas of {again} of {len(held)}"


def _ids(value: object) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()
