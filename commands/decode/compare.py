"""kreplica decode compare: the same partitions on several brokers' disks, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, TopicOption

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, Row
    from kreplica.formats.logs.compared_copies import ComparedCopies
    from kreplica.formats.logs.copies import ComparedCopy

PathsArgument = Annotated[
    list[str],
    typer.Argument(metavar="DIR...", help="Log directories of several brokers, or quoted patterns."),
]
AllOption = Annotated[bool, typer.Option("--all", help="Show partitions whose copies are the same too.")]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "compare",
        short_help="Compare the copies of partitions on several disks.",
        epilog=examples(
            "kreplica decode compare /srv/broker-1 /srv/broker-2 /srv/broker-3",
            "kreplica decode compare '/srv/broker-*' --topic orders --all",
        ),
    )(compare)


def compare(
    paths: PathsArgument, topic: TopicOption = None, every: AllOption = False, output: OutputOption = None
) -> None:
    """Compare the copies of each partition on several disks: where they differ, what a restart would truncate, what is
    lost.

    The copy with the highest leader epoch, then the longest, counts as the leader's. For each other copy the answer
    tells how many offsets it would truncate as a follower: by its high watermark (before KIP-101) and by leader epochs
    (since). only_here counts offsets below the high watermark that no other disk has.

    Exits 1 when copies differ or acknowledged records are on one disk alone, 5 when no partition has two copies.
    """
    from commands.decode.damage_lines import damage_warnings
    from commands.decode.stdin import refuse_stdin
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.logs.compared_copies import decode_compare
    from kreplica.formats.logs.copies import ComparedCopy

    refuse_stdin(paths, "a log directory", "it is files of several disks that are compared")
    found = decode_compare(paths, topic)
    answer = Answer(
        command="decode-compare",
        rows_name="copies",
        columns=ComparedCopy,
        rows=found.rows(every=every),
        summary=_summary(found),
        warnings=[*found.created_anew, *found.damaged.values(), *damage_warnings(found.beside)],
    )
    emit(answer, output, lambda console: _show(answer, console))
    raise typer.Exit(found.exit_code)


def _summary(found: ComparedCopies) -> Row:
    from commands.decode.damage_lines import damage_objects

    return {**found.counts, "damaged": len(found.damaged), "damage": damage_objects(found.beside)}


def _show(answer: Answer[ComparedCopy], console: Console) -> None:
    from commands.decode.shared_folder import shared_folder
    from commands.shared.printing.screen import print_lines, print_rows, print_verdict
    from kreplica.formats.logs.copies import ComparedCopy
    from kreplica.model.tables.rows import fields_of

    rows: Sequence[ComparedCopy] = answer.rows
    known = {(row.topic, row.topic_id) for row in rows if row.topic_id is not None}
    several = len(known) > len({topic for topic, _ in known})
    shown = [field.name for field in fields_of(ComparedCopy) if field.meaning.screen]
    shown = [name for name in shown if several or name != "topic_id"]
    folder, rest = shared_folder(row.log_dir for row in rows)
    print_rows(console, ComparedCopy, rows, shown=shown, cells={"log_dir": rest, "epochs": _epochs})
    print_verdict(console, *_verdict(answer.summary))
    print_lines(console, "differ", _differences(rows))
    print_lines(console, "ahead", _ahead(rows))
    if rows:
        print_lines(console, "means", _MEANINGS)
        print_lines(console, "folder", folder)
    if int(str(answer.summary["cut_committed"])):
        row = max(rows, key=lambda row: row.cut_committed or 0)
        copy = shlex.quote(str(Path(row.log_dir) / f"{row.topic}-{row.partition}"))
        command = f"kreplica decode segment {copy} --records -o jsonl"
        print_lines(console, "next", ["keep what will be cut before its broker starts, as", command], whole=True)


_MEANINGS = (
    "cut_by_hw: offsets cut on a restart before KIP-101; cut_by_epoch: since; - where this copy would lead",
    "only_here: offsets below the high watermark, so committed, that no other of these disks has",
)
_AHEAD = (
    "producers with acks=1 or 0 were told that these are written; with acks=all, too, if the ISR had shrunk to that",
    "broker since the watermark was written (every 5 s)",
)


def _epochs(entries: Sequence[Mapping[str, int]]) -> list[str]:
    return [f"{entry['epoch']}:{entry['start_offset']}" for entry in entries]


def _verdict(summary: Row) -> tuple[str, str, str]:
    from kreplica.model.wording.words import counted

    number = {name: int(str(value)) for name, value in summary.items() if name != "damage"}
    scope = f"{counted(number['compared'], 'partition')} compared"
    if number["single_copies"]:
        scope += f", {number['single_copies']} more with one copy here"
    if not number["compared"]:
        return _nothing_compared(_damaged(summary), scope)
    if number["differing"]:
        cut = f", {counted(number['cut_committed'], 'committed offset')} would be cut"
        said = f"copies of {counted(number['differing'], 'partition')} differ" + cut * bool(number["cut_committed"])
        return "DIVERGED", "red", f"{said}; {scope}"
    if number["cut_committed"]:
        said = f"{counted(number['cut_committed'], 'committed offset')} would be cut when brokers start"
        return "AT RISK", "red", f"{said}; {scope}"
    if number["only_one_copy_holds"]:
        said = f"{counted(number['only_one_copy_holds'], 'acknowledged offset')} on one disk alone"
        return "AT RISK", "red", f"{said}; {scope}"
    same = "all copies are the same"
    if number["of_different_length"]:
        same = f"no copies differ, {counted(number['of_different_length'], 'partition')} with a shorter one"
    if told := _damaged(summary):
        return "DAMAGED", "red", f"{told}, compared without what cannot be read: {same}; {scope}"
    return "OK", "green", f"{same}; {scope}"


def _nothing_compared(damaged: str, scope: str) -> tuple[str, str, str]:
    if damaged:
        return "DAMAGED", "red", f"{damaged}: no partition has two copies that can be read; {scope}"
    return "INCOMPLETE", "yellow", f"no partition has two copies on these disks; {scope}"


def _damaged(summary: Row) -> str:
    """Counts of damaged files, in words; empty if there are none."""
    from commands.decode.damage_lines import count_places
    from kreplica.model.wording.words import counted

    copies, beside = int(str(summary["damaged"])), summary["damage"]
    assert isinstance(beside, list)
    told = [counted(copies, "damaged copy", "damaged copies")] if copies else []
    return " and ".join([*told, *([f"{count_places(len(beside))} beside the logs"] if beside else [])])


def _differences(rows: Sequence[ComparedCopy]) -> list[str]:
    leaders = {(row.topic, row.partition, row.topic_id): _who(row) for row in rows if row.leads}
    return [
        _sentence(row, leaders.get((row.topic, row.partition, row.topic_id), "the other copy"))
        for row in rows
        if row.differs_at is not None or row.cut_committed
    ]


def _ahead(rows: Sequence[ComparedCopy]) -> list[str]:
    """Records above the high watermark on one disk only: lost with that disk, or when they follow another leader."""
    from kreplica.model.wording.words import counted

    found = [(row, row.only_here_above or 0) for row in rows]
    told = [
        f"{row.topic}-{row.partition} on {_who(row)}: {counted(count, 'offset')} above the high watermark that no"
        f" other disk has, from {(row.end_offset or 0) - count} on"
        for row, count in found
        if count
    ]
    return [*told, *_AHEAD] if told else []


def _who(row: ComparedCopy) -> str:
    return row.log_dir if row.node_id is None else f"node {row.node_id}"


def _sentence(row: ComparedCopy, leader: str) -> str:
    """A difference and its effect; before version 0.11 (KIP-101) the high watermark decides what is truncated."""
    at, cut = row.differs_at, row.cut_by_leader_epoch or 0
    what = f"goes further than {leader}" if at is None else f"holds other records from offset {at} on"
    lost = row.cut_committed or 0
    after = [f"following {leader} cuts {_offsets(cut)}, {lost or 'none'} of them known to be committed"] if cut else []
    after += [
        f"{name} leaves that in place"
        for name, offset in (
            ("the high watermark rule", row.truncation_by_high_watermark),
            ("the leader epoch rule", row.truncation_by_leader_epoch),
        )
        if at is not None and offset is not None and offset > at
    ]
    return f"{row.topic}-{row.partition} on {_who(row)} {what}: {'; '.join(after)}"


def _offsets(count: int) -> str:
    from kreplica.model.wording.words import counted

    return counted(count, "offset")
