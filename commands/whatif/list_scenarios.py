"""kreplica whatif list: the scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.scenarios.rows import ListedScenario


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "list",
        short_help="List the scenarios.",
        epilog=examples(
            "kreplica whatif list",
            "kreplica whatif list -o json",
        ),
    )(list_scenarios)


def list_scenarios(output: OutputOption = None) -> None:
    """List the scenarios: what each shows, and the versions of Kafka at which the outcome changes.

    Exits 0.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.scenarios.listing import whatif_list
    from kreplica.scenarios.rows import ListedScenario

    rows = whatif_list().rows
    answer = Answer("whatif-list", "scenarios", ListedScenario, rows, summary={"scenarios": len(rows)})
    emit(answer, output, lambda console: _show(rows, console))


def _show(rows: Sequence[ListedScenario], console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_rows
    from kreplica.scenarios.rows import ListedScenario

    print_rows(console, ListedScenario, rows, shown=("scenario", "versions", "title"))
    console.print()
    print_lines(
        console, "next", ["kreplica whatif show SCENARIO", "kreplica whatif run SCENARIO --explain"], whole=True
    )
