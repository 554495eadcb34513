"""Losses at every moment of a history: equal to `whatif fail` over the cluster as it was then."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters.generated import Cluster, clusters, partition, snapshot_of
from examples import examples
from histories.folders import moment
from histories.logs import Log, taken_in
from histories.observations import HOUR, MARCH
from hypothesis import given
from hypothesis import strategies as st

import kreplica
from kreplica.errors import UsageError
from kreplica.fleet.availability.losses import Loss, LostKind
from kreplica.fleet.availability.resilience import LossCounts, timelines_of
from kreplica.fleet.availability.timeline import Timeline
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS
from kreplica.health.impact.whatif import FailureCase, play_failure
from kreplica.history.ingest import Candidate, ingest, stored_snapshots
from kreplica.history.months.month import Incoming
from kreplica.history.reading import open_history
from kreplica.model.snapshot import ClusterSnapshot, Gap
from kreplica.store.selection import Wanted
from kreplica.system.stores.storage import LocalStorage

FLEET = Path(kreplica.__file__).parent / "data/fleet"
KRAFT = {"metadata.version": 27}
WITH_ELR = {**KRAFT, "eligible.leader.replicas.version": 1}
PART = (Gap("torn-read", "changed meanwhile", 1),)


def candidate(snapshot: ClusterSnapshot, digest: str) -> Candidate:
    taken_ms = round(snapshot.taken_at.timestamp() * 1000)
    return Candidate("Zk5", "prod", Incoming(taken_ms, digest, lambda: snapshot, f"snapshot {digest}"))


def counts_of(root: Path, cluster: str = "Zk5") -> LossCounts:
    months = timelines_of(LocalStorage(root), Wanted((cluster,))).by_cluster()[cluster]
    return LossCounts(Timeline(months))


def played(snapshot: ClusterSnapshot, loss: Loss) -> dict[str, int] | None:
    """Harm by `whatif fail`; None where it knows no such broker or rack."""
    brokers = (loss.broker,) if loss.kind is LostKind.BROKER else ()
    racks = (loss.rack,) if loss.kind is LostKind.RACK else ()
    try:
        judgement = play_failure(snapshot, FailureCase(brokers=brokers, racks=racks)).judgement
    except UsageError:
        return None
    found = {impact.value: judgement.count(impact) for impact in FAILURE_IMPACTS if impact.harmful}
    return {name: count for name, count in found.items() if count}


def compared(root: Path, times: Sequence[int], cluster: str = "Zk5") -> int:
    """Holds all losses at these moments against `whatif fail`; the number of those that do harm."""
    counts, history, harmful = counts_of(root, cluster), open_history(root), 0
    for time in times:
        snapshot = history.as_of(cluster, moment(time))
        for number, loss in enumerate(counts.losses):
            expected = played(snapshot, loss)
            if expected is not None:
                told = {impact.value: count for impact, count in counts.steps(number).at(time).items()}
                assert told == expected, (loss, time, snapshot.partitions.rows(), snapshot.brokers.rows())
                harmful += bool(expected)
    return harmful


@st.composite
def facts(draw: st.DrawFn) -> dict[str, Any]:
    source = draw(st.sampled_from(["kafka", "kafka", "zookeeper", "describe-text"]))
    features = {} if source == "zookeeper" else draw(st.sampled_from([{}, KRAFT, WITH_ELR]))
    return {"source": source, "features": features, "gaps": draw(st.sampled_from([(), (), PART]))}


SNAPSHOTS = st.lists(st.tuples(clusters(), facts(), st.integers(0, 9)), min_size=1, max_size=5)


@examples(0.1)
@given(SNAPSHOTS)
def test_losses_are_those_of_whatif_fail_at_every_moment(some: list[tuple[Cluster, dict[str, Any], int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        found = []
        for number, (cluster, known, hours) in enumerate(some):
            at = moment(MARCH + hours * HOUR)
            snapshot = snapshot_of(cluster.partitions, cluster.brokers, (), taken_at=at, **known)
            found.append(candidate(snapshot, str(number)))
        ingest(found, LocalStorage(root))
        hours = sorted({hour for _, _, hour in some})
        inside = [MARCH + hour * HOUR for hour in hours]
        inside += [(one + other) // 2 for one, other in pairwise(inside)]
        compared(root, inside)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fleet")
    ingest(stored_snapshots([FLEET])[0], LocalStorage(root))
    return root


@pytest.mark.one_python
def test_fifty_moments_of_real_clusters_are_those_of_whatif_fail(fleet: Path) -> None:
    random, harmful = np.random.default_rng(50), 0
    for cluster in ("i0iQ6TlnRRmrapXchcJ1Uw", "cBMf6SHmQsyCTHxhqk8gNg"):
        times = open_history(fleet).timed_table("observations", Wanted((cluster,))).times["taken_at"].values
        moments = random.integers(times[0], times[-1] + 60_000, 25 - len(times)).clip(max=times[-1])
        harmful += compared(fleet, [*times.tolist(), *moments.tolist()], cluster)
    assert harmful > 100


ALIVE = [{"broker": broker, "rack": f"r{broker}", "alive": True} for broker in (1, 2, 3)]
TWO_DEAD = [{**one, "alive": one["broker"] == 1} for one in ALIVE]


def test_where_a_metadata_log_tells_its_states_are_played(tmp_path: Path) -> None:
    """The log tells four seconds of April; its replicas are broker 1 alone, its settings those of snapshots."""
    rows = [partition(replicas=[1, 2], isr=[1, 2], min_isr=1), partition(number=1, min_isr=3)]
    some = [snapshot_of(rows, ALIVE, taken_at=moment(MARCH + h * HOUR), source="kafka", features=KRAFT) for h in (1, 5)]
    ingest([candidate(one, str(number)) for number, one in enumerate(some)], LocalStorage(tmp_path))
    log = Log([{}, {("orders", 0): 1, ("orders", 1): 1}, {("orders", 1): 1}, {("orders", 1): 1}], [0, 4, 5, 9])
    taken_in(tmp_path, [log.slice(0, 3)])
    times = [MARCH + 2 * HOUR, *(log.time(number) + more for number in range(4) for more in (-1, 0, 1))]
    assert compared(tmp_path, [*times, MARCH + 5 * HOUR]) > 0
