"""Causes of replicas that are out of sync, in the words of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from commands.shared.values import size_words, spell_duration
from kreplica.health.causes import CauseKind
from kreplica.health.causes.smallest_set import RACK_GONE, SLOW_BROKER, Culprit, Key, OpenQuestion
from kreplica.model.wording.words import counted_in_thousands, listed, named
from kreplica.monitoring.lag.rates import Pace, Progress

if TYPE_CHECKING:
    from kreplica.model.snapshot import ClusterSnapshot
    from kreplica.monitoring.description import DescribedCluster

MOST_NAMED = 5
"""Brokers, topics or causes that a line names at most; the rest are counted."""

_PLAIN: Mapping[str, str] = {
    CauseKind.BROKER_GONE.value: "gone",
    CauseKind.BROKER_FENCED.value: "gone (fenced by the controller)",
    CauseKind.LOG_DIRECTORY_OFFLINE.value: "has a log directory offline",
    CauseKind.REPLICA_OFFLINE.value: "reports its replica offline",
    CauseKind.REASSIGNMENT.value: "still copying for a reassignment",
    CauseKind.BROKER_OUT.value: "alive, but in no ISR and leading nothing",
    CauseKind.SLOW_FOLLOWER.value: "slow",
}


def cell(causes: Iterable[Mapping[str, object]], not_known: Iterable[Mapping[str, object]]) -> str | None:
    """The causes of one partition in a table's cell; None if no replica is missing."""
    texts = [_row_text(cause) for cause in causes]
    texts += [f"broker {one['broker']} not known" for one in not_known]
    return "; ".join(texts) or None


def _row_text(cause: Mapping[str, object]) -> str:
    kind, broker, leader = str(cause["kind"]), cause["broker"], cause.get("leader")
    evidence = cause.get("evidence")
    facts = evidence if isinstance(evidence, Mapping) else {}
    if kind == CauseKind.THROTTLE.value:
        return f"broker {broker} throttled to {_slowest(facts)}"
    if kind == CauseKind.NO_LEADER.value:
        return f"broker {broker} without a leader to copy from: waits for broker {facts['waits_for']}"
    if kind == CauseKind.SLOW_LEADER.value:
        return f"broker {broker} behind: leader {leader} slow"
    if kind == CauseKind.LEADER_TO_FOLLOWER.value:
        return f"broker {broker} behind leader {leader} alone"
    throttled = f", throttled to {_slowest(facts)}" if "leader_rate" in facts or "follower_rate" in facts else ""
    return f"broker {broker} {_PLAIN[kind]}{throttled}"


def _slowest(facts: Mapping[str, object]) -> str:
    rates = [int(str(facts[side])) for side in ("leader_rate", "follower_rate") if side in facts]
    return f"{size_words(min(rates))}/s"


def explained(view: DescribedCluster) -> list[str]:
    """Each cause of the smallest set with how much it explains, the worst first, then what is not known."""
    culprits = view.verdict.culprits
    texts = [culprit_text(one, view.snapshot) for one in culprits[:MOST_NAMED]]
    width = max(map(len, texts), default=0)
    lines = [f"{text:<{width}}  {_counts(one)}" for text, one in zip(texts, culprits, strict=False)]
    if len(culprits) > MOST_NAMED:
        lines.append(f"and {len(culprits) - MOST_NAMED} more: --group-by cause lists them")
    if not view.verdict.smallest:
        lines.append(f"perhaps fewer causes would do: at least {view.verdict.at_least} are needed")
    return lines + [open_text(one) for one in view.verdict.open]


def _counts(culprit: Culprit) -> str:
    failing = f" ({culprit.failing} with failing writes)" if culprit.failing else ""
    return f"explains {culprit.partitions}{failing}"


def culprit_text(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    """One cause: ``broker 3 (rack b) gone``."""
    if culprit.key.kind == CauseKind.BROKER_GONE.value and not culprit.certain:
        return f"broker {culprit.key.broker} in no ISR and leads nothing, so most likely gone"
    return _TEXTS.get(culprit.key.kind, _plain_text)(culprit, snapshot)


def _plain_text(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    heard = f", last heard of {_moment(culprit.since, snapshot)}" if culprit.since else ""
    rates = _slowest(culprit.evidence) if {"leader_rate", "follower_rate"} & set(culprit.evidence) else ""
    throttled = f", throttled to {rates}" if rates else ""
    return f"{_broker(culprit.key.broker, snapshot)} {_PLAIN[culprit.key.kind]}{heard}{throttled}"


def _rack_gone(culprit: Culprit, _: ClusterSnapshot) -> str:
    return f"rack {culprit.key.rack} gone: brokers {listed(culprit.brokers, MOST_NAMED)}"


def _directory(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    paths = culprit.evidence.get("log_dirs")
    where = f": {listed(paths, MOST_NAMED)}" if isinstance(paths, list) and paths else ""
    return f"{_broker(culprit.key.broker, snapshot)} has a log directory offline{where}"


def _throttle(culprit: Culprit, _: ClusterSnapshot) -> str:
    facts = culprit.evidence
    topics = facts["topics"]
    assert isinstance(topics, list), "a throttle names its topics"
    slow, fast = (size_words(int(str(facts[name]))) for name in ("slowest_rate", "fastest_rate"))
    rate = f"{slow}/s" if slow == fast else f"{slow}/s to {fast}/s"
    left = "throttle left behind" if facts["left_behind"] else "throttle"
    return f"{left}: {rate} on {named('topic', topics, MOST_NAMED)}, brokers {listed(culprit.brokers, MOST_NAMED)} out"


def _broker_out(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    state = "alive, but in no ISR and leading nothing: it starts, stops, is cut off or stands still"
    return f"{_broker(culprit.key.broker, snapshot)} {state}"


def _slow_leader(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    return f"leader {_placed(culprit.key.broker, snapshot)} slow: {named('follower', culprit.others, MOST_NAMED)} out"


def _slow_follower(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    leaders = named("leader", culprit.others, MOST_NAMED)
    return f"follower {_placed(culprit.key.broker, snapshot)} slow: behind {leaders}"


def _slow_broker(culprit: Culprit, snapshot: ClusterSnapshot) -> str:
    others = listed(culprit.others, MOST_NAMED)
    return f"{_broker(culprit.key.broker, snapshot)} slow, as leader and as follower: with brokers {others}"


def _pair(culprit: Culprit, _: ClusterSnapshot) -> str:
    key = culprit.key
    return f"from leader {key.leader} to follower {key.broker}: both keep up with all others"


_TEXTS: Mapping[str, Callable[[Culprit, ClusterSnapshot], str]] = {
    RACK_GONE: _rack_gone,
    CauseKind.LOG_DIRECTORY_OFFLINE.value: _directory,
    CauseKind.THROTTLE.value: _throttle,
    CauseKind.BROKER_OUT.value: _broker_out,
    CauseKind.SLOW_LEADER.value: _slow_leader,
    CauseKind.SLOW_FOLLOWER.value: _slow_follower,
    SLOW_BROKER: _slow_broker,
    CauseKind.LEADER_TO_FOLLOWER.value: _pair,
}


def open_text(question: OpenQuestion) -> str:
    """An open question: what is not known, the possible causes, and what to read to decide between them."""
    choices = [" and ".join(map(_key_text, choice)) for choice in question.choices[:MOST_NAMED]]
    if len(question.choices) > MOST_NAMED or not question.every_choice:
        choices.append("others")
    may_be = f": {'' if len(choices) > 1 else 'perhaps '}{_or(choices)}" if choices else ""
    return f"not known for {question.partitions}{may_be}; read {question.read}"


def _or(choices: Sequence[str]) -> str:
    return ", ".join(choices[:-1]) + f", or {choices[-1]}" if len(choices) > 1 else choices[0]


def _key_text(key: Key) -> str:
    if key.kind == CauseKind.LEADER_TO_FOLLOWER.value:
        return f"the way from {key.leader} to {key.broker}"
    if key.kind == CauseKind.SLOW_LEADER.value:
        return f"leader {key.broker} slow"
    if key.kind == CauseKind.SLOW_FOLLOWER.value:
        return f"follower {key.broker} slow"
    if key.kind == CauseKind.BROKER_OUT.value:
        return f"broker {key.broker} starting, stopping or cut off"
    return f"broker {key.broker} {_PLAIN.get(key.kind, key.kind)}"


def measured_lines(view: DescribedCluster) -> Iterator[str]:
    """Result of --measure in lines: counts by pace, then the slowest replicas."""
    if view.measured is None:
        return
    every = [(place, one) for place, found in view.measured.progress.items() for one in found]
    parts = [(pace, [one for _, one in every if one.pace is pace]) for pace in Pace]
    words = [f"{len(found)} {_PACES[pace]}" for pace, found in parts if found] or ["no missing replica that could be"]
    yield f"within {spell_duration(view.measured.seconds)}: {', '.join(words)}"
    for place, one in sorted(every, key=lambda item: _slowness(item[1]))[:MOST_NAMED]:
        yield f"{place[0]}-{place[1]} on broker {one.broker}: {progress_text(one)}"
    if len(every) > MOST_NAMED:
        yield f"and {len(every) - MOST_NAMED} more: -o json has them"


_PACES = {
    Pace.CAUGHT_UP: "at the leader's end",
    Pace.CATCHING_UP: "catching up",
    Pace.FALLING_BEHIND: "falling further behind",
    Pace.NOT_MOVING: "not moving",
    Pace.UNKNOWN: "not measured",
}
_WORST = (Pace.NOT_MOVING, Pace.FALLING_BEHIND, Pace.CATCHING_UP, Pace.UNKNOWN, Pace.CAUGHT_UP)


def _slowness(progress: Progress) -> tuple[int, float]:
    return _WORST.index(progress.pace), -(progress.seconds_to_catch_up or progress.records_behind or 0)


def progress_text(progress: Progress) -> str:
    """``12,000 records (3.1 MiB) behind leader 1, not moving``."""
    if progress.pace is Pace.UNKNOWN or progress.records_behind is None:
        return "not measured: it or its leader did not tell its end"
    size = f" ({size_words(progress.bytes_behind)})" if progress.bytes_behind else ""
    behind = f"{counted_in_thousands(progress.records_behind, 'record')}{size} behind leader {progress.leader}"
    if progress.pace is Pace.CATCHING_UP:
        took = spell_duration(progress.seconds_to_catch_up or 0)
        return f"{behind}, {_rate(progress)}, there in about {took}"
    if progress.pace is Pace.FALLING_BEHIND:
        return f"{behind}, {_rate(progress)} while {progress.leader_records_per_second:,.1f} are written: never there"
    return behind if progress.pace is Pace.CAUGHT_UP else f"{behind}, not moving"


def measured_cell(rows: Iterable[Mapping[str, object]]) -> str | None:
    """The measured replicas of one partition in a table's cell."""
    texts = [f"broker {row['broker']}: {_row_progress(row)}" for row in rows]
    return "; ".join(texts) or None


def _row_progress(row: Mapping[str, object]) -> str:
    return progress_text(Progress(**(dict(row) | {"pace": Pace(row["pace"])})))  # type: ignore[arg-type]


def _rate(progress: Progress) -> str:
    size = progress.bytes_per_second
    bytes_too = f" ({size_words(round(size))}/s)" if size is not None and size > 0 else ""
    return f"{progress.records_per_second:,.1f} records/s{bytes_too}"


def _broker(broker: int | None, snapshot: ClusterSnapshot) -> str:
    return f"broker {_placed(broker, snapshot)}"


def _placed(broker: int | None, snapshot: ClusterSnapshot) -> str:
    rack = None if broker is None else snapshot.racks.get(broker)
    return str(broker) if rack is None else f"{broker} (rack {rack})"


def _moment(since: str, snapshot: ClusterSnapshot) -> str:
    """The time of day, and the day if it is not that of the snapshot."""
    day, _, clock = since[:19].partition("T")
    return f"{clock} UTC" if day == f"{snapshot.taken_at:%Y-%m-%d}" else f"{day} {clock} UTC"
