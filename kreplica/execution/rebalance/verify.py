"""A plan of replicas checked by its certificate alone: that it is legal, its values right, its bounds proven."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.errors import ExitCode, InputError, UsageError
from kreplica.execution.moves.plans.plan import require_own_snapshot
from kreplica.execution.moves.plans.plan_file import read_replica_plan
from kreplica.execution.rebalance.replicas import FACETS
from kreplica.model.tables.rows import Meaning
from kreplica.model.wording.words import are, counted
from kreplica.monitoring.clusters import Reading, read_clusters

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.moves.plans.plan import ReplicaPlan
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.planner.reassignment.certificates.certificate import Certificate


class PlanFault(Struct, frozen=True):
    """One thing that is wrong with a plan."""

    fault: Annotated[str, Meaning("what is wrong", fold=True)]


@dataclass(frozen=True, slots=True)
class VerifiedPlan:
    """A plan and its faults.

    Args:
        reading: The cluster that it was held against.
        plan: The plan.
        certificate: Its certificate.
        faults: What is wrong, in sentences; empty where the plan is as it says.
    """

    reading: Reading
    plan: ReplicaPlan
    certificate: Certificate
    faults: tuple[str, ...]

    @property
    def rows(self) -> list[PlanFault]:
        """Faults, one in a row."""
        return [PlanFault(fault) for fault in self.faults]

    @property
    def word(self) -> str:
        """Verdict in a word."""
        if self.reading.snapshots[0].gaps:
            return "INCOMPLETE"
        return "FAILS" if self.faults else "HOLDS"

    @property
    def exit_code(self) -> ExitCode:
        """1 where something is wrong, 5 where not all could be read."""
        if self.reading.snapshots[0].gaps:
            return ExitCode.INCOMPLETE
        return ExitCode.FINDINGS if self.faults else ExitCode.OK


def rebalance_verify(handle: ClusterHandle, path: Path) -> VerifiedPlan:
    """Checks a plan of replicas without a planner and without a solver.

    Args:
        handle: The cluster, or the snapshot that the plan was made of.
        path: The plan's file.

    Raises:
        InputError: The file is no plan of replicas, or has no certificate that can be read.
        UsageError: The plan was made for another cluster, or some of it is carried out already.
        UnreachableError: The cluster did not answer.
    """
    from kreplica.planner.reassignment.verification.verify import verify

    plan, _ = read_replica_plan(path)
    certificate = _certificate(plan, path)
    reading = read_clusters((handle,), FACETS)
    targets = {change.key: change.to_replicas for change in plan.changes}
    snapshot = reading.snapshots[0]
    require_own_snapshot(plan, snapshot)
    _require_not_begun(snapshot, plan)
    changed = {(one.key, one.broker): (one.source, one.destination) for one in plan.changed_directories}
    chosen = {(change.key, broker): path for change in plan.changes for broker, path in change.directories}
    return VerifiedPlan(reading, plan, certificate, tuple(verify(snapshot, targets, certificate, changed, chosen)))


def _require_not_begun(snapshot: ClusterSnapshot, plan: ReplicaPlan) -> None:
    """Refuses a cluster that has some of the plan's replicas: bounds are of the cluster as it was before."""
    replicas = snapshot.lists("replicas")
    made = 0
    for change in plan.changes:
        row = snapshot.find_row(*change.key)
        made += row is not None and tuple(replicas[row] or ()) == change.to_replicas
    if plan.changed_directories:
        goals = {(*one.replica, one.destination) for one in plan.changed_directories}
        names = ("topic", "partition", "broker", "log_dir", "future")
        rows = zip(*(snapshot.replicas[name].to_list() for name in names), strict=True)
        made += sum(tuple(one[:4]) in goals and not one[4] for one in rows)
    if made:
        changes = counted(len(plan.changes) + len(plan.changed_directories), "change")
        raise UsageError(
            f"{made} of {changes} of the plan {are(made)} made already",
            "it was proven for the cluster as it was before",
            "name a snapshot of then: --dump PATH",
        )


def _certificate(plan: ReplicaPlan, path: Path) -> Certificate:
    import msgspec

    from kreplica.planner.reassignment.certificates.certificate import Certificate

    if plan.certificate is None:
        reason = "it carries no certificate: an older kreplica made it"
        raise InputError(str(path), "", reason, "make it again: kreplica rebalance replicas")
    try:
        found = msgspec.convert(plan.certificate, Certificate, strict=False, str_keys=True)
    except msgspec.ValidationError as error:
        raise InputError(str(path), "certificate", str(error)) from None
    assert isinstance(found, Certificate)
    return found
