"""kreplica decode check: do the files of a log directory agree with one another?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Row
    from kreplica.formats.log_directory.listing import LogDirectory
    from kreplica.formats.logs.replicas import Finding, ReplicaFolder

MOST_OF_A_KIND = 10
"""Findings of one rule in one file that are printed for people: an index of rubbish has one for each entry."""

PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="DIR...", help="Log directories, directories that hold some, or quoted patterns."),
]
MetadataOption = Annotated[
    str | None,
    typer.Option(
        "--metadata", metavar="PATH", help="Metadata log to compare topic ids with; else the one found in DIR."
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "check",
        short_help="Tell whether the files of log directories agree.",
        epilog=examples(
            "kreplica decode check /srv/kafka",
            "kreplica decode check /srv/kafka --metadata /srv/kafka/__cluster_metadata-0",
        ),
    )(check)


def check(paths: PathsArgument, metadata: MetadataOption = None, output: OutputOption = None) -> None:
    """Check the files of log directories against one another: checkpoints, indexes, producers and ids against the logs.

    Some leftovers of a killed broker are not findings: checkpoints older than the log, and zeros at the end of indexes.
    Exits 1 with findings, each with file, byte, expected and found value; 2 when there is nothing to read.
    """
    from commands.decode.stdin import refuse_stdin
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.checks.directories import decode_check
    from kreplica.formats.logs.replicas import Finding

    refuse_stdin(paths, "a log directory", "it is files beside one another that are compared")
    found = decode_check(paths, metadata)
    homes, folders, findings = found.homes, found.folders, found.findings
    answer = Answer(
        command="decode-check",
        rows_name="findings",
        columns=Finding,
        rows=findings,
        summary=_summary(homes, folders, findings),
        warnings=found.remarks,
    )
    emit(answer, output, lambda console: _show(findings, homes, len(folders), console))
    raise typer.Exit(found.exit_code)


def _summary(homes: Sequence[LogDirectory], folders: Sequence[ReplicaFolder], findings: Sequence[Finding]) -> Row:
    from kreplica.formats.checks.rules import RULES

    return {
        "log_dirs": [{"log_dir": str(home.path), "clean_shutdown": home.clean_shutdown is not None} for home in homes],
        "replicas": len(folders),
        "segments": sum(len(folder.segments()) for folder in folders),
        "rules": list(RULES),
        "findings": dict(Counter(each.rule for each in findings)),
    }


def _show(findings: Sequence[Finding], homes: Sequence[LogDirectory], replicas: int, console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_verdict
    from kreplica.model.wording.words import counted

    shown: Counter[tuple[str, str]] = Counter()
    for each in findings:
        kind = each.file, each.rule
        shown[kind] += 1
        if shown[kind] > MOST_OF_A_KIND:
            continue
        owner = "" if each.topic is None else f"{each.topic}-{each.partition} "
        print_lines(console, "wrong", [f"{owner}{each.rule}: {each.message}"])
        print_lines(console, "", [f"{each.file}, byte {each.position}"])
        if each.expected or each.found:
            print_lines(console, "", [f"expected {each.expected or '-'}, found {each.found or '-'}"])
    for (file, rule), number in shown.items():
        if number > MOST_OF_A_KIND:
            more = f"{number - MOST_OF_A_KIND} more of {rule} in {file}: -o jsonl has every one"
            print_lines(console, "and", [more])
    directories = counted(len(homes), "log directory", "log directories")
    scope = f"{counted(replicas, 'replica')} in {directories}"
    if findings:
        print_verdict(console, "WRONG", "red", f"{counted(len(findings), 'finding')}; {scope}")
    else:
        print_verdict(console, "OK", "green", f"the files agree with one another; {scope}")
    unclean = sum(home.clean_shutdown is None for home in homes)
    if unclean:
        said = f"{unclean} of {directories} without a mark of a clean stop: older checkpoints are taken as normal"
        print_lines(console, "means", [said])
