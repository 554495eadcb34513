"""kreplica whatif model: one model before it is explored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.engine.explorer.listing import ShownModel


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "model",
        short_help="Show the bounds, invariants and goals of a model.",
        epilog=examples(
            "kreplica whatif model kip-966",
            "kreplica whatif model settings-4.1 -o json",
        ),
    )(model)


def model(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="Name of a model; kreplica whatif models has them.")],
    output: OutputOption = None,
) -> None:
    """Show a model: its subject, its bounds and their defaults, its invariants and goals.

    Exits 0, 2 when there is no such model.
    """
    from commands.shared.printing.output import Answer, emit
    from kreplica.engine.explorer.listing import ModelBound, whatif_model

    shown = whatif_model(name)
    answer = Answer(
        command="whatif-model",
        rows_name="bounds",
        columns=ModelBound,
        rows=shown.rows,
        summary={"model": shown.model.name, "subject": shown.about.subject},
        objects={"model": shown.facts},
    )
    emit(answer, output, lambda console: _show(shown, console))


def _show(shown: ShownModel, console: Console) -> None:
    from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_rows, print_verdict
    from kreplica.engine.explorer.listing import ModelBound

    found = shown.about
    without = f"{found.subject}, without a guard: {found.about}" if found.mutant else f"{found.subject}: {found.about}"
    print_verdict(console, shown.model.name, "cyan", without)
    print_rows(console, ModelBound, shown.rows)
    console.print()
    cells = [
        *(
            [one.name, "by default" if number == 0 else "", one.promise]
            for number, one in enumerate(shown.model.invariants)
        ),
        *([one.name, "as a goal", one.promise] for one in shown.model.goals),
    ]
    columns = [TableColumn("INVARIANT"), TableColumn("ASKED"), TableColumn("PROMISE", fold=True)]
    print_columns(console, columns, cells)
    console.print()
    print_lines(console, "next", [f"kreplica whatif prove --model {shown.model.name}"], whole=True)
