"""Observations of one table, drawn: few keys, few values, so that runs meet, break, and go on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from hypothesis import strategies as st

from kreplica.history.model import Key, Observation, Row

MARCH = int(datetime(2026, 3, 31, 20, tzinfo=UTC).timestamp()) * 1000
HOUR = 3_600_000
"""April begins four hours after MARCH."""

KEYS: tuple[Key, ...] = (("orders", 0), ("orders", 1), ("audit", 0))
COLUMNS = ("leader", "isr", "topic_id")
VALUES = st.integers(0, 2)


def observed(hours: float, rows: Mapping[Key, Row], *, whole: bool = True, digest: str = "") -> Observation:
    """What a snapshot told, so many hours after the first moment."""
    return Observation(MARCH + round(hours * HOUR), digest or f"at {hours}", whole, rows)


@st.composite
def observations(draw: st.DrawFn) -> list[Observation]:
    """Up to eight snapshots over a month's end; each knows some columns, some of them not of every key."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        told = draw(st.sets(st.sampled_from(COLUMNS)))
        rows = {}
        for key in draw(st.sets(st.sampled_from(KEYS))):
            known = {name for name in sorted(told) if draw(st.integers(0, 5))}
            rows[key] = {name: draw(VALUES) for name in sorted(known)}
        moment = MARCH + draw(st.integers(0, 11)) * HOUR
        found.append(Observation(moment, f"{draw(st.integers(0, 9))}{number}", draw(st.booleans()), rows))
    return found
