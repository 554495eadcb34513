"""kreplica rebalance verify: whether a plan of replicas is legal and as good as it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import PlanArgument, one_cluster
from commands.shared.options import OutputOption, SourceOptions, takes_sources

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.rebalance.verify import VerifiedPlan


@takes_sources
def verify(sources: SourceOptions, plan: PlanArgument, output: OutputOption = None) -> None:
    """Check a plan of replicas by its certificate: that it is legal, and that no other plan moves less than it says.

    The check needs no planner and no solver: it counts the moves and the bytes, and adds up the bound from the prices
    in the certificate. Name the snapshot that the plan was made of, or the cluster while nothing has changed.

    Exits 1 when something is wrong, 2 when the plan has no certificate, 5 when not everything could be read.
    """
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.rebalance.verify import PlanFault, rebalance_verify

    handle = one_cluster(sources.handles(), execute=False)
    found = rebalance_verify(handle, plan)
    answer = Answer(
        command="rebalance-verify",
        rows_name="faults",
        columns=PlanFault,
        rows=found.rows,
        clusters=[cluster_object(snapshot) for snapshot in found.reading.snapshots],
        summary={
            "verdict": found.word,
            "plan": str(plan),
            "optimal": found.certificate.optimal,
            "bounds": [
                {"quantity": str(bound.quantity), "value": bound.value, "bound": bound.lower_bound}
                for bound in found.certificate.bounds
            ],
        },
        warnings=found.reading.warnings(),
    )
    emit(answer, output, lambda console: _show(found, console))
    raise typer.Exit(found.exit_code)


def _show(found: VerifiedPlan, console: Console) -> None:
    from commands.shared.printing.screen import print_cluster, print_lines, print_verdict
    from commands.shared.values import size_words
    from kreplica.model.words import counted
    from kreplica.planner.reassignment.certificate import Quantity

    if found.word == "INCOMPLETE":
        print_verdict(console, found.word, "yellow", "the plan cannot be checked against a part of the cluster")
    elif found.faults:
        print_verdict(console, found.word, "red", f"{counted(len(found.faults), 'thing')} wrong with the plan")
    else:
        best = "no plan takes less" if found.certificate.optimal else "the bounds are proven, and leave a gap"
        print_verdict(console, found.word, "green", f"the plan is legal; {best}")
    print_cluster(console, found.reading.snapshots[0])
    print_lines(console, "wrong", found.faults)
    if found.faults and not found.reading.snapshots[0].dumped:
        print_lines(
            console, "note", ["sizes change while records are written: name the snapshot that the plan was made of"]
        )
    lines = []
    for bound in found.certificate.bounds:
        say = size_words if bound.quantity is Quantity.BYTES else str
        lines.append(f"{bound.quantity}: {say(bound.value)}, at least {say(bound.lower_bound)}")
    print_lines(console, "bounds", lines)
