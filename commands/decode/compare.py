"""kreplica decode compare: the same partitions on several brokers' disks, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options import OutputOption, TopicOption
from kreplica.errors import ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, Row
    from kreplica.formats.damage import Damage
    from kreplica.formats.logs.copies import Place
    from kreplica.formats.logs.replicas import ReplicaFiles, ReplicaFolder
    from kreplica.model.schema import Kind

    Folders = Mapping[Place, Sequence[ReplicaFolder]]

_SHOWN = {
    "topic": "TOPIC",
    "partition": "PARTITION",
    "topic_id": "TOPIC_ID",
    "node_id": "NODE",
    "log_dir": "LOG_DIR",
    "end_offset": "END",
    "high_watermark": "HW",
    "epochs": "EPOCHS",
    "differs_at": "DIFFERS_AT",
    "cut_by_high_watermark": "CUT_BY_HW",
    "cut_by_leader_epoch": "CUT_BY_EPOCH",
    "only_here": "ONLY_HERE",
}

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
    """Compare the copies of each partition on several disks: where they differ, what a restart would cut, what is lost.

    The copy with the highest leader epoch, then the longest, is taken for the leader's. For each other copy the number
    of offsets is shown that it would truncate as a follower: by its high watermark (before KIP-101) and by leader
    epochs (since). only_here counts offsets below the high watermark that no other disk has.

    Exits 1 when copies differ or acknowledged records are on one disk alone, 5 when no partition has two copies.
    """
    from commands.decode.damage_lines import damage_objects, damage_warnings
    from commands.decode.stdin import refuse_stdin
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.file_bytes import not_listed
    from kreplica.formats.logs.copies import COLUMNS, partitions_of
    from kreplica.formats.logs.replicas import find_folders

    refuse_stdin(paths, "a log directory", "it is files of several disks that are compared")
    refused: list[InputError] = []
    _, folders = find_folders(paths, refused)
    there = partitions_of(folders)
    if not there:
        why = "no directory there is named as a partition and holds a segment"
        raise UsageError(f"no logs in {', '.join(paths)}", why, "name log directories of several brokers")
    _require_one_cluster(there)
    found = _chosen(there, topic)
    compared, copies = _compared(found)
    beside = [*not_listed(refused), *_damage_beside(found)]
    rows = [row for copies in compared.values() if every or _notable(copies) for row in copies]
    answer = Answer(
        command="decode-compare",
        rows_name="copies",
        columns=COLUMNS,
        rows=rows,
        summary={**_summary(found, compared), "damaged": len(copies), "damage": damage_objects(beside)},
        warnings=[*_created_anew(found), *copies.values(), *damage_warnings(beside)],
        kinds=_kinds(COLUMNS),
    )
    emit(answer, output, lambda console: _show(answer, console))
    raise typer.Exit(_exit_code(answer.summary, compared))


def _require_one_cluster(there: Folders) -> None:
    from kreplica.formats.log_directory.cluster_identity import refuse_several_clusters

    homes = {folder.home.path: folder.home.meta for folders in there.values() for folder in folders}
    refuse_several_clusters({path: None if meta is None else meta.cluster_id for path, meta in homes.items()})


def _damage_beside(found: Folders) -> list[Damage]:
    """Damage in the checkpoint files of these copies and of their log directories."""
    folders = [folder for copies in found.values() for folder in copies]
    homes = {folder.home.path: folder.home for folder in folders}
    ours = {*homes, *(folder.path for folder in folders)}
    return [each for home in homes.values() for each in home.damage if Path(each.file).parent in ours]


def _created_anew(found: Folders) -> list[str]:
    """A remark on each topic name under which the disks hold topics of several ids."""
    ids: dict[str, set[str]] = {}
    for place in found:
        ids.setdefault(place.topic, set()).update({place.topic_id or "none"})
    return [
        f"{topic} was deleted and created anew, its copies are of the topic ids {', '.join(sorted(some))}:"
        " only copies of the same one are compared"
        for topic, some in ids.items()
        if len(some) > 1
    ]


def _compared(found: Folders) -> tuple[dict[Place, Sequence[Row]], dict[str, str]]:
    """Rows of each partition that has several copies, one partition in memory at a time; remarks on damaged copies."""
    from kreplica.formats.logs.copies import compare_replicas

    compared: dict[Place, Sequence[Row]] = {}
    damaged: dict[str, str] = {}
    for place, folders in found.items():
        if len(folders) > 1:
            replicas = [folder.read() for folder in folders]
            compared[place] = compare_replicas(replicas)
            damaged |= {str(each.path): told for each in replicas if (told := _damage_of(each))}
    return compared, dict(sorted(damaged.items()))


def _damage_of(replica: ReplicaFiles) -> str:
    """A remark on a copy whose log is damaged; empty if it is whole."""
    places = [*replica.log.damage, *(each for segment in replica.log.segments for each in segment.damage)]
    if not replica.log.readable:
        told = f"{places[-1]}; where the log ends is not known" if places else "where its log ends is not known"
        return f"{replica.path} is not compared: {told}"
    if places:
        return f"{replica.path} is damaged: its log is compared without that; see kreplica decode check"
    return ""


def _chosen(found: Folders, topic: str | None) -> Folders:
    from kreplica.model.topic_pattern import topic_pattern

    if topic is None:
        return found
    pattern = topic_pattern(topic)
    kept = {place: copies for place, copies in found.items() if pattern.fullmatch(place.topic)}
    if not kept:
        known = len({place.topic for place in found})
        raise UsageError(f"no topic matches {topic!r}", f"the files hold {known} topics", "the whole name has to match")
    return kept


def _differs(copies: Sequence[Row]) -> bool:
    return any(row["differs_at"] is not None for row in copies)


def _alone(copies: Sequence[Row]) -> int:
    return sum(int(str(row["only_here"] or 0)) for row in copies)


def _cut(copies: Sequence[Row]) -> int:
    """Number of committed offsets of a partition that are lost when its brokers start with these disks."""
    return max(int(str(row["cut_committed"] or 0)) for row in copies)


def _ends(copies: Sequence[Row]) -> list[object]:
    """End offsets of the readable logs."""
    return [row["end_offset"] for row in copies if row["end_offset"] is not None]


def _notable(copies: Sequence[Row]) -> bool:
    ends = _ends(copies)
    return _differs(copies) or len(set(ends)) > 1 or len(ends) < len(copies) or bool(_alone(copies))


def _exit_code(summary: Row, compared: Mapping[Place, Sequence[Row]]) -> ExitCode:
    if summary["damaged"] or summary["damage"]:
        return ExitCode.FINDINGS
    if any(_differs(copies) or _alone(copies) or _cut(copies) for copies in compared.values()):
        return ExitCode.FINDINGS
    return ExitCode.OK if compared else ExitCode.INCOMPLETE


def _summary(found: Folders, compared: Mapping[Place, Sequence[Row]]) -> Row:
    return {
        "partitions": len(found),
        "compared": sum(len(_ends(copies)) > 1 for copies in compared.values()),
        "single_copies": len(found) - len(compared),
        "differing": sum(_differs(copies) for copies in compared.values()),
        "of_different_length": sum(len(set(_ends(copies))) > 1 for copies in compared.values()),
        "only_one_copy_holds": sum(_alone(copies) for copies in compared.values()),
        "cut_committed": sum(_cut(copies) for copies in compared.values()),
    }


def _kinds(columns: Sequence[str]) -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    words = dict.fromkeys(("topic", "topic_id", "log_dir", "epochs"), Kind.STRING)
    narrow = dict.fromkeys(("partition", "node_id"), Kind.INT32)
    return {name: (words | narrow | {"leads": Kind.BOOL}).get(name, Kind.INT64) for name in columns}


def _show(answer: Answer, console: Console) -> None:
    from commands.shared.printing.screen import print_lines, print_table, print_verdict

    if answer.rows:
        known = {(row["topic"], row["topic_id"]) for row in answer.rows if row["topic_id"] is not None}
        several = len(known) > len({topic for topic, _ in known})
        shown = [name for name in _SHOWN if several or name != "topic_id"]
        cells = [[_cell(row, name) for name in shown] for row in answer.rows]
        print_table([_SHOWN[name] for name in shown], cells, color=console.is_terminal and not console.no_color)
    print_verdict(console, *_verdict(answer.summary))
    print_lines(console, "differ", _differences(answer.rows))
    print_lines(console, "ahead", _ahead(answer.rows))
    if answer.rows:
        print_lines(console, "means", _MEANINGS)
    if int(str(answer.summary["cut_committed"])):
        row = max(answer.rows, key=lambda row: int(str(row["cut_committed"] or 0)))
        folder = shlex.quote(str(Path(str(row["log_dir"])) / f"{row['topic']}-{row['partition']}"))
        command = f"kreplica decode segment {folder} --records -o jsonl"
        print_lines(console, "next", ["keep what will be cut before its broker starts, as", command], whole=True)


_MEANINGS = (
    "cut_by_hw: offsets cut on a restart before KIP-101; cut_by_epoch: since; - where this copy would lead",
    "only_here: offsets below the high watermark, so committed, that no other of these disks has",
)
_AHEAD = (
    "producers with acks=1 or 0 were told that these are written; with acks=all, too, if the ISR had shrunk to that",
    "broker since the watermark was written (every 5 s)",
)


def _cell(row: Row, name: str) -> object:
    value = row[name]
    if name == "epochs" and isinstance(value, list):
        return [f"{entry['epoch']}:{entry['start_offset']}" for entry in value]
    return value


def _verdict(summary: Row) -> tuple[str, str, str]:
    from commands.shared.printing.screen import counted

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
    from commands.shared.printing.screen import counted

    copies, beside = int(str(summary["damaged"])), summary["damage"]
    assert isinstance(beside, list)
    told = [counted(copies, "damaged copy", "damaged copies")] if copies else []
    return " and ".join([*told, *([f"{count_places(len(beside))} beside the logs"] if beside else [])])


def _differences(rows: Sequence[Row]) -> list[str]:
    leaders = {(row["topic"], row["partition"], row["topic_id"]): _who(row) for row in rows if row["leads"]}
    return [
        _sentence(row, leaders.get((row["topic"], row["partition"], row["topic_id"]), "the other copy"))
        for row in rows
        if row["differs_at"] is not None or row["cut_committed"]
    ]


def _ahead(rows: Sequence[Row]) -> list[str]:
    """Records above the high watermark on one disk only: lost with that disk, or when they follow another leader."""
    from commands.shared.printing.screen import counted

    found = [(row, int(str(row["only_here_above"] or 0))) for row in rows]
    told = [
        f"{row['topic']}-{row['partition']} on {_who(row)}: {counted(count, 'offset')} above the high watermark that no"
        f" other disk has, from {int(str(row['end_offset'])) - count} on"
        for row, count in found
        if count
    ]
    return [*told, *_AHEAD] if told else []


def _who(row: Row) -> str:
    return str(row["log_dir"]) if row["node_id"] is None else f"node {row['node_id']}"


def _sentence(row: Row, leader: str) -> str:
    """A difference and its effect; before version 0.11 (KIP-101) the high watermark decides what is truncated."""
    at, cut = row["differs_at"], int(str(row["cut_by_leader_epoch"] or 0))
    what = f"goes further than {leader}" if at is None else f"holds other records from offset {at} on"
    lost = int(str(row["cut_committed"] or 0))
    after = [f"following {leader} cuts {_offsets(cut)}, {lost or 'none'} of them known to be committed"] if cut else []
    after += [
        f"{name} leaves that in place"
        for name, offset in (
            ("the high watermark rule", row["truncation_by_high_watermark"]),
            ("the leader epoch rule", row["truncation_by_leader_epoch"]),
        )
        if at is not None and offset is not None and int(str(offset)) > int(str(at))
    ]
    return f"{row['topic']}-{row['partition']} on {_who(row)} {what}: {'; '.join(after)}"


def _offsets(count: int) -> str:
    from commands.shared.printing.screen import counted

    return counted(count, "offset")
