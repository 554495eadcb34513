"""A plan of a rolling restart: which nodes restart together, in which order, and which never safely.

    RollPlan
    ├── waves   nodes that may restart at the same time, wave after wave; the active controller's wave is the last
    ├── bound   why there cannot be fewer waves
    ├── never   nodes that cannot restart without harm, and why
    └── down    nodes that were down when the plan was made

The plan names nodes only. Whether a wave may begin is judged anew when its turn comes: the cluster may have changed.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kreplica.errors import UsageError
from kreplica.execution.digest import decode_document, read_document, write_document
from kreplica.health.impact.stop import Accepted, judge_stop, taken_into_account
from kreplica.health.impact.vocabulary import PartitionImpact
from kreplica.health.quorum import Quorum, active_controller, quorum_without
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.topic_pattern import topic_pattern
from kreplica.planner.restart_limits import restart_limits
from kreplica.planner.restart_waves import Bound, Limit, WaveProblem, kept_apart, plan_waves

SCHEMA = "kreplica/roll/v1"
_REMAKE = "make it anew: kreplica roll plan --out FILE"


@dataclass(frozen=True, slots=True)
class RollOptions:
    """The user's options for the waves.

    Args:
        accept_rf_one: Partitions of one replica may be down meanwhile.
        accept_topics: Regular expression: any harm to topics whose whole name matches is accepted.
        one_rack_at_a_time: No two racks in one wave.
        most_in_wave: Most nodes in one wave; None for any number.
    """

    accept_rf_one: bool = False
    accept_topics: str | None = None
    one_rack_at_a_time: bool = False
    most_in_wave: int | None = None

    @property
    def accepted(self) -> Accepted:
        """The options in the form that judgements take."""
        return Accepted(self.accept_rf_one, None if self.accept_topics is None else topic_pattern(self.accept_topics))


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A node that cannot restart without harm.

    Args:
        node: Its id.
        reasons: Reasons against it, one clause each, those with the most partitions first.
    """

    node: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RollPlan:
    """A rolling restart.

    Args:
        schema: ``kreplica/roll/v1``.
        plan_id: Its own id.
        created_at: When it was made, UTC, ISO 8601.
        taken_at: When the cluster was read, UTC, ISO 8601.
        cluster_id: The cluster it belongs to.
        cluster_name: What the user called that cluster.
        options: The user's options.
        partitions: Partitions of the cluster then.
        controller: The active controller then, None where not known.
        waves: Nodes that restart together, in order.
        bound: Lower bound of the number of waves, and why.
        never: Nodes that are in no wave because their restart does harm whenever it comes.
        down: Nodes that are in no wave because they were down.
        only_some: Whether only some of the cluster's nodes were asked for.
        blocked: Nodes that are in no wave because of what is down or out of sync: they can restart once it is back.
    """

    schema: str
    plan_id: str
    created_at: str
    taken_at: str
    cluster_id: str
    cluster_name: str
    options: RollOptions
    partitions: int
    controller: int | None
    waves: tuple[tuple[int, ...], ...]
    bound: Bound
    never: tuple[HeldBack, ...]
    down: tuple[int, ...]
    only_some: bool = False
    blocked: tuple[HeldBack, ...] = ()

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        """Nodes that are up and in no wave."""
        return (*self.never, *self.blocked)

    @property
    def proven(self) -> bool:
        """True if no plan has fewer waves."""
        return len(self.waves) == self.bound.waves

    @property
    def nodes(self) -> tuple[int, ...]:
        """Every node that the plan names."""
        in_waves = {node for wave in self.waves for node in wave}
        return tuple(sorted({*self.down, *(one.node for one in self.held_back), *in_waves}))


@dataclass(frozen=True, slots=True)
class RollDraft:
    """A plan that was just made.

    Args:
        plan: The plan.
        unknown: What is not known and could make a wave unsafe, one clause each.
    """

    plan: RollPlan
    unknown: tuple[str, ...]


def plan_roll(
    snapshot: ClusterSnapshot,
    nodes: Sequence[int],
    options: RollOptions,
    created_at: str,
    most_steps: int | None = None,
) -> RollDraft:
    """Plans the restart of some nodes in as few waves as can be found.

    Args:
        snapshot: The cluster, with topics' min.insync.replicas and with the quorum.
        nodes: Brokers, and controllers that are none.
        options: The user's options for the waves.
        created_at: Now, UTC, ISO 8601.
        most_steps: Bounds the search for fewer waves; its own default if not given.

    Raises:
        UsageError: One rack at a time is wanted, and a broker's rack is not known.
    """
    quorum = quorum_without(snapshot, ())
    down = tuple(node for node in sorted(nodes) if _is_down(snapshot, node, quorum))
    up = [node for node in sorted(nodes) if node not in down]
    counted = ~taken_into_account(snapshot, options.accepted)
    found = restart_limits(snapshot, up, counted)
    stuck = _kept_by_the_quorum(quorum, up)
    free = tuple(node for node in up if node not in found.never and node not in stuck)
    kept = [Limit(_renumbered(one.nodes, up, free), one.most) for one in found.limits]
    kept += _voters_apart(quorum, free)
    kept += _racks_apart(snapshot, free) if options.one_rack_at_a_time else ()
    problem = WaveProblem(free, tuple(kept), options.most_in_wave)
    waves = plan_waves(problem) if most_steps is None else plan_waves(problem, most_steps)
    controller = active_controller(snapshot)
    ordered = _in_order(snapshot, waves.waves, controller, by_rack=options.one_rack_at_a_time)
    never, blocked = _held_back(snapshot, [node for node in up if node not in free], options.accepted)
    plan = RollPlan(
        schema=SCHEMA,
        plan_id=str(uuid.uuid4()),
        created_at=created_at,
        taken_at=snapshot.taken_at.isoformat(),
        cluster_id=snapshot.cluster_id or "",
        cluster_name=snapshot.name,
        options=options,
        partitions=len(snapshot.partitions),
        controller=controller,
        waves=ordered,
        bound=waves.bound,
        never=never,
        down=down,
        only_some=set(restartable_nodes(snapshot)) > set(nodes),
        blocked=blocked,
    )
    return RollDraft(plan, _judged(snapshot, plan))


def _is_down(snapshot: ClusterSnapshot, node: int, quorum: Quorum | None) -> bool:
    """True if a node is known to be down; a voter whose last fetch is not known is not."""
    if not len(snapshot.brokers) or node in snapshot.brokers["broker"].to_list():
        return snapshot.is_alive(node) is False
    return node in quorum.down if quorum is not None else node not in snapshot.quorum["node"].to_list()


def _kept_by_the_quorum(quorum: Quorum | None, nodes: Sequence[int]) -> set[int]:
    """Voters that the quorum's majority needs; every node where there is no majority: no leader is elected then."""
    if quorum is None or quorum.up - 1 >= quorum.needed:
        return set()
    if quorum.up < quorum.needed:
        return set(nodes)
    return set(quorum.voters) & set(nodes)


def _voters_apart(quorum: Quorum | None, nodes: Sequence[int]) -> list[Limit]:
    """Allows one voter at a time, so that a second that fails meanwhile does not cost, say, five their majority."""
    if quorum is None:
        return []
    return [Limit(sum(1 << place for place, node in enumerate(nodes) if node in quorum.voters), 1)]


def _racks_apart(snapshot: ClusterSnapshot, nodes: Sequence[int]) -> tuple[Limit, ...]:
    """Keeps racks apart; controllers that are no brokers report no rack and form a group of their own."""
    brokers = set(snapshot.brokers["broker"].to_list())
    groups: dict[str | None, list[int]] = {}
    for place, node in enumerate(nodes):
        rack = snapshot.racks.get(node)
        if rack is None and node in brokers:
            raise UsageError(f"broker {node} tells no rack", "one rack at a time needs every rack", "set broker.rack")
        groups.setdefault(rack, []).append(place)
    return kept_apart(groups.values())


def _renumbered(nodes: int, places: Sequence[int], chosen: Sequence[int]) -> int:
    """Converts a bitmask over some nodes to one over fewer of them."""
    number = {node: place for place, node in enumerate(chosen)}
    return sum(1 << number[node] for place, node in enumerate(places) if nodes >> place & 1 and node in number)


def _in_order(
    snapshot: ClusterSnapshot, waves: Sequence[tuple[int, ...]], controller: int | None, *, by_rack: bool
) -> tuple[tuple[int, ...], ...]:
    """Orders waves: the active controller's last, so that it moves once; by rack, one after another, if wanted."""
    racks = [snapshot.racks.get(wave[0], "") if by_rack else "" for wave in waves]
    last = [controller in wave for wave in waves]
    last_rack = racks[last.index(True)] if any(last) else None
    numbers = sorted(range(len(waves)), key=lambda one: (racks[one] == last_rack, racks[one], last[one], waves[one]))
    return tuple(waves[number] for number in numbers)


def _held_back(
    snapshot: ClusterSnapshot, nodes: Sequence[int], accepted: Accepted
) -> tuple[tuple[HeldBack, ...], tuple[HeldBack, ...]]:
    """Nodes whose restart does harm: whenever it comes, and only as long as something is down or out of sync."""
    never: list[HeldBack] = []
    blocked: list[HeldBack] = []
    for node in nodes:
        against = judge_stop(snapshot, [node], accepted).against
        passing = bool(against) and all(item.waiting_helps for item in against)
        (blocked if passing else never).append(HeldBack(node, _reasons(against)))
    return tuple(never), tuple(blocked)


def _reasons(against: Sequence[PartitionImpact]) -> tuple[str, ...]:
    """Reasons, one clause each: lasting ones first, then those that most partitions share."""
    places: dict[tuple[bool, str], set[tuple[str | None, int | None]]] = {}
    for item in against:
        places.setdefault((item.waiting_helps, item.reason), set()).add((item.topic, item.partition))
    ordered = sorted(places.items(), key=lambda pair: (pair[0][0], -len(pair[1])))
    return tuple(_clause(reason, some) for (_, reason), some in ordered)


def _clause(reason: str, places: set[tuple[str | None, int | None]]) -> str:
    if (None, None) in places:
        return f"the controller quorum would have no majority: {reason}"
    topic, number = min((str(topic), int(number or 0)) for topic, number in places)
    rest = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{topic}-{number}{rest}: {reason}"


def _judged(snapshot: ClusterSnapshot, plan: RollPlan) -> tuple[str, ...]:
    """Facts not known of any wave; asserts that every wave is safe by the judgement of safe-to-stop."""
    unknown: dict[str, None] = {}
    for wave in plan.waves:
        judgement = judge_stop(snapshot, wave, plan.options.accepted)
        assert not judgement.against, f"wave {wave}: {judgement.against[0].reason}"
        unknown |= dict.fromkeys(judgement.unknown)
    if not plan.waves and snapshot.mode is not MetadataMode.ZOOKEEPER and quorum_without(snapshot, ()) is None:
        unknown["the controller quorum is not known"] = None
    return tuple(unknown)


def write_roll(plan: RollPlan, path: Path, *, replace: bool = False) -> str:
    """Writes the plan and returns its digest.

    Raises:
        UsageError: The file exists, or the path cannot be written.
    """
    import msgspec

    return write_document(msgspec.to_builtins(plan), path, replace=replace)


def read_roll(path: Path) -> tuple[RollPlan, str]:
    """Reads a plan and its digest.

    Raises:
        InputError: It cannot be read, is no such plan, is damaged, was edited, or a newer kreplica made it.
    """
    document, digest = read_document(path, SCHEMA, _REMAKE)
    plan = decode_document(path, document, RollPlan, _REMAKE)
    assert isinstance(plan, RollPlan)
    return plan, digest


def restartable_nodes(snapshot: ClusterSnapshot) -> tuple[int, ...]:
    """Every broker of the cluster, and every voter of its quorum."""
    brokers = [one for one in snapshot.brokers["broker"].to_list() if isinstance(one, int)]
    voters = [row["node"] for row in snapshot.quorum.rows() if row["voter"] and isinstance(row["node"], int)]
    assigned = np.unique(snapshot.lists("replicas").values).tolist() if not brokers else []
    return tuple(sorted({*brokers, *voters, *assigned}))
