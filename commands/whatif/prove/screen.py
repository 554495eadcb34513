"""whatif prove on the screen: the verdict with its bounds, the steps of a counterexample, their diagram."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands.shared.printing.screen import INDENT, TableColumn, print_columns, print_lines, print_verdict
from kreplica.model.wording.words import counted, counted_in_thousands, ids

if TYPE_CHECKING:
    from rich.console import Console

    from kreplica.engine.explorer.explored import Progress
    from kreplica.engine.explorer.proof import Proof, ProofStep
    from kreplica.scenarios.counterexamples.replay import Replay


def progress_line(explored: Progress, seconds: float) -> str:
    """A search that goes on, in a line, with its speed so far.

    Args:
        explored: How far it is.
        seconds: How long it has taken.
    """
    rate = f", {explored.distinct / seconds:,.0f} states/s" if seconds > 0 else ""
    states = counted_in_thousands(explored.distinct, "state")
    return f"{states}{rate}, {explored.waiting:,} to go on from, level {explored.depth}"


def show(
    proof: Proof,
    replays: Mapping[str, Replay],
    save: Path | None,
    save_plan: Path | None,
    words: Sequence[str],
    console: Console,
) -> None:
    """Prints the proof.

    Args:
        proof: The proof.
        replays: The counterexamples that could be played, by invariant.
        save: The file that it was written to.
        save_plan: The file that the first plan was written to.
        words: What was asked of the model, as on the command line.
        console: To print on.
    """
    from kreplica.scenarios.counterexamples.without_plan import reasons_of

    reasons = reasons_of(proof, replays)
    _show_verdict(proof, console)
    print_lines(console, "bounds", [proof.family.sentence(proof.bounds)])
    print_lines(console, "promise", [f"{one.name}: {one.promise}" for one in proof.invariants])
    for name in proof.found.broken:
        _show_steps(proof, name, console)
        if name in replays:
            _show_replay(replays[name], console)
        else:
            console.print()
            print_lines(console, "no plan", [reasons[name]])
    if proof.holds is False:
        console.print()
    plan = save_plan if replays else None
    print_lines(console, "saved", [str(file) for file in (save, plan) if file is not None])
    if proof.holds is False:
        print_lines(console, "next", _next(proof, plan, words if replays else None), whole=True)


def _next(proof: Proof, plan: Path | None, played: Sequence[str] | None) -> list[str]:
    if plan is not None:
        return [f"kreplica whatif run --plan {shlex.quote(str(plan))}"]
    if played is not None:
        words = ("kreplica", "whatif", "prove", "--model", proof.model.name, *played, "--save-plan", "plan.json")
        return [shlex.join(words)]
    sound = proof.family.sound
    return [] if sound in ("", proof.model.name) else [f"kreplica whatif prove --model {sound}"]


def _show_verdict(proof: Proof, console: Console) -> None:
    told = ", ".join(one.name for one in proof.invariants)
    alike = " up to exchange of brokers" if proof.model.symmetry is not None else ""
    size = f"{counted_in_thousands(proof.found.distinct, 'state')}{alike} on {counted(proof.found.depth, 'level')}"
    if proof.holds:
        print_verdict(console, "HOLDS", "green", f"{told} of {proof.model.name}: {size}, all that there are")
    elif proof.holds is None:
        print_verdict(console, "INCOMPLETE", "yellow", f"{told} of {proof.model.name}: unbroken in {size}, of more")
    else:
        broken = ", ".join(
            f"{name} after {counted(len(states) - 1, 'step')}" for name, states in proof.found.broken.items()
        )
        print_verdict(console, "BROKEN", "red", f"{broken}, of {proof.model.name}; {size} were tried")


def _show_steps(proof: Proof, invariant: str, console: Console) -> None:
    from kreplica.report.moments import moments
    from kreplica.report.space_time import space_time

    rows = [row for row in proof.rows if row.invariant == invariant]
    console.print(f"\nThe fewest steps to a breach of {invariant} (* leads, | high watermark)")
    columns = [
        TableColumn("STEP"),
        TableColumn("WHAT", fold=True),
        TableColumn("LEADER", drop=2),
        TableColumn("ISR", drop=1),
        *(TableColumn(f"{proof.family.node.upper()} {broker['id']}") for broker in rows[0].brokers),
    ]
    print_columns(console, columns, [_cells(row) for row in rows])
    events = proof.events(invariant)
    if not events:
        return
    console.print("\nThe same as a diagram (the time is the number of the step)")
    for line in space_time(moments(events), console.width if console.is_terminal else None):
        console.print(line, markup=False, highlight=False)


def _show_replay(replay: Replay, console: Console) -> None:
    from commands.whatif.run.verdict import verdict
    from kreplica.engine.plans.text import step_words

    console.print(f"\nThe same as faults of a run ({replay.where})")
    for step in replay.file.steps:
        console.print(f"  {step_words(step)}", markup=False, highlight=False)
    for name, run in zip(replay.names, (replay.run, replay.mended), strict=True):
        word, _, sentence = verdict(run)
        if len(name) < INDENT:
            print_lines(console, name, [f"{word} {sentence}"])
        else:
            print_lines(console, "", [f"{name}: {word} {sentence}"])


def _cells(row: ProofStep) -> list[object]:
    leader = "none" if row.leader is None else f"{row.leader} e{row.leader_epoch}"
    return [row.step, row.what, leader, ids(row.isr), *(_log(broker) for broker in row.brokers)]


def _log(broker: Mapping[str, Any]) -> str:
    """A broker's log: ``*m1/e0 | m2/e0`` where it leads, and one record is below its high watermark."""
    records = [f"{each['record']}/e{each['leader_epoch']}" for each in broker["log"]]
    records.insert(broker["high_watermark"], "|")
    return ("*" if broker["leads"] else "") + " ".join(records)
