"""kreplica audit prepare: an archive of Spark's classes, with which audits take less processor time."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

RemoveOption = Annotated[bool, typer.Option("--remove", help="Take the archive away.")]


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command(
        "prepare",
        short_help="Make an archive of Spark's classes: audits take less processor time.",
        epilog=examples("kreplica audit prepare", "kreplica audit prepare --remove"),
    )(prepare)


def prepare(remove: RemoveOption = False, output: OutputOption = None) -> None:
    """Make an archive of Spark's classes, once: each audit on this machine then takes some 4 s less processor time.

    This takes about a minute of processor time, and 180 MiB in kreplica's cache (KREPLICA_CACHE). The archive belongs
    to this version of Spark and Java; make a new one when either changes. Without an archive, or with a damaged one,
    audits run as before. Audits by --remote or spark-submit do not use it. Exits 2 when this Java cannot make one.
    """
    from analyzers.sessions.session import require_pyspark

    require_pyspark()  # before anything else imports it

    from analyzers.preparing import prepare as make
    from analyzers.preparing import unprepare
    from commands.audit.prepare.screen import answer_to, show
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Progress

    if remove:
        found = unprepare()
    else:
        with Progress() as progress:
            found = make(progress.say)
    emit(answer_to(found), output, lambda console: show(found, console))
