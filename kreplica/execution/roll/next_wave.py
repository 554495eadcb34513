"""The nodes of a plan to restart next, once the cluster bears it; restarts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from kreplica.errors import ExitCode, UsageError
from kreplica.execution.roll.journal import RollEvent, RollJournal, open_roll_journal
from kreplica.execution.roll.plan import RollPlan, read_roll
from kreplica.execution.roll.progress import NodeState, RollState, check_roll, led_by, look_at_roll
from kreplica.health.gates import Freshness
from kreplica.model.tables.rows import Int32, Meaning
from kreplica.monitoring.clusters import Reading, read_clusters
from kreplica.monitoring.waiting.stop_gate import FACETS, SETTLE_SECONDS, Report, Verdict, read_until_safe

if TYPE_CHECKING:
    from kreplica.config.handle import ClusterHandle


class NextWord(StrEnum):
    """Answers to what may restart next."""

    next = "next"
    wait = "wait"
    unsafe = "unsafe"
    incomplete = "incomplete"
    finished = "finished"
    partial = "partial"


_CODES = {
    NextWord.next: ExitCode.OK,
    NextWord.wait: ExitCode.FINDINGS,
    NextWord.unsafe: ExitCode.FINDINGS,
    NextWord.incomplete: ExitCode.INCOMPLETE,
    NextWord.finished: ExitCode.OK,
    NextWord.partial: ExitCode.FINDINGS,
}


class WaveNode(Struct, frozen=True):
    """One node of the wave whose turn it is."""

    node: Annotated[Int32, Meaning("id of a node of the wave whose turn it is")]
    wave: Annotated[Int32 | None, Meaning("number of that wave")]
    state: Annotated[
        NodeState,
        Meaning(
            "restart: it is still to be restarted; down; catching-up: up, with replicas out of sync; not-told: it led"
            " nothing when it was named, so that a restart cannot be seen; back: restarted and in sync"
        ),
    ]


@dataclass(frozen=True, slots=True)
class NextWave:
    """The nodes to restart next, or what they wait for.

    Args:
        path: The plan's file.
        plan: The plan.
        word: First word of the verdict.
        state: Progress of the roll.
        reading: The cluster as it was read last.
        verdict: Whether the nodes can be stopped now; None if it is not their turn.
    """

    path: Path
    plan: RollPlan
    word: NextWord
    state: RollState
    reading: Reading
    verdict: Verdict | None = None

    @property
    def exit_code(self) -> ExitCode:
        """0 when nodes are named or every node of the plan is done."""
        return _CODES[self.word]

    @property
    def missing(self) -> tuple[str, ...]:
        """Facts that could not be read or are not known."""
        if self.verdict is not None:
            return self.verdict.last.missing
        return tuple(gap.message for gap in self.reading.snapshots[0].gaps)

    @property
    def rows(self) -> list[WaveNode]:
        """The nodes of the wave and their states."""
        return [WaveNode(node, self.state.wave, seen) for node, seen in self.state.states.items()]

    @property
    def restart(self) -> tuple[int, ...]:
        """The nodes to restart now; none where they have to wait."""
        return self.state.to_restart if self.word is NextWord.next else ()

    @property
    def warnings(self) -> list[str]:
        """Remarks on the reading, facts that are not known, and what has changed since the plan was made."""
        gaps = len(self.reading.snapshots[0].gaps)
        return [*self.reading.warnings(), *self.missing[gaps:], *self.state.drift]


def roll_next(
    handle: ClusterHandle,
    path: Path,
    *,
    done: bool = False,
    settle: float = SETTLE_SECONDS,
    report: Report | None = None,
) -> NextWave:
    """Names the nodes of a plan to restart next, and notes in its journal what it named and saw.

    Args:
        handle: The live cluster.
        path: The plan's file; its journal lies beside it.
        done: Whether the operator says that the nodes named last were restarted.
        settle: Seconds between the two reads that have to agree; 0 for one read only.
        report: Called with the state, one clause, before each pause.

    Raises:
        UsageError: The handle is a dump, or the file is no plan.
        ChangeRefusedError: The plan is of another cluster.
    """
    if handle.dump is not None:
        why = "what may restart next is asked of the cluster as it is now"
        raise UsageError("roll next takes no dump", why, "name the live cluster")
    plan, digest = read_roll(path)
    with open_roll_journal(path, digest) as journal:
        return _next_wave(handle, path, plan, journal, done=done, settle=settle, report=report)


def _next_wave(
    handle: ClusterHandle,
    path: Path,
    plan: RollPlan,
    journal: RollJournal,
    *,
    done: bool,
    settle: float,
    report: Report | None,
) -> NextWave:
    """Goes on to the wave whose turn it is, and judges it."""
    reading = read_clusters((handle,), FACETS, Freshness())
    snapshot = reading.snapshots[0]
    check_roll(plan, snapshot)
    state = look_at_roll(plan, journal.entries, snapshot, reported=done)
    _note_seen(journal, state)
    if state.over and state.wave is not None and not snapshot.gaps:
        journal.note(RollEvent.DONE, state.wave, plan.waves[state.wave - 1], reported=done)
        state = look_at_roll(plan, journal.entries, snapshot)
        _note_seen(journal, state)
    if state.wave is None:
        return NextWave(path, plan, NextWord.partial if plan.held_back else NextWord.finished, state, reading)
    if not state.may_begin:
        return NextWave(path, plan, NextWord.incomplete if state.over else NextWord.wait, state, reading)
    verdict = read_until_safe(handle, lambda _: state.to_restart, plan.options.accepted, settle, report=report)
    words = {ExitCode.OK: NextWord.next, ExitCode.FINDINGS: NextWord.unsafe, ExitCode.INCOMPLETE: NextWord.incomplete}
    word = words[verdict.exit_code]
    if word is NextWord.next:
        journal.note(RollEvent.NAMED, state.wave, state.to_restart, led_by(verdict.last.snapshot, state.to_restart))
    return NextWave(path, plan, word, state, verdict.last.reading, verdict)


def _note_seen(journal: RollJournal, state: RollState) -> None:
    """Notes once in the journal which nodes are down: a later run then knows that they were down."""
    known = {
        node
        for entry in journal.entries
        if entry.event is RollEvent.DOWN and entry.wave == state.wave
        for node in entry.nodes
    }
    down = [node for node, found in state.states.items() if found is NodeState.DOWN and node not in known]
    if down and state.wave is not None and state.named_at is not None:
        journal.note(RollEvent.DOWN, state.wave, down)
