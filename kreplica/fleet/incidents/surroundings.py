"""Surroundings of an incident: what changed before it began, and whether all came back as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreplica.fleet.incidents.causes import Cause, Ground
from kreplica.fleet.incidents.incident import Change
from kreplica.fleet.incidents.scenes import Scene, last_before
from kreplica.fleet.lasting import Lasting
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.wording.words import counted

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
    for before, after, last, first in _recent(ground, table, cause, cause.span.first):
        old, new = table.columns["value"][before], table.columns["value"][after]
        if old != new:
            yield Change("setting", ground.ms(last), ground.ms(first), f"{_entity(table, after)}: {old} -> {new}")
    keys = table.runs.coded.keys
    begun = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    earlier = np.searchsorted(table.listing, table.runs.first[begun]) - 1
    near = (earlier >= 0) & _near(ground, cause, table.runs.first[begun], cause.span.first)
    for row, at in zip(begun[near].tolist(), earlier[near].tolist(), strict=True):
        text = f"{_entity(table, row)}: set to {table.columns['value'][row]}"
        yield Change("setting", ground.ms(int(table.listing[at])), ground.ms(int(table.runs.first[row])), text)


def _entity(table: Lasting, row: int) -> str:
    kind, entity, name = (table.columns[one][row] for one in ("entity_type", "entity", "name"))
    return f"{kind} {entity} {name}" if entity else f"{kind} {name}"


def _versions(ground: Ground, cause: Cause) -> Iterator[Change]:
    table = ground.history.brokers
    for before, after, last, first in _recent(ground, table, cause, cause.span.first):
        for name in ("version", "rack"):
            old, new = table.columns[name][before], table.columns[name][after]
            if None not in (old, new) and old != new:
                text = f"broker {table.columns['broker'][after]} {name} {old} -> {new}"
                yield Change(name, ground.ms(last), ground.ms(first), text)


def _near(ground: Ground, cause: Cause, numbers: Integers, until: int) -> Mask:
    """Observations up to one of them that are not too long before a cause began."""
    found: Mask = (numbers <= until) & (ground.history.times[numbers] >= ground.ms(cause.span.first) - WINDOW_MS)
    return found


def _recent(ground: Ground, table: Lasting, cause: Cause, until: int) -> Iterator[tuple[int, int, int, int]]:
    """Rows that another one ended near a cause: both, last observation of the one, first of the other."""
    before, after = table.successions
    near = np.flatnonzero(_near(ground, cause, table.runs.first[after], until))
    for old, new in zip(before[near].tolist(), after[near].tolist(), strict=True):
        yield old, new, int(table.runs.last[old]), int(table.runs.first[new])


def _moves_and_elections(ground: Ground, cause: Cause) -> Iterator[Change]:
    """Partitions whose replicas or leaders changed before the observation that shows the cause first."""
    table = ground.history.partitions
    before, after = table.successions
    near = np.flatnonzero(_near(ground, cause, table.runs.first[after], cause.span.before))
    before, after = before[near], after[near]
    for kind, name, text in (
        ("move", "replicas", "replicas of {} moved"),
        ("election", "leader", "{} got another leader"),
    ):
        changed = table.codes(name)[before] != table.codes(name)[after]
        pairs = np.column_stack([table.runs.last[before[changed]], table.runs.first[after[changed]]])
        found, numbers = np.unique(pairs, axis=0, return_counts=True)
        for (last, first), number in zip(found.tolist(), numbers.tolist(), strict=True):
            yield Change(kind, ground.ms(last), ground.ms(first), text.format(counted(number, "partition")))


def _others(ground: Ground, cause: Cause, others: Sequence[Cause]) -> Iterator[Change]:
    racks, begin = ground.racks(cause.begin), ground.ms(cause.span.first)
    own = {racks[one] for one in cause.brokers if one in racks}
    for other in others:
        if begin - ground.ms(other.span.first) > WINDOW_MS:
            continue
        if other is cause or not other.brokers or other.span.first >= cause.span.first or other.span.before < 0:
            continue
        shared = sorted({racks[one] for one in other.brokers if one in racks} & own)
        where = f", in the same rack {shared[0]}" if shared else ""
        over = "" if other.span.ended < 0 or other.span.ended > cause.span.first else ", over by then"
        text = f"{other.kind} of {other.key}{where}{over}"
        yield Change("incident", ground.ms(other.span.before), ground.ms(other.span.first), text)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The brokers of a cause once it is over.

    Args:
        at_ms: The moment that is compared with the one before the cause.
        differences: Clauses; empty where all is as it was.
    """

    at_ms: int
    differences: Sequence[str]


def aftermath(ground: Ground, cause: Cause, others: Sequence[Cause]) -> Aftermath | None:
    """Differences between the brokers before a cause and after it, before another one concerns them.

    None where the cause goes on, where nothing before it is known, where it concerns no broker, or where the next cause
    begins as it ends.
    """
    if cause.end is None or cause.begin == 0 or not cause.brokers:
        return None
    brokers = {*cause.brokers}
    next_ones = [one.begin for one in others if one.begin >= cause.end and not brokers.isdisjoint(one.brokers)]
    last = min(next_ones, default=len(ground.scenes)) - 1
    if last < cause.end:
        return None
    before, after = ground.scenes[cause.begin - 1], ground.scenes[last]
    found = []
    for broker in cause.brokers:
        parts = [*_facts(before, after, broker), *_numbers(before, after, broker)]
        if parts:
            found.append(f"broker {broker} {', '.join(parts)}")
    return Aftermath(ground.until(last_before(ground.scenes, last + 1, ground.newest)), found)


def _facts(before: Scene, now: Scene, broker: int) -> Iterator[str]:
    rows = [{row["broker"]: row for row in scene.brokers.rows()}.get(broker) for scene in (before, now)]
    old, new = rows
    if broker in now.down or (old is not None and new is None):
        yield "is not there"
    elif old is not None and new is not None:
        for name in ("host", "port", "rack", "version"):
            if None not in (old[name], new[name]) and old[name] != new[name]:
                yield f"has {name} {new[name]}, not {old[name]}"


def _numbers(before: Scene, now: Scene, broker: int) -> Iterator[str]:
    """Partitions that it led, was in sync in, and held, of those that are still there."""
    shown = now.stage.partitions
    old, new = (shown.at(scene.place) for scene in (before, now))
    _, at_old, at_new = np.intersect1d(shown.keys[old], shown.keys[new], assume_unique=True, return_indices=True)
    old, new = old[at_old], new[at_new]
    leads = shown.codes("leader") == broker
    again, all_of = int((leads[old] & leads[new]).sum()), int(leads[old].sum())
    if again < all_of:
        yield f"leads {again} of {counted(all_of, 'partition')} that it led"
    for name, text in (("isr", "is in sync in"), ("replicas", "holds replicas of")):
        has = shown.listing(name, broker)
        again, all_of = int((has[old] & has[new]).sum()), int(has[old].sum())
        if again < all_of:
            yield f"{text} {again} of {all_of}"
