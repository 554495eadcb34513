"""decode metadata on the screen: the verdict on the history, then the changes that were asked for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commands.decode.damage_lines import count_places
from commands.shared.printing.screen import TableColumn, print_columns, print_lines, print_verdict, table_columns
from commands.shared.values import spell_moment
from kreplica.formats.metadata_log.change_rows import MetadataChange
from kreplica.formats.metadata_log.changes import ChangeKind
from kreplica.model.wording.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer

_LEADERS = [
    *table_columns(MetadataChange, ("offset", "timestamp", "leader", "leader_epoch", "isr")),
    TableColumn("HOW"),
]


def show(
    answer: Answer[MetadataChange],
    console: Console,
    *,
    again: Sequence[str],
    dump: str | None,
    who_led: str | None,
    listed: bool,
) -> None:
    """Prints the history for a person: leaders of one partition, changes that were asked for, or a summary.

    Args:
        answer: What to print.
        console: Where to.
        again: The arguments that name the log, for the next commands.
        dump: The log as a dump for other commands; None if they cannot read it.
        who_led: The partition whose leaders were asked for.
        listed: Whether the changes were asked for.
    """
    summary: Mapping[str, Any] = answer.summary
    rows: Sequence[MetadataChange] = answer.rows
    if listed and rows:
        columns, cells = (_LEADERS, _leader_cells) if who_led else (_columns(rows[0]), _cells)
        print_columns(console, columns, map(cells, rows))
    changes = sum(bool(row.kinds) for row in rows)
    word, color, sentence = verdict(summary, changes, who_led, listed)
    print_verdict(console, word, color, sentence)
    if summary["differences"] is not None:
        _show_differences(summary["differences"], console)
    elif not listed:
        _show_state(answer, console)
        _show_next(summary, again, dump, console)


def verdict(summary: Mapping[str, Any], rows: int, who_led: str | None, listed: bool) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    span = f"offsets {summary['from_offset']} to {summary['next_offset']}"
    if summary["damage"]:
        return "DAMAGED", "red", f"{count_places(len(summary['damage']))} in the metadata log; {span}"
    if summary["differences"] is not None:
        return "DIFF", "green", f"{counted(rows, 'partition')} changed between {span.replace(' to ', ' and ')}"
    if who_led is not None:
        return "OK", "green", f"{counted(rows, 'change')} of the leader of {who_led} in {span}"
    if listed:
        return "OK", "green", f"{counted(rows, 'change')} in {span}"
    return _verdict_of_all(summary, span)


def _verdict_of_all(summary: Mapping[str, Any], span: str) -> tuple[str, str, str]:
    changes = summary["changes"]
    if summary["from_offset"] == summary["next_offset"]:
        return "OK", "green", f"the state at offset {summary['next_offset']}: no record behind it tells a history"
    said = f"{counted(changes['leader'], 'leader change')}, {counted(changes['isr'], 'ISR change')} in {span}"
    if changes["unclean"]:
        return (
            "UNCLEAN",
            "red",
            f"{counted(changes['unclean'], 'unclean election')} (records may have been lost), {said}",
        )
    return "OK", "green", f"no unclean election, {said}"


def _show_state(answer: Answer[MetadataChange], console: Console) -> None:
    summary: Mapping[str, Any] = answer.summary
    fenced = ", ".join(map(str, summary["fenced"]))
    (cluster,) = answer.clusters
    leader = "leader not known" if summary["quorum_leader"] is None else f"leader {summary['quorum_leader']}"
    print_lines(console, "cluster", [f"{cluster['cluster_id'] or 'of an unknown id'}, {cluster['metadata_log']}"])
    print_lines(
        console,
        "at end",
        [
            f"{counted(summary['partitions'], 'partition')} of {counted(summary['topics'], 'topic')},"
            f" {counted(len(summary['brokers']), 'broker')}" + (f", fenced: {fenced}" if fenced else ""),
            f"metadata quorum: {leader}, voters {', '.join(map(str, summary['voters'])) or 'not known'}",
            *_features(summary["features"]),
            *([] if summary["timestamp"] is None else [f"last record written {_time(summary['timestamp'])}"]),
        ],
    )
    counts = [f"{count:>6}  {name}" for name, count in summary["changes"].items() if count]
    print_lines(console, "changes", counts)


def _features(levels: Mapping[str, int]) -> list[str]:
    said = ", ".join(f"{name} {_level(name, levels[name])}" for name in sorted(levels))
    return [f"features: {said}"] if said else []


def _show_next(summary: Mapping[str, Any], again: Sequence[str], dump: str | None, console: Console) -> None:
    quoted = shlex.join(again)
    kind = "unclean" if summary["changes"]["unclean"] else "leader"
    print_lines(
        console,
        "next",
        [
            f"kreplica decode metadata {quoted} --kind {kind}",
            f"kreplica decode metadata {quoted} --who-led TOPIC-PARTITION",
            *([] if dump is None else [f"kreplica describe --dump {shlex.quote(dump)}"]),
        ],
        whole=True,
    )


def _show_differences(differences: Mapping[str, Any], console: Console) -> None:
    brokers = [f"{each['broker']}: {each['before']}, then {each['after']}" for each in differences["brokers"]]
    print_lines(console, "brokers", brokers)
    features = differences["features"].items()
    print_lines(
        console, "features", [f"{name}: {_level(name, a)}, then {_level(name, b)}" for name, (a, b) in features]
    )
    print_lines(
        console,
        "configs",
        [
            f"{each['entity']} {each['name']}: {_value(each['before'])}, then {_value(each['after'])}"
            for each in differences["configs"]
        ],
    )


def _level(feature: str, level: int | None) -> str:
    """A feature's level; that of metadata.version with the name that Kafka's tools give it."""
    from kreplica.model.metadata_versions import metadata_version_name

    name = None if feature != "metadata.version" or level is None else metadata_version_name(level)
    return _value(level) if name is None else f"{level} ({name})"


def _value(value: object) -> str:
    return "not set" if value is None else str(value)


def _columns(row: MetadataChange) -> list[TableColumn]:
    lead = () if row.offset is None else ("offset", "timestamp")
    others = ("topic", "partition", "leader", "leader_epoch", "isr", "elr", "replicas", "kinds")
    return table_columns(MetadataChange, (*lead, *others))


def _cells(row: MetadataChange) -> list[object]:
    lead = [] if row.offset is None else [row.offset, _time(row.timestamp)]
    leader, isr = _turn(row, "leader_before", "leader"), _turn(row, "isr_before", "isr")
    return [*lead, row.topic, row.partition, leader, row.leader_epoch, isr, row.elr, row.replicas, row.kinds]


def _turn(row: MetadataChange, before: str, after: str) -> str:
    """``3 > 1`` where a value changed, else the value alone."""
    created = row.isr_before is None
    old, new = getattr(row, before), getattr(row, after)
    same = old == new or (before == "isr_before" and not created and ChangeKind.isr not in row.kinds)
    if row.isr is None:
        return _word(old)
    return _word(new) if created or same else f"{_word(old)} > {_word(new)}"


def _word(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _leader_cells(row: MetadataChange) -> list[object]:
    return [row.offset, _time(row.timestamp), row.leader, row.leader_epoch, row.isr, _how(row)]


def _how(row: MetadataChange) -> str:
    if not row.kinds:
        return "held then; what was before is gone"
    if ChangeKind.created in row.kinds or ChangeKind.removed in row.kinds:
        return "created" if ChangeKind.created in row.kinds else "removed"
    if row.leader is None:
        return "no replica could lead"
    if ChangeKind.unclean in row.kinds:
        return "unclean election: records may have been lost"
    return "again, in a new epoch" if row.leader == row.leader_before else "elected"


def _time(timestamp: object) -> str:
    assert isinstance(timestamp, int)
    return spell_moment(timestamp, "milliseconds")
