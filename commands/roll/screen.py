"""roll on the screen: the waves and why there cannot be fewer; the nodes to restart next, or what to wait for."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commands.shared.options.common import READ_TIMEOUT
from commands.shared.printing.screen import places, print_cluster, print_lines, print_verdict
from kreplica.health.impact.stop import OUT_OF_SYNC
from kreplica.model.wording.words import are, counted, named
from kreplica.planner.restart_waves import Bound, BoundKind

if TYPE_CHECKING:
    from rich.console import Console

    from commands.shared.options.common import SourceOptions
    from kreplica.execution.roll.next_wave import NextWave
    from kreplica.execution.roll.plan import HeldBack, RollOptions, RollPlan
    from kreplica.execution.roll.planning import PlannedRoll
    from kreplica.model.snapshot import ClusterSnapshot

MOST_NAMED = 12
"""Nodes that a line names at most; the rest are counted."""

_COLORS = {
    "next": "green",
    "wait": "yellow",
    "unsafe": "red",
    "incomplete": "yellow",
    "finished": "green",
    "partial": "yellow",
}


def show_plan(planned: PlannedRoll, out: Path | None, sources: SourceOptions, console: Console) -> None:
    """Prints a plan for a person."""
    plan, snapshot = planned.plan, planned.snapshot
    missing = [*(gap.message for gap in snapshot.gaps), *planned.draft.unknown]
    print_verdict(console, *_plan_verdict(plan, incomplete=bool(missing)))
    print_cluster(console, snapshot, counted(len(snapshot.partitions), "partition"))
    print_lines(console, "missing", missing)
    print_lines(console, "waves", _waves(snapshot, plan))
    print_lines(console, "bound", _bound(plan))
    print_lines(console, "never", _held_back(plan.never))
    print_lines(console, "blocked", _held_back(plan.blocked))
    print_lines(console, "down", [f"{_nodes(plan.down)} already: to be started first"] if plan.down else ())
    print_lines(console, "help", _helps(plan.held_back))
    print_lines(console, "next", _plan_next(plan, out, sources, snapshot.name), whole=True)


def _plan_verdict(plan: RollPlan, *, incomplete: bool) -> tuple[str, str, str]:
    nodes = sum(map(len, plan.waves))
    how = "no plan has fewer" if plan.proven else f"there are {plan.bound.waves} at least"
    words = f"{counted(nodes, 'node')} restart in {counted(len(plan.waves), 'wave')}, {how}" if nodes else ""
    if plan.held_back or plan.down:
        parts = [words] * bool(words)
        parts += [f"{counted(len(plan.never), 'node')} can never restart without harm"] * bool(plan.never)
        parts += [f"{counted(len(plan.blocked), 'node')} cannot restart now"] * bool(plan.blocked)
        parts += [f"{counted(len(plan.down), 'node')} already down"] * bool(plan.down)
        return "PARTIAL", "yellow", "; ".join(parts)
    if incomplete:
        return "INCOMPLETE", "yellow", f"{words}, but not all could be read"
    return ("PLANNED", "green", words) if words else ("EMPTY", "yellow", "there is nothing to restart")


def _waves(snapshot: ClusterSnapshot, plan: RollPlan) -> Iterator[str]:
    for number, wave in enumerate(plan.waves, start=1):
        racks = sorted({snapshot.racks.get(node, "-") for node in wave})
        rack = f" ({named('rack', racks)})" if racks != ["-"] else ""
        last = ", with the active controller" if plan.controller in wave else ""
        yield f"{number}  {_nodes(wave)}{rack}{last}"


def _bound(plan: RollPlan) -> Iterator[str]:
    bound: Bound = plan.bound
    if not plan.waves:
        return
    words = {
        BoundKind.CLIQUE: f"no two of {_nodes(bound.nodes)} may be down together",
        BoundKind.LIMIT: f"{_nodes(bound.nodes)} share a partition that needs more of them than fewer waves leave",
        BoundKind.MOST_IN_WAVE: f"--max-per-wave {plan.options.most_in_wave}",
        BoundKind.SEARCH: "every plan with fewer waves was tried",
    }
    why = words.get(bound.kind, "") if bound.waves > 1 else "every node may be down at the same time"
    gap = "" if plan.proven else f"; whether {len(plan.waves)} can be undercut is not known"
    yield f"{counted(bound.waves, 'wave')} at least: {why}{gap}"


def _held_back(nodes: Sequence[HeldBack]) -> Iterator[str]:
    for one in nodes:
        yield f"node {one.node}: {one.reasons[0] if one.reasons else 'not known why'}"
        yield from (f"        {reason}" for reason in one.reasons[1:])


def _helps(nodes: Sequence[HeldBack]) -> Iterator[str]:
    """Remedies for the reasons that hold nodes back."""
    reasons = " ".join(reason for one in nodes for reason in one.reasons)
    if "one replica only" in reasons:
        yield "single replica: add one by a reassignment, or accept the downtime with --accept rf-one"
    if "leaves no room" in reasons:
        yield "min.insync.replicas leaves no room: lower it, add a replica, or accept the downtime with --accept-topic"
    if OUT_OF_SYNC in reasons:
        yield f"{OUT_OF_SYNC}: wait until they are back, then plan anew"
    if "majority" in reasons:
        yield "the quorum has no voter to spare: bring the voters back that are down, or add some"


def _plan_next(plan: RollPlan, out: Path | None, sources: SourceOptions, cluster: str) -> Iterator[str]:
    connection_options = sources.again(cluster)
    if plan.down:
        brokers = "".join(f" --broker {node}" for node in plan.down)
        yield f"kreplica wait --for in-sync{brokers} {sources.again_live(cluster, timeout=READ_TIMEOUT)}"
    if plan.waves and out is not None:
        yield f"kreplica roll next {shlex.quote(str(out))} {connection_options}"
    elif plan.waves:
        yield f"kreplica roll plan {connection_options}{_option_words(plan.options)} --out roll.json"


def _option_words(options: RollOptions) -> str:
    """The options of the plan, to be typed again, a space before each."""
    words = ["--accept", "rf-one"] if options.accept_rf_one else []
    words += ["--accept-topic", options.accept_topics] if options.accept_topics is not None else []
    words += ["--one-rack-at-a-time"] * options.one_rack_at_a_time
    words += ["--max-per-wave", str(options.most_in_wave)] if options.most_in_wave is not None else []
    return "".join(f" {shlex.quote(word)}" for word in words)


def show_next(next_wave: NextWave, sources: SourceOptions, console: Console) -> None:
    """Prints for a person which nodes may restart next."""
    print_verdict(console, next_wave.word.value.upper(), _COLORS[next_wave.word.value], _next_sentence(next_wave))
    print_lines(console, "missing", next_wave.missing)
    print_lines(console, "against", _against(next_wave))
    print_lines(console, "nodes", _states(next_wave) if next_wave.word.value != "next" else ())
    if next_wave.state.out_of_sync and next_wave.word.value == "wait":
        count = counted(len(next_wave.state.out_of_sync), "partition")
        print_lines(
            console, "left", [f"{count} with a replica there out of sync: {places(next_wave.state.out_of_sync)}"]
        )
    print_lines(console, "drift", next_wave.state.drift)
    if next_wave.word.value == "partial":
        print_lines(console, "never", _held_back(next_wave.plan.never))
        print_lines(console, "blocked", _held_back(next_wave.plan.blocked))
    print_lines(console, "next", _next_lines(next_wave, sources), whole=True)


def _next_sentence(next_wave: NextWave) -> str:
    state, waves = next_wave.state, len(next_wave.plan.waves)
    if state.wave is None:
        return f"{counted(waves, 'wave')} of {waves} done{_left_over(next_wave.plan)}"
    where = f"wave {state.wave} of {waves}"
    if next_wave.word.value == "next":
        together = " together" if len(state.to_restart) > 1 else ""
        return f"restart {_nodes(state.to_restart)}{together} ({where}): nothing read speaks against it"
    if next_wave.word.value == "unsafe":
        return f"not now: stopping {_nodes(state.to_restart)} ({where}) would do harm"
    if next_wave.word.value == "incomplete":
        return f"{where}: nothing read speaks against it, but not all could be read"
    return f"{where} is not done: {', '.join(_waiting(next_wave))}"


def _left_over(plan: RollPlan) -> str:
    left = plan.held_back
    return f"; {_nodes([one.node for one in left])} {are(len(left))} in no wave" if left else ""


def _waiting(next_wave: NextWave) -> Iterator[str]:
    words = {
        "down": "{} down",
        "catching-up": "{} back, not in sync yet",
        "not-told": "whether {} restarted cannot be seen",
    }
    for state, text in words.items():
        nodes = [node for node, found in next_wave.state.states.items() if found.value == state]
        if nodes:
            yield text.format(_nodes(nodes))


def _states(next_wave: NextWave) -> Iterator[str]:
    for node, state in next_wave.state.states.items():
        yield f"{node}  {state.value}"


def _against(next_wave: NextWave) -> Iterator[str]:
    if next_wave.verdict is None:
        return
    by_reason: dict[str, list[tuple[object, object]]] = {}
    for item in next_wave.verdict.last.judgement.against:
        by_reason.setdefault(f"{item.effect.value}, {item.reason}", []).append((item.topic, item.partition))
    for reason, some in by_reason.items():
        where = places(some)
        yield f"{counted(len(some), 'partition')}: {reason}{where and f': {where}'}" if where else reason


def _next_lines(next_wave: NextWave, sources: SourceOptions) -> Iterator[str]:
    cluster, state = next_wave.reading.snapshots[0].name, next_wave.state
    connection_options = sources.again(cluster)
    again = f"kreplica roll next {shlex.quote(str(next_wave.path))} {connection_options}"
    states = {found.value for found in state.states.values()}
    if next_wave.word.value == "next":
        yield f"restart {'them' if len(state.to_restart) > 1 else 'it'}, then: {again}"
    elif next_wave.word.value == "wait":
        if "not-told" in states:
            yield f"{again} --done"
        else:
            brokers = "".join(f" --broker {node}" for node in state.states)
            waiting = sources.again_live(cluster, timeout=READ_TIMEOUT)
            yield f"kreplica wait --for in-sync{brokers} {waiting} && {again}"
    elif next_wave.word.value == "unsafe":
        yield f"kreplica describe {connection_options} --under-replicated"
        yield again
    elif next_wave.word.value == "partial":
        yield f"kreplica roll plan {connection_options}"


def _nodes(nodes: Sequence[int]) -> str:
    return named("node", nodes, MOST_NAMED)
