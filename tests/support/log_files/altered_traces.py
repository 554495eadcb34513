"""A metadata log with one record altered or dropped, judged from shortly before it up to the first fault."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from kreplica.formats.metadata_log.files import Replay, earliest, find_metadata, history
from kreplica.formats.metadata_log.image import MetadataImage
from kreplica.formats.metadata_log.log import Decoded, MetadataEntry
from kreplica.formats.metadata_log.records import MetadataRecord
from kreplica.formats.traces.kraft.releases import Releases
from kreplica.formats.traces.kraft.rows import TraceChange
from kreplica.formats.traces.kraft.walk import Walk

EVERY = 100
NOTHING = MetadataRecord("NO_OP_RECORD", 0, {})
CHANGE = "PARTITION_CHANGE_RECORD"
BROKERS = (1, 2, 3)

Data = dict[str, Any]


class AlteredTrace:
    """The entries of a metadata log, and the walk through them at every hundredth.

    Args:
        path: The log.
    """

    def __init__(self, path: str) -> None:
        files, replay = find_metadata(path), Replay()
        self.entries: list[MetadataEntry] = [entry for entry, _ in history(files, replay, earliest(files))]
        walk = Walk(MetadataImage(), Releases(path))
        self._kept: list[Walk] = []
        for number, entry in enumerate(self.entries):
            if number % EVERY == 0:
                self._kept.append(copy.deepcopy(walk))
            walk.take(entry, walk.image.apply(entry))
        walk.end()
        self.whole = walk

    def first_fault(self, number: int, record: Decoded | None) -> TraceChange | None:
        """The first fault once a record is another, or is gone and the later ones have moved up (None)."""
        walk = copy.deepcopy(self._kept[number // EVERY])
        for place, entry in enumerate(self.entries[number - number % EVERY :], number - number % EVERY):
            if place == number and record is None:
                continue
            taken = entry
            if place == number and record is not None:
                taken = replace(entry, record=record)
            elif place > number and record is None:
                taken = replace(entry, offset=entry.offset - 1)
            walk.take(taken, walk.image.apply(taken))
            if walk.rows and (fault := next((row for row in walk.rows if row.refused), None)):
                return fault
            walk.rows.clear()
        walk.end()
        return next((row for row in walk.rows if row.refused), None)


def other_leader(data: Data, _: Random) -> Data:
    """The next broker leads, or one where nobody did."""
    leader = data["leader"]
    return {**data, "leader": 1 if leader < 0 else leader % len(BROKERS) + 1}


def nobody_leads(data: Data, _: Random) -> Data:
    """Nobody leads."""
    return {**data, "leader": -1}


def _toggled(name: str) -> Callable[[Data, Random], Data]:
    def altered(data: Data, random: Random) -> Data:
        broker, held = random.choice(BROKERS), list(data[name] or ())
        return {**data, name: [one for one in held if one != broker] if broker in held else [*held, broker]}

    return altered


other_isr, other_elr, other_last_known_elr = map(_toggled, ("isr", "eligibleLeaderReplicas", "lastKnownElr"))


def recovering(data: Data, _: Random) -> Data:
    """The leader is recovering from an unclean election."""
    return {**data, "leaderRecoveryState": 1}


def other_partition(data: Data, _: Random) -> Data:
    """The next partition of the topic."""
    return {**data, "partitionId": data["partitionId"] + 1}


ALTERATIONS: dict[str, Callable[[Data, Random], Data]] = {
    "leader": other_leader,
    "nobody leads": nobody_leads,
    "ISR": other_isr,
    "ELR": other_elr,
    "last known ELR": other_last_known_elr,
    "recovery": recovering,
    "partition": other_partition,
}


def changes(entries: Sequence[MetadataEntry]) -> list[int]:
    """Numbers of the entries that change a partition."""
    return [number for number, entry in enumerate(entries) if entry.record.type == CHANGE]
