"""kreplica roll next: checks the cluster and names the nodes to restart next; it restarts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources
from commands.shared.options.stops import SETTLE, one_cluster
from commands.shared.values import parse_duration

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.execution.roll.next_wave import NextWave, WaveNode


def register(app: typer.Typer) -> None:
    """Adds the command to the group."""
    app.command(
        "next",
        short_help="Check the cluster and name the nodes to restart next.",
        epilog=examples(
            "kreplica roll next roll.json --bootstrap-server kafka1:9092",
            "kreplica roll next roll.json --bootstrap-server kafka1:9092 --done",
        ),
    )(next_wave)


@takes_sources
def next_wave(
    sources: SourceOptions,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file; its journal lies beside it.")],
    done: Annotated[
        bool,
        typer.Option("--done", help="Confirm that the last named nodes were restarted, if kreplica cannot detect it."),
    ] = False,
    settle: Annotated[
        str, typer.Option("--settle", metavar="DURATION", help="Time between the two reads; 0 for one read only.")
    ] = SETTLE,
    output: OutputOption = None,
) -> None:
    """Name the nodes of a plan to restart next; nothing is restarted.

    Nodes are named once the earlier ones were restarted, are up and are in sync, and once two reads in a row say that
    these can be stopped without harm. The plan's journal keeps what was named and seen.

    Exits 0 when nodes are named or all were restarted, 1 when it is not yet time or nodes are left that are in no wave,
    4 when the plan is of another cluster, 5 when nothing speaks against it but something could not be read.
    """
    from commands.roll.screen import show_next
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Progress
    from kreplica.execution.roll.next_wave import roll_next
    from kreplica.execution.roll.plan import read_roll

    pause = parse_duration(settle, "--settle")
    read_roll(plan)
    handle = one_cluster(sources.handles(), "a plan is of one cluster")
    with Progress() as progress:
        found = roll_next(handle, plan, done=done, settle=pause, report=progress.say)
    emit(_answer(found), output, lambda console: show_next(found, sources, console))
    raise typer.Exit(found.exit_code)


def _answer(found: NextWave) -> Answer[WaveNode]:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.execution.roll.next_wave import WaveNode

    state = found.state
    return Answer(
        command="roll-next",
        rows_name="nodes",
        columns=WaveNode,
        rows=found.rows,
        clusters=[cluster_object(found.reading.snapshots[0])],
        summary={
            "verdict": found.word.value,
            "wave": state.wave,
            "waves": len(found.plan.waves),
            "restart": list(found.restart),
            "named_at": state.named_at,
            "out_of_sync": len(state.out_of_sync),
            "against": _against(found),
            "drift": list(state.drift),
            "never": [one.node for one in found.plan.never],
            "blocked": [one.node for one in found.plan.blocked],
            "down_when_planned": list(found.plan.down),
            "complete": not found.missing,
        },
        warnings=found.warnings,
    )


def _against(found: NextWave) -> Sequence[dict[str, object]]:
    if found.verdict is None:
        return []
    return [
        {"topic": item.topic, "partition": item.partition, "effect": item.effect.value, "reason": item.reason}
        for item in found.verdict.last.judgement.against
    ]
