"""safe-to-stop on the screen: verdict first, then the reasons against a stop, then what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from commands.shared.options.common import READ_TIMEOUT
from commands.shared.printing.screen import aged, places, print_cluster, print_lines, print_verdict
from commands.shared.printing.verdicts import COLORS
from commands.shared.values import spell_duration
from kreplica.errors import ExitCode
from kreplica.health.impact.stop import OUT_OF_SYNC, Accepted, StopJudgement
from kreplica.health.impact.vocabulary import Impact, PartitionImpact
from kreplica.model.wording.words import counted, listed, named
from kreplica.monitoring.waiting.stop_gate import stoppable_instead

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.options.common import SourceOptions
    from kreplica.monitoring.waiting.stop_gate import Round, Verdict

MOST_BROKERS = 5
"""Brokers that a line names at most; the rest are counted."""

_WORDS = {
    frozenset({Impact.QUORUM_LOST}): "the controller quorum without its majority (no elections, no ISR changes)",
    frozenset({Impact.UNAVAILABLE, Impact.LAST_IN_SYNC}): "without a leader (no reads, no writes)",
    frozenset({Impact.UNAVAILABLE}): "without a live leader (no reads, no writes)",
    frozenset({Impact.LAST_IN_SYNC}): "led by a replica out of sync (acknowledged records are lost)",
    frozenset({Impact.LAST_IN_SYNC, Impact.UNDER_MIN_ISR}): (
        "led by a replica out of sync (acknowledged records are lost) and under min ISR"
    ),
    frozenset({Impact.UNDER_MIN_ISR}): "under min ISR (acks=all writes fail)",
}
"""Words for the effects on one partition, the worst first."""

_ORDER = list(_WORDS)

Kind = tuple[frozenset[Impact], bool]


def show(verdict: Verdict, sources: SourceOptions, accepted: Accepted, console: Console) -> None:
    """Prints the verdict for a person."""
    last = verdict.last
    judgement, snapshot = last.judgement, last.snapshot
    print_verdict(console, *_verdict(verdict))
    print_cluster(console, snapshot, counted(len(snapshot.partitions), "partition"))
    if judgement.down and judgement.brokers:
        print_lines(console, "down", [f"{named('broker', judgement.down)} already: stopping changes nothing"])
    print_lines(console, "missing", last.missing)
    print_lines(console, "against", _lines(judgement.against))
    print_lines(console, "accepted", _lines([item for item in judgement.impacts if item.accepted]))
    print_lines(console, "quorum", _quorum(judgement))
    print_lines(console, "margin", _margin(judgement))
    print_lines(console, "changed", verdict.changes)
    print_lines(console, "instead", _instead(last, accepted))
    print_lines(console, "next", _next(last, sources), whole=True)


def _verdict(verdict: Verdict) -> tuple[str, str, str]:
    """Word, colour and sentence."""
    judgement, code = verdict.last.judgement, verdict.last.exit_code
    age = aged(verdict.last.snapshot)
    brokers = named("broker", judgement.brokers)
    if code is ExitCode.FINDINGS:
        kinds = _by_kind(judgement.against)
        parts = [_amount(kind, len(some)) for kind, some in kinds.items()]
        return "UNSAFE", COLORS[code], f"stopping {brokers} leaves {', '.join(parts)}{age}"
    if code is ExitCode.INCOMPLETE:
        words = f"nothing read speaks against stopping {brokers}" if judgement.brokers else _down(judgement)
        return "INCOMPLETE", COLORS[code], f"{words}, but not all is known{age}"
    if not judgement.brokers:
        return "SAFE", COLORS[code], f"{_down(judgement)}{age}"
    keep = "keeps" if judgement.partitions == 1 else "keep"
    kept = f"{counted(judgement.partitions, 'partition')} there {keep} a leader in sync and min ISR"
    if any(item.accepted for item in judgement.impacts):
        kept = "the rest of its partitions keep a leader in sync and min ISR"
    reads = "" if verdict.apart is None else f"; two reads {spell_duration(round(verdict.apart))} apart say so"
    return "SAFE", COLORS[code], f"{brokers} can be stopped: {kept}{reads}{age}"


def _down(judgement: StopJudgement) -> str:
    return f"down already: {named('broker', judgement.down)}; stopping changes nothing"


def _by_kind(items: Sequence[PartitionImpact]) -> dict[Kind, list[list[PartitionImpact]]]:
    """Partitions by what happens to them, the worst first; a partition is the list of its impacts."""
    kinds: dict[Kind, list[list[PartitionImpact]]] = {}
    for _, some in groupby(items, key=lambda item: (item.topic, item.partition)):
        impacts = list(some)
        effects = frozenset(item.effect for item in impacts)
        kinds.setdefault((effects, all(item.already for item in impacts)), []).append(impacts)
    return dict(sorted(kinds.items(), key=lambda pair: (_ORDER.index(pair[0][0]), pair[0][1])))


def _amount(kind: Kind, count: int) -> str:
    effects, already = kind
    words = f"{'already ' if already else ''}{_WORDS[effects]}"
    return words if Impact.QUORUM_LOST in effects else f"{counted(count, 'partition')} {words}"


def _lines(items: Sequence[PartitionImpact]) -> Iterator[str]:
    """One line for each kind and reason: number of partitions, kind, reason, and partitions."""
    for kind, partitions in _by_kind(items).items():
        by_reason: dict[str, list[PartitionImpact]] = {}
        for first, *_ in partitions:
            by_reason.setdefault(OUT_OF_SYNC if first.out_of_sync else first.reason, []).append(first)
        for reason, some in sorted(by_reason.items(), key=lambda pair: -len(pair[1])):
            where = places([(item.topic, item.partition) for item in some])
            why = _out_of_sync(some) if reason == OUT_OF_SYNC else reason
            yield f"{_amount(kind, len(some))}; {why}{where and f': {where}'}"


def _out_of_sync(items: Sequence[PartitionImpact]) -> str:
    """``out of sync already: broker 3``; where there are several, each with its number of partitions."""
    counts = Counter(broker for item in items for broker in item.out_of_sync)
    if len(counts) == 1:
        return f"{OUT_OF_SYNC}: {named('broker', list(counts))}"
    most = [f"{broker} in {count}" for broker, count in counts.most_common(MOST_BROKERS)]
    rest = len(counts) - len(most)
    return f"{OUT_OF_SYNC}: brokers {', '.join(most)}{f' and {rest} more' if rest else ''}"


def _quorum(judgement: StopJudgement) -> Iterator[str]:
    quorum = judgement.quorum
    if quorum is not None and (quorum.stopping or quorum.down):
        down = f"; down {listed(quorum.down)}" if quorum.down else ""
        yield f"voters {listed(quorum.voters)}{down}; {quorum.up_after} would be up, {quorum.needed} are needed"


def _margin(judgement: StopJudgement) -> Iterator[str]:
    if judgement.at_min_isr:
        words = "exactly at min ISR meanwhile: one more replica lost and acks=all writes fail"
        yield f"{counted(judgement.at_min_isr, 'partition')} would be {words}"


def _instead(last: Round, accepted: Accepted) -> Iterator[str]:
    """Other brokers that could be stopped now, as far as this one read shows."""
    if last.exit_code is ExitCode.FINDINGS and len(last.judgement.brokers) == 1:
        found = stoppable_instead(last, accepted)
        if found:
            yield f"{named('broker', found)} could be stopped now, by this one read"


def _next(last: Round, sources: SourceOptions) -> Iterator[str]:
    judgement, connection_options = last.judgement, sources.again(last.snapshot.name)
    nodes = " ".join(map(str, (*judgement.brokers, *judgement.down)))
    if last.exit_code is ExitCode.OK and judgement.brokers:
        brokers = "".join(f" --broker {broker}" for broker in judgement.brokers)
        yield f"kreplica wait --for in-sync{brokers} {sources.again_live(last.snapshot.name, timeout=READ_TIMEOUT)}"
    against = judgement.against
    if against and sources.dump is None and all(item.waiting_helps for item in against):
        yield f"kreplica safe-to-stop {nodes} {connection_options} --wait 20m"
    if any(item.waiting_helps and item.topic is not None for item in against):
        yield f"kreplica describe {connection_options} --under-replicated"
    lasting = {item.reason for item in against if not item.waiting_helps}
    if lasting == {"one replica only"}:
        yield f"kreplica safe-to-stop {nodes} {connection_options} --accept rf-one"
