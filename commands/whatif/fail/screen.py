"""whatif fail on the screen: verdict, effects on partitions, leaders afterwards, what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from commands.shared.printing.screen import places, print_cluster, print_lines, print_table, print_verdict
from commands.shared.printing.verdicts import COLORS
from kreplica.errors import ExitCode
from kreplica.health.impact.fail import PlayedStep
from kreplica.health.impact.vocabulary import FAILURE_IMPACTS, MENDABLE, Impact
from kreplica.model.snapshot import MetadataMode
from kreplica.model.wording.words import are, counted, named

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.options.common import SourceOptions
    from kreplica.health.impact.loss_ranges import Candidate
    from kreplica.health.impact.whatif import FailureCase, PlayedFailure
    from kreplica.model.tables.columns import Indices

MOST_RANGES = 5
"""Partitions that are listed with their possible losses at most; the rest are counted."""

_WORDS = {
    Impact.UNCLEAN_LEADER: "led by a replica out of sync (acknowledged records can be lost)",
    Impact.UNAVAILABLE: "without a leader (no reads, no writes)",
    Impact.ISR_FROZEN: "with a lost replica in the ISR (acks=all writes time out until a controller is back)",
    Impact.UNDER_MIN_ISR: "under min ISR (read-only for acks=all)",
    Impact.NEW_LEADER: "with a new leader",
    Impact.SMALLER_ISR: "with the same leader and a smaller ISR",
}
_TITLES = {
    Impact.UNCLEAN_LEADER: "loses",
    Impact.UNAVAILABLE: "down",
    Impact.ISR_FROZEN: "stuck",
    Impact.UNDER_MIN_ISR: "readonly",
    Impact.NEW_LEADER: "moves",
    Impact.SMALLER_ISR: "shrinks",
}


def show(played: PlayedFailure, sources: SourceOptions, console: Console) -> None:
    """Prints the verdict for a person."""
    snapshot = played.snapshot
    print_verdict(console, *_verdict(played))
    print_cluster(console, snapshot, counted(len(snapshot.partitions), "partition"))
    print_lines(console, "played", _played(played))
    print_lines(console, "missing", played.missing)
    for impact in FAILURE_IMPACTS:
        print_lines(console, _TITLES[impact], _lines(played, impact))
    print_lines(console, "mends", _mended(played))
    print_lines(console, "range", _ranges([one for some in played.candidates for one in some.values()]))
    print_lines(console, "control", _controllers(played))
    print_table(
        ("BROKER", "RACK", "ALIVE", "LEADERS", "AFTER"),
        [(one.broker, one.rack, one.alive_after, one.before, one.after) for one in played.judgement.leaders],
        color=console.is_terminal and not console.no_color,
    )
    print_lines(console, "next", _next(played, sources), whole=True)


def _verdict(played: PlayedFailure) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    code, judgement = played.exit_code, played.judgement
    if code is ExitCode.FINDINGS:
        parts = (
            ["no controller (no elections, no ISR changes)"]
            if any(step.quorum_goes for step in judgement.steps)
            else []
        )
        counts = ((impact, judgement.count(impact)) for impact in FAILURE_IMPACTS if impact.harmful)
        parts += [f"{counted(count, 'partition')} {_WORDS[impact]}" for impact, count in counts if count]
        when = ", at one time or another," if played.case.rolling else ""
        return "HARM", COLORS[code], f"{_what(played)} leaves{when} {', '.join(parts)}"
    if not judgement.steps:
        return "NO HARM", COLORS[code], f"down already: {named('broker', played.target.brokers)}; nothing changes"
    changed = counted(sum(judgement.count(impact) for impact in FAILURE_IMPACTS), "partition")
    fine = f"{changed} with a new leader or a smaller ISR, none loses records or is out of use"
    mended = sum(len(played.mended(impact)) for impact in MENDABLE)
    fine += f"; {counted(mended, 'partition')} better off" if mended else ""
    if code is ExitCode.INCOMPLETE:
        return "INCOMPLETE", COLORS[code], f"{_what(played)}: {fine}, but not all is known"
    return "NO HARM", COLORS[code], f"{_what(played)}: {fine}"


def _what(played: PlayedFailure) -> str:
    target, case = played.target, played.case
    parts = [named("broker", target.brokers)] if target.brokers else []
    parts += [f"disk {path} of broker {broker}" for broker, path in target.disks]
    if not parts:
        return f"{', '.join(_changes(case))} for every topic"
    words, turn = ("restarting", " in turn") if case.rolling else ("failing", "")
    return f"{words} {', '.join(parts)}{turn}"


def _changes(case: FailureCase) -> Iterator[str]:
    if case.min_isr is not None:
        yield f"min.insync.replicas={case.min_isr}"
    if case.unclean is not None:
        yield f"unclean.leader.election.enable={str(case.unclean).lower()}"
    if case.elr is not None:
        yield f"eligible leader replicas {'on' if case.elr else 'off'}"


def _played(played: PlayedFailure) -> Iterator[str]:
    if played.case.changes.any:
        yield f"with {', '.join(_changes(played.case))} for every topic"
    down = [broker for broker in played.target.brokers if played.snapshot.is_alive(broker) is False]
    if down:
        yield f"{named('broker', down)} {are(len(down))} down already"
    if played.target.whole:
        yield f"every log directory of {named('broker', played.target.whole)} fails, so it stops"


def _lines(played: PlayedFailure, impact: Impact) -> Iterator[str]:
    """Lines by step, and by whether it was so before: number of partitions, effect, and partitions."""
    for step in played.judgement.steps:
        for already in (False, True):
            rows = step.places(impact, already=already)
            if len(rows):
                lead = f"while {named('broker', step.brokers)} restarts: " if played.case.rolling else ""
                was = "already " if already else ""
                yield f"{lead}{counted(len(rows), 'partition')} {was}{_WORDS[impact]}: {_places(step, rows)}"


def _mended(played: PlayedFailure) -> Iterator[str]:
    for impact in MENDABLE:
        rows = played.mended(impact)
        if len(rows):
            where = _places(played.judgement.steps[0], rows)
            yield f"{counted(len(rows), 'partition')} no longer {_WORDS[impact]}: {where}"


def _places(step: PlayedStep, rows: Indices) -> str:
    topics, numbers = (step.before.partitions[name].take(rows).to_list() for name in ("topic", "partition"))
    return places(zip(topics, numbers, strict=True))


def _ranges(partitions: Sequence[Sequence[Candidate]]) -> Iterator[str]:
    """Lines on the records that each candidate for an unclean election lacks, the largest loss first."""
    ordered = sorted(partitions, key=lambda some: -max((end - begin for begin, end in _known(some)), default=-1))
    for some in ordered[:MOST_RANGES]:
        first = some[0]
        yield f"{first.topic}-{first.partition}: {'; '.join(map(_range, some))}"
    if len(ordered) > MOST_RANGES:
        yield f"and {counted(len(ordered) - MOST_RANGES, 'more partition')}"


def _known(some: Iterable[Candidate]) -> Iterator[tuple[int, int]]:
    return (one.lost for one in some if one.lost is not None)


def _range(one: Candidate) -> str:
    who = f"broker {one.broker}{' (elected)' if one.elected else ''}"
    if one.lost is not None:
        begin, end = one.lost
        if begin == end:
            return f"{who} lacks nothing"
        return f"{who} would lose offsets {begin} to {end - 1}, {counted(end - begin, 'record')} at most"
    if one.end_offset is not None:
        return f"{who} would lose what was written from offset {one.end_offset} on; the last leader cannot be asked"
    return f"{who} ends where is not known: ask the live cluster"


def _controllers(played: PlayedFailure) -> Iterator[str]:
    """Lines on the controller or the controller quorum."""
    target, snapshot = played.target, played.snapshot
    hit = target.controller is not None and target.controller in target.brokers
    if snapshot.mode is MetadataMode.ZOOKEEPER:
        if hit:
            yield f"broker {target.controller} is the controller: {_takeover(played.case.rolling)}"
        return
    for step in played.judgement.steps:
        quorum = step.quorum
        if quorum is None or not (quorum.stopping or quorum.lost):
            continue
        voters = named("voter", quorum.down)
        down = f" ({voters} already down)" if quorum.down else ""
        left = f"{quorum.up_after} of {counted(len(quorum.voters), 'voter')} left, {quorum.needed} needed{down}"
        lead = f"while {named('broker', step.brokers)} restarts: " if played.case.rolling else ""
        yield f"{lead}{left}{_election(quorum.lost, target.controller in step.brokers, played.case.rolling)}"


def _takeover(restarts: bool) -> str:
    """A shutdown closes the session with ZooKeeper (KafkaServer.shutdown); after a crash the session has to expire."""
    if restarts:
        return "it closes its session with ZooKeeper as it shuts down, and another takes over at once"
    return (
        "another takes over once its session with ZooKeeper expires (zookeeper.session.timeout.ms, 18 s unless set);"
        " no elections until then"
    )


def _election(lost: bool, active: bool, restarts: bool) -> str:
    """A quorum leader that shuts down resigns (KafkaRaftClient.pollLeader); after a crash voters time out first."""
    if lost:
        return ": no leader of the quorum, so no elections, no ISR changes, no new topics until a majority is back"
    if active and restarts:
        return ": the active controller resigns as it shuts down, and the voters elect another at once"
    if active:
        return ": the active controller goes, the voters elect another in 2 to 3 s (controller.quorum.fetch.timeout.ms)"
    return ": the active controller stays"


def _next(played: PlayedFailure, sources: SourceOptions) -> Iterator[str]:
    connection_options, target = sources.again(played.snapshot.name), played.target
    harms = {impact for impact in FAILURE_IMPACTS if impact.harmful and played.judgement.count(impact)}
    named = " ".join(map(str, target.brokers))
    if played.case.rolling:
        yield f"kreplica roll plan {connection_options} --out roll.json"
    elif named and not harms:
        yield f"kreplica safe-to-stop {named} {connection_options}"
    if harms & {Impact.UNDER_MIN_ISR, Impact.UNAVAILABLE, Impact.UNCLEAN_LEADER}:
        yield f"kreplica recommend {connection_options}"
    if Counter(played.snapshot.brokers["alive"].to_list())[False]:
        yield f"kreplica describe {connection_options} --under-replicated --group-by cause"
