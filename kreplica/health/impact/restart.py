"""A rolling restart played over a snapshot: each broker in turn stops, its partitions move, and it comes back in sync.

Leaders stay where they went: no preferred election brings them back in between, which a controller does every
leader.imbalance.check.interval.seconds (300 s) where auto.leader.rebalance.enable is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kreplica.engine.projection.changes import NO_CHANGES, Changes, with_changes
from kreplica.engine.projection.failure import Failure, fail, stop_brokers
from kreplica.engine.projection.states import rows_on
from kreplica.health.impact.fail import (
    QUORUM_NOT_KNOWN,
    FailureJudgement,
    PlayedStep,
    controller_left,
    impacts_of,
    leaders_before_and_after,
    unclean_leaders,
    unknown_elr,
    unknown_partitions,
)
from kreplica.health.impact.vocabulary import Impact, held_in, is_true, quorum_not_known
from kreplica.health.quorum import quorum_without
from kreplica.model.predicates import partitions as known
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.columns import IntColumn, Integers, IntListColumn, column_from_values
from kreplica.model.tables.schema import Kind
from kreplica.model.tables.table import Table


def judge_rolling_restart(
    snapshot: ClusterSnapshot, brokers: Sequence[int], changes: Changes = NO_CHANGES
) -> FailureJudgement:
    """Plays a restart of each broker in turn, in the given order, each waiting until the one before is in sync again.

    Args:
        snapshot: The cluster, with topics' min.insync.replicas and with the quorum.
        brokers: Brokers to restart; one that is down already is left out.
        changes: Settings changed before.
    """
    current, steps = with_changes(snapshot, changes), []
    unknown: dict[str, None] = dict.fromkeys(unknown_elr(current))
    for broker in brokers:
        if snapshot.is_alive(broker) is False and broker not in snapshot.quorum["node"].to_list():
            continue
        step = _step(broker, current, snapshot)
        steps.append(step)
        unknown |= dict.fromkeys(unknown_partitions(step))
        current = _returned(current, step)
    if quorum_not_known(snapshot, quorum_without(snapshot, brokers)):
        unknown[QUORUM_NOT_KNOWN] = None
    return FailureJudgement(tuple(steps), leaders_before_and_after(snapshot, current), tuple(unknown))


def _step(broker: int, current: ClusterSnapshot, original: ClusterSnapshot) -> PlayedStep:
    """Stops one broker; without a controller no other broker takes over its leaderships."""
    quorum = quorum_without(current, [broker])
    if controller_left(current, (broker,), quorum):
        stopped = stop_brokers(current, [broker])
        rows, before, after, no_clean_leader = stopped.rows, stopped.before, stopped.after, stopped.last_in_sync
        unavailable, frozen = is_true(after, known.UNAVAILABLE), np.zeros(len(rows), dtype=np.bool_)
    else:
        rows = rows_on(current, [broker])
        before = current.select(rows)
        failed = fail(before, Failure((broker,), controller_left=False))
        after, no_clean_leader = failed.after, failed.no_clean_leader
        unavailable, frozen = failed.unavailable, failed.frozen
    unclean = unclean_leaders(before, after) & ~unavailable
    harms = {Impact.UNCLEAN_LEADER: unclean, Impact.UNAVAILABLE: unavailable, Impact.ISR_FROZEN: frozen}
    impacts, already = impacts_of(before, after, harms, held_in(original.select(rows)), np.ones_like(frozen))
    return PlayedStep((broker,), rows, before, after, impacts, already, no_clean_leader, quorum)


def _returned(snapshot: ClusterSnapshot, step: PlayedStep) -> ClusterSnapshot:
    """The cluster once the broker is back and in sync: new leaders stay; it still leads what nobody took over."""
    leader, moved = snapshot.integers("leader"), step.after.integers("leader")
    values = leader.values.copy()
    values[step.rows] = np.where(moved.values >= 0, moved.values, leader.values[step.rows])
    columns = {**snapshot.partitions.columns, "leader": IntColumn(values, leader.valid)}
    columns["isr"] = _with_new_leaders(snapshot.lists("isr"), values, step)
    return replace(snapshot, partitions=Table(snapshot.partitions.schema, columns))


def _with_new_leaders(isr: IntListColumn, leaders: Integers, step: PlayedStep) -> IntListColumn:
    """The ISRs, with each leader that was elected from outside one in it."""
    outside = step.rows[unclean_leaders(step.before, step.after)].tolist()
    if not outside:
        return isr
    lists = isr.to_list()
    for row in outside:
        lists[row] = [*dict.fromkeys((*(lists[row] or ()), int(leaders[row])))]
    column = column_from_values(Kind.INT_LIST, lists)
    assert isinstance(column, IntListColumn)
    return column
