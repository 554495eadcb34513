"""A KRaft controller of the simulator that is asked what Kafka's controllers were asked (MovesInFlight.java)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kreplica.engine import Version
from kreplica.engine.rules.controller.broker_registration import UNFENCED
from kreplica.engine.simulator.broker.partition_state import PartitionState
from kreplica.engine.simulator.kraft.brokers import KraftBrokers
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.kraft.decisions import Circumstances
from kreplica.engine.simulator.kraft.elrs import ElrIndex
from kreplica.engine.simulator.kraft.quorum import PARTITION, Entry, Registration
from kreplica.engine.trace import Kind
from kreplica.model.settings import MIN_ISR

BROKERS = range(5)


def brokers(word: str) -> tuple[int, ...]:
    return () if word == "-" else tuple(map(int, word.split(",")))


class Played(KraftController):
    """A controller of the simulator with the partitions of one topic, without quorum, brokers and clock."""

    def __init__(self, version: Version, partitions: str) -> None:
        self.cluster: Any = SimpleNamespace(version=version, by_majority=False)
        self.brokers: Any = KraftBrokers(self)
        self.brokers.registered = {broker: Registration(broker, 1, 1, UNFENCED, 0) for broker in BROKERS}
        self.quorum: Any = SimpleNamespace(entries=[])
        self.partitions, self._elrs = {}, ElrIndex()
        for number, state in enumerate(partitions.split(" ; ")):
            self.write_partition(partition_state(f"t-{number}", state), "", "")

    def circumstances(self, state: PartitionState) -> Circumstances:  # noqa: ARG002
        version, (live, *others) = self.cluster.version, self.facts
        placed = tuple(broker for broker in self.brokers.active_where_placed() if broker in live)
        return Circumstances(
            placed,
            *others,
            version.moves_wait_for,
            version.epoch_rises_on_shrink,
            version.last_leader_must_be_back,
            version.last_leader_noted_at_once,
        )

    def is_active(self) -> bool:
        return True

    def write_partition(self, state: PartitionState, why: str, rule: str, clears_elr: bool = False) -> None:  # noqa: ARG002
        self._replay(Entry((PARTITION, state.partition), state, clears_elr))

    def commit(self, *_: Any) -> None: ...

    def emit(self, kind: Kind, *values: Any) -> None: ...

    def does(self, facts: str, asked: str) -> None:
        live, min_isr, elr, unclean = facts.split()
        self.facts = brokers(live), int(min_isr), elr == "true", unclean == "true"
        what, named = asked.split()
        what, _, number = what.partition(":")
        name = f"t-{number or 0}"
        if what == "assigns":
            self.directories_assigned(int(named), 1, int(number), lambda *_: None)
            return
        if what == "move":
            self.reassign(name, brokers(named))
        elif what == "fail":
            self.broker_leaves(int(named), "it fails")
        elif what == "restart":
            self.broker_leaves(int(named), "it was not shut down cleanly", unclean_shutdown=True)
            self.brokers.registered[int(named)] = Registration(int(named), 1, 1, UNFENCED, 0, int(number or 0))
        elif what == "unregister":
            self._leaves_isrs_and_elrs(int(named), "it is unregistered", unclean_shutdown=False)
        elif what == "back":
            self.broker_is_back(int(named))
        elif what == "clear":
            self.topic_changed("t", MIN_ISR)
        elif what == "elect":
            self.elect_unclean(name)
        elif what == "assign":
            self._look_at_directories(int(named), (self.partitions[name],), registered=True)
        else:
            assert what == "isr", what
            self._altered(self.partitions[name], self.partitions[name].places(brokers(named)), "asked for")

    def told(self) -> str:
        """Its partitions and its index, in the words of the file."""
        listed = [[name.removeprefix("t-") for name in self._elrs.partitions_of(broker)] for broker in BROKERS]
        states = " ; ".join(told(state) for state in self.partitions.values())
        return f"{states} | {' '.join(','.join(sorted(numbers)) or '-' for numbers in listed)}"


def partition_state(name: str, text: str) -> PartitionState:
    replicas, adding, removing, isr, elr, last_known, leader, *epochs = text.split()
    assert (adding, removing, elr, last_known) == ("-",) * 4, "nothing has happened yet"
    state = PartitionState(name, brokers(replicas), leader_epoch=int(epochs[0]), partition_epoch=int(epochs[1]))
    return state._replace(isr=state.places(brokers(isr)), leader=brokers(replicas).index(int(leader)))


def told(state: PartitionState) -> str:
    sets = (state.isr, state.elr, state.last_known_elr)
    lists = (state.replicas, state.adding, state.removing, *(sorted(state.members(one)) for one in sets))
    words = [",".join(map(str, some)) or "-" for some in lists]
    return " ".join([*words, *map(str, (state.leader_id, state.leader_epoch, state.partition_epoch))])


def in_order(told: str) -> str:
    """States with ISR, ELR and index in order: Kafka's are in the order in which they came about."""
    states, _, index = told.partition(" | ")
    words = [state.split() for state in states.split(" ; ")]
    for one in words:
        one[3:5] = [",".join(sorted(word.split(","))) for word in one[3:5]]
    listed = (",".join(sorted(word.split(","))) for word in index.split())
    return f"{' ; '.join(map(' '.join, words))} | {' '.join(listed)}"
