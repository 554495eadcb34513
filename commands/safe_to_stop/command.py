"""kreplica safe-to-stop: whether brokers can be stopped without harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import MAX_AGE, MaxAgeOfActionOption, OutputOption, SourceOptions, takes_sources
from commands.shared.options.stops import SETTLE, Accept, AcceptOption, AcceptTopicOption, one_cluster
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.health.impact.stop import Accepted, StopJudgement
    from kreplica.monitoring.waiting.stop_gate import StoppedPartition, Verdict


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "safe-to-stop",
        short_help="Tell whether brokers can stop without harm, for scripts.",
        epilog=examples(
            "kreplica safe-to-stop 2 --dump sample",
            "kreplica safe-to-stop --rack r1 --bootstrap-server kafka1:9092 --wait 10m",
        ),
    )(safe_to_stop)


@takes_sources
def safe_to_stop(
    sources: SourceOptions,
    broker: Annotated[list[str] | None, typer.Argument(metavar="BROKER", help="Ids, stopped together.")] = None,
    rack: Annotated[
        list[str] | None, typer.Option("--rack", metavar="RACK", help="Every broker of that rack; may be repeated.")
    ] = None,
    accept: AcceptOption = None,
    accept_topic: AcceptTopicOption = None,
    settle: Annotated[
        str, typer.Option("--settle", metavar="DURATION", help="Time between the two reads; 0 for one read only.")
    ] = SETTLE,
    wait: Annotated[
        str | None,
        typer.Option("--wait", metavar="DURATION", help="Read again until it is safe, for at most this long."),
    ] = None,
    max_age: MaxAgeOfActionOption = MAX_AGE,
    output: OutputOption = None,
) -> None:
    """Tell whether brokers can be stopped without harm.

    Harm is a partition that loses its leader, its last in-sync replica or min ISR, or a controller quorum that loses
    its majority. Brokers that are down already count as down. The answer is "safe" only when two reads in a row say so.
    Exits 0 when it is safe, 1 when it is not, 5 when nothing speaks against it but something could not be read, is not
    known or is too old.

    As in: safe-to-stop 3 && restart && kreplica wait --for in-sync --broker 3
    """
    from commands.safe_to_stop.screen import show
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Progress
    from commands.shared.values import parse_duration, parse_ids
    from kreplica.monitoring.waiting import stop_gate

    brokers, racks = parse_ids(broker or (), "BROKER"), rack or []
    if not brokers and not racks:
        raise UsageError("no broker is named", fix="give ids, or --rack")
    patience = 0.0 if wait is None else parse_duration(wait, "--wait")
    accepted = _accepted(accept or (), accept_topic)
    pause = parse_duration(settle, "--settle")
    age = parse_duration(max_age, "--max-age")
    handle = one_cluster(sources.handles(), "brokers are stopped in one cluster at a time")
    if patience and handle.dump is not None:
        raise UsageError("--wait does not go with a dump", "a dump does not change")
    with Progress() as progress:
        verdict = stop_gate.safe_to_stop(
            handle,
            brokers,
            racks,
            accepted=accepted,
            settle=pause,
            wait=patience,
            most_age=age,
            report=progress.say,
        )
    emit(_answer(verdict), output, lambda console: show(verdict, sources, accepted, console))
    raise typer.Exit(verdict.exit_code)


def _accepted(accept: Sequence[Accept], topics: str | None) -> Accepted:
    from kreplica.health.impact.stop import Accepted
    from kreplica.model.topic_pattern import topic_pattern

    return Accepted(Accept.rf_one in accept, None if topics is None else topic_pattern(topics))


def _answer(verdict: Verdict) -> Answer[StoppedPartition]:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.monitoring.waiting.stop_gate import StoppedPartition

    return Answer(
        command="safe-to-stop",
        rows_name="partitions",
        columns=StoppedPartition,
        rows=verdict.rows,
        clusters=[cluster_object(verdict.last.snapshot)],
        summary=_summary(verdict),
        warnings=verdict.warnings,
    )


def _summary(verdict: Verdict) -> dict[str, object]:
    judgement = verdict.last.judgement
    words = {ExitCode.OK: "safe", ExitCode.FINDINGS: "not_safe", ExitCode.INCOMPLETE: "incomplete"}
    return {
        "verdict": words[verdict.last.exit_code],
        "brokers": list(judgement.brokers),
        "down_already": list(judgement.down),
        "partitions": judgement.partitions,
        "effects": _effects(judgement),
        "accepted": dict(Counter(item.accepted for item in judgement.impacts if item.accepted)),
        "at_min_isr_after": judgement.at_min_isr,
        "quorum": None if judgement.quorum is None else judgement.quorum.as_row(),
        "reads_apart": None if verdict.apart is None else round(verdict.apart, 1),
        "changed": list(verdict.changes),
        "complete": not verdict.last.missing,
    }


def _effects(judgement: StopJudgement) -> dict[str, int]:
    """Number of partitions by effect that speaks against the stop."""
    from kreplica.health.impact.vocabulary import STOP_IMPACTS

    counts = Counter(item.effect for item in judgement.against)
    return {effect.value: counts[effect] for effect in STOP_IMPACTS}
