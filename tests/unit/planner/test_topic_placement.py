"""Replicas of new topics; the placements themselves are held against Kafka's classes in test_places_of_kafka."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kreplica.engine.rules.controller.topic_assignment import place_rack_aware, place_striped
from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.planner.java_random import JavaRandom
from kreplica.planner.topic_placement import PlacementAlgorithm, place_topic, seed_of

KRAFT = {"metadata.version": 25}


def cluster(
    racks: dict[int, str | None], dead: tuple[int, ...] = (), *, features: dict[str, int], alive: bool | None = True
) -> ClusterSnapshot:
    brokers = [
        {"broker": broker, "rack": rack, "alive": False if broker in dead else alive} for broker, rack in racks.items()
    ]
    partitions = [{"topic": "orders", "partition": 0, "internal": False, "replicas": [1], "isr": [1]}]
    return ClusterSnapshot(
        cluster_id="c",
        name="c",
        taken_at=datetime(2026, 1, 1, tzinfo=UTC),
        source="kafka",
        partitions=Table.from_rows(PARTITIONS, partitions),
        brokers=Table.from_rows(BROKERS, brokers),
        features=features,
    )


RACKS: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}


def test_kraft_places_striped_over_all_registered_brokers() -> None:
    found = place_topic(cluster(RACKS, dead=(4,), features=KRAFT), "new", 7, 3, seed=11)
    racks = {broker: str(rack) for broker, rack in RACKS.items()}
    expected = place_striped(racks, (4,), 7, 3, JavaRandom(11).next_int)
    assert found.algorithm is PlacementAlgorithm.STRIPED
    assert tuple(tuple(one.replicas) for one in found.partitions) == expected
    assert all(one.replicas[0] != 4 for one in found.partitions), "a fenced broker leads nothing"


def test_zookeeper_mode_draws_a_start_then_a_shift_over_live_brokers() -> None:
    found = place_topic(cluster(RACKS, dead=(4,), features={}), "new", 7, 3, seed=11)
    numbers = JavaRandom(11)
    start, shift = numbers.next_int(4), numbers.next_int(4)
    racks = {broker: str(rack) for broker, rack in RACKS.items() if broker != 4}
    assert found.algorithm is PlacementAlgorithm.RACK_AWARE
    assert tuple(tuple(one.replicas) for one in found.partitions) == place_rack_aware(racks, 7, 3, start, shift)


def test_zookeeper_mode_without_racks_ignores_them() -> None:
    bare = cluster(dict.fromkeys(RACKS), features={})
    assert place_topic(bare, "new", 3, 2).algorithm is PlacementAlgorithm.RACK_UNAWARE


def test_the_topics_name_is_the_seed() -> None:
    snapshot = cluster(RACKS, features=KRAFT)
    assert place_topic(snapshot, "new", 20, 3) == place_topic(snapshot, "new", 20, 3, seed=seed_of("new"))
    assert place_topic(snapshot, "new", 20, 3).partitions != place_topic(snapshot, "other", 20, 3).partitions


def test_shares_add_up() -> None:
    found = place_topic(cluster(RACKS, features=KRAFT), "new", 20, 3)
    assert sum(share.leaders for share in found.brokers) == 20
    assert sum(share.replicas for share in found.brokers) == 60
    assert {share.broker: share.rack for share in found.brokers} == RACKS


def test_brokers_of_unknown_state_count_and_are_named() -> None:
    assert place_topic(cluster(RACKS, features=KRAFT, alive=None), "new", 1, 2).unknown == (1, 2, 3, 4, 5)


REFUSED = {
    "exists": (cluster(RACKS, features=KRAFT), "orders", 3, None, "topic orders exists"),
    "too few registered": (cluster(RACKS, features=KRAFT), "new", 6, None, "5 registered brokers"),
    "too few alive": (cluster(RACKS, (1, 2, 3), features={}), "new", 3, None, "2 live brokers"),
    "all fenced": (cluster({1: None}, (1,), features=KRAFT), "new", 1, None, "all brokers are fenced"),
    "some racks": (cluster({**RACKS, 6: None}, features={}), "new", 3, None, "broker 6 without a rack"),
    "no brokers": (cluster({}, features=KRAFT), "new", 1, None, "lists no brokers"),
    "no racks": (
        cluster({1: None, 2: None}, features=KRAFT),
        "new",
        1,
        PlacementAlgorithm.RACK_AWARE,
        "brokers 1, 2 without a rack",
    ),
    "no topic name": (cluster(RACKS, features=KRAFT), "a b", 1, None, "no name of a topic"),
    "two dots": (cluster(RACKS, features=KRAFT), "..", 1, None, "no name of a topic"),
}


@pytest.mark.parametrize(("snapshot", "topic", "factor", "algorithm", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_placed_is_refused(
    snapshot: ClusterSnapshot, topic: str, factor: int, algorithm: PlacementAlgorithm | None, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        place_topic(snapshot, topic, 3, factor, algorithm=algorithm)
    assert said in str(refused.value)


@given(
    racks=st.dictionaries(st.integers(0, 40), st.sampled_from("abcd"), min_size=1, max_size=12),
    partitions=st.integers(1, 30),
    seed=st.integers(-(2**31), 2**31 - 1),
    algorithm=st.sampled_from(PlacementAlgorithm),
    data=st.data(),
)
def test_every_placement_is_legal(
    racks: dict[int, str], partitions: int, seed: int, algorithm: PlacementAlgorithm, data: st.DataObject
) -> None:
    factor = data.draw(st.integers(1, len(racks)))
    found = place_topic(cluster(dict(racks), features=KRAFT), "new", partitions, factor, algorithm=algorithm, seed=seed)
    assert [one.partition for one in found.partitions] == list(range(partitions))
    for one in found.partitions:
        assert len(set(one.replicas)) == factor
        assert set(one.replicas) <= set(racks)
        assert one.racks == [racks[broker] for broker in one.replicas]
    if algorithm is not PlacementAlgorithm.RACK_UNAWARE and len(set(racks.values())) >= factor:
        counts = {rack: list(racks.values()).count(rack) for rack in racks.values()}
        if len(set(counts.values())) == 1:
            assert found.fewest_racks == factor
