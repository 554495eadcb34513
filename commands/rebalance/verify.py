"""kreplica rebalance verify: whether a plan of replicas is legal and as good as it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from commands.rebalance.options import PlanArgument, one_cluster
from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.rebalance.verify import VerifiedPlan
    from kreplica.planner.reassignment.certificates.certificate import Bound, Certificate, DirectoryRelief


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "verify",
        short_help="Check a plan of replicas by its certificate.",
        epilog=examples(
            "kreplica rebalance verify plan.json --dump dumps",
            "kreplica rebalance verify plan.json --bootstrap-server kafka1:9092",
        ),
    )(verify)


@takes_sources
def verify(sources: SourceOptions, plan: PlanArgument, output: OutputOption = None) -> None:
    """Check a plan of replicas by its certificate: that it is legal, and that its lower bounds on moves and bytes hold.

    The check needs no planner and no solver: it counts moves, bytes and leaders, and adds up the bounds from the prices
    in the certificate. Name the snapshot from which the plan was made, or the cluster while nothing has changed.

    Exits 1 when something is wrong, 2 when the plan has no certificate, 5 when not everything could be read.
    """
    from msgspec import to_builtins

    from commands.rebalance.moves import require_plan_of_replicas
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.rebalance.verify import PlanFault, rebalance_verify

    require_plan_of_replicas(plan, "only their plans carry a certificate")
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
                {
                    "quantity": str(bound.quantity),
                    "value": bound.value,
                    "bound": bound.lower_bound,
                    "planned": bound.value if bound.planned is None else bound.planned,
                    "least_left": bound.least_left,
                }
                for bound in found.certificate.bounds
            ],
            "reliefs": [{**to_builtins(one), "short": one.short} for one in found.certificate.reliefs],
            "missed": to_builtins(found.certificate.missed),
        },
        warnings=found.reading.warnings(),
    )
    emit(answer, output, lambda console: _show(found, console))
    raise typer.Exit(found.exit_code)


def _show(found: VerifiedPlan, console: Console) -> None:
    from commands.shared.printing.screen import print_cluster, print_lines, print_verdict
    from kreplica.model.wording.words import counted

    if found.word == "INCOMPLETE":
        print_verdict(console, found.word, "yellow", "the plan cannot be checked against a part of the cluster")
    elif found.faults:
        print_verdict(console, found.word, "red", f"{counted(len(found.faults), 'thing')} wrong with the plan")
    else:
        print_verdict(console, found.word, "green", f"the plan is legal; {_quality(found.certificate)}")
    print_cluster(console, found.reading.snapshots[0])
    print_lines(console, "wrong", found.faults)
    if found.faults and not found.reading.snapshots[0].dumped:
        print_lines(
            console, "note", ["sizes change while records are written: name the snapshot that the plan was made of"]
        )
    certificate = found.certificate
    print_lines(console, "bounds", [*map(_bound, certificate.bounds), *map(_relief, certificate.reliefs)])
    print_lines(console, "missed", _missed(found.certificate))


def _quality(certificate: Certificate) -> str:
    """Words for the quality of a plan by its certificate."""
    if certificate.named:
        return "a file named its replicas: nobody said what for, so nothing is proven of how few moves that takes"
    if certificate.optimal:
        return "no plan that takes as much gets further" if certificate.rest else "no plan takes less"
    if certificate.falls_short:
        return "it misses some of what was wanted, and bounds are those of plans that miss as much"
    return "the bounds are proven, and leave a gap"


def _bound(bound: Bound) -> str:
    from commands.shared.values import size_words
    from kreplica.planner.reassignment.certificates.certificate import Quantity

    say = size_words if bound.quantity is Quantity.BYTES else str
    whole = f"{bound.quantity}: {say(bound.value)}, at least {say(bound.lower_bound)}"
    if bound.planned is None:
        return whole
    return f"{whole}; planned {say(bound.planned)}, which leaves {say(bound.left)}, at least {say(bound.least_left)}"


def _relief(relief: DirectoryRelief) -> str:
    from commands.shared.values import size_words

    least = f"{size_words(relief.value)}, at least {size_words(relief.lower_bound)}"
    short = f"; it is still {size_words(relief.short)} too full" if relief.short else ""
    return f"bytes that leave {relief.path} of broker {relief.broker}: {least}{short}"


def _missed(certificate: Certificate) -> Iterator[str]:
    from commands.shared.values import size_words
    from kreplica.model.wording.words import counted
    from kreplica.planner.reassignment.certificates.certificate import Load

    for miss in certificate.missed:
        say = size_words if miss.load is Load.BYTES else str
        noun = {Load.COUNT: " replicas", Load.BYTES: "", Load.WEIGHTS: " of weight"}[miss.load]
        wanted = say(miss.lower) if miss.lower == miss.upper else f"{say(miss.lower)} to {say(miss.upper)}"
        yield f"broker {miss.broker}: {say(miss.reached)}{noun}, wanted {wanted}"
    if certificate.shares is not None and certificate.shares.beyond:
        yield f"{counted(certificate.shares.beyond, 'replica')} above a share of the topic, or missing to one"
