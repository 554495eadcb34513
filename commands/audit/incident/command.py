"""kreplica audit incident: one incident, with all that is behind it."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.history_options import ClusterOption, HistoryArgument
from commands.shared.options import OutputOption

IdArgument = Annotated[
    str,
    typer.Argument(metavar="ID", show_default=False, help="The id that audit incidents prints, or its beginning."),
]


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "incident",
        short_help="Show one incident and the findings behind it.",
        epilog=examples(
            "kreplica audit incident 4d5eae508fbd history",
            "kreplica audit incident 4d5e s3://fleet/history --cluster prod-eu -o json",
        ),
    )(incident)


def incident(
    incident_id: IdArgument,
    history: HistoryArgument,
    cluster: ClusterOption = None,
    output: OutputOption = None,
) -> None:
    """Show one incident: its cause, what changed before it began, what it explains, whether all came back as it was.

    The rows are the findings behind it. Exits 5 when something in the history could not be read.
    """
    from commands.audit.incident.answer import answer_to
    from commands.audit.incident.screen import show
    from commands.shared.printing.output import emit
    from kreplica.fleet.incidents.fleet import incident_in
    from kreplica.store.selection import Wanted
    from kreplica.system.processes import processors

    found = incident_in(history, incident_id, Wanted(tuple(cluster or ())), processors())
    emit(answer_to(found), output, lambda console: show(found, console))
    raise typer.Exit(found.exit_code)
