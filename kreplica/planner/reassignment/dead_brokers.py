"""Brokers that have been down for some time, by what a snapshot and earlier ones of the same cluster know.

Known of a broker that is down now is a last sign of life (its last fetch of the metadata, an earlier snapshot in which
it was alive) and since when it has been down at least (the record that fenced it, its last fetch, earlier snapshots
in which it was down, as far as none between them shows it alive). Where the time asked for lies between the two, nobody
can tell, and the broker is not taken for one that will not return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.wording.durations import spell_duration
from kreplica.model.wording.words import named


@dataclass(frozen=True, slots=True)
class DeadBrokers:
    """Brokers that are down, by for how long.

    Args:
        long: Brokers that have been down at least as long as was asked for.
        recent: Brokers that have been alive since.
        seen_down: Long ones of which only earlier snapshots tell: they may have been back between them.
    """

    long: tuple[int, ...]
    recent: tuple[int, ...]
    seen_down: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Signs:
    """A broker's last sign of life, and since when it has been down at least; each None where not known."""

    alive_at: datetime | None
    down_since: datetime | None
    told: bool


def dead_brokers(snapshot: ClusterSnapshot, seconds: float, earlier: Sequence[ClusterSnapshot] = ()) -> DeadBrokers:
    """Finds the brokers that have been down for some time when the snapshot was taken.

    Args:
        snapshot: The cluster.
        seconds: The time.
        earlier: The same cluster at earlier times, in any order.

    Raises:
        UsageError: Since when a broker has been down is not known well enough.
    """
    limit = snapshot.taken_at - timedelta(seconds=seconds)
    signs = {broker: _signs(snapshot, broker, earlier) for broker in _down(snapshot)}
    long = [one for one, sign in signs.items() if sign.down_since is not None and sign.down_since <= limit]
    recent = [one for one, sign in signs.items() if sign.alive_at is not None and sign.alive_at > limit]
    if unknown := [one for one in signs if one not in (*long, *recent)]:
        ids = ",".join(map(str, unknown))
        raise UsageError(
            f"nothing tells whether {named('broker', unknown)} {'has' if len(unknown) == 1 else 'have'} been down for"
            f" {spell_duration(seconds)}",
            "; ".join(_said(one, signs[one]) for one in unknown),
            f"name those that will not return, --repair {ids}, or give an older snapshot of this cluster, --since DUMP",
        )
    return DeadBrokers(tuple(long), tuple(recent), tuple(one for one in long if not signs[one].told))


def _down(snapshot: ClusterSnapshot) -> list[int]:
    """Brokers that are known to be down, assigned ones that are not registered included."""
    ids = np.union1d(snapshot.brokers.integers("broker").values, snapshot.lists("replicas").values)
    return [broker for broker in ids.tolist() if snapshot.is_alive(broker) is False]


def _signs(snapshot: ClusterSnapshot, broker: int, earlier: Sequence[ClusterSnapshot]) -> _Signs:
    fetched = _moment(snapshot, "quorum", "node", broker, "last_fetch_ms")
    fenced = _moment(snapshot, "brokers", "broker", broker, "down_since_ms")
    states = [(one.taken_at, _state(one, broker)) for one in earlier]
    told = [moment for moment in (fetched, fenced) if moment is not None]
    alive_at = max([*told, *(moment for moment, alive in states if alive)], default=None)
    seen = [moment for moment, alive in states if alive is False and (alive_at is None or moment > alive_at)]
    return _Signs(alive_at, min([*told, *seen], default=None), told=bool(told))


def _moment(snapshot: ClusterSnapshot, table: str, key: str, broker: int, name: str) -> datetime | None:
    rows = getattr(snapshot, table)
    found = np.flatnonzero(rows.integers(key).values == broker)
    milliseconds = rows.integers(name)[int(found[0])] if len(found) else None
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _state(snapshot: ClusterSnapshot, broker: int) -> bool | None:
    """True if a broker was alive; None where that snapshot does not list it: it may not have been there yet."""
    found = np.flatnonzero(snapshot.brokers.integers("broker").values == broker)
    return snapshot.brokers.booleans("alive")[int(found[0])] if len(found) else None


def _said(broker: int, signs: _Signs) -> str:
    facts = []
    if signs.alive_at is not None:
        facts.append(f"broker {broker} was last known to be alive at {signs.alive_at:%Y-%m-%d %H:%M:%S} UTC")
    if signs.down_since is not None:
        facts.append(f"broker {broker} was down already at {signs.down_since:%Y-%m-%d %H:%M:%S} UTC")
    return ", ".join(facts) or f"the source does not tell since when broker {broker} is down"
