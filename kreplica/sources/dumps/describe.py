"""Reads the output of `kafka-topics --describe`, of every release from 0.8 to 4.x, into a snapshot.

Everything printed is checked against everything else printed: partition counts, replication factors, one form of lines
throughout. A line that does not fit is an error; nothing is guessed. What the text does not tell stays null, and what
follows from it is filled in only where Kafka's code leaves one possibility:

- adding, removing: from 2.8 (a TopicId is printed) the tool prints both while a partition is being reassigned, so none
  printed means none. Before, not known. Two exceptions that the text does not show: the user of the tool may not
  describe the cluster (KAFKA-10212), or it was 2.8's with `--zookeeper`, which never prints them.
- min_isr, unclean_leader_election: as listed under Configs. From 3.8 (Elr is printed) every setting is listed that is
  not Kafka's default, wherever it is set, so one that is not listed has Kafka's default. Before, the tool may have been
  reading ZooKeeper, where only the topic's own settings are: not known.
- a broker that leads is alive from 3.8 on: the tool reads metadata, in which only a live broker leads. Nothing is known
  of the others, and nothing at all before, when the leader may have been read from ZooKeeper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kreplica.errors import InputError
from kreplica.model.internal_topics import INTERNAL_TOPICS
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.snapshot import ClusterSnapshot
from kreplica.model.tables.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.tables.table import Table
from kreplica.model.wording.words import counted, listed
from kreplica.sources.dumps.describe_lines import (
    ABSENT_TOPIC,
    HEADER_LINE,
    LOG_LINE,
    OLD_PARTITION_LINE,
    PARTITION_LINE,
    TOOL_FAILURE,
    explain,
    shorten,
    split_settings,
)
from kreplica.sources.dumps.text import DumpText


@dataclass(frozen=True, slots=True)
class Header:
    """A topic's first line."""

    line: int
    topic: str
    topic_id: str | None
    partition_count: int
    replication_factor: int
    settings: Mapping[str, str]
    spaced: bool


class PartitionLine(NamedTuple):
    """A partition's line; a list is None where nothing is printed for it. (A tuple: there may be 200,000.)"""

    line: int
    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None

    def moving(self) -> bool:
        """True if the line shows a reassignment."""
        return self.adding is not None


@dataclass(slots=True)
class Listing:
    """The lines read so far: headers, partition lines, and other lines."""

    source: str
    headers: dict[str, Header] = field(default_factory=dict)
    partitions: list[PartitionLine] = field(default_factory=list)
    topic_start: int = 0
    prints_elr: bool | None = None
    lower_case: bool = False
    log_lines: int = 0
    marked_for_deletion: dict[str, None] = field(default_factory=dict)
    absent_topics: list[str] = field(default_factory=list)
    id_lists: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def refuse(self, line: int, reason: str, fix: str = "") -> InputError:
        """The error for a line."""
        return InputError(self.source, f"line {line}", reason, fix)


_MAX_EPOCH = 2**31 - 1
_DEFAULT_MIN_ISR = 1
_SHOWN = 3


def snapshot_of(dump: DumpText, listing: Listing) -> ClusterSnapshot:
    """The snapshot of a text that has been read and checked.

    Raises:
        InputError: A setting that decides on health has no valid value.
    """
    return ClusterSnapshot(
        cluster_id=None,
        name=dump.source,
        taken_at=dump.taken_at,
        source="describe-text",
        partitions=_partitions(listing),
        brokers=_brokers(listing),
        configs=_configs(listing),
        notes=_notes(listing, dump.text[-200:]),
    )


def _partitions(listing: Listing) -> Table:
    rows, headers = listing.partitions, listing.headers
    no_move = () if _prints_reassignments(listing) else None
    min_isr = {topic: _min_isr(listing, header) for topic, header in headers.items()}
    unclean = {topic: _unclean(listing, header) for topic, header in headers.items()}
    topic_ids = {topic: header.topic_id for topic, header in headers.items()}
    columns: dict[str, Sequence[object]] = {
        "topic": [row.topic for row in rows],
        "partition": [row.partition for row in rows],
        "topic_id": [topic_ids.get(row.topic) for row in rows],
        "internal": [row.topic in INTERNAL_TOPICS for row in rows],
        "leader": [row.leader for row in rows],
        "replicas": [row.replicas for row in rows],
        "isr": [row.isr for row in rows],
        "elr": [row.elr for row in rows],
        "last_known_elr": [row.last_known_elr for row in rows],
        "adding": [row.adding if row.moving() else no_move for row in rows],
        "removing": [row.removing if row.moving() else no_move for row in rows],
        "min_isr": [min_isr.get(row.topic) for row in rows],
        "unclean_leader_election": [unclean.get(row.topic) for row in rows],
    }
    return Table.from_columns(PARTITIONS, columns)


def _prints_reassignments(listing: Listing) -> bool:
    """True if a line without a reassignment means that there is none."""
    if listing.marked_for_deletion:  # only ever printed by a tool that reads ZooKeeper
        return False
    with_id = any(header.topic_id for header in listing.headers.values())
    return with_id or any(row.moving() or row.elr is not None for row in listing.partitions)


def _lists_all_but_defaults(listing: Listing, header: Header) -> bool:
    return bool(listing.prints_elr) and header.topic_id is not None


def _min_isr(listing: Listing, header: Header) -> int | None:
    value = header.settings.get(MIN_ISR)
    if value is None:
        return _DEFAULT_MIN_ISR if _lists_all_but_defaults(listing, header) else None
    if not re.fullmatch("[0-9]{1,10}", value) or not 0 < int(value) <= _MAX_EPOCH:
        raise listing.refuse(header.line, f"{MIN_ISR} is {value!r}, not a number above 0")
    return int(value)


def _unclean(listing: Listing, header: Header) -> bool | None:
    value = header.settings.get(UNCLEAN)
    if value is None:
        return False if _lists_all_but_defaults(listing, header) else None
    if value.lower() not in ("true", "false"):
        raise listing.refuse(header.line, f"{UNCLEAN} is {value!r}, not true or false")
    return value.lower() == "true"


def _brokers(listing: Listing) -> Table:
    named: set[int] = set()
    leaders: set[int] = set()
    for row in listing.partitions:
        leaders.add(row.leader)
        named.update(row.replicas, row.isr, row.elr or (), row.last_known_elr or ())
        named.update(row.adding or (), row.removing or ())
    named = (named | leaders) - {-1}
    alive = [True if listing.prints_elr and broker in leaders else None for broker in sorted(named)]
    return Table.from_columns(BROKERS, {"broker": sorted(named), "alive": alive})


def _configs(listing: Listing) -> Table:
    # The tool does not say whether a setting is the topic's own or a broker's.
    settings = [
        {"entity_type": "topic", "entity": topic, "name": name, "value": value, "origin": "unknown"}
        for topic, header in listing.headers.items()
        for name, value in header.settings.items()
    ]
    return Table.from_rows(CONFIGS, settings)


def _notes(listing: Listing, end: str) -> tuple[str, ...]:
    notes = []
    if listing.lower_case:
        notes.append("Kafka 0.8.0 prints no partition counts, so that the dump is whole cannot be checked")
    elif not listing.headers:
        notes.append(
            "the dump has no topic headers: it lists only the partitions that a filter such as"
            " --under-replicated-partitions selected"
        )
    if re.search(r"[0-9:][ \t]*\Z", end):
        notes.append(
            "the last line of the dump has no line end: if it was cut off there, its last broker ids are wrong"
        )
    if listing.log_lines:
        notes.append(f"left out {counted(listing.log_lines, 'line')} of log output in the dump")
    if listing.marked_for_deletion:
        notes.append(_naming(list(listing.marked_for_deletion), "marked for deletion"))
    if listing.absent_topics:
        notes.append(_naming(listing.absent_topics, "without an assignment, being created or deleted"))
    return tuple(notes)


def _naming(topics: list[str], what: str) -> str:
    return f"{counted(len(topics), 'topic')} {what}: {listed(topics, _SHOWN)}"


_MAX_INT32 = 2**31 - 1
_LATER_RELEASE = "a line of a later release among lines as Kafka 0.8.0 printed them"


def read_describe_text(dump: DumpText) -> ClusterSnapshot:
    """Reads the text that `kafka-topics --describe` printed.

    Lines that Java or a logger wrote to standard error are left out and counted in a note.

    Args:
        dump: The text; blank lines are skipped.

    Returns:
        A snapshot with the partitions, the settings listed with them, and a row for each broker that is named.

    Raises:
        InputError: A line is malformed, contradicts another or stands twice, or lines are missing.
    """
    listing = Listing(dump.source)
    for number, line in enumerate(dump.lines(), start=1):
        _read_line(listing, number, line)
    _close_topic(listing)
    if not listing.partitions:
        raise InputError(dump.source, "", "no partition is listed in it")
    return snapshot_of(dump, listing)


def _read_line(listing: Listing, number: int, line: str) -> None:
    if match := PARTITION_LINE.match(line):
        _add_partition(listing, number, match.groups())
    elif not line or line.isspace():
        return
    elif match := HEADER_LINE.match(line):
        _add_header(listing, number, match.groups())
    elif match := OLD_PARTITION_LINE.match(line):
        _add_old_partition(listing, number, match.groups())
    else:
        _read_remark(listing, number, line)


def _read_remark(listing: Listing, number: int, line: str) -> None:
    if LOG_LINE.match(line):
        listing.log_lines += 1
    elif match := ABSENT_TOPIC.match(line):
        listing.absent_topics.append(match[1])
    elif TOOL_FAILURE.match(line):
        raise listing.refuse(number, f"Kafka's tool failed: {shorten(line)}", "make the dump again")
    else:
        raise listing.refuse(number, explain(line))


def _add_header(listing: Listing, number: int, groups: tuple[str | None, ...]) -> None:
    space, topic, topic_id, count, factor, configs, marked = groups
    assert topic is not None
    _check_headers(listing, number, topic)
    _close_topic(listing)
    settings = split_settings(configs or "")
    if settings is None:
        raise listing.refuse(number, f"Configs is {shorten(configs or '')}, not name=value, ...")
    if marked:
        listing.marked_for_deletion[topic] = None
    listing.headers[topic] = Header(
        number, topic, topic_id, int(count or 0), int(factor or 0), settings, spaced=bool(space)
    )
    listing.topic_start = len(listing.partitions)


def _check_headers(listing: Listing, number: int, topic: str) -> None:
    if listing.lower_case:
        raise listing.refuse(number, _LATER_RELEASE)
    if topic in listing.headers:
        before = listing.headers[topic].line
        raise listing.refuse(number, f"topic {topic} stands there twice, first on line {before}")
    if listing.partitions and not listing.headers:
        first = listing.partitions[0]
        raise listing.refuse(first.line, f"topic {first.topic} has no header line, but others have")


def _add_partition(listing: Listing, number: int, groups: tuple[str | None, ...]) -> None:
    topic, partition, leader, replicas, isr, adding, removing, elr, elr_word, last_known, marked = groups
    assert topic is not None
    _check_form(listing, number, topic, prints_elr=elr_word is not None)
    if marked:
        listing.marked_for_deletion[topic] = None
    moving = adding is not None or removing is not None
    row = PartitionLine(
        number,
        topic,
        _number(listing, number, partition or ""),
        _leader(listing, number, leader or ""),
        _ids(listing, number, replicas),
        _ids(listing, number, isr),
        _ids(listing, number, adding) if moving else None,
        _ids(listing, number, removing) if moving else None,
        _eligible(listing, number, elr) if elr_word else None,
        _eligible(listing, number, last_known) if elr_word else None,
    )
    listing.partitions.append(row)


def _add_old_partition(listing: Listing, number: int, groups: tuple[str | None, ...]) -> None:
    topic, partition, leader, replicas, isr = groups
    if listing.headers or (listing.partitions and not listing.lower_case):
        raise listing.refuse(number, "a line as Kafka 0.8.0 printed it among lines of later releases")
    listing.lower_case = True
    row = PartitionLine(
        number,
        topic or "",
        _number(listing, number, partition or ""),
        _leader(listing, number, leader or ""),
        _ids(listing, number, replicas),
        _ids(listing, number, isr),
    )
    listing.partitions.append(row)


def _check_form(listing: Listing, number: int, topic: str, *, prints_elr: bool) -> None:
    if listing.lower_case:
        raise listing.refuse(number, _LATER_RELEASE)
    if listing.prints_elr is None:
        listing.prints_elr = prints_elr
    elif listing.prints_elr != prints_elr:
        reason = "Elr is printed here, but not above" if prints_elr else "Elr is missing; the line may be cut off"
        raise listing.refuse(number, reason)
    if listing.headers:
        header = next(reversed(listing.headers.values()))
        if header.topic != topic:
            reason = f"a partition of topic {topic} under the header of topic {header.topic} (line {header.line})"
            raise listing.refuse(number, reason)


def _number(listing: Listing, number: int, text: str) -> int:
    value = int(text)
    if value > _MAX_INT32:
        raise listing.refuse(number, f"{text} is larger than any of Kafka's ids")
    return value


def _leader(listing: Listing, number: int, text: str) -> int:
    return -1 if text == "none" else _number(listing, number, text)


def _ids(listing: Listing, number: int, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    known = listing.id_lists.get(text)
    if known is None:
        known = tuple(map(int, text.split(",")))
        if max(known) > _MAX_INT32:
            raise listing.refuse(number, f"{max(known)} is larger than any of Kafka's ids")
        if len(set(known)) < len(known):
            raise listing.refuse(number, f"a broker stands twice in {text}")
        listing.id_lists[text] = known
    return known


def _eligible(listing: Listing, number: int, text: str | None) -> tuple[int, ...] | None:
    return None if text == "N/A" else _ids(listing, number, text)


def _close_topic(listing: Listing) -> None:
    """Checks the lines since the last header against each other and against the header."""
    rows = listing.partitions[listing.topic_start :]
    _check_duplicates(listing, rows)
    if listing.headers:
        header = next(reversed(listing.headers.values()))
        _check_count(listing, header, rows)
        _check_replication_factor(listing, header, rows)


def _check_duplicates(listing: Listing, rows: list[PartitionLine]) -> None:
    seen: dict[tuple[str, int], int] = {}
    for row in rows:
        before = seen.setdefault((row.topic, row.partition), row.line)
        if before != row.line:
            reason = f"partition {row.partition} of topic {row.topic} stands there twice, first on line {before}"
            raise listing.refuse(row.line, reason)


def _check_count(listing: Listing, header: Header, rows: list[PartitionLine]) -> None:
    count, line = header.partition_count, header.line
    if len(rows) > count:
        reason = f"one partition of topic {header.topic} more than its PartitionCount {count} (line {line})"
        raise listing.refuse(rows[count].line, reason)
    if len(rows) < count:
        last = rows[-1].line if rows else line
        partitions = counted(count, "partition")
        reason = f"only {len(rows)} of {partitions} of topic {header.topic} (line {line}) found up to here"
        fix = "the dump is cut off or filtered: make it again"
        if not listing.partitions:
            fix = "if it was made with --topics-with-overrides, make it without"
        raise listing.refuse(last, reason, fix)


def _check_replication_factor(listing: Listing, header: Header, rows: list[PartitionLine]) -> None:
    factor = header.replication_factor
    # Reading ZooKeeper (until 2.8) the tool takes any partition of the topic, from metadata always the first.
    looked_at = rows[:1] if listing.prints_elr else rows
    if not rows or any(factor in _replication_factors(row) for row in looked_at):
        return
    # 2.5 left out adding replicas already, but did not print which they are.
    if header.spaced and not listing.prints_elr and any(factor < len(row.replicas) for row in rows):
        return
    reason = (
        f"partition {rows[0].partition} of topic {header.topic} has {counted(len(rows[0].replicas), 'replica')},"
        f" but its ReplicationFactor is {factor} (line {header.line})"
    )
    raise listing.refuse(rows[0].line, reason)


def _replication_factors(row: PartitionLine) -> set[int]:
    """Replication factors that TopicCommand.getReplicationFactor may have returned for the partition.

    Replicas and reassignment come from two requests. If the reassignment began or ended between them, the replicas
    printed are those before or after it.
    """
    replicas, adding, removing = set(row.replicas), set(row.adding or ()), set(row.removing or ())
    return {len(replicas), len(replicas) - len(adding), len(replicas | adding | removing) - len(adding)}
