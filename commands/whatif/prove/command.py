"""kreplica whatif prove: every schedule of a model within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from commands.shared.help import examples
from commands.shared.options.common import OutputOption

if TYPE_CHECKING:
    from kreplica.engine.explorer.explored import Progress as Explored
    from kreplica.engine.explorer.families import ProofBounds


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
BOUNDS = "Bounds (each model has its own: kreplica whatif model NAME)"
FAULTS = "Faults, so many at most"
ANSWER = "The search and its answer"


def _number(name: str, text: str, least: int = 0, most: int = 8, panel: str = BOUNDS) -> Any:
    return typer.Option(name, min=least, max=most, metavar="N", rich_help_panel=panel, help=text)


def prove(
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
    replicas: Annotated[int | None, _number("--replicas", "Replicas, brokers or controllers.", 1, 5)] = None,
    log: Annotated[int | None, _number("--log", "Most records of a log.", 1)] = None,
    records: Annotated[int | None, _number("--records", "Records that are written.")] = None,
    epochs: Annotated[int | None, _number("--epochs", "The largest epoch: of the leader or the partition.")] = None,
    min_isr: Annotated[int | None, _number("--min-isr", "min.insync.replicas.", 1, 5)] = None,
    in_sync: Annotated[int | None, _number("--in-sync", "Replicas in sync at first.", 1, 5)] = None,
    first_leader: Annotated[
        int | None, _number("--first-leader", "The broker that leads at first; 1 is the preferred one.", 1, 5)
    ] = None,
    messages: Annotated[int | None, _number("--messages", "Messages under way at once.", 1, 32)] = None,
    clients: Annotated[
        int | None, _number("--clients", "Producers with one transactional id, or consumers of a group.", 1)
    ] = None,
    partitions: Annotated[
        int | None, _number("--partitions", "Partitions that a producer adds, or a group consumes.", 1)
    ] = None,
    faults: Annotated[int | None, _number("--faults", "Faults of any kind.", 0, 5, FAULTS)] = None,
    fences: Annotated[
        int | None, _number("--fences", "Brokers that run and are fenced, or controllers cut off.", panel=FAULTS)
    ] = None,
    losses: Annotated[int | None, _number("--losses", "Brokers that crash and lose their log.", panel=FAULTS)] = None,
    stops: Annotated[
        int | None, _number("--stops", "Brokers or controllers that crash and keep their log.", panel=FAULTS)
    ] = None,
    shrinks: Annotated[
        int | None, _number("--shrinks", "Times that a leader takes a follower for too slow.", panel=FAULTS)
    ] = None,
    cut_offs: Annotated[
        int | None, _number("--cut-offs", "Times that a broker that is up is fenced, or slow.", 0, 5, FAULTS)
    ] = None,
    power_losses: Annotated[
        int | None, _number("--power-losses", "Times that the machine of one broker loses power.", 0, 5, FAULTS)
    ] = None,
    power_losses_of_all: Annotated[
        int | None, _number("--power-losses-of-all", "Times that all machines lose power at once.", 0, 5, FAULTS)
    ] = None,
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

    given = {
        "replicas": replicas,
        "log": log,
        "records": records,
        "clients": clients,
        "partitions": partitions,
        "last_epoch": epochs,
        "min_isr": min_isr,
        "isr": in_sync,
        "fences": fences,
        "losses": losses,
        "stops": stops,
        "shrinks": shrinks,
        "messages": messages,
        "faults": faults,
        "first_leader": first_leader,
        "cut_offs": cut_offs,
        "power_losses": power_losses,
        "power_losses_of_all": power_losses_of_all,
        **_settings(settings or ()),
    }
    bounds = _bounds(model, {name: value for name, value in given.items() if value is not None})
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
    emit(answer, output, lambda console: show(proof, replays, save, save_plan, console))
    raise typer.Exit(proof.exit_code)


def _settings(given: Sequence[str]) -> dict[str, int]:
    """Settings by the names of bounds."""
    from kreplica.engine.rules.replication.acknowledgement import ACKS_ALL
    from kreplica.errors import UsageError

    values: dict[str, tuple[str, dict[str, int]]] = {
        "acks": ("acks", {"0": 0, "1": 1, "all": ACKS_ALL, "-1": ACKS_ALL}),
        "min.insync.replicas": ("min_isr", {str(number): number for number in range(1, 6)}),
        "unclean.leader.election.enable": ("unclean", {"true": True, "false": False}),
        "flush.messages": ("flush_messages", {str(number): number for number in range(1, 4)}),
    }
    found: dict[str, int] = {}
    for pair in given:
        key, _, text = pair.partition("=")
        if key not in values or text not in values[key][1]:
            raise UsageError(
                f"--set {pair!r} is none of: acks=1 or all, min.insync.replicas=1 to 5,"
                " unclean.leader.election.enable=true or false, flush.messages=1 to 3"
            )
        name, numbers = values[key]
        found[name] = numbers[text]
    return found


def _bounds(model: str, given: dict[str, Any]) -> ProofBounds:
    """The bounds of a model's family, with those that were given."""
    from kreplica.engine.explorer.catalogue import option_of
    from kreplica.engine.explorer.families import family_of
    from kreplica.engine.explorer.kraft.state import KraftBounds
    from kreplica.engine.explorer.settings.state import SettingsBounds
    from kreplica.errors import UsageError

    default = family_of(model).default
    for name in given.keys() - set(default._fields):
        known = ", ".join(map(option_of, default._fields))
        raise UsageError(f"{option_of(name)} is no bound of {model}", fix=f"one of {known}")
    if isinstance(default, KraftBounds) and "replicas" in given:
        given = {"isr": given["replicas"], **given}
    if isinstance(default, KraftBounds | SettingsBounds) and "replicas" in given:
        given = {"min_isr": min(default.min_isr, given["replicas"]), **given}
    if isinstance(default, SettingsBounds) and "faults" in given:
        given = {"stops": given["faults"], **given}
    return default._replace(**given)
