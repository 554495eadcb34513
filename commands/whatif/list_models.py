"""kreplica whatif models: the models that prove explores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.engine.explorer.listing import ListedModels


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "models",
        short_help="List the models that prove explores.",
        epilog=examples(
            "kreplica whatif models",
            "kreplica whatif models --mutants -o json",
        ),
    )(models)


def models(
    mutants: Annotated[
        bool, typer.Option("--mutants", help="List the models that lack a guard, too: each breaks an invariant.")
    ] = False,
    output: OutputOption = None,
) -> None:
    """List the models of replication, settings, controllers and clients that kreplica whatif prove explores.

    Exits 0.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.engine.explorer.listing import ListedModel, whatif_models

    found = whatif_models(mutants=mutants)
    answer = Answer("whatif-models", "models", ListedModel, found.rows, summary={"models": len(found.rows)})
    emit(answer, output, lambda console: _show(found, console))


def _show(found: ListedModels, console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_rows
    from kreplica.engine.explorer.listing import ListedModel
    from kreplica.model.wording.words import counted

    print_rows(console, ListedModel, found.rows)
    console.print()
    if found.mutants:
        print_lines(
            console, "mutants", [f"{counted(found.mutants, 'model')} without a guard: kreplica whatif models --mutants"]
        )
    print_lines(console, "next", ["kreplica whatif model MODEL", "kreplica whatif prove --model MODEL"], whole=True)
