"""Turns what a `kafka-topics --describe` text says into a snapshot; describe_text.py tells what follows from what."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kreplica.model.schema import BROKERS, CONFIGS, PARTITIONS
from kreplica.model.settings import MIN_ISR, UNCLEAN
from kreplica.model.snapshot import INTERNAL_TOPICS, ClusterSnapshot
from kreplica.model.table import Table
from kreplica.sources.describe_listing import Header, Listing
from kreplica.sources.dump_input import DumpText

_MAX_INT32 = 2**31 - 1
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
    """Whether a line without a reassignment means that there is none."""
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
    if not re.fullmatch("[0-9]{1,10}", value) or not 0 < int(value) <= _MAX_INT32:
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
        notes.append(f"left out {_count(listing.log_lines, 'line')} of log output in the dump")
    if listing.marked_for_deletion:
        notes.append(_naming(list(listing.marked_for_deletion), "marked for deletion"))
    if listing.absent_topics:
        notes.append(_naming(listing.absent_topics, "without an assignment, being created or deleted"))
    return tuple(notes)


def _naming(topics: list[str], what: str) -> str:
    more = f" and {len(topics) - _SHOWN} more" if len(topics) > _SHOWN else ""
    return f"{_count(len(topics), 'topic')} {what}: {', '.join(topics[:_SHOWN])}{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
