"""Impact of a failure on a cluster: the impact of every partition, the quorum, and the leaders of each broker.

Unlike the judgement of a stop, which asks whether it is safe, this one predicts the result: brokers crash, log
directories go offline, brokers restart one after another, and the controller does what its rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kreplica.engine.projection.changes import NO_CHANGES, Changes, with_changes
from kreplica.engine.projection.failure import Disk, FailedCluster, Failure, fail, partitions_on_disk
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, Impact, held_in, is_true, quorum_not_known
from kreplica.health.quorum import Quorum, quorum_without
from kreplica.model.predicates import partitions as known
from kreplica.model.predicates.evaluate import Evaluator
from kreplica.model.snapshot import ClusterSnapshot, MetadataMode
from kreplica.model.tables.columns import BoolColumn, Indices, IntListColumn, Mask
from kreplica.model.wording.words import counted

ELR_NOT_KNOWN = "whether eligible leader replicas (KIP-966) are on is not known, they are taken for off; --elr tells"
QUORUM_NOT_KNOWN = "the controller quorum is not known: that it keeps its majority is taken for granted"
UNTOUCHED = -1
"""Value in arrays of impacts for a partition that is not affected."""


@dataclass(frozen=True, slots=True, eq=False)
class PlayedStep:
    """Partitions before and after something fails or restarts.

    Args:
        brokers: Brokers that fail or restart.
        rows: The partitions, as rows of the snapshot.
        before: The partitions before.
        after: The same partitions, in the same order, meanwhile.
        impacts: Each partition's impact as an index into FAILURE_IMPACTS, or UNTOUCHED.
        already: Partitions that had this impact before.
        no_clean_leader: Partitions that no replica could lead without losing records.
        quorum: None with ZooKeeper, and where not known.
    """

    brokers: tuple[int, ...]
    rows: Indices
    before: ClusterSnapshot
    after: ClusterSnapshot
    impacts: npt.NDArray[np.int8]
    already: Mask
    no_clean_leader: Mask
    quorum: Quorum | None

    def places(self, impact: Impact, *, already: bool = False) -> Indices:
        """Rows of its partitions that newly have that impact, or had it already."""
        return np.flatnonzero((self.impacts == FAILURE_IMPACTS.index(impact)) & (self.already == already))

    def mended(self, impact: Impact) -> Indices:
        """Rows of its partitions that had that harm before and are usable afterwards, even under an unclean leader."""
        well = [one for one in FAILURE_IMPACTS if not one.harmful or one is Impact.UNCLEAN_LEADER]
        fine = np.isin(self.impacts, [UNTOUCHED, *(FAILURE_IMPACTS.index(one) for one in well)])
        return np.flatnonzero(held_in(self.before)[impact] & ~held_in(self.after)[impact] & fine)

    @property
    def quorum_goes(self) -> bool:
        """True if the quorum has its majority before and not afterwards."""
        quorum = self.quorum
        return quorum is not None and quorum.lost and quorum.up >= quorum.needed

    @property
    def harms(self) -> bool:
        """True if anything gets worse."""
        return self.quorum_goes or any(impact.harmful and len(self.places(impact)) for impact in FAILURE_IMPACTS)


@dataclass(frozen=True, slots=True)
class BrokerLeaders:
    """Number of partitions that one broker leads.

    Args:
        broker: Its id.
        rack: Its rack, None where not known.
        alive_after: Whether it is up afterwards, None where not known.
        before: Partitions it leads before.
        after: Partitions it leads afterwards.
    """

    broker: int
    rack: str | None
    alive_after: bool | None
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class FailureJudgement:
    """Impact of a failure, or of restarting brokers in turn.

    Args:
        steps: One, or one for each broker that restarts.
        leaders: Each broker's leaderships before, and when all is over.
        unknown: What is not known and could make it worse, one clause each.
    """

    steps: tuple[PlayedStep, ...]
    leaders: tuple[BrokerLeaders, ...]
    unknown: tuple[str, ...]

    @property
    def harms(self) -> bool:
        """True if anything gets worse at any step."""
        return any(step.harms for step in self.steps)

    def count(self, impact: Impact, *, already: bool = False) -> int:
        """Number of partitions that newly have that impact, or had it already, at one step at least."""
        rows = [step.rows[step.places(impact, already=already)] for step in self.steps]
        return len(np.unique(np.concatenate(rows))) if rows else 0


def judge_failure(
    snapshot: ClusterSnapshot, brokers: Sequence[int], disks: Sequence[Disk] = (), changes: Changes = NO_CHANGES
) -> FailureJudgement:
    """Plays a failure and judges its impact.

    Args:
        snapshot: The cluster, with topics' min.insync.replicas and with the quorum.
        brokers: Nodes that crash: brokers, or controllers that are none.
        disks: Log directories that fail while their broker lives on.
        changes: Settings changed before.
    """
    nodes = tuple(sorted(set(brokers)))
    quorum = quorum_without(snapshot, nodes)
    changed = with_changes(snapshot, changes)
    failed = fail(changed, Failure(nodes, disks, controller_left(snapshot, nodes, quorum)))
    step = played_step(nodes, snapshot, failed, quorum)
    of_the_cluster = (*_unknown_quorum(snapshot, quorum), *unknown_elr(changed), *_unknown_disks(snapshot, disks))
    unknown = (*of_the_cluster, *unknown_partitions(step))
    return FailureJudgement((step,), leaders_before_and_after(snapshot, failed.after), unknown)


def controller_left(snapshot: ClusterSnapshot, nodes: Sequence[int], quorum: Quorum | None) -> bool:
    """True if a controller is left once these nodes are gone; assumed where the quorum is not known."""
    if snapshot.mode is not MetadataMode.ZOOKEEPER:
        return quorum is None or not quorum.lost
    ids = [broker for broker in snapshot.brokers["broker"].to_list() if isinstance(broker, int)]
    return not ids or any(snapshot.is_alive(broker) is not False and broker not in nodes for broker in ids)


def played_step(
    nodes: tuple[int, ...], before: ClusterSnapshot, failed: FailedCluster, quorum: Quorum | None
) -> PlayedStep:
    """A failure that was played, with the impact of each partition.

    Args:
        nodes: Nodes that crash.
        before: The partitions before.
        failed: What became of them.
        quorum: The controller quorum without these nodes.
    """
    unavailable = failed.unavailable | is_true(failed.after, known.UNAVAILABLE)
    unclean = unclean_leaders(before, failed.after) & ~unavailable
    harms = {Impact.UNCLEAN_LEADER: unclean, Impact.UNAVAILABLE: unavailable, Impact.ISR_FROZEN: failed.frozen}
    impacts, already = impacts_of(before, failed.after, harms, held_in(before), failed.touched)
    rows = np.arange(len(before.partitions), dtype=np.intp)
    return PlayedStep(nodes, rows, before, failed.after, impacts, already, failed.no_clean_leader, quorum)


def impacts_of(
    before: ClusterSnapshot, after: ClusterSnapshot, harms: dict[Impact, Mask], held: dict[Impact, Mask], touched: Mask
) -> tuple[npt.NDArray[np.int8], Mask]:
    """Each partition's worst impact, and whether it had that already.

    What was as bad before and has no replica on what fails is none of this failure's doing.

    Args:
        before: The partitions before.
        after: The same partitions afterwards.
        harms: What befalls them that is no predicate of ``after``.
        held: Of held_in.
        touched: Partitions with a replica on what fails.
    """
    masks = {
        **harms,
        Impact.UNDER_MIN_ISR: is_true(after, known.UNDER_MIN_ISR_BROKER),
        Impact.NEW_LEADER: ~same_leader(before, after),
        Impact.SMALLER_ISR: (after.lists("isr").lengths() < before.lists("isr").lengths()) & touched,
    }
    impacts = np.full(len(touched), UNTOUCHED, dtype=np.int8)
    already = np.zeros(len(touched), dtype=np.bool_)
    for impact in reversed(FAILURE_IMPACTS):
        so_before = held.get(impact, np.zeros(len(touched), dtype=np.bool_))
        holds = masks[impact] & (~so_before | touched)
        impacts[holds] = FAILURE_IMPACTS.index(impact)
        already[holds] = so_before[holds]
    return impacts, already


def same_leader(before: ClusterSnapshot, after: ClusterSnapshot) -> Mask:
    """Partitions that keep their leader; a leader that is not known counts as kept."""
    one, other = before.integers("leader"), after.integers("leader")
    same: Mask = one.values == other.values
    return same if one.valid is None else same | ~one.valid


def unclean_leaders(before: ClusterSnapshot, after: ClusterSnapshot) -> Mask:
    """Partitions with a new leader that was neither in the ISR nor in the ELR: it may lack acknowledged records."""
    leader = after.integers("leader").values
    found = ~same_leader(before, after) & (leader >= 0)
    for name in ("isr", "elr"):
        members = before.lists(name)
        rows = members.row_numbers()
        found[rows[members.values == leader[rows]]] = False
    return found


def leaders_before_and_after(before: ClusterSnapshot, after: ClusterSnapshot) -> tuple[BrokerLeaders, ...]:
    """Every broker's leaderships; a dead broker that the metadata still has as leader leads nothing."""
    brokers = [broker for broker in before.brokers["broker"].to_list() if isinstance(broker, int)]
    counts = [_leaderships(one) for one in (before, after)]
    found = sorted({*brokers, *counts[0], *counts[1]})
    return tuple(
        BrokerLeaders(
            broker, before.racks.get(broker), after.is_alive(broker), counts[0].get(broker, 0), counts[1].get(broker, 0)
        )
        for broker in found
    )


def _leaderships(snapshot: ClusterSnapshot) -> dict[int, int]:
    leader = snapshot.integers("leader")
    led = leader.values if leader.valid is None else leader.values[leader.valid]
    brokers, counts = np.unique(led[led >= 0], return_counts=True)
    pairs = zip(brokers.tolist(), counts.tolist(), strict=True)
    return {broker: count for broker, count in pairs if snapshot.is_alive(broker) is not False}


def _unknown_quorum(snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    if quorum_not_known(snapshot, quorum):
        yield QUORUM_NOT_KNOWN


def unknown_elr(snapshot: ClusterSnapshot) -> Iterator[str]:
    """Reports that it is not known whether the ELR is enabled: who stays eligible to lead depends on it."""
    if not snapshot.elr_known:
        yield ELR_NOT_KNOWN


def _unknown_disks(snapshot: ClusterSnapshot, disks: Sequence[Disk]) -> Iterator[str]:
    for broker in sorted({broker for broker, _ in disks}):
        placed = np.zeros(len(snapshot.partitions), dtype=np.bool_)
        for path in {str(row["log_dir"]) for row in snapshot.replicas.rows() if row["broker"] == broker}:
            placed[partitions_on_disk(snapshot, broker, path)] = True
        lost = int((_members(snapshot.lists("replicas"), broker) & ~placed).sum())
        if lost:
            yield f"where broker {broker} keeps {lost} of its partitions is not known"


def _members(lists: IntListColumn, broker: int) -> Mask:
    found = np.zeros(len(lists), dtype=np.bool_)
    found[lists.row_numbers()[lists.values == broker]] = True
    return found


def unknown_partitions(step: PlayedStep) -> Iterator[str]:
    """Facts that are not known of the partitions that the step changes, one clause each."""
    evaluator, changed = Evaluator(step.after), step.impacts != UNTOUCHED
    on_them = changed | _with_any(step.before, step.brokers)
    for predicate, what in (
        (known.UNDER_MIN_ISR_BROKER, "min.insync.replicas or the leader of {} is not known"),
        (known.UNAVAILABLE, "whether the leaders of {} are alive is not known"),
    ):
        column: BoolColumn = evaluator.boolean(predicate.expression)
        doubtful = int((column.is_null() & on_them).sum())
        if doubtful:
            yield what.format(counted(doubtful, "partition"))
            return


def _with_any(snapshot: ClusterSnapshot, brokers: Sequence[int]) -> Mask:
    replicas = snapshot.lists("replicas")
    found = np.zeros(len(replicas), dtype=np.bool_)
    found[replicas.row_numbers()[np.isin(replicas.values, brokers)]] = True
    return found
