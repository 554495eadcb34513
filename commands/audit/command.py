"""kreplica audit: the rules and counts over many snapshots of many clusters, on Spark."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated

import typer

from commands.shared.groups import GroupWithOwnCommand, register_subcommands
from commands.shared.help import examples
from commands.shared.locations import path_of_this_machine
from commands.shared.options.common import ExitZeroOption, OutputOption, exit_of
from commands.shared.options.groups import takes
from commands.shared.options.history import WantedOptions
from commands.shared.options.judging import JudgingOptions
from commands.shared.options.spark import SparkOptions

_NAMES = ("ingest", "incidents", "incident", "resilience", "slo", "mute", "unmute", "mutes", "prepare")


def _no_misspelt_subcommand(folders: list[str]) -> list[str]:
    """The folders; a first one that is not there and looks like a subcommand is refused.

    Raises:
        UsageError: It does.
    """
    from kreplica.errors import UsageError
    from kreplica.model.wording.nearest_names import nearest_names

    spelled_as_path = not folders or "/" in folders[0]
    near = [] if spelled_as_path else nearest_names(folders[0], _NAMES, most=1, close=0.75, parts=False)
    if near and not Path(folders[0]).exists():
        raise UsageError(f"there is no folder {folders[0]}", f"did you mean kreplica audit {near[0]}?")
    return folders


FoldersArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR...",
        show_default=False,
        callback=_no_misspelt_subcommand,
        help="Dump directories of kreplica snapshot, or directories of these, or one history; also s3://BUCKET/PREFIX."
        " sample: the packaged dumps.",
    ),
]
PerSnapshotOption = Annotated[
    bool, typer.Option("--per-snapshot", help="A row for each finding and snapshot, not one from when to when.")
]
CountsOption = Annotated[bool, typer.Option("--counts", help="Rows are the counts of each cluster and time instead.")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        file_okay=False,
        callback=path_of_this_machine,
        help="Also write DIR/findings and DIR/counts as Parquet.",
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Stop at a damaged file, or one of another program.")]
SHORT_HELP = "Audit many snapshots of many clusters on Spark."
SUBCOMMANDS = {name: f"commands.audit.{name}.command" for name in _NAMES}
"""Module of each subcommand."""


def register(app: typer.Typer, *, below: str | None = None) -> None:
    """Adds the command, which is a group as well: ``kreplica audit DIR...`` audits, ``kreplica audit ingest`` does not.

    The first word decides, so that what was typed before there were subcommands means what it meant.
    """
    group = typer.Typer(cls=GroupWithOwnCommand)
    app.add_typer(group, name="audit", help=inspect.getdoc(audit), short_help=SHORT_HELP)
    if below == "":
        return
    group.command(
        "audit",
        short_help=SHORT_HELP,
        epilog=examples(
            "kreplica audit sample",
            "kreplica audit dumps --since 7d --fail-on critical --out audit",
            "kreplica audit ingest dumps --into history",
            "kreplica audit history --since 7d",
            "kreplica audit history --baseline findings.jsonl",
            "kreplica audit resilience history --since 30d",
            "kreplica audit slo history --since 30d --objective 99.95",
        ),
    )(audit)
    if below is None or below in SUBCOMMANDS:
        register_subcommands(group, SUBCOMMANDS, below)


@takes("wanted", WantedOptions)
@takes("judging", JudgingOptions)
@takes("session", SparkOptions)
def audit(
    *,
    folders: FoldersArgument,
    wanted: WantedOptions,
    judging: JudgingOptions,
    per_snapshot: PerSnapshotOption = False,
    counts: CountsOption = False,
    out: OutOption = None,
    strict: StrictOption = False,
    exit_zero: ExitZeroOption = False,
    session: SparkOptions,
    output: OutputOption = None,
) -> None:
    """Judge a fleet over time: what was wrong in which cluster, from when to when, and how the counts changed.

    Runs on Spark, by default in this process. Files that are damaged or not kreplica's are named and left out. Exits 1
    when a finding is at least as severe as --fail-on, 5 when there is none but something could not be read.

    `kreplica audit ingest` takes snapshots into a history, and `kreplica audit incidents` groups the findings of a
    history by their causes; both work without Spark. `kreplica audit mute` excludes the findings of a rule until a
    given time.
    """
    from analyzers.sessions.session import require_pyspark

    require_pyspark()  # before anything else imports it

    from commands.audit.answer import answer_to
    from commands.audit.request import AuditRequest
    from commands.audit.screen import show
    from commands.shared.printing.output import emit
    from kreplica.health.rules import Severity

    asked = AuditRequest(folders, wanted, judging, session, per_snapshot, counts, out, strict)
    with asked.audited() as audited:
        answer = answer_to(audited, output, counts_only=counts)
        code = audited.exit_code(Severity(judging.fail_on))
        emit(answer, output, lambda console: show(audited, folders, code, console, counts_only=counts))
    raise exit_of(code, exit_zero=exit_zero)
