"""Where Kafka's own controllers put and move replicas, and where the rules do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kreplica.engine.rules.controller import reassignment
from kreplica.engine.rules.controller.topic_assignment import (
    Placements,
    place_rack_aware,
    place_rack_unaware,
    place_striped,
)

GOLDEN = Path(__file__).parents[4] / "golden" / "kafka-classes"
Brokers = tuple[int, ...]


def lines_of(file: str, kind: str) -> list[list[str]]:
    lines = [line.split("|")[1:] for line in (GOLDEN / file).read_text().splitlines() if line.startswith(f"{kind} ")]
    assert len(lines) >= 30
    return lines


def brokers(word: str) -> Brokers:
    return () if word == "-" else tuple(map(int, word.split(",")))


def placements(text: str) -> Placements:
    return tuple(map(brokers, text.split()))


def test_places_of_kafkas_striped_replica_placer() -> None:
    for cluster, asked, drawn, expected in lines_of("placements.txt", "striped"):
        words = cluster.split()
        racks = {int(word[0]): word[1:].rstrip("!") for word in words}
        fenced = tuple(int(word[0]) for word in words if word.endswith("!"))
        partitions, factor = map(int, asked.split())
        numbers = iter(map(int, drawn.split()))
        placed = place_striped(racks, fenced, partitions, factor, numbers_of(numbers))
        assert placed == placements(expected), (cluster, asked)
        assert next(numbers, None) is None, "as many numbers as Kafka draws"


def numbers_of(numbers: object) -> Callable[[int], int]:
    def next_int(bound: int) -> int:
        number = next(numbers)  # type: ignore[call-overload]
        assert 0 <= number < bound
        return int(number)

    return next_int


def test_places_of_kafkas_admin_utils() -> None:
    for cluster, asked, start, expected in lines_of("placements.txt", "plain"):
        ids, (partitions, factor), first = tuple(map(int, cluster.split())), map(int, asked.split()), int(start)
        assert place_rack_unaware(ids, partitions, factor, first, first) == placements(expected), (cluster, asked)
    for cluster, asked, start, expected in lines_of("placements.txt", "racks"):
        racks = {int(word[0]): word[1:] for word in cluster.split()}
        (partitions, factor), first = map(int, asked.split()), int(start)
        assert place_rack_aware(racks, partitions, factor, first, first) == placements(expected), (cluster, asked)


def mask(replicas: Brokers, some: Brokers) -> int:
    return sum(1 << replicas.index(broker) for broker in some)


def test_moves_of_kafkas_kraft_controller() -> None:
    for asked, merged, completed, cancelled in lines_of("moves.txt", "kraft"):
        before, target, isr = map(brokers, asked.split())
        move = reassignment.kraft_merged(before, target)
        assert move == tuple(map(brokers, merged.split())), asked
        facts = [mask(move[0], some) for some in (*move, isr)]
        assert reassignment.completes(*facts, reassignment.Awaited.TARGET_IF_FEWER) is bool(completed.split()), asked
        if completed.split():
            after = tuple(mask(move[0], brokers(word)) for word in completed.split())
            assert reassignment.completed(facts[0], facts[2], facts[3]) == after, asked
        if cancelled.split():
            left, kept, unclean = cancelled.split()
            found = reassignment.kraft_cancelled(facts[0], facts[1], facts[3])
            assert found == (mask(move[0], brokers(left)), mask(move[0], brokers(kept)), unclean == "true"), asked
            assert reassignment.original(move[0], move[1]) == brokers(left), asked


def test_moves_of_kafkas_zookeeper_controller() -> None:
    for asked, merged in lines_of("moves.txt", "zookeeper"):
        before, adding, target = map(brokers, asked.split())
        assert reassignment.zookeeper_merged(before, adding, target) == tuple(map(brokers, merged.split())), asked
