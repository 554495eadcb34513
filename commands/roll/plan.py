"""kreplica roll plan: a safe order of restarts in as few waves as possible."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import BROKERS, LARGEST_INT32, OutputOption, SourceOptions, takes_sources
from commands.shared.options.stops import Accept, AcceptOption, AcceptTopicOption, one_cluster
from commands.shared.values import parse_ids
from kreplica.errors import ExitCode

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.execution.roll.planning import PlannedNode, PlannedRoll


def register(app: typer.Typer) -> None:
    """Adds the command to the group."""
    app.command(
        "plan",
        short_help="Plan which nodes may restart together, in as few waves as possible.",
        epilog=examples(
            "kreplica roll plan --dump sample-healthy --one-rack-at-a-time",
            "kreplica roll plan --bootstrap-server kafka1:9092 --out roll.json",
        ),
    )(plan)


@takes_sources
def plan(
    sources: SourceOptions,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the plan for `kreplica roll next`.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file that is there.")] = False,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Only these nodes; all if not given.")
    ] = None,
    accept: AcceptOption = None,
    accept_topic: AcceptTopicOption = None,
    one_rack_at_a_time: Annotated[
        bool, typer.Option("--one-rack-at-a-time", help="No two racks in one wave, rack after rack.")
    ] = False,
    max_per_wave: Annotated[
        int | None,
        typer.Option("--max-per-wave", min=1, max=LARGEST_INT32, metavar="N", help="Most nodes in one wave."),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Plan a rolling restart in as few waves as possible.

    The nodes of a wave may be down together: no partition loses its leader, its last in-sync replica or min ISR. Voters
    of the quorum restart one at a time, the active controller in the last wave. The answer tells how few waves there
    must be at least, and why.

    Exits 0 when every node is in a wave, 1 when some can never restart without harm, cannot restart now or are down, 5
    when every node is in a wave but something could not be read.
    """
    from commands.roll.screen import show_plan
    from commands.shared.printing.output import emit
    from kreplica.execution.roll.plan import RollOptions
    from kreplica.execution.roll.planning import roll_plan

    options = RollOptions(Accept.rf_one in (accept or ()), accept_topic, one_rack_at_a_time, max_per_wave)
    nodes = parse_ids(broker or ())
    handle = one_cluster(sources.handles(), "a plan is of one cluster")
    planned = roll_plan(handle, nodes, options, out=out, force=force)
    emit(_answer(planned, out), output, lambda console: show_plan(planned, out, sources, console))
    raise typer.Exit(planned.exit_code)


def _answer(planned: PlannedRoll, out: Path | None) -> Answer[PlannedNode]:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.execution.roll.planning import PlannedNode

    plan = planned.plan
    words = {ExitCode.OK: "complete", ExitCode.FINDINGS: "partial", ExitCode.INCOMPLETE: "incomplete"}
    return Answer(
        command="roll-plan",
        rows_name="nodes",
        columns=PlannedNode,
        rows=planned.rows,
        clusters=[cluster_object(planned.snapshot)],
        summary={
            "verdict": words[planned.exit_code],
            "waves": [list(wave) for wave in plan.waves],
            "bound": asdict(plan.bound),
            "proven": plan.proven,
            "never": [one.node for one in plan.never],
            "blocked": [one.node for one in plan.blocked],
            "down": list(plan.down),
            "controller": plan.controller,
            "options": asdict(plan.options),
            "plan": None if out is None else str(out),
            "complete": planned.complete,
        },
        warnings=planned.warnings,
    )
