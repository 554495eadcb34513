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


def _number(name: str, text: str, least: int = 0, most: int = 8) -> Any:
    return typer.Option(name, min=least, max=most, metavar="N", help=text)


def prove(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help="truncate-to-hw, kip-101, kip-279, kip-320-first-try, kip-320, kip-320-last-kept; kip-320-m1 to -m7"
            " lack a guard;"
            " async-isr, async-isr-m1; epoch-answers-2.0.1, epoch-answers-2.1, epoch-answers-2.1.1; of KRaft"
            " clusters kraft, kraft-last-kept, kip-966; by settings settings-3.9,"
            " settings-4.1, settings-4.1-mended; of the controllers quorum, quorum-m1 to -m6; of"
            " clients retries, retries-one, retries-idempotent, commit-before, commit-after, commit-auto,"
            " commit-handed-over, end-txn-1, end-txn-2; of the transaction coordinator producer-ids, coordinator,"
            " coordinator-3.9, coordinator-4.1, coordinator-m1 to -m6; consumer-group, consumer-group-m1 to -m3.",
        ),
    ] = "kip-320",
    replicas: Annotated[
        int | None,
        _number("--replicas", "Replicas.  [default: 3; coordinator, epoch-answers: 2; not of clients, groups]", 1, 5),
    ] = None,
    clients: Annotated[
        int | None,
        _number("--clients", "Coordinator: producers with one transactional id; groups: consumers.  [default: 2]", 1),
    ] = None,
    partitions: Annotated[
        int | None,
        _number(
            "--partitions",
            "Coordinator: partitions that a producer adds; groups: topics of one each.  [default: 1; 2]",
            1,
        ),
    ] = None,
    log: Annotated[
        int | None,
        _number(
            "--log", "Most records of a log.  [default: 2; not of KRaft, settings, clients, coordinator, groups]", 1
        ),
    ] = None,
    records: Annotated[
        int | None,
        _number(
            "--records",
            "Records that are written."
            "  [default: 2; KRaft, settings: 1; quorum: 0; not of async-isr, coordinator, groups]",
            1,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        _number(
            "--epochs",
            "The largest leader epoch, of async-isr partition epoch, counted from 0."
            "  [default: 2; 3; quorum: 2, counted from 1; not of KRaft, settings, clients, coordinator, groups]",
        ),
    ] = None,
    min_isr: Annotated[
        int | None, _number("--min-isr", "KRaft, settings: min.insync.replicas.  [default: 2]", 1, 5)
    ] = None,
    in_sync: Annotated[
        int | None, _number("--in-sync", "KRaft: replicas in sync at first.  [default: all]", 1, 5)
    ] = None,
    fences: Annotated[
        int | None,
        _number("--fences", "KRaft: brokers that run and are fenced; quorum: controllers cut off.  [default: 0; 1]"),
    ] = None,
    losses: Annotated[
        int | None,
        _number("--losses", "KRaft, settings: brokers that crash and lose their log.  [default: 1; settings: 0]"),
    ] = None,
    stops: Annotated[
        int | None,
        _number(
            "--stops",
            "KRaft, settings: brokers that stop and keep their log; quorum: controllers that crash and start again."
            "  [default: 0; settings: any fault; quorum: 1]",
        ),
    ] = None,
    shrinks: Annotated[
        int | None, _number("--shrinks", "KRaft: times that leaders find others too slow.  [default: 0]")
    ] = None,
    messages: Annotated[
        int | None, _number("--messages", "KRaft: messages under way at once.  [default: 8]", 1, 32)
    ] = None,
    faults: Annotated[
        int | None,
        _number(
            "--faults",
            "Settings, clients: faults of any kind, crashes among them; coordinator: elections of another;"
            " groups: topics that change, members that leave, crash, are fenced."
            "  [default: 1; producer-ids, groups: 0]",
            0,
            5,
        ),
    ] = None,
    cut_offs: Annotated[
        int | None,
        _number(
            "--cut-offs",
            "Settings: times that a broker that runs is fenced, or leaves the ISR as it is slow.  [default: any fault]",
            0,
            5,
        ),
    ] = None,
    power_losses: Annotated[
        int | None,
        _number("--power-losses", "Settings: times that the machine of one broker loses power.  [default: 0]", 0, 5),
    ] = None,
    power_losses_of_all: Annotated[
        int | None,
        _number("--power-losses-of-all", "Settings: times that all machines lose power at once.  [default: 0]", 0, 5),
    ] = None,
    first_leader: Annotated[
        int | None,
        _number("--first-leader", "Settings: the broker that leads at first, 1 the preferred.  [default: any]", 1, 5),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Settings: acks (1 or all), min.insync.replicas, unclean.leader.election.enable or flush.messages; may"
            " be repeated.  [default: all, 2, false, never]",
        ),
    ] = None,
    invariant: Annotated[
        list[str] | None,
        typer.Option(
            "--invariant",
            metavar="NAME",
            help="strong-isr, weak-isr, hw-prefix or epoch-prefix; of async-isr valid-high-watermark; of"
            " epoch-answers stopped-is-behind and the goal followers-fetch; of KRaft clusters"
            " quorum-superset, leader-completeness, candidate-completeness, committed-kept, consistent-read,"
            " log-matching or recovery-quorum; of settings acknowledged-kept; of one partition, KRaft and settings"
            " the goals write-taken, isr-settles, metadata-settles; of the quorum metadata-kept, one-leader, own-epoch,"
            " committed-agrees and the goal leader-settles; of clients no-duplicate, in-order, nothing-skipped,"
            " processed-once, commit-behind, ends-as-asked, not-half-visible; of the transaction coordinator one-owner,"
            " one-coordinator, owner-adds, valid-transitions and the goals ids-given, partitions-added; of groups"
            " owned-once, target-whole, epoch-earned, stable-reconciled, free-nobodys and the goal converges; may be"
            " repeated.  [default: strong-isr; valid-high-watermark; leader-completeness; acknowledged-kept;"
            " metadata-kept; no-duplicate; nothing-skipped; ends-as-asked; one-owner; owned-once]",
        ),
    ] = None,
    symmetry: Annotated[
        bool,
        typer.Option(
            "--symmetry",
            help="Take states that differ only in which broker is which for one: fewer states, the same verdict;"
            " of the models up to KIP-320 only.",
        ),
    ] = False,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory for states, such as 500MB or 4GiB.")
    ] = "2GiB",
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the answer as JSON, too.")] = None,
    save_plan: Annotated[
        Path | None,
        typer.Option("--save-plan", metavar="FILE", help="Write the counterexample as a plan for whatif run."),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Try every schedule of a model of one partition within bounds: whether an invariant of replication holds in each
    state, or the fewest steps to one where it does not.

    The models are the published ones of how Kafka truncated logs and fenced leaders up to KIP-320, of requests for an
    ISR that are under way, of a KRaft cluster, message by message, without and with eligible leader replicas (KIP-966),
    of the coordinator of a transactional id, and of a consumer group (KIP-848). In epoch-answers, answers to followers
    are under way as leader epochs begin. The models of settings are one KRaft partition by the engine's own rules: with
    these settings, do so many faults lose a record that was acknowledged? The quorum is that of the controllers:
    elections, and what a majority has committed. A goal is what is to come about from every state, and to stay, once no
    fault comes any more. What holds, holds within the bounds that stand beside it. A counterexample of the first, a
    loss of power and one of epoch-answers are also played as faults of a run, under a release of Kafka that is like the
    model and under a release, or with a setting, that mends it; kreplica whatif run --plan plays it again.

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


_OPTIONS = {
    "last_epoch": "--epochs",
    "min_isr": "--min-isr",
    "isr": "--in-sync",
    "first_leader": "--first-leader",
    "cut_offs": "--cut-offs",
    "power_losses": "--power-losses",
    "power_losses_of_all": "--power-losses-of-all",
    "flush_messages": "--set flush.messages",
    "acks": "--set acks",
    "unclean": "--set unclean.leader.election.enable",
}


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
    from kreplica.engine.explorer.families import family_of
    from kreplica.engine.explorer.kraft.state import KraftBounds
    from kreplica.engine.explorer.settings.state import SettingsBounds
    from kreplica.errors import UsageError

    default = family_of(model).default
    for name in given.keys() - set(default._fields):
        known = [_OPTIONS.get(one, f"--{one}") for one in default._fields]
        raise UsageError(f"{_OPTIONS.get(name, f'--{name}')} is no bound of {model}", fix=f"one of {', '.join(known)}")
    if isinstance(default, KraftBounds) and "replicas" in given:
        given = {"isr": given["replicas"], **given}
    if isinstance(default, KraftBounds | SettingsBounds) and "replicas" in given:
        given = {"min_isr": min(default.min_isr, given["replicas"]), **given}
    if isinstance(default, SettingsBounds) and "faults" in given:
        given = {"stops": given["faults"], **given}
    return default._replace(**given)
