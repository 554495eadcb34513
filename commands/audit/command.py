"""kreplica audit: the rules and counts over many snapshots of many clusters, on Spark."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.groups import GroupWithOwnCommand
from commands.shared.help import examples
from commands.shared.options import ExitZeroOption, OutputOption
from commands.shared.rule_options import FailOn, FailOnOption, RuleOption, known_rules
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kreplica.store.selection import Wanted

FoldersArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR...",
        show_default=False,
        help="Dump directories of kreplica snapshot, or directories of these; sample for the packaged ones.",
    ),
]
ClusterOption = Annotated[
    list[str] | None,
    typer.Option("--cluster", metavar="PATTERN", help="Only clusters whose id or name matches; may be repeated."),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only snapshots from then on: 2026-03-01T12:00, or 7d ago."),
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only snapshots up to then, told in the same way.")
]
PerSnapshotOption = Annotated[
    bool, typer.Option("--per-snapshot", help="A row for each finding and snapshot, not one from when to when.")
]
CountsOption = Annotated[bool, typer.Option("--counts", help="Rows are the counts of each cluster and time instead.")]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", file_okay=False, help="Also write DIR/findings and DIR/counts as Parquet."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Stop at a damaged file, or one of another program.")]
MasterOption = Annotated[
    str, typer.Option("--master", metavar="MASTER", help="Where Spark runs: local[*], local[4] or spark://HOST:PORT.")
]
RemoteOption = Annotated[
    str | None, typer.Option("--remote", metavar="URL", help="A Spark Connect server instead: sc://HOST:15002.")
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
]


SHORT_HELP = "Audit many snapshots of many clusters on Spark."


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
        ),
    )(audit)
    if below in (None, "ingest"):
        from commands.audit.ingest import command as ingest

        ingest.register(group)


def audit(
    folders: FoldersArgument,
    cluster: ClusterOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    rule: RuleOption = None,
    fail_on: FailOnOption = FailOn.warning,
    per_snapshot: PerSnapshotOption = False,
    counts: CountsOption = False,
    out: OutOption = None,
    strict: StrictOption = False,
    exit_zero: ExitZeroOption = False,
    master: MasterOption = "local[*]",
    remote: RemoteOption = None,
    spark_conf: SettingOption = None,
    output: OutputOption = None,
) -> None:
    """Judge a fleet over time: what was wrong in which cluster, from when to when, and how the counts changed.

    Runs on Spark, by default in this process. A damaged or foreign file is named and left out. Exits 1 when a finding
    is at least as severe as --fail-on, 5 when there is none but something could not be read.

    `kreplica audit ingest` takes snapshots into a history instead, without Spark.
    """
    from analyzers.session import require_pyspark, settings_for, spark_session

    require_pyspark()  # before anything else imports it

    from analyzers.audit import check_free
    from analyzers.fleet_audit import run_audit, select_fleet
    from commands.audit.answer import answer_to
    from commands.audit.sample import with_sample
    from commands.audit.screen import show
    from commands.shared.printing.output import emit
    from kreplica.health.rules import Severity

    own = dict(_setting(text) for text in spark_conf or ())
    rules = known_rules(rule or ())
    if out is not None:
        check_free(out)
    selection = select_fleet(with_sample(folders), _wanted(cluster or (), since, until), strict=strict)
    tuned = settings_for(sum(item.partition_rows for item in selection.snapshots), master, remote)
    with ExitStack() as afterwards, spark_session(master, remote, {**tuned, **own}) as spark:
        audited = run_audit(spark, selection, rules, per_snapshot=per_snapshot)
        if out is not None:
            audited.audit.write(out, afterwards)
        answer = answer_to(audited, output, counts_only=counts)
        code = audited.exit_code(Severity(fail_on))
        named = [str(folder) for folder in folders]
        emit(answer, output, lambda console: show(audited, named, code, console, counts_only=counts))
    raise typer.Exit(ExitCode.OK if exit_zero and code is ExitCode.FINDINGS else code)


def _wanted(clusters: Sequence[str], since: str | None, until: str | None) -> Wanted:
    from commands.shared.values import parse_moment
    from kreplica.store.selection import Wanted

    first = None if since is None else parse_moment(since, "--since")
    last = None if until is None else parse_moment(until, "--until")
    return Wanted(tuple(clusters), first, last)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"--spark-conf {text} is no setting of Spark", fix="--spark-conf spark.executor.memory=2g")
    return name, value
