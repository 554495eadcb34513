"""kreplica decode metadata: the history in the metadata log of a KRaft node: leaders over time, and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options import ExitZeroOption, OutputOption, StdinFilenameOption, TopicOption
from kreplica.errors import InputError, UsageError
from kreplica.formats.metadata_log.changes import COLUMNS, ChangeKind

if TYPE_CHECKING:
    from commands.shared.printing.output import Row
    from kreplica.formats.damage import Damage
    from kreplica.formats.metadata_log.files import MetadataFiles, Replay
    from kreplica.formats.metadata_log.image import MetadataImage, PartitionChange
    from kreplica.formats.segments.log_end import LogEnd
    from kreplica.model.schema import Kind

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


@dataclass(frozen=True, slots=True)
class History:
    """The history that was read.

    Args:
        changes: Changes of partitions that were asked for.
        counts: Number of changes of each kind in the whole log, or in the comparison.
        replay: State at the end, damage.
        left: State at FROM of a comparison, None otherwise.
    """

    changes: Sequence[PartitionChange]
    counts: Counter[str]
    replay: Replay
    left: MetadataImage | None


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
    """Tell the history of a KRaft cluster from the metadata log of one of its nodes: leaders, ISRs, elections.

    Of the logs of several nodes the one with the highest last epoch, then the longest, is read, as a vote would have
    it. A state is named by the offset that was next then, as checkpoints are. The log at PATH, or PATH@OFFSET, is a
    --dump for every other command. The last records of a node that did not lead the quorum may not have been
    committed. Exits 1 when the log is damaged (all else is read nevertheless) or has an unclean election, 2 when
    there is none.
    """
    from commands.decode.damage_lines import damage_warnings
    from commands.decode.metadata.screen import show, verdict
    from commands.decode.stdin import METADATA, OPTION, named_files
    from commands.shared.printing.output import Answer, emit
    from commands.shared.printing.verdicts import code_of
    from kreplica.formats.metadata_log.changes import change_row

    wanted = _wanted(who_led, topic, kind or ())
    with named_files(paths, stdin_filename, METADATA) as names:
        files, others, damage = _chosen(names)
        found = _compare(files, diff, wanted) if diff is not None else _history(files, wanted)
        cluster = _cluster(files, damage)
    found.replay.damage[:0] = damage
    _refuse_nothing(found, who_led)
    rows = [change_row(change, compared=diff is not None) for change in found.changes]
    answer = Answer(
        command="decode-metadata",
        rows_name="changes",
        columns=COLUMNS,
        rows=rows,
        clusters=[cluster],
        summary={**_summary(found), "other_logs": [_end(log, end) for log, end in others]},
        warnings=[*damage_warnings(found.replay.damage), *_remarks(found.replay), *_not_read(others)],
        kinds=_kinds(),
    )
    listed = everything or diff is not None or who_led is not None or bool(kind) or topic is not None
    named = paths if len(paths) <= MOST_PATHS else [str(files.home)]  # a shell names hundreds for DIR/*
    again = [*named, *([] if stdin_filename is None else [OPTION, stdin_filename])]
    dump = None if "-" in paths else paths[0] if len(paths) == 1 and not others else str(files.home)  # there it is text
    emit(answer, output, lambda console: show(answer, console, again=again, dump=dump, who_led=who_led, listed=listed))
    raise typer.Exit(code_of(verdict(answer.summary, len(rows), who_led, listed)[0], exit_zero=exit_zero))


def _chosen(paths: Sequence[str]) -> tuple[MetadataFiles, list[tuple[MetadataFiles, LogEnd]], list[Damage]]:
    """The log to read, the others with their ends, and damage in the files beside them."""
    from kreplica.formats.file_bytes import not_listed
    from kreplica.formats.log_directory.cluster_identity import require_one_cluster
    from kreplica.formats.metadata_log.files import find_metadata_logs, furthest_metadata

    refused: list[InputError] = []
    logs = find_metadata_logs(paths, refused)
    damage = not_listed(refused)
    require_one_cluster((log.log_directory for log in logs), damage, "metadata logs")
    return *furthest_metadata(logs), damage


def _end(files: MetadataFiles, end: LogEnd) -> Row:
    return {"metadata_log": str(files.home), "leader_epoch": end.leader_epoch, "end_offset": end.end_offset}


def _not_read(others: Sequence[tuple[MetadataFiles, LogEnd]]) -> list[str]:
    return [
        f"{files.home} is another copy of the metadata log, up to offset {end.end_offset} of epoch {end.leader_epoch},"
        " not read"
        for files, end in others
    ]


class _Wanted:
    """Filter for the changes that were asked for."""

    def __init__(self, topic: str | None, partition: tuple[str, int] | None, kinds: frozenset[ChangeKind]) -> None:
        from kreplica.model.topic_pattern import topic_pattern

        self._pattern = None if topic is None else topic_pattern(topic)
        self.partition = partition
        self._kinds = kinds

    def __call__(self, change: PartitionChange, kinds: Sequence[ChangeKind]) -> bool:
        if self.partition not in (None, (change.topic, change.partition)):
            return False
        if self._pattern is not None and not self._pattern.fullmatch(change.topic):
            return False
        return not self._kinds or not self._kinds.isdisjoint(kinds)


def _wanted(who_led: str | None, topic: str | None, kinds: Sequence[ChangeKind]) -> _Wanted:
    from kreplica.formats.log_directory.listing import parse_partition_directory

    if who_led is None:
        return _Wanted(topic, None, frozenset(kinds))
    place = parse_partition_directory(who_led)
    if place is None or place.state != "current":
        raise UsageError(f"--who-led {who_led} names no partition", fix="--who-led orders-0")
    if kinds or topic is not None:
        raise UsageError("--who-led lists the leaders of one partition", fix="leave out --kind and --topic")
    lead = frozenset({ChangeKind.created, ChangeKind.leader, ChangeKind.removed})
    return _Wanted(None, (place.topic, place.partition), lead)


def _history(files: MetadataFiles, wanted: _Wanted) -> History:
    from kreplica.formats.metadata_log.changes import kinds_of
    from kreplica.formats.metadata_log.files import Replay, earliest, history, take_remembered_leader

    replay, counts = Replay(), Counter[str]()
    changes = [] if wanted.partition is None else _standing(files, wanted.partition)
    for _, made in history(files, replay, earliest(files)):
        for change in made:
            kinds = kinds_of(change)
            counts.update(kind.value for kind in kinds)
            if wanted(change, kinds):
                changes.append(change)
    take_remembered_leader(files, replay.image)
    return History(changes, counts, replay, None)


def _standing(files: MetadataFiles, partition: tuple[str, int]) -> list[PartitionChange]:
    """State of a partition in the checkpoint that the history begins with: the changes before it are gone."""
    from kreplica.formats.metadata_log.changes import standing
    from kreplica.formats.metadata_log.files import earliest, state_at

    base = earliest(files)
    return [] if base is None else standing(state_at(files, base[0]).image, *partition)


def _compare(files: MetadataFiles, diff: tuple[int, int], wanted: _Wanted) -> History:
    from kreplica.formats.metadata_log.changes import compare_images, kinds_of
    from kreplica.formats.metadata_log.files import state_at

    if not 0 <= diff[0] <= diff[1]:
        raise UsageError(f"--diff {diff[0]} {diff[1]} does not go forward", fix="--diff FROM TO, offsets of the log")
    left, right = state_at(files, diff[0]), state_at(files, diff[1])
    found = [(change, kinds_of(change)) for change in compare_images(left.image, right.image)]
    counts = Counter(kind.value for _, kinds in found for kind in kinds)
    changes = [change for change, kinds in found if wanted(change, kinds)]
    right.damage[:] = list(dict.fromkeys([*left.damage, *right.damage]))
    return History(changes, counts, right, left.image)


def _refuse_nothing(found: History, who_led: str | None) -> None:
    if who_led is None or found.changes:
        return
    topics = sorted(topic.name for topic in found.replay.image.topics.values())
    why = f"at its end it holds {len(topics)} topics: {', '.join(topics[:5])}{', …' if len(topics) > 5 else ''}"
    why = why if topics else "at its end it holds no topic"
    raise UsageError(f"the log says nothing of {who_led}", why, "a partition is written TOPIC-PARTITION")


def _cluster(files: MetadataFiles, damage: list[Damage]) -> Row:
    from kreplica.formats.log_directory.cluster_identity import cluster_id_of

    return {"cluster_id": cluster_id_of(files.log_directory, damage), "metadata_log": str(files.home)}


def _summary(found: History) -> Row:
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


def _kinds() -> dict[str, Kind]:
    from kreplica.model.schema import Kind

    wide, lists = {"offset", "timestamp"}, {"isr_before", "isr", "elr", "replicas", "adding", "removing"}
    return {
        name: Kind.INT64
        if name in wide
        else Kind.INT_LIST
        if name in lists
        else Kind.STRING
        if name in ("topic", "kinds")
        else Kind.INT32
        for name in COLUMNS
    }
