"""kreplica audit incident: one incident, with all that is behind it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from commands.shared.cluster_groups import ClusterGroupOption, clusters_of, groups_of
from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.history import ClusterOption, HistoryArgument
from commands.shared.options.mutes import NoMutesOption

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
            "kreplica audit incident 13714d5eae50 history",
            "kreplica audit incident 13714d5e s3://fleet/history --cluster prod-eu -o json",
        ),
    )(incident)


def incident(
    incident_id: IdArgument,
    history: HistoryArgument,
    cluster: ClusterOption = None,
    cluster_group: ClusterGroupOption = None,
    no_mutes: NoMutesOption = False,
    output: OutputOption = None,
) -> None:
    """Show one incident: its cause, the changes before it, the findings that it explains, and whether everything
    recovered.

    The rows are the findings that it explains, muted ones last. Exits 5 when something in the history could not be
    read.
    """
    from commands.audit.incident.answer import answer_to
    from commands.audit.incident.screen import show
    from commands.shared.printing.output import emit
    from kreplica.config.mutes import mutes_in_force
    from kreplica.fleet.incidents.fleet import incident_in
    from kreplica.store.selection import Wanted
    from kreplica.system.processes import processors

    found = incident_in(
        history,
        incident_id,
        Wanted(clusters_of(cluster, cluster_group)),
        processors(),
        mutes=() if no_mutes else mutes_in_force(os.environ),
        groups=groups_of(cluster_group),
    )
    emit(answer_to(found), output, lambda console: show(found, console))
    raise typer.Exit(found.exit_code)
