"""The answers of the sandbox commands: servers and topics.

Also parses the values of the sandbox's options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from commands.shared.printing.output import Answer, OutputFormat, emit
from kreplica.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.sandbox import Sandbox
    from kreplica.sandbox.rows import ServerRow


def emit_servers(
    command: str,
    sandboxes: Sequence[Sandbox],
    headline: str,
    output: OutputFormat | None,
    after: Sequence[str] = (),
) -> None:
    """Prints the servers of some sandboxes.

    Args:
        command: Name of the schema, such as ``sandbox-start``.
        sandboxes: The sandboxes.
        headline: First line for a person.
        output: The form.
        after: Lines for a person below the table.
    """
    from kreplica.sandbox.rows import ServerRow, server_rows

    rows = [row for sandbox in sandboxes for row in server_rows(sandbox)]
    states = [row.state for row in rows]
    answer = Answer(
        command=command,
        rows_name="servers",
        columns=ServerRow,
        rows=rows,
        clusters=[_cluster(sandbox) for sandbox in sandboxes],
        summary={"sandboxes": len(sandboxes), **{name: states.count(name) for name in ("running", "paused", "ended")}},
    )
    emit(answer, output, lambda console: _show_servers(sandboxes, rows, headline, after, console))


def _cluster(sandbox: Sandbox) -> dict[str, object]:
    return {
        "name": sandbox.name,
        "cluster_id": sandbox.cluster_id or None,
        "mode": str(sandbox.mode),
        "kafka_version": sandbox.kafka_version,
        "bootstrap_servers": sandbox.bootstrap_servers,
        "zookeeper_connect": sandbox.zookeeper_connect or None,
        "ready": sandbox.state.ready,
        "folder": str(sandbox.folder),
    }


def _show_servers(
    sandboxes: Sequence[Sandbox], rows: Sequence[ServerRow], headline: str, after: Sequence[str], console: Console
) -> None:
    from commands.shared.printing.screen import print_rows
    from kreplica.sandbox.rows import ServerRow

    if headline:
        console.print(headline)
    if not sandboxes:
        console.print("no sandbox was started")
        console.print("next     kreplica sandbox start")
        return
    for sandbox in sandboxes:
        console.print(_title(sandbox))
    console.print()
    named = ["sandbox"] if len(sandboxes) > 1 else []
    shown = [*named, "id", "roles", "state", "registered", "rack", "pid", "log"]
    print_rows(console, ServerRow, rows, shown=shown)
    if after:
        console.print()
    for line in after:
        console.print(line)


def _title(sandbox: Sandbox) -> str:
    from kreplica.model.wording.words import counted
    from kreplica.sandbox import Mode

    unfinished = "" if sandbox.state.ready else ", its start was not finished: kreplica sandbox stop"
    zookeeper = f" or --zookeeper {sandbox.zookeeper_connect}" if sandbox.mode is Mode.ZOOKEEPER else ""
    brokers = counted(len(sandbox.broker_ids), "broker")
    return (
        f"{sandbox.name}: Apache Kafka {sandbox.kafka_version} ({sandbox.mode}), {brokers},"
        f" --bootstrap-server {sandbox.bootstrap_servers}{zookeeper}{unfinished}"
    )


def emit_stopped(names: Sequence[str], output: OutputFormat | None) -> None:
    """Prints which sandboxes were stopped."""
    from kreplica.sandbox.rows import StoppedRow

    rows = [StoppedRow(name, "removed") for name in names]
    answer = Answer("sandbox-stop", "sandboxes", StoppedRow, rows, summary={"sandboxes": len(rows)})
    text = f"stopped {', '.join(names)}; its data are removed" if names else "no sandbox was started"
    emit(answer, output, lambda console: console.print(text))


def emit_topic(sandbox: Sandbox, topic: str, *, deleted: bool, output: OutputFormat | None) -> None:
    """Prints a topic that was created, or that it was deleted."""
    from commands.shared.printing.screen import print_rows
    from kreplica.sandbox.rows import TopicRow, topic_rows

    rows = topic_rows(sandbox, topic)
    summary = {"topic": topic, "deleted": deleted, "partitions": len(rows)}
    answer = Answer("sandbox-topic", "partitions", TopicRow, rows, [_cluster(sandbox)], summary)
    headline = f"topic {topic} deleted" if deleted else f"topic {topic} created"

    def show(console: Console) -> None:
        console.print(headline)
        print_rows(console, TopicRow, rows, shown=["partition", "leader", "replicas", "isr"])

    emit(answer, output, show)


Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], text: str, option: str) -> Choice:
    """Returns one value of an enumeration.

    Raises:
        UsageError: It has no such value; names those it has.
    """
    try:
        return kind(text.lower())
    except ValueError:
        raise UsageError(f"{option} {text} is unknown", f"there is {', '.join(kind)}") from None


def racks(text: str) -> tuple[str, ...]:
    """Reads ``a,b,c`` as names and ``3`` as rack-1, rack-2, rack-3."""
    if text.isdecimal():
        return tuple(f"rack-{number}" for number in range(1, int(text) + 1))
    return tuple(filter(None, text.split(",")))


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Reads ``KEY=VALUE`` texts.

    Raises:
        UsageError: One has no equals sign or no key.
    """
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{option} {text!r} cannot be read", "", "write KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def broker_settings(texts: Sequence[str]) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """Reads ``KEY=VALUE`` as a setting of every broker and ``2:KEY=VALUE`` as one of broker 2.

    Raises:
        UsageError: One has no equals sign or no key.
    """
    of_all, by_broker = dict[str, str](), dict[int, dict[str, str]]()
    for key, value in pairs(texts, "--set").items():
        broker, colon, own = key.partition(":")
        if colon and broker.isascii() and broker.isdecimal():
            by_broker.setdefault(int(broker), {})[own.strip()] = value
        else:
            of_all[key] = value
    return of_all, by_broker


def assignment(text: str) -> list[list[int]]:
    """Reads ``1:2,2:3`` as the replicas of partition 0 and of partition 1.

    Raises:
        UsageError: It is not of that form.
    """
    if not text:
        return []
    if not re.fullmatch(r"\d+(:\d+)*(,\d+(:\d+)*)*", text):
        raise UsageError(f"--replica-assignment {text!r} cannot be read", "", "write 1:2,2:3 for two partitions")
    return [[int(broker) for broker in replicas.split(":")] for replicas in text.split(",")]
