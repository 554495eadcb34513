"""kreplica audit incidents: one line a cause, the worst first."""

from __future__ import annotations

import os

import typer

from commands.shared.help import examples
from commands.shared.options.baseline import BaselineOption
from commands.shared.options.common import ExitZeroOption, OutputOption, exit_of
from commands.shared.options.groups import takes
from commands.shared.options.history import HistoryArgument, WantedOptions
from commands.shared.options.mutes import NoMutesOption
from commands.shared.options.rules import FailOn, FailOnOption


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "incidents",
        short_help="Tell the findings of a history by their causes.",
        epilog=examples(
            "kreplica audit incidents history --since 7d",
            "kreplica audit incidents history --baseline incidents.jsonl",
            "kreplica audit incidents s3://fleet/history --cluster 'prod-*' -o jsonl",
        ),
    )(incidents)


@takes("wanted", WantedOptions)
def incidents(
    *,
    history: HistoryArgument,
    wanted: WantedOptions,
    baseline: BaselineOption = None,
    no_mutes: NoMutesOption = False,
    fail_on: FailOnOption = FailOn.warning,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Group the findings of a history by their causes: one line for each incident, the worst first.

    Causes are a broker, a rack or half of the brokers down, a full disk, a changed setting, a controller that moved,
    the causes that describe names, and rules over time that nothing else explains. A rolling restart is named, but is
    not an incident. Muted findings do not count, nor does an incident that explains only muted findings.

    Exits 1 when an incident is at least as severe as --fail-on, 5 when there is none but something could not be read.
    """
    from commands.audit.incidents.answer import answer_to
    from commands.audit.incidents.screen import show
    from commands.shared.printing.output import emit
    from kreplica.config.mutes import mutes_in_force
    from kreplica.fleet.incidents.fleet import incidents_in
    from kreplica.fleet.known.baseline import read_incidents
    from kreplica.health.rules import Severity
    from kreplica.system.processes import processors

    earlier = None if baseline is None else read_incidents(baseline)
    found = incidents_in(
        history,
        wanted.wanted(),
        processors(),
        mutes=() if no_mutes else mutes_in_force(os.environ),
        groups=wanted.groups(),
    )
    if earlier is not None:
        found = found.without(earlier)
    code = found.exit_code(Severity(fail_on))
    emit(answer_to(found), output, lambda console: show(found, history, code, console))
    raise exit_of(code, exit_zero=exit_zero)
