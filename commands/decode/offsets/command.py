"""kreplica decode offsets: what each group has committed, from the segments of __consumer_offsets alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.decode.as_of import AsOfOffsetOption, AsOfTimeOption, parse_as_of
from commands.shared.help import examples
from commands.shared.options.common import (
    LARGEST_INT32,
    BootstrapServerOption,
    CommandConfigOption,
    ConfigOption,
    StdinFilenameOption,
    TimeoutOption,
    TopicOption,
)
from commands.shared.printing.json_document import write_bytes
from commands.shared.printing.output import OutputFormat, written
from commands.shared.printing.terminal import print_out
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from commands.decode.offsets.answer import OffsetsAnswer
    from kreplica.config.handle import ClusterHandle
    from kreplica.formats.consumer_offsets.reading import OffsetsReading
    from kreplica.formats.consumer_offsets.rows import CommittedOffset
    from kreplica.formats.segments.as_of import AsOf


class OffsetsForm(StrEnum):
    """Forms of the answer: those of every command, and those of Kafka's tools."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    markdown = "markdown"
    parquet = "parquet"
    kafka_1_0 = "kafka-1.0"
    kafka_2 = "kafka-2"
    kafka_4 = "kafka-4"
    reset_csv = "reset-csv"


PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH...",
        help="Log directories of brokers, partition directories, segments, quoted patterns; - for a segment on stdin.",
    ),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="REGEX", help="Only groups whose whole name matches; may be repeated."),
]
EventsOption = Annotated[
    bool, typer.Option("--events", help="Every record of the logs instead of the state, in any form but Kafka's own.")
]
GroupsOption = Annotated[
    bool,
    typer.Option("--groups", help="The groups and their members instead of their offsets."),
]
PartitionOfOption = Annotated[
    str | None,
    typer.Option(
        "--partition-of", metavar="GROUP", help="Print only the partition of __consumer_offsets that holds the group."
    ),
]
PartitionsOption = Annotated[
    int,
    typer.Option(
        "--partitions",
        min=1,
        max=LARGEST_INT32,
        metavar="N",
        help="Partitions of the topic: offsets.topic.num.partitions.",
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="CONTEXT",
        help="Tell of each offset whether that live cluster still has it; or name the cluster by --bootstrap-server.",
    ),
]
FormOption = Annotated[OffsetsForm | None, typer.Option("--output", "-o", help="Output format.  [default: table]")]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "offsets",
        short_help="Show what each consumer group has committed.",
        epilog=examples(
            "kreplica decode offsets /srv/kafka --group billing",
            "kreplica decode offsets /srv/kafka --as-of-time 2h --events -o parquet > commits.parquet",
        ),
    )(offsets)


def offsets(
    paths: PathsArgument = None,
    group: GroupOption = None,
    topic: TopicOption = None,
    as_of_offset: AsOfOffsetOption = None,
    as_of_time: AsOfTimeOption = None,
    events: EventsOption = False,
    groups: GroupsOption = False,
    partition_of: PartitionOfOption = None,
    partitions: PartitionsOption = 50,
    stdin_filename: StdinFilenameOption = None,
    against: AgainstOption = None,
    bootstrap_server: BootstrapServerOption = None,
    command_config: CommandConfigOption = None,
    config: ConfigOption = None,
    timeout: TimeoutOption = None,
    output: FormOption = None,
) -> None:
    """Show the offsets that each group has committed, from the files of __consumer_offsets, without a broker.

    The log is replayed as a coordinator does: the last commit of each group and partition counts, a tombstone removes
    it, and offsets of a transaction count once it is committed. Of several copies of a partition, the one with the
    highest last leader epoch, then the longest, is read. -o kafka-1.0, kafka-2 and kafka-4 print in the form of Kafka's
    own tools of these releases, reset-csv in the form that kafka-consumer-groups --reset-offsets --from-file reads.

    --groups shows the groups as a coordinator has them after reading the log: type, state, epoch, members and the
    partitions that each member had.

    --against compares with a live cluster: below start (the records are deleted), above end (the log is shorter than
    what the group has read), no such partition, or in range.

    Exits 1 when a file is damaged (the others are still read) or an offset is not in range, 5 when partitions of the
    topic were not found, unless the requested groups are in those that were.
    """
    if partition_of is not None:
        return _say_partition(partition_of, partitions, paths or stdin_filename)
    if not paths:
        raise UsageError("no files are named", fix="kreplica decode offsets /var/lib/kafka/data")
    from commands.decode.stdin import named_files

    cluster = _cluster([against, bootstrap_server, command_config, config, timeout], output, events=events)
    as_of = parse_as_of(as_of_offset, as_of_time)
    if groups and (events or topic is not None or cluster is not None or output in _LINES):
        raise UsageError("--groups tells of groups, not of their offsets", fix="leave out the others, but --group")
    with named_files(paths, stdin_filename) as names:
        if events:
            return _say_events(names, group or [], topic, partitions, as_of, output)
        from kreplica.formats.consumer_offsets.reading import decode_offsets

        reading = decode_offsets(names, group or (), topic, partitions=partitions, as_of=as_of, members=groups)
        if groups:
            raise typer.Exit(_say_groups(reading, group or (), output))
    from commands.decode.offsets.answer import OffsetsAnswer

    answer = OffsetsAnswer(reading)
    if cluster is not None:
        from commands.decode.offsets.against import Compared
        from kreplica.monitoring.offsets import compare_offsets

        answer = replace(answer, against=Compared(compare_offsets(cluster, reading.rows)))
    if output in _LINES:
        answer.warn()
        _print_lines(output, [row for row in reading.rows if not row.pending])
    else:
        from commands.shared.printing.output import emit

        form = None if output is None else OutputFormat(output.value)
        emit(answer.answer(), form, lambda console: _show(answer, console))
    raise typer.Exit(answer.exit_code())


def _show(answer: OffsetsAnswer, console: Console) -> None:
    from commands.decode.offsets.screen import show

    show(answer, console)


def _cluster(given: list[Any], output: OffsetsForm | None, *, events: bool) -> ClusterHandle | None:
    """The cluster to compare with; None if none of the options that name one are given."""
    if all(option is None for option in given):
        return None
    from commands.decode.offsets.against import WayIn

    if events or output in _LINES:
        form = "--events" if events else f"-o {output}"
        raise UsageError(f"{form} has no place for what a cluster says", "", "leave it out, or leave out the cluster")
    return WayIn(*given).handle()


def _say_events(
    paths: list[str],
    group: list[str],
    topic: str | None,
    partitions: int,
    as_of: AsOf | None,
    output: OffsetsForm | None,
) -> None:
    from commands.decode.events import show_events
    from commands.decode.offsets.answer import completeness
    from kreplica.formats.consumer_offsets.reading import decode_offset_events

    if output in _LINES:
        why = "--events lists records, not what they lead to"
        raise UsageError(f"-o {output} prints a state", why, "use -o jsonl, or leave out --events")
    form = None if output is None else OutputFormat(output.value)
    found, reading = decode_offset_events(paths, group, topic, partitions=partitions, as_of=as_of)
    raise typer.Exit(show_events(found, form, [completeness(reading)] if reading.missing else []))


def _say_groups(reading: OffsetsReading, group: Sequence[str], output: OffsetsForm | None) -> ExitCode:
    from commands.decode.offsets.groups import show_groups

    return show_groups(reading, group, None if output is None else OutputFormat(output.value))


def _say_partition(group: str, partitions: int, files: object) -> None:
    from kreplica.engine.rules.groups.coordinator_partition import coordinator_partition

    if files:
        raise UsageError("--partition-of reads no files", fix=f"kreplica decode offsets --partition-of {group!r}")
    print_out(str(coordinator_partition(group, partitions)))


_LINES = (OffsetsForm.kafka_1_0, OffsetsForm.kafka_2, OffsetsForm.kafka_4, OffsetsForm.reset_csv)


def _print_lines(form: OffsetsForm | None, rows: list[CommittedOffset]) -> None:
    from kreplica.formats.consumer_offsets.rows import line_of_kafka_1_0, line_of_kafka_2, line_of_kafka_4, reset_csv

    if form is OffsetsForm.reset_csv:
        _refuse_line_breaks(rows)
        text = reset_csv(rows)
    else:
        line = {OffsetsForm.kafka_1_0: line_of_kafka_1_0, OffsetsForm.kafka_2: line_of_kafka_2}
        text = "".join(f"{line.get(form, line_of_kafka_4)(row)}\n" for row in rows)  # type: ignore[arg-type]
    written(lambda: write_bytes(text.encode("utf-8", "backslashreplace")))


def _refuse_line_breaks(rows: list[CommittedOffset]) -> None:
    """Refuses line breaks in names: Kafka's tool splits lines before it reads quotes (OffsetsUtils.parseResetPlan)."""
    broken = next((row.group for row in rows if "\n" in row.group), None)
    if broken is not None:
        what = f"the group {broken!r} has a line break in its name"
        raise UsageError(
            what, "kafka-consumer-groups reads a row from each line", "--group '.*' leaves such groups out"
        )
