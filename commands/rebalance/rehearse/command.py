"""kreplica rebalance rehearse: a plan of replicas played on the reference engine before it touches the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from commands.rebalance.options import PlanArgument, one_cluster
from commands.shared.help import examples
from commands.shared.options.common import OutputOption, SourceOptions, takes_sources
from commands.shared.options.engine_settings import SetOption

if TYPE_CHECKING:
    from kreplica.execution.rehearsal.rehearse import RehearseOptions

RunsOption = Annotated[
    int, typer.Option("--runs", min=1, max=100_000, metavar="N", help="Runs, each with other failures.")
]
RunSeedOption = Annotated[
    int,
    typer.Option(
        "--seed", min=0, metavar="N", help="Where chance begins: the first run has this seed, each next one the next."
    ),
]
FailuresOption = Annotated[
    int, typer.Option("--failures", min=1, max=20, metavar="N", help="Failures of brokers in each run.")
]
KafkaVersionOption = Annotated[
    str | None,
    typer.Option("--kafka-version", metavar="VERSION", help="Kafka's version to play.  [default: that of the brokers]"),
]


def register(group: typer.Typer) -> None:
    """Adds the subcommand."""
    group.command(
        "rehearse",
        short_help="Play a plan of replicas while brokers fail.",
        epilog=examples(
            "kreplica rebalance rehearse plan.json --dump dumps --runs 200 --seed 1",
            "kreplica rebalance rehearse plan.json --bootstrap-server kafka1:9092 --set acks=1",
        ),
    )(rehearse)


@takes_sources
def rehearse(
    sources: SourceOptions,
    plan: PlanArgument,
    runs: RunsOption = 200,
    seed: RunSeedOption = 0,
    failures: FailuresOption = 1,
    settings: SetOption = None,
    kafka_version: KafkaVersionOption = None,
    output: OutputOption = None,
) -> None:
    """Simulate a plan of replicas, with brokers that fail in the middle, before it touches the cluster.

    Up to 50 moves are played, some of each kind, with the cluster's racks, settings and version, by the code that
    carries out plans. A producer writes with acks=all, or as --set says. The cluster is only read. Ctrl-C ends the
    simulation and shows what was played so far.

    Exits 1 when a run lost acknowledged records, left some that nobody can read or broke an invariant, 2 when the plan
    or a setting cannot be used, 5 when none did as far as is known.
    """
    from commands.rebalance.moves import require_plan_of_replicas
    from commands.rebalance.rehearse.answer import rehearse_answer
    from commands.rebalance.rehearse.screen import show
    from commands.shared.options.engine_settings import parse_settings
    from commands.shared.patience import patient_interrupts
    from commands.shared.printing.output import emit
    from commands.shared.printing.progress import Progress
    from commands.shared.printing.terminal import print_err
    from kreplica.execution.rehearsal.rehearse import RehearseOptions, rebalance_rehearse

    require_plan_of_replicas(plan, "only their moves can be rehearsed")
    values = parse_settings(settings)
    handle = one_cluster(sources.handles(), execute=False)

    def said() -> None:
        print_err("what is being played ends first")

    with Progress() as progress, patient_interrupts(said) as stopping:
        options = RehearseOptions(
            runs, seed, failures, settings=values, kafka_version=kafka_version, progress=progress.say, stopping=stopping
        )
        found = rebalance_rehearse(handle, plan, options)
    again = f"{sources.again(handle.name)}{_words(options)}"
    emit(rehearse_answer(found, plan, again), output, lambda console: show(found, plan, again, console))
    raise typer.Exit(found.exit_code)


def _words(options: RehearseOptions) -> str:
    """The options that decide what a seed plays, where they are not the usual ones, each after a space."""
    from commands.shared.options.engine_settings import setting_options

    failures = f" --failures {options.failures}" if options.failures != 1 else ""
    version = f" --kafka-version {options.kafka_version}" if options.kafka_version is not None else ""
    return f"{failures}{version}{setting_options(options.settings)}"
