"""A plan of a rolling restart, made of a cluster as it is read now, and its nodes as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Struct

from kreplica.errors import ExitCode, UsageError
from kreplica.execution.journal_file import clear_journal, require_new_plan
from kreplica.execution.roll.plan import RollDraft, RollOptions, RollPlan, plan_roll, restartable_nodes, write_roll
from kreplica.health.gates import Freshness
from kreplica.model.selection import brokers_named
from kreplica.model.snapshot import utc_now
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.monitoring.waiting.stop_gate import FACETS

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.model.snapshot import ClusterSnapshot

NO_OPTIONS = RollOptions()


class PlannedNode(Struct, frozen=True):
    """One node of a plan."""

    node: Annotated[Int32, Meaning("id of a broker, or of a controller that is none")]
    wave: Annotated[Int32 | None, Meaning("number of the wave in which it restarts, from 1 on; null if it is in none")]
    rack: Annotated[str | None, Meaning("broker.rack")]
    leaders: Annotated[Int32, Meaning("partitions that it leads now")]
    replicas: Annotated[Int32, Meaning("replicas there")]
    voter: Annotated[bool, Meaning("whether it is a voter of the metadata quorum")]
    active_controller: Annotated[bool, Meaning("whether it is the active controller")]
    state: Annotated[
        str,
        Meaning(
            "planned, never (its restart does harm whenever it comes), blocked (it does now, until what is down or"
            " out of sync is back) or down"
        ),
    ]
    reason: Annotated[
        str | None, Meaning("what stands against its restart, the most partitions first; null if nothing does")
    ]


@dataclass(frozen=True, slots=True)
class PlannedRoll:
    """A plan that was made.

    Args:
        reading: The cluster as it was read.
        draft: The plan, and what is not known of it.
    """

    reading: Reading
    draft: RollDraft

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster."""
        return self.reading.snapshots[0]

    @property
    def plan(self) -> RollPlan:
        """The plan."""
        return self.draft.plan

    @property
    def complete(self) -> bool:
        """True if all was read and is known."""
        return not (self.snapshot.gaps or self.draft.unknown)

    @property
    def exit_code(self) -> ExitCode:
        """0 when every node is in a wave, 1 when some are in none, 5 when something could not be read."""
        if self.plan.held_back or self.plan.down:
            return ExitCode.FINDINGS
        return ExitCode.OK if self.complete else ExitCode.INCOMPLETE

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, and the facts that are not known."""
        return [*self.reading.warnings(), *self.draft.unknown]

    @property
    def rows(self) -> list[PlannedNode]:
        """Nodes in the order of the waves, then those that are in none."""
        snapshot, plan = self.snapshot, self.plan
        leaders, replicas = snapshot.integers("leader").values, snapshot.lists("replicas").values
        voters = {row["node"] for row in snapshot.quorum.rows() if row["voter"]}
        placed: list[tuple[int, int | None, str, Sequence[str]]] = []
        placed += [(node, wave, "planned", ()) for wave, nodes in enumerate(plan.waves, start=1) for node in nodes]
        placed += [(one.node, None, "never", one.reasons) for one in plan.never]
        placed += [(one.node, None, "blocked", one.reasons) for one in plan.blocked]
        placed += [(node, None, "down", ()) for node in plan.down]
        return [
            PlannedNode(
                node=node,
                wave=wave,
                rack=snapshot.racks.get(node),
                leaders=int(np.count_nonzero(leaders == node)),
                replicas=int(np.count_nonzero(replicas == node)),
                voter=node in voters,
                active_controller=node == plan.controller,
                state=state,
                reason="; ".join(reasons) or None,
            )
            for node, wave, state, reasons in placed
        ]


def roll_plan(
    handle: ClusterHandle,
    brokers: Sequence[int] = (),
    options: RollOptions = NO_OPTIONS,
    *,
    out: Path | None = None,
    force: bool = False,
) -> PlannedRoll:
    """Plans a rolling restart in as few waves as can be found.

    Args:
        handle: The cluster.
        brokers: Nodes to restart; all if empty.
        options: What is accepted, and limits of a wave.
        out: File that the plan is written to, for ``roll_next``; not written if None.
        force: Let a file and a journal of that name be replaced.

    Raises:
        UsageError: There is no such broker, or the plan cannot be written.
    """
    if out is not None:
        require_new_plan(out, force=force)
    reading = read_clusters((handle,), FACETS, Freshness())
    snapshot = reading.snapshots[0]
    nodes = brokers_named(snapshot, brokers, ()) or restartable_nodes(snapshot)
    draft = plan_roll(snapshot, nodes, options, utc_now().isoformat())
    if out is not None:
        _write(handle, snapshot, draft.plan, out, force=force)
    return PlannedRoll(reading, draft)


def _write(handle: ClusterHandle, snapshot: ClusterSnapshot, plan: RollPlan, out: Path, *, force: bool) -> None:
    if snapshot.cluster_id is None:
        why = f"{handle.name} does not tell the id of its cluster"
        raise UsageError("no plan can be made of this", why, "use the live cluster or a dump of kreplica snapshot")
    clear_journal(out, force=force)
    write_roll(plan, out, replace=force)
