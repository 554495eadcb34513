"""kreplica sandbox load: records produced, records consumed, and the count of lost ones."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from commands.sandbox.answer import choice
from commands.sandbox.options import NameOption
from commands.shared.help import examples
from commands.shared.interrupts import NUMBERS
from commands.shared.options.common import OutputOption
from commands.shared.printing.terminal import print_err

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.printing.output import Answer, OutputFormat
    from kreplica.sandbox import LoadResult
    from kreplica.sandbox.rows import LoadRow

COUNTS = ("sent", "acknowledged", "refused", "read_back", "lost", "unread", "duplicated", "out_of_order")


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "load",
        short_help="Produce and consume at a rate; count lost records.",
        epilog=examples(
            "kreplica sandbox load --topic orders --rate 500 --seconds 30 --acks all",
            "kreplica sandbox load --topic orders --acks 1 --consume",
        ),
    )(load)


def load(
    topic: Annotated[str, typer.Option("--topic", metavar="NAME", help="Topic, which must exist.")],
    rate: Annotated[float, typer.Option("--rate", metavar="N", help="Records a second over all partitions.")] = 100.0,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Time for which records are sent.")] = 10.0,
    acks: Annotated[
        str, typer.Option("--acks", metavar="0|1|all", help="Acknowledgements the producer waits for.")
    ] = "all",
    size: Annotated[int, typer.Option("--size", metavar="BYTES", help="Bytes of a value, 24 at least.")] = 100,
    idempotent: Annotated[
        bool, typer.Option("--idempotent", help="Keep retries from duplicating and reordering (needs acks=all).")
    ] = False,
    consume: Annotated[
        bool, typer.Option("--consume/--no-consume", help="Also consume, and read everything back at the end.")
    ] = True,
    delivery_timeout: Annotated[
        float,
        typer.Option(
            "--delivery-timeout",
            metavar="S",
            help="Time after which a record without an acknowledgement counts as refused.",
        ),
    ] = 30.0,
    listener: Annotated[
        str, typer.Option("--listener", metavar="KIND", help="Listener to use; plaintext if not given.")
    ] = "plaintext",
    user: Annotated[str, typer.Option("--user", metavar="NAME", help="User of that listener.")] = "admin",
    name: NameOption = "default",
    output: OutputOption = None,
) -> None:
    """Produce and consume at a stated rate and count what became of every record.

    Each value carries a number. Lost means: acknowledged, and not in the log at the end. Ctrl-C ends the sending;
    the records sent are still checked (a second Ctrl-C gives up). Exits 1 when acknowledged records are lost, 5 when
    some could not be checked because a partition cannot be read to its end.
    """
    from kreplica.sandbox import Listener, LoadSettings, Sandbox, run_load

    sandbox = Sandbox.open(name)
    client = sandbox.client_settings(choice(Listener, listener, "--listener"), user)
    settings = LoadSettings(
        topic=topic,
        rate=rate,
        seconds=seconds,
        acks=acks,
        size=size,
        idempotent=idempotent,
        read_back=consume,
        delivery_timeout=delivery_timeout,
    )
    with _ended_by_interrupt() as ended:
        result = run_load(client, settings, ended)
    _emit(result, settings.topic, acks, output)
    raise typer.Exit(result.exit_code)


@contextmanager
def _ended_by_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C, SIGTERM or SIGHUP sets the event, the second one interrupts."""
    ended = threading.Event()

    def end(*_: object) -> None:
        if ended.is_set():
            raise KeyboardInterrupt
        ended.set()
        print_err("ending: waiting for acknowledgements and reading back; again to give up")

    before = {number: signal.signal(number, end) for number in NUMBERS}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _emit(result: LoadResult, topic: str, acks: str, output: OutputFormat | None) -> None:
    from commands.shared.printing.output import Answer, emit
    from kreplica.sandbox.rows import LoadRow, load_rows

    rows = load_rows(result, topic)
    others = {field.name: getattr(result, field.name) for field in fields(result) if field.name != "partitions"}
    summary = {"acks": acks, **{name: result.total(name) for name in COUNTS}, **others}
    summary["rate"] = round((result.total("sent") or 0) / result.seconds, 1) if result.seconds else None
    warnings = ["with acks=0 nothing is acknowledged by a broker: a record counts once it is on the wire"]
    answer = Answer(
        command="sandbox-load",
        rows_name="partitions",
        columns=LoadRow,
        rows=rows,
        summary=summary,
        warnings=warnings if acks == "0" else (),
    )
    emit(answer, output, lambda console: _show(result, answer, console))


def _show(result: LoadResult, answer: Answer[LoadRow], console: Console) -> None:
    from commands.shared.printing.screen import print_columns, table_columns
    from kreplica.sandbox.rows import LoadRow

    totals = {name: result.total(name) for name in COUNTS}
    console.print(_verdict(result))
    console.print(f"sent     {totals['sent']} in {result.seconds:.1f} s, {answer.summary['rate']} a second")
    for error, count in result.errors.items():
        console.print(f"refused  {count} by {error}")
    console.print(f"ack      {_quantiles(result.acknowledge_ms)}")
    if result.consumed is not None:
        console.print(f"read     {result.consumed} while they were written; {_quantiles(result.end_to_end_ms)}")
    if result.vanished:
        console.print(f"vanished {result.vanished} were read by a consumer and are no longer in the log")
    console.print()
    columns = ("partition", *COUNTS)
    cells = [[getattr(row, name) for name in columns] for row in answer.rows]
    print_columns(console, table_columns(LoadRow, columns), [*cells, ["all", *totals.values()]])


def _verdict(result: LoadResult) -> str:
    acknowledged, lost, unread = (result.total(name) for name in ("acknowledged", "lost", "unread"))
    if lost is None:
        return f"SENT {acknowledged} acknowledged; nothing was read back, so losses are not counted"
    if lost:
        return f"LOST {lost} of {acknowledged} acknowledged records"
    if unread:
        return f"UNKNOWN {unread} of {acknowledged} acknowledged records could not be looked for: no readable leader"
    return f"COMPLETE all {acknowledged} acknowledged records are in the log"


def _quantiles(values: dict[str, float | None]) -> str:
    known = {name: value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} {value:.1f} ms" for name, value in known.items()) or "no latency known"
