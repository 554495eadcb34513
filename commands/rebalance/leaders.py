"""kreplica rebalance leaders: which preferred leaders could be elected; elect them, or write a plan that does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import (
    AllowZookeeperOption,
    ExecuteOption,
    PaceOptions,
    YesOption,
    one_cluster,
    tell,
    write_words,
)
from commands.shared.confirm import confirm
from commands.shared.help import examples
from commands.shared.options.common import (
    ExcludeInternalOption,
    OutputOption,
    SourceOptions,
    TopicOption,
    narrowed,
    takes_sources,
)
from commands.shared.options.groups import takes
from kreplica.errors import UsageError
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import OutputFormat
    from kreplica.execution.rebalance.leaders import ElectedLeaders
    from kreplica.execution.rebalance.rows import ElectionRow


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "leaders",
        short_help="Elect preferred leaders, or write a plan to do so.",
        epilog=examples(
            "kreplica rebalance leaders --dump sample",
            "kreplica rebalance leaders --bootstrap-server kafka1:9092 --topic 'orders.*' --execute",
        ),
    )(leaders)


@takes_sources
@takes("pace", PaceOptions)
def leaders(
    *,
    sources: SourceOptions,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a plan for `kreplica rebalance apply`.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Let --out replace a file that is there.")] = False,
    pace: PaceOptions,
    allow_zookeeper_write: AllowZookeeperOption = False,
    topic: TopicOption = None,
    exclude_internal: ExcludeInternalOption = False,
    output: OutputOption = None,
) -> None:
    """Elect the preferred leader of every partition that another replica leads; a dry run unless --execute is given.

    With --out, the elections become a plan that can be reviewed, applied, resumed after an interruption and rolled
    back. After the elections the cluster is read again, and only the leaders found then count. Exits 4 when an
    electable preferred leader does not lead afterwards.
    """
    from kreplica.execution.rebalance.leaders import rebalance_leaders, require_one_way
    from kreplica.execution.rebalance.running import RebalanceOptions

    require_one_way(execute=execute, out=out)
    if pace.pause is not None and out is not None:
        raise UsageError(
            "--pause and --out exclude each other", "a plan holds no pauses", "pause it when it is applied"
        )
    asked_pace = pace.pace()
    handle = one_cluster(sources.handles(), execute=execute)

    def ask(label: str, change: str) -> None:
        confirm(handle, label, change, yes=yes)

    found = rebalance_leaders(
        handle,
        RebalanceOptions(asked_pace, allow_zookeeper_write, ask, tell),
        topics=topic,
        exclude_internal=exclude_internal,
        execute=execute,
        out=out,
        force=force,
    )
    connection_options = sources.again_live(handle.name)
    again = f"{connection_options}{narrowed(topic, exclude_internal)}{write_words(handle)}"
    _emit(found, output, connection_options=connection_options + write_words(handle), again=again)
    raise typer.Exit(found.exit_code)


def _emit(found: ElectedLeaders, output: OutputFormat | None, *, connection_options: str, again: str) -> None:
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.rebalance.rows import ElectionRow

    rows, plan = found.rows, found.plan
    electable = sum(row.electable for row in rows)
    answer = Answer(
        command="rebalance-leaders",
        rows_name="elections",
        columns=ElectionRow,
        rows=rows,
        clusters=[cluster_object(found.snapshot)],
        summary={
            "executed": found.executed,
            "partitions": len(found.snapshot.partitions),
            "non_preferred": len(rows),
            "electable": electable,
            "not_electable": len(rows) - electable,
            "done": sum(row.done is True for row in rows),
            "failed": sum(row.done is False for row in rows),
            "stopped": found.stopped,
            "plan": str(found.path) if found.path is not None else None,
            "plan_id": plan.plan_id if plan is not None else None,
            "steps": len(plan.steps) if plan is not None else None,
        },
        warnings=found.warnings,
    )
    emit(
        answer,
        output,
        lambda console: _show(found, rows, console, connection_options=connection_options, again=again),
    )


def _show(
    found: ElectedLeaders, rows: Sequence[ElectionRow], console: Console, *, connection_options: str, again: str
) -> None:
    from commands.rebalance.verdict import print_plan_verdict
    from commands.shared.printing.screen import print_gathered, print_lines
    from kreplica.execution.rebalance.rows import ElectionRow
    from kreplica.model.tables.rows import names_of

    electable = sum(row.electable for row in rows)
    print_plan_verdict(console, _word(found, rows), _sentence(found, rows))
    shown = names_of(ElectionRow) if found.executed else names_of(ElectionRow)[:-2]
    print_gathered(console, ElectionRow, rows, shown=shown)
    line = ""
    if found.plan is not None:
        line = f"kreplica rebalance apply {shlex.quote(str(found.path))} {connection_options}"
    elif not found.executed:
        line = f"kreplica rebalance leaders {again} --execute"
    print_lines(console, "stopped", [found.stopped] * bool(found.stopped))
    print_lines(console, "next", [line] * bool(line and electable), whole=True)


def _word(found: ElectedLeaders, rows: Sequence[ElectionRow]) -> str:
    """First word of the verdict."""
    from commands.rebalance.verdict import plan_word
    from kreplica.errors import ExitCode

    if found.exit_code is ExitCode.OK and not rows:
        return "BALANCED"
    if found.exit_code is ExitCode.OK and found.plan is not None:
        return "PLANNED"
    return plan_word(found.exit_code, executed=found.executed)


def _sentence(found: ElectedLeaders, rows: Sequence[ElectionRow]) -> str:
    """The verdict in words."""
    electable = sum(row.electable for row in rows)
    if found.plan is not None:
        steps = counted(len(found.plan.steps), "batch", "batches")
        rest = f"; {len(rows) - electable} cannot be elected yet" if electable < len(rows) else ""
        return f"plan of {counted(electable, 'election')} in {steps} written to {found.path}{rest}; nothing was changed"
    if not rows:
        seen = "visible " if found.snapshot.gaps else ""
        return f"every {seen}partition is led by its preferred leader"
    if not found.executed:
        return f"{electable} of {len(rows)} can be elected now; nothing was changed"
    done, left = sum(row.done is True for row in rows), len(rows) - electable
    return f"{done} of {electable} electable preferred leaders lead now, {left} cannot be elected yet"
