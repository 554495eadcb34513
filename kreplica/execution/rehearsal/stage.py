"""Cluster and plan of a rehearsal, without what chance decides, and how long a performance lasts.

Time of a performance::

    WARM_UP     producers write, nothing else happens
    the plan    begins at BEGIN, as long as it takes where nothing fails; brokers fail from just before to just after it
    the rest    until the last broker can be back; producers write on
    QUIET       nothing is written: what is missing now is lost, not late
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kreplica.engine.fuzzing.broker_failures import LONGEST
from kreplica.engine.setup import SECOND, ProducerSetup, Send, Setup
from kreplica.execution.moves.plans.plan import ReplicaPlan
from kreplica.execution.plan import PartitionKey

WARM_UP = 2 * SECOND
BEGIN = 5 * SECOND
WRITES = SECOND
"""Time between two records of a partition."""
REST = LONGEST + 5 * SECOND
QUIET = 40 * SECOND


@dataclass(frozen=True, slots=True)
class Stage:
    """Cluster and plan of performances, without what chance decides.

    Args:
        setup: The cluster; its one producer writes to every partition.
        version: Kafka's version, by name.
        plan: The moves that are played.
        names: Topics that are played under another name, by that one.
    """

    setup: Setup
    version: str
    plan: ReplicaPlan
    names: Mapping[str, str] = field(default_factory=dict)

    def lasting(self, length: int) -> Stage:
        """The same with time for a plan that takes so many microseconds where nothing fails."""
        last = BEGIN + length + REST
        clients = tuple(
            self._writing(client, last) for client in self.setup.clients if isinstance(client, ProducerSetup)
        )
        return replace(self, setup=replace(self.setup, clients=clients, duration=last + QUIET))

    def key(self, partition: str) -> PartitionKey:
        """A partition of the trace by the name of the cluster's topic."""
        topic, _, number = partition.rpartition("-")
        return self.names.get(topic, topic), int(number)

    def played_name(self, key: PartitionKey) -> str:
        """Name of a partition in the trace."""
        topic, number = key
        return f"{next((other for other, name in self.names.items() if name == topic), topic)}-{number}"

    def _writing(self, producer: ProducerSetup, last: int) -> ProducerSetup:
        """The producer with a record to each of its partitions in turn, at even distances, until a time."""
        partitions = tuple(dict.fromkeys(send.partition for send in producer.sends))
        apart = WRITES // len(partitions)
        values = ["{}-{}".format(*self.key(name)) for name in partitions]
        sends = (
            Send(begin + place * apart, f"{values[place]}:{number}", name)
            for number, begin in enumerate(range(WARM_UP, last, WRITES), start=1)
            for place, name in enumerate(partitions)
        )
        return replace(producer, sends=tuple(sends))
