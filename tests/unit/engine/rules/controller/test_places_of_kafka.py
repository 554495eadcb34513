"""Places to which Kafka's own controllers put and move replicas, and those of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from releases.kafka_classes import answers

from kreplica.engine import Version, version_named
from kreplica.engine.rules.controller import reassignment
from kreplica.engine.rules.controller.broker_registration import UNFENCED
from kreplica.engine.rules.controller.topic_assignment import (
    Placements,
    place_rack_aware,
    place_rack_unaware,
    place_striped,
)
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.brokers import KraftBrokers
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.kraft.decisions import Circumstances
from kreplica.engine.simulator.kraft.elrs import ElrIndex
from kreplica.engine.simulator.kraft.quorum import Registration
from kreplica.engine.trace import Kind

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


class Played(KraftController):
    """A controller of the simulator with one partition and the facts of a line, without quorum, brokers and clock."""

    def __init__(self, version: Version, facts: str, state: str) -> None:
        live, min_isr, elr, unclean = facts.split()
        self.refused: list[Any] = []
        self.facts = brokers(live), int(min_isr), elr == "true", unclean == "true" and version.unclean_setting_obeyed
        self.cluster: Any = SimpleNamespace(version=version, by_majority=False)
        self.partitions, self._elrs = {"t-0": partition_state(state)}, ElrIndex()
        self._elrs.follow(None, self.partitions["t-0"])

    def circumstances(self, state: PartitionState) -> Circumstances:  # noqa: ARG002
        version = self.cluster.version
        return Circumstances(
            *self.facts,
            version.moves_wait_for,
            version.epoch_rises_on_shrink,
            version.last_leader_must_be_back,
            version.last_leader_noted_at_once,
        )

    def unclean_enabled(self, topic: str) -> bool:  # noqa: ARG002
        return self.facts[3]

    def write_partition(self, state: PartitionState, why: str, rule: str, clears_elr: bool = False) -> None:  # noqa: ARG002
        self.partitions[state.partition] = state

    def commit(self, then: Callable[[], object], otherwise: Callable[[], object] = lambda: None) -> None:  # noqa: ARG002
        then()

    def emit(self, kind: Kind, *values: Any) -> None:
        if kind == Kind.MOVE_REFUSED:
            self.refused.append(values)

    def does(self, asked: str) -> str:
        """What becomes of it, in the words of the file."""
        what, named = asked.split()
        before = self.partitions["t-0"]
        if what == "move":
            self.reassign("t-0", brokers(named))
        elif what == "cancel" and not before.adding and not before.removing:
            return "NO_REASSIGNMENT_IN_PROGRESS"
        elif what == "cancel":
            self.cancel_reassignment("t-0")
        elif what == "fail":
            self.broker_leaves(int(named), "it fails")
        elif what == "restart":
            self.broker_leaves(int(named), "it was not shut down cleanly", unclean_shutdown=True)
        elif what == "back":
            self.broker_is_back(int(named))
        elif asked == "elect preferred":
            self.elect_preferred("t-0")
        elif asked == "elect unclean":
            self.elect_unclean("t-0")
        else:
            self._altered(before, before.places(brokers(named)), "asked for")
        return "INVALID_REPLICA_ASSIGNMENT" if self.refused else told(self.partitions["t-0"])


def partition_state(text: str) -> PartitionState:
    replicas, adding, removing, isr, elr, last_known, leader = text.split()
    assigned, eligible = brokers(replicas), brokers(elr)
    state = PartitionState("t-0", assigned, adding=brokers(adding), removing=brokers(removing))
    former = tuple(broker for broker in eligible if broker not in assigned)
    state = state._replace(former=former, leader=assigned.index(int(leader)) if leader != "-1" else -1)
    return state._replace(
        isr=state.places(brokers(isr)),
        elr=sum(1 << state.index_of(broker) for broker in eligible),
        last_known_elr=state.places(brokers(last_known)),
    )


def told(state: PartitionState) -> str:
    everyone = (*state.replicas, *state.former)
    eligible = [broker for place, broker in enumerate(everyone) if state.elr >> place & 1]
    assert {*state.former} <= {*eligible}, "nobody else is remembered"
    lists = (state.replicas, state.adding, state.removing, *map(sorted, (state.ids(state.isr), eligible)))
    words = [",".join(map(str, some)) or "-" for some in (*lists, state.ids(state.last_known_elr))]
    return " ".join([*words, str(state.leader_id)])


def in_order(text: str) -> str:
    """A state with ISR and ELR in order of ids: Kafka's are in the order in which they came about."""
    words = text.split()
    if len(words) > 1:
        words[3:5] = [",".join(sorted(word.split(","))) for word in words[3:5]]
    return " ".join(words)


def test_moves_asked_for_while_others_go_on_as_kafkas_controllers_take_them() -> None:
    names = {"3.7.2": "3.7.2-kraft", "3.9.2": "3.9-kraft", "4.2.0": "4.2", "4.3.1": "4.3"}
    versions = {release: version_named(name) for release, name in names.items()}
    seen, stuck, left_over = dict.fromkeys(names, 0), 0, 0
    for line in (GOLDEN / "moves-in-flight.txt").read_text().splitlines():
        release, facts, before, asked, after = map(str.strip, line.split("|"))
        assert Played(versions[release], facts, before).does(asked) == in_order(after), line
        words = after.split()
        seen[release] += 1
        left_over += asked.startswith(("elect", "back")) and moves(before) and not moves(after)
        stuck += len(words) > 1 and bool(set(brokers(words[1])) & set(brokers(words[2])))
    assert min(seen.values()) > 100
    assert stuck > 20, "moves that never end by themselves"
    assert left_over > 10, "moves that end when a partition is looked at"


@pytest.mark.parametrize(("release", "lines"), answers("restarts.txt"))
def test_a_broker_that_registers_anew_leaves_the_isrs_that_it_leaves_in_kafka(release: str, lines: list[str]) -> None:
    """ClusterControlManager.registerBroker and handleBrokerShutdown, before its session is over."""
    version, changed = version_named({"3.9.2": "3.9-kraft"}.get(release, release)), 0
    for line in lines:
        facts, before, asked, after = map(str.strip, line.split("|"))
        broker, clean, _ = asked.split()
        played = Played(replace(version, elr=facts.split()[2] == "true"), facts, before)
        known = Registration(int(broker), 100, 1, UNFENCED, 100)
        KraftBrokers(played)._former_life_ends(known, 100 if clean == "true" else -1)
        assert told(played.partitions["t-0"]) == in_order(after), line
        changed += before != after
    assert (changed > 0) is version.restarted_leave_isrs


def moves(state: str) -> bool:
    return state.split()[1:3] != ["-", "-"]
