"""Problem: a cluster as arrays for planners of reassignments; Assignment: where the replicas shall be.

Brokers and racks are positions in arrays, not ids: ``brokers[position]`` is the id. A matrix of replicas has a row for
each partition that may be planned and a column for each replica, the preferred leader first, and NOBODY where a
partition has fewer replicas than there are columns.

    brokers   [101, 102, 103, 104]        racks  [0, 0, 1, 1]
    replicas  [[0, 2, -1],                orders-0 on 101 and 103
               [3, 1,  2]]                orders-1 on 104, 102 and 103
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kreplica.errors import UsageError
from kreplica.model.cordons import cordoned_brokers
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.predicates.partitions import REASSIGNING, UNAVAILABLE
from kreplica.model.selection import require_known
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import Indices, Integers, IntListColumn, Mask
from kreplica.model.topic_pattern import topic_pattern
from kreplica.model.wording.words import counted, listed, named
from kreplica.planner.reassignment.request import ReasonKind, Request

Matrix: TypeAlias = npt.NDArray[np.int32]

NOBODY = -1
"""Position of no broker, on the right of shorter assignments; of an unknown leader and an unknown min ISR, too."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Partitions that may be planned, and brokers.

    Args:
        snapshot: The cluster.
        request: What is wanted.
        brokers: Ids of all brokers, registered or assigned, sorted.
        rack_names: Names of racks, sorted; the empty one for brokers without a rack.
        racks: Index of each broker's rack.
        alive: Brokers that are not known to be dead or fenced.
        destination: Brokers that may receive replicas.
        leaving: Brokers that are to be emptied.
        excluded: Brokers that the request keeps out.
        cordoned: Brokers that take no new replicas (KIP-1066), as far as the snapshot tells.
        rows: Row of each partition in the snapshot's partitions.
        replicas: Positions of the brokers of each partition, the preferred leader first.
        factor: Wanted number of replicas of each partition.
        leader: Position of each leader, NOBODY where not known.
        in_sync: Replicas of the matrix that are in the ISR.
        eligible: Replicas of the matrix that are in the ELR.
        min_isr: min.insync.replicas, NOBODY where not known.
        topics: Topic of each partition, an index into ``topic_names``.
        topic_names: Names of topics.
        numbers: Partition indices.
        sizes: Bytes of one replica of each partition: the leader's where known, else the largest; 0 where not known.
        size_known: Partitions whose size is known.
        weights: Load of each partition by the request's weights, 0 where it has none.
        reassigning: Rows of the snapshot that are left out, because they are being reassigned.
        leaderless: Rows of the snapshot that are left out, because no live broker leads them.
        remarks: Facts that are not known and count, for the user.
    """

    snapshot: ClusterSnapshot
    request: Request
    brokers: Integers
    rack_names: tuple[str, ...]
    racks: npt.NDArray[np.int32]
    alive: Mask
    destination: Mask
    leaving: Mask
    excluded: Mask
    cordoned: Mask
    rows: Indices
    replicas: Matrix
    factor: npt.NDArray[np.int32]
    leader: npt.NDArray[np.int32]
    in_sync: Mask
    eligible: Mask
    min_isr: npt.NDArray[np.int32]
    topics: npt.NDArray[np.int32]
    topic_names: tuple[str, ...]
    numbers: Integers
    sizes: Integers
    size_known: Mask
    weights: Integers
    reassigning: Indices
    leaderless: Indices
    remarks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """Number of columns: the most replicas of a partition, before or after."""
        return int(self.replicas.shape[1])

    @cached_property
    def current(self) -> Assignment:
        """The assignment as it is."""
        return Assignment(self.replicas)

    def key(self, place: int) -> tuple[str, int]:
        """Topic and partition of one row of the matrix."""
        return self.topic_names[self.topics[place]], int(self.numbers[place])

    def positions(self, brokers: Collection[int]) -> Indices:
        """Positions of brokers given by id."""
        return np.searchsorted(self.brokers, np.array(sorted(brokers), dtype=np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class Assignment:
    """Replicas as they shall be.

    Args:
        replicas: A matrix of the same shape and rules as that of the problem.
    """

    replicas: Matrix


def held(replicas: Matrix, others: Matrix) -> Mask:
    """Entries of a matrix whose broker stands in the same row of the other matrix."""
    found = np.zeros(replicas.shape, dtype=np.bool_)
    for column in range(others.shape[1]):
        found |= replicas == others[:, column : column + 1]
    found &= replicas != NOBODY
    return found


def added(problem: Problem, assignment: Assignment) -> Mask:
    """Entries of the assignment that the partition does not have yet: the moves."""
    there: Mask = assignment.replicas != NOBODY
    return there & ~held(assignment.replicas, problem.replicas)


def removed(problem: Problem, assignment: Assignment) -> Mask:
    """Entries of the problem's matrix that the assignment gives up."""
    there: Mask = problem.replicas != NOBODY
    return there & ~held(problem.replicas, assignment.replicas)


def moves(problem: Problem, assignment: Assignment) -> int:
    """Number of replicas that are added."""
    return int(np.count_nonzero(added(problem, assignment)))


def bytes_moved(problem: Problem, assignment: Assignment) -> int:
    """Bytes that are copied: the size of each replica that is added."""
    return int((np.count_nonzero(added(problem, assignment), axis=1) * problem.sizes).sum())


def leader_changes(problem: Problem, assignment: Assignment) -> int:
    """Number of partitions whose preferred leader is another."""
    return int(np.count_nonzero(problem.replicas[:, :1] != assignment.replicas[:, :1]))


def changed(problem: Problem, assignment: Assignment) -> Indices:
    """Rows whose replicas or their order differ."""
    return np.flatnonzero((problem.replicas != assignment.replicas).any(axis=1))


def replica_counts(problem: Problem, assignment: Assignment) -> Integers:
    """Number of replicas on each broker."""
    placed = assignment.replicas[assignment.replicas != NOBODY]
    return np.bincount(placed, minlength=len(problem.brokers)).astype(np.int64)


def targets(problem: Problem, assignment: Assignment) -> dict[tuple[str, int], tuple[int, ...]]:
    """Broker ids of each partition that changes, in the order of the snapshot."""
    found = {}
    for place in changed(problem, assignment).tolist():
        row = assignment.replicas[place]
        found[problem.key(place)] = tuple(problem.brokers[row[row != NOBODY]].tolist())
    return found


def make_problem(snapshot: ClusterSnapshot, request: Request) -> Problem:
    """Reads a snapshot into arrays and leaves out what cannot be planned.

    Args:
        snapshot: The cluster.
        request: What is wanted.

    Raises:
        UsageError: The request names a broker, a topic or a weighted partition that does not exist.
    """
    brokers = _all_brokers(snapshot)
    wanted = (*(broker for reason in request.reasons for broker in reason.brokers), *request.to)
    require_known((*wanted, *request.excluded_brokers), brokers.tolist())
    in_scope = _in_scope(snapshot, request)
    evaluator = Evaluator(snapshot)
    leaderless = evaluator.boolean(UNAVAILABLE.expression).is_true() & in_scope
    reassigning = evaluator.boolean(REASSIGNING.expression).is_true() & in_scope & ~leaderless
    has_replicas = snapshot.lists("replicas").lengths() > 0
    rows = np.flatnonzero(in_scope & ~leaderless & ~reassigning & has_replicas)
    part = snapshot.select(rows)
    replicas = _matrix(part.lists("replicas"), brokers, request.replication_factor or 0)
    number = np.count_nonzero(replicas != NOBODY, axis=1)
    factor = np.full(len(rows), request.replication_factor) if request.replication_factor else number
    rack_names, racks = _racks(snapshot, brokers)
    alive = np.array([snapshot.is_alive(broker) is not False for broker in brokers.tolist()], dtype=np.bool_)
    leaving = np.isin(brokers, request.brokers_of(ReasonKind.REPAIR, ReasonKind.DRAIN))
    excluded = np.isin(brokers, request.excluded_brokers)
    cordoned = np.isin(brokers, list(cordoned_brokers(snapshot)))
    closed = leaving | excluded | cordoned | np.isin(brokers, list(_without_directory(snapshot)))
    chosen = np.isin(brokers, request.to) if request.to else np.ones(len(brokers), dtype=np.bool_)
    sizes, size_known = _sizes(part)
    weights = _weights(snapshot, rows, request)
    leader = part.integers("leader")
    min_isr = part.integers("min_isr")
    return Problem(
        snapshot=snapshot,
        request=request,
        brokers=brokers,
        rack_names=rack_names,
        racks=racks,
        alive=alive,
        destination=alive & ~closed & chosen,
        leaving=leaving,
        excluded=excluded,
        cordoned=cordoned,
        rows=rows,
        replicas=replicas,
        factor=factor.astype(np.int32),
        leader=_positions(brokers, np.where(_known(leader.valid, rows), leader.values, NOBODY)),
        in_sync=_members(replicas, part.lists("isr"), brokers),
        eligible=_members(replicas, part.lists("elr"), brokers),
        min_isr=np.where(_known(min_isr.valid, rows), min_isr.values, NOBODY).astype(np.int32),
        topics=part.strings("topic").codes,
        topic_names=part.strings("topic").dictionary,
        numbers=part.integers("partition").values,
        sizes=sizes,
        size_known=size_known,
        weights=weights,
        reassigning=np.flatnonzero(reassigning),
        leaderless=np.flatnonzero(leaderless),
        remarks=(*_remarks(part, size_known), *_cordons(brokers[cordoned & ~leaving & ~excluded].tolist())),
    )


def _known(valid: Mask | None, rows: Indices) -> Mask:
    return np.ones(len(rows), dtype=np.bool_) if valid is None else valid


def _all_brokers(snapshot: ClusterSnapshot) -> Integers:
    """Brokers of the cluster and of its assignments: an assigned one that is dead may not be registered."""
    return np.union1d(snapshot.brokers.integers("broker").values, snapshot.lists("replicas").values)


def _in_scope(snapshot: ClusterSnapshot, request: Request) -> Mask:
    names = snapshot.strings("topic")
    kept = np.ones(len(names.dictionary), dtype=np.bool_)
    for text, wanted in ((request.topics, True), (request.excluded_topics, False)):
        if text is not None:
            pattern = topic_pattern(text)
            kept &= np.array([(pattern.fullmatch(name) is not None) is wanted for name in names.dictionary])
    if len(kept) and not kept.any():
        raise UsageError("no topic is left to plan", f"{counted(len(kept), 'topic')} visible", "widen --topic")
    return kept[names.codes]


def _racks(snapshot: ClusterSnapshot, brokers: Integers) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Racks by index. Brokers without a rack are together in one, as for KRaft's StripedReplicaPlacer."""
    named = [snapshot.racks.get(broker, "") for broker in brokers.tolist()]
    names = sorted(set(named))
    index = {name: number for number, name in enumerate(names)}
    return tuple(names), np.array([index[name] for name in named], dtype=np.int32)


def _without_directory(snapshot: ClusterSnapshot) -> set[int]:
    """Brokers that report log directories and none that is online."""
    brokers = snapshot.log_dirs.integers("broker").values
    online = snapshot.log_dirs.strings("error").codes < 0
    return set(brokers.tolist()) - set(brokers[online].tolist())


def _positions(brokers: Integers, ids: Integers) -> npt.NDArray[np.int32]:
    """Positions of broker ids; NOBODY for an id that is not there."""
    if not len(brokers):
        return np.full(len(ids), NOBODY, dtype=np.int32)
    found = np.minimum(np.searchsorted(brokers, ids), len(brokers) - 1)
    return np.where(brokers[found] == ids, found, NOBODY).astype(np.int32)


def _matrix(lists: IntListColumn, brokers: Integers, least_width: int = 0) -> Matrix:
    lengths = lists.lengths()
    width = max(int(lengths.max(initial=0)), least_width, 1)  # a cluster without partitions has a first column, too
    matrix = np.full((len(lists), width), NOBODY, dtype=np.int32)
    columns = np.arange(len(lists.values)) - np.repeat(lists.offsets[:-1], lengths)
    matrix[lists.row_numbers(), columns] = _positions(brokers, lists.values)
    return matrix


def _members(replicas: Matrix, lists: IntListColumn, brokers: Integers) -> Mask:
    """Entries of the matrix that stand in the list of their row; none where the list is not known."""
    found = held(replicas, _matrix(lists, brokers))
    return found if lists.valid is None else found & lists.valid[:, None]


def _sizes(part: ClusterSnapshot) -> tuple[Integers, Mask]:
    """Size and whether it is known: that of the leader's copy, which is copied, otherwise of the largest one."""
    copies = part.replicas
    places = places_of_copies(part)
    there = np.flatnonzero((places >= 0) & ~copies.booleans("future").is_true())
    places, broker, size = places[there], copies.integers("broker").values[there], copies.integers("size").values[there]
    sizes = np.full(len(part.partitions), -1, dtype=np.int64)
    np.maximum.at(sizes, places, size)
    led = np.flatnonzero(broker == part.integers("leader").values[places])
    sizes[places[led]] = size[led]
    return np.maximum(sizes, 0), sizes >= 0


def places_of_copies(part: ClusterSnapshot) -> Indices:
    """Row in the partitions of each copy of the replicas table, -1 where it is not among them."""
    own, copied = part.strings("topic"), part.replicas.strings("topic")
    if not len(own) or not len(copied):
        return np.full(len(copied), -1, dtype=np.intp)
    index = {name: code for code, name in enumerate(own.dictionary)}
    codes = np.array([index.get(name, -1) for name in copied.dictionary], dtype=np.int64)[copied.codes]
    numbers, wanted = part.integers("partition").values, part.replicas.integers("partition").values
    span = int(max(numbers.max(), wanted.max())) + 1
    keys = own.codes.astype(np.int64) * span + numbers
    order = np.argsort(keys, kind="stable")
    sought = codes * span + wanted
    found = order[np.minimum(np.searchsorted(keys[order], sought), len(keys) - 1)]
    return np.where((keys[found] == sought) & (codes >= 0), found, -1)


def _weights(snapshot: ClusterSnapshot, rows: Indices, request: Request) -> Integers:
    found = np.zeros(len(snapshot.partitions), dtype=np.int64)
    unknown = []
    for (topic, number), weight in request.weights.items():
        row = snapshot.find_row(topic, number)
        if row is None:
            unknown.append(f"{topic}-{number}")
        else:
            found[row] = weight
    if unknown:
        raise UsageError(f"no partition {listed(unknown, 3)}", "the weights name it", "take it out of the file")
    return found[rows]


def _cordons(brokers: list[int]) -> tuple[str, ...]:
    if not brokers:
        return ()
    verbs = "is cordoned and receives" if len(brokers) == 1 else "are cordoned and receive"
    return (f"{named('broker', brokers, 5)} {verbs} no replica",)


def _remarks(part: ClusterSnapshot, size_known: Mask) -> tuple[str, ...]:
    found = []
    if unsized := len(size_known) - int(np.count_nonzero(size_known)):
        found.append(f"the size of {counted(unsized, 'partition')} is not known and counts as 0 bytes")
    alive = part.brokers.booleans("alive")
    if not len(alive):
        found.append("the source knows no brokers: every one that has replicas counts as alive")
    elif unknown := int(np.count_nonzero(alive.is_null())):
        found.append(f"{counted(unknown, 'broker')} of unknown state count as alive")
    if part.lists("adding").valid is not None and part.lists("removing").valid is not None:
        found.append("the source does not tell of every reassignment that is under way")
    return tuple(found)
