"""kreplica whatif prove: every schedule of a model within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption
from commands.shared.options.groups import takes
from commands.whatif.prove.bounds import FaultOptions, SizeOptions, bounds_of, words_of

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


MODEL = "What is proved"
ANSWER = "The search and its answer"


@takes("size", SizeOptions)
@takes("faults", FaultOptions)
def prove(
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", rich_help_panel=MODEL, help="The model; kreplica whatif models lists them."
        ),
    ] = "kip-320",
    invariant: Annotated[
        list[str] | None,
        typer.Option(
            "--invariant",
            metavar="NAME",
            rich_help_panel=MODEL,
            help="An invariant or a goal of the model, as kreplica whatif model NAME lists them; may be repeated."
            "  [default: the first]",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            rich_help_panel=MODEL,
            help="For the models of settings: acks (1 or all), min.insync.replicas, unclean.leader.election.enable or"
            " flush.messages; may be repeated.",
        ),
    ] = None,
    size: SizeOptions,
    faults: FaultOptions,
    symmetry: Annotated[
        bool,
        typer.Option(
            "--symmetry",
            rich_help_panel=ANSWER,
            help="Take states that differ only in which broker is which for one, in models of one partition: fewer"
            " states, the same verdict.",
        ),
    ] = False,
    memory: Annotated[
        str,
        typer.Option(
            "--memory", metavar="SIZE", rich_help_panel=ANSWER, help="Memory for states, such as 500MB or 4GiB."
        ),
    ] = "2GiB",
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", rich_help_panel=ANSWER, help="Write the answer as JSON, too."),
    ] = None,
    save_plan: Annotated[
        Path | None,
        typer.Option(
            "--save-plan",
            metavar="FILE",
            rich_help_panel=ANSWER,
            help="Write the counterexample as a plan for whatif run.",
        ),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Try every schedule of a small model within bounds: whether an invariant holds in each state, or the fewest steps
    to one where it does not.

    kreplica whatif models lists the models: published ones of how replicas truncate logs and leaders are fenced, of
    KRaft clusters, controllers, transactions and groups, and those of settings, by the engine's own rules: with these
    settings, do so many faults lose a record that was acknowledged? A goal is what is to come about from every state,
    and to stay, once no fault comes any more. What holds, holds within the bounds that stand beside it. Where a
    counterexample can be played as faults of a run, it is: under a release of Kafka that is like the model, and under
    a release, or with a setting, that mends it; kreplica whatif run --plan plays it again.

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
    from kreplica.scenarios.counterexamples import replays_of

    bounds = bounds_of(model, size, faults, settings or ())
    with Progress() as line:

        def report(explored: Explored) -> None:
            line.say(progress_line(explored))

        proof = whatif_prove(
            model, bounds, invariant or (), symmetry=symmetry, memory=parse_size(memory, "--memory"), report=report
        )
    replays = replays_of(proof.model, proof.steps)
    answer = answer_of(proof, replays, save_plan)
    if save is not None:
        write_file(save, document_of(answer))
    if save_plan is not None and replays:
        write_plan(save_plan, next(iter(replays.values())).file)
    asked = [word for name in invariant or () for word in ("--invariant", name)]
    words = [*asked, *words_of(size, faults, settings or ()), *(["--symmetry"] if symmetry else [])]
    emit(answer, output, lambda console: show(proof, replays, save, save_plan, words, console))
    raise typer.Exit(proof.exit_code)
