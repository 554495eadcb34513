"""Ids of incidents: which cluster they are of, so that looking at one judges that cluster alone."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, ingest_into
from histories.folders import moment
from histories.observations import HOUR, MARCH
from planted.incidents import stop

from kreplica.errors import UsageError
from kreplica.fleet.cluster import ClusterHistory
from kreplica.fleet.finding import FleetFinding
from kreplica.fleet.incidents import fleet
from kreplica.fleet.incidents.finding import Told
from kreplica.fleet.incidents.fleet import incident_in, incidents_in
from kreplica.fleet.incidents.ids import clusters_that_may_have, id_of
from kreplica.fleet.incidents.incident import Incident
from kreplica.fleet.incidents.rows import row_of
from kreplica.store.layout import path_segment
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

LABELS = ["c1", "c2", "a b/é*[x]", "prod.eu-1", "l" * 500]


@pytest.fixture
def history(tmp_path: Path) -> LocalStorage:
    """Clusters with names of all kinds; a broker is down in each of them."""
    clusters = [PlantedCluster(label, f"name-{number}") for number, label in enumerate(LABELS)]
    for cluster in clusters:
        cluster.snapshot(2)
        stop(cluster, 2)
        cluster.snapshot(2)
    storage = LocalStorage(tmp_path)
    ingest_into(storage, clusters)
    return storage


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Labels of the clusters that were judged since the test began."""
    found: list[str] = []

    def told(history: ClusterHistory, findings: Iterable[FleetFinding] = ()) -> Told:
        found.append(history.cluster)
        return original(history, findings)

    original = fleet.incidents_of
    monkeypatch.setattr(fleet, "incidents_of", told)
    return found


def shown(one: Incident) -> tuple[object, ...]:
    return row_of(one), list(one.findings)


def test_looking_at_one_incident_judges_its_cluster_alone(history: LocalStorage, judged: list[str]) -> None:
    every = incidents_in(history).incidents
    assert (len(every), len({one.id for one in every})) == (5, 5)
    for one in every:
        for length in (12, 4):
            judged.clear()
            assert shown(incident_in(history, one.id[:length]).incident) == shown(one)
            assert judged == [one.cluster]


def test_where_clusters_are_named_or_compared_the_id_does_not_choose(history: LocalStorage, judged: list[str]) -> None:
    one = next(one for one in incidents_in(history).incidents if one.cluster == "c1")
    judged.clear()
    assert shown(incident_in(history, one.id, Wanted(("c*",))).incident) == shown(one)
    assert judged == ["c1", "c2"]
    judged.clear()
    assert shown(incident_in(history, one.id, groups={"eu": frozenset({"c1"})}).incident) == shown(one)
    assert len(judged) == len(LABELS)


def test_an_id_that_no_cluster_can_have_is_refused_at_once(history: LocalStorage, judged: list[str]) -> None:
    for given, said in (("gggg", "holds no incident gggg"), ("", "the id of the incident is empty")):
        with pytest.raises(UsageError, match=said):
            incident_in(history, given)
        assert judged == []


def test_of_an_id_that_no_incident_has_the_near_ones_are_told(history: LocalStorage) -> None:
    ids = [one.id for one in incidents_in(history).incidents]
    wanted = Wanted(("*",))
    with pytest.raises(UsageError) as near:
        incident_in(history, ids[0][:-1] + "g", wanted)
    assert near.value.why == f"did you mean {ids[0]}?"
    with pytest.raises(UsageError) as far:
        incident_in(history, "zzzz", wanted)
    assert (far.value.why, far.value.fix) == ("", f"kreplica audit incidents {history.named('')} lists them")


def test_a_beginning_of_many_ids_names_a_few(history: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Incident, "id", property(lambda one: f"same-{one.cluster[:2]}"))
    with pytest.raises(UsageError, match=r"5 incidents begin with same; same-.*, same-.*, same-.* and 2 more; type mo"):
        incident_in(history, "same", Wanted(("*",)))


def test_a_time_that_none_tells_of_is_refused_before_any_cluster_is_judged(
    history: LocalStorage, judged: list[str]
) -> None:
    with pytest.raises(UsageError, match="holds no snapshot that is wanted"):
        incidents_in(history, Wanted(since=moment(MARCH + 100 * HOUR)))
    assert judged == []


def test_the_beginning_of_an_id_is_of_the_cluster_and_the_rest_of_what_it_is_about() -> None:
    one = id_of("c1", "broker-down", "broker 2", 7)
    others = [("c1", "broker-down", "broker 2", 8), ("c1", "rack-down", "broker 2", 7), ("c1", "broker-down", "b", 7)]
    assert {id_of(*other)[:4] for other in others} == {one[:4]} == {hashlib.sha256(b"c1").hexdigest()[:4]}
    assert len({id_of(*other)[4:] for other in [*others, ("c2", "broker-down", "broker 2", 7)]} | {one[4:]}) == 5
    assert (len(one), id_of("c2", "broker-down", "broker 2", 7)[:4] != one[:4]) == (12, True)


def test_where_the_month_of_its_cluster_is_damaged_an_id_is_looked_for_in_all(
    history: LocalStorage, tmp_path: Path
) -> None:
    incident = id_of("a b/é*[x]", "", "", 0)
    assert clusters_that_may_have(incident, history) == (glob.escape("a b/é*[x]"),)
    for manifest in tmp_path.glob(f"cluster={path_segment('a b/é*[x]')}/*/manifests/*"):
        manifest.write_text("{", encoding="utf-8")
    assert clusters_that_may_have(incident, history) is None
