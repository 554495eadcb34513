"""kreplica rebalance throttles: throttles that moves have left behind, and their end."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import ExecuteOption, YesOption, one_cluster
from commands.shared.confirm import confirm
from commands.shared.help import examples
from commands.shared.options.common import BROKERS, OutputOption, SourceOptions, takes_sources
from commands.shared.values import parse_ids

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.execution.moves.throttles.leftover import FoundThrottles


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "throttles",
        short_help="Show throttles that moves have left behind.",
        epilog=examples(
            "kreplica rebalance throttles --bootstrap-server kafka1:9092",
            "kreplica rebalance throttles --bootstrap-server kafka1:9092 --broker 3 --topic orders --execute",
        ),
    )(throttles)


@takes_sources
def throttles(
    sources: SourceOptions,
    broker: Annotated[
        list[str] | None, typer.Option("--broker", metavar=BROKERS, help="Clear the own rates of these brokers.")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Clear the lists of this topic; may be repeated."),
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Clear the rates that hold for all brokers.")] = False,
    execute: ExecuteOption = False,
    yes: YesOption = False,
    output: OutputOption = None,
) -> None:
    """Show the throttles of replication that are set, and those that are not needed.

    A throttle has two parts: a list of replicas, which is a topic's setting, and a rate, which is a broker's. Neither
    has an effect alone. If a finished move leaves both behind, they slow down replicas that only catch up. --execute
    deletes the named ones, unless a partition that they name is moving. Exits 1 when one is left that is not needed, 4
    when a named one is not deleted, 5 when a broker could not be asked.
    """
    from commands.shared.printing.output import Answer, cluster_object, emit
    from kreplica.execution.moves.throttles.leftover import ThrottleChoice, ThrottleRow, rebalance_throttles

    choice = ThrottleChoice(parse_ids(broker or ()), frozenset(topic or ()), default)
    handle = one_cluster(sources.handles(), execute=execute)
    found = rebalance_throttles(handle, choice, execute=execute, confirm=partial(confirm, handle, yes=yes))
    states = [row.state for row in found.rows]
    answer = Answer(
        command="rebalance-throttles",
        rows_name="throttles",
        columns=ThrottleRow,
        rows=found.rows,
        clusters=[cluster_object(found.reading.snapshots[0])],
        summary={"executed": found.executed, **{state.replace("-", "_"): states.count(state) for state in _STATES}},
        warnings=[*found.reading.warnings(), *found.unread, *found.failed],
    )
    connection = sources.again(handle.name)
    emit(answer, output, lambda console: _show(found, console, connection))
    raise typer.Exit(found.exit_code)


_STATES = ("in-use", "orphaned", "no-rate", "no-list")


def _show(found: FoundThrottles, console: Console, connection: str) -> None:
    from commands.shared.printing.screen import print_lines, print_rows
    from kreplica.execution.moves.throttles.leftover import IN_USE, ThrottleRow
    from kreplica.model.tables.rows import names_of
    from kreplica.model.wording.words import counted

    if not found.rows:
        console.print("nothing throttles replication")
        return
    shown = names_of(ThrottleRow) if found.executed else names_of(ThrottleRow)[:-1]
    print_rows(console, ThrottleRow, found.rows, shown=shown)
    left = [row for row in found.rows if row.state != IN_USE and not row.cleared]
    cleared = sum(bool(row.cleared) for row in found.rows)
    done = f", {cleared} deleted" if found.executed else "; nothing was changed"
    console.print(f"{counted(len(left), 'throttle')} that nothing needs{done}")
    words = [f"--broker {row.entity}" for row in left if row.scope == "broker"]
    words += [f"--topic {shlex.quote(row.entity)}" for row in left if row.scope == "topic"]
    words += ["--default"] * any(row.scope == "broker-default" for row in left)
    line = f"kreplica rebalance throttles {connection} {' '.join(dict.fromkeys(words))} --execute"
    print_lines(console, "next", [line] * bool(left), whole=True)
