"""kreplica whatif prove: every schedule of a model within bounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.groups import takes
from commands.whatif.prove.bounds import FaultOptions, SizeOptions, bounds_of, words_of
from commands.whatif.prove.options import ModelOptions, SearchOptions

if TYPE_CHECKING:
    from kreplica.engine.explorer.explored import Progress as Explored


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "prove",
        short_help="Try every schedule of a small model of the protocol.",
        epilog=examples(
            "kreplica whatif prove --replicas 2 --epochs 1",
            "kreplica whatif prove --model truncate-to-hw --save-plan plan.json",
            "kreplica whatif prove --model kip-966 --replicas 2 --min-isr 1 --fences 1",
            "kreplica whatif prove --model settings-4.1 --set acks=1",
            "kreplica whatif prove --model quorum-m2 --invariant one-leader",
        ),
    )(prove)


@takes("asked", ModelOptions)
@takes("size", SizeOptions)
@takes("faults", FaultOptions)
@takes("search", SearchOptions)
def prove(
    *,
    asked: ModelOptions,
    size: SizeOptions,
    faults: FaultOptions,
    search: SearchOptions,
    output: OutputOption = None,
) -> None:
    """Try every schedule of a small model, within bounds: an invariant holds in each state, or the shortest way to a
    breach is shown.

    kreplica whatif models lists the models: published ones of truncation and fencing, of KRaft clusters, controllers,
    transactions and groups; and models of settings by the engine's own rules, which tell whether so many faults lose an
    acknowledged record. A goal is a state that is reached in the end, and kept, once there are no more faults. A result
    holds only within the bounds that the answer tells. If a counterexample can be played as faults of a run, it is:
    with a release of Kafka that behaves like the model, and with a release or a setting that does not lose. kreplica
    whatif run --plan plays it again.

    Exits 0 when the invariants hold, 1 with a counterexample, 2 when a model, a bound, an invariant or a size cannot be
    used, 5 when nothing was broken but the memory did not suffice for all states.
    """
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Progress
    from commands.shared.values import parse_size
    from commands.whatif.prove.answer import answer_of, document_of
    from commands.whatif.prove.screen import progress_line, show
    from commands.whatif.run.files import write_file, write_plan
    from kreplica.engine.explorer.proof import whatif_prove
    from kreplica.scenarios.counterexamples.replays import replays_of

    invariants, settings = asked.invariant or (), asked.settings or ()
    bounds = bounds_of(asked.model, size, faults, settings)
    memory = parse_size(search.memory, "--memory")
    with Progress() as line:
        begun = time.monotonic()

        def report(explored: Explored) -> None:
            line.say(progress_line(explored, time.monotonic() - begun))

        proof = whatif_prove(asked.model, bounds, invariants, symmetry=search.symmetry, memory=memory, report=report)
    replays = replays_of(proof.model, proof.steps)
    answer = answer_of(proof, replays, search.save_plan)
    if search.save is not None:
        write_file(search.save, document_of(answer))
    if search.save_plan is not None and replays:
        write_plan(search.save_plan, next(iter(replays.values())).file)
    named = [word for name in invariants for word in ("--invariant", name)]
    words = [*named, *words_of(size, faults, settings), *(["--symmetry"] if search.symmetry else [])]
    emit(answer, output, lambda console: show(proof, replays, search.save, search.save_plan, words, console))
    raise typer.Exit(proof.exit_code)
