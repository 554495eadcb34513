"""kreplica roll next: checks the cluster and names the nodes to restart next; it restarts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.roll.answer import Told, Word
from commands.shared.options import OutputOption, SourceOptions, takes_sources
from commands.shared.stop_options import SETTLE, one_cluster
from commands.shared.values import parse_duration
from kreplica.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from commands.shared.printing.output import Answer
    from kreplica.config.handle import ClusterHandle
    from kreplica.execution.roll.journal import RollJournal
    from kreplica.execution.roll.plan import RollPlan
    from kreplica.execution.roll.progress import RollState

COLUMNS = ("node", "wave", "state")


def register(app: typer.Typer) -> None:
    """Adds the command to the group."""
    app.command("next", short_help="Check the cluster and name the nodes to restart next.")(next_wave)


@takes_sources
def next_wave(
    sources: SourceOptions,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan's file; its journal lies beside it.")],
    done: Annotated[
        bool, typer.Option("--done", help="Say that the nodes named last were restarted, where it cannot be seen.")
    ] = False,
    settle: Annotated[
        str, typer.Option("--settle", metavar="DURATION", help="Time between the two reads; 0 for one read only.")
    ] = SETTLE,
    output: OutputOption = None,
) -> None:
    """Name the nodes of a plan to restart next: once those before are up again, were restarted and are in sync, and
    once two reads in a row say that these can be stopped without harm. Restarts nothing; notes in the plan's journal
    what it named and saw.

    Exits 0 when nodes are named or all were restarted, 1 when it is not yet time or nodes are left that are in no wave,
    4 when the plan is of another cluster, 5 when nothing speaks against it but something could not be read.
    """
    from commands.roll.screen import show_next
    from commands.shared.printing.output import emit
    from kreplica.execution.roll.journal import open_roll_journal
    from kreplica.execution.roll.plan import read_roll

    handle = one_cluster(sources.handles(), "a plan is of one cluster")
    if handle.dump is not None:
        why = "what may restart next is asked of the cluster as it is now"
        raise UsageError("roll next takes no dump", why, "name the live cluster")
    pause = parse_duration(settle, "--settle")
    found, digest = read_roll(plan)
    with open_roll_journal(plan, digest) as journal:
        told = _ask(handle, plan, found, journal, done=done, pause=pause)
    emit(_answer(told), output, lambda console: show_next(told, sources, console))
    raise typer.Exit(told.exit_code)


def _ask(handle: ClusterHandle, path: Path, plan: RollPlan, journal: RollJournal, *, done: bool, pause: float) -> Told:
    """Goes on to the wave whose turn it is, and judges it."""
    from commands.shared.stop_gate import FACETS, ask
    from kreplica.execution.roll.journal import RollEvent
    from kreplica.execution.roll.progress import check_roll, led_by, look_at_roll
    from kreplica.health.gates import Freshness
    from kreplica.monitoring.clusters import read_clusters

    reading = read_clusters((handle,), FACETS, Freshness())
    snapshot = reading.snapshots[0]
    check_roll(plan, snapshot)
    state = look_at_roll(plan, journal.entries, snapshot, told=done)
    _note_seen(journal, state)
    if state.over and state.wave is not None and not snapshot.gaps:
        journal.note(RollEvent.DONE, state.wave, plan.waves[state.wave - 1], told=done)
        state = look_at_roll(plan, journal.entries, snapshot)
        _note_seen(journal, state)
    if state.wave is None:
        return Told(path, plan, Word.partial if plan.held_back else Word.finished, state, reading)
    if not state.may_begin:
        word = Word.incomplete if state.over else Word.wait
        return Told(path, plan, word, state, reading)
    verdict = ask(handle, lambda _: state.to_restart, plan.options.accepted, pause, 0.0)
    words = {ExitCode.OK: Word.next, ExitCode.FINDINGS: Word.unsafe, ExitCode.INCOMPLETE: Word.incomplete}
    word = words[verdict.last.exit_code]
    if word is Word.next:
        journal.note(RollEvent.NAMED, state.wave, state.to_restart, led_by(verdict.last.snapshot, state.to_restart))
    return Told(path, plan, word, state, verdict.last.reading, verdict)


def _note_seen(journal: RollJournal, state: RollState) -> None:
    """Notes once in the journal which nodes are down: a later run then knows that they were down."""
    from kreplica.execution.roll.journal import RollEvent
    from kreplica.execution.roll.progress import NodeState

    known = {
        node
        for entry in journal.entries
        if entry.event is RollEvent.DOWN and entry.wave == state.wave
        for node in entry.nodes
    }
    down = [node for node, found in state.states.items() if found is NodeState.DOWN and node not in known]
    if down and state.wave is not None and state.named_at is not None:
        journal.note(RollEvent.DOWN, state.wave, down)


def _answer(told: Told) -> Answer:
    from commands.shared.printing.output import Answer, cluster_object
    from kreplica.model.schema import Kind

    state = told.state
    rows = [{"node": node, "wave": state.wave, "state": found.value} for node, found in state.states.items()]
    return Answer(
        command="roll-next",
        rows_name="nodes",
        columns=COLUMNS,
        rows=rows,
        clusters=[cluster_object(told.reading.snapshots[0])],
        summary={
            "verdict": told.word.value,
            "wave": state.wave,
            "waves": len(told.plan.waves),
            "restart": list(state.to_restart) if told.word is Word.next else [],
            "named_at": state.named_at,
            "out_of_sync": len(state.out_of_sync),
            "against": _against(told),
            "drift": list(state.drift),
            "never": [one.node for one in told.plan.never],
            "blocked": [one.node for one in told.plan.blocked],
            "down_when_planned": list(told.plan.down),
            "complete": not told.missing,
        },
        warnings=[*told.reading.warnings(), *told.missing[len(told.reading.snapshots[0].gaps) :], *state.drift],
        kinds={"node": Kind.INT32, "wave": Kind.INT32, "state": Kind.STRING},
    )


def _against(told: Told) -> Sequence[dict[str, object]]:
    if told.verdict is None:
        return []
    return [
        {"topic": item.topic, "partition": item.partition, "effect": item.effect.value, "reason": item.reason}
        for item in told.verdict.last.judgement.against
    ]
