"""kreplica audit resilience: what the loss of each broker and rack would have done, at every moment of a history."""

from __future__ import annotations

import typer

from commands.shared.help import examples
from commands.shared.options.common import ExitZeroOption, OutputOption, exit_of
from commands.shared.options.groups import takes
from commands.shared.options.history import HistoryArgument, WantedOptions


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "resilience",
        short_help="Tell what the loss of each broker and rack would have done.",
        epilog=examples(
            "kreplica audit resilience history --since 30d",
            "kreplica audit resilience s3://fleet/history --cluster 'prod-*' -o csv",
        ),
    )(resilience)


@takes("wanted", WantedOptions)
def resilience(
    *,
    history: HistoryArgument,
    wanted: WantedOptions,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Tell what the loss of each broker and each rack would have done, at every moment of a history.

    The answer tells how many partitions would have lost records, reads or acks=all writes, for which share of the time,
    and since when, by the rules of `kreplica whatif fail`. Pauses of the history do not count. Exits 1 when a loss
    would have done harm, 5 when none would as far as is known, but something could not be read or is not known.
    """
    from commands.audit.resilience.answer import answer_to
    from commands.audit.resilience.screen import show
    from commands.shared.printing.output import emit
    from kreplica.fleet.availability.resilience import resilience_in
    from kreplica.system.processes import processors

    found = resilience_in(history, wanted.wanted(), processors())
    code = found.exit_code
    emit(answer_to(found), output, lambda console: show(found, history, console))
    raise exit_of(code, exit_zero=exit_zero)
