"""kreplica decode metadata: the history in the metadata log of a KRaft node: leaders over time, and changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import ExitZeroOption, OutputOption, StdinFilenameOption, TopicOption, exit_of
from kreplica.errors import UsageError
from kreplica.formats.metadata_log.changes import ChangeKind

if TYPE_CHECKING:
    from commands.shared.printing.output import Row
    from kreplica.formats.metadata_log.files import MetadataFiles, Replay
    from kreplica.formats.metadata_log.history import MetadataHistory, MetadataQuestion
    from kreplica.formats.metadata_log.image import MetadataImage
    from kreplica.formats.segments.log_end import LogEnd

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH...",
        help="__cluster_metadata-0 of KRaft nodes, directories with it, segments, checkpoints, quoted patterns;"
        " - for stdin.",
    ),
]
WhoLedOption = Annotated[
    str | None,
    typer.Option("--who-led", metavar="TOPIC-PARTITION", help="Every leader that this partition had, and from when."),
]
KindOption = Annotated[
    list[ChangeKind] | None, typer.Option("--kind", help="Only changes of this kind; may be repeated.")
]
DiffOption = Annotated[
    tuple[int, int] | None,
    typer.Option("--diff", metavar="FROM TO", help="Show what changed between the states before these two offsets."),
]
AllOption = Annotated[bool, typer.Option("--all", help="List every change on the screen.")]


MOST_PATHS = 4
"""Paths that the next commands repeat at most; with more of them, they name the log that was read."""


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "metadata",
        short_help="Show the history of a KRaft cluster.",
        epilog=examples(
            "kreplica decode metadata /srv/kafka/__cluster_metadata-0",
            "kreplica decode metadata /srv/kafka --who-led orders-0",
        ),
    )(metadata)


def metadata(
    paths: PathsArgument,
    who_led: WhoLedOption = None,
    kind: KindOption = None,
    topic: TopicOption = None,
    diff: DiffOption = None,
    everything: AllOption = False,
    stdin_filename: StdinFilenameOption = None,
    exit_zero: ExitZeroOption = False,
    output: OutputOption = None,
) -> None:
    """Show the history of a KRaft cluster from the metadata log of one of its nodes: leaders, ISRs, elections.

    Of several nodes' logs, the one with the highest last epoch, then the longest, is read, as in a vote. A state is
    named by the next offset, as checkpoints are. Every other command takes the log as --dump PATH or PATH@OFFSET. If
    the node did not lead the quorum, its last records may not have been committed. Exits 1 when the log is damaged (the
    rest is still read) or has an unclean election, 2 when there is none.
    """
    from commands.decode.damage_lines import damage_warnings
    from commands.decode.metadata.screen import show, verdict
    from commands.decode.stdin import METADATA, OPTION, named_files
    from commands.shared.printing.output import Answer, emit
    from commands.shared.printing.verdicts import code_of
    from kreplica.formats.metadata_log.change_rows import MetadataChange
    from kreplica.formats.metadata_log.history import decode_metadata

    wanted = _wanted(who_led, topic, kind or ())
    with named_files(paths, stdin_filename, METADATA) as names:
        found = decode_metadata(names, wanted, diff=diff)
    files, others, rows = found.files, found.others, found.rows
    _refuse_nothing(found, who_led)
    answer = Answer(
        command="decode-metadata",
        rows_name="changes",
        columns=MetadataChange,
        rows=rows,
        clusters=[{"cluster_id": found.cluster_id, "metadata_log": str(files.home)}],
        summary={**_summary(found), "other_logs": [_end(log, end) for log, end in others]},
        warnings=[*damage_warnings(found.replay.damage), *_remarks(found.replay), *_not_read(others)],
    )
    listed = everything or diff is not None or who_led is not None or bool(kind) or topic is not None
    named = paths if len(paths) <= MOST_PATHS else [str(files.home)]  # a shell names hundreds for DIR/*
    again = [*named, *([] if stdin_filename is None else [OPTION, stdin_filename])]
    dump = None if "-" in paths else paths[0] if len(paths) == 1 and not others else str(files.home)  # there it is text
    emit(answer, output, lambda console: show(answer, console, again=again, dump=dump, who_led=who_led, listed=listed))
    raise exit_of(code_of(verdict(answer.summary, len(rows), who_led, listed)[0]), exit_zero=exit_zero)


def _end(files: MetadataFiles, end: LogEnd) -> Row:
    return {"metadata_log": str(files.home), "leader_epoch": end.leader_epoch, "end_offset": end.end_offset}


def _not_read(others: Sequence[tuple[MetadataFiles, LogEnd]]) -> list[str]:
    return [
        f"{files.home} is another copy of the metadata log, up to offset {end.end_offset} of epoch {end.leader_epoch},"
        " not read"
        for files, end in others
    ]


def _wanted(who_led: str | None, topic: str | None, kinds: Sequence[ChangeKind]) -> MetadataQuestion:
    from kreplica.formats.log_directory.listing import parse_partition_directory
    from kreplica.formats.metadata_log.history import MetadataQuestion

    if who_led is None:
        return MetadataQuestion(topic, None, frozenset(kinds))
    place = parse_partition_directory(who_led)
    if place is None or place.state != "current":
        raise UsageError(f"--who-led {who_led} names no partition", fix="--who-led orders-0")
    if kinds or topic is not None:
        raise UsageError("--who-led lists the leaders of one partition", fix="leave out --kind and --topic")
    lead = frozenset({ChangeKind.created, ChangeKind.leader, ChangeKind.removed})
    return MetadataQuestion(None, (place.topic, place.partition), lead)


def _refuse_nothing(found: MetadataHistory, who_led: str | None) -> None:
    from kreplica.model.wording.words import counted, listed

    if who_led is None or found.changes:
        return
    topics = sorted(topic.name for topic in found.replay.image.topics.values())
    why = f"at its end it holds {counted(len(topics), 'topic')}: {listed(topics, 5)}"
    why = why if topics else "at its end it holds no topic"
    raise UsageError(f"the log says nothing of {who_led}", why, "a partition is written TOPIC-PARTITION")


def _summary(found: MetadataHistory) -> Row:
    from commands.decode.damage_lines import damage_objects

    image, left = found.replay.image, found.left
    return {
        "from_offset": found.replay.start if left is None else left.next_offset,
        "next_offset": image.next_offset,
        "timestamp": image.timestamp,
        "quorum_leader": image.leader,
        "quorum_epoch": image.leader_epoch,
        "voters": list(image.voters),
        "brokers": sorted(image.brokers),
        "fenced": sorted(broker for broker, state in image.brokers.items() if state.fenced),
        "topics": len(image.topics),
        "partitions": sum(len(topic.partitions) for topic in image.topics.values()),
        "features": dict(image.features),
        "changes": {kind.value: found.counts[kind.value] for kind in ChangeKind},
        "records": dict(sorted(image.records.items())),
        "unknown": dict(image.unknown),
        "differences": None if left is None else _differences(left, image),
        "damage": damage_objects(found.replay.damage),
    }


def _differences(left: MetadataImage, right: MetadataImage) -> Row:
    """Differences besides partitions: brokers, features and settings."""
    from kreplica.sources.dumps.kraft import shown_settings

    brokers = {**left.brokers, **right.brokers}
    settings, others = shown_settings(left), shown_settings(right)
    return {
        "brokers": [
            {"broker": broker, "before": _broker_word(left, broker), "after": _broker_word(right, broker)}
            for broker in sorted(brokers)
            if _broker_word(left, broker) != _broker_word(right, broker)
        ],
        "features": {
            name: [left.features.get(name), right.features.get(name)]
            for name in sorted({**left.features, **right.features})
            if left.features.get(name) != right.features.get(name)
        },
        "configs": [
            {"entity": key[0], "name": key[1], "before": settings.get(key), "after": others.get(key)}
            for key in sorted({**settings, **others})
            if settings.get(key) != others.get(key)
        ],
    }


def _broker_word(image: MetadataImage, broker: int) -> str:
    state = image.brokers.get(broker)
    if state is None:
        return "not registered"
    return "fenced" if state.fenced else "in controlled shutdown" if state.shutting_down else "active"


def _remarks(replay: Replay) -> list[str]:
    from kreplica.sources.dumps.kraft import gaps_of_image, notes_of_image

    return [*(gap.message for gap in gaps_of_image(replay.image)), *notes_of_image(replay.image)]
