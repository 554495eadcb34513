"""kreplica decode checkpoints: every checkpoint file of a log directory, in one table with a row for each replica."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption, StdinFilenameOption, TopicOption

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, Row
    from kreplica.formats.damage import Damage
    from kreplica.formats.log_directory.listing import LogDirectory
    from kreplica.formats.log_directory.reading import ReplicaCheckpoints

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="Log directories, directories that hold some, checkpoint files, or quoted patterns; - for stdin.",
    ),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "checkpoints",
        short_help="Show every checkpoint of a log directory, by replica.",
        epilog=examples(
            "kreplica decode checkpoints /srv/kafka",
            "kreplica decode checkpoints /srv/kafka --topic orders -o csv",
        ),
    )(checkpoints)


def checkpoints(
    paths: PathsArgument,
    topic: TopicOption = None,
    stdin_filename: StdinFilenameOption = None,
    output: OutputOption = None,
) -> None:
    """Show the content of every checkpoint file of a log directory by replica: offsets, leader epochs, topic ids.

    Reads the four offset checkpoints, each partition's leader-epoch-checkpoint and partition.metadata, and
    meta.properties, .kafka_cleanshutdown and quorum-state of the directory. Exits 1 when a file is damaged (the others
    are still read), 2 when there is nothing to read.
    """
    from commands.decode.damage_lines import damage_warnings
    from commands.decode.stdin import CHECKPOINT, named_files
    from commands.shared.printing.output import Answer, emit
    from kreplica.formats.log_directory.reading import ReplicaCheckpoints, decode_checkpoints

    with named_files(paths, stdin_filename, CHECKPOINT) as names:
        found = decode_checkpoints(names, topic)
    homes, rows, damage = found.homes, found.rows, found.damage
    answer = Answer(
        command="decode-checkpoints",
        rows_name="checkpoints",
        columns=ReplicaCheckpoints,
        rows=rows,
        clusters=_clusters(homes),
        summary=_summary(homes, rows, damage),
        warnings=[*damage_warnings(damage), *found.remarks],
    )
    emit(answer, output, lambda console: _show(answer, homes, len(damage), console))
    raise typer.Exit(found.exit_code)


def _clusters(homes: Sequence[LogDirectory]) -> list[Row]:
    ids = {home.meta.cluster_id for home in homes if home.meta is not None}
    return [{"cluster_id": cluster} for cluster in sorted(each for each in ids if each is not None)]


def _summary(homes: Sequence[LogDirectory], rows: Sequence[ReplicaCheckpoints], damage: Sequence[Damage]) -> Row:
    from commands.decode.damage_lines import damage_objects

    return {
        "log_dirs": [_log_dir(home) for home in homes],
        "replicas": len(rows),
        "topics": len({row.topic for row in rows}),
        "states": dict(Counter(row.state for row in rows)),
        "damage": damage_objects(damage),
    }


def _log_dir(home: LogDirectory) -> Row:
    meta, quorum = home.meta, home.quorum_state
    return {
        "log_dir": str(home.path),
        "cluster_id": None if meta is None else meta.cluster_id,
        "node_id": None if meta is None else meta.node_id,
        "directory_id": None if meta is None else meta.directory_id,
        "meta_version": None if meta is None else meta.version,
        "clean_shutdown": None if meta is None else home.clean_shutdown is not None,
        "broker_epoch": None if home.clean_shutdown is None else home.clean_shutdown.broker_epoch,
        "files": sorted(home.checkpoints),
        "quorum_state": None
        if quorum is None
        else {
            "leader_id": quorum.leader_id,
            "leader_epoch": quorum.leader_epoch,
            "voted_id": quorum.voted_id,
            "voted_directory_id": quorum.voted_directory_id,
            "voters": None if quorum.voters is None else list(quorum.voters),
        },
    }


def _show(answer: Answer[ReplicaCheckpoints], homes: Sequence[LogDirectory], damage: int, console: Console) -> None:
    from commands.decode.shared_folder import shared_folder
    from commands.shared.printing.screen import print_lines, print_rows, print_verdict
    from kreplica.formats.log_directory.reading import ReplicaCheckpoints
    from kreplica.model.tables.rows import fields_of

    rows: Sequence[ReplicaCheckpoints] = answer.rows
    alone = {"log_dir"} if len(homes) == 1 else set()
    alone |= set() if any(row.state != "current" for row in rows) else {"state"}
    shown = [field.name for field in fields_of(ReplicaCheckpoints) if field.meaning.screen and field.name not in alone]
    _, rest = shared_folder(str(home.path) for home in homes)
    print_rows(console, ReplicaCheckpoints, rows, shown=shown, cells={"log_dir": rest, "epochs": _epochs})
    word, color, sentence = _verdict(answer, homes, damage)
    print_verdict(console, word, color, sentence)
    print_lines(console, "log dir", [_told(home) for home in homes])
    print_lines(console, "means", _MEANINGS)


_MEANINGS = (
    "log_start_offset: first offset left to read; - where none is told: the first of epochs or of the segments",
    "recovery_point: all before it is on the disk; after an unclean stop the log is checked from there",
    "high_watermark: all before it was on every in-sync replica when the file was written",
    "cleaner_offset: first offset that compaction has not seen",
    "epochs: leader epoch:first offset written under it",
)


def _epochs(entries: Sequence[Mapping[str, int]]) -> list[str]:
    return [f"{entry['epoch']}:{entry['start_offset']}" for entry in entries]


def _verdict(answer: Answer[ReplicaCheckpoints], homes: Sequence[LogDirectory], damage: int) -> tuple[str, str, str]:
    from commands.decode.damage_lines import count_places
    from kreplica.model.wording.words import counted

    topics = answer.summary["topics"]
    directories = counted(len(homes), "log directory", "log directories")
    scope = f"{counted(len(answer.rows), 'replica')} of {counted(int(str(topics)), 'topic')} in {directories}"
    whole = [home for home in homes if home.meta is not None]
    unclean = [home for home in whole if home.clean_shutdown is None]
    if damage:
        return "DAMAGED", "red", f"{count_places(damage)} in these files; {scope}"
    if unclean:
        said = "without a mark of a clean stop (the broker runs or was killed: these files lag behind the logs)"
        return "OPEN", "yellow", f"{len(unclean)} of {len(whole)} {said}; {scope}"
    return ("CLEAN", "green", f"{scope}, closed in order") if whole else ("OK", "green", scope)


def _told(home: LogDirectory) -> str:
    if home.meta is None:
        return f"{home.path}  no meta.properties among the files: node and cluster are not known"
    stop = "no mark of a clean stop" if home.clean_shutdown is None else "closed in order"
    told = f"{home.path}  node {home.meta.node_id} of cluster {home.meta.cluster_id}, {stop}"
    quorum = home.quorum_state
    if quorum is None:
        return told
    leader = f"leader {quorum.leader_id}" if (quorum.leader_id or 0) >= 0 else "no leader"
    return f"{told}; metadata quorum in epoch {quorum.leader_epoch}, {leader}"
