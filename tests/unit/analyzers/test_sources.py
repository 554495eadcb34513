"""Sources of a history's rows against its snapshots and logs themselves: which observation each of them is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from histories.folders import candidate, moment
from histories.logs import Log, taken_in
from histories.observations import HOUR, MARCH, observed

from analyzers.reading.sources import Source, Sources
from kreplica.errors import InputError
from kreplica.history.ingest import ingest
from kreplica.history.months.log_steps import StepKind
from kreplica.history.selection import choose
from kreplica.model.snapshot import Gap
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

ORDERS = ("orders", 0)
HOURS = (0, 1, 3.9, 4, 4 + 2 / 3600, 5, 6)
"""April begins after four hours; a log tells of its first four seconds."""
LOG = Log([{ORDERS: 1}, {ORDERS: 2}, {ORDERS: 2}, {ORDERS: 3}, {ORDERS: 3}], [10, 14, 15, 19, 20])
LOGGED = [LOG.time(number) for number in (0, 1, 3, 4)]
"""Steps of a log: its beginning, two records that changed something, and its end."""


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> LocalStorage:
    """Two clusters with the same snapshots, and a log of the second one."""
    found = LocalStorage(tmp_path_factory.mktemp("history"))
    for number, cluster in enumerate(("Aa1", "Zk5")):
        some = [observed(hour, {ORDERS: {"leader": 1}}, digest=f"{number}{hour}") for hour in HOURS]
        facts: dict[str, Any] = {"name": cluster, "controller_epoch": 7, "metadata_offset": 40 + number}
        ingest([candidate(one, cluster, cluster_id=cluster, **facts) for one in some], found)
    taken_in(found, [LOG.slice(0, 4)])
    return found


def sources_of(storage: LocalStorage, *, logs: bool = True, **wanted: Any) -> Sources:
    return Sources(choose(storage, Wanted(**wanted), logs=True), logs=logs)


def times(sources: Sources, cluster: str) -> list[tuple[int, bool]]:
    """Time of each observation of a cluster, and whether a log tells it."""
    found = [one for one in sources.timeline.observed if one.cluster == cluster]
    return [(round(one.taken_at.timestamp() * 1000), one.log is not None) for one in found]


def at(hours: float) -> int:
    return MARCH + round(hours * HOUR)


def test_snapshots_tell_what_no_log_tells(storage: LocalStorage) -> None:
    sources = sources_of(storage)
    every = [(at(hour), False) for hour in HOURS]
    assert times(sources, "Aa1") == every
    outside = [one for one in every if not LOGGED[0] <= one[0] <= LOGGED[-1]]
    assert times(sources, "Zk5") == sorted([*outside, *((time, True) for time in LOGGED)])
    assert sources.logged == 1
    assert [one.log for one in sources.timeline.observed if one.source == "kraft-metadata"] == [0] * 4


def test_without_logs_every_snapshot_is_asked(storage: LocalStorage) -> None:
    sources = sources_of(storage, logs=False)
    assert times(sources, "Zk5") == times(sources, "Aa1") == [(at(hour), False) for hour in HOURS]
    assert sources.logged == 0
    assert not any(one.logged for one in sources.every)


def told(sources: Sources, source: Source) -> list[tuple[int, int]]:
    """Time of each place of a source, in its month, and that of the observation which it is said to be."""
    if source.logged:
        steps = source.month.steps
        own = [steps[place].taken_ms for place in source.places]
    else:
        own = [source.month.seen[place].taken_ms for place in source.places]
    numbers = [sources.timeline.observed[number] for number in source.numbers]
    assert {one.cluster for one in numbers} <= {source.month.cluster}
    assert {one.log is not None for one in numbers} <= {source.logged}
    return list(zip(own, (round(one.taken_at.timestamp() * 1000) for one in numbers), strict=True))


def test_each_place_is_the_observation_of_its_time(storage: LocalStorage) -> None:
    sources = sources_of(storage)
    assert [(one.month.cluster, one.logged) for one in sources.every] == [
        *(("Aa1", False), ("Aa1", False)),
        *(("Zk5", False), ("Zk5", False), ("Zk5", True)),
    ]
    pairs = [told(sources, one) for one in sources.every]
    assert [len(some) for some in pairs] == [3, 4, 3, 2, 4]
    assert all(own == named for some in pairs for own, named in some)
    (logged,) = (one for one in sources.every if one.logged)
    assert [logged.month.steps[place].kind for place in logged.places] == [
        *(StepKind.state, StepKind.record, StepKind.record, StepKind.read)
    ]
    assert logged.inside == (logged.places[0], logged.places[-1])
    assert [number.tolist() for number in logged.since] == [logged.places.tolist(), logged.numbers.tolist()]


def test_of_each_snapshot_the_next_observation_is_known(storage: LocalStorage) -> None:
    """Also of one that a log tells more of: settings of it count from the log's next moment."""
    sources = sources_of(storage)
    observations = sources.timeline.observed
    for source in sources.every:
        if source.logged:
            continue
        places, numbers = (one.tolist() for one in source.since)
        assert (places[0], places[-1]) == source.inside
        assert len(places) == source.inside[1] - source.inside[0] + 1
        own = [number for number, one in enumerate(observations) if one.cluster == source.month.cluster]
        for place, number in zip(places, numbers, strict=True):
            moment_ = moment(source.month.seen[place].taken_ms)
            later = [one for one in own if observations[one].taken_at >= moment_]
            assert number == later[0]


def test_what_is_not_wanted_is_in_no_source(storage: LocalStorage) -> None:
    sources = sources_of(storage, since=moment(at(1)), until=moment(at(4) + 1500), clusters=("Zk5",))
    assert times(sources, "Zk5") == [(at(1), False), (at(3.9), False), *((at(4) + ms, True) for ms in (0, 1000, 1500))]
    march, april, logged = sources.every
    assert (march.inside, april.inside) == ((1, 2), (0, 0))
    assert (march.numbers.tolist(), april.numbers.tolist(), april.places.tolist()) == ([0, 1], [], [])
    assert logged.numbers.tolist() == [2, 3, 4]
    assert [one.taken_at for one in sources.snapshots] == [moment(at(hour)) for hour in (1, 3.9, 4)]


def test_a_month_without_a_wanted_snapshot_has_the_log_alone(storage: LocalStorage) -> None:
    sources = sources_of(storage, since=moment(at(4) + 3000), until=moment(at(4) + 3500), clusters=("Zk5",))
    (logged,) = sources.every
    assert (logged.logged, times(sources, "Zk5")) == (True, [(at(4) + 3000, True), (at(4) + 3500, True)])


def test_facts_of_a_snapshot_are_those_of_its_observation(tmp_path: Path) -> None:
    gap = Gap("torn-read", "changed meanwhile", 1)
    one = candidate(observed(0, {ORDERS: {}}), "Zk5", cluster_id="Zk5", controller_epoch=7, metadata_offset=48)
    other = candidate(observed(1, {ORDERS: {}}, whole=False), "Zk5", cluster_id=None, source="zookeeper")
    ingest([one, other], LocalStorage(tmp_path))
    first, last = sources_of(LocalStorage(tmp_path)).snapshots
    assert (first.cluster_id, first.name, first.source, first.gaps) == ("Zk5", "test", "kafka", ())
    assert (first.controller_epoch, first.metadata_offset, first.whole, first.log) == (7, 48, True, None)
    assert (last.cluster_id, last.controller_epoch, last.metadata_offset) == (None, None, None)
    assert (last.source, last.whole, last.gaps) == ("zookeeper", False, (gap,))


def test_a_log_is_of_the_cluster_that_its_newest_snapshot_names(storage: LocalStorage) -> None:
    logged = [one for one in sources_of(storage).timeline.observed if one.log is not None]
    assert {(one.cluster, one.cluster_id, one.name, one.whole) for one in logged} == {("Zk5", "Zk5", "Zk5", True)}
    assert [one.digest for one in logged] == sorted({one.digest for one in logged})


def test_gaps_that_are_damaged_are_named(storage: LocalStorage) -> None:
    chosen = choose(storage, Wanted(clusters=("Aa1",)), logs=True)
    seen = chosen.months[0].seen
    assert isinstance(seen, list)
    seen[0] = replace(seen[0], row={**seen[0].row, "gaps": "{"})
    with pytest.raises(InputError, match="what its observations say is damaged"):
        Sources(chosen)
