"""describe on the screen: verdict first, then cause, then what to type next: commands that work as they stand."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commands.describe.answer import Description
from commands.describe.causes import cell, explained, measured_cell, measured_lines
from commands.describe.gathering import gathered, print_groups
from commands.describe.question import GroupBy, Question
from commands.shared.printing.screen import (
    TableColumn,
    aged,
    print_columns,
    print_lines,
    print_verdict,
    read_at,
    table_columns,
)
from kreplica.health.causes import CauseKind
from kreplica.health.causes.smallest_set import RACK_GONE, SLOW_BROKER, Culprit
from kreplica.health.listing import by_broker, by_topic
from kreplica.model.predicates.partitions import PREDICATES
from kreplica.model.throttles import FOLLOWER_LIST, LEADER_LIST
from kreplica.model.wording.words import all_counted, counted
from kreplica.monitoring.description import DescribedCluster
from kreplica.monitoring.lag.measuring import measurable
from kreplica.planner.preferred_leaders import plan_elections

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.options.common import SourceOptions
    from commands.shared.printing.output import Answer, Row


_SLOW = {CauseKind.SLOW_LEADER.value, CauseKind.SLOW_FOLLOWER.value, SLOW_BROKER}
_GONE = {CauseKind.BROKER_GONE.value, CauseKind.BROKER_FENCED.value, RACK_GONE}


def commands_for_causes(view: DescribedCluster, connection_options: str) -> Iterator[str]:
    """One command about the worst cause, where there is one to type.

    For a slow broker, which may have to be restarted: safe-to-stop. For a broker that is gone: wait until it is in
    sync again. For a throttle that a reassignment left behind: its removal by Kafka's own tool.
    """
    if not view.verdict.culprits:
        return
    worst = view.verdict.culprits[0]
    if worst.key.kind in _SLOW:
        yield f"kreplica safe-to-stop {connection_options} {worst.key.broker}"
    elif worst.key.kind in _GONE and worst.certain and view.live:
        brokers = "".join(f" --broker {broker}" for broker in worst.brokers)
        # There --timeout is the time to wait, and --read-timeout is the --timeout of this command.
        yield f"kreplica wait {connection_options.replace('--timeout', '--read-timeout')} --for in-sync{brokers}"
    elif worst.key.kind == CauseKind.THROTTLE.value and worst.evidence["left_behind"] and view.live:
        yield _take_away(view, worst, connection_options)


def _take_away(view: DescribedCluster, throttle: Culprit, connection_options: str) -> str:
    topics = throttle.evidence["topics"]
    assert isinstance(topics, list), "a throttle names its topics"
    throttles = view.why.facts.throttles
    lists = ((LEADER_LIST, throttles.leaders), (FOLLOWER_LIST, throttles.followers))
    names = ",".join(name for name, by_topic in lists if topics[0] in by_topic)
    given = shlex.split(connection_options)
    pairs = dict(zip(given[::2], given[1::2], strict=True))
    words = ["--bootstrap-server", pairs.get("--bootstrap-server", "HOST:PORT")]
    words += ["--command-config", pairs["--command-config"]] if "--command-config" in pairs else []
    words += ["--alter", "--entity-type", "topics", "--entity-name", str(topics[0]), "--delete-config", names]
    return f"kafka-configs.sh {shlex.join(words)}"


MOST_SHOWN = 5
"""Topics, brokers and causes that a verdict names at most; the rest are counted."""

SILENT = "silent-brokers"
"""Kind of gap that a verdict names, because a broker that does not answer may be the cause."""

LABELS = {one.name: one.label for one in PREDICATES if one.label}
"""Predicates a verdict counts, in the words of the screen."""


def show(description: Description, sources: SourceOptions, console: Console) -> None:
    """Prints the description for a person."""
    question = description.question
    if question.group_by is not None or question.filters or question.everything:
        _show_rows(description, sources, console)
        return
    for number, view in enumerate(description.views):
        if number:
            console.print()
        _show_verdict(view, question, sources, console)


_LEAST = ("elr", "min_isr", "removing", "adding", "replicas")
_DROPPED = {name: order for order, name in enumerate(_LEAST, start=1)}
"""Columns that a narrow terminal leaves out, the first first."""
_FOLDED = ("causes", "measured")


def _show_rows(description: Description, sources: SourceOptions, console: Console) -> None:
    question, answer = description.question, description.answer
    groups = _groups(description, console)
    if groups:
        print_groups(groups, console)
    elif answer.rows:
        if question.group_by is None:
            names = _listed_columns(description)
            columns = [TableColumn(name.upper(), _DROPPED.get(name, 0), name in _FOLDED) for name in names]
            print_columns(console, columns, _cells(answer.rows, names))
        else:
            print_columns(console, _group_columns(answer, question.group_by), answer.cells())
    console.print(_closing_line(description))
    if groups and len(description.views) == 1:
        again = sources.again(description.views[0].snapshot.name)
        flags = "".join(f" --{name.replace('_', '-')}" for name in question.filters)
        print_lines(console, "each", [f"kreplica describe {again}{question.words()}{flags} | less"], whole=True)


def _groups(description: Description, console: Console) -> list[Sequence[Row]]:
    """Rows gathered for a terminal; none where every row was asked for, or the rows are groups or measured."""
    question = description.question
    if not console.is_terminal or question.everything or question.group_by is not None or question.measure is not None:
        return []
    return gathered(description.answer.rows)


def _group_columns(answer: Answer[Row], group_by: GroupBy) -> list[TableColumn]:
    from commands.describe.rows import GROUP_ROWS
    from kreplica.model.tables.rows import names_of

    row = GROUP_ROWS[group_by]
    return [*(TableColumn(name.upper()) for name in answer.leads), *table_columns(row, names_of(row))]


def _listed_columns(description: Description) -> list[str]:
    """Columns of a listing: those every listing needs, then those that have a value in any row."""
    always = {"cluster", "topic", "partition", "leader", "replicas", "isr"}
    optional = {"elr", "adding", "removing", "min_isr", "missing", "causes", "measured"} & set(description.answer.names)
    filled = {name for name in optional if any(row[name] for row in description.answer.rows)}
    filled |= {"causes"} if any(row["not_known"] for row in description.answer.rows) else set()
    return [name for name in description.answer.names if name in always | filled]


def _cells(rows: Sequence[Row], columns: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """The cells of each row; causes and measurements in words."""
    by_column = [[row[name] for row in rows] for name in columns]
    if "causes" in columns:
        by_column[columns.index("causes")] = [
            cell(row["causes"], row["not_known"])  # type: ignore[arg-type]
            if row["causes"] or row["not_known"]
            else None
            for row in rows
        ]
    if "measured" in columns:
        by_column[columns.index("measured")] = [measured_cell(row["measured"]) for row in rows]  # type: ignore[arg-type]
    return zip(*by_column, strict=True)


def _closing_line(description: Description) -> str:
    """The sentence below the list: ``no findings among 412 visible topics; 37 hidden``."""
    question, views = description.question, description.views
    topics = sum(view.snapshot.topic_count for view in views)
    partitions = sum(len(view.snapshot.partitions) for view in views)
    missing = [f"{gap.message}" for view in views for gap in view.snapshot.gaps]
    tail = "".join(f"; {message}" for message in missing)
    if not question.filters:
        return f"{counted(partitions, 'partition')} of {counted(topics, 'topic')}{tail}"
    reads = dict.fromkeys(question.read for view in views for question in view.verdict.open)
    unexplained = sum(question.partitions for view in views for question in view.verdict.open)
    if unexplained:
        tail += f"; the cause not known for {unexplained}: read {next(iter(reads))}"
    found = sum(len(view.matched) for view in views)
    age = aged(views[0].snapshot) if len(views) == 1 and not missing else ""
    unknown = sum(view.unknown for view in views)
    if unknown:
        tail += f"; for {counted(unknown, 'partition')} this source cannot tell"
    words = " or ".join(LABELS[name] for name in question.filters)
    seen = counted(topics, "visible topic" if missing else "topic")
    if found:
        return f"{found} of {counted(partitions, 'partition')} {words}{tail}{age}"
    return f"no findings among {seen}{tail}{age}"


def _show_verdict(view: DescribedCluster, question: Question, sources: SourceOptions, console: Console) -> None:
    print_verdict(console, *_verdict(view))
    print_lines(console, "cluster", [f"{_name(view)}, {_size(view)}"])
    print_lines(console, "missing", [gap.message for gap in view.snapshot.gaps])
    print_lines(console, "cause", explained(view))
    print_lines(console, "measured", measured_lines(view))
    print_lines(console, "counts", _count_lines(view))
    print_lines(console, "worst", _worst(view))
    print_lines(console, "next", _next_commands(view, question, sources.again(view.snapshot.name)), whole=True)


def _name(view: DescribedCluster) -> str:
    name, cluster_id = view.snapshot.name, view.snapshot.cluster_id
    return f"{name} ({cluster_id})" if cluster_id and cluster_id != name else name


def _size(view: DescribedCluster) -> str:
    snapshot = view.snapshot
    partitions, topics = counted(len(snapshot.partitions), "partition"), counted(snapshot.topic_count, "topic")
    return f"{partitions} of {topics} on {counted(len(snapshot.brokers), 'broker')}, {read_at(snapshot)}"


def _verdict(view: DescribedCluster) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    word, total = view.verdict_word, len(view.snapshot.partitions)
    silent = [gap.message for gap in view.snapshot.gaps if gap.kind == SILENT]
    if word == "UNHEALTHY":
        (first, words), *rest = [part for part in _troubles(view) if part[0] > 0]
        others = [f"{count} {words}" for count, words in rest]
        return word, "red", ", ".join([f"{first} of {counted(total, 'partition')} {words}", *others, *silent])
    if word == "EMPTY":
        return word, "yellow", "there is no partition to judge"
    if word == "INCOMPLETE":
        topics = counted(view.snapshot.topic_count, "visible topic")
        return word, "yellow", "; ".join([f"no findings among {topics}", *silent])
    have = "has its" if total == 1 else "have their"
    return word, "green", f"{all_counted(total, 'partition')} {have} leader and every replica in sync"


def _troubles(view: DescribedCluster) -> list[tuple[int, str]]:
    return [
        (view.count("offline"), "without a leader (no reads, no writes)"),
        (view.count("under_replicated"), "under-replicated"),
        (view.count("under_min_isr_broker"), "under min ISR (acks=all writes fail)"),
        (view.count("masked"), "masked under-replicated"),
        (view.count("unavailable") - view.count("offline"), "led by a broker that is not live"),
    ]


def _count_lines(view: DescribedCluster) -> Iterator[str]:
    for count in view.counts:
        label = LABELS.get(count.predicate.name)
        if label is None or not (count.true or count.unknown):
            continue
        notes = [f"not known for {count.unknown}"] if count.unknown else []
        if count.predicate.name == "under_min_isr":
            notes += _min_isr_notes(view, count.true)
        yield f"{count.true:>7}  {label}" + (f" ({', '.join(notes)})" if notes else "")


def _min_isr_notes(view: DescribedCluster, total: int) -> list[str]:
    """Parts of the count of Kafka's tool: the brokers themselves refuse writes for some of these partitions only."""
    refusing, offline = view.count("under_min_isr_broker"), view.count("offline")
    few = total - refusing - offline
    parts = [
        (refusing, "refusing acks=all writes"),
        (offline, "without a leader"),
        (few, "with fewer replicas than min.insync.replicas (writes fail only before Kafka 3.7)"),
    ]
    return [f"{count} {words}" for count, words in parts if count] if refusing != total else []


def _worst(view: DescribedCluster) -> Iterator[str]:
    rows = view.affected
    if not len(rows):
        return
    yield "topics " + _shortened(
        [f"{group.topic} {group.partitions} of {group.of}" for group in by_topic(view.evaluator, rows)]
    )
    brokers = [group for group in by_broker(view.evaluator, rows) if group.missing]
    yield "brokers " + _shortened([f"{group.label} out of sync in {group.missing}" for group in brokers])


def _shortened(items: list[str]) -> str:
    more = f", and {len(items) - MOST_SHOWN} more" if len(items) > MOST_SHOWN else ""
    return ", ".join(items[:MOST_SHOWN]) + more


def _next_commands(view: DescribedCluster, question: Question, connection_options: str) -> Iterator[str]:
    """Commands that work as they stand: the same way in, the same partitions."""
    narrowed = f"kreplica describe {connection_options}{question.words()}"
    yield from commands_for_causes(view, connection_options)
    for name, flag in (
        ("offline", "--offline"),
        ("under_min_isr_broker", "--under-min-isr"),
        ("under_replicated", "--under-replicated"),
        ("masked", "--masked"),
        ("unavailable", "--unavailable"),
    ):
        if view.count(name):
            yield f"{narrowed} {flag}"
            break
    if view.count("under_replicated"):
        yield f"{narrowed} --under-replicated --group-by {GroupBy.broker.value}"
    if view.why.can_measure and measurable(view.why, view.places[view.affected]):
        yield f"{narrowed} --measure 10s"
    if any(election.electable for election in plan_elections(view.snapshot)):
        yield f"kreplica rebalance leaders {connection_options}{question.topic_words()}"
    yield f"kreplica check {connection_options}{question.topic_words()}"
