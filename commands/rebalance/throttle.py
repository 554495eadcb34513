"""kreplica rebalance throttle: another rate for a plan that is being carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import PlanArgument, parse_rate
from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.moves.rate_request import ChangedRate


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "throttle",
        short_help="Change the rate of a plan that is being carried out.",
        epilog=examples(
            "kreplica rebalance throttle plan.json --rate 20MB",
            "kreplica rebalance throttle plan.json --rate 1500000 -o json",
        ),
    )(throttle)


def throttle(
    plan: PlanArgument,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", metavar="RATE", help="Most bytes a second that each broker sends or gets of moves: 50MB."
        ),
    ],
    output: OutputOption = None,
) -> None:
    """Change the rate of a plan of replicas that is being carried out.

    The running process sets the new rate, and restores the earlier settings at its end. An automatic rate ends with
    this. The command asks no cluster and needs none named. Exits 4 when no process is carrying out the plan, or when it
    does not take the rate within 30 seconds.
    """
    from commands.rebalance import moves
    from commands.shared.printing.output import Answer, emit
    from kreplica.execution.moves.rate_request import RateRow, rebalance_throttle

    wanted = parse_rate(rate, "--rate")
    moves.require_plan_of_replicas(plan, "only their moves have a throttle")
    found = rebalance_throttle(plan, wanted)
    answer = Answer(
        command="rebalance-throttle",
        rows_name="rates",
        columns=RateRow,
        rows=found.rows,
        summary={"plan": str(plan), "plan_id": found.state.plan.plan_id, "rate": found.rate, "brokers": found.brokers},
        warnings=found.warnings,
    )
    emit(answer, output, lambda console: _show(found, console))
    raise typer.Exit(found.exit_code)


def _show(found: ChangedRate, console: Console) -> None:
    from commands.shared.printing.screen import print_rows
    from kreplica.execution.moves.rate_request import RateRow
    from kreplica.model.wording.words import counted, rate_words

    if found.rows:
        print_rows(console, RateRow, found.rows)
    console.print(f"the run sets {rate_words(found.rate)} for {counted(found.brokers, 'broker')}")
