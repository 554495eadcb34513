"""From a snapshot and a request to the replicas that partitions shall have, with bounds, and what was left out and why.

First the reasons that count replicas, together (``certified``); then the balances in the order of the request; then the
limits of the request, and room on the disks; leaders last, since their order copies nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kreplica.errors import UsageError
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Integers, Mask
from kreplica.model.wording.words import counted, named
from kreplica.planner.reassignment.balances.kept_balances import Balance, keep_balances, topic_balance, trade
from kreplica.planner.reassignment.balances.leaders import balance_leaders, leader_bounds, with_leaders
from kreplica.planner.reassignment.balances.loads import balance_load, load_range
from kreplica.planner.reassignment.balances.relief import DirectoryMove, relieve
from kreplica.planner.reassignment.balances.topic_shares import balance_topics
from kreplica.planner.reassignment.board import Layout, closed_groups
from kreplica.planner.reassignment.certificates.certificate import Certificate, Load
from kreplica.planner.reassignment.certificates.load_prices import ANY
from kreplica.planner.reassignment.certificates.relief_proof import DirectoryAim, directory_reliefs
from kreplica.planner.reassignment.certification import Aims, LoadAim
from kreplica.planner.reassignment.constraints import Constraints, make_constraints
from kreplica.planner.reassignment.directories.changed_directory import ChangedDirectory
from kreplica.planner.reassignment.directories.room import (
    MAX_DISK_USED,
    DirectoryRoom,
    LogDirectories,
    choose_directories,
    log_directories,
    require_capacity,
)
from kreplica.planner.reassignment.feasibility import Obstacle, ObstacleKind, obstacles
from kreplica.planner.reassignment.goals.catalogue import vetoes
from kreplica.planner.reassignment.moves.intermediate_states import DEFAULT_MARGIN
from kreplica.planner.reassignment.numbers.certified import plan
from kreplica.planner.reassignment.problem import (
    NOBODY,
    Assignment,
    Matrix,
    Problem,
    added,
    bytes_moved,
    changed,
    held,
    make_problem,
    targets,
)
from kreplica.planner.reassignment.request import Measure, Reason, ReasonKind, Request

PartitionKey = tuple[str, int]

TOLERANCE = 0.1
"""Share of the mean by which loads of brokers may differ after a balance of bytes or weights."""


@dataclass(frozen=True, slots=True)
class GoalBound:
    """A quantity of a plan, and what no other plan with the same aim goes below.

    Args:
        goal: The aim.
        quantity: The quantity: ``moves``, ``bytes`` or ``leader changes``.
        value: That of the plan.
        bound: The lower bound.
        short: What of the aim is not reached, empty if nothing.
        of_reached: True if the bound is that of plans that reach as much as this one, not of those that reach it all.
    """

    goal: str
    quantity: str
    value: int
    bound: int
    short: str = ""
    of_reached: bool = False

    @property
    def optimal(self) -> bool:
        """True if all of the aim is reached and no plan is better."""
        return self.value == self.bound and not self.short


@dataclass(frozen=True, slots=True)
class PlanningLimits:
    """Conditions beside the request.

    Args:
        ignore_capacity: Give replicas to brokers whose free space is not known.
        margin: Brokers that may fail on top while a partition moves: a change that would lack something then, and does
            not now, is left out by whoever judges the states on the way.
    """

    ignore_capacity: bool = False
    margin: int = DEFAULT_MARGIN


@dataclass(frozen=True, slots=True)
class PlannedReassignment:
    """Replicas that partitions shall have.

    Args:
        problem: The cluster and the request.
        assignment: Replicas as they shall be.
        directories: Log directory of each copy, by partition and broker id, where one was chosen.
        whole: Replicas as they were to be before limits, full disks and the order of leaders.
        aims: Aims that the plan is certified by.
        bounds: Bounds of each aim, in the order in which they count.
        stuck: Partitions for which nothing legal was found: they stay as they are.
        obstacles: Wishes of the request that this cluster cannot fulfil, and what was aimed at instead.
        capped: Partitions that stay as they are because of a limit or a full disk, each with the reason.
        changed_directories: Replicas that change their log directory and not their broker.
    """

    problem: Problem
    assignment: Assignment
    directories: dict[tuple[PartitionKey, int], str]
    whole: Assignment
    aims: Aims
    bounds: tuple[GoalBound, ...]
    stuck: tuple[PartitionKey, ...]
    obstacles: tuple[Obstacle, ...]
    capped: dict[PartitionKey, str]
    changed_directories: tuple[ChangedDirectory, ...] = ()

    @property
    def targets(self) -> dict[PartitionKey, tuple[int, ...]]:
        """Replicas of each partition that changes."""
        return targets(self.problem, self.assignment)

    def certificate(
        self, left_out: Collection[PartitionKey] = (), within: Sequence[ChangedDirectory] | None = None
    ) -> Certificate:
        """Proof of how good the plan is.

        Args:
            left_out: Partitions that are left as they are although the plan would change them.
            within: Changes of log directories that the plan has; None for all of them.
        """
        made = without(self.problem, self.assignment, left_out)
        found = self.aims.certificate(self.whole, made)
        if not self.aims.reliefs:
            return found
        changed = self.changed_directories if within is None else within
        chosen = {place: path for place, path in self.directories.items() if place[0] not in left_out}
        return replace(found, reliefs=directory_reliefs(self.problem, self.aims.reliefs, made, changed, chosen))


NO_LIMITS = PlanningLimits()


def plan_reassignment(
    snapshot: ClusterSnapshot, request: Request, limits: PlanningLimits = NO_LIMITS
) -> PlannedReassignment:
    """Plans replicas for the reasons of a request.

    Args:
        snapshot: The cluster.
        request: Reasons, scope and limits.
        limits: Further conditions.

    Raises:
        UsageError: A broker or a topic that is named does not exist, nobody may receive a replica, or the free space
            of a broker that would receive some is not known.
        MissingExtraError: A proof is wanted and OR-tools is not installed.
    """
    return _Planning(make_problem(snapshot, request), limits).planned()


def _counts_replicas(reason: Reason) -> bool:
    return reason.kind is not ReasonKind.RELIEVE and (
        reason.kind is not ReasonKind.BALANCE or reason.measure is Measure.COUNT
    )


def _name(reason: Reason) -> str:
    return str(reason.kind) if reason.measure is None else f"{reason.kind} {reason.measure}"


class _Planning:
    """A plan while it is made: the matrix that each step goes on from, and the bounds so far."""

    def __init__(self, problem: Problem, limits: PlanningLimits) -> None:
        _require_destinations(problem)
        self.problem, self.limits = problem, limits
        self.replicas: Matrix = problem.replicas
        self.bounds: list[GoalBound] = []
        self.stuck: tuple[PartitionKey, ...] = ()
        self.directory_moves: list[DirectoryMove] = []
        self.standing: list[Balance] = []
        balances = [one.measure for one in problem.request.reasons if one.kind is ReasonKind.BALANCE]
        self.several = len(set(balances) - {Measure.LEADERS}) > 1
        self.constraints = make_constraints(problem)
        self.aims = Aims(problem, self.constraints)
        self.obstacles = _obstacles(problem, self.constraints)

    def planned(self) -> PlannedReassignment:
        problem, request = self.problem, self.problem.request
        if any(map(_counts_replicas, request.reasons)):
            self._count()
        directories = log_directories(problem)
        for reason in request.reasons:
            self._balance(reason, directories)
        whole = Assignment(self.replicas)
        assignment, capped = _capped(problem, whole)
        chosen, full = self._directories(assignment, directories)
        if full:
            capped |= full
            assignment = without(problem, assignment, full)
        if request.balances(Measure.LEADERS):
            assignment = self._lead(assignment)
            assignment, above = _capped(problem, assignment)
            capped |= above
        within, above = self._within_brokers(assignment, directories, capped)
        capped |= above
        return PlannedReassignment(
            problem,
            assignment,
            {(key, broker): path for (key, broker), path in chosen.items() if key not in capped},
            whole,
            self.aims,
            tuple(self.bounds),
            self.stuck,
            self.obstacles,
            capped,
            within,
        )

    def _count(self) -> None:
        found = plan(self.problem, prove=self.problem.request.prove)
        self.replicas, self.aims.counted = found.assignment.replicas, found
        self.stuck = tuple(self.problem.key(place) for place in found.constraints.stuck.tolist())
        reasons = ", ".join(_name(reason) for reason in self.problem.request.reasons if _counts_replicas(reason))
        short = _short(found.certificate)
        self.bounds += [
            GoalBound(reasons, str(bound.quantity), bound.value, bound.lower_bound, short, bool(short))
            for bound in found.certificate.bounds
        ]
        if self.problem.request.balances(Measure.COUNT):
            wanted = self.constraints
            each = np.ones(len(self.problem), dtype=np.int64)
            self.standing.append(Balance(each, wanted.lower.astype(np.int64), wanted.upper.astype(np.int64)))

    def _balance(self, reason: Reason, directories: LogDirectories) -> None:
        if reason.kind is ReasonKind.RELIEVE:
            self._relieve(reason, directories)
        elif reason.measure is Measure.TOPIC:
            self._share_topics(directories)
        elif reason.measure in (Measure.BYTES, Measure.WEIGHTS):
            self._level(reason.measure, directories)

    def _layout(self) -> Layout:
        problem, replicas = self.problem, self.replicas
        return Layout(replicas, problem.racks, problem.destination, self._movable(), problem.sizes)

    def _movable(self) -> Mask:
        """Replicas that may leave: not those of dead and excluded brokers, nor the only one in sync."""
        problem, replicas = self.problem, self.replicas
        in_sync = held(replicas, np.where(problem.in_sync, problem.replicas, NOBODY))
        alone = in_sync & (in_sync.sum(axis=1) == 1)[:, None]
        movable: Mask = self._free() & ~alone
        return movable

    def _free(self) -> Mask:
        """Replicas of brokers that are neither dead nor excluded."""
        free = self.problem.alive & ~self.problem.excluded
        there: Mask = (self.replicas != NOBODY) & free[np.maximum(self.replicas, 0)]
        return there

    def _sharing(self) -> Mask:
        problem = self.problem
        return problem.destination | (problem.alive & ~problem.excluded & ~problem.leaving)

    def _room(self, directories: LogDirectories) -> DirectoryRoom | None:
        """Free space of directories; None where nothing is known of any and that does not matter."""
        if self.limits.ignore_capacity and not (directories.known | directories.cordoned).any():
            return None
        most = self.problem.request.max_disk_used or MAX_DISK_USED
        brokers = len(self.problem.brokers)
        room = DirectoryRoom(directories, brokers, most, ignore_capacity=self.limits.ignore_capacity)
        for move in self.directory_moves:
            room.reserve(move.destination, int(self.problem.sizes[move.row]))
        return room

    def _share_topics(self, directories: LogDirectories) -> None:
        layout, sharing = self._layout(), self._sharing()
        self.aims.groups = np.where(sharing, closed_groups(layout), -1)
        found = balance_topics(layout, self.problem.topics, sharing, room=self._room(directories))
        replicas, beyond = found.replicas, found.beyond
        if self.several:
            own = topic_balance(self.problem.topics, layout.replicas, self.aims.groups)
            replicas = self._beside_earlier(layout, replicas, own)
            beyond = int(own.beyond(replicas, layout.brokers).sum())
        taken = self._go_on(replicas).sum()
        short = f"{counted(beyond, 'replica')} above or below a share" if beyond else ""
        self.bounds.append(GoalBound("balance topic", "moves", int(taken), found.bound, short))

    def _level(self, measure: Measure, directories: LogDirectories) -> None:
        problem, layout = self.problem, self._layout()
        weights = problem.sizes if measure is Measure.BYTES else problem.weights
        wanted = load_range(layout, weights, self._sharing(), TOLERANCE)
        shared = wanted.group >= 0
        high = np.where(shared, wanted.high, ANY)
        self.aims.level(LoadAim(Load(measure), weights, np.where(shared, wanted.low, 0), high))
        found = balance_load(layout, weights, wanted, room=self._room(directories))
        replicas, places = found.replicas, found.outside
        if self.several:
            own = Balance(weights, np.where(shared, wanted.low, 0), high)
            replicas = self._beside_earlier(layout, replicas, own)
            untouched = replace(layout, replicas=replicas, movable=layout.movable & (replicas == layout.replicas))
            traded = trade(untouched, self.standing[:-1], own, self._room(directories))
            replicas = replicas if self._vetoed(traded).any() else traded  # half of a trade is none
            places = np.flatnonzero(own.beyond(replicas, layout.brokers))
        outside = problem.brokers[places].tolist()
        taken = self._go_on(replicas) @ problem.sizes
        short = f"{named('broker', outside, 10)} more than {TOLERANCE:.0%} from the mean" if outside else ""
        self.bounds.append(GoalBound(f"balance {measure}", "bytes", int(taken), found.bound, short))

    def _beside_earlier(self, layout: Layout, replicas: Matrix, own: Balance) -> Matrix:
        """Takes of a stage what leaves the balances before it as they are; its own stands from then on."""
        replicas = np.where(self._vetoed(replicas)[:, None], layout.replicas, replicas)
        kept = keep_balances(layout, replicas, self.standing, own) if self.standing else replicas
        self.standing.append(own)
        return kept

    def _vetoed(self, replicas: Matrix) -> Mask:
        """Partitions whose change a hard goal vetoes."""
        found = np.zeros(len(replicas), dtype=np.bool_)
        for rows in vetoes(self.problem, self.constraints, self.replicas, replicas).values():
            found |= rows
        return found

    def _relieve(self, reason: Reason, directories: LogDirectories) -> None:
        room = self._room(directories)
        assert reason.to_used is not None, "a broker is relieved to a share of its disk"
        for broker in self.problem.positions(reason.brokers).tolist():
            if room is None:
                raise UsageError(
                    f"broker {self.problem.brokers[broker]} cannot be relieved",
                    "the capacity of its disks is not known",
                    "read a live cluster of Kafka 3.3 or newer, or a snapshot of one",
                )
            layout = self._layout()
            stay = self._free()
            found = relieve(layout, directories, room, broker, reason.to_used, path=reason.directory, within=stay)
            # A replica that only changes its directory stays on the broker: nothing has to leave that.
            self.aims.relieve(broker, 0 if reason.directory else found.bound)
            if reason.directory:
                self.aims.reliefs.append(DirectoryAim(broker, reason.directory, reason.to_used))
            short = "not all of it can leave" if found.left else ""
            taken = int(self._go_on(found.replicas) @ self.problem.sizes)
            taken += sum(int(self.problem.sizes[move.row]) for move in found.directory_moves)
            self.directory_moves += found.directory_moves
            goal = f"relieve {self.problem.brokers[broker]}" + f":{reason.directory}" * bool(reason.directory)
            bound = found.least if reason.directory else found.bound
            self.bounds.append(GoalBound(goal, "bytes", taken, bound, short))

    def _within_brokers(
        self, assignment: Assignment, directories: LogDirectories, capped: Mapping[PartitionKey, str]
    ) -> tuple[tuple[ChangedDirectory, ...], dict[PartitionKey, str]]:
        """Moves between directories of one broker that the limits leave room for; their bytes are copied, too."""
        problem, request = self.problem, self.problem.request
        left = None if request.max_bytes is None else request.max_bytes - bytes_moved(problem, assignment)
        taken: list[ChangedDirectory] = []
        above: dict[PartitionKey, str] = {}
        for move in self.directory_moves:
            key, size = problem.key(move.row), int(problem.sizes[move.row])
            if move.broker not in assignment.replicas[move.row] or key in capped:
                continue
            if left is not None and size > left:
                above[key] = f"above --max-bytes {request.max_bytes}"
                continue
            left = None if left is None else left - size
            source, destination = (directories.paths[one] for one in (move.source, move.destination))
            taken.append(ChangedDirectory(*key, int(problem.brokers[move.broker]), source, destination, size))
        return tuple(taken), above

    def _go_on(self, replicas: Matrix) -> Integers:
        """Takes what a stage made, without what a hard goal vetoes; the number of copies of each partition."""
        before, after = Assignment(self.replicas), Assignment(replicas)
        taken = allowed(self.problem, self.constraints, before, after).replicas
        new = (taken != NOBODY) & ~held(taken, self.replicas)
        self.replicas = taken
        copies: Integers = new.sum(axis=1)
        return copies

    def _directories(
        self, assignment: Assignment, directories: LogDirectories
    ) -> tuple[dict[tuple[PartitionKey, int], str], dict[PartitionKey, str]]:
        """Directories of copies, and partitions with a copy for which no directory has room."""
        problem = self.problem
        new = added(problem, assignment)
        if not new.any():
            return {}, {}
        receiving = np.unique(assignment.replicas[new]).tolist()
        if not self.limits.ignore_capacity:
            require_capacity(problem, directories, receiving)
        room = self._room(directories)
        if room is None:
            return {}, {}
        misfits = choose_directories(problem, assignment.replicas, room)
        most = problem.request.max_disk_used or MAX_DISK_USED
        full = {
            problem.key(row): f"no log directory of broker {problem.brokers[broker]} stays below {most:.0%}"
            for row, broker in misfits
        }
        paths = {
            (problem.key(row), int(problem.brokers[broker])): directories.paths[directory]
            for (row, broker), directory in room.chosen.items()
        }
        return paths, full

    def _lead(self, assignment: Assignment) -> Assignment:
        """The same replicas in the order that spreads preferred leaders evenly with the fewest changes."""
        problem, replicas = self.problem, assignment.replicas
        free = problem.alive & ~problem.excluded
        may_lead = (replicas != NOBODY) & free[np.maximum(replicas, 0)]
        preferred = problem.replicas[:, 0].astype(np.int64)
        found = balance_leaders(replicas, len(problem.brokers), preferred, may_lead)
        ordered = with_leaders(replicas, found.leaders)
        ordered = allowed(problem, self.constraints, assignment, Assignment(ordered)).replicas
        changes = int(np.count_nonzero(ordered[:, 0] != problem.replicas[:, 0]))
        self.aims.leaders = found, free
        bounds = leader_bounds(replicas, preferred, may_lead, found.levels, found.prices)
        self.bounds.append(GoalBound("balance leaders", "leader changes", changes, bounds.changes))
        return Assignment(ordered)


def allowed(problem: Problem, constraints: Constraints, before: Assignment, after: Assignment) -> Assignment:
    """Takes over what a later stage made of an assignment, without the partitions whose change a hard goal vetoes."""
    replicas = after.replicas.copy()
    for rows in vetoes(problem, constraints, before.replicas, after.replicas).values():
        replicas[rows] = before.replicas[rows]
    return Assignment(replicas)


def _short(certificate: Certificate) -> str:
    """Numbers of replicas that were wanted and are not reached, empty if none."""
    missed = [miss.broker for miss in certificate.missed]
    return f"{named('broker', missed, 10)} outside the numbers that were wanted" if missed else ""


def _obstacles(problem: Problem, constraints: Constraints) -> tuple[Obstacle, ...]:
    """Wishes that cannot be fulfilled; what is stuck is told of each partition instead.

    Raises:
        UsageError: Nothing can be planned because of one.
    """
    found = [one for one in obstacles(problem, constraints) if one.kind is not ObstacleKind.STUCK]
    for one in found:
        if one.refused:
            raise UsageError(one.message, "the request cannot be fulfilled", one.instead)
    return tuple(found)


def _require_destinations(problem: Problem) -> None:
    added = problem.positions(problem.request.brokers_of(ReasonKind.ADD))
    for broker in added[~problem.destination[added]].tolist():
        raise UsageError(f"broker {problem.brokers[broker]} cannot be added", _closed(problem, broker))
    if problem.destination.any():
        return
    closed = problem.brokers[~problem.alive].tolist()
    cordoned = problem.brokers[problem.cordoned & problem.alive].tolist()
    facts = [f"{named('broker', closed, 5)} not alive"] * bool(closed)
    facts += [f"{named('broker', cordoned, 5)} cordoned"] * bool(cordoned)
    raise UsageError(
        "no broker may receive a replica",
        ", ".join(facts) or f"{counted(len(problem.brokers), 'broker')} known",
        "leave out --to or --exclude-broker, or drain fewer",
    )


def _closed(problem: Problem, broker: int) -> str:
    """Reason why a broker receives nothing."""
    if not problem.alive[broker]:
        return "it is not alive"
    if problem.cordoned[broker]:
        return "all of its log directories are cordoned"
    if problem.leaving[broker] or problem.excluded[broker]:
        return "it is to be emptied, or excluded"
    return "--to does not name it, or none of its log directories is online"


def without(problem: Problem, assignment: Assignment, keys: Collection[PartitionKey]) -> Assignment:
    """The assignment, in which some partitions stay as they are.

    Args:
        problem: The cluster.
        assignment: The target.
        keys: Partitions that stay.
    """
    left_out = set(keys)
    places = [place for place in changed(problem, assignment).tolist() if problem.key(place) in left_out]
    replicas = assignment.replicas.copy()
    replicas[places] = problem.replicas[places]
    return Assignment(replicas)


def _capped(problem: Problem, assignment: Assignment) -> tuple[Assignment, dict[PartitionKey, str]]:
    """The changes that the limits of the request leave room for: at or under min ISR first, then the smallest."""
    request = problem.request
    places = changed(problem, assignment)
    new = added(problem, assignment)[places].sum(axis=1).astype(np.int64)
    copied = new * problem.sizes[places]
    led = (problem.replicas[places, :1] != assignment.replicas[places, :1]).sum(axis=1)
    in_sync = problem.in_sync[places].sum(axis=1)
    order = np.lexsort((places, copied, in_sync > problem.min_isr[places]))
    kept = np.ones(len(places), dtype=np.bool_)
    limits = (
        ("--max-moves", request.max_moves, new),
        ("--max-bytes", request.max_bytes, copied),
        ("--max-leader-changes", request.max_leader_changes, led),
    )
    reasons: dict[PartitionKey, str] = {}
    for name, limit, costs in limits:
        if limit is None:
            continue
        left = limit
        for one in order[kept[order]].tolist():
            cost = int(costs[one])
            if cost <= left:
                left -= cost
            else:
                kept[one] = False
                reasons[problem.key(int(places[one]))] = f"above {name} {limit}"
    return without(problem, assignment, reasons), reasons
