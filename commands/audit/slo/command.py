"""kreplica audit slo: minutes without writes or reads that did happen in a history, against an objective."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import ExitZeroOption, OutputOption, exit_of
from commands.shared.options.groups import takes
from commands.shared.options.history import HistoryArgument, WantedOptions


class By(StrEnum):
    """Things that outages are gathered by."""

    topic = "topic"
    cluster = "cluster"
    cause = "cause"


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "slo",
        short_help="Tell the minutes without writes or reads, against an objective.",
        epilog=examples(
            "kreplica audit slo history --since 30d --objective 99.95",
            "kreplica audit slo history --by cause -o csv",
        ),
    )(slo)


@takes("wanted", WantedOptions)
def slo(
    *,
    history: HistoryArgument,
    objective: Annotated[
        float,
        typer.Option("--objective", metavar="PERCENT", help="Share of the time in which every partition takes writes."),
    ] = 99.95,
    by: Annotated[By, typer.Option("--by", help="One row for each of these of a cluster.")] = By.topic,
    wanted: WantedOptions,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Tell for how many minutes some partition could not be written with acks=all, or not be read, against an
    objective.

    The answer has a least and a most, the causes, and how much of the allowed time is left. The least is the time from
    the first to the last snapshot that shows it; the most is the time between the snapshots before and after. Where a
    metadata log covers the time, both are exact. Pauses of the history do not count. Exits 1 when the objective was
    missed, 5 when it may have been, or something could not be read or is not known.
    """
    from commands.audit.slo.answer import answer_to
    from commands.audit.slo.screen import show
    from commands.shared.printing.output import emit
    from kreplica.fleet.availability.slo import OutagesBy, outages_in
    from kreplica.system.processes import processors

    found = outages_in(history, objective, OutagesBy(by.value), wanted.wanted(), processors())
    code = found.exit_code
    emit(answer_to(found), output, lambda console: show(found, history, console))
    raise exit_of(code, exit_zero=exit_zero)
