"""Brokers that have been down for some time: signs of life and of death, and refusal where they do not decide."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import QUORUM
from kreplica.model.tables.table import Table
from kreplica.planner.reassignment.dead_brokers import dead_brokers
from tests.support.clusters.generated import NOON, partition, snapshot_of

HOUR = 3600


def ago(minutes: float) -> datetime:
    return NOON - timedelta(minutes=minutes)


def taken(minutes: float = 0, fenced: dict[int, float] | None = None, **alive: bool) -> ClusterSnapshot:
    """Brokers b1, b2, … alive or not, some minutes before noon; fenced so many minutes before noon."""
    rows = [
        {
            "broker": int(name[1:]),
            "alive": state,
            "down_since_ms": None if (since := (fenced or {}).get(int(name[1:]))) is None else _ms(since),
        }
        for name, state in alive.items()
    ]
    return replace(snapshot_of([partition(leader=1)], rows), taken_at=ago(minutes))


def _ms(minutes: float) -> int:
    return int(ago(minutes).timestamp() * 1000)


def fetched(snapshot: ClusterSnapshot, **minutes: float | None) -> ClusterSnapshot:
    rows = [
        {"node": int(name[1:]), "voter": False, "leader": False, "last_fetch_ms": None if one is None else _ms(one)}
        for name, one in minutes.items()
    ]
    return replace(snapshot, quorum=Table.from_rows(QUORUM, rows))


NOW = taken(b1=True, b2=True, b3=False)


@pytest.mark.parametrize(
    ("now", "earlier", "long", "recent", "seen"),
    [
        (fetched(NOW, b3=61), [], (3,), (), ()),
        (fetched(NOW, b3=60), [], (3,), (), ()),
        (fetched(NOW, b3=59), [], (), (3,), ()),
        (taken(b1=True, b2=True, b3=False, fenced={3: 90}), [], (3,), (), ()),
        (taken(b1=True, b2=True, b3=False, fenced={3: 30}), [taken(120, b3=False)], (), (3,), ()),
        (NOW, [taken(90, b3=False)], (3,), (), (3,)),
        (NOW, [taken(20, b3=False), taken(90, b3=False)], (3,), (), (3,)),
        (NOW, [taken(30, b3=True)], (), (3,), ()),
        (NOW, [taken(90, b3=False), taken(30, b3=True)], (), (3,), ()),
        (NOW, [taken(120, b3=False), taken(90, b3=True), taken(70, b3=False)], (3,), (), (3,)),
        (taken(b1=True, b2=True, b3=True), [], (), (), ()),
    ],
)
def test_signs_of_life_and_of_death_decide(
    now: ClusterSnapshot,
    earlier: list[ClusterSnapshot],
    long: tuple[int, ...],
    recent: tuple[int, ...],
    seen: tuple[int, ...],
) -> None:
    found = dead_brokers(now, HOUR, earlier)
    assert (found.long, found.recent, found.seen_down) == (long, recent, seen)


@pytest.mark.parametrize(
    ("now", "earlier", "said"),
    [
        (NOW, [], "the source does not tell since when broker 3 is down"),
        (fetched(NOW, b3=None), [], "does not tell"),
        (NOW, [taken(120, b3=True)], "broker 3 was last known to be alive at 2026-03-01 10:00:00 UTC"),
        (NOW, [taken(30, b3=False)], "broker 3 was down already at 2026-03-01 11:30:00 UTC"),
        (NOW, [taken(120, b3=True), taken(30, b3=False)], "was down already at 2026-03-01 11:30:00 UTC"),
        (NOW, [taken(120, b1=True)], "does not tell"),
        (taken(b1=True, b2=True), [], "the source does not tell since when broker 3 is down"),
    ],
)
def test_where_nothing_decides_it_is_refused_with_what_is_known(
    now: ClusterSnapshot, earlier: list[ClusterSnapshot], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        dead_brokers(now, HOUR, earlier)
    assert "whether broker 3 has been down for 1 h" in refused.value.what
    assert said in refused.value.why
    assert "--repair 3" in refused.value.fix
    assert "--since DUMP" in refused.value.fix


@examples(2)
@given(st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=5), st.integers(1, 200))
def test_no_broker_that_was_seen_alive_in_that_time_counts_as_long_dead(
    seen: list[tuple[int, bool]], minutes: int
) -> None:
    """Against the plain reading: down then, down now, and never seen alive at or after the time asked for."""
    earlier = [taken(age, b3=alive) for age, alive in dict(seen).items()]
    states = dict(seen)
    lately_alive = any(alive for age, alive in states.items() if age < minutes)
    old = [age for age in states if age >= minutes]
    newest_old_is_down = bool(old) and not states[min(old)]
    try:
        found = dead_brokers(NOW, minutes * 60, earlier)
    except UsageError:
        assert not lately_alive
        assert not newest_old_is_down
        return
    assert (3 in found.long) == (newest_old_is_down and not lately_alive)
    assert (3 in found.recent) == lately_alive
