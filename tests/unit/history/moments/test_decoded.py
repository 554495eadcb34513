"""Moments of one cluster that share decoded months: the same answers, each month decoded once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from histories.clusters import PlantedCluster, ingest_into
from histories.folders import moment
from histories.observations import HOUR, MARCH
from suite.second_python import first_on_each

from kreplica import ingest_dumps
from kreplica.formats.metadata_log.files import Replay, find_metadata
from kreplica.formats.metadata_log.files import history as records_of
from kreplica.history.moments import decoded as shared
from kreplica.history.moments.as_of import cluster_as_of
from kreplica.history.moments.decoded import DecodedMonths
from kreplica.history.selection import HistoryMonth, KeyFilter
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.system.stores.storage import LocalStorage

HOME = Path(__file__).parents[3] / "golden/kafka-4.3.1/killed-all/broker-1/data/__cluster_metadata-0"


def told(one: ClusterSnapshot) -> list[object]:
    tables = (one.partitions, one.brokers, one.configs, one.replicas, one.groups)
    return [one.taken_at, one.gaps, one.notes, one.features, *(list(table.rows()) for table in tables)]


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """Snapshots before and after the begin of April; a topic is gone in the last one."""
    cluster, found = PlantedCluster(), LocalStorage(tmp_path)
    for hour in range(9):
        cluster.change("orders", hour % 3, leader_epoch=10 + hour)
        cluster.set("topic", "orders", "retention.ms", str(hour // 2))
        cluster.snapshot()
    del cluster.partitions["audit", 0], cluster.partitions["audit", 1]
    cluster.snapshot()
    ingest_into(found, [cluster])
    return found


@pytest.mark.parametrize("order", first_on_each([1, -1]))
def test_moments_that_share_are_as_each_by_itself(storage: LocalStorage, order: int) -> None:
    decoded = DecodedMonths()
    for hour in [*range(10)][::order]:
        when = moment(MARCH + hour * HOUR)
        assert told(cluster_as_of(storage, "c1", when, decoded)) == told(cluster_as_of(storage, "c1", when))


def test_moments_of_metadata_logs_that_share_are_as_each_by_itself(tmp_path: Path) -> None:
    ingest_dumps([HOME], tmp_path)
    storage, decoded = LocalStorage(tmp_path), DecodedMonths()
    replay = Replay()
    times = {replay.image.timestamp or 0 for _ in records_of(find_metadata(str(HOME)), replay, None)}
    for taken_ms in sorted(times)[1 :: len(times) // 6]:
        when = moment(taken_ms)
        assert told(cluster_as_of(storage, None, when, decoded)) == told(cluster_as_of(storage, None, when))


def test_each_month_is_decoded_once_unless_it_was_folded_anew(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    runs = HistoryMonth.runs

    def counted(self: HistoryMonth, coder: shared.Coder, some: KeyFilter | None = None) -> shared.Runs:
        seen[self.manifest.month, coder.table.name] += 1
        return runs(self, coder, some)

    monkeypatch.setattr(HistoryMonth, "runs", counted)
    decoded = DecodedMonths()
    for hour in range(10):
        cluster_as_of(storage, "c1", moment(MARCH + hour * HOUR), decoded)
    assert {seen[month, "partitions"] for month in ("2026-03", "2026-04")} == {1}
    assert set(seen.values()) == {1}

    late = PlantedCluster(now=10)
    late.change("orders", 0, leader_epoch=99)
    late.snapshot()
    ingest_into(storage, [late])
    found = cluster_as_of(storage, "c1", moment(MARCH + 10 * HOUR), decoded)
    assert found.partitions.integers("leader_epoch")[found.row_number("orders", 0)] == 99
    assert seen["2026-04", "partitions"] == 2
