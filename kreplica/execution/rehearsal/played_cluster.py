"""A simulated cluster as a run of moves sees it: what it reads, the requests that change it, and its time.

So the run that carries out plans on real clusters (``execution/moves/running/runner.py``) plays them, too: its window,
its looks at the cluster, its waits. It has no throttles and no disks to fill, because records have no size here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kreplica.control.reassign import CHANGED, ReassignmentResult, Target
from kreplica.engine.fault_plan import ElectPreferred, Reassign
from kreplica.engine.setup import SECOND, topic_of
from kreplica.engine.simulator.kraft.controller import KraftController
from kreplica.engine.simulator.plan_player import act
from kreplica.engine.simulator.zookeeper.operations import zookeeper_controller
from kreplica.engine.versions.features import feature_levels
from kreplica.engine.versions.supported import ControllerKind
from kreplica.errors import UnreachableError
from kreplica.execution.elections import Outcome
from kreplica.model.settings import ELR_FEATURE, MIN_ISR, UNCLEAN
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.sources.kafka.reassignments import Move
from kreplica.sources.kafka.throttles import Throttles

if TYPE_CHECKING:
    from kreplica.control.log_directories import DirectoryResult, ReplicaKey
    from kreplica.control.settings import SettingResult
    from kreplica.control.throttle import Entry, ListKey, ListResult
    from kreplica.engine.simulator.broker.partition_state import PartitionState
    from kreplica.engine.simulator.simulation import Simulation
    from kreplica.execution.moves.cluster import RateKey
    from kreplica.execution.plan import LeaderChange, PartitionKey
    from kreplica.execution.rehearsal.stage import Stage
    from kreplica.sources.kafka.log_dirs import BrokerLogs

LOOKS, LOOK_SECONDS = 20, 0.5
"""Looks for elected leaders, as the executor takes on a real cluster, and the time between two of them."""

Assigned = tuple["PartitionState", tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A partition: its state, its replicas, those being added, those being removed."""


class TimeOverError(Exception):
    """The time of a simulated cluster is over, with a run of moves still going on."""


class PlayedClock:
    """Virtual time: whoever waits lets the cluster live on.

    Args:
        simulation: The cluster.
        end: Microseconds at which its time is over.
    """

    def __init__(self, simulation: Simulation, end: int) -> None:
        self._simulation, self._end = simulation, end

    def now(self) -> float:
        """Seconds since the cluster began."""
        return self._simulation.scheduler.now / SECOND

    def sleep(self, seconds: float) -> None:
        """Lets so many seconds pass.

        Raises:
            TimeOverError: They are more than are left.
        """
        until = self._simulation.scheduler.now + max(1, round(seconds * SECOND))
        self._simulation.scheduler.run(min(until, self._end))
        if until > self._end:
            raise TimeOverError


class PlayedCluster:
    """See ``execution.moves.preferred_leaders.ElectingCluster``.

    Args:
        simulation: The cluster.
        stage: Its plan, and its names for topics.
        clock: Its time.
    """

    def __init__(self, simulation: Simulation, stage: Stage, clock: PlayedClock) -> None:
        self._simulation, self._stage, self._clock = simulation, stage, clock
        self._seen: tuple[object, ClusterSnapshot] | None = None

    # -- what is read

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as its controller knows it.

        Raises:
            UnreachableError: There is no controller at the moment.
        """
        known = self._by_quorum() if self._kraft else self._by_zookeeper()
        if self._seen is None or self._seen[0] != known:
            self._seen = known, self._snapshot_of(*known)
        return self._seen[1]

    def ongoing(self, partitions: Collection[PartitionKey]) -> Mapping[PartitionKey, Move]:
        """Moves of these partitions."""
        snapshot = self.snapshot()
        rows = {key: row for key in partitions if (row := snapshot.find_row(*key)) is not None}
        lists = [snapshot.lists(name) for name in ("replicas", "adding", "removing")]
        found = {key: Move(*(one[row] or [] for one in lists)) for key, row in rows.items()}
        return {key: move for key, move in found.items() if move.adding or move.removing}

    @property
    def _kraft(self) -> bool:
        return self._simulation.version.controller is ControllerKind.KRAFT

    def _snapshot_of(self, alive: frozenset[int], assigned: Sequence[Assigned]) -> ClusterSnapshot:
        brokers = [
            {"broker": number, "rack": broker.rack or None, "alive": number in alive}
            for number, broker in self._simulation.brokers.items()
        ]
        return ClusterSnapshot(
            cluster_id=self._stage.plan.cluster_id,
            name="rehearsal",
            taken_at=datetime.fromtimestamp(0, UTC) + timedelta(microseconds=self._simulation.scheduler.now),
            source="kafka",
            partitions=Table.from_rows(PARTITIONS, [self._row(one, alive) for one in assigned]),
            brokers=Table.from_rows(BROKERS, brokers),
            features=self._features() if self._kraft else {},
        )

    def _features(self) -> dict[str, int]:
        version = self._simulation.version
        return {**feature_levels(version), ELR_FEATURE: int(version.elr)}

    def _by_quorum(self) -> tuple[frozenset[int], tuple[Assigned, ...]]:
        active = self._simulation.quorum.active
        if not isinstance(active, KraftController):
            raise UnreachableError("the cluster has no active controller")
        alive = frozenset((*active.brokers.active(), *active.brokers.shutting_down()))
        return alive, tuple((one, one.replicas, one.adding, one.removing) for one in active.partitions.values())

    def _by_zookeeper(self) -> tuple[frozenset[int], tuple[Assigned, ...]]:
        controller = zookeeper_controller(self._simulation.brokers)
        if controller is None or len(controller.known.states) < len(self._simulation.cluster.assignments):
            raise UnreachableError("the cluster has no controller that knows its partitions")
        states, assigned = controller.known.states, controller.known.assigned
        return frozenset(controller.known.live), tuple((one, *assigned[name][1:]) for name, one in states.items())

    def _row(self, assigned: Assigned, alive: frozenset[int]) -> dict[str, object]:
        state, replicas, adding, removing = assigned
        topic = topic_of(state.partition)
        name, number = self._stage.key(state.partition)
        cluster = self._simulation.cluster
        return {
            "topic": name,
            "partition": number,
            "internal": topic != name,
            "leader": state.leader_id,
            "leader_epoch": state.leader_epoch,
            "replicas": list(replicas),
            "isr": list(state.ids(state.isr)),
            "elr": list(state.ids(state.elr)),
            "adding": list(adding),
            "removing": list(removing),
            "offline_replicas": [broker for broker in replicas if broker not in alive],
            "min_isr": cluster.topic_integer(topic, MIN_ISR),
            "unclean_leader_election": cluster.topic_boolean(topic, UNCLEAN),
        }

    def logs(
        self, _brokers: Iterable[int], _partitions: Collection[PartitionKey] | None = None
    ) -> dict[int, BrokerLogs | str]:
        """Nothing: disks have room for every copy."""
        return {}

    def throttles(self, _brokers: Iterable[int], _topics: Collection[str]) -> Throttles:
        """No rates and no lists."""
        return Throttles({}, {}, {}, {})

    # -- what is changed

    def set_rates(self, _rates: Mapping[RateKey, int | None]) -> dict[RateKey, SettingResult]:
        """Takes no rates."""
        return {}

    def extend_lists(self, _entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Takes no lists."""
        return {}

    def shrink_lists(self, _entries: Mapping[ListKey, Collection[Entry]]) -> dict[ListKey, ListResult]:
        """Takes no lists."""
        return {}

    def place(self, _directories: Mapping[ReplicaKey, str]) -> dict[ReplicaKey, DirectoryResult]:
        """Takes no directories: a broker has one."""
        return {}

    def reassign(
        self, targets: Mapping[PartitionKey, Target], expected: Mapping[PartitionKey, Move], *, other_factor: bool
    ) -> tuple[ReassignmentResult, ...]:
        """Asks the controller for moves.

        Raises:
            UnreachableError: There is no controller at the moment.
        """
        del other_factor  # every controller takes another number of replicas from who asks for it
        return tuple(self._reassign(self.snapshot(), key, target, expected[key]) for key, target in targets.items())

    def _reassign(
        self, snapshot: ClusterSnapshot, key: PartitionKey, target: Target, expected: Move
    ) -> ReassignmentResult:
        assert target is not None, "a rehearsal takes no move back"
        row = snapshot.row_number(*key)
        now = tuple(snapshot.lists(name)[row] for name in ("replicas", "adding", "removing"))
        if now != tuple(expected):
            return ReassignmentResult(*key, CHANGED, f"its replicas are {now[0]}")
        if not act(self._simulation, Reassign(self._stage.played_name(key), target)):
            raise UnreachableError("the cluster has no controller")
        return ReassignmentResult(*key)

    def elect(self, changes: Sequence[LeaderChange]) -> tuple[Outcome, ...]:
        """Has the controller elect preferred leaders, and waits a little until they lead."""
        asked = {change.key: act(self._simulation, self._election(change.key)) for change in changes}
        leaders: dict[PartitionKey, int | None] = {}
        for _ in range(LOOKS):
            self._clock.sleep(LOOK_SECONDS)
            leaders = self._leaders()
            if all(leaders.get(change.key) == change.to_leader for change in changes):
                break
        error = "the cluster has no controller"
        return tuple(Outcome(one, leaders.get(one.key), "" if asked[one.key] else error) for one in changes)

    def _election(self, key: PartitionKey) -> ElectPreferred:
        return ElectPreferred(self._stage.played_name(key))

    def _leaders(self) -> dict[PartitionKey, int | None]:
        """Leaders by partition, None for none; nothing while there is no controller."""
        try:
            rows = self.snapshot().partitions.rows()
        except UnreachableError:
            return {}
        found = ((str(row["topic"]), int(str(row["partition"])), int(str(row["leader"]))) for row in rows)
        return {(topic, number): None if leader < 0 else leader for topic, number, leader in found}
